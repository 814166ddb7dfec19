"""What all our types of options derive from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:  # generic only in the newest click
    ParamType = click.ParamType
