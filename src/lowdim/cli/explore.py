"""`lowdim regions` and `lowdim explain`: what a map shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.console import Console, output_options
from lowdim.cli.embed import label_to_assess
from lowdim.cli.errors import Refused, refuse_errors
from lowdim.cli.files import check_outputs, input_options, read_arguments, read_table, write_rows
from lowdim.cli.names import MethodName
from lowdim.cli.parameters import MethodCommand, split
from lowdim.cli.resources import resource_options

if TYPE_CHECKING:
    from lowdim.catalog import Method
    from lowdim.tables import Table

_FILE = click.Path(path_type=Path)
_COLUMNS = ("name", "size", "label", "label_share", "supported", "p_value")


def _map_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add FILE, the map by a method or a model, and the options that both commands share."""
    parts = (
        click.argument("file", type=_FILE),
        click.option(
            "-m", "--embedder", "method", type=MethodName(), help="The method that makes the map."
        ),
        click.option(
            "--model",
            "saved",
            type=_FILE,
            help="Instead of a method: a model of the objects of FILE, saved by `lowdim embed "
            "--model`.",
        ),
        click.option("-o", "--output", type=_FILE, help="File for the table, CSV for instance."),
        click.option("--force", "-f", is_flag=True, help="Replace an output that exists."),
        input_options,
        resource_options,
        output_options,
    )
    for part in reversed(parts):
        command = part(command)
    return command


@click.command(cls=MethodCommand)
@click.option("-k", "--n-regions", type=int, help="Number of regions; by default all.")
@click.option("--members", type=_FILE, help="File for the region of each object.")
@_map_options
def regions(
    file: Path,
    n_regions: int | None,
    members: Path | None,
    output: Path | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Find the regions of a map of the objects in FILE, and name them.

    Names are by the first label, else by the features that set a region apart. Each gap between
    regions is tested in the data.
    """
    import numpy as np

    import lowdim
    from lowdim import tables

    console = Console(quiet, as_json)
    check_outputs(force, table=members)
    check_outputs(force, table=output)
    model, table = _map_of(file, values, console)
    vectors = table.metric is None
    with refuse_errors():
        found = lowdim.regions(
            model,
            table.X if vectors else None,
            label_to_assess(table, None),
            feature_names=table.columns if vectors else None,
        )
        level = found.at(found.n_leaves if n_regions is None else n_regions)
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
        write_rows(members, own[:, None], ["region"], table, force)
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
def explain(
    file: Path, output: Path | None, force: bool, quiet: bool, as_json: bool, **values: Any
) -> None:
    """Say which features a map of the objects in FILE follows, and in which direction.

    R² is the share of a feature's variance that the position on the map predicts.
    """
    import numpy as np

    import lowdim
    from lowdim import tables

    console = Console(quiet, as_json)
    check_outputs(force, table=output)
    model, table = _map_of(file, values, console)
    if table.metric is not None:
        raise Refused(f"{table.source} has no columns of numbers, which could explain the map.")
    with refuse_errors():
        found = lowdim.explain(model, table.X, feature_names=table.columns)
    console.show(str(found))
    order = np.argsort(-found.r2, kind="stable")
    slopes = [f"slope{axis}" for axis in range(found.n_axes)]
    rows = np.column_stack([found.r2, found.linear_r2, found.directions])[order]
    names, features = ["r2", "linear_r2", *slopes], np.array(found.features, dtype=object)[order]
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


def _map_of(file: Path, values: dict[str, Any], console: Console) -> tuple[Any, Table]:
    """The fitted estimator of a method or of a model, and its objects."""
    import lowdim
    from lowdim import tables

    own, options = split(values)
    arguments = read_arguments(own)
    saved, method = own["saved"], own["method"]
    if saved is None:
        table = read_table(file, arguments, console)
        return _fitted(method, options, table, console), table
    if method is not None:
        raise click.UsageError("--model: the map is that of the model; leave out -m.")
    model = lowdim.load(saved)
    table = read_table(file, arguments, console, tables.Recipe.of_model(model))
    if len(model.embedding_) != table.n_rows:
        raise Refused(
            f"{saved} is a map of {len(model.embedding_):,} objects, but {table.source} has "
            f"{table.n_rows:,}: give the file that the map was made of."
        )
    return model, table


def _fitted(method: Method, options: dict[str, Any], table: Table, console: Console) -> Any:
    from lowdim.cli.fitting import fit, labels_for, objects_for, parameters_for

    if method.objects == "subjects":
        raise Refused(f"{method.name} maps several matrices, which have no regions or features.")
    params = parameters_for(method, options, table)
    y = labels_for(method, table, console)
    made = fit(method, params, objects_for(method, table), y, draw=console.shows_progress)
    console.say(str(made))
    console.warn(made.warnings)
    return made.estimator
