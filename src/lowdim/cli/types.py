"""Types of the values of options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # generic only in the newest click
    ParamType = click.ParamType


class Names(ParamType):
    """Column names, separated by commas."""

    name = "columns"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        return [v.strip() for v in value.split(",")] if isinstance(value, str) else value


class Size(ParamType):
    """Width and height in pixels."""

    name = "width x height"

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        match = re.fullmatch(r"([1-9]\d*)[x,]([1-9]\d*)", value) if isinstance(value, str) else None
        if match is None:
            raise click.BadParameter(f"{value!r} is not a size such as 32x32.")
        return int(match[1]), int(match[2])
