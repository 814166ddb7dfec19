"""Is the picture true? Measures of a map, and how far chance alone explains them."""

from lowdim.quality.stress import Jackknife, Permutations, jackknife, permutation_test

__all__ = ["Jackknife", "Permutations", "jackknife", "permutation_test"]
