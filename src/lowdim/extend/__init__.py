"""New points in, coordinates back: extensions shared by the methods."""
