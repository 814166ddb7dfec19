"""What `lowdim.plan` says of a fit beside what it takes: `python -m benchmarks plan`.

Every method with its defaults, then options that change its memory. Each fit runs in a process of
its own, after a small one that loads the libraries. Time is CPU time: planned for one thread, and
taken by the fit. Memory is what the fit claims before it starts, and the largest resident set
during the fit less that before it. A ratio outside of the wanted range is marked.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.catalog import CATALOG, find

ROOT = Path(__file__).resolve().parents[1]
MEMORY = 0.9, 1.3  # wanted range of claimed over peak
TIME = 0.5, 2.0  # wanted range of planned over taken
N = 4000
FEATURES, LATENT, GROUPS = 50, 8, 10
TIMEOUT = 600  # seconds for one fit
NOISE = 60e6  # bytes: smaller claims and peaks are not compared, threads and libraries take as much
SHORT = 0.5  # CPU seconds: shorter fits are not compared


@dataclass(frozen=True)
class Setting:
    """A method with parameters; `share` of the n objects of the run are fitted."""

    method: str
    params: dict[str, Any] = field(default_factory=dict)
    share: float = 1.0

    @property
    def label(self) -> str:
        options = ", ".join(f"{key}={value!r}" for key, value in self.params.items())
        return f"{self.method}({options})"


def _few(**params: Any) -> dict[str, Any]:
    return {"max_iter": 3, **params}


SHARES = {  # of methods that take long for N objects, or little time and memory
    "PCA": 50.0,
    "ClassicalMDS": 50.0,
    "FactorAnalysisOfMixedData": 10.0,
    "MultipleCorrespondenceAnalysis": 10.0,
    "LocallyLinearEmbedding": 5.0,
    "LaplacianEigenmaps": 5.0,
    "SpectralClustering": 5.0,
    "DiffusionMap": 5.0,
    "LocalityPreservingProjections": 5.0,
    "NeighborhoodPreservingEmbedding": 5.0,
    "LinearLocalTangentSpaceAlignment": 5.0,
    "Sammon": 0.5,
    "INDSCAL": 0.5,
    "UMAP": 20.0,
    "PaCMAP": 10.0,
    "LargeVis": 5.0,
    "NegativeSamplingTSNE": 5.0,
    "TriMap": 10.0,
    "MaximumVarianceUnfolding": 0.1,
    "TSNE": 5.0,
    "NeighborhoodComponentsAnalysis": 0.5,
}
DEFAULTS = [Setting(m.name, {}, SHARES.get(m.name, 1.0)) for m in CATALOG]
OPTIONS = [
    Setting("ClassicalMDS", {"metric": "cityblock"}),
    Setting("ClassicalMDS", {"metric": "cityblock", "correction": "cailliez"}, 0.25),
    Setting("ClassicalMDS", {"metric": "cityblock", "n_landmarks": 200}),
    Setting("ClassicalMDS", {"metric": "precomputed"}),
    Setting("MDS", _few()),
    Setting("MDS", _few(init="random")),
    Setting("MDS", _few(metric="precomputed")),
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
    Setting("Isomap", {"eigen_solver": "dense"}, 0.75),
    Setting("Isomap", {"mds": "stress", "max_iter": 3}),
    Setting("Isomap", {"n_landmarks": 200}),
    Setting("LocallyLinearEmbedding", {"eigen_solver": "dense"}, 0.5),
    Setting("LocallyLinearEmbedding", {"method": "ltsa", "n_neighbors": 100}),
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
    Setting("UMAP", {"n_epochs": 3, "n_neighbors": 500}),
    Setting("MaximumVarianceUnfolding", _few(n_neighbors=4), 0.1),
    Setting("MaximumVarianceUnfolding", _few(solver="factorized", n_functions=40)),
    *[
        Setting(name, {"max_iter": 20, **options})
        for name in ("SNE", "SymmetricSNE", "TSNE", "WeightedTSNE")
        for options in ({"method": "exact"}, {"perplexity": 300})
    ],
    Setting("SelfOrganizingMap", _few()),
    Setting("SelfOrganizingMap", _few(training="online")),
    Setting("SelfOrganizingMap", _few(metric="cityblock")),
    Setting("SelfOrganizingMap", _few(metric="cityblock", prototypes="median")),
    Setting("SelfOrganizingMap", _few(metric="precomputed")),
    Setting("NeighborhoodComponentsAnalysis", _few(), 2),
    Setting("LargeMarginNearestNeighbor", {"max_iter": 6}, 2),
    Setting("LargeMarginNearestNeighbor", {"max_iter": 6, "n_neighbors": 30}),
    Setting("InformationTheoreticMetricLearning", _few(), 2),
    Setting("InformationTheoreticMetricLearning", _few(n_constraints=10**6)),
    Setting("NeighborsTransformer", {"n_neighbors": 500}),
    Setting("NeighborsTransformer", {"n_neighbors": 500, "mode": "connectivity"}),
]


SETTINGS = DEFAULTS + OPTIONS


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks plan", description=__doc__)
    parser.add_argument("-n", type=int, default=N, help="number of objects (%(default)s)")
    parser.add_argument("--only", default="", help="settings whose text contains this")
    parser.add_argument("--defaults", action="store_true", help="default parameters alone")
    options = parser.parse_args(arguments)
    chosen = [s for s in (DEFAULTS if options.defaults else SETTINGS) if options.only in s.label]
    print("| setting | n | CPU s | planned / taken | peak MB | claimed / peak | |")
    print("| --- | --: | --: | --: | --: | --: | --- |", flush=True)
    wrong = 0
    for setting in chosen:
        n = int(options.n * setting.share)
        found = _measured(setting, n)
        if isinstance(found, str):
            wrong += 1
            print(f"| {setting.label} | {n} | | | | | {found} |", flush=True)
            continue
        cells, remark = judge(found)
        wrong += "**" in remark
        print(f"| {setting.label} | {n} | {' | '.join(cells)} | {remark} |", flush=True)
    print(f"\n{len(chosen) - wrong} of {len(chosen)} settings take what is planned, load", end=" ")
    print(f"{os.getloadavg()[0]:.0f} on {os.cpu_count()} cores.")
    return int(wrong > 0)


def judge(found: dict[str, float | None]) -> tuple[list[str], str]:
    """The cells of a row, and a remark on them."""
    seconds, peak, claimed = (found[key] or 0.0 for key in ("seconds", "peak", "claimed"))
    planned, remarks = found["planned"], []
    if planned is not None and seconds >= SHORT and not TIME[0] <= planned / seconds <= TIME[1]:
        remarks.append("**time**")
    ratio = claimed / max(peak, 1)
    if max(peak, claimed) < NOISE:
        remarks.append("small")
    elif not MEMORY[0] <= ratio <= MEMORY[1]:
        remarks.append("**memory**")
    share = "" if planned is None else f"{planned / seconds:.2f}"
    return [f"{seconds:.2f}", share, f"{peak / 1e6:.0f}", f"{ratio:.2f}"], " ".join(remarks)


def _measured(setting: Setting, n: int) -> dict[str, float | None] | str:
    """CPU seconds and bytes, planned and taken, or what went wrong."""
    job = json.dumps([SETTINGS.index(setting), n])
    command = [sys.executable, "-m", "benchmarks.plan", job]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"**longer than {TIMEOUT} s**"
    if done.returncode:
        return f"**{done.stderr.strip().splitlines()[-1]}**"
    found: dict[str, float | None] = json.loads(done.stdout.splitlines()[-1])
    return found


def groups(n: int) -> tuple[Any, Any]:
    """Vectors of overlapping groups on a curved surface, and the numbers of their groups."""
    random = np.random.default_rng(0)
    centers = random.normal(size=(GROUPS, LATENT))
    labels = random.integers(GROUPS, size=n)
    latent = centers[labels] + 0.6 * random.normal(size=(n, LATENT))
    surface = np.tanh(latent @ random.normal(size=(LATENT, FEATURES)) / np.sqrt(LATENT))
    return surface + 0.05 * random.normal(size=surface.shape), labels


def objects_for(name: str, n: int, *, precomputed: bool = False) -> tuple[Any, Any]:
    """Objects of the kind that a method takes, and labels if it needs them."""
    from scipy.spatial.distance import cdist

    method = find(name)
    kind = "vectors" if method is None else method.objects
    X, y = groups(n)
    if kind == "subjects":
        return np.stack(
            [cdist(X[:, part], X[:, part]) for part in np.split(np.arange(50), 2)]
        ), None
    if kind == "categories":
        return np.array(list("abcd"), object)[np.digitize(X[:, :20], (-0.5, 0, 0.5))], None
    if kind == "preferences":
        return cdist(X, X[:20]), None
    return cdist(X, X) if precomputed else X, y if kind == "labelled" else None


def _fit(setting: Setting, n: int) -> dict[str, float | None]:
    import lowdim

    warnings.simplefilter("ignore")
    method = getattr(lowdim, setting.method)
    precomputed = setting.params.get("metric") == "precomputed"
    claims: list[int] = []
    _record_claims(claims)
    small = {key: value for key, value in setting.params.items() if key != "n_neighbors"}
    if "perplexity" in small:
        small["perplexity"] = 20
    method(**small).fit(*objects_for(setting.method, 350, precomputed=precomputed))
    X, y = objects_for(setting.method, n, precomputed=precomputed)
    claims[:] = [0]
    reset_peak()
    before = resident("VmRSS")
    start = time.process_time()
    method(**setting.params).fit(X, y)
    seconds = time.process_time() - start
    peak, claimed = resident("VmHWM") - before, max(claims)
    planned = None
    if setting.method != "NeighborsTransformer":
        with lowdim.compute(n_jobs=1):
            found = lowdim.plan(method(**setting.params), X, y).seconds
        planned = None if found is None else float(np.sqrt(found[0] * found[1]))
    return {"seconds": seconds, "planned": planned, "peak": peak, "claimed": claimed}


def _record_claims(claims: list[int]) -> None:
    """Append what is claimed to the list."""
    from lowdim.runtime import memory

    check = memory.claim

    def claim(n_bytes: int, what: str, instead: str) -> None:
        claims.append(n_bytes)
        check(n_bytes, what, instead)

    memory.claim = claim


def reset_peak() -> None:
    """Forget the largest resident memory of this process so far."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def resident(field_name: str) -> int:
    """Bytes of resident memory of this process: VmRSS now, VmHWM at its peak."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field_name):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field_name}")


if __name__ == "__main__":
    index, count = json.loads(sys.argv[1])
    print(json.dumps(_fit(SETTINGS[index], count)))
