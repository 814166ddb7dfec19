"""`lowdim embed`: a file in, a map out."""

from __future__ import annotations

import difflib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lowdim.cli.console import Console, output_options
from lowdim.cli.files import (
    check_outputs,
    input_options,
    read_arguments,
    read_table,
    stem_of,
    write_rows,
)
from lowdim.cli.names import MethodName, alias
from lowdim.cli.parameters import MethodCommand, split
from lowdim.cli.resources import resource_options
from lowdim.tables.errors import join_names

if TYPE_CHECKING:
    from lowdim.catalog import Method
    from lowdim.cli.fitting import Fitted
    from lowdim.tables import Table

MAX_NAMES = 60  # objects whose ids are written on a plot
_FILE = click.Path(path_type=Path)


@click.command(cls=MethodCommand)
@click.argument("file", type=_FILE)
@click.option(
    "-m",
    "--embedder",
    "method",
    type=MethodName(),
    help="The method, in any case and short: isomap, lle, mds. `lowdim methods` lists them.",
)
@click.option(
    "-o",
    "--output",
    type=_FILE,
    help="File for the map; its ending determines the format. By default FILE-METHOD.csv in this "
    "folder, unless a plot or a model is wanted. '-' is CSV on stdout.",
)
@click.option("--plot", "picture", type=_FILE, help="Draw the map: a PNG, PDF or SVG file.")
@click.option("--color-by", metavar="COLUMN", help="Column to colour by, used for the map or not.")
@click.option("--model", type=_FILE, help="Save the fitted model, for `lowdim transform`.")
@click.option(
    "--decoder",
    type=click.Choice(["auto", "local", "kernel", "network"]),
    help="How `lowdim decode` goes back from coordinates to the data, for a model of a method "
    "without an inverse of its own: interpolation (the default), kernel ridge regression, a "
    "network, or with 'auto' the one of least error on held-out objects.",
)
@click.option("--force", "-f", is_flag=True, help="Replace outputs that exist.")
@click.option(
    "--dry-run", is_flag=True, help="Only say what the map would take: memory, time, cheaper ways."
)
@click.option("--no-estimate", is_flag=True, help="Start at once, without an estimate of the time.")
@input_options
@resource_options
@output_options
def embed(
    file: Path, method: Method, quiet: bool, as_json: bool, force: bool, **values: Any
) -> None:
    """Make a map of the objects in FILE.

    FILE is CSV, TSV or other text, JSON lines, Excel, Parquet, Arrow or Feather, NPY or NPZ, HDF5,
    AnnData, Matlab, or a folder of images; it may be compressed, and '-' is standard input.

    With -m METHOD, --help shows the method's own parameters too, each of which is an option: lowdim
    embed --help -m isomap
    """
    from lowdim.cli.errors import INTERRUPTED, Stop
    from lowdim.cli.fitting import estimate, fit, labels_for, objects_for, parameters_for
    from lowdim.runtime.interrupts import defer_interrupts

    values, options = split(values)
    console = Console(quiet, as_json)
    arguments = read_arguments(values)
    outputs = Outputs(file, method, values, force)
    outputs.check()
    table = read_table(file, arguments, console)
    check_color(table, values["color_by"])
    params = parameters_for(method, options, table)
    X = objects_for(method, table)
    dry = values["dry_run"]
    wanted = dry or (console.informs and not values["no_estimate"])
    expected = estimate(method, params, X, required=dry) if wanted else None
    if expected is not None:
        console.say(str(expected) if dry else f"{method.name}: {expected.summary}")
        console.record(estimate={"seconds": expected.seconds, "bytes": expected.n_bytes})
    if dry:
        console.finish()
        return
    y = labels_for(method, table, console)
    fitted = fit(method, params, X, y, draw=console.shows_progress)
    with defer_interrupts():  # Ctrl-C that ended the fit must not end the writing of its result too
        console.say(f"{fitted}{_measures(fitted.estimator)}")
        console.warn(fitted.warnings)
        outputs.fit_decoder(fitted, console)
        console.record(
            method=method.name,
            parameters=params,
            input=_input_facts(table),
            seconds=fitted.seconds,
            warnings=fitted.warnings,
            interrupted=fitted.interrupted,
            outputs=outputs.write(fitted, table, console),
        )
        console.finish()
    if fitted.interrupted:
        raise Stop(INTERRUPTED)


def named_labels(table: Table, by: str | None) -> dict[str, Any] | None:
    """The column to colour by with its name, for the legend of a picture."""
    by = by or next(iter(table.labels), None)
    return None if by is None else {by: shown_labels(table, by)}


def shown_labels(table: Table, by: str | None) -> Any:
    """The column to colour by: the one that is named, or the first label; None if there is none."""
    by = by or next(iter(table.labels), None)
    if by is None:
        return None
    return table.labels[by] if by in table.labels else table.file_columns[by]


