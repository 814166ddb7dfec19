"""Maps in a notebook: the studio's view as a widget, with a selection that Python can read."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from lowdim.checks import Array
from lowdim.plot.maps import maps_by_name
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
    height : int
        Of the maps, in pixels.
    """

    _esm = _script()
    _maps = traitlets.List(traitlets.Dict()).tag(sync=True)
    _colors = traitlets.List(traitlets.Dict()).tag(sync=True)
    _ids = traitlets.List(traitlets.Unicode()).tag(sync=True)
    selection = traitlets.List(traitlets.Int()).tag(sync=True)
    height = traitlets.Int(420).tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._next = 0.0
        self._live: int | None = None

    def due(self) -> bool:
        """Whether the next frame of a fit is due; see `lowdim.runtime.callbacks.Callback`."""
        return time.perf_counter() >= self._next

    def __call__(self, state: State) -> None:
        """Show the state of a fit."""
        began = time.thread_time()
        shown = _describe("fit", state.embedding)
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

    def to_frame(self, *, selected: bool = False) -> Any:
        """Return a pandas DataFrame with a row for each object.

        Parameters
        ----------
        selected : bool, default=False
            Whether only the objects that are selected are returned.

        Returns
        -------
        DataFrame
            The coordinates on each map ("PCA 0", "PCA 1", ...), the labels, and whether an object
            is selected. The index holds the ids, or else the row numbers.
        """
        import pandas as pd

        columns: dict[str, Any] = {}
        for one in self._maps:
            Y = np.frombuffer(one["points"], "<f4").reshape(-1, one["dim"])
            columns |= {f"{one['name']} {axis}": Y[:, axis] for axis in range(one["dim"])}
        for one in self._colors:
            if "kinds" in one:
                codes = np.frombuffer(one["codes"], "<u2")
                columns[one["name"]] = np.array(one["kinds"], dtype=object)[codes]
            else:
                columns[one["name"]] = np.frombuffer(one["values"], "<f4")
        frame = pd.DataFrame(columns, index=self._ids or None)
        chosen = np.zeros(len(frame), bool)
        chosen[self.selection] = True
        frame["selected"] = chosen
        return frame[chosen] if selected else frame

    @traitlets.validate("selection")
    def _check_selection(self, proposal: Any) -> list[int]:
        rows = sorted(set(proposal["value"]))
        n = len(self._maps[0]["points"]) // (4 * self._maps[0]["dim"]) if self._maps else None
        if rows and (rows[0] < 0 or (n is not None and rows[-1] >= n)):
            raise traitlets.TraitError(
                f"selection must hold row numbers below {n}, got {rows[-1]}."
            )
        return rows


def widget(
    maps: Any = None, labels: Any = None, *, ids: Sequence[Any] | None = None, height: int = 420
) -> Widget:
    """Show maps in a notebook: zoom, hover, lasso; a selection in one is seen in all.

    Parameters
    ----------
    maps : estimator, array, sequence or mapping of them, default=None
        Fitted estimators or arrays of coordinates of the same objects; a mapping names them. None
        for a widget that a fit will fill: `lowdim.TSNE(callback=widget).fit(X)`.
    labels : array of shape (n,), or mapping of str to such arrays, default=None
        What to colour the points by: classes, or numbers on a scale.
    ids : sequence of n names, default=None
        Names of the objects, shown under the pointer; by default their row numbers.
    height : int, default=420
        Of the maps, in pixels.

    Returns
    -------
    Widget
        `widget.selection` holds the row numbers of the selected objects, and can be set;
        `widget.to_frame(selected=True)` is a table of them.

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

    A fit is shown while it runs:

    >>> live = lowdim.widget(labels=y)
    >>> Y = lowdim.TSNE(perplexity=10, callback=live).fit_transform(X)
    """
    shown = [_describe(name, Y) for name, Y in maps_by_name(maps)]
    sizes = {len(one["points"]) // (4 * one["dim"]) for one in shown}
    if len(sizes) > 1:
        raise ValueError(f"maps must place the same objects, but they have {sorted(sizes)} rows.")
    n = next(iter(sizes), None)
    named = labels if isinstance(labels, Mapping) else {} if labels is None else {"label": labels}
    colors = [_color(str(name), values, n) for name, values in named.items()]
    texts = [] if ids is None else [str(one) for one in ids]
    if n is not None and texts and len(texts) != n:
        raise ValueError(f"ids has {len(texts)} entries, but the maps have {n} objects.")
    return Widget(_maps=shown, _colors=colors, _ids=texts, height=height)


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
            f"labels: {name!r} has {len(kinds)} different values; {MOST_KINDS} at most."
        )
    texts = [f"{kind:g}" if isinstance(kind, float) else str(kind) for kind in kinds.tolist()]
    return {"name": name, "kinds": texts, "codes": codes.astype("<u2").tobytes()}
