"""Numerical methods of several families: eigenpairs, singular vectors, kernels, quasi-Newton."""
