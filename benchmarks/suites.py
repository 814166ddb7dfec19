"""Run another library's own tests on our classes: `python -m benchmarks suites PATH`.

PATH is a checkout of umap-learn or openTSNE, whose dependencies must be installed, or the folder
`site-packages` in which scikit-learn is, whose tests come with it. Every test file
that uses the replaced class is run twice by pytest in its own process: as it is, and with our class
in place of theirs. The table tells how many tests passed and failed, and why each of the others
failed; the exit status is 1 if the reason of one of them is not in docs/migration.rst.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTHING = "no result"  # note on a file whose tests did not run
TIMEOUT = 1800  # seconds for one file
LIBRARY, REPLACE = "LOWDIM_SUITE", "LOWDIM_SUITE_REPLACE"  # environment of the plugin below


@dataclass(frozen=True)
class Library:
    """A library whose tests are run.

    Parameters
    ----------
    tests : tuple of str
        Folders of tests in its checkout.
    replaced : tuple of (module, attribute, our class)
    uses : str
        Pattern in the text of a test file that uses the replaced class.
    others : str
        Pattern of the names of files that test something else.
    renamed : dict
        Our names of their parameters; None: there is no such parameter, it is left out.
    """

    tests: tuple[str, ...]
    replaced: tuple[tuple[str, str, str], ...]
    uses: str
    others: str
    renamed: dict[str, str | None] = field(default_factory=dict)


SCIKIT_LEARN = {
    "decomposition": "KernelPCA PCA",
    "manifold": "ClassicalMDS Isomap LocallyLinearEmbedding MDS TSNE SpectralEmbedding smacof "
    "locally_linear_embedding spectral_embedding trustworthiness",
    "manifold._mds": "MDS smacof",
    "neighbors": "NeighborhoodComponentsAnalysis",
    "cluster": "SpectralClustering",
}
"""Our names in modules of scikit-learn; `LaplacianEigenmaps` is its SpectralEmbedding."""
FILES = (
    "isomap|locally_linear|classical_mds|mds|t_sne|spectral_embedding|kernel_pca|pca|nca|spectral"
)

LIBRARIES = {
    "scikit-learn": Library(
        tuple(f"sklearn/{package}/tests" for package in SCIKIT_LEARN if "." not in package),
        tuple(
            (f"sklearn.{module}", name, {"SpectralEmbedding": "LaplacianEigenmaps"}.get(name, name))
            for module, names in SCIKIT_LEARN.items()
            for name in names.split()
        ),
        r"",
        rf"^(?!test_({FILES})\.py$)",
    ),
    "umap-learn": Library(
        ("umap/tests",),
        (("umap", "UMAP", "UMAP"), ("umap.umap_", "UMAP", "UMAP")),
        r"\bUMAP\(",
        r"conftest|aligned|parametric|plot",
    ),
    "openTSNE": Library(
        ("tests",),
        (("openTSNE.sklearn", "TSNE", "TSNE"),),
        r"openTSNE\.sklearn",
        r"conftest",
        # Our TSNE has scikit-learn's parameters; docs/migration.rst has this table too.
        renamed={
            "n_iter": "max_iter",
            "early_exaggeration_iter": None,  # always 250 of max_iter
            "neighbors": None,  # the argument `graph` of fit
            "negative_gradient_method": None,  # method="auto" chooses
        },
    ),
}


def documented_reasons() -> dict[str, str]:
    """Why tests of other libraries fail on our classes, from the tables in docs/migration.rst."""
    text = (ROOT / "docs" / "migration.rst").read_text(encoding="utf-8")
    reasons = {}
    for row in re.findall(
        r"^   \* - (``test_\w+[^.]*?)\n     - (.*?)(?=\n   \* -|\n\n)", text, re.M | re.S
    ):
        for test in re.findall(r"``(test_[\w\[\]]+)``", row[0]):
            reasons[test] = " ".join(row[1].split())
    return reasons


REASONS = documented_reasons()


@dataclass
class Counts:
    """Results of one run of a file."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    note: str = ""

    def __str__(self) -> str:
        return self.note or f"{self.passed} / {len(self.failed)}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks suites", description=__doc__)
    parser.add_argument("path", type=Path, help="a checkout, or site-packages")
    parser.add_argument(
        "files", nargs="*", help="names of test files; all that use the class by default"
    )
    parser.add_argument("--ours", action="store_true", help="do not run their own class")
    options = parser.parse_args(arguments)
    path = options.path.resolve()
    name = next((name for name, one in LIBRARIES.items() if _is_checkout(path, one)), None)
    if name is None:
        parser.error(f"{path} is no checkout of {' or '.join(LIBRARIES)}")
    library = LIBRARIES[name]
    rows = []
    for file in _files(path, library, options.files):
        ours = _run(path, file, name, replace=True)
        theirs = Counts(note="not run") if options.ours else _run(path, file, name, replace=False)
        rows.append((file.name, ours, theirs))
        print(f"{file.name}: {ours}", file=sys.stderr, flush=True)
    if all(ours.note == NOTHING for _, ours, _ in rows):
        print(f'No test ran. Is {name} installed? pip install "lowdim[bench]"', file=sys.stderr)
    print(table(name, rows))
    return int(
        any(_reason(test) is None for _, ours, theirs in rows for test in _only(ours, theirs))
    )


