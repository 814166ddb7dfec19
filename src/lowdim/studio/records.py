"""The data sets and maps of a session, as they are stored and as the page gets them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from lowdim.studio.errors import Refused

MOST_LOSSES = 400  # points of a loss curve; more would not be seen


@dataclass
class Dataset:
    """A data set: where it comes from, what the user chose, and its columns."""

    id: str
    name: str
    source: dict[str, Any]  # {"path": ...}, and {"toy": ..., "values": ...} of a generated set
    choices: dict[str, Any] = field(default_factory=dict)  # see `lowdim.studio.datasets.prepare`
    version: int = 1  # of the choices; each has a folder of its own, which maps refer to
    about: dict[str, Any] = field(default_factory=dict)  # size, columns, ..., as the page gets them
    annotations: dict[str, str] = field(default_factory=dict)  # what the user wrote, by row

    def public(self) -> dict[str, Any]:
        """The data set as the page gets it."""
        origin: dict[str, Any] = {
            key: self.source[key] for key in ("toy", "values") if key in self.source
        }
        known = {"id": self.id, "name": self.name, "annotations": self.annotations}
        return {**known, **origin, **self.about}

    def change_choices(self, changes: dict[str, Any]) -> dict[str, Any]:
        """The choices after a change of roles, label, ids, preparation or images."""
        choices = dict(self.choices)
        transposed = self.about.get("transpose", False)
        if changes.get("transpose", transposed) != transposed:
            choices = {}  # the columns are others
        if changes.keys() & {"roles", "label", "ids"}:
            columns = self.about["columns"]
            roles = {one["name"]: one["role"] for one in columns}
            new = changes.get("roles", {})
            if not isinstance(new, dict) or not all(isinstance(v, str) for v in new.values()):
                raise Refused("roles must be an object of strings.")
            roles |= new
            for key, role in (("ids", "id"), ("label", "label")):
                if changes.get(key) in roles:
                    roles[changes[key]] = role
            texts = [name for name, role in roles.items() if role == "text"]
            for name in texts:  # features are made of one text, the last one that was chosen
                if len(texts) > 1 and name not in new:
                    roles[name] = "label"
            if not texts and any(one["role"] == "text" for one in columns):
                roles = new  # the numbers, which were labels, are features again
            kinds = {one["name"]: one["kind"] for one in columns}
            choices["roles"], choices["more"] = roles, self.about["more"]
            choices["text_features"] = any(
                role == "feature" and kinds.get(name) != "number" for name, role in roles.items()
            )
        kept = ("label", "standardize", "missing", "images", "counts", "transpose")
        return choices | {key: changes[key] for key in kept if key in changes}


@dataclass
class Map:
    """An embedding, finished or not."""

    id: str
    number: int  # names the map in frames
    dataset: str
    version: int  # of the data set
    method: str
    title: str
    parameters: dict[str, Any]  # now
    rows: int | None  # number of rows of the data set that the map shows; None: all
    n: int
    made_of: str = ""  # the data in words
    data_key: str = ""  # that maps of the same data share
    hints: list[str] = field(default_factory=list)  # what could be changed in the data
    start: str | None = None  # the map whose coordinates the fit began with
    pins: int = 0  # number of objects that are held at places that the user chose
    pace: float | None = None  # iterations per second, to watch a fast fit; None: as fast as it can
    initial: dict[str, Any] = field(default_factory=dict)  # the parameters when the fit began
    changes: list[list[Any]] = field(default_factory=list)  # [iteration, parameters] during the fit
    status: str = "queued"  # then "running", "paused"; "done", "stopped" or "failed"
    phase: str = ""  # of a running fit: "start", "neighbours", "fit", "stopping"
    iteration: int = 0
    total: int = 0
    loss: float | None = None
    losses: list[list[float]] = field(default_factory=list)  # [iteration, loss]
    seconds: float = 0.0
    dim: int = 2
    snapshots: list[int] = field(default_factory=list)  # iterations whose coordinates are kept
    live: list[str] = field(default_factory=list)  # parameters that can be changed during the fit
    error: str = ""
    warnings: list[str] = field(default_factory=list)
    decodes: bool = False  # whether coordinates can be taken back to the data

    @property
    def active(self) -> bool:
        """Whether a worker process belongs to the map."""
        return self.status in ("running", "paused")

    def public(self) -> dict[str, Any]:
        """The map as the page gets it."""
        left = None
        if self.status == "running" and 0 < self.iteration <= self.total:
            left = self.seconds / self.iteration * (self.total - self.iteration)
        return {**asdict(self), "frames": len(self.snapshots), "seconds_left": left}

    def progress(self, iteration: int, total: int, loss: float, seconds: float) -> None:
        """Take in the state of the fit after an iteration."""
        if iteration < self.iteration:  # a further start of the method
            self.losses = []
        self.iteration, self.total, self.seconds = iteration, total, seconds
        if math.isfinite(loss):  # it is not computed for every frame
            self.loss = loss
            self.losses.append([iteration, loss])
        if len(self.losses) > MOST_LOSSES:
            self.losses = [*self.losses[:-1:2], self.losses[-1]]


def check_pace(value: Any) -> float | None:
    """Iterations per second; None: as fast as the fit can."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.1 <= value <= 1e6:
        raise Refused("pace must be a number of iterations per second, or null.")
    return float(value)


def restore(kind: Any, stored: dict[str, Any]) -> Any:
    """A record from JSON; what another version wrote and this one does not know is left out."""
    known = {one.name for one in fields(kind)}
    return kind(**{name: value for name, value in stored.items() if name in known})
