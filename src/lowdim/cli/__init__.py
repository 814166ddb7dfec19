"""The `lowdim` command."""

from __future__ import annotations

from pathlib import Path

import click

from lowdim.cli.assess import assess
from lowdim.cli.compare import compare
from lowdim.cli.completion import completion
from lowdim.cli.decode import decode
from lowdim.cli.embed import embed
from lowdim.cli.errors import OneLineErrors
from lowdim.cli.explore import explain, regions
from lowdim.cli.methods import methods
from lowdim.cli.studio import studio
from lowdim.cli.suggest import suggest
from lowdim.cli.transform import transform
from lowdim.cli.update import update


@click.group("lowdim", cls=OneLineErrors, invoke_without_command=True)
@click.version_option(package_name="lowdim")
@click.pass_context
def main(context: click.Context) -> None:
    """Nonlinear dimensionality reduction: every method in one place, on one contract.

    A file to a picture: lowdim embed data.csv -m isomap --plot map.png
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


_COMMANDS = (
    embed, compare, assess, regions, explain, transform, update, decode, suggest, studio, methods,
    completion
)  # fmt: skip
for command in _COMMANDS:
    main.add_command(command)


@main.command()
@click.argument("name", required=False)
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for the pictures; made if it is not there.",
)
def demo(name: str | None, output: Path) -> None:
    """Draw the field's classic pictures, all of them or the one called NAME.

    NAME is one of swiss-roll, dimension, digits, bars and cities.
    """
    from lowdim.cli.demo import PICTURES, draw, write_digits, write_wines

    if name is not None and name not in PICTURES:
        raise click.UsageError(f"no picture is called {name!r}: choose {', '.join(PICTURES)}.")
    output.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES if name is None else [name]:
        path, seconds, sight = draw(picture, output)
        click.echo(f"{path}  {seconds:.1f} s  {sight}")
    if name is None:
        table = write_digits(output)
        click.echo(f"{table}  to try yourself: lowdim embed {table} -m umap --plot map.png")
        click.echo(f"{write_wines(output)}  the table of the quick start")


@main.command()
def versions() -> None:
    """Print versions, instruction set, threads and BLAS, for bug reports."""
    from lowdim.versions import show_versions

    show_versions()
