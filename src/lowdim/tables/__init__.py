"""Tables: reading files of objects into what an estimator takes, and writing maps of them."""

from lowdim.runtime.atomic import WouldOverwrite
from lowdim.tables.errors import DataError
from lowdim.tables.features import normalize_counts, text_vectors
from lowdim.tables.reading import read, read_embedding
from lowdim.tables.recipe import Recipe
from lowdim.tables.table import Table
from lowdim.tables.writing import write

__all__ = [
    "DataError",
    "Recipe",
    "Table",
    "WouldOverwrite",
    "normalize_counts",
    "read",
    "read_embedding",
    "text_vectors",
    "write",
]
