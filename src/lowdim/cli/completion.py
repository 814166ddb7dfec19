"""`lowdim completion`: a script that makes a shell complete commands, methods and parameters."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a SHELL.

    bash: put eval "$(lowdim completion bash)" into ~/.bashrc; zsh: the same with zsh into ~/.zshrc;
    fish: lowdim completion fish > ~/.config/fish/completions/lowdim.fish
    """
    from click.shell_completion import get_completion_class

    from lowdim.cli import main

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "lowdim", "_LOWDIM_COMPLETE").source())
