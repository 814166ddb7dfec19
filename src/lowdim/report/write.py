"""One self-contained page from several maps of the same objects."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from lowdim import checks
from lowdim.quality import Suspects, compare
from lowdim.report import sections
from lowdim.report.markup import tag, text
from lowdim.report.payload import encode
from lowdim.report.runs import Run, check_runs, runs_of
from lowdim.report.suspects import find_suspects
from lowdim.runtime.atomic import check_writable, replace_file

_SCRIPTS = ("scatter.js", "report.js")


def write(
    path: str | os.PathLike[str],
    runs: Any,
    *,
    title: str = "Maps of the data",
    X: Any = None,
    labels: Any = None,
    features: Mapping[str, Any] | None = None,
    color_by: str | None = None,
    ids: Sequence[Any] | None = None,
    images: Any = None,
    suspects: Suspects | None = None,
    commands: Sequence[str] | None = None,
    notes: Sequence[str] = (),
    force: bool = True,
) -> Path:
    """Write a report on maps of the same objects as one HTML file that needs no network.

    Parameters
    ----------
    path : str or path-like
        The file. It is written completely or not at all.
    runs : sequence or mapping of str to fitted estimators, arrays or Run
        The maps: estimators that are fitted to the same objects, arrays of coordinates, or `Run`
        with more to say about them. A mapping names them.
    title : str, default="Maps of the data"
        The heading.
    X : array-like, default=None
        The data. If given, maps without an assessment are assessed by `lowdim.quality.compare`.
    labels : array of shape (n,), or mapping of str to such arrays, default=None
        What to colour the points by.
    features : mapping of str to array of shape (n,), default=None
        Further columns to colour by, shown under the pointer and compared for a selection. Of many,
        the first are kept that fit into about 4 MB.
    color_by : str, default=None
        The label or feature that colours the maps first; by default the first one.
    ids : sequence of n names, default=None
        Names of the objects, shown under the pointer; by default their row numbers.
    images : array of shape (n, height, width) or (n, height, width, 3), default=None
        Pictures of the objects, shown under the pointer. They are made coarser until they have at
        most 8 million pixels in all, or left out if they would become too coarse.
    suspects : Suspects, default=None
        What `lowdim.quality.suspects` found. By default it is called with X and the first label,
        if X is given and the label has classes; of more than 20,000 objects, a sample is searched.
    commands : sequence of str, default=None
        How to make the report again; by default the Python lines of the runs.
    notes : sequence of str, default=()
        Details of the data, folded away under the title.
    force : bool, default=True
        Whether an existing file is replaced.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import os, tempfile
    >>> import lowdim
    >>> X, t = lowdim.data.swiss_roll(200, random_state=0)
    >>> pca, isomap = lowdim.PCA(n_components=2).fit(X), lowdim.Isomap(n_neighbors=8).fit(X)
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> lowdim.report.write(path, [pca, isomap], X=X, labels={"angle": t}).name
    'report.html'

    A mapping names the maps, which may be plain arrays.

    >>> maps = {"by hand": X[:, :2], "PCA": pca.embedding_}
    >>> lowdim.report.write(path, maps).name
    'report.html'
    """
    path = Path(path)
    check_writable(path, force=force)
    runs = runs_of(runs)
    n = check_runs(runs)
    if X is not None:
        runs = _assess(runs, X, labels)
        if suspects is None:
            suspects = find_suspects(X, _first_labels(labels))
    data = encode(runs, labels=labels, features=features, color_by=color_by, ids=ids, images=images)
    page = Template(_resource("report", "page.html")).substitute(
        title=text(title),
        style=_resource("web", "report.css"),
        introduction=_introduction(n, runs, notes),
        columns=_columns(len(runs)),
        maps="".join(sections.figure(run, n) for run in runs),
        findings=sections.summary(runs)
        + sections.quality_section(runs)
        + sections.readings(runs)
        + sections.curves(runs)
        + sections.shepards(runs)
        + sections.suspects_section(suspects, ids),
        again=sections.again(runs, commands),
        data=data,
        script="\n".join(_resource("web", name) for name in _SCRIPTS),
    )
    with replace_file(path, force=force) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def _resource(folder: str, name: str) -> str:
    return files("lowdim").joinpath(folder, name).read_text(encoding="utf-8")


def _assess(runs: Sequence[Run], X: Any, labels: Any) -> list[Run]:
    """The runs with assessments; a map that cannot be assessed stays without."""
    missing = {run.name: run.embedding for run in runs if run.assessment is None}
    if not missing:
        return list(runs)
    comparison = compare(X, missing, labels=_first_labels(labels), random_state=0)
    for name, reason in comparison.failures.items():
        checks.warn(f"{name} could not be assessed: {reason}")
    return [
        replace(run, assessment=comparison.assessments[run.name])
        if run.name in comparison.assessments
        else run
        for run in runs
    ]


def _first_labels(labels: Any) -> Any:
    """The first of several labels, or the only one."""
    return next(iter(labels.values()), None) if isinstance(labels, Mapping) else labels


def _columns(count: int) -> int:
    """Maps in a row: four are two by two."""
    return count if count <= 3 else 2 if count == 4 else 3


def _introduction(n: int, runs: Sequence[Run], notes: Sequence[str]) -> str:
    count = "1 map" if len(runs) == 1 else f"{len(runs)} maps"
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    lines = [tag("p", f"{n:,} objects, {count}, {today}", class_="note")]
    if notes:
        details = [tag("p", text(note)) for note in notes]
        lines.append(tag("details", tag("summary", "How the data were read"), *details))
    if runs[0].findings.no_structure:  # of the data, so of every run
        lines.append(tag("p", tag("strong", text(runs[0].findings.verdict))))
    return "".join(lines)
