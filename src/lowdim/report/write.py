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
from lowdim.atomic import check_writable, replacing
from lowdim.quality import Suspects, compare
from lowdim.report.charts import dash, rnx_chart, shade, shepard_chart
from lowdim.report.markup import tag, text, user
from lowdim.report.payload import encode
from lowdim.report.runs import Run, check_runs, runs_of
from lowdim.report.suspects import find_suspects, suspects_table
from lowdim.report.tables import best, measure_names, number, quality_table
from lowdim.versions import versions

_SCRIPTS = ("scatter.js", "report.js")
_UNDER_A_MAP = 3
"""Measures written under each map."""


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
        if X is given, the label has classes and there are at most 20,000 objects.
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
        runs = _assessed(runs, X, labels)
        if suspects is None:
            suspects = find_suspects(X, _first(labels))
    data = encode(runs, labels=labels, features=features, color_by=color_by, ids=ids, images=images)
    page = Template(_resource("report", "page.html")).substitute(
        title=text(title),
        style=_resource("web", "report.css"),
        introduction=_introduction(n, runs, notes),
        columns=_columns(len(runs)),
        maps="".join(_figure(run, n) for run in runs),
        findings=_summary(runs)
        + _quality(runs)
        + _readings(runs)
        + _curves(runs)
        + _shepards(runs)
        + _suspects(suspects, ids),
        again=_again(runs, commands),
        data=data,
        script="\n".join(_resource("web", name) for name in _SCRIPTS),
    )
    with replacing(path, force=force) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return path


def _resource(folder: str, name: str) -> str:
    return files("lowdim").joinpath(folder, name).read_text(encoding="utf-8")


def _assessed(runs: Sequence[Run], X: Any, labels: Any) -> list[Run]:
    """The runs with assessments; a map that cannot be assessed stays without."""
    missing = {run.name: run.embedding for run in runs if run.assessment is None}
    if not missing:
        return list(runs)
    found = compare(X, missing, labels=_first(labels), random_state=0)
    for name, reason in found.failures.items():
        checks.warn(f"{name} could not be assessed: {reason}")
    return [
        replace(run, assessment=found.assessments[run.name])
        if run.name in found.assessments
        else run
        for run in runs
    ]


def _first(labels: Any) -> Any:
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


def _summary(runs: Sequence[Run]) -> str:
    """Facts about the data, and which map is best for what."""
    facts = dict.fromkeys(fact for run in runs for fact in run.findings.data)
    lines = [tag("p", text(fact)) for fact in facts]
    if not runs[0].findings.no_structure:
        lines.append(_headlines(runs))
    return _section("Summary", *lines) if any(lines) else ""


def _headlines(runs: Sequence[Run]) -> str:
    """Which map is best for what."""
    items = []
    for name in measure_names(runs):
        found = {run.name: m for run in runs if (m := run.findings.measures.get(name))}
        headline = next(iter(found.values())).headline
        winners, near = best(runs, name)
        if not headline or not winners:
            continue
        value = number(found[winners[0]].value)
        parts = ["Best for ", text(headline), ": ", _names(winners), f" ({text(name)} {value})"]
        if near:
            parts += ["; no clear difference from it: ", _names(near)]
        items.append(tag("li", *parts))
    return tag("ul", *items, class_="verdict") if items else ""


def _names(names: Sequence[str]) -> str:
    return ", ".join(user(name) for name in names)


def _figure(run: Run, n: int) -> str:
    """A map's place on the page; the script draws into it."""
    measures = list(run.findings.measures.items())[:_UNDER_A_MAP]
    measured = ", ".join(f"{name} {number(measure.value)}" for name, measure in measures)
    by = f", by {run.method}" if run.method else ""
    description = f"Map of {n:,} objects, {run.name}{by}. {measured}".strip()
    facts = [measured] if measured else []
    if run.seconds is not None:
        facts.append(f"{run.seconds:.2f} s")
    columns = getattr(run.embedding, "shape", (n, 1))[1:]
    if columns and columns[0] > 3:
        facts.append(f"dimensions 1 and 2 of {columns[0]}")
    plot = tag("div", class_="plot", role="group", aria_label=description)
    button = tag("button", "Enlarge", type="button", class_="enlarge", aria_pressed="false")
    heading = tag("div", tag("h3", user(run.name)), button, class_="heading")
    caption = tag("figcaption", text(" · ".join(facts)), class_="note")
    return tag("figure", heading, plot, caption, class_="map")


