"""`lowdim suggest`: which method, with which parameters?"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from lowdim.cli.console import Console, output_options
from lowdim.cli.files import input_options, input_words, read_arguments, read_table
from lowdim.cli.names import MethodName, alias


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-m",
    "--embedders",
    "methods",
    type=MethodName(several=True),
    help="Methods to try, separated by commas; by default a few of different kinds.",
)
@click.option(
    "--keep",
    type=click.Choice(["auto", "neighbors", "distances", "geodesics"]),
    default="auto",
    show_default=True,
    help="What the map is to keep; geodesics are distances along the data.",
)
@click.option("--n-components", "-d", type=int, default=2, show_default=True, help="Of the maps.")
@click.option(
    "--n-objects", type=int, default=2000, show_default=True, help="Most objects to try on."
)
@click.option("--metric", default="euclidean", show_default=True, help="Distances in the data.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the sample.")
@input_options
@output_options
@click.pass_context
def suggest(
    context: click.Context,
    /,
    file: Path,
    methods: Any,
    keep: str,
    n_components: int,
    n_objects: int,
    metric: str,
    seed: int,
    quiet: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Try methods and parameters on the objects of FILE and rank the maps, without labels."""
    from lowdim import quality
    from lowdim.cli.errors import refuse_errors

    console = Console(quiet, as_json)
    table = read_table(file, read_arguments(values), console)
    with refuse_errors():
        suggestion = quality.suggest(
            table.X,
            None if methods is None else [method.name for method in methods],
            keep=keep,
            n_components=n_components,
            n_objects=n_objects,
            metric=table.metric or metric,
            random_state=seed,
        )
    command = None
    if suggestion.recommended is not None:
        params = suggestion.recommended.params.items()
        chosen = {k: v for k, v in params if k != "metric" or v != table.metric}
        words = [part for k, v in chosen.items() for part in (f"--{k.replace('_', '-')}", str(v))]
        words = ["lowdim", "embed", str(file), "-m", alias(suggestion.recommended.method), *words]
        words += [*input_words(context), *(["--standardize"] if suggestion.standardized else [])]
        command = shlex.join(words)
    console.show(str(suggestion))
    if command is not None:
        console.say(f"\nTry: {command} --plot map.png")
    console.record(**suggestion.to_dict(), command=command)
    console.finish()
