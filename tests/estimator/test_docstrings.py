"""Numpydoc sections are read as numpydoc reads them."""

import pytest

from lowdim.estimator.docstrings import Entry, entries, parameters, sections

TEXT = """Place objects.

    A paragraph with a : colon.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours.

        A second paragraph.
    metric, metric_params : str or callable; dict
        How distances are measured: "euclidean" : the usual.
    **options
        Passed on.

    Returns
    -------
    array of shape (n, 2)
        Coordinates.
    """


def test_sections_by_title():
    found = sections(TEXT)
    assert list(found) == ["", "Parameters", "Returns"]
    assert found[""][0] == "Place objects."
    assert found["Returns"][0] == "array of shape (n, 2)"


def test_entries_of_numpydoc():
    assert entries(sections(TEXT)["Parameters"]) == [
        Entry(("n_neighbors",), "int, default=5", "Number of neighbours. A second paragraph."),
        Entry(
            ("metric", "metric_params"),
            "str or callable; dict",
            'How distances are measured: "euclidean" : the usual.',
        ),
        Entry(("**options",), "", "Passed on."),
    ]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ["k : number of neighbours,", "    the nearest ones."],
            {"k": "number of neighbours, the nearest ones."},
        ),
        (
            ["a, b : ends of it. c : the middle", "    of it."],
            {"a": "ends of it.", "b": "ends of it.", "c": "the middle of it."},
        ),
        (["a, b,", "c :", "    ignored."], {"a": "ignored.", "b": "ignored.", "c": "ignored."}),
        (["k : int", "", "Some prose, and `more` of it.", "    An example."], {"k": "int"}),
    ],
)
def test_descriptions_beside_the_name(lines, expected):
    found = {name: entry.text for entry in entries(lines) for name in entry.names}
    assert found == expected


def test_descriptions_are_inherited():
    class Base:
        """Base.

        Parameters
        ----------
        k : int
            Neighbours.
        seed : int
            Of the start.
        """

    class Derived(Base):
        """Derived.

        Parameters
        ----------
        k : see Base.
        tol : float
            When to stop.
        """

    found = parameters(Derived)
    assert {name: entry.text for name, entry in found.items()} == {
        "k": "Neighbours.",
        "seed": "Of the start.",
        "tol": "When to stop.",
    }
    assert parameters(int) == {}
