"""Options made from an estimator's signature and docstring, so that a new method has its own."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import types
import typing
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from typing import Any

import click

from lowdim.catalog import Method
from lowdim.cli.names import ParamType, Size, alias
from lowdim.estimator import docstrings

_OURS = ("callback", "verbose", "warm_start")  # set by the command, or of no use to it
_SHORT_FLAGS = {"n_components": ("-d",), "random_state": ("--seed",), "n_jobs": ("-j",)}
NONE = object()  # given as "none", which is not the same as not given
_ARTICLES = {
    "integer": "an integer",
    "number": "a number",
    "json": "a JSON object such as '{\"p\": 3}'",
}
_PREFIX = "param_"  # keeps an estimator's parameters apart from the command's own options


class Value(ParamType):
    """A parameter's value: of the annotated type, or whatever it reads as."""

    def __init__(self, hint: Any) -> None:
        kinds = set(typing.get_args(hint)) if isinstance(hint, types.UnionType) else {hint}
        self.optional = type(None) in kinds or hint is Any
        self.kinds = kinds - {type(None)}
        self.name = "value" if hint is Any else "|".join(sorted(map(_kind, self.kinds)))

    def convert(self, value: Any, param: Any, context: Any) -> Any:
        if not isinstance(value, str):
            return value
        if self.optional and value.lower() == "none":
            return NONE
        if self.kinds == {str}:
            return value
        read = _literal(value)
        if Any in self.kinds or any(_fits(read, kind) for kind in self.kinds):
            return read
        if str in self.kinds:
            return value
        known = " or ".join(_ARTICLES.get(kind, kind) for kind in sorted(map(_kind, self.kinds)))
        raise click.BadParameter(f"{value!r} is not {known}{' or none' * self.optional}.")


def _kind(kind: Any) -> str:
    origin = typing.get_origin(kind) or kind
    return {"int": "integer", "float": "number", "str": "text", "dict": "json"}.get(
        getattr(origin, "__name__", ""), "value"
    )


def _fits(value: Any, kind: Any) -> bool:
    kind = typing.get_origin(kind) or kind
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(kind, type) and isinstance(value, kind)


def _literal(value: str) -> Any:
    """A number, true, false, none, JSON, a list of numbers, or else the text itself."""
    lower = value.lower()
    if lower in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[lower]
    for read in (int, float, json.loads):
        try:
            return read(value)
        except ValueError:
            continue
    if re.fullmatch(r"[-+.\deE]+(,[-+.\deE]+)+", value):
        try:
            return tuple(int(v) if v.lstrip("+-").isdigit() else float(v) for v in value.split(","))
        except ValueError:
            pass
    return value


def hints(cls: Any) -> dict[str, tuple[Any, Any]]:
    """The type and the default of every parameter that can be given on the command line."""
    typed = typing.get_type_hints(cls if is_dataclass(cls) else cls.__init__)
    return {
        name: (typed.get(name, Any), parameter.default)
        for name, parameter in inspect.signature(cls.__init__).parameters.items()
        if name not in ("self", *_OURS)
    }


def options_of(methods: Sequence[Method], taken: set[str]) -> list[click.Option]:
    """Options for the parameters of the methods; one that several have is given to all of them."""
    owners: dict[str, list[Any]] = {}
    for method in methods:
        for name in hints(cls := method.load()):
            owners.setdefault(name, []).append(cls)
    return [
        _option(name, classes, len(classes) < len(methods), taken)
        for name, classes in owners.items()
    ]


def _option(name: str, classes: list[Any], marked: bool, taken: set[str]) -> click.Option:
    hint, default = hints(classes[0])[name]
    entries = [one for c in classes if (one := docstrings.parameters(c).get(name))]
    lists = {tuple(entry.choices) for entry in entries}
    choices = lists.pop() if len(lists) == 1 else ()
    text = next((entry.text for entry in entries if entry.text), "")
    if marked:
        text = f"({', '.join(c.__name__ for c in classes)}) {text}"
    flag = "--" + name.replace("_", "-")
    if flag in taken:
        flag = f"--with-{name.replace('_', '-')}"
    if any(hints(c)[name][1] != default for c in classes[1:]):
        text = f"{text} [default: as the method has it]"
    elif default is not inspect.Parameter.empty:
        text = f"{text} [default: {'none' if default is None else default}]"
    if hint is bool:
        declared = [f"{flag}/--no-{flag[2:]}"]
        return click.Option([*declared, _PREFIX + name], default=None, help=text.strip())
    short = [s for s in _SHORT_FLAGS.get(name, ()) if s not in taken]
    return click.Option(
        [*short, flag, _PREFIX + name],
        type=Value(hint),
        default=None,
        help=text.strip(),
        metavar=f"[{'|'.join(choices)}]" if choices else None,
    )