def _is_checkout(path: Path, library: Library) -> bool:
    package = library.replaced[0][0].split(".")[0]
    return all((path / folder).is_dir() for folder in (package, *library.tests))


def _files(path: Path, library: Library, wanted: list[str]) -> list[Path]:
    found = []
    for file in (
        file for tests in library.tests for file in sorted((path / tests).glob("test_*.py"))
    ):
        if wanted and file.name not in wanted:
            continue
        text = file.read_text(encoding="utf-8")
        if re.search(library.uses, text) and not re.search(library.others, file.name):
            found.append(file)
    return found


def _run(path: Path, file: Path, name: str, *, replace: bool) -> Counts:
    """Run a test file of a library, with its class replaced by ours or not."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "benchmarks.suites"]
        command += ["-p", "no:cacheprovider", f"--junitxml={report}", str(file)]
        if name == "scikit-learn":  # whose wheel has no settings of pytest; not those around it
            command += ["-c", os.devnull]
        # Tests inside of a package need that package from the checkout; a package with an
        # extension is compiled only where it is installed.
        inside = [str(path)] if (file.parents[1] / "__init__.py").exists() else []
        search = os.pathsep.join([*inside, str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = {
            **os.environ,
            LIBRARY: name,
            REPLACE: "yes" if replace else "",
            "PYTHONPATH": search.strip(os.pathsep),
        }
        try:
            subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, timeout=TIMEOUT
            )
        except subprocess.TimeoutExpired:
            return Counts(note=f"stopped after {TIMEOUT} s")
        if not report.exists():
            return Counts(note=NOTHING)
        return count(ElementTree.parse(report).getroot())


def count(report: Any) -> Counts:
    """Count the results in a report of pytest in JUnit's format; skipped tests do not count."""
    counts = Counts()
    for case in report.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            counts.failed.append(case.get("name"))
        elif case.find("skipped") is None:
            counts.passed += 1
    return counts


def table(name: str, rows: list[tuple[str, Counts, Counts]]) -> str:
    """The results in Markdown, with the tests that pass with their class only, and the reasons."""
    lines = [f"| {name}: passed / failed | lowdim | {name} |", "| --- | --- | --- |"]
    lines += [f"| {file} | {ours} | {theirs} |" for file, ours, theirs in rows]
    totals = [
        f"{sum(c.passed for c in side)} / {sum(len(c.failed) for c in side)}"
        for side in ([row[1] for row in rows], [row[2] for row in rows])
    ]
    lines += [f"| all | {totals[0]} | {totals[1]} |", ""]
    for file, ours, theirs in rows:
        lines += [
            f"- {file}: {test}: {_reason(test) or 'not explained'}" for test in _only(ours, theirs)
        ]
    return "\n".join(lines)


def _only(ours: Counts, theirs: Counts) -> list[str]:
    """The tests that fail with our class and not with theirs."""
    return [test for test in ours.failed if test not in theirs.failed]


def _reason(test: str) -> str | None:
    return REASONS.get(test) or REASONS.get(test.partition("[")[0])


def _with_names(ours: Any, renamed: dict[str, str | None]) -> Any:
    """Our class with another library's names of parameters."""

    def __init__(self: Any, **parameters: Any) -> None:
        names = {name: renamed.get(name, name) for name in parameters}
        known = {new: parameters[name] for name, new in names.items() if new is not None}
        ours.__init__(self, **known)

    return type(ours.__name__, (ours,), {"__init__": __init__}) if renamed else ours


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """As a plugin of pytest: import a library, and put our classes in place of its own.

    The import comes before pytest adds the checkout to the path, where a package with an extension
    is not compiled.
    """
    import lowdim

    library = LIBRARIES[os.environ[LIBRARY]]
    for name, attribute, ours in library.replaced:
        module = importlib.import_module(name)
        if os.environ[REPLACE]:
            setattr(module, attribute, _with_names(getattr(lowdim, ours), library.renamed))
