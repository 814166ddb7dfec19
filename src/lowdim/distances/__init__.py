"""Metrics, distances between vectors, and rows that are read in blocks."""
