"""The table of measures, with the best of each marked."""

from __future__ import annotations

from collections.abc import Sequence

from lowdim.report.findings import Measure
from lowdim.report.markup import tag, text, user
from lowdim.report.runs import Run


def measure_names(runs: Sequence[Run]) -> list[str]:
    """All measures of all runs, in the order in which they first appear."""
    return list(dict.fromkeys(name for run in runs for name in run.findings.measures))


def best_runs(runs: Sequence[Run], name: str) -> tuple[list[str], list[str]]:
    """Names of the runs that are best by a measure, and of those that do not differ from them.

    A run does not differ from the best one if their confidence intervals overlap.
    """
    measures = {run.name: run.findings.measures[name] for run in runs if _has(run, name)}
    directions = {measure.better for measure in measures.values()}
    if len(measures) < 2 or len(directions) != 1:
        return [], []
    sign = 1 if directions == {"higher"} else -1
    top = max(sign * measure.value for measure in measures.values())
    first = [run for run, measure in measures.items() if sign * measure.value == top]
    if len(first) == len(measures):
        return [], []
    winner = measures[first[0]]
    near = [run for run, one in measures.items() if run not in first and _overlap(one, winner)]
    return first, near


def _has(run: Run, name: str) -> bool:
    measure = run.findings.measures.get(name)
    return measure is not None and measure.value == measure.value


def _rank(measure: Measure | None) -> float:
    if measure is None or measure.value != measure.value:
        return float("inf")
    return -measure.value if measure.better == "higher" else measure.value


def _overlap(a: Measure, b: Measure) -> bool:
    return a.margin + b.margin > 0 and abs(a.value - b.value) <= a.margin + b.margin


def quality_table(runs: Sequence[Run]) -> str:
    """A row a map, a column a measure; the maps in the order of the first measure."""
    names = measure_names(runs)
    runs = sorted(runs, key=lambda run: _rank(run.findings.measures.get(names[0])))
    timed = any(run.seconds is not None for run in runs)
    leaders = {name: best_runs(runs, name) for name in names}
    head = [tag("th", "map", scope="col")]
    head += [_heading(name, runs) for name in names]
    if timed:
        head.append(tag("th", "seconds", scope="col"))
    rows = []
    for run in runs:
        cells = [tag("th", user(run.name), scope="row")]
        cells += [_cell(run, name, *leaders[name]) for name in names]
        if timed:
            cells.append(tag("td", "–" if run.seconds is None else f"{run.seconds:.2f}"))
        rows.append(tag("tr", *cells))
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *rows))
    marks = ["★ best of the column."] if len(runs) > 1 else []
    if any(near for _, near in leaders.values()):
        marks.append("≈ no clear difference from the best: the confidence intervals overlap.")
    if any(measure.margin for run in runs for measure in run.findings.measures.values()):
        marks.append("± is half of a 95 % confidence interval.")
    note = tag("p", " ".join(marks), class_="note") if marks else ""
    return tag("div", table, class_="scroll", tabindex=0) + note


def _heading(name: str, runs: Sequence[Run]) -> str:
    measure = next(m for run in runs if (m := run.findings.measures.get(name)))
    arrow = "↑" if measure.better == "higher" else "↓"
    sign = tag("span", arrow, title=f"{measure.better} is better", class_="arrow")
    return tag("th", user(name), sign, scope="col", title=measure.meaning or None)


def _cell(run: Run, name: str, first: list[str], near: list[str]) -> str:
    if not _has(run, name):
        return tag("td", "–")
    measure = run.findings.measures[name]
    parts = [text(number(measure.value))]
    if run.name in first:
        parts.insert(0, tag("span", "★\u00a0", aria_label="best", role="img"))
    elif run.name in near:
        parts.insert(
            0, tag("span", "≈\u00a0", aria_label="no clear difference from the best", role="img")
        )
    if measure.margin:
        parts.append(tag("small", text(f"± {number(measure.margin)}")))
    return tag("td", *parts, class_="best" if run.name in first else None)


def number(value: float) -> str:
    """Three decimals, or three digits of what is large."""
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"
