"""Random choice of landmarks: objects from which distances to all others are computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array


def choose_landmarks(n: int, count: Any, least: int, seed: Any) -> Array:
    """`count` random objects, ascending (de Silva and Tenenbaum 2004, section 3.2)."""
    count = checks.integer(count, "n_landmarks", least, n, " (n_samples)")
    chosen = checks.fixed_random_state(seed).permutation(n)[:count]
    return np.sort(chosen).astype(np.int32)
