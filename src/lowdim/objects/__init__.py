"""What `fit` takes: vectors, files, Dask arrays, dissimilarities, graphs; and new objects."""
