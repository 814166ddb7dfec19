"""The sections of a report: maps, summary, measures, readings, curves, suspects, code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowdim.quality import Suspects
from lowdim.report.charts import dash, rnx_chart, shade, shepard_chart
from lowdim.report.markup import table, tag, text, user
from lowdim.report.runs import Run
from lowdim.report.suspects import suspects_table
from lowdim.report.tables import best_runs, measure_names, number, quality_table
from lowdim.versions import versions

_UNDER_A_MAP = 3
"""Measures written under each map."""


def summary(runs: Sequence[Run]) -> str:
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
        measures = {run.name: m for run in runs if (m := run.findings.measures.get(name))}
        headline = next(iter(measures.values())).headline
        winners, near = best_runs(runs, name)
        if not headline or not winners:
            continue
        value = number(measures[winners[0]].value)
        parts = ["Best for ", text(headline), ": ", _names(winners), f" ({text(name)} {value})"]
        if near:
            parts += ["; no clear difference from it: ", _names(near)]
        items.append(tag("li", *parts))
    return tag("ul", *items, class_="verdict") if items else ""


def _names(names: Sequence[str]) -> str:
    return ", ".join(user(name) for name in names)


def figure(run: Run, n: int) -> str:
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


def readings(runs: Sequence[Run]) -> str:
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


def quality_section(runs: Sequence[Run]) -> str:
    if not measure_names(runs):
        return ""
    return _section("How true each map is", quality_table(runs))


def curves(runs: Sequence[Run]) -> str:
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


def shepards(runs: Sequence[Run]) -> str:
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


def suspects_section(suspects: Suspects | None, ids: Sequence[Any] | None) -> str:
    if suspects is None or not len(suspects):
        return ""
    return _section(
        "Objects to look at",
        suspects_table(suspects, ids),
        note=f"{suspects.summary}: probably mislabelled, because their neighbours in the data (not "
        "on a map) carry another label, or far from all others.",
    )


def again(runs: Sequence[Run], commands: Sequence[str] | None) -> str:
    """What to type, with which versions."""
    lines = commands if commands is not None else [run.call for run in runs if run.call]
    rows = []
    for run in runs:
        values = ", ".join(f"{name} = {value!r}" for name, value in run.parameters.items())
        values = values or ("defaults" if run.method else "")
        rows.append((user(run.name), text(run.method), text(values)))
    libraries = "\n".join(f"{name:<13} {value}" for name, value in versions().items())
    code = [tag("pre", tag("code", text("\n".join(lines))), tabindex=0)] if lines else []
    return _section(
        "How to make this again",
        *code,
        tag("div", table(("map", "method", "parameters"), rows), class_="scroll left"),
        tag("pre", tag("code", text(libraries)), tabindex=0),
    )
