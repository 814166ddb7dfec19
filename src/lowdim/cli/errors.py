"""Every failure is one line on stderr, with what to do, and an exit code that means something."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import click

from lowdim.cli.parameters import spell_option
from lowdim.messages import one_line, spell_arguments
from lowdim.runtime.atomic import WouldOverwrite

UNEXPECTED, USAGE, REFUSED, OVERWRITE, MEMORY, EXTRA, PARTLY, INTERRUPTED = 1, 2, 3, 4, 5, 6, 7, 130

EXIT_CODES = {
    0: "done",
    UNEXPECTED: "something unexpected; --debug shows the traceback",
    USAGE: "the command line is wrong",
    REFUSED: "the data, or a parameter for these data, was refused",
    OVERWRITE: "an output exists already; --force replaces it",
    MEMORY: "not enough memory",
    EXTRA: "an optional package is not installed",
    PARTLY: "some of the methods failed, the others are done",
    INTERRUPTED: "stopped by Ctrl-C; the best map so far is kept",
}


class Refused(ValueError):
    """An estimator does not accept its data or parameters."""


@contextmanager
def refuse_errors(name: str = "", *more: type[Exception]) -> Iterator[None]:
    """What is wrong with the input of the library is a refusal, perhaps by an estimator."""
    kinds: tuple[type[Exception], ...] = (TypeError, ValueError, RuntimeError, *more)
    try:
        yield
    except kinds as error:
        raise Refused(f"{name}: {error}" if name else str(error)) from error


class Stop(Exception):
    """The end of a command that has printed everything, with its exit code."""

    def __init__(self, code: int) -> None:
        self.code = code


def code_of(error: Exception) -> int:
    """The exit code of a failure."""
    if isinstance(error, WouldOverwrite):
        return OVERWRITE
    if isinstance(error, FileNotFoundError | IsADirectoryError | ValueError):
        return REFUSED
    if isinstance(error, MemoryError):
        return MEMORY
    return EXTRA if isinstance(error, ImportError) else UNEXPECTED


def message_of(error: Exception) -> str:
    """One line about a failure."""
    text = one_line(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError) and text == "MemoryError":
        return "there is not enough memory for this. Take fewer objects, or landmarks."
    if code_of(error) == UNEXPECTED and not isinstance(error, OSError):
        return f"{type(error).__name__}: {text} (--debug shows the traceback)"
    return text


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
        args = list(sys.argv[1:] if args is None else args)
        run = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        try:
            code: Any = run()
        except Stop as stop:
            code = stop.code
        except click.ClickException as error:
            code = self._fail(error.format_message(), error.exit_code, args)
        except click.Abort:
            code = self._fail("interrupted", INTERRUPTED, args)
        except Exception as error:
            if "--debug" in args:
                traceback.print_exception(error)
            code = self._fail(message_of(error), code_of(error), args)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, context: click.Context) -> Any:
        """Run a command; messages of the library name its options in place of arguments."""
        with spell_arguments(spell_option):
            return super().invoke(context)

    def _fail(self, message: str, code: int, args: Sequence[str]) -> int:
        message = " ".join(message.split())
        click.echo(f"lowdim: {message}", err=True)
        if "--json" in args:
            click.echo(json.dumps({"error": message, "exit_code": code}))
        return code

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the exit codes at the end of the help."""
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])
