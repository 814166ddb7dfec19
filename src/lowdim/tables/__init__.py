"""Tables: reading files of objects into what an estimator takes, and writing maps of them."""

from lowdim.runtime.atomic import WouldOverwrite as WouldOverwrite
from lowdim.tables.errors import DataError as DataError
from lowdim.tables.features import normalize_counts as normalize_counts
from lowdim.tables.features import text_vectors as text_vectors
from lowdim.tables.reading import read as read
from lowdim.tables.reading import read_embedding as read_embedding
from lowdim.tables.recipe import Recipe as Recipe
from lowdim.tables.table import Table as Table
from lowdim.tables.writing import write as write
