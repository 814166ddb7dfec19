"""Where and with what a computation runs: device, threads, memory, and the scheduling of work."""
