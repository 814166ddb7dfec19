"""Methods that keep neighbours: SNE to NeRV, and UMAP."""
