"""Numpydoc sections are read as numpydoc reads them."""

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
    shared = Entry("str or callable; dict", 'How distances are measured: "euclidean" : the usual.')
    assert entries(sections(TEXT)["Parameters"]) == {
        "n_neighbors": Entry("int, default=5", "Number of neighbours. A second paragraph."),
        "metric": shared,
        "metric_params": shared,
        "**options": Entry("", "Passed on."),
    }


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
        k : int
            See Base.
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
