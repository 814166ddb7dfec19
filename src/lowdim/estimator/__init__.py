"""The contract of the estimators: one driver, and functions that methods share; no algorithm."""

from lowdim.estimator.embedder import Embedder as Embedder
