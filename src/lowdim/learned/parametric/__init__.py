"""Parametric t-SNE and parametric UMAP: the map is a network."""
