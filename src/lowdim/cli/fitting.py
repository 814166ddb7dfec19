"""Fitting an estimator to a table, with progress and Ctrl-C."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from lowdim.catalog import CATALOG, Method
from lowdim.checks import Array
from lowdim.cli.console import Console
from lowdim.cli.errors import Refused, refuse_errors
from lowdim.cli.names import alias
from lowdim.cli.parameters import hints
from lowdim.messages import collect_warnings
from lowdim.runtime.callbacks import show_progress
from lowdim.tables import Table

if TYPE_CHECKING:
    from lowdim.estimator.plan import Plan


@dataclass
class Fitted:
    """A finished fit."""

    estimator: Any
    parameters: dict[str, Any]
    embedding: Array
    names: list[str]
    seconds: float
    warnings: list[str]
    interrupted: bool

    def __str__(self) -> str:
        how = "stopped" if self.interrupted else "done"
        parts = [f"{type(self.estimator).__name__}: {how} after {self.seconds:.2f} s"]
        if getattr(self.estimator, "n_iter_", None) is not None:
            parts.append(f"{self.estimator.n_iter_} iterations")
        for name in ("stress_", "kl_divergence_"):
            value = getattr(self.estimator, name, None)
            if isinstance(value, float):
                parts.append(f"{name.rstrip('_').replace('_', ' ')} {value:.4g}")
        return ", ".join(parts)


def parameters_for(method: Method, options: dict[str, Any], table: Table) -> dict[str, Any]:
    """The parameters given that the method has, and those that the table asks for."""
    known = hints(method.load())
    chosen = {name: value for name, value in options.items() if name in known}
    if "n_components" in known and known["n_components"][1] is None:
        if "n_components" not in chosen and table.metric is None and table.X.shape[1] == 1:
            raise Refused(
                f"{method.name}: {table.source} has one feature, too few for a map of two "
                "dimensions. Check which columns are used, or set --n-components 1."
            )
        chosen.setdefault("n_components", 2)  # "all" is the default of few methods, and no map
    takes_text = "categorical_features" in known or method.objects == "categories"
    if table.metric == "gower" and takes_text:
        return chosen
    if table.metric is not None and method.objects != "subjects":
        if "metric" not in known:
            able = ", ".join(alias(m.name) for m in CATALOG if "metric" in hints(m.load()))
            held = "distances" if table.metric == "precomputed" else "columns of text"
            raise Refused(
                f"{method.name} takes vectors, but {table.source} holds {held}. Methods that take "
                f"them are {able}."
            )
        chosen.setdefault("metric", table.metric)
    return chosen


def objects_for(method: Method, table: Table) -> Any:
    """What to fit: the table's rows, or for a method of several subjects its rows as matrices."""
    if method.objects != "subjects":
        return table.X
    side = math.isqrt(table.X.shape[1])
    if side * side != table.X.shape[1] or side < 2:
        raise Refused(
            f"{method.name} takes several matrices of dissimilarities, as an array of shape "
            f"(subjects, objects, objects), but {table.source} holds {table.n_rows} rows of "
            f"{table.X.shape[1]} numbers."
        )
    return table.X.reshape(-1, side, side)


def labels_for(method: Method, table: Table, console: Console) -> Any:
    """The labels that a method learns from, the first ones; None if it does not use any."""
    if method.objects != "labelled":
        return None
    names = [name for name, values in table.labels.items() if values.dtype.kind != "M"]
    if not names:
        raise Refused(
            f"{method.name} learns from labels, but {table.source} has none. Name the column that "
            "holds them with --label."
        )
    others = " (--label names another)" if len(names) > 1 else ""
    console.say(f"{method.name}: learns from the labels in the column {names[0]!r}{others}")
    return table.labels[names[0]]


def estimate(method: Method, params: dict[str, Any], X: Any, *, required: bool) -> Plan | None:
    """Time and memory of the fit; None if they are not known and not required.

    The fit itself reports what is wrong with its input.
    """
    from lowdim.estimator.plan import SMALLEST, plan

    if not required and (len(getattr(X, "shape", ())) != 2 or X.shape[0] < SMALLEST):
        return None  # ready before a plan is
    with suppress(*() if required else (Refused,)), refuse_errors(method.name):
        return plan(method.load()(**params), X)
    return None


def fit_table(
    method: Method, params: dict[str, Any], X: Any, table: Table, console: Console
) -> Fitted:
    """Fit a method to the objects X of a table, and print how it went.

    Ctrl-C ends an iterative fit early, and the best map so far is the answer.
    """
    y, cls, show_bar = labels_for(method, table, console), method.load(), console.shows_progress
    shown = {"verbose": 1} if show_bar and "verbose" in cls().get_params(deep=False) else {}
    estimator = cls(**params, **shown)
    start = perf_counter()
    bar = show_progress(method.name if show_bar else "")
    with _interrupts() as pressed, collect_warnings() as messages, refuse_errors(method.name), bar:
        estimator.fit(X) if y is None else estimator.fit(X, y)
    seconds = perf_counter() - start
    estimator.set_params(**dict.fromkeys(shown, 0))
    Y = estimator.embedding_
    names = [f"{alias(method.name)}{i}" for i in range(Y.shape[1])]
    fitted = Fitted(estimator, params, Y, names, seconds, messages, bool(pressed))
    console.say(str(fitted))
    console.warn(messages)
    return fitted


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Remember whether Ctrl-C was pressed, and let it act as always."""
    pressed: list[int] = []
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield pressed
        return

    def remember(number: int, frame: Any) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
