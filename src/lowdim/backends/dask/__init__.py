"""Work on blocks as tasks of Dask: on the workers of a cluster, or on Dask's scheduler here."""
