"""One paper a file: each method as a sentence of relations, matrices and solvers."""
