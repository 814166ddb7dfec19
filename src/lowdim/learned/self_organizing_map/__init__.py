"""The self-organizing map."""
