"""The output of a command: messages on stderr, results on stdout, or one JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import click

from lowdim.summaries import json_value

Command = Callable[..., Any]


def combine(*options: Command) -> Command:
    """A decorator that adds options to a command, in this order."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def output_options(command: Command) -> Command:
    """Add --quiet, --json and --debug; the command gets the `console` that they ask for."""

    @wraps(command)
    def run(*args: Any, quiet: bool, as_json: bool, **values: Any) -> Any:
        return command(*args, console=Console(quiet, as_json), **values)

    decorated: Command = combine(
        click.option("--quiet", "-q", is_flag=True, help="Print errors only."),
        click.option(
            "--json", "as_json", is_flag=True, help="One JSON object on stdout, for machines."
        ),
        click.option(
            "--debug", is_flag=True, expose_value=False, help="Show the traceback of a failure."
        ),
    )(run)
    return decorated


class Console:
    """Prints messages and results as --quiet and --json ask for it."""

    def __init__(self, quiet: bool, as_json: bool) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.facts: dict[str, Any] = {}

    @property
    def informs(self) -> bool:
        """Whether messages are printed or collected."""
        return self.as_json or not self.quiet

    @property
    def shows_progress(self) -> bool:
        """Whether a progress bar is wanted, which only a terminal can show."""
        return not self.quiet and not self.as_json and sys.stderr.isatty()

    def say(self, text: str) -> None:
        """Print a message about what happens."""
        if not self.quiet and not self.as_json:
            click.echo(text, err=True)

    def warn(self, warnings: Iterable[str]) -> list[str]:
        """Print warnings and return them as lines."""
        lines = [f"warning: {warning}" for warning in warnings]
        for line in lines:
            self.say(f"  {line}")
        return lines

    def show(self, text: str) -> None:
        """Print a result that is also in the JSON object."""
        if not self.quiet and not self.as_json:
            click.echo(text)

    def record(self, **facts: Any) -> None:
        """Collect facts for the JSON object."""
        self.facts.update(facts)

    def finish(self) -> None:
        """Print the JSON object, if it is wanted."""
        if self.as_json:
            click.echo(json.dumps(json_value(self.facts), allow_nan=False))
