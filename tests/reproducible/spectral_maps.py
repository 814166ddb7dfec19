"""Maps of spectral methods, written to the file that is named: see `test_spectral.py`."""

from __future__ import annotations

import sys
import warnings

import numpy as np

import lowdim

warnings.simplefilter("ignore")
ROLL, _ = lowdim.data.swiss_roll(400, random_state=0)
ANGLES = 2 * np.pi * np.arange(60) / 60
CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])  # its axes have equal eigenvalues
SQUARE = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2)
CLOUD = np.random.default_rng(0).normal(size=(300, 12)) * np.linspace(3, 1, 12)
FITS = {
    "PCA": (lowdim.PCA(2), CLOUD),
    "classical scaling": (lowdim.ClassicalMDS(2, metric="cityblock"), CLOUD),
    "kernel PCA": (lowdim.KernelPCA(2, kernel="rbf", gamma=0.02), CLOUD),
    "mixed data": (lowdim.FactorAnalysisOfMixedData(), CLOUD),
    "Isomap": (lowdim.Isomap(n_neighbors=8), ROLL),
    "LLE": (lowdim.LocallyLinearEmbedding(n_neighbors=8), ROLL),
    "LTSA": (lowdim.LocallyLinearEmbedding(n_neighbors=8, method="ltsa"), ROLL),
    "Laplacian eigenmaps": (lowdim.LaplacianEigenmaps(), ROLL),
    "diffusion map": (lowdim.DiffusionMap(), ROLL),
    "PHATE": (lowdim.PHATE(), CLOUD),
    "nonmetric PHATE": (lowdim.PHATE(mds="nonmetric"), ROLL),
    "correspondence": (lowdim.MultipleCorrespondenceAnalysis(), CLOUD.astype(int) % 4),
    "spectral clustering": (lowdim.SpectralClustering(3, random_state=0), ROLL),
    "locality preserving": (lowdim.LocalityPreservingProjections(), ROLL),
    "neighborhood preserving": (lowdim.NeighborhoodPreservingEmbedding(), ROLL),
    "linear tangent spaces": (lowdim.LinearLocalTangentSpaceAlignment(), ROLL),
    "PCA of a square": (lowdim.PCA(2), SQUARE),
    "classical scaling of a square": (lowdim.ClassicalMDS(2, metric="cityblock"), SQUARE),
    "kernel PCA of a circle": (lowdim.KernelPCA(4, kernel="rbf"), CIRCLE),
    "Isomap of a square": (lowdim.Isomap(n_neighbors=4), SQUARE),
    "LLE of a circle": (lowdim.LocallyLinearEmbedding(n_neighbors=4), CIRCLE),
    "Laplacian eigenmaps of a square": (lowdim.LaplacianEigenmaps(n_neighbors=4), SQUARE),
    "diffusion map of a circle": (lowdim.DiffusionMap(n_components=4, n_neighbors=4), CIRCLE),
    "locality preserving on a circle": (lowdim.LocalityPreservingProjections(), CIRCLE),
}

if __name__ == "__main__":
    np.savez(sys.argv[1], **{name: fit.fit(X).embedding_ for name, (fit, X) in FITS.items()})
