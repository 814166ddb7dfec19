"""Data sets of the field: generators of the classic shapes, and loaders of real sets."""

from lowdim.data.examples import bars, cities, clusters
from lowdim.data.loaders import coil20, faces, fashion_mnist
from lowdim.data.manifolds import (
    helix,
    open_box,
    punctured_sphere,
    s_curve,
    swiss_roll,
    trefoil,
)

__all__ = [
    "bars",
    "cities",
    "clusters",
    "coil20",
    "faces",
    "fashion_mnist",
    "helix",
    "open_box",
    "punctured_sphere",
    "s_curve",
    "swiss_roll",
    "trefoil",
]
