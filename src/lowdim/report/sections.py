"""The sections of a report: maps, summary, measures, readings, curves, suspects, code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lowdim.explore.compare_maps import compare_pairs
from lowdim.explore.naming import LEAST_EFFECT
from lowdim.explore.regions import Region, Regions
from lowdim.quality import MEASURES, Comparison, QualityMeasure, Suspects
from lowdim.report.answers import Answers
from lowdim.report.charts import line_style, rnx_chart, shepard_chart
from lowdim.report.markup import table, tag, text, user_name
from lowdim.report.runs import Run
from lowdim.versions import versions

_UNDER_A_MAP = 3  # measures that are written under each map
_MOST_SUSPECTS = 25
_MOST_REGIONS = 12  # of a map
_MOST_EFFECTS = 3  # of a region
_MOST_FEATURES = 12


def summary(comparison: Comparison) -> str:
    """Facts about the data, and which map is best for what."""
    assessments = comparison.assessments.values()
    facts = dict.fromkeys(f"Intrinsic dimension of the data: {a.dimension}." for a in assessments)
    lines = [tag("p", text(fact)) for fact in facts]
    if not any(one.no_structure for one in assessments):  # of the data, so of every map
        lines.append(_headlines(comparison))
    return _section("Summary", *lines) if any(lines) else ""


def _headlines(comparison: Comparison) -> str:
    """Which map is best for what."""
    items = []
    for measure in comparison.measures:
        winners, near = comparison.leaders(measure.name)
        if not measure.good_for or not winners:
            continue
        value = comparison.assessments[winners[0]].measures[measure.name]
        named = f" ({text(measure.label)} {value:.3f})"
        parts = ["Best for ", text(measure.good_for), ": ", _names(winners), named]
        if near:
            parts += ["; no clear difference from it: ", _names(near)]
        items.append(tag("li", *parts))
    return tag("ul", *items, class_="verdict") if items else ""


def _names(names: Sequence[str]) -> str:
    return ", ".join(user_name(name) for name in names)


def figure(run: Run, n: int) -> str:
    """A map's place on the page; the script draws into it."""
    values = {} if run.assessment is None else run.assessment.measures
    known = [m for m in MEASURES if m.compared and m.name in values][:_UNDER_A_MAP]
    measured = ", ".join(f"{m.label} {values[m.name]:.3f}" for m in known)
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
    heading = tag("div", tag("h3", user_name(run.name)), button, class_="heading")
    caption = tag("figcaption", text(" · ".join(facts)), class_="note")
    return tag("figure", heading, plot, caption, class_="map")


def _section(title: str, *content: str, note: str = "") -> str:
    lead = [tag("p", note, class_="note")] if note else []
    return tag("section", tag("h2", title), *lead, *content)


def quality_table(runs: Sequence[Run], comparison: Comparison) -> str:
    """A row a map, a column a measure; the maps in the order of the first measure."""
    if not comparison.measures:
        return ""
    ranked = comparison.ranking(comparison.measures[0].name)
    timed = any(run.seconds is not None for run in runs)
    leaders = {one.name: comparison.leaders(one.name) for one in comparison.measures}
    head = [tag("th", "map", scope="col")]
    for one in comparison.measures:
        sign = tag("span", one.arrow, title=f"{one.better} is better", class_="arrow")
        known = next(a for a in comparison.assessments.values() if one.name in a.measures)
        head.append(tag("th", text(one.label), sign, scope="col", title=known.meaning(one)))
    if timed:
        head.append(tag("th", "seconds", scope="col"))
    rows = []
    for run in sorted(runs, key=lambda run: [*ranked, run.name].index(run.name)):
        cells = [tag("th", user_name(run.name), scope="row")]
        cells += [_cell(run, one, *leaders[one.name]) for one in comparison.measures]
        if timed:
            cells.append(tag("td", "–" if run.seconds is None else f"{run.seconds:.2f}"))
        rows.append(tag("tr", *cells))
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows))
    marks = ["★ best of the column."] if len(runs) > 1 else []
    if any(near for _, near in leaders.values()):
        marks.append("≈ no clear difference from the best: the confidence intervals overlap.")
    if any(one.n_rows < one.n_objects for one in comparison.assessments.values()):
        marks.append("± is half of a 95 % confidence interval.")
    note = tag("p", " ".join(marks), class_="note") if marks else ""
    content = tag("div", table, class_="scroll", tabindex=0) + note
    return _section("How true each map is", content)