def label_to_assess(table: Table, by: str | None) -> Any:
    """The label by which maps are assessed: the one that is named, or the first."""
    labels = {name: values for name, values in table.labels.items() if values.dtype.kind != "M"}
    values = labels.get(by or "", next(iter(labels.values()), None))
    if values is None or values.dtype != object:
        return values
    return ["missing" if v is None else v for v in values.tolist()]


def check_color(table: Table, by: str | None) -> None:
    """Raise if there is no column of the name that the picture is to be coloured by."""
    known = list(dict.fromkeys([*table.labels, *table.file_columns]))
    if by is None or by in known:
        return
    close = difflib.get_close_matches(by, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"columns are {join_names(known)}."
    raise click.UsageError(f"--color-by: there is no column {by!r}; {hint}")


def _input_facts(table: Table) -> dict[str, Any]:
    return {
        "source": table.source,
        "objects": table.n_rows,
        "features": None if table.metric == "precomputed" else table.X.shape[1],
        "columns": table.columns,
        "labels": list(table.labels),
        "notes": table.notes,
    }


def _measures(estimator: Any) -> str:
    """The loss and the iterations of the fit, if the estimator has them."""
    parts = []
    if getattr(estimator, "n_iter_", None) is not None:
        parts.append(f"{estimator.n_iter_} iterations")
    for name in ("stress_", "kl_divergence_"):
        value = getattr(estimator, name, None)
        if isinstance(value, float):
            parts.append(f"{name.rstrip('_').replace('_', ' ')} {value:.4g}")
    return "".join(f", {part}" for part in parts)


class Outputs:
    """The files that a command writes: checked before the fit, written after it."""

    def __init__(self, file: Path, method: Method, values: dict[str, Any], force: bool) -> None:
        self.file, self.method, self.force = file, method, force
        self.picture, self.model = values["picture"], values["model"]
        self.color_by, self.decoder = values["color_by"], values["decoder"]
        self.table: Path | None = values["output"]
        if self.table is None and self.picture is None and self.model is None:
            self.table = Path(f"{stem_of(file)}-{alias(method.name)}.csv")

    @property
    def _stdout(self) -> bool:
        return self.table is not None and str(self.table) == "-"

    def check(self) -> None:
        """Raise before the fit if its results could not be written after it."""
        if self.decoder is not None and self.model is None:
            raise click.UsageError("--decoder: the decoder is part of a model; add --model.")
        table = None if self._stdout else self.table
        check_outputs(self.force, self.model, table=table, picture=self.picture)

    def fit_decoder(self, fitted: Fitted, console: Console) -> None:
        """Fit the decoder that the model is to have; a refusal must not cost the map."""
        if self.decoder is None:
            return
        try:
            fitted.estimator.fit_decoder(self.decoder)
        except (ImportError, ValueError) as error:
            fitted.warnings.append(f"--decoder {self.decoder}: {error}")
            console.warn(fitted.warnings[-1:])
            return
        decoder = fitted.estimator.decoder_
        errors = ", ".join(
            f"{kind} {error:.4g}" for kind, error in decoder.get("errors", {}).items()
        )
        console.say(f"decoder  {decoder['kind']}{f'  (held-out errors: {errors})' * bool(errors)}")
        console.record(decoder=decoder["kind"])

    def write(self, fitted: Fitted, table: Table, console: Console) -> list[str]:
        """Write them all and return their paths."""
        from lowdim import plot
        from lowdim.estimator import persist

        written: list[Path] = []
        if self.table is not None:
            written += self._write_table(fitted, table, console)
        if self.model is not None:
            if table.recipe is not None:
                fitted.estimator.preparation_ = table.recipe.to_dict()
            persist.save(fitted.estimator, self.model, force=self.force)
            written.append(self.model)
            console.say(f"model    {self.model}  (lowdim transform {self.model} NEW_FILE)")
        if self.picture is not None:
            plot.save(self._draw(fitted, table), self.picture, force=self.force)
            written.append(self.picture)
            console.say(f"picture  {self.picture}")
        return [str(path) for path in written]

    def _write_table(self, fitted: Fitted, table: Table, console: Console) -> list[Path]:
        assert self.table is not None
        if not self._stdout:
            write_rows(self.table, fitted.embedding, fitted.names, table, self.force)
            console.say(f"map      {self.table}")
            return [self.table]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "map.csv"
            write_rows(path, fitted.embedding, fitted.names, table, self.force)
            if not console.as_json:
                click.echo(path.read_text(encoding="utf-8").rstrip("\n"))
        return []

    def _draw(self, fitted: Fitted, table: Table) -> Any:
        from lowdim import plot

        Y = fitted.embedding if fitted.embedding.shape[1] <= 3 else fitted.embedding[:, :2]
        color = names = images = None
        if len(Y) == table.n_rows:
            color = named_labels(table, self.color_by)
            names = None if table.ids is None or len(Y) > MAX_NAMES else list(table.ids)
            images = table.images if Y.shape[1] == 2 else None
        title = f"{self.method.name} of {self.file.name}"
        named = None if images is not None else names
        return plot.scatter(Y, color, names=named, images=images, title=title).figure