def _section(title: str, *content: str, note: str = "") -> str:
    lead = [tag("p", note, class_="note")] if note else []
    return tag("section", tag("h2", title), *lead, *content)


def _readings(runs: Sequence[Run]) -> str:
    """What to see on the maps, and what not to read from them; what several share, once."""
    shared: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        verdict = "" if run.findings.no_structure else run.findings.verdict
        reading = (verdict, *run.findings.warnings)
        if any(reading):
            shared.setdefault(reading, []).append(run.name)
    parts = []
    for (verdict, *warnings), names in shared.items():
        heading = _names(names)
        if len(names) == len(runs) > 1:
            heading = "All maps"
        card = [tag("h3", heading)]
        if verdict:
            card.append(tag("p", text(verdict)))
        if warnings:
            card.append(tag("p", "Do not read from it:", class_="note"))
            card.append(tag("ul", *(tag("li", text(line)) for line in warnings)))
        parts.append(tag("div", *card, class_="card"))
    cards = tag("div", *parts, class_="grid")
    title = "Can the map be believed?" if len(runs) == 1 else "Can the maps be believed?"
    return _section(title, cards) if parts else ""


def _quality(runs: Sequence[Run]) -> str:
    if not measure_names(runs):
        return ""
    return _section("How true each map is", quality_table(runs))


def _curves(runs: Sequence[Run]) -> str:
    curves = {run.name: run.findings.rnx for run in runs if run.findings.rnx is not None}
    if not curves:
        return ""
    places = {run.name: place for place, run in enumerate(runs)}
    keys = []
    for name in curves:
        line = tag(
            "line",
            x1=0,
            x2=28,
            y1=6,
            y2=6,
            class_=f"curve {shade(places[name])}",
            stroke_dasharray=dash(places[name]),
        )
        drawn = tag("svg", line, viewBox="0 0 28 12", width=28, height=12, aria_hidden="true")
        keys.append(tag("li", drawn, user(name)))
    return _section(
        "Neighbourhoods of every size",
        tag("div", rnx_chart(curves, places), class_="chart"),
        tag("ul", *keys, class_="keys"),
        note="R<sub>NX</sub>(K): how much of the K nearest neighbours a map keeps; 1 is all, 0 as "
        "many as by chance. Left: close neighbours. Right: the arrangement as a whole.",
    )


def _shepards(runs: Sequence[Run]) -> str:
    shown = []
    for run in runs:
        if run.findings.shepard is not None:
            chart = shepard_chart(run.name, *run.findings.shepard)
            shown.append(tag("figure", tag("figcaption", tag("h3", user(run.name))), chart))
    if not shown:
        return ""
    return _section(
        "Distances",
        tag("div", *shown, class_="grid small"),
        note="Shepard diagrams: where many pairs of objects lie, by how far apart they are in "
        "the data and on the map; the line is the closest relation that never falls. A thin band "
        "along it means that distances can be read.",
    )


def _suspects(found: Suspects | None, ids: Sequence[Any] | None) -> str:
    if found is None or not len(found):
        return ""
    return _section(
        "Objects to look at",
        suspects_table(found, ids),
        note="Probably mislabelled, because their neighbours in the data (not on a map) carry "
        "another label, or far from all others.",
    )


def _again(runs: Sequence[Run], commands: Sequence[str] | None) -> str:
    """What to type, with which versions."""
    lines = commands if commands is not None else [run.call for run in runs if run.call]
    rows = []
    for run in runs:
        given = (f"{name} = {value!r}" for name, value in run.parameters.items())
        cells = (
            user(run.name),
            text(run.method),
            text(", ".join(given) or ("defaults" if run.method else "")),
        )
        rows.append(tag("tr", *(tag("td", cell) for cell in cells)))
    head = tag("tr", *(tag("th", name, scope="col") for name in ("map", "method", "parameters")))
    found = "\n".join(f"{name:<13} {value}" for name, value in versions().items())
    code = [tag("pre", tag("code", text("\n".join(lines))), tabindex=0)] if lines else []
    return _section(
        "How to make this again",
        *code,
        tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), class_="scroll left"),
        tag("pre", tag("code", text(found)), tabindex=0),
    )