def _cell(run: Run, measure: QualityMeasure, first: list[str], near: list[str]) -> str:
    value = None if run.assessment is None else run.assessment.measures.get(measure.name)
    if value is None:
        return tag("td", "–")
    parts = [f"{value:.3f}"]
    if run.name in first:
        parts.insert(0, tag("span", "★\u00a0", aria_label="best", role="img"))
    elif run.name in near:
        words = "no clear difference from the best"
        parts.insert(0, tag("span", "≈\u00a0", aria_label=words, role="img"))
    if margin := getattr(value, "margin", 0.0):
        parts.append(tag("small", f"± {margin:.3f}"))
    return tag("td", *parts, class_="best" if run.name in first else None)


def readings(comparison: Comparison) -> str:
    """What to see on the maps, and what not to read from them; what several share, once."""
    shared: dict[tuple[str, ...], list[str]] = {}
    for name, one in comparison.assessments.items():
        reading = ("" if one.no_structure else one.verdict, *one.warnings)
        if any(reading):
            shared.setdefault(reading, []).append(name)
    parts = []
    count = len(comparison.assessments)
    for (verdict, *warnings), names in shared.items():
        card = [tag("h3", "All maps" if len(names) == count > 1 else _names(names))]
        if verdict:
            card.append(tag("p", text(verdict)))
        if warnings:
            card.append(tag("p", "Do not read from it:", class_="note"))
            card.append(tag("ul", *(tag("li", text(line)) for line in warnings)))
        parts.append(tag("div", *card, class_="card"))
    cards = tag("div", *parts, class_="grid")
    title = "Can the map be believed?" if count == 1 else "Can the maps be believed?"
    return _section(title, cards) if parts else ""


def curves(runs: Sequence[Run]) -> str:
    """R_NX curves, with a key; a run has the same colour on every page."""
    known = {run.name: run.assessment.rnx for run in runs if run.assessment is not None}
    if not known:
        return ""
    places = {run.name: place for place, run in enumerate(runs)}
    keys = []
    for name in known:
        line = tag("line", x1=0, x2=28, y1=6, y2=6, **line_style(places[name]))
        drawn = tag("svg", line, viewBox="0 0 28 12", width=28, height=12, aria_hidden="true")
        keys.append(tag("li", drawn, user_name(name)))
    return _section(
        "Neighbourhoods of every size",
        tag("div", rnx_chart(known, places), class_="chart"),
        tag("ul", *keys, class_="keys"),
        note="R<sub>NX</sub>(K): how much of the K nearest neighbours a map keeps; 1 is all, 0 as "
        "many as by chance. Left: close neighbours. Right: the arrangement as a whole.",
    )


def shepards(comparison: Comparison) -> str:
    """The Shepard diagrams of all maps."""
    shown = []
    for name, one in comparison.assessments.items():
        chart = shepard_chart(name, one.shepard)
        shown.append(tag("figure", tag("figcaption", tag("h3", user_name(name))), chart))
    if not shown:
        return ""
    return _section(
        "Distances",
        tag("div", *shown, class_="grid small"),
        note="Shepard diagrams: where many pairs of objects lie, by how far apart they are in "
        "the data and on the map; the line is the closest relation that never falls. A thin band "
        "along it means that distances can be read.",
    )


def regions_tables(answered: Mapping[str, Answers]) -> str:
    """The regions of each map, with what sets them apart."""
    parts = []
    for name, one in answered.items():
        if one.regions is None or one.regions.n_leaves < 2:
            continue
        rows = [
            (user_name(region.name), f"{region.size:,}", _about(region, one.regions))
            for region in one.regions.at(_MOST_REGIONS).regions
        ]
        parts.append(tag("h3", user_name(name)) if len(answered) > 1 else "")
        shown = table(("region", "objects", "set apart by"), rows)
        parts.append(tag("div", shown, class_="scroll left"))
    note = (
        "Dense parts of each map. In brackets: how far the mean of a feature is from that of all "
        "other objects, in standard deviations."
    )
    return _section("What are the regions?", *parts, note=note) if parts else ""


