"""Which coordinates keep it best: extreme eigenvectors, majorization, linear systems."""
