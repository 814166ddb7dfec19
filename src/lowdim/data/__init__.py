"""Data: reading and writing tables, real sets, and generators of the field's classic figures."""

from lowdim.data.embeddings import read_embedding
from lowdim.data.errors import DataError, WouldOverwrite
from lowdim.data.generators import (
    bars,
    cities,
    clusters,
    helix,
    open_box,
    punctured_sphere,
    s_curve,
    swiss_roll,
    trefoil,
)
from lowdim.data.loaders import coil20, faces, fashion_mnist
from lowdim.data.recipe import Recipe
from lowdim.data.tables import Table, read
from lowdim.data.writing import write

__all__ = [
    "DataError",
    "Recipe",
    "Table",
    "WouldOverwrite",
    "bars",
    "cities",
    "clusters",
    "coil20",
    "faces",
    "fashion_mnist",
    "helix",
    "open_box",
    "punctured_sphere",
    "read",
    "read_embedding",
    "s_curve",
    "swiss_roll",
    "trefoil",
    "write",
]
