"""How much a column distinguishes some objects from the others (Cohen's d and h)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim.checks import Array

MOST_KINDS = 5  # categories of a column that are listed


def number_effect(values: Array, inside: Array) -> dict[str, Any] | None:
    """The difference of the means in standard deviations; None if it is not defined."""
    known = np.isfinite(values)
    a, b = values[known & inside].astype(np.float64), values[known & ~inside].astype(np.float64)
    if not len(a) or not len(b):
        return None
    spread = np.sqrt((a.var() * len(a) + b.var() * len(b)) / (len(a) + len(b)))
    gap = float(a.mean() - b.mean())
    if spread == 0 and gap == 0:
        return None
    effect = gap / spread if spread > 0 else np.sign(gap) * 1e3
    return {
        "effect": float(effect),
        "inside": float(a.mean()),
        "outside": float(b.mean()),
        "direction": "higher" if gap > 0 else "lower",
    }


def category_effects(
    name: str, kinds: list[str], codes: Array, inside: Array
) -> list[dict[str, Any]]:
    """The categories whose shares differ most."""
    known = codes >= 0
    a = np.bincount(codes[known & inside], minlength=len(kinds)).astype(np.float64)
    b = np.bincount(codes[known & ~inside], minlength=len(kinds)).astype(np.float64)
    if not a.sum() or not b.sum():
        return []
    a, b = a / a.sum(), b / b.sum()
    effects = 2 * np.arcsin(np.sqrt(a)) - 2 * np.arcsin(np.sqrt(b))
    return [
        {
            "name": name,
            "value": kinds[at],
            "effect": float(effects[at]),
            "inside": float(a[at]),
            "outside": float(b[at]),
        }
        for at in np.argsort(-np.abs(effects), kind="stable")[:MOST_KINDS]
        if effects[at]
    ]
