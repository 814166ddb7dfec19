"""`lowdim methods`: the catalog."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from lowdim.cli.console import Console, output_options
from lowdim.cli.names import MethodName, alias

_TITLES = ("sentence", "keeps", "when", "cost", "extends", "paper")


@click.command()
@click.argument("method", type=MethodName(), required=False)
@output_options
def methods(method: Any, quiet: bool, as_json: bool) -> None:
    """Print what each method keeps, when to use it, what it costs, and where it comes from.

    With the name of a METHOD, only that one, and its parameters.
    """
    from lowdim.catalog import CATALOG
    from lowdim.cli.parameters import descriptions, hints

    console = Console(quiet, as_json)
    chosen = CATALOG if method is None else (method,)
    for one in chosen:
        console.show(f"{one.name} ({one.family}; -m {alias(one.name)})")
        for title in _TITLES:
            if getattr(one, title):
                console.show(f"    {title:<9} {getattr(one, title)}")
    if method is not None:
        described = descriptions(method.load())
        for name, (_, default) in hints(method.load()).items():
            console.show(f"    {name} = {default!r}\n        {described.get(name, '')}")
    rows = [{"name": m.name, "family": m.family, "alias": alias(m.name)} for m in chosen]
    traits = [asdict(m.load().traits) for m in chosen]
    console.record(methods=[row | more for row, more in zip(rows, traits, strict=True)])
    console.finish()
