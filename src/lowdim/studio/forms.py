"""The forms of the methods, made from the catalog, the signatures and the docstrings."""

from __future__ import annotations

import inspect
import math
import re
import types
import typing
from dataclasses import is_dataclass
from functools import cache
from typing import Any

from lowdim.catalog import CATALOG, Method
from lowdim.estimator import docstrings
from lowdim.studio.errors import Refused

HIDDEN = (
    "callback", "verbose", "n_jobs", "copy", "copy_X", "low_memory", "dissimilarity",
    "metric_params", "metric_kwds", "kernel_params", "target_metric_kwds", "output_metric_kwds",
    "tqdm_kwds", "precomputed_knn", "transform_queue_size", "transform_mode",
    "force_approximation_algorithm", "angular_rp_forest", "neighbors_algorithm", "warm_start",
)  # fmt: skip
"""Parameters that a form does not show: they do not change the map, or cannot be typed."""


class Range(typing.NamedTuple):
    """The part of the range of a parameter that a slider covers."""

    low: float
    high: float
    log: bool = False


RANGES = {
    "n_components": Range(1, 3),
    "perplexity": Range(2, 200, True),
    "n_neighbors": Range(2, 200, True),
    "early_exaggeration": Range(1, 50, True),
    "exaggeration": Range(0.25, 16, True),
    "learning_rate": Range(0.01, 10_000, True),
    "max_iter": Range(10, 5000, True),
    "n_epochs": Range(10, 2000, True),
    "min_dist": Range(0, 1),
    "spread": Range(0.1, 5, True),
    "repulsion_strength": Range(0.05, 20, True),
    "spectrum": Range(0, 3),
    "negative_sample_rate": Range(1, 30),
    "trade_off": Range(0, 1),
    "dof": Range(0.2, 20, True),
    "angle": Range(0.1, 1),
    "gamma": Range(1e-5, 10, True),
    "degree": Range(1, 6),
    "n_clusters": Range(2, 30),
    "alpha": Range(0, 1),
    "time": Range(0.1, 100, True),
    "t": Range(1e-3, 1e3, True),
    "reg": Range(1e-6, 1, True),
    "push": Range(0, 1),
    "slack": Range(1e-6, 10, True),
    "random_state": Range(0, 99),
    "n_init": Range(1, 20),
    "dens_lambda": Range(0, 10),
    "dens_frac": Range(0, 1),
    "set_op_mix_ratio": Range(0, 1),
    "local_connectivity": Range(0, 10),
    "n_landmarks": Range(10, 2000, True),
    "n_prototypes": Range(10, 2000, True),
    "radius": Range(1e-3, 1e3, True),
}
MAIN = (
    "n_components", "n_neighbors", "perplexity", "early_exaggeration", "exaggeration",
    "learning_rate", "max_iter", "n_epochs", "min_dist", "spread", "repulsion_strength", "spectrum",
    "trade_off", "metric_mds", "disparities", "metric", "kernel", "gamma", "method", "init",
    "random_state", "n_clusters", "time", "shape", "topology", "constraint", "densmap",
)  # fmt: skip
"""Parameters that a form shows at first, in this order."""

DEFAULTS = {"n_components": 2, "random_state": 0}
"""In place of None: a map, and the same one each time."""

METRICS = (
    "euclidean", "cosine", "cityblock", "correlation", "chebyshev", "canberra", "braycurtis",
    "hamming", "jaccard",
)  # fmt: skip
KERNELS = ("linear", "rbf", "poly", "sigmoid", "cosine", "laplacian")
_QUOTED = re.compile(r'"([^"]+)"')


def forms() -> list[dict[str, Any]]:
    """The methods as the page gets them."""
    return [_form(method) for method in CATALOG if method.objects != "subjects"]


@cache
def _form(method: Method) -> dict[str, Any]:
    cls = method.load()
    parameters = inspect.signature(cls.__init__).parameters
    entries = docstrings.parameters(cls)
    hints = typing.get_type_hints(cls if is_dataclass(cls) else cls.__init__)
    fields = [
        _field(name, parameter.default, hints.get(name, Any), entries.get(name), method)
        for name, parameter in parameters.items()
        if name not in ("self", *HIDDEN)
    ]
    order = {name: place for place, name in enumerate(MAIN)}
    fields.sort(key=lambda field: order.get(field["name"], len(order)))
    text = docstrings.sections(cls.__doc__ or "")[""]
    return {
        "name": method.name,
        "title": _title(method.name),
        "family": method.family,
        "summary": (cls.__doc__ or "").strip().splitlines()[0],
        "sentence": method.sentence,
        "keeps": method.keeps,
        "when": method.when,
        "cost": method.cost,
        "paper": method.paper,
        "needs_labels": method.objects == "labelled",
        "takes_distances": "metric" in parameters,
        "live": "callback" in parameters,
        "pins": method.pins,
        "doc": "\n".join(text).strip(),
        "parameters": fields,
    }


