"""Data: generators of the field's classic figures."""

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

__all__ = [
    "bars",
    "cities",
    "clusters",
    "helix",
    "open_box",
    "punctured_sphere",
    "s_curve",
    "swiss_roll",
    "trefoil",
]
