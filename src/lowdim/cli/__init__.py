"""The `lowdim` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

_FAILURES = (ImportError, MemoryError, OSError, RuntimeError, ValueError)


class OneLineErrors(click.Group):
    """A group of commands whose every failure is one line on stderr and a non-zero exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        run = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        try:
            code: Any = run()
        except click.ClickException as error:
            self._fail(error.format_message(), error.exit_code)
        except click.Abort:
            self._fail("interrupted", 130)
        except _FAILURES as error:
            self._fail(str(error) or type(error).__name__, 1)
        sys.exit(code if isinstance(code, int) else 0)

    def _fail(self, message: str, code: int) -> None:
        click.echo(f"lowdim: {' '.join(message.split())}", err=True)
        sys.exit(code)


@click.group(cls=OneLineErrors, invoke_without_command=True)
@click.version_option(package_name="lowdim")
@click.pass_context
def main(context: click.Context) -> None:
    """Nonlinear dimensionality reduction: every method in one place, on one contract."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


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
    from lowdim.cli.demo import PICTURES, draw

    if name is not None and name not in PICTURES:
        raise click.ClickException(f"no picture is called {name!r}: choose {', '.join(PICTURES)}.")
    output.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES if name is None else [name]:
        path, seconds, sight = draw(picture, output)
        click.echo(f"{path}  {seconds:.1f} s  {sight}")


@main.command()
def methods() -> None:
    """Print the table of methods: what each keeps, what it costs, where it comes from."""
    from lowdim.catalog import CATALOG

    for method in CATALOG:
        click.echo(f"{method.name} ({method.family})")
        for title in ("sentence", "keeps", "cost", "extends", "paper"):
            click.echo(f"    {title:<9} {getattr(method, title)}")


@main.command()
def versions() -> None:
    """Print versions, instruction set, threads and BLAS, for bug reports."""
    from lowdim.versions import show_versions

    show_versions()
