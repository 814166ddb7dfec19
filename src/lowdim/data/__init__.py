"""Data sets of the field: generators of the classic shapes, and loaders of real sets."""

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
