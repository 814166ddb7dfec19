"""Maps by networks beside the methods they stand for: `python -m benchmarks learned-maps`.

Each method is fitted to the first n images of Fashion-MNIST with its defaults. The last 10,000 are
placed by `transform` and classified by the 10 nearest training images on the map, as are the
training images themselves, each by the 10 nearest other ones. The error is the mean squared
difference of the images and what `inverse_transform` makes of their coordinates, for pixels between
0 and 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
METHODS = ("PCA", "Autoencoder", "TSNE", "ParametricTSNE", "UMAP", "ParametricUMAP")
HELD_OUT = 10_000
NEIGHBORS = 10
HEADER = (
    "method",
    "fit s",
    "transform s",
    "training accuracy",
    "held-out accuracy",
    "held-out error",
)


def main(arguments: list[str]) -> int:
    default = Path(os.environ.get("LOWDIM_DATA", ROOT.parent / "shared" / "data"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks learned-maps", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="METHOD", default=METHODS)
    parser.add_argument("-n", type=int, default=60_000, help="training images (%(default)s)")
    parser.add_argument("--device", default="cpu", help="device of the fit (%(default)s)")
    parser.add_argument("--save", type=Path, metavar="DIR", help="folder for the maps")
    parser.add_argument("--data", type=Path, default=default, metavar="DIR", help="real data")
    options = parser.parse_args(arguments)
    path = options.data / "fashion-mnist.npz"
    if not path.exists():
        parser.error(f"{path} not found (see --data)")
    data = np.load(path)
    X, y = data["X"], data["y"]
    print("|".join(("", *HEADER, "")))
    print("|".join(("", *["---"] * len(HEADER), "")), flush=True)
    for name in options.names:
        row = _row(name, X, y, min(options.n, len(X) - HELD_OUT), options)
        print("|".join(("", name, *row, "")), flush=True)
    return 0


def _row(name: str, X: Any, y: Any, n: int, options: argparse.Namespace) -> list[str]:
    from sklearn.neighbors import KNeighborsClassifier

    import lowdim

    seeded = {} if name == "PCA" else {"random_state": 0}
    model = getattr(lowdim, name)(n_components=2, **seeded)
    start = time.perf_counter()
    with lowdim.compute(device=options.device):
        model.fit(X[:n])
        fitted = time.perf_counter()
        Y = model.transform(X[-HELD_OUT:])
    placed = time.perf_counter()
    nearest = KNeighborsClassifier(NEIGHBORS).fit(model.embedding_, y[:n])
    accuracy = nearest.score(Y, y[-HELD_OUT:])
    if options.save is not None:
        options.save.mkdir(parents=True, exist_ok=True)
        np.savez(options.save / f"{name}-{n}.npz", train=model.embedding_, test=Y)
    wanted = X[-HELD_OUT:].astype(np.float32)
    error = np.square((model.inverse_transform(Y) - wanted) / 255).mean(dtype=np.float64)
    return [
        f"{fitted - start:.1f}",
        f"{placed - fitted:.1f}",
        f"{nearest.score(None, y[:n]):.3f}",
        f"{accuracy:.3f}",
        f"{error:.4f}",
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
