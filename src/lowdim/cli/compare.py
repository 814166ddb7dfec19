"""`lowdim compare`: several methods on the same objects, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.console import Console, output_options
from lowdim.cli.errors import PARTLY, Refused, Stop
from lowdim.cli.files import (
    check_outputs,
    input_options,
    read_arguments,
    read_table,
    write_rows,
)
from lowdim.cli.names import MethodName, alias
from lowdim.cli.parameters import MethodCommand, split
from lowdim.cli.resources import device_option

if TYPE_CHECKING:
    from lowdim.catalog import Method
    from lowdim.cli.fitting import Fitted
    from lowdim.quality import Comparison
    from lowdim.report import Run
    from lowdim.tables import Table

_FILE = click.Path(path_type=Path)


@click.command(cls=MethodCommand)
@click.argument("file", type=_FILE)
@click.option(
    "-m",
    "--embedders",
    "method",
    type=MethodName(several=True),
    multiple=True,
    help="The methods, separated by commas: pca,isomap,lle.",
)
@click.option("--report", type=_FILE, help="Write all of it into one HTML page.")
@click.option("--plot", "picture", type=_FILE, help="Draw the maps side by side.")
@click.option("-o", "--output", type=_FILE, help="File for all coordinates.")
@click.option("--color-by", metavar="COLUMN", help="Column to colour by, used for the maps or not.")
@click.option("--force", "-f", is_flag=True, help="Replace outputs that exist.")
@input_options
@device_option
@output_options
@click.pass_context
def compare(context: click.Context, /, file: Path, method: Any, **values: Any) -> None:
    """Embed the objects in FILE by several methods, and compare the quality of the maps.

    A parameter that is given goes to every method that has it.
    """
    from lowdim.cli.embed import check_color
    from lowdim.report import Run
    from lowdim.runtime.interrupts import defer_interrupts

    methods = list(dict.fromkeys(one for several in method for one in several))
    values, options = split(values)
    console = Console(values["quiet"], values["as_json"])
    arguments = read_arguments(values)
    check_outputs(
        values["force"], values["report"], table=values["output"], picture=values["picture"]
    )
    table = read_table(file, arguments, console)
    check_color(table, values["color_by"])
    fits: dict[Method, Fitted] = {}
    failures: dict[str, str] = {}
    for one in methods:
        try:
            fits[one] = _fit(one, options, table, console)
        except (Refused, MemoryError, ImportError) as error:
            failures[one.name] = " ".join(str(error).split())
            console.say(f"{one.name}: failed: {failures[one.name]}")
    if not fits:
        raise Refused(f"none of the methods made a map: {'; '.join(failures.values())}")
    comparison = _assess(fits, options, table, values["color_by"])
    runs = [
        Run(
            one.name,
            one.name,
            fitted.parameters,
            fitted.embedding,
            fitted.seconds,
            comparison.assessments.get(one.name),
        )
        for one, fitted in fits.items()
    ]
    with defer_interrupts():
        console.show(str(comparison))
        outputs = _write(runs, table, values, context.meta["lowdim.command"], console)
        console.record(
            runs=[
                {
                    "method": run.method,
                    "parameters": dict(run.parameters),
                    "seconds": run.seconds,
                    "assessment": None if run.assessment is None else run.assessment.to_dict(),
                }
                for run in runs
            ],
            failures=failures,
            unassessed=comparison.failures,
            outputs=outputs,
        )
        console.finish()
    if failures or comparison.failures:
        raise Stop(PARTLY)


def _fit(method: Method, options: dict[str, Any], table: Table, console: Console) -> Fitted:
    from lowdim.cli.fitting import fit, labels_for, parameters_for

    if method.objects == "subjects":
        raise Refused(f"{method.name} maps several subjects' matrices: use lowdim embed.")
    y = labels_for(method, table, console)
    params = parameters_for(method, options, table)
    if params.get("checkpoint") is not None:  # a file for each fit
        params["checkpoint"] = f"{params['checkpoint']}.{alias(method.name)}"
    fitted = fit(method, params, table.X, y, draw=console.shows_progress)
    console.say(str(fitted))
    console.warn(fitted.warnings)
    return fitted


def _assess(
    fits: dict[Method, Fitted], options: dict[str, Any], table: Table, color_by: str | None
) -> Comparison:
    """Assess all maps by the metric that was asked for; a failure concerns one map only."""
    from lowdim import quality
    from lowdim.cli.embed import label_to_assess

    metric = options.get("metric") or table.metric or "euclidean"
    further = options.get("metric_params") or options.get("metric_kwds")
    try:
        return quality.compare(
            table.X,
            {one.name: fitted.estimator for one, fitted in fits.items()},
            labels=label_to_assess(table, color_by),
            metric=metric,
            metric_params=further,
            random_state=0,
        )
    except (TypeError, ValueError, MemoryError) as error:  # the data as a whole
        reason = " ".join(str(error).split())
        return quality.Comparison({}, {one.name: reason for one in fits})


def _put_first(columns: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    """The columns, the one of that name first."""
    first = {name: columns[name]} if name is not None and name in columns else {}
    return {**first, **columns}


def _suspects(table: Table, by: str | None) -> Any:
    """Objects that are probably mislabelled, for the report."""
    from lowdim.cli.embed import label_to_assess
    from lowdim.report.suspects import find_suspects

    return find_suspects(table.X, label_to_assess(table, by), table.metric or "euclidean")


def _write(
    runs: list[Run], table: Table, values: dict[str, Any], command: str, console: Console
) -> list[str]:
    import numpy as np

    from lowdim import plot, report
    from lowdim.cli.embed import named_labels

    force, written = values["force"], []
    if values["output"] is not None:
        names = [f"{alias(run.method)}{i}" for run in runs for i in range(run.embedding.shape[1])]
        maps = np.column_stack([run.embedding for run in runs])
        write_rows(values["output"], maps, names, table, force)
        written.append(("maps     ", values["output"]))
    if values["picture"] is not None:
        titled = {f"{run.name}\n{run.seconds:.2f} s": run.points for run in runs}
        figure = plot.compare(titled, named_labels(table, values["color_by"]))
        plot.save(figure, values["picture"], force=force)
        written.append(("picture  ", values["picture"]))
    if values["report"] is not None:
        report.write(
            values["report"],
            runs,
            title=f"Maps of {table.source}",
            color_by=values["color_by"],
            labels=table.labels,
            features={
                name: column
                for name, column in _put_first(table.file_columns, values["color_by"]).items()
                if name not in table.labels and name != table.id_name
            },
            images=table.images,
            suspects=_suspects(table, values["color_by"]),
            ids=None if table.ids is None else list(table.ids),
            commands=[command],
            notes=str(table).splitlines(),
            force=force,
        )
        written.append(("report   ", values["report"]))
    for what, path in written:
        console.say(f"{what}{path}")
    return [str(path) for _, path in written]
