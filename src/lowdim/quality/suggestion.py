"""The result of `suggest`: candidates in the order of their quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lowdim.catalog import find
from lowdim.quality.assessment import to_json
from lowdim.quality.dimension import IntrinsicDimension
from lowdim.quality.measures import find_measure
from lowdim.quality.structure import Structure
from lowdim.summaries import html_table, short_repr

SCORES = ("rnx_auc", "rnx_auc_local", "rnx_auc_global")  # the first one ranks
TUNED = ("n_neighbors", "perplexity")  # the parameters that `suggest` varies


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method with parameters, and the quality of its map of the sample.

    Attributes
    ----------
    method : str
        Name of the estimator's class.
    params : dict
        Parameters that differ from the defaults.
    rnx_auc, rnx_auc_local, rnx_auc_global : float
        Quality of the map, see `lowdim.quality.MEASURES`; NaN if it failed.
    seconds : float
        Time of the fit.
    reason : str
        Why the candidate has its rank.
    failed : str or None
        The error message, if the fit failed.
    """

    method: str
    params: dict[str, Any]
    rnx_auc: float = float("nan")
    rnx_auc_local: float = float("nan")
    rnx_auc_global: float = float("nan")
    seconds: float = 0.0
    reason: str = ""
    failed: str | None = None

    def estimator(self) -> Any:
        """Return a new estimator with these parameters."""
        row = find(self.method)
        if row is None:
            raise ValueError(f"method: the catalog has no method {self.method!r}.")
        return row.load()(**self.params)

    @property
    def name(self) -> str:
        """The method with the parameters that were varied."""
        chosen = {key: value for key, value in self.params.items() if key in TUNED}
        inside = ", ".join(f"{key}={value}" for key, value in chosen.items())
        return f"{self.method}({inside})" if inside else self.method


@dataclass(frozen=True, eq=False)
class Suggestion:
    """The candidates, best first, and properties of the data.

    Attributes
    ----------
    candidates : tuple of Candidate
        By descending `rnx_auc`; those that failed last.
    n_objects, n_tried : int
        Number of objects of the data and of the sample that was tried.
    dimension : IntrinsicDimension
        Estimates of the intrinsic dimension.
    n_components : int
        Number of coordinates that the intrinsic dimension suggests for further computation.
    structure : Structure or None
        Whether the data have structure.
    seconds : float
        Time of all trials.
    """

    candidates: tuple[Candidate, ...]
    n_objects: int
    n_tried: int
    dimension: IntrinsicDimension
    n_components: int
    structure: Structure | None
    seconds: float

    @property
    def best(self) -> Candidate:
        """The first candidate."""
        return self.candidates[0]

    def __repr__(self) -> str:
        facts = {
            "best": self.best.name,
            SCORES[0]: getattr(self.best, SCORES[0]),
            "n_candidates": len(self.candidates),
            "n_tried": self.n_tried,
        }
        return short_repr(self, facts)

    def _repr_html_(self) -> str:
        labels = [find_measure(name).label for name in SCORES]
        rows = [
            [one.name, *(["-"] * len(SCORES)), f"{one.seconds:.1f}", f"failed: {one.failed}"]
            if one.failed is not None
            else [
                one.name,
                *(f"{getattr(one, name):.3f}" for name in SCORES),
                f"{one.seconds:.1f}",
                one.reason,
            ]
            for one in self.candidates
        ]
        title = f"Methods by {labels[0]}, tried on {self.n_tried:,} objects"
        return html_table(title, ["", *labels, "seconds", ""], rows)

    def __str__(self) -> str:
        lines = []
        if self.structure is not None and self.structure.kind == "none":
            lines += ["No structure was found in these data: no method can show any.", ""]
        width = max(len(candidate.name) for candidate in self.candidates)
        labels = [find_measure(name).label for name in SCORES]
        lines.append("  ".join([" " * width, *labels, "seconds"]))
        for one in self.candidates:
            if one.failed is not None:
                lines.append(f"{one.name:<{width}}  failed: {one.failed}")
                continue
            cells = [
                f"{getattr(one, name):{len(label)}.3f}"
                for name, label in zip(SCORES, labels, strict=True)
            ]
            lines.append(
                "  ".join([f"{one.name:<{width}}", *cells, f"{one.seconds:7.1f}", one.reason])
            )
        tried = (
            f"{self.n_tried:,} of {self.n_objects:,} objects"
            if self.n_tried < self.n_objects
            else f"all {self.n_objects:,} objects"
        )
        lines += [
            "",
            f"Tried on {tried} in {self.seconds:.0f} s. R_NX AUC is 0 for a random map and 1 for a "
            "perfect one.",
            f"Intrinsic dimension {self.dimension}: use {self.n_components} coordinates for "
            "further computation, 2 for a picture.",
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for `json.dumps`."""
        result: dict[str, Any] = to_json(vars(self))
        return result
