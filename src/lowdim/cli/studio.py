"""`lowdim studio`: the library in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from lowdim.cli.errors import Refused


@click.command()
@click.argument("file", type=click.Path(exists=True, path_type=Path), required=False)
@click.option("--port", type=click.IntRange(0, 65535), help="Port; by default 8710 or a free one.")
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The only folder whose files can be opened; by default that of FILE, else this one.",
)
@click.option(
    "--session",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that keeps data sets and maps; by default .lowdim-studio in the root.",
)
@click.option(
    "--max-upload",
    type=click.IntRange(1),
    default=2048,
    show_default=True,
    metavar="MB",
    help="Largest size of an upload.",
)
def studio(
    file: Path | None,
    port: int | None,
    no_browser: bool,
    root: Path | None,
    session: Path | None,
    max_upload: int,
) -> None:
    """Open a page in the browser to watch, compare and question embeddings of FILE.

    The page is served on this machine alone; nothing leaves it. Stop with Ctrl-C.
    """
    try:
        from lowdim.studio.locks import InUse
        from lowdim.studio.server import serve
    except ModuleNotFoundError as error:
        raise Refused(
            f"The studio needs the package {error.name}: pip install 'lowdim[studio]'."
        ) from error

    def announce(address: str) -> None:
        click.echo(f"The studio is at {address}")
        if not no_browser:
            click.launch(address)

    if root is None:
        root = Path() if file is None else file.resolve().parent
    if file is not None and not file.resolve().is_relative_to(root.resolve()):
        raise Refused(f"{file} is not in the folder {root}: choose another --root.")
    try:
        serve(
            root=root.resolve(),
            session=session,
            port=port,
            most_upload=max_upload * 1_000_000,
            ready=announce,
            file=None if file is None else file.resolve(),
        )
    except InUse as error:
        raise Refused(f"{error} Choose another folder with --session.") from error
    except OSError as error:
        raise Refused(f"The port cannot be used ({error}); choose another --port.") from error
