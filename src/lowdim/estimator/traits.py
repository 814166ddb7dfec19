"""What a method says about itself, beside its code: the attribute `traits` of its class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What a method is, keeps and costs, and how other parts of lowdim must treat it.

    Attributes
    ----------
    sentence : str
        The steps from objects to coordinates.
    keeps : str
        What of the data the map shows.
    when : str
        When to use it.
    cost : str
        Time and memory, in numbers of objects n, features d, neighbours k.
    extends : str
        How new objects are placed and how coordinates are taken back to the data.
    paper : str
        Authors and years.
    power : float
        Exponent of n with which the time of a fit with default parameters grows, about;
        `python -m benchmarks times` measures it.
    objects : {"vectors", "labelled", "subjects", "categories"}
        What `fit` takes: objects as vectors or dissimilarities, vectors with their labels,
        several matrices of dissimilarities of the same objects, one a subject, or a table of
        categories.
    reduced_by : str
        Parameter that, if it is set, makes time and memory linear in n (landmarks, prototypes);
        empty if there is none.
    samples : bool
        Whether method="sampled" makes time and memory linear in n.
    local_only : bool
        Whether only neighbours are kept: then sizes and densities of clusters and the distances
        between them say little about the data.
    scales_axes : bool
        Whether every axis has a scale of its own: then distances are not those of the data.
    suggested : bool
        Whether `lowdim.quality.suggest` tries the method by default.
    euclidean_twin : str
        Method that gives the same map for vectors with Euclidean distances; empty if there is none.
    live : tuple of str
        Parameters that a callback can change while a fit runs (`State.change`).
    grows : bool
        Whether new objects can join a fitted map (`update`).
    """

    sentence: str
    keeps: str
    when: str
    cost: str
    extends: str
    paper: str
    power: float
    objects: Literal["vectors", "labelled", "subjects", "categories"] = "vectors"
    reduced_by: str = ""
    samples: bool = False
    local_only: bool = False
    scales_axes: bool = False
    suggested: bool = False
    euclidean_twin: str = ""
    live: tuple[str, ...] = ()
    grows: bool = False
