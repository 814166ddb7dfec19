"""The results as Markdown."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

Run = dict[str, Any]

HEADER = (
    "case", "peer", "peer s", "our s", "ratio", "CPU ratio",
    "peer peak MB", "our peak MB", "memory ratio", "quality peer", "quality ours",
)  # fmt: skip
LEGEND = (
    "Best of {repeat}; seconds of the fit alone (coordinates included), modules imported unless "
    "the row speaks of the first call. Peak MB: "
    "resident memory that the fit adds (in brackets: peak of the whole process). Ratios are "
    "peer / ours: above 1, ours is faster or leaner; that of CPU time, of all threads, is the one "
    "to read on a machine that does other work too."
)


@dataclass
class Row:
    """The runs of one case, or why there are none."""

    case: str
    n: int
    peer: str
    skipped: str = ""
    peers: list[Run] = field(default_factory=list)
    ours: list[Run] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return any("error" in run for run in self.ours)


def markdown(rows: list[Row], imports: list[Run], repeat: int, quick: bool) -> str:
    lines = [_line(HEADER), _line(["---"] * len(HEADER))]
    lines += [_line(_cells(row)) for row in rows]
    lines += ["", LEGEND.format(repeat=repeat)]
    if quick:
        lines.append("Quick sizes try the harness; their ratios mean nothing.")
    for row in rows:
        for side, runs in (("peer", row.peers), ("ours", row.ours)):
            said = {text for run in runs for text in run.get("warnings", [])}
            lines += [f"- {row.case}, {side} warns: {text}" for text in sorted(said)]
    lines += ["", _line(["cold", "import s", "import + class s"]), _line(["---"] * 3)]
    lines += [
        _line([run["package"], run["error"], ""])
        if "error" in run
        else _line([run["package"], f"{run['import']:.3f}", f"{run['class']:.3f}"])
        for run in imports
    ]
    return "\n".join(lines)


def as_json(rows: list[Row], imports: list[Run], environment: Run) -> Run:
    return {"environment": environment, "imports": imports, "cases": [asdict(row) for row in rows]}


def _cells(row: Row) -> list[str]:
    name = f"{row.case} (n = {row.n:,})"
    if row.skipped:
        return [name, row.peer, f"skipped: {row.skipped}"] + [""] * (len(HEADER) - 3)
    peer, ours = _best(row.peers), _best(row.ours)
    return [
        name,
        row.peer,
        _seconds(peer),
        _seconds(ours),
        _ratio(peer, ours, "seconds"),
        _ratio(peer, ours, "cpu_seconds"),
        _memory(peer),
        _memory(ours),
        _ratio(peer, ours, "added_mb"),
        _quality(peer),
        _quality(ours),
    ]


def _best(runs: list[Run]) -> Run:
    """The fastest run, with the least memory and CPU time of any; the error where one failed."""
    failed = [run for run in runs if "error" in run]
    if failed or not runs:
        return failed[0] if failed else {}
    least = ("added_mb", "peak_mb", "cpu_seconds")
    others = {key: min(run[key] for run in runs) for key in least}
    return {**min(runs, key=lambda run: float(run["seconds"])), **others}


def _seconds(run: Run) -> str:
    return str(run["error"]) if "error" in run else f"{run['seconds']:.3g}" if run else "-"


def _memory(run: Run) -> str:
    return f"{run['added_mb']:,.0f} ({run['peak_mb']:,.0f})" if "seconds" in run else "-"


def _ratio(peer: Run, ours: Run, key: str) -> str:
    if "seconds" not in peer or "seconds" not in ours or ours[key] < 0.001:
        return "-"
    return f"{peer[key] / ours[key]:.2f}"


def _quality(run: Run) -> str:
    if "seconds" not in run:
        return "-"
    return ", ".join(f"{name} {value:.4g}" for name, value in run["quality"].items())


def _line(cells: Any) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