def _about(region: Region, regions: Regions) -> str:
    """The features that set a region apart, and where it continues if no gap was found."""
    clear = [one for one in region.features if abs(one.size) >= LEAST_EFFECT][:_MOST_EFFECTS]
    listed = ", ".join(f"{user_name(one.feature)} ({one.size:+.1f})" for one in clear)
    if region.continues_in is None:
        return listed
    beside = user_name(regions.tree[region.continues_in].name)
    return listed + tag("div", f"no gap found in the data to {beside}", class_="note")


def reasons_table(answered: Mapping[str, Answers]) -> str:
    """The features that the maps follow most."""
    known = {name: one.reasons for name, one in answered.items() if one.reasons is not None}
    if not known:
        return ""
    r2 = np.column_stack([one.r2 for one in known.values()])
    features = next(iter(known.values())).features
    order = np.argsort(-r2.max(axis=1), kind="stable")[:_MOST_FEATURES]
    rows = [(user_name(features[i]), *(f"{max(value, 0):.2f}" for value in r2[i])) for i in order]
    head = ("feature", *(user_name(name) if len(known) > 1 else "R²" for name in known))
    more = len(features) - len(rows)
    return _section(
        "What does the map follow?" if len(known) == 1 else "What do the maps follow?",
        tag("div", table(head, rows), class_="scroll"),
        tag("p", f"and {more:,} more", class_="note") if more else "",
        note="R²: the share of a feature's variance that the position on the map predicts. Colour "
        "by a feature to see where it is high.",
    )


def changes_table(maps: Mapping[str, Any]) -> str:
    """What each two maps have in common: the neighbours that objects keep."""
    rows = [
        (user_name(a), user_name(b), f"{one.score:.0%}", f"{one.expected:.0%}")
        for (a, b), one in compare_pairs(maps).items()
    ]
    if not rows:
        return ""
    note = (
        "How many of an object's 15 nearest on one map are among its 15 nearest on the other. "
        "Few on two faithful maps: they show different sides of the data."
    )
    head = ("map", "other map", "in common", "by chance")
    shown = tag("div", table(head, rows), class_="scroll")
    return _section("What differs between the maps?", shown, note=note)


def suspects_table(suspects: Suspects | None, ids: Sequence[Any] | None) -> str:
    """The most suspicious objects, each with the reason."""
    if suspects is None or not len(suspects):
        return ""
    rows = [
        (user_name(name), text(score), user_name(label), user_name(suggested), text(why))
        for name, score, label, suggested, why in suspects.rows(_MOST_SUSPECTS, ids)
    ]
    more = len(suspects) - len(rows)
    return _section(
        "Objects to look at",
        tag("div", table(suspects.HEAD, rows), class_="scroll left suspects"),
        tag("p", f"and {more:,} more", class_="note") if more else "",
        note=f"{suspects.summary}: probably mislabelled, because their neighbours in the data (not "
        "on a map) carry another label, or far from all others.",
    )


def repetition(runs: Sequence[Run], commands: Sequence[str] | None) -> str:
    """What to type, with which versions."""
    lines = commands if commands is not None else [run.call for run in runs if run.call]
    rows = []
    for run in runs:
        values = ", ".join(f"{name} = {value!r}" for name, value in run.parameters.items())
        values = values or ("defaults" if run.method else "")
        rows.append((user_name(run.name), text(run.method), text(values)))
    libraries = "\n".join(f"{name:<13} {value}" for name, value in versions().items())
    code = [tag("pre", tag("code", text("\n".join(lines))), tabindex=0)] if lines else []
    return _section(
        "How to make this again",
        *code,
        tag("div", table(("map", "method", "parameters"), rows), class_="scroll left"),
        tag("pre", tag("code", text(libraries)), tabindex=0),
    )
