"""The output of a command: messages on stderr, results on stdout, or one JSON object."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

Command = Callable[..., Any]


def output_options(command: Command) -> Command:
    """--quiet, --json and --debug, which every command has."""
    debug = click.option(
        "--debug", is_flag=True, expose_value=False, help="Show the traceback of a failure."
    )
    machine = click.option(
        "--json", "as_json", is_flag=True, help="One JSON object on stdout, for machines."
    )
    quiet = click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
    return quiet(machine(debug(command)))


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


def json_value(value: Any) -> Any:
    """A value that JSON can hold; what is not finite becomes null."""
    if isinstance(value, dict):
        return {str(k): json_value(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set):
        return [json_value(v) for v in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        return json_value(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)
