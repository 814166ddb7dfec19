"""Methods whose coordinates are eigenvectors, with their matrices and solvers."""
