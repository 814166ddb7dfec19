"""Exports: tables, the report, Python code and a command."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from lowdim.catalog import find
from lowdim.checks import Array
from lowdim.studio import questions
from lowdim.studio.datasets import View, read_about, read_column, read_labels
from lowdim.studio.records import Dataset, Map
from lowdim.studio.toys import TOYS

MOST_LISTED = 2000  # row numbers that are written into Python code
MOST_FEATURES = 60  # columns of a report


# --- tables and the report: these run in the helper process ------------------------------------


def write_table(path: str, view: View, points: Array | None, annotations: dict[str, str]) -> None:
    """Write coordinates with ids, labels and annotations; of all points of a map, or of some."""
    from lowdim import tables

    Y = np.load(view.coordinates)
    rows = view.row_numbers(len(Y))
    if points is not None:
        Y, rows = Y[points], rows[points]
    ids = _ids(view, rows)
    labels = _label_columns(view, rows)
    if ids is None:
        labels = {"row": rows, **labels}
    if annotations:
        labels["annotation"] = np.array([annotations.get(str(row), "") for row in rows.tolist()])
    names = [f"{view.method.lower()}{i}" for i in range(Y.shape[1])]
    tables.write(path, Y, names=names, ids=ids, labels=labels, force=True)


def write_figure(
    path: str, view: View, title: str, legend: str, color: str, shows: list[str]
) -> None:
    """Draw a map for a paper as the page shows it.

    The color is "column:" and the name of a column, "regions", "changing", or something else for
    one colour; it shows "regions" for their names, "trust" for faint objects of a doubtful place.
    """
    from lowdim import plot

    Y = np.load(view.coordinates)
    labels, column = None, color.removeprefix("column:")
    of_maps = {"regions": questions.region_of_points, "changing": questions.changes_at_points}
    if color in of_maps:
        shown = of_maps[color](view)
        names = np.array([*shown["categories"], ""], dtype=object)
        labels = {"regions" if color == "regions" else "changes most": names[shown["codes"]]}
    elif column != color:
        labels = {column: read_labels(Path(view.data), column)[view.read_rows()]}
    named = questions.regions_of(view) if "regions" in shows and Y.shape[1] == 2 else None
    trust = None
    if "trust" in shows:
        trust = 1 - np.nan_to_num(questions.point_errors(view, "doubt"))  # unknown: as they are
    if named is not None and legend == "map":
        legend = "none"  # the names of the regions stand there
    figure = plot.scatter(Y, labels, legend=legend, title=title, reliability=trust, regions=named)
    plot.save(figure, path)


def write_report(path: str, title: str, maps: list[dict[str, Any]]) -> None:
    """Write the report on maps of the same rows of a data set."""
    from lowdim import report

    view: View = maps[0]["view"]
    data = Path(view.data)
    about, chosen = read_about(data), view.read_rows()
    runs = [
        report.Run(one["name"], one["method"], one["parameters"],
                   np.load(one["view"].coordinates), seconds=one["seconds"])
        for one in maps
    ]  # fmt: skip
    labels = _label_columns(view, chosen)
    numbers = [name for name in about["features"] if name in about["places"]][:MOST_FEATURES]
    columns = {name: read_column(data, name) for name in numbers}
    features = {k: v[chosen] for k, v in columns.items() if isinstance(v, np.ndarray)}
    ids, images = _ids(view, chosen), data / "images.npy"
    report.write(
        path,
        runs,
        title=title,
        X=view.read_objects(),
        metric=view.metric,
        feature_names=about["features"] if about["metric"] is None else None,
        labels=labels or None,
        features=features or None,
        color_by=view.label if view.label in labels else None,
        ids=None if ids is None else ids.tolist(),
        images=np.load(images, mmap_mode="r")[chosen] if images.exists() else None,
        commands=[one["code"] for one in maps],
    )


def _ids(view: View, rows: Any) -> Array | None:
    ids = read_about(Path(view.data))["ids"]
    return None if ids is None else np.array(ids, dtype=object)[rows]


def _label_columns(view: View, rows: Any) -> dict[str, Array]:
    """The columns that are not used as features."""
    data = Path(view.data)
    about = read_about(data)
    names = [name for name in about["places"] if name not in set(about["features"])]
    return {name: read_labels(data, name)[rows] for name in names}


# --- code -----------------------------------------------------------------------------------


def python_code(one: Map, dataset: Dataset, data: Path, folder: Path) -> str:
    """Python code that computes the map again, changes during the fit included."""
    about = read_about(data)
    lines = _read_lines(dataset, about)
    if one.rows is not None:
        lines += _subset_lines(folder, about["metric"] == "precomputed")
    parameters = dict(one.initial or one.parameters)
    if about["metric"] is not None:
        parameters["metric"] = about["metric"]
    arguments = [f"{name}={value!r}" for name, value in parameters.items()]
    if (folder / "start.npy").exists():
        lines.insert(0, "import numpy as np")
        arguments.append(f"init=np.load({str(folder / 'start.npy')!r})")
    follows = _callback_lines(one)
    if follows:
        lines += ["", "", *follows, ""]
        arguments.append("callback=follow")
    lines += ["", f"model = lowdim.{one.method}({', '.join(arguments)})"]
    method, label = find(one.method), dataset.about["label"]
    labelled = method is not None and method.objects == "labelled" and label is not None
    objects = "X"
    if labelled:
        objects = f"X, table.labels[{label!r}]"
    if one.pins:
        lines.insert(0, "import numpy as np")
        objects += f", pinned=np.load({str(folder / 'pinned.npy')!r})"
    lines += [f"model.fit({objects})", "Y = model.embedding_"]
    imports = [line for line in lines if line.startswith(("import ", "from "))]
    rest = "\n".join(line for line in lines if line not in imports).strip()
    third = "\n".join(sorted(set(imports), key=lambda line: line.split()[1]))
    return f"{third}{chr(10) * bool(third)}import lowdim\n\n{rest}\n"


def _read_lines(dataset: Dataset, about: dict[str, Any]) -> list[str]:
    arguments = {name: value for name, value in about["arguments"].items() if value}
    if arguments.get("missing") == "mean" and not any(
        one.get("missing") for one in dataset.about["columns"]
    ):
        del arguments["missing"]
    toy = dataset.source.get("toy")
    if toy in TOYS and not arguments:
        return ["", *TOYS[toy].code(dataset.source.get("values", {})).splitlines()]
    listed = "".join(f", {name}={value!r}" for name, value in arguments.items())
    return ["", f"table = lowdim.tables.read({dataset.source['path']!r}{listed})", "X = table.X"]


def _subset_lines(folder: Path, square: bool) -> list[str]:
    rows = np.load(folder / "rows.npy")
    if len(rows) <= MOST_LISTED:
        line = f"rows = {rows.tolist()}"
    else:
        line = f"rows = np.load({str(folder / 'rows.npy')!r})"
    cut = "X = X[rows][:, rows]" if square else "X = X[rows]"
    return [*(["import numpy as np"] if len(rows) > MOST_LISTED else []), line, cut]


def _callback_lines(one: Map) -> list[str]:
    """A callback that repeats what the user changed during the fit."""
    stop = one.status == "stopped" and one.iteration > 0
    if not one.changes and not stop:
        return []
    lines = ["def follow(state):"]
    for iteration, parameters in one.changes:
        listed = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
        lines += [f"    if state.iteration == {iteration}:", f"        state.change({listed})"]
    if stop:
        lines.append(f"    return state.iteration == {one.iteration}")
    return lines


def command_line(one: Map, dataset: Dataset, data: Path) -> str:
    """The command that computes the map again, if there is one."""
    about = read_about(data)
    words = ["lowdim", "embed", dataset.source["path"], "-m", one.method.lower()]
    for name, value in about["arguments"].items():
        words += _reading_option(name, value, dataset)
    for name, value in (one.initial or one.parameters).items():
        words += _parameter_option(name, value)
    notes = []
    if one.rows is not None:
        notes.append("# The map shows only some rows; the command embeds all of them.")
    if one.changes or one.start or one.pins or one.status == "stopped":
        notes.append("# Its start, pins and changes during the fit are in the Python code only.")
    return "\n".join([*notes, shlex.join(map(str, words))]) + "\n"


def _reading_option(name: str, value: Any, dataset: Dataset) -> list[str]:
    if not value or (name, value) == ("categorical", "label"):
        return []
    if name == "missing":
        used = any(one.get("missing") for one in dataset.about["columns"])
        return [f"--{name}", value] if used else []
    if value is True:
        return [f"--{name}"]
    flag = {"labels": "label"}.get(name, name)
    values = value if isinstance(value, list) else [value]
    return [word for one in values for word in (f"--{flag}", one)]


def _parameter_option(name: str, value: Any) -> list[str]:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    if isinstance(value, tuple | list):
        return [f"--{flag}", ",".join(map(str, value))]
    return [f"--{flag}", "none" if value is None else str(value)]