def _title(name: str) -> str:
    """The name as people write it."""
    if name in ("LargeVis", "NeRV", "PaCMAP", "TriMap"):
        return name
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+", name)
    words = ["t-SNE" if word == "TSNE" else word for word in words]
    first, *others = words
    return " ".join([first, *(word.lower() if word.istitle() else word for word in others)])


def _field(
    name: str, default: Any, hint: Any, entry: docstrings.Entry | None, method: Method
) -> dict[str, Any]:
    """One parameter: its kind, the values that can be chosen, and its description."""
    if default is None:
        default = DEFAULTS.get(name)
    field: dict[str, Any] = {
        "name": name,
        "default": list(default) if isinstance(default, tuple) else default,
        "help": "" if entry is None else entry.text,
        "live": name in method.live,
        "advanced": name not in MAIN,
        **_kind(name, default, hint, "" if entry is None else entry.type),
    }
    if field["kind"] in ("int", "float"):
        field |= _slider(name, default, field["kind"], method)
    return field


def _kind(name: str, default: Any, hint: Any, described: str) -> dict[str, Any]:
    hints = set(typing.get_args(hint)) if isinstance(hint, types.UnionType) else {hint}
    if name in ("metric", "kernel"):
        listed = METRICS if name == "metric" else KERNELS
        return {"kind": "choice", "choices": list(dict.fromkeys([default, *listed]))}
    if bool in hints or isinstance(default, bool):
        return {"kind": "bool"}
    type_text = described.partition(", default=")[0]
    quoted = _QUOTED.findall(type_text)
    special: list[Any] = [*([None] if default is None or type(None) in hints else []), *quoted]
    if name == "random_state" or int in hints or (isinstance(default, int) and hint is Any):
        return {"kind": "int", "special": special}
    if float in hints or isinstance(default, float) or "float or" in type_text:
        return {"kind": "float", "special": [one for one in special if one != "deprecated"]}
    if type_text.startswith("{") and quoted:
        return {"kind": "choice", "choices": [*([None] if default is None else []), *quoted]}
    return {"kind": "text"}


def _slider(name: str, default: Any, kind: str, method: Method) -> dict[str, Any]:
    """The range of a slider."""
    if name in RANGES:
        low, high, log = RANGES[name]
    else:
        size = abs(float(default)) if isinstance(default, int | float) and default else 1.0
        low, high, log = size / 100, size * 100, True
        if kind == "int":
            low, high = 1, max(10, size * 10)
    if (
        isinstance(default, int | float)
        and not isinstance(default, bool)
        and math.isfinite(default)
    ):
        low, high = min(low, default), max(high, default)
    return {"min": low, "max": high, "log": log and low > 0}


def check_parameters(name: str, values: Any) -> dict[str, Any]:
    """The parameters of a method that the page sent, as Python values.

    The values themselves are checked by the estimator.
    """
    form = next((form for form in forms() if form["name"] == name), None)
    if form is None:
        raise Refused(f"No method of the studio is called {name!r}.", 404)
    if not isinstance(values, dict):
        raise Refused("parameters must be an object of names and values.")
    known = {field["name"]: field for field in form["parameters"]}
    parameters = {key: value for key, value in DEFAULTS.items() if key in known}
    for key, value in values.items():
        if key not in known:
            raise Refused(f"{name} has no parameter {key!r}.")
        parameters[key] = _value(key, value, known[key])
    return parameters


def _value(name: str, value: Any, field: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return tuple(value)
    if value is None and name in DEFAULTS:
        return DEFAULTS[name]
    if field["kind"] == "int" and isinstance(value, float) and value.is_integer():
        return int(value)
    if value is not None and not isinstance(value, bool | int | float | str):
        raise Refused(f"{name} must be a number, a string, true or false.")
    return value
