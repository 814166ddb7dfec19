"""Searches for nearest neighbours, the graphs they give, and geodesic distances in them."""
