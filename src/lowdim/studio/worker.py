"""The worker process: one fit, whose callback sends frames and obeys commands.

Messages are tuples whose first entry names them. The server sends the specification of a fit, then
"pause", "continue", "step", "stop", ("change", parameters), ("pace", iterations per second) and
("taken", processor seconds of the last frame). The worker answers with "phase", "frame", "paused",
"running", "changed", "refused", "done" and "failed".
"""

from __future__ import annotations

import time
import warnings
from inspect import signature
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from lowdim.studio.control import Channel, Control
from lowdim.studio.processes import settle

NICENESS = 5  # fits give way to the server and the browser


def main(connection: Connection) -> None:
    """Run the fit that the server asks for; started by `multiprocessing`."""
    settle(NICENESS)
    import sklearn.utils.validation  # noqa: F401  takes most of the time of a start

    import lowdim.neighbor_embedding.tsne  # noqa: F401

    try:
        spec = connection.recv()
    except EOFError:
        return
    channel = Channel(connection)
    try:
        run(spec, channel)
    except MemoryError as error:
        channel.send("failed", str(error) or "The fit needs more memory than there is.")
    except (TypeError, ValueError, RuntimeError, ArithmeticError, OSError) as error:
        channel.send("failed", " ".join(str(error).split()) or type(error).__name__)
    finally:
        channel.flush()


def run(spec: dict[str, Any], channel: Channel) -> None:
    """Fit one map and write its coordinates and model.

    Parameters
    ----------
    spec : dict
        `data` and `folder`: folders of the data and of the map; `method`, `parameters`; `rows`:
        whether the folder has a file of row numbers; `label`: column that a method learns from;
        `start`: file of the coordinates to start from; `pace`: iterations per second, or None.
    channel : Channel
    """
    import numpy as np

    from lowdim.catalog import find
    from lowdim.studio.datasets import read_about, read_labels, read_objects

    data, folder = Path(spec["data"]), Path(spec["folder"])
    rows = np.load(folder / "rows.npy") if spec["rows"] else None
    method = find(spec["method"])
    if method is None:
        raise ValueError(f"This version of lowdim has no method {spec['method']!r}.")
    X = read_objects(data, rows)
    estimator = method.load()(**spec["parameters"])
    known = estimator.get_params(deep=False)
    if read_about(data)["metric"] is not None:
        if "metric" not in known:
            raise ValueError(
                f"{method.name} takes vectors, but these data are distances or mixed columns."
            )
        estimator.set_params(metric=read_about(data)["metric"])
    if spec.get("start"):
        estimator.set_params(init=np.load(spec["start"]).astype(np.float64))
    control = Control(channel, spec["pace"])
    if "callback" in known:
        estimator.set_params(callback=control)
    arguments: dict[str, Any] = {}
    if method.objects == "labelled":
        arguments["y"] = read_labels(data, spec["label"])[slice(None) if rows is None else rows]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if "graph" in signature(estimator.fit).parameters and rows is None:
            channel.send("phase", "neighbours")
            arguments["graph"] = shared_graph(estimator, X, data / "graphs")
        channel.send("phase", "fit")
        control.began = time.perf_counter()
        estimator.fit(X, **arguments)
        seconds = time.perf_counter() - control.began - control.paused
    estimator.preparation_ = read_about(data)["recipe"]
    _finish(estimator, folder)
    messages = dict.fromkeys(" ".join(str(one.message).split()) for one in caught)
    Y = estimator.embedding_
    channel.send(
        "done",
        {
            "status": "stopped" if control.stopping else "done",
            "seconds": seconds,
            "iteration": int(getattr(estimator, "n_iter_", 0) or 0),
            "warnings": list(messages),
            "decodes": _decodes(estimator),
            "n": len(Y),
            "dim": int(Y.shape[1]),
        },
    )


def shared_graph(estimator: Any, X: Any, folder: Path) -> Any:
    """The neighbour graph of a data set, computed once for each metric and number of neighbours.

    A graph of more neighbours serves a method that needs fewer. None if the method does not begin
    with the k nearest neighbours of vectors.
    """
    from lowdim.estimator.neighbors import neighbor_search
    from lowdim.neighbor_graphs.graph import NeighborGraph
    from lowdim.objects.neighbors import neighbors
    from lowdim.studio.locks import locked

    search = neighbor_search(estimator, X.shape[0])
    if search is None:
        return None
    folder.mkdir(exist_ok=True)
    stem = f"{search.metric}-{search.method}"
    with locked(folder / "lock", wait=True):
        known = {int(path.stem.rpartition("-")[2]): path for path in folder.glob(f"{stem}-*.npz")}
        enough = [k for k in sorted(known) if k >= search.k]
        if enough:
            graph = NeighborGraph.load(known[enough[0]])
        else:
            graph = neighbors(X, search.k, metric=search.metric, method=search.method)
            graph.save(folder / f"{stem}-{search.k}.npz")
    # Without n_neighbors, a method on a connected graph takes all neighbours of a given one.
    return graph.take(search.k) if hasattr(estimator, "disconnected") else graph


def _finish(estimator: Any, folder: Path) -> None:
    """Write the coordinates and the model of a map."""
    import numpy as np

    from lowdim.runtime.atomic import replacing

    with replacing(folder / "coordinates.npy", force=True) as temporary, open(temporary, "wb") as f:
        np.save(f, np.ascontiguousarray(estimator.embedding_, dtype=np.float32))
    if "callback" in estimator.get_params(deep=False):
        estimator.set_params(callback=None)
    estimator.save(folder / "model.lowdim")


def _decodes(estimator: Any) -> bool:
    """Whether coordinates can be taken back to the data."""
    try:
        estimator.inverse_transform(estimator.embedding_[:1])
    except (TypeError, ValueError, AttributeError):
        return False
    return True
