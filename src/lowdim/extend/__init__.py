"""Out-of-sample extensions: coordinates of new objects, and pre-images of coordinates."""
