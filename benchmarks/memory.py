"""Peak memory of every method and option over what it claimed: `python -m benchmarks memory`.

Each fit runs in a process of its own, on n vectors in ten dimensions. The peak is the largest
resident set during the fit less that before it, and before it the libraries are loaded by a small
fit. The claim is what the estimator checks against the available memory before it starts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOW, HIGH = 0.9, 1.3  # wanted range of claimed over peak
N = 4000
FEATURES = 10
TIMEOUT = 600  # seconds for one fit
NOISE = 60e6  # bytes: smaller claims and peaks are not compared, threads and libraries take as much


@dataclass(frozen=True)
class Setting:
    """A method with parameters; `share` of the n objects of the run are fitted."""

    method: str
    params: dict[str, Any] = field(default_factory=dict)
    share: float = 1.0
    precomputed: bool = False
    labelled: bool = False

    @property
    def label(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self.params.items())
        return f"{self.method}({options})"


def _few(**params: Any) -> dict[str, Any]:
    return {"max_iter": 3, **params}


SETTINGS = [
    Setting("PCA", {"n_components": 2}),
    Setting("ClassicalMDS"),
    Setting("ClassicalMDS", {"metric": "cityblock"}),
    Setting("ClassicalMDS", {"metric": "cityblock", "correction": "cailliez"}, 0.25),
    Setting("ClassicalMDS", {"metric": "cityblock", "n_landmarks": 200}),
    Setting("ClassicalMDS", {"metric": "precomputed"}, precomputed=True),
    Setting("MDS", _few()),
    Setting("MDS", _few(init="random")),
    Setting("MDS", _few(metric="precomputed"), precomputed=True),
    Setting("MDS", _few(weights="d^-1")),
    Setting("MDS", _few(metric_mds=False)),
    Setting("MDS", _few(disparities="interval")),
    Setting("MDS", _few(disparities="spline")),
    Setting("MDS", _few(metric_mds=False, weights="d^-1")),
    Setting("MDS", _few(method="sampled")),
    Setting("KernelPCA", {"n_components": 2, "kernel": "rbf"}),
    Setting("KernelPCA", {"n_components": 2, "kernel": "rbf", "eigen_solver": "dense"}),
    Setting("KernelPCA", {"n_components": 2, "kernel": "rbf", "fit_inverse_transform": True}),
    Setting("KernelPCA", {"n_components": 2, "kernel": "isomap"}),
    Setting("KernelPCA", {"n_components": 2, "kernel": "lle"}),
    Setting("KernelPCA", {"n_components": 2, "kernel": "diffusion"}, 0.5),
    Setting("Isomap"),
    Setting("Isomap", {"eigen_solver": "dense"}, 0.75),
    Setting("Isomap", {"mds": "stress", "max_iter": 3}),
    Setting("Isomap", {"n_landmarks": 200}),
    Setting("LocallyLinearEmbedding"),
    Setting("LocallyLinearEmbedding", {"eigen_solver": "dense"}, 0.5),
    Setting("LocallyLinearEmbedding", {"method": "ltsa", "n_neighbors": 100}),
    Setting("LaplacianEigenmaps"),
    Setting("LaplacianEigenmaps", {"eigen_solver": "dense"}, 0.5),
    Setting("LaplacianEigenmaps", {"n_neighbors": 500}),
    Setting("LaplacianEigenmaps", {"affinity": "rbf"}),
    Setting("SpectralClustering", {"n_clusters": 3}),
    Setting("SpectralClustering", {"n_clusters": 3, "affinity": "rbf"}),
    Setting("DiffusionMap", {"n_neighbors": 500}),
    Setting("Sammon", _few()),
    Setting("Sammon", _few(method="majorize")),
    Setting("CurvilinearComponentAnalysis", _few()),
    Setting("CurvilinearComponentAnalysis", _few(n_prototypes=300)),
    Setting("CurvilinearDistanceAnalysis", _few()),
    Setting("CurvilinearDistanceAnalysis", _few(n_prototypes=300)),
    Setting("UMAP", {"n_epochs": 3}),
    Setting("UMAP", {"n_epochs": 3, "n_neighbors": 500}),
    Setting("MaximumVarianceUnfolding", _few(n_neighbors=4), 0.1),
    Setting("MaximumVarianceUnfolding", _few(solver="factorized", n_functions=40)),
    *[
        Setting(name, {"max_iter": 20, **options})
        for name in ("SNE", "SymmetricSNE", "TSNE", "WeightedTSNE")
        for options in ({}, {"method": "exact"}, {"perplexity": 300})
    ],
    Setting("MultiscaleSNE", _few()),
    Setting("NeRV", _few()),
    Setting("SelfOrganizingMap", _few()),
    Setting("SelfOrganizingMap", _few(training="online")),
    Setting("SelfOrganizingMap", _few(metric="cityblock")),
    Setting("SelfOrganizingMap", _few(metric="cityblock", prototypes="median")),
    Setting("SelfOrganizingMap", _few(metric="precomputed"), precomputed=True),
    Setting("NeighborhoodComponentsAnalysis", _few(), 2, labelled=True),
    Setting("LargeMarginNearestNeighbor", {"max_iter": 6}, 2, labelled=True),
    Setting("LargeMarginNearestNeighbor", {"max_iter": 6, "n_neighbors": 30}, labelled=True),
    Setting("InformationTheoreticMetricLearning", _few(), 2, labelled=True),
    Setting("InformationTheoreticMetricLearning", _few(n_constraints=10**6), labelled=True),
    Setting("NeighborsTransformer", {"n_neighbors": 500}),
    Setting("NeighborsTransformer", {"n_neighbors": 500, "mode": "connectivity"}),
]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks memory", description=__doc__)
    parser.add_argument("-n", type=int, default=N, help="number of objects (%(default)s)")
    parser.add_argument("--only", default="", help="settings whose text contains this")
    options = parser.parse_args(arguments)
    chosen = [s for s in SETTINGS if options.only in s.label]
    print("| setting | n | peak MB | claimed MB | claimed / peak | |")
    print("| --- | --: | --: | --: | --: | --- |", flush=True)
    wrong = 0
    for setting in chosen:
        n = int(options.n * setting.share)
        found = _measured(setting, n)
        if isinstance(found, str):
            wrong += 1
            print(f"| {setting.label} | {n} | | | | {found} |", flush=True)
            continue
        peak, claimed = found
        small = max(peak, claimed) < NOISE
        fine = small or LOW <= claimed / peak <= HIGH
        wrong += not fine
        remark = "small" if small else "" if fine else "**wrong**"
        ratio = f"{claimed / max(peak, 1):.2f}"
        row = f"| {setting.label} | {n} | {peak / 1e6:.0f} | {claimed / 1e6:.0f} | {ratio} |"
        print(f"{row} {remark} |", flush=True)
    print(f"\n{len(chosen) - wrong} of {len(chosen)} settings claim {LOW} to {HIGH} of their peak.")
    return int(wrong > 0)


def _measured(setting: Setting, n: int) -> tuple[float, float] | str:
    """Peak and claim in bytes, or what went wrong."""
    job = json.dumps([SETTINGS.index(setting), n])
    command = [sys.executable, "-m", "benchmarks.memory", job]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"longer than {TIMEOUT} s"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    peak, claimed = json.loads(done.stdout)
    return float(peak), float(claimed)


def _fit(setting: Setting, n: int) -> tuple[int, int]:
    import numpy as np
    from scipy.spatial.distance import cdist

    import lowdim

    warnings.simplefilter("ignore")
    method = getattr(lowdim, setting.method)
    claims = [0]
    _record_claims(claims)

    def rows(count: int) -> Any:
        X = np.random.RandomState(0).standard_normal((count, FEATURES))
        return cdist(X, X) if setting.precomputed else X

    small = {key: value for key, value in setting.params.items() if key != "n_neighbors"}
    if "perplexity" in small:
        small["perplexity"] = 20

    def fit(estimator: Any, X: Any) -> None:
        y = np.digitize(X[:, 0], (-0.4, 0.4)) if setting.labelled else None
        estimator.fit_transform(X, y)

    fit(method(**small), rows(350))
    X = rows(n)
    claims[:] = [0]
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    before = _resident("VmRSS")
    fit(method(**setting.params), X)
    return _resident("VmHWM") - before, max(claims)


def _record_claims(claims: list[int]) -> None:
    """Append what is claimed to the list."""
    from lowdim.runtime import memory

    check = memory.claim

    def claim(n_bytes: int, what: str, instead: str) -> None:
        claims.append(n_bytes)
        check(n_bytes, what, instead)

    memory.claim = claim


def _resident(field_name: str) -> int:
    """Bytes of resident memory of this process: VmRSS now, VmHWM at its peak."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field_name):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field_name}")


if __name__ == "__main__":
    index, count = json.loads(sys.argv[1])
    print(json.dumps(_fit(SETTINGS[index], count)))
