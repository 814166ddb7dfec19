"""`lowdim compare`: several methods on the same objects, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from lowdim.catalog import Method
from lowdim.cli import files
from lowdim.cli.console import Console, output_options
from lowdim.cli.errors import PARTLY, Refused, Stop
from lowdim.cli.fitting import Fitted, fit_table, parameters_for
from lowdim.cli.names import alias, method_option
from lowdim.cli.parameters import MethodCommand, split
from lowdim.cli.resources import device_option
from lowdim.messages import one_line
from lowdim.runtime.interrupts import defer_interrupts
from lowdim.tables import Table

if TYPE_CHECKING:
    from lowdim.quality import Comparison
    from lowdim.report import Run


@click.command(cls=MethodCommand)
@click.argument("file", type=files.FILE)
@method_option("The methods, separated by commas: pca,isomap,lle.", several=True, multiple=True)
@click.option("--report", type=files.FILE, help="Write all of it into one HTML page.")
@click.option("--plot", "picture", type=files.FILE, help="Draw the maps side by side.")
@click.option("-o", "--output", type=files.FILE, help="File for all coordinates.")
@files.color_option
@files.force_option
@files.input_options
@device_option
@output_options
@click.pass_context
def compare(
    context: click.Context, /, file: Path, method: Any, console: Console, **values: Any
) -> None:
    """Embed the objects in FILE by several methods, and compare the quality of the maps.

    A parameter that is given goes to every method that has it.
    """
    from lowdim.explore.compare_maps import compare_pairs
    from lowdim.report import Run

    methods = list(dict.fromkeys(one for several in method for one in several))
    values, options = split(values)
    arguments = files.read_arguments(values)
    files.check_outputs(
        values["force"], values["report"], table=values["output"], picture=values["picture"]
    )
    table = files.read_table(file, arguments, console)
    files.check_color(table, values["color_by"])
    fits: dict[Method, Fitted] = {}
    failures: dict[str, str] = {}
    for one in methods:
        try:
            fits[one] = _fit(one, options, table, console)
        except (Refused, MemoryError, ImportError) as error:
            failures[one.name] = one_line(error)
            console.say(f"{one.name}: failed: {failures[one.name]}")
    if not fits:
        raise Refused(f"all methods failed: {'; '.join(failures.values())}")
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
    pairs = compare_pairs({run.name: run.points for run in runs})
    with defer_interrupts():
        console.show(str(comparison))
        for (first, second), pair in pairs.items():
            near = f"{pair.score:.0%} of {pair.n_neighbors} nearest neighbors"
            console.show(f"{first} and {second} share {near} ({pair.expected:.0%} by chance)")
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
            in_common=[
                {"maps": names, "share": pair.score, "expected": pair.expected}
                for names, pair in pairs.items()
            ],
            failures=failures,
            unassessed=comparison.failures,
            outputs=outputs,
        )
        console.finish()
    if failures or comparison.failures:
        raise Stop(PARTLY)


def _fit(method: Method, options: dict[str, Any], table: Table, console: Console) -> Fitted:
    if method.objects == "subjects":
        raise Refused(f"{method.name} maps several subjects' matrices: use lowdim embed.")
    params = parameters_for(method, options, table)
    if params.get("checkpoint") is not None:  # a file for each fit
        params["checkpoint"] = f"{params['checkpoint']}.{alias(method.name)}"
    return fit_table(method, params, table.X, table, console)


def _assess(
    fits: dict[Method, Fitted], options: dict[str, Any], table: Table, color_by: str | None
) -> Comparison:
    """Assess all maps by the metric that was asked for; a failure concerns one map only."""
    from lowdim import quality

    metric = options.get("metric") or table.metric or "euclidean"
    further = options.get("metric_params") or options.get("metric_kwds")
    try:
        return quality.compare(
            table.X,
            {one.name: fitted.estimator for one, fitted in fits.items()},
            labels=files.label_to_assess(table, color_by),
            metric=metric,
            metric_params=further,
            random_state=0,
        )
    except (TypeError, ValueError, MemoryError) as error:  # the data as a whole
        reason = one_line(error)
        return quality.Comparison({}, {one.name: reason for one in fits})


def _write(
    runs: list[Run], table: Table, values: dict[str, Any], command: str, console: Console
) -> list[str]:
    from lowdim import plot, report
    from lowdim.quality.suspects import find_suspects

    metric = table.metric or "euclidean"
    force, written = values["force"], []
    if values["output"] is not None:
        names = [f"{alias(run.method)}{i}" for run in runs for i in range(run.embedding.shape[1])]
        maps = np.column_stack([run.embedding for run in runs])
        files.write_rows(values["output"], maps, names, table, force)
        written.append(("maps     ", values["output"]))
    if values["picture"] is not None:
        titled = {f"{run.name}\n{run.seconds:.2f} s": run.points for run in runs}
        figure = plot.compare(titled, files.named_labels(table, values["color_by"]))
        plot.save(figure, values["picture"], force=force)
        written.append(("picture  ", values["picture"]))
    if values["report"] is not None:
        label = files.label_to_assess(table, values["color_by"])
        features = [n for n in table.file_columns if n not in table.labels and n != table.id_name]
        features.sort(key=lambda name: name != values["color_by"])  # it comes first
        report.write(
            values["report"],
            runs,
            title=f"Maps of {table.source}",
            color_by=values["color_by"],
            labels=table.labels,
            features={name: table.file_columns[name] for name in features},
            images=table.images,
            X=table.X,
            metric=metric,
            feature_names=table.columns if table.metric is None else None,
            suspects=find_suspects(table.X, label, metric),
            ids=None if table.ids is None else list(table.ids),
            commands=[command],
            notes=str(table).splitlines(),
            force=force,
        )
        written.append(("report   ", values["report"]))
    for what, path in written:
        console.say(f"{what}{path}")
    return [str(path) for _, path in written]
