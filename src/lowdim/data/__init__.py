"""Data sets of the field: generators of the classic shapes, and loaders of real sets."""

from lowdim.data.examples import bars as bars
from lowdim.data.examples import cities as cities
from lowdim.data.examples import clusters as clusters
from lowdim.data.examples import coil20 as coil20
from lowdim.data.examples import colors as colors
from lowdim.data.examples import faces as faces
from lowdim.data.examples import fashion_mnist as fashion_mnist
from lowdim.data.examples import kinship as kinship
from lowdim.data.manifolds import helix as helix
from lowdim.data.manifolds import open_box as open_box
from lowdim.data.manifolds import punctured_sphere as punctured_sphere
from lowdim.data.manifolds import s_curve as s_curve
from lowdim.data.manifolds import swiss_roll as swiss_roll
from lowdim.data.manifolds import trefoil as trefoil
