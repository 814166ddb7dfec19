"""Relations between objects: metrics, dissimilarities, neighbour graphs, geodesics, landmarks."""
