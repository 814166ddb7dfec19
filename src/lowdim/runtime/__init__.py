"""The resources of a computation (device, threads, memory) and the scheduling of its work."""
