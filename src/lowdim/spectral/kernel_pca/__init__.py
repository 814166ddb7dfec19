"""Kernel PCA, its kernels from graphs and its pre-images."""
