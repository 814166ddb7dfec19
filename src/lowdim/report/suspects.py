"""The table of objects that are probably mislabelled, and of outliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowdim.quality import Suspects
from lowdim.quality.labels import is_scale
from lowdim.report.markup import table, tag, text, user

MOST_SEARCHED = 20_000  # objects among which a report seeks suspects
MOST_LISTED = 25


def find_suspects(X: Any, labels: Any, metric: Any = "euclidean") -> Suspects | None:
    """The suspects among objects with classes, or among a sample of many; None without classes."""
    from lowdim.quality import suspects

    values = None if labels is None else np.asarray(labels)
    if values is None or values.ndim != 1 or len(values) < 4:
        return None
    if is_scale(values) or not 1 < len(set(values.tolist())) <= len(values) // 2:
        return None
    return suspects(X, values, metric=metric, n_objects=MOST_SEARCHED)


def suspects_table(suspects: Suspects, ids: Sequence[Any] | None) -> str:
    """The most suspicious objects, each with the reason."""
    rows = []
    for at in range(min(len(suspects), MOST_LISTED)):
        row = int(suspects.objects[at])
        cells = (
            user(row if ids is None else ids[row]),
            f"{suspects.scores[at]:.2f}",
            user(suspects.labels[at]),
            user(suspects.suggested[at]) if suspects.reasons[at] == "label" else "",
            text(suspects.why(at)),
        )
        rows.append(cells)
    head = ("object", "score", "label", "neighbours' label", "why")
    more = len(suspects) - len(rows)
    note = tag("p", f"and {more:,} more", class_="note") if more else ""
    return tag("div", table(head, rows), class_="scroll left suspects") + note
