"""TriMap."""
