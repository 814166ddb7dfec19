"""Names of methods and options made from signatures."""

import inspect

import click
import pytest
from click.testing import CliRunner

from lowdim.catalog import CATALOG
from lowdim.cli import main
from lowdim.cli.embed import embed
from lowdim.cli.names import alias, find
from lowdim.cli.parameters import Value, hints, split
from lowdim.estimator import docstrings


def context_of(method):
    context = click.Context(embed)
    context.meta["lowdim.methods"] = [method]
    return context


@pytest.mark.parametrize("method", CATALOG, ids=lambda m: m.name)
def test_every_parameter_is_an_option_of_its_own_with_a_description(method):
    flags = [f for p in embed.get_params(context_of(method)) for f in (*p.opts, *p.secondary_opts)]
    assert len(flags) == len(set(flags))
    cls = method.load()
    for name in inspect.signature(cls.__init__).parameters:
        if name not in ("self", "callback", "verbose", "warm_start"):
            assert f"--{name.replace('_', '-')}" in flags
            text = docstrings.parameters(cls)[name].text
            assert text, f"the docstring says nothing of {name}"


@pytest.mark.parametrize("method", CATALOG, ids=lambda m: m.name)
def test_defaults_pass_through_their_own_types(method):
    for name, (hint, default) in hints(method.load()).items():
        if isinstance(default, int | float) and hint is not bool:
            assert Value(hint).convert(str(default), None, None) == default, name


@pytest.mark.parametrize("method", CATALOG, ids=lambda m: m.name)
def test_help_shows_the_parameters_of_the_method(method):
    for arguments in (["--help", "-m", method.name], ["-m", method.name.lower(), "--help"]):
        result = CliRunner().invoke(main, ["embed", *arguments])
        assert result.exit_code == 0
        assert f"Parameters of {method.name}:" in result.output


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("isomap", "Isomap"),
        ("ISOMAP", "Isomap"),
        ("lle", "LocallyLinearEmbedding"),
        ("locally-linear embedding", "LocallyLinearEmbedding"),
        ("mds", "MDS"),
        ("cmds", "ClassicalMDS"),
        ("classical-mds", "ClassicalMDS"),
        ("kpca", "KernelPCA"),
        ("cca", "CurvilinearComponentAnalysis"),
        ("mvu", "MaximumVarianceUnfolding"),
        ("laplacian", "LaplacianEigenmaps"),
    ],
)
def test_names_as_people_type_them(typed, name):
    assert find(typed).name == name


def test_help_lists_choices_and_leaves_citations_out():
    text = " ".join(CliRunner().invoke(main, ["embed", "--help", "-m", "isomap"]).output.split())
    assert "--path-method [auto|D|FW]" in text
    assert "random objects only: memory" in text  # the docstring cites a paper here


def test_a_parameter_that_is_described_elsewhere_is_described_here():
    from lowdim import LaplacianEigenmaps, SpectralClustering

    ours, theirs = map(docstrings.parameters, (SpectralClustering, LaplacianEigenmaps))
    assert ours["radius"].text == theirs["radius"].text
    assert ours["n_jobs"].text == theirs["n_jobs"].text


def test_short_names_are_all_different():
    assert len({alias(method.name) for method in CATALOG}) == len(CATALOG)
    for method in CATALOG:
        assert find(alias(method.name)) is method


def test_an_unknown_name_lists_the_known():
    with pytest.raises(click.BadParameter, match="Choose one of"):
        find("zzzz")


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (int, "3", 3),
        (int | None, "3", 3),
        (float, "3", 3),
        (float | None, "1e-3", 1e-3),
        (str, "none", "none"),
        (str, "3", "3"),
        (str | None, "d^-1", "d^-1"),
        (dict[str, int] | None, '{"p": 3}', {"p": 3}),
        (inspect.Parameter.empty, "x", "x"),
    ],
)
def test_values_are_read_by_their_type(hint, text, value):
    from typing import Any

    hint = Any if hint is inspect.Parameter.empty else hint
    assert Value(hint).convert(text, None, None) == value


def test_none_that_is_given_is_not_the_same_as_nothing_given():
    none = Value(int | None).convert("none", None, None)
    assert split({"param_radius": none, "param_k": None, "file": "f"}) == (
        {"file": "f"},
        {"radius": None},
    )


@pytest.mark.parametrize(
    ("hint", "text"), [(int, "1.5"), (int, "none"), (float, "x"), (int, "true")]
)
def test_what_is_no_such_value_is_refused(hint, text):
    with pytest.raises(click.BadParameter, match="is not"):
        Value(hint).convert(text, None, None)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert "_LOWDIM_COMPLETE" in result.output


def test_completion_of_methods_and_their_parameters():
    from click.shell_completion import BashComplete

    def complete(words, last):
        return [
            item.value
            for item in BashComplete(main, {}, "lowdim", "_X").get_completions(words, last)
        ]

    assert "isomap" in complete(["embed", "f.csv", "-m"], "iso")
    assert complete(["compare", "f.csv", "-m"], "pca,iso") == ["pca,isomap"]
    assert "--n-neighbors" in complete(["embed", "f.csv", "-m", "isomap"], "--n")
    assert "--n-neighbors" not in complete(["embed", "f.csv", "-m", "pca"], "--n")
