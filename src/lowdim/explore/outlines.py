"""Regions as pages draw them: names with places, sizes and the regions around them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.explore.regions import Region, Regions

REACH = 0.8  # share of the objects of a region within its radius


def outlines(regions: Regions, Y: Array) -> list[dict[str, Any]]:
    """The regions of a map as a tree: name, number of objects, place of the name and reach."""
    listed = []
    for one in regions.tree:
        gaps = np.linalg.norm(Y[regions.members(one.id)] - one.center, axis=1)
        listed.append(
            {
                "text": doubted_name(one),
                "parent": -1 if one.parent is None else one.parent,
                "size": one.size,
                "point": one.center.tolist(),
                "radius": float(np.quantile(gaps, REACH)) if len(gaps) else 0.0,
            }
        )
    return listed


def doubted_name(region: Region) -> str:
    """The name of a region, with a question mark if no gap in the data was found around it."""
    return region.name if region.supported is not False else f"{region.name} ?"