def split(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The command's own values, and those of the estimator's parameters that were given."""
    own = {name: v for name, v in values.items() if not name.startswith(_PREFIX)}
    options = {
        name.removeprefix(_PREFIX): None if v is NONE else v
        for name, v in values.items()
        if name.startswith(_PREFIX) and v is not None
    }
    return own, options


def spell_option(name: str, *value: Any) -> str:
    """An argument as the option of the command that runs, as `lowdim.messages.argument` needs it.

    It is "" if the command has no option for the argument.
    """
    context = click.get_current_context(silent=True)
    params = [] if context is None else context.command.get_params(context)
    options = {option.name: option for option in params if isinstance(option, click.Option)}
    option = options.get(_PREFIX + name, options.get(name))
    return "" if option is None else shlex.join(option_words(option, *value))


def option_words(option: click.Option, value: Any = ...) -> list[str]:
    """An option with a value, as it is typed; the option alone if there is none."""
    flag = max(option.opts, key=len)
    if value is ... or (value is True and option.is_flag):
        return [flag]
    if value is False and option.secondary_opts:
        return [max(option.secondary_opts, key=len)]
    if isinstance(value, list | tuple):
        value = ("x" if isinstance(option.type, Size) else ",").join(map(str, value))
    return [flag, str(value).lower() if value is None or isinstance(value, bool) else str(value)]


class MethodCommand(click.Command):
    """A command whose options include the parameters of the methods named by -m."""

    def methods(self, context: click.Context) -> Sequence[Method]:
        """The methods on the command line, known before it is parsed."""
        methods: Sequence[Method] = context.meta.get("lowdim.methods", ())
        return methods

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        context.meta["lowdim.methods"] = self._named_methods(context, args)
        context.meta["lowdim.command"] = shlex.join([*context.command_path.split(), *args])
        try:
            rest = super().parse_args(context, args)
        except click.NoSuchOption as error:
            methods = self.methods(context)
            if not methods or error.possibilities:
                raise
            shorts = ",".join(alias(method.name) for method in methods)
            raise click.UsageError(
                f"{error.format_message()} {' and '.join(m.name for m in methods)} cannot take it; "
                f"`{context.command_path} --help -m {shorts}` lists the options."
            ) from error
        chosen = context.params.get("method") or context.params.get("saved")
        if not chosen and not context.resilient_parsing:
            raise click.UsageError(
                "choose a method with -m, -m isomap for instance; `lowdim methods` lists them."
            )
        return rest

    def _named_methods(self, context: click.Context, args: list[str]) -> list[Method]:
        """The methods that -m names, anywhere on the command line; errors are reported later."""
        option = next(p for p in self.params if p.name == "method")
        parser = self.make_parser(context)
        parser.ignore_unknown_options = True
        names: list[Method] = []
        with suppress(click.UsageError):
            values = parser.parse_args(list(args))[0].get("method", [])
            for value in [values] if isinstance(values, str) else values:
                methods = option.type.convert(value, option, context)
                names += methods if isinstance(methods, tuple) else [methods]
        return list(dict.fromkeys(names))

    def get_params(self, context: click.Context) -> list[click.Parameter]:
        own = super().get_params(context)
        taken = {flag for p in own for flag in (*p.opts, *p.secondary_opts)}
        return [*own, *options_of(self.methods(context), taken)]

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        own: list[tuple[str, str]] = []
        theirs: list[tuple[str, str]] = []
        for parameter in self.get_params(context):
            if not isinstance(parameter, click.Option):
                continue
            record = parameter.get_help_record(context)
            if record is not None:
                (theirs if (parameter.name or "").startswith(_PREFIX) else own).append(record)
        methods = " and ".join(method.name for method in self.methods(context))
        if methods:
            with formatter.section(f"Parameters of {methods}"):
                formatter.write_dl(theirs)
        with formatter.section("Options"):
            formatter.write_dl(own)
