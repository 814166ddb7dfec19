"""The parameters of the self-organizing map: defaults, checks, and what follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from lowdim import checks
from lowdim.checks import Array
from lowdim.estimator import Embedder
from lowdim.learned.self_organizing_map.training import NEIGHBORHOODS, Schedule
from lowdim.messages import argument
from lowdim.numerics.unit_grid import UnitGrid, check_shape, choose_shape
from lowdim.runtime.callbacks import Callback, CheckpointFile

UNITS_PER_ROOT = 5.0  # units per square root of the number of objects (Vesanto 2000)
PLACEMENTS = ("unit", "interpolated")
STARTS = ("pca", "random")


class SOMParameters(Embedder):
    """The parameters of `SelfOrganizingMap`, which its docstring describes."""

    def __init__(
        self,
        n_components: int = 2,
        *,
        shape: tuple[int, ...] | str = "auto",
        topology: str = "hexagonal",
        toroidal: bool = False,
        training: str = "batch",
        neighborhood: str = "gaussian",
        radius: tuple[float, float] | None = None,
        learning_rate: tuple[float, float] = (0.5, 0.1),
        max_iter: int = 40,
        init: Any = "pca",
        prototypes: str = "mean",
        placement: str = "unit",
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
        checkpoint: CheckpointFile = None,
        warm_start: bool = False,
    ) -> None:
        self.n_components = n_components
        self.shape = shape
        self.topology = topology
        self.toroidal = toroidal
        self.training = training
        self.neighborhood = neighborhood
        self.radius = radius
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.init = init
        self.prototypes = prototypes
        self.placement = placement
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.warm_start = warm_start

    def _check_parameters(self) -> None:
        checks.integer(self.n_components, "n_components", 1, 2)
        checks.choice(self.topology, "topology", ("hexagonal", "rectangular"))
        checks.choice(self.training, "training", ("batch", "online"))
        checks.choice(self.neighborhood, "neighborhood", NEIGHBORHOODS)
        checks.choice(self.prototypes, "prototypes", ("mean", "median"))
        checks.choice(self.placement, "placement", PLACEMENTS)
        checks.integer(self.max_iter, "max_iter", 1)
        if isinstance(self.init, str):
            checks.choice(self.init, "init", STARTS)
        if self.prototypes == "median" and self.training == "online":
            raise ValueError(
                f"{argument('prototypes', 'median')} needs {argument('training', 'batch')}, got "
                f"{argument('training', 'online')}."
            )

    def _random(self) -> np.random.RandomState:
        seed = 0 if self.random_state is None else self.random_state
        random: np.random.RandomState = check_random_state(seed)
        return random

    def _new_grid(self, Y: Array) -> UnitGrid:
        """The grid for objects with principal coordinates Y."""
        options = self.n_components, self.topology, bool(self.toroidal)
        if isinstance(self.shape, str) and self.shape == "auto":
            units = UNITS_PER_ROOT * np.sqrt(len(Y))
            shape = choose_shape(units, Y.std(axis=0), *options)
        else:
            shape = check_shape(self.shape, *options)
        return UnitGrid(shape, *options[1:])

    def _radii(self, grid: UnitGrid) -> Schedule:
        if self.radius is None:
            return Schedule(max(1.0, float(grid.periods.max()) / 4), 1.0)
        return Schedule.from_parameter(self.radius, "radius", np.inf)

    def _rates(self) -> Schedule:
        return Schedule.from_parameter(self.learning_rate, "learning_rate", 1.0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not tags.input_tags.allow_nan
        return tags
