"""What a method declares on its class, beside its code: parameters and traits."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, dataclass_transform

from lowdim.runtime.callbacks import Callback, CheckpointFile

C = TypeVar("C", bound=type)


@dataclass(eq=False, repr=False, kw_only=True)
class Iterative:
    """The parameters of every iterative method, beside those that it declares itself.

    The loop of such a method reports to `_monitor(max_iter)`; see `Monitor`.
    """

    random_state: Any = None
    n_jobs: int | None = None
    callback: Callback | None = None
    verbose: int = 0
    checkpoint: CheckpointFile = None
    warm_start: bool = False


@dataclass_transform(eq_default=False)
def declare_parameters(cls: C) -> C:
    """A dataclass, in whose constructor the parameters of bases come after those of the class."""
    constructor: Any = vars(dataclass(eq=False, repr=False)(cls))["__init__"]
    signature = inspect.signature(constructor)
    classes = [list(inspect.get_annotations(base)) for base in cls.__mro__]

    def place(parameter: inspect.Parameter) -> tuple[int, int, int]:
        name = parameter.name
        owner = next(k for k, names in enumerate(classes) if name in names)
        return parameter.kind, owner, classes[owner].index(name)

    self, *parameters = signature.parameters.values()
    constructor.__signature__ = signature.replace(parameters=[self, *sorted(parameters, key=place)])
    return cls


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What a method is, keeps and costs, and how other parts of lowdim must treat it."""

    keeps: str  # what of the data the map shows
    when: str  # when to use it
    cost: str  # time and memory, in numbers of objects n, features d, neighbours k
    extends: str  # how new objects are placed, and coordinates taken back to the data
    paper: str  # authors and years

    power: float
    """Exponent of n with which the time of a fit with default parameters grows, about;
    `python -m benchmarks scale cost` measures it."""

    objects: Literal["vectors", "labelled", "subjects", "categories", "preferences"] = "vectors"
    """What `fit` takes: objects as vectors or dissimilarities, vectors with their labels, several
    matrices of dissimilarities of the same objects, one a subject, a table of categories, or a
    table of preferences, judges by objects."""

    reduced_by: str = ""
    """Parameter that, if it is set, makes time and memory linear in n (landmarks, prototypes)."""

    samples: bool = False  # whether method="sampled" makes time and memory linear in n

    local_only: bool = False
    """Whether only neighbours are kept: then sizes and densities of clusters and the distances
    between them say little about the data."""

    scales_axes: bool = False
    """Whether every axis has a scale of its own: then distances are not those of the data."""

    suggested: bool = False  # whether `lowdim.quality.suggest` tries the method by default
    euclidean_twin: str = ""  # method with the same map for vectors with Euclidean distances
    live: tuple[str, ...] = ()  # parameters that a callback can change while a fit runs
    grows: bool = False  # whether new objects can join a fitted map (`update`)
