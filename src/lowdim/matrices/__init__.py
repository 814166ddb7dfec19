"""Matrices of relations: Gram, kernel, Laplacian, reconstruction, affinities, fuzzy graphs."""
