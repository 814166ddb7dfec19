"""The `lowdim` command."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lowdim.catalog import CATALOG
from lowdim.cli.assess import assess, suggest
from lowdim.cli.compare import compare
from lowdim.cli.console import Console, output_options
from lowdim.cli.embed import embed
from lowdim.cli.errors import OneLineErrors
from lowdim.cli.explore import explain, regions
from lowdim.cli.models import decode, transform, update
from lowdim.cli.names import MethodName, alias
from lowdim.cli.parameters import hints
from lowdim.cli.studio import studio
from lowdim.estimator import docstrings


@click.group("lowdim", cls=OneLineErrors, invoke_without_command=True)
@click.version_option(package_name="lowdim")
@click.pass_context
def main(context: click.Context) -> None:
    """Nonlinear dimensionality reduction: every method in one place, on one contract.

    A file to a picture: lowdim embed data.csv -m isomap --plot map.png
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (
    embed, compare, assess, regions, explain, transform, update, decode, suggest, studio
):  # fmt: skip
    main.add_command(command)


@main.command()
@click.argument("name", required=False)
@click.option(
    "--output",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for the pictures; it is made if it does not exist.",
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


@main.command()
@click.argument("method", type=MethodName(), required=False)
@output_options
def methods(method: Any, console: Console) -> None:
    """Print what each method keeps, when to use it, what it costs, and where it comes from.

    With the name of a METHOD, only that one, and its parameters.
    """
    chosen = CATALOG if method is None else (method,)
    for one in chosen:
        console.show(f"{one.name} ({one.family}; -m {alias(one.name)})")
        for title in ("sentence", "keeps", "when", "cost", "extends", "paper"):
            if getattr(one, title):
                console.show(f"    {title:<9} {getattr(one, title)}")
    if method is not None:
        entries = docstrings.parameters(cls := method.load())
        for name, (_, default) in hints(cls).items():
            text = entries[name].text if name in entries else ""
            console.show(f"    {name} = {default!r}\n        {text}")
    columns = ("name", "family", "sentence")
    rows = [{**{c: getattr(m, c) for c in columns}, "alias": alias(m.name)} for m in chosen]
    traits = [asdict(m.load().traits) for m in chosen]
    console.record(methods=[row | more for row, more in zip(rows, traits, strict=True)])
    console.finish()


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a SHELL.

    bash: put eval "$(lowdim completion bash)" into ~/.bashrc; zsh: the same with zsh into ~/.zshrc;
    fish: lowdim completion fish > ~/.config/fish/completions/lowdim.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "lowdim", "_LOWDIM_COMPLETE").source())
