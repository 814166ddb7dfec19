"""Errors of the decoders on held-out faces: `python -m benchmarks decoders`.

Each method that maps vectors is fitted to nine tenths of the 698 faces with its defaults. The other
faces are placed by `transform` and decoded by `inverse_transform`. An error is the mean squared
difference of pixels between 0 and 1. "nearest" takes the training image that is nearest on the map,
which is the decoder that a default decoder has to improve on. The default of methods without an
inverse of their own is the local decoder; `--kinds` adds others. The exit status is 1 if a default
is not better.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
SPLITS = 3
HELD_OUT = 70
KINDS = ("kernel", "network")
SETTINGS = {"KernelPCA": {"kernel": "rbf"}}  # the default, linear, has no inverse without more
HEADER = ("method", "default", "nearest", "default / nearest")


def main(arguments: list[str]) -> int:
    default = Path(os.environ.get("LOWDIM_DATA", ROOT.parent / "shared" / "data"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks decoders", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="METHOD", help="methods, all by default")
    parser.add_argument("--data", type=Path, default=default, metavar="DIR", help="real data")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS[:1])
    options = parser.parse_args(arguments)
    path = options.data / "faces698.npz"
    if not path.exists():
        parser.error(f"{path} not found (see --data)")
    X = np.load(path)["X"].astype(np.float32) / 255
    header = (*HEADER, *options.kinds)
    print("|".join(("", *header, "")))
    print("|".join(("", *["---"] * len(header), "")), flush=True)
    worse = 0
    for name in options.names or _methods():
        splits = [_errors(name, X, seed, options.kinds) for seed in range(SPLITS)]
        row = {key: float(np.mean([errors[key] for errors in splits])) for key in splits[0]}
        worse += row["default"] >= row["nearest"]
        ratio = f"{row['default'] / row['nearest']:.2f}"
        others = [f"{row[kind]:.4f}" if kind in row else "" for kind in options.kinds]
        cells = (name, f"{row['default']:.4f}", f"{row['nearest']:.4f}", ratio, *others)
        print("|".join(("", *cells, "")), flush=True)
    return int(worse > 0)


def _methods() -> list[str]:
    """The methods that map vectors without labels, as the catalog has them."""
    from lowdim.catalog import CATALOG

    return [
        method.name
        for method in CATALOG
        if method.objects not in ("subjects", "labelled") and hasattr(method.load(), "transform")
    ]


def _errors(name: str, X: Any, seed: int, kinds: Sequence[str]) -> dict[str, float]:
    import lowdim
    from lowdim.estimator.decoders import apply_decoder, fit_decoder

    order = np.random.default_rng(seed).permutation(len(X))
    new, known = X[order[:HELD_OUT]], X[order[HELD_OUT:]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model: Any = getattr(lowdim, name)(**SETTINGS.get(name, {}))
        if "n_components" in model.get_params():
            model.set_params(n_components=2)
        model.fit(known)
        Y = model.transform(new)
        gaps = np.linalg.norm(Y[:, None] - model.embedding_[None], axis=2)

        def error(back: Any) -> float:
            return float(np.square(back - new).mean(dtype=np.float64))

        errors = {
            "default": error(model.inverse_transform(Y)),
            "nearest": error(known[gaps.argmin(axis=1)]),
        }
        if hasattr(model, "X_fit_"):
            for kind in kinds:
                decoder = fit_decoder(kind, model.embedding_, known)
                errors[kind] = error(apply_decoder(decoder, model.embedding_, known, Y))
    return errors


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
