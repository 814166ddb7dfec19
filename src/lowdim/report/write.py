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
from lowdim.plot.compare import align_maps
from lowdim.quality import Comparison, Suspects, compare
from lowdim.quality.suspects import find_suspects
from lowdim.report import sections
from lowdim.report.answers import answers, first_of
from lowdim.report.live import POLICY, live_section
from lowdim.report.markup import tag, text
from lowdim.report.payload import encode
from lowdim.report.runs import Run, check_runs, runs_of
from lowdim.runtime.atomic import check_writable, replace_file

_SCRIPTS = ("scatter.js", "report.js")


def write(
    path: str | os.PathLike[str],
    runs: Any,
    *,
    title: str = "Maps of the data",
    X: Any = None,
    metric: Any = "euclidean",
    feature_names: Sequence[str] | None = None,
    labels: Any = None,
    features: Mapping[str, Any] | None = None,
    color_by: str | None = None,
    ids: Sequence[Any] | None = None,
    images: Any = None,
    suspects: Suspects | None = None,
    commands: Sequence[str] | None = None,
    notes: Sequence[str] = (),
    live: bool = False,
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
        The data. If given, maps without an assessment are assessed by `lowdim.quality.compare`;
        the page fades objects whose place is doubtful (`lowdim.quality.reliability`), and lists the
        features that the maps follow (`lowdim.explain`) and that set regions apart.
    metric : str or callable, default="euclidean"
        How X is measured.
    feature_names : sequence of str, default=None
        Names of the columns of X; by default those of a DataFrame, else "column 0" and so on.
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
    live : bool, default=False
        Whether the page can compute maps of X by t-SNE and UMAP with other parameters. X and the
        engine (0.3 MB) become part of it. The engine is there after `make wasm` in the source of
        lowdim. At most 5,000 objects, of which the distances are Euclidean.
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
    X = checks.as_frame(X)
    live_maps = live_section(X, labels, metric) if live else ""
    if X is not None:
        runs = _assess(runs, X, labels, metric)
        if suspects is None:
            suspects = find_suspects(X, first_of(labels), metric)
    assessed = {run.name: run.assessment for run in runs if run.assessment is not None}
    comparison = Comparison(assessed, {})
    maps = align_maps({run.name: run.points for run in runs})
    answered = answers(maps, X if assessed else None, labels, metric, feature_names)
    data = encode(
        runs,
        maps,
        answered,
        labels=labels,
        features=features,
        color_by=color_by,
        ids=ids,
        images=images,
    )
    page = Template(_resource("report", "page.html")).substitute(
        title=text(title),
        style=_resource("web", "report.css"),
        introduction=_introduction(n, len(runs), comparison, notes),
        columns=2 if len(runs) == 4 else min(len(runs), 3),
        maps="".join(sections.figure(run, n) for run in runs),
        findings=sections.summary(comparison)
        + sections.regions_tables(answered)
        + sections.reasons_table(answered)
        + sections.changes_table(maps)
        + sections.quality_table(runs, comparison)
        + sections.readings(comparison)
        + sections.curves(runs)
        + sections.shepards(comparison)
        + sections.suspects_table(suspects, ids),
        live=live_maps,
        policy=POLICY if live else "",
        again=sections.repetition(runs, commands),
        data=data,
        script="\n".join(_resource("web", name) for name in _SCRIPTS),
    )
    with replace_file(path, force=force) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def _resource(folder: str, name: str) -> str:
    return files("lowdim").joinpath(folder, name).read_text(encoding="utf-8")


def _assess(runs: Sequence[Run], X: Any, labels: Any, metric: Any) -> list[Run]:
    """The runs with assessments; a map that cannot be assessed stays without."""
    missing = {run.name: run.embedding for run in runs if run.assessment is None}
    if not missing:
        return list(runs)
    comparison = compare(X, missing, labels=first_of(labels), metric=metric, random_state=0)
    for name, reason in comparison.failures.items():
        checks.warn(f"{name} could not be assessed: {reason}")
    return [
        replace(run, assessment=comparison.assessments[run.name])
        if run.name in comparison.assessments
        else run
        for run in runs
    ]


def _introduction(n: int, n_maps: int, comparison: Comparison, notes: Sequence[str]) -> str:
    count = "1 map" if n_maps == 1 else f"{n_maps} maps"
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    lines = [tag("p", f"{n:,} objects, {count}, {today}", class_="note")]
    if notes:
        details = [tag("p", text(note)) for note in notes]
        lines.append(tag("details", tag("summary", "How the data were read"), *details))
    empty = [one.verdict for one in comparison.assessments.values() if one.no_structure]
    lines += [tag("p", tag("strong", text(verdict))) for verdict in empty[:1]]
    return "".join(lines)
