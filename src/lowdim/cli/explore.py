"""`lowdim regions` and `lowdim explain`: what a map shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

import lowdim
from lowdim import tables
from lowdim.cli import files
from lowdim.cli.console import Console, combine, output_options
from lowdim.cli.errors import Refused, refuse_errors
from lowdim.cli.fitting import fit_table, parameters_for
from lowdim.cli.names import method_option
from lowdim.cli.parameters import MethodCommand, split
from lowdim.cli.resources import resource_options
from lowdim.tables import Table

_COLUMNS = ("name", "size", "label", "label_share", "supported", "border")


_map_options = combine(
    click.argument("file", type=files.FILE),
    method_option("The method that makes the map."),
    click.option(
        "--model",
        "saved",
        type=files.FILE,
        help="Instead of a method: a model of the objects of FILE, saved by `lowdim embed "
        "--model`.",
    ),
    click.option("-o", "--output", type=files.FILE, help="File for the table, CSV for instance."),
    files.force_option,
    files.input_options,
    resource_options,
    output_options,
)


@click.command(cls=MethodCommand)
@click.option(
    "-k", "--n-regions", type=click.IntRange(1), help="Number of regions; by default all."
)
@click.option("--members", type=files.FILE, help="File for the region of each object.")
@_map_options
def regions(
    file: Path,
    n_regions: int | None,
    members: Path | None,
    output: Path | None,
    force: bool,
    console: Console,
    **values: Any,
) -> None:
    """Find the regions of a map of the objects in FILE, and name them.

    Names are by the first label with classes, else by the words of a text (--text), else by the
    features that set a region apart. Each gap between regions is tested in the data.
    """
    files.check_outputs(force, table=members)
    files.check_outputs(force, table=output)
    model, table = _map_of(file, values, console)
    vectors = table.metric is None
    prose = table.recipe.text if table.recipe else None
    with refuse_errors():
        hierarchy = lowdim.regions(
            model,
            table.X if vectors else None,
            _label_with_classes(table, None if prose is None else prose.column),
            None if prose is None else table.labels.get(prose.column),
            feature_names=table.columns if vectors and prose is None else None,
        )
        level = hierarchy.at(hierarchy.n_leaves if n_regions is None else n_regions)
    shown = level.regions
    for one in shown:
        console.show(f"{one.id:>4}  {one}")
    about = {name: [getattr(one, name) for one in shown] for name in _COLUMNS}
    rows = [dict(zip(about, row, strict=True)) for row in zip(*about.values(), strict=True)]
    ids = np.array([one.id for one in shown])
    console.record(
        method=type(model).__name__,
        regions=[{"region": one.id, **row} for one, row in zip(shown, rows, strict=True)],
    )
    if members is not None:
        own = np.append(ids, -1)[level.membership]  # -1: without a place on the map
        files.write_rows(members, own[:, None], ["region"], table, force)
        console.say(f"members  {members}")
    if output is not None:
        labels = {name: np.array(values, dtype=object) for name, values in about.items()}
        centers = np.array([one.center for one in shown])
        names = [f"center{axis}" for axis in range(centers.shape[1])]
        tables.write(
            output, centers, names=names, ids=ids, id_name="region", labels=labels, force=force
        )
        console.say(f"table    {output}")
    console.finish()


@click.command(cls=MethodCommand)
@_map_options
def explain(file: Path, output: Path | None, force: bool, console: Console, **values: Any) -> None:
    """Say which features a map of the objects in FILE follows, and in which direction.

    R² is the share of a feature's variance that the position on the map predicts.
    """
    files.check_outputs(force, table=output)
    model, table = _map_of(file, values, console, needs_features=True)
    with refuse_errors():
        explanation = lowdim.explain(model, table.X, feature_names=table.columns)
    console.show(str(explanation))
    order = np.argsort(-explanation.r2, kind="stable")
    slopes = [f"slope{axis}" for axis in range(explanation.n_axes)]
    rows = np.column_stack([explanation.r2, explanation.linear_r2, explanation.directions])[order]
    names = ["r2", "linear_r2", *slopes]
    features = np.array(explanation.features, dtype=object)[order]
    console.record(
        method=type(model).__name__,
        features=[
            {"feature": feature, **dict(zip(names, row, strict=True))}
            for feature, row in zip(features, rows, strict=True)
        ],
    )
    if output is not None:
        tables.write(output, rows, names=names, ids=features, id_name="feature", force=force)
        console.say(f"table    {output}")
    console.finish()


def _label_with_classes(table: Table, text: str | None) -> Any:
    """The first label whose values recur, but for the text and for values on a scale."""
    from lowdim.plot.colors import kinds_of

    for name in table.labels:
        values = None if name == text else files.label_to_assess(table, name)
        recurs = values is not None and 2 * len(set(values)) <= table.n_rows
        if recurs and kinds_of(np.asarray(values)) is not None:
            return values
    return None


def _map_of(
    file: Path, values: dict[str, Any], console: Console, *, needs_features: bool = False
) -> tuple[Any, Table]:
    """The fitted estimator of a method or of a model, and its objects."""
    own, options = split(values)
    arguments = files.read_arguments(own)
    saved, method = own["saved"], own["method"]
    if saved is not None and method is not None:
        raise click.UsageError("--model: the model has a map already; leave out -m.")
    model = None if saved is None else lowdim.load(saved)
    recipe = None if model is None else tables.Recipe.of_model(model)
    table = files.read_table(file, arguments, console, recipe)
    if needs_features and table.metric is not None:
        raise Refused(f"{table.source} has no columns of numbers that could explain a map.")
    if model is None:
        if method.objects == "subjects":
            raise Refused(
                f"{method.name} maps several matrices, which have no regions or features."
            )
        params = parameters_for(method, options, table)
        return fit_table(method, params, table.X, table, console).estimator, table
    if len(model.embedding_) != table.n_rows:
        raise Refused(
            f"{saved} is a map of {len(model.embedding_):,} objects, but {table.source} has "
            f"{table.n_rows:,}: give the file that the map was made of."
        )
    return model, table
