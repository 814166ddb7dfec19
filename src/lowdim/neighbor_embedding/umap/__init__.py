"""UMAP: fuzzy graphs, layouts and the placement of new objects."""
