"""The table of objects that are probably mislabelled, and of outliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowdim.quality import Suspects
from lowdim.quality.labels import is_scale
from lowdim.report.markup import table, tag, text, user

MOST_OBJECTS = 20_000  # for whose suspects a report compares all pairs
MOST_LISTED = 25


def find_suspects(X: Any, labels: Any, metric: Any = "euclidean") -> Suspects | None:
    """The suspects among few enough objects with classes; None otherwise."""
    from lowdim.quality import suspects

    values = None if labels is None else np.asarray(labels)
    if values is None or values.ndim != 1 or not 4 <= len(values) <= MOST_OBJECTS:
        return None
    if is_scale(values) or not 1 < len(set(values.tolist())) <= len(values) // 2:
        return None
    return suspects(X, values, metric=metric)


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
