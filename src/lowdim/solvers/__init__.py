"""Solvers: eigenvectors, majorization, gradient descent, layouts, semidefinite programmes."""
