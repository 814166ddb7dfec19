"""Who is how far from whom: metrics, dissimilarities, neighbour graphs, geodesics, landmarks."""
