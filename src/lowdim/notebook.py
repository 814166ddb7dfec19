"""Maps in a notebook: the studio's view as a widget, with a selection that Python can read."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.explore.naming import feature_table
from lowdim.explore.outlines import outlines
from lowdim.explore.regions import Regions
from lowdim.explore.regions import regions as find_regions
from lowdim.plot.compare import maps_by_name
from lowdim.quality.reliability import doubts
from lowdim.runtime.callbacks import State

try:
    import anywidget
    import traitlets
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"lowdim.widget needs the package {error.name}: pip install 'lowdim[widget]'.",
        name=error.name,
    ) from error

FRAMES_PER_SECOND = 20
LEAST_SHARE = 20  # frames are this many times their own processor time apart
MOST_KINDS = 1000  # of labels that are shown as categories
MOST_COLUMNS = 60  # of the data, that colour and filter
FEW_NUMBERS = 30  # distinct whole numbers up to which labels are categories


def _script() -> str:
    folder = files("lowdim").joinpath("web")
    return "\n".join(
        folder.joinpath(name).read_text("utf-8") for name in ("scatter.js", "widget.js")
    )


class Widget(anywidget.AnyWidget):
    """Linked maps of the same objects; made by `lowdim.widget`.

    It is also a callback: `lowdim.TSNE(callback=widget).fit(X)` shows the fit in its last map.

    Attributes
    ----------
    selection : list of int
        Row numbers of the objects that are selected, in the notebook or by Python.
    filters : dict of str to list
        What passes the filter of each column, in the notebook or by Python: a least and a greatest
        value, or names of categories. The maps show the objects that pass all filters.
    slider : bool
        Whether one map is shown at a time, chosen by a slider.
    height : int
        Of the maps, in pixels.
    """

    _esm = _script()
    _maps = traitlets.List(traitlets.Dict()).tag(sync=True)
    _colors = traitlets.List(traitlets.Dict()).tag(sync=True)
    _ids = traitlets.List(traitlets.Unicode()).tag(sync=True)
    _regions: Any = traitlets.List().tag(sync=True)
    _doubts: Any = traitlets.List().tag(sync=True)
    _has_data = traitlets.Bool(False).tag(sync=True)
    selection = traitlets.List(traitlets.Int()).tag(sync=True)
    filters = traitlets.Dict().tag(sync=True)
    slider = traitlets.Bool(False).tag(sync=True)
    height = traitlets.Int(420).tag(sync=True)

    def __init__(self, X: Any = None, **traits: Any) -> None:
        super().__init__(**traits, _has_data=X is not None)
        self._X = X
        self.on_msg(self._on_message)
        self._next = 0.0
        self._live: int | None = None

    def due(self) -> bool:
        """Whether the next frame of a fit is due; see `lowdim.runtime.callbacks.Callback`."""
        return time.perf_counter() >= self._next

    def __call__(self, state: State) -> None:
        """Show the state of a fit."""
        began = time.thread_time()
        shown = _describe("fit", state.embedding)
        self._regions, self._doubts = [], []
        if self._live is None or self._live >= len(self._maps):
            self._live = len(self._maps)
            self._maps = [*self._maps, shown]
        self._maps[self._live] = shown  # for pages that are opened later; this one gets the frame
        self.send(
            {
                "type": "frame",
                "map": self._live,
                "dim": shown["dim"],
                "iteration": state.iteration,
                "loss": float(state.loss),
            },
            [shown["points"]],
        )
        cost = time.thread_time() - began
        self._next = time.perf_counter() + max(1 / FRAMES_PER_SECOND, LEAST_SHARE * cost)

    def regions(self) -> dict[str, Regions]:
        """Return the regions of each map of two dimensions by its name; see `lowdim.regions`.

        They are named by the first label that has classes and by X, and their names are shown on
        the maps.
        """
        labels = next((_values(one) for one in self._colors if "kinds" in one), None)
        shown = {
            one["name"]: (find_regions(Y, self._X, labels, random_state=0), Y)
            for one in self._maps
            if (Y := _points(one)).shape[1] == 2
        }
        self._regions = [
            outlines(*shown[one["name"]]) if one["name"] in shown else [] for one in self._maps
        ]
        return {name: regions for name, (regions, _) in shown.items()}

    def reliability(self) -> dict[str, Array]:
        """Return how far the place of each object on each map can be believed, by the map's name.

        The scores of `lowdim.quality.reliability` in X; NaN for objects that are not on a map, and
        outside of a sample of 20,000. Doubtful objects fade on the maps when Trust is pressed.
        """
        if self._X is None:
            raise ValueError("reliability needs the data: lowdim.widget(maps, X=X).")
        doubt = [doubts(_points(one).astype(np.float64), self._X) for one in self._maps]
        self._doubts = [one.astype("<f4").tobytes() for one in doubt]
        return {one["name"]: 1 - own for one, own in zip(self._maps, doubt, strict=True)}

    def _on_message(self, _: Any, content: Any, __: Any) -> None:
        if content == "regions" and not self._regions:
            self.regions()
        elif content == "reliability" and not self._doubts:
            self.reliability()

    @property
    def passing(self) -> Array:
        """Which objects pass all filters (array of bool)."""
        n = len(_points(self._maps[0])) if self._maps else 0
        passes = np.ones(n, bool)
        for one in self._colors:
            if one["name"] not in self.filters:
                continue
            chosen, values = self.filters[one["name"]], _values(one)
            if "kinds" in one:
                passes &= np.isin(values.astype(str), chosen)
            else:
                passes &= (values >= chosen[0]) & (values <= chosen[1])
        return passes

    def to_frame(self, *, selected: bool = False, filtered: bool = False) -> Any:
        """Return a pandas DataFrame with a row for each object.

        Parameters
        ----------
        selected : bool, default=False
            Whether only the objects that are selected are returned.
        filtered : bool, default=False
            Whether only the objects that pass all filters are returned.

        Returns
        -------
        DataFrame
            The coordinates on each map ("PCA 0", "PCA 1", ...), the labels and columns, and whether
            an object is selected. The index holds the ids, or else the row numbers.
        """
        import pandas as pd

        columns: dict[str, Any] = {}
        for one in self._maps:
            Y = _points(one)
            columns |= {f"{one['name']} {axis}": Y[:, axis] for axis in range(one["dim"])}
        columns |= {one["name"]: _values(one) for one in self._colors}
        frame = pd.DataFrame(columns, index=self._ids or None)
        chosen = np.zeros(len(frame), bool)
        chosen[self.selection] = True
        frame["selected"] = chosen
        wanted = chosen if selected else np.ones(len(frame), bool)
        return frame[wanted & self.passing] if filtered else frame[wanted]

    @traitlets.validate("filters")
    def _check_filters(self, proposal: Any) -> dict[str, Any]:
        columns = {one["name"]: one for one in self._colors}
        for name, passing in proposal["value"].items():
            if name not in columns:
                raise traitlets.TraitError(
                    f"filters: there is no column {name!r}, only {list(columns)}."
                )
            numbers = "kinds" not in columns[name]
            if numbers and (len(passing) != 2 or not passing[0] <= passing[1]):
                raise traitlets.TraitError(
                    f"filters: {name!r} needs a smallest and a largest value, got {passing!r}."
                )
        return {name: list(passing) for name, passing in proposal["value"].items()}

    @traitlets.validate("selection")
    def _check_selection(self, proposal: Any) -> list[int]:
        rows = sorted(set(proposal["value"]))
        n = len(_points(self._maps[0])) if self._maps else None
        if rows and (rows[0] < 0 or (n is not None and rows[-1] >= n)):
            raise traitlets.TraitError(
                f"selection must hold row numbers below {n}, got {rows[-1]}."
            )
        return rows


def widget(
    maps: Any = None,
    labels: Any = None,
    *,
    X: Any = None,
    ids: Sequence[Any] | None = None,
    slider: bool = False,
    height: int = 420,
) -> Widget:
    """Show maps in a notebook: zoom, hover, lasso; a selection in one is seen in all.

    Parameters
    ----------
    maps : estimator, array, sequence or mapping of them, default=None
        Fitted estimators or arrays of coordinates of the same objects; a mapping names them. None
        for a widget that a fit will fill: `lowdim.TSNE(callback=widget).fit(X)`.
    labels : array of shape (n,), or mapping of str to such arrays, default=None
        What to colour the points by: classes, or numbers on a scale.
    X : array or DataFrame of shape (n, d), default=None
        The data. Its first 60 columns colour and filter the maps, all of them name regions, and
        objects whose place on a map is doubtful fade when Trust is pressed.
    ids : sequence of n names, default=None
        Names of the objects, shown under the pointer; by default their row numbers.
    slider : bool, default=False
        Show one map at a time, chosen by a slider: for slices of `fit_aligned`, whose maps have NaN
        where an object is not in a slice.
    height : int, default=420
        Of the maps, in pixels.

    Returns
    -------
    Widget
        `widget.selection` holds the row numbers of the selected objects, `widget.filters` what
        passes by column; both can be set. `widget.to_frame(selected=True)` is a table of the
        selected objects, `widget.regions()` the regions of the maps, `widget.reliability()` how
        far each place can be believed.

    Raises
    ------
    ModuleNotFoundError
        If anywidget is not installed (`pip install 'lowdim[widget]'`).
    ValueError
        If maps and labels do not have the same number of objects.

    Examples
    --------
    >>> import lowdim
    >>> X, y = lowdim.data.clusters(100, random_state=0)
    >>> view = lowdim.widget({"PCA": lowdim.PCA(2).fit(X), "first axes": X[:, :2]}, y)
    >>> view.selection = [3, 1]
    >>> view.selection
    [1, 3]

    The objects that pass filters:

    >>> view = lowdim.widget(lowdim.PCA(2).fit(X), y, X=X)
    >>> view.filters = {"label": ["0"], "column 3": [-1, 1]}
    >>> int(view.passing.sum()) == len(view.to_frame(filtered=True))
    True

    A fit is shown while it runs:

    >>> live = lowdim.widget(labels=y)
    >>> Y = lowdim.TSNE(perplexity=10, callback=live).fit_transform(X)
    """
    shown = [_describe(name, Y) for name, Y in maps_by_name(maps)]
    sizes = {len(_points(one)) for one in shown}
    if len(sizes) > 1:
        raise ValueError(f"maps must place the same objects, but they have {sorted(sizes)} rows.")
    n = next(iter(sizes), None)
    named = labels if isinstance(labels, Mapping) else {} if labels is None else {"label": labels}
    colors = [_color(str(name), values, n) for name, values in named.items()]
    if X is not None:
        table = feature_table(X, len(X) if n is None else n, None)
        listed = zip(table.names[:MOST_COLUMNS], table.values.T, strict=False)
        colors += [_color(name, values, n) for name, values in listed if name not in named]
    texts = [] if ids is None else [str(one) for one in ids]
    if n is not None and texts and len(texts) != n:
        raise ValueError(f"ids has {len(texts)} entries, but the maps have {n} objects.")
    return Widget(X, _maps=shown, _colors=colors, _ids=texts, slider=slider, height=height)


def _points(shown: dict[str, Any]) -> Array:
    """The coordinates of a map that the page shows."""
    points: Array = np.frombuffer(shown["points"], "<f4")
    return points.reshape(-1, shown["dim"])


def _values(color: dict[str, Any]) -> Array:
    """The labels or values of a column that the page shows."""
    values: Array
    if "kinds" in color:
        values = np.array(color["kinds"], dtype=object)[np.frombuffer(color["codes"], "<u2")]
    else:
        values = np.frombuffer(color["values"], "<f4")
    return values


def _describe(name: str, source: Any) -> dict[str, Any]:
    """A map as the page reads it; of more than three dimensions the first two are shown."""
    if hasattr(source, "fit") and not hasattr(source, "embedding_"):
        raise ValueError(f"{name} is not fitted; give it as callback=widget, or fit it first.")
    Y = np.asarray(getattr(source, "embedding_", source), dtype="<f4")
    if Y.ndim != 2:
        raise ValueError(f"{name}: a map must have rows and columns, got shape {Y.shape}.")
    if Y.shape[1] == 1:
        Y = np.column_stack([Y, np.zeros_like(Y)])
    Y = Y if Y.shape[1] <= 3 else Y[:, :2]
    return {"name": name, "dim": int(Y.shape[1]), "points": Y.tobytes()}


def _color(name: str, labels: Any, n: int | None) -> dict[str, Any]:
    """Labels as the page reads them: categories with codes, or values."""
    values: Array = np.asarray(labels)
    if values.ndim != 1 or (n is not None and len(values) != n):
        raise ValueError(f"labels: {name!r} must have one entry for each of {n} objects.")
    if values.dtype.kind in "fiu":
        known = values[np.isfinite(values)] if values.dtype.kind == "f" else values
        whole = bool((known == np.rint(known)).all())
        if not whole or len(np.unique(known)) > FEW_NUMBERS:
            return {"name": name, "values": values.astype("<f4").tobytes()}
    kinds, codes = np.unique(values, return_inverse=True)
    if len(kinds) > MOST_KINDS:
        raise ValueError(
            f"labels: {name!r} has {len(kinds)} classes; at most {MOST_KINDS} can be shown."
        )
    texts = [f"{kind:g}" if isinstance(kind, float) else str(kind) for kind in kinds.tolist()]
    return {"name": name, "kinds": texts, "codes": codes.astype("<u2").tobytes()}
