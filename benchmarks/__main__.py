"""Run the benchmarks: `python -m benchmarks [NAME ...] [--quick] [--repeat R] [--timeout S]`.

`python -m benchmarks suites PATH` runs another library's tests on our classes; see `suites`.
`python -m benchmarks resume` kills fits that have a checkpoint and compares the resumed maps.
`python -m benchmarks scale` shows how quality, time and memory change with the number of objects.
`python -m benchmarks plan` compares what `lowdim.plan` says with what fits take.
`python -m benchmarks scaling` measures the steps of a fit by number of threads.
`python -m benchmarks large --rows 1000000` makes a map of data that are read in blocks.
`python -m benchmarks cluster` makes a map on a cluster of processes, beside one in memory.
`python -m benchmarks partitions` simulates the neighbour search with many shards.
`python -m benchmarks gpu` measures a GPU beside our own CPU engine.
`python -m benchmarks update` compares `update` with a fresh fit.
`python -m benchmarks decoders` compares decoders on held-out faces.
`python -m benchmarks learned-maps` places held-out images by networks and by other methods.
`python -m benchmarks published` compares maps with those of a published comparison.
`python -m benchmarks metric-learning` runs the cases of metric learning.
`python -m benchmarks questions` compares answers about maps with known truth.
`python -m benchmarks studio` measures streaming, the report and the scatter view.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.cases import CASES, HAS_UMAP, Case, Where
from benchmarks.report import Row, Run, as_json, markdown

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "latest.json"
QUICK = 20  # --quick divides the sizes by this
TIMEOUT = 3600  # seconds for one run, by default
PACKAGES = ("python", "lowdim", "numpy", "scipy", "scikit-learn", "umap-learn")
IMPORTS = [("lowdim", "lowdim"), ("sklearn", "sklearn.manifold"), ("umap", "umap")]
COLD = """
import json, time
start = time.perf_counter()
import {package}
imported = time.perf_counter()
from {module} import {name}
print(json.dumps({{"import": imported - start, "class": time.perf_counter() - start}}))
"""


TOOLS = {  # commands that are modules with a main of their own
    "cluster": "cluster",
    "decoders": "decoders",
    "gpu": "gpu",
    "large": "large",
    "learned-maps": "learned_maps",
    "partitions": "partitions",
    "plan": "plan",
    "published": "published",
    "questions": "questions",
    "resume": "resume",
    "scale": "scale",
    "scaling": "scaling",
    "soak": "soak",
    "studio": "studio",
    "suites": "suites",
    "update": "growth",
}
GROUPS = {"metric-learning": ("nca-*", "lmnn-*", "itml-*")}  # names of several cases


def main() -> int:
    if sys.argv[1:2] and sys.argv[1] in TOOLS:
        module = import_module(f"benchmarks.{TOOLS[sys.argv[1]]}")
        return int(module.main(sys.argv[2:]))
    options = _options()
    chosen = [case for case in CASES if any(fnmatch(case.name, name) for name in options.names)]
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as cache:
        where = Where(options.data, Path(cache))
        try:
            for case in chosen:
                n = case.size // QUICK if options.quick else case.size
                rows.append(_row(case, n))
                _run(case, rows[-1], where, options.repeat, options.timeout)
        except KeyboardInterrupt:
            _say("interrupted: reporting what is done")
    imports = _imports(max(options.repeat, 3))
    print(markdown(rows, imports, options.repeat, options.quick))
    if options.save:
        RESULTS.parent.mkdir(exist_ok=True)
        found = as_json(rows, imports, _environment())
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return int(any(row.failed for row in rows))


def _options() -> argparse.Namespace:
    names = [case.name for case in CASES]
    default = Path(os.environ.get("LOWDIM_DATA", ROOT.parent / "shared" / "data"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases or patterns like 'lle-*'")
    parser.add_argument("--quick", action="store_true", help=f"sizes divided by {QUICK}")
    parser.add_argument("--repeat", type=int, default=3, metavar="R", help="runs of each side")
    parser.add_argument("--timeout", type=int, default=TIMEOUT, metavar="S", help="of one run")
    parser.add_argument("--data", type=Path, default=default, metavar="DIR", help="real data")
    parser.add_argument("--save", action="store_true", help="write results/latest.json too")
    options = parser.parse_args()
    options.names = [case for name in options.names for case in GROUPS.get(name, (name,))]
    for name in options.names:
        if not any(fnmatch(known, name) for known in names):
            parser.error(f"no case is called {name!r}; there are {', '.join(names)}")
    if options.repeat < 1:
        parser.error(f"--repeat must be at least 1, got {options.repeat}")
    options.names = options.names or names
    options.data = options.data.resolve()
    return options


def _row(case: Case, n: int) -> Row:
    if case.peer is None:
        return Row(case.name, n, case.peer_note.format(n=n, square=n * n * 8 / 1e9))
    found = _version(case.peer_package)
    label = f"{case.peer_package} {found or '(not installed: skipped)'}"
    return Row(case.name, n, f"{label}, {case.peer_note}" if case.peer_note else label)


def _run(case: Case, row: Row, where: Where, repeat: int, timeout: int) -> None:
    """Peer, ours, peer, ours ...: what slows the machine for a while slows both."""
    if case.needs_fashion and not where.fashion.exists():
        row.skipped = f"{where.fashion.name} not found (see --data)"
        return
    if case.needs_graph:
        _say(f"{case.name}: neighbour graph")
        made = _worker(case, "graph", row.n, where, timeout)
        if "error" in made:
            row.ours = [made]
            return
    has_peer = case.peer is not None and bool(_version(case.peer_package))
    sides = [("peer", row.peers), ("ours", row.ours)] if has_peer else [("ours", row.ours)]
    for turn in range(repeat):
        for side, runs in sides:
            if runs and "error" in runs[-1]:
                continue
            runs.append(_worker(case, side, row.n, where, timeout))
            told = runs[-1].get("error") or f"{runs[-1]['seconds']:.3g} s"
            _say(f"{case.name}: {side} {turn + 1}/{repeat}: {told}")


def _worker(case: Case, side: str, n: int, where: Where, timeout: int) -> Run:
    arguments = [case.name, side, str(n), str(where.data), str(where.cache)]
    return _python("-m", "benchmarks.worker", *arguments, timeout=timeout)


def _python(*arguments: str, timeout: int = TIMEOUT) -> Run:
    """Run Python anew and read the JSON on the last line of its output."""
    command = [sys.executable, *arguments]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"error": f"stopped after {timeout} s"}
    if done.returncode < 0:
        return {"error": f"killed by signal {-done.returncode}"}
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    if done.returncode or not lines:
        return {"error": lines[-1] if lines else f"exit status {done.returncode}"}
    result: Run = json.loads(lines[-1])
    return result


def _imports(repeat: int) -> list[Run]:
    """Seconds of a cold import, and of an import with access to a class."""
    found = []
    for package, module in IMPORTS[: 3 if HAS_UMAP else 2]:
        code = COLD.format(
            package=package, module=module, name="UMAP" if package == "umap" else "Isomap"
        )
        runs = [_python("-c", code) for _ in range(repeat)]
        failed = [run for run in runs if "error" in run]
        best = failed[0] if failed else {key: min(run[key] for run in runs) for key in runs[0]}
        found.append({"package": package, **best})
    return found


def _environment() -> Run:
    versions = {name: _version(name) for name in PACKAGES[1:]}
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        **{name: found for name, found in versions.items() if found},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
