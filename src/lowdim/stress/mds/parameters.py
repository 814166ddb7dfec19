"""The parameters of MDS: defaults, checks, old names of scikit-learn, and units."""

from __future__ import annotations

import warnings
from typing import Any

from lowdim import checks
from lowdim.estimator import Embedder
from lowdim.objects.objects import Objects
from lowdim.objects.pairs import power_of
from lowdim.runtime.callbacks import Callback, CheckpointFile
from lowdim.stress.disparities import DISPARITIES, TIES

METHODS = ("auto", "smacof", "sampled")


class MDSParameters(Embedder):
    """The parameters of MDS, which its docstring describes, and what follows from them."""

    _unknown_pairs = True

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric_mds: bool = True,
        disparities: str | None = None,
        ties: str = "primary",
        weights: str | None = None,
        method: str = "auto",
        n_init: int | str = 1,
        init: Any = "classical",
        max_iter: int = 300,
        verbose: int = 0,
        eps: float = 1e-6,
        n_jobs: int | None = None,
        random_state: Any = None,
        dissimilarity: str = "deprecated",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        normalized_stress: Any = "auto",
        callback: Callback | None = None,
        checkpoint: CheckpointFile = None,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.metric_mds = metric_mds
        self.disparities = disparities
        self.ties = ties
        self.weights = weights
        self.method = method
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.verbose = verbose
        self.eps = eps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.dissimilarity = dissimilarity
        self.metric = metric
        self.metric_params = metric_params
        self.normalized_stress = normalized_stress
        self.callback = callback
        self.checkpoint = checkpoint
        self.warm_start = warm_start

    @property
    def _kind(self) -> str:
        """The admissible transformation of the dissimilarities, a name in `DISPARITIES`."""
        metric = self.metric if isinstance(self.metric, bool) else self.metric_mds
        return self.disparities or ("ratio" if metric else "ordinal")

    def _check_parameters(self) -> None:
        checks.choice(self._kind, "disparities", DISPARITIES)
        checks.choice(self.ties, "ties", TIES)
        checks.choice(self.method, "method", METHODS)
        checks.choice(self.normalized_stress, "normalized_stress", ("auto", True, False))
        if isinstance(self.n_init, str):
            checks.choice(self.n_init, "n_init", ("auto",))
        else:
            checks.integer(self.n_init, "n_init", 1)
        checks.integer(self.max_iter, "max_iter", 1)
        checks.real(self.eps, "eps", 0)
        power_of(self.weights)
        if self.dissimilarity != "deprecated":
            checks.choice(self.dissimilarity, "dissimilarity", ("euclidean", "precomputed"))
            if not isinstance(self.metric, bool) and self.metric != "euclidean":
                raise ValueError(
                    "You provided both `dissimilarity` and `metric`. Please use only `metric`."
                )
            _warn_of_old_name(
                "The `dissimilarity` parameter is the old name of metric. Use `metric` instead."
            )
        if isinstance(self.metric, bool):
            _warn_of_old_name(f"Use metric_mds={self.metric} instead of metric={self.metric}.")

    def _metric_choice(self) -> tuple[Any, dict[str, Any]]:
        metric = self.metric
        if self.dissimilarity != "deprecated":
            metric = self.dissimilarity
        elif isinstance(metric, bool):  # scikit-learn's old name of metric_mds
            metric = "euclidean"
        return metric, checks.keywords(self.metric_params, "metric_params")

    def _unit_of(self, name: str) -> float:
        if name == "dissimilarity_matrix_":
            return 1
        if self._kind != "ratio":  # the map has a size of its own
            return 0
        if name in ("embedding_", "disparities_", "init"):
            return 1
        raw = name in ("stresses_.raw", "history_")
        raw |= name == "stress_" and self.normalized_stress is not True
        return 2 - power_of(self.weights) if raw else 0

    def _objects(self, X: Any) -> Objects:
        self._check_parameters()
        return super()._objects(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan |= tags.input_tags.pairwise
        return tags


def _warn_of_old_name(message: str) -> None:
    warnings.warn(message, FutureWarning, stacklevel=3)
