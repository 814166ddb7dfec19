"""lowdim against its peers: the same job on the same data, each in a fresh process."""
