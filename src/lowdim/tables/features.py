"""Features of tables that are not yet measurements: text, counts, objects in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowdim import checks
from lowdim.checks import Array, is_sparse
from lowdim.messages import argument
from lowdim.runtime.scheduling import blas_on_one_thread
from lowdim.tables.columns import Frame, find_ids
from lowdim.tables.errors import DataError, join_names

_MOST_TERMS = 20_000
_FEW_TEXTS = 50  # below, terms of a single text or of most texts are kept
_SAMPLE = 1000  # rows that are looked at for counts
_LEAST_COLUMNS = 10  # of a table of counts


# --- text -----------------------------------------------------------------------------------------


@dataclass
class TextModel:
    """Latent semantic analysis of a column of text."""

    column: str  # its name
    terms: list[str]  # the words
    weights: Array  # the inverse document frequency of each word
    axes: Array  # right singular vectors of the matrix of weighted words, (n_features, n_terms)

    def vectors(self, texts: Sequence[str | None]) -> Array:
        """The features of texts; those without a known word are zero."""
        words = _vectorizer(vocabulary=self.terms)
        words.idf_ = self.weights
        return _unit_rows(words.transform(map(_plain, texts)) @ self.axes.T)


def text_vectors(texts: Sequence[str | None], n_features: int = 100) -> Array:
    """Texts as vectors: words weighted by tf-idf, reduced by a singular value decomposition.

    Words are counted on a logarithmic scale and weighted by their inverse document frequency.
    Of at least 50 texts, words of a single text and of more than half of the texts are left out.
    The vectors have length 1, so that Euclidean distances rank pairs as the cosine does.

    Parameters
    ----------
    texts : sequence of n str
        The texts; None is an empty one.
    n_features : int, default=100
        Number of features, fewer if the texts have fewer words.

    Returns
    -------
    array of shape (n, n_features)

    References
    ----------
    Deerwester, Dumais, Furnas, Landauer and Harshman (1990). Indexing by latent semantic analysis.

    Examples
    --------
    >>> from lowdim import tables
    >>> X = tables.text_vectors(["red apple", "green apple", "blue sea", "deep sea"], 2)
    >>> bool(X[0] @ X[1] > 0.9), bool(abs(X[0] @ X[2]) < 0.1)
    (True, True)
    """
    return learn_text("text", texts, n_features)[1]


def learn_text(
    column: str, texts: Sequence[str | None], n_features: int = 100
) -> tuple[TextModel, Array]:
    """The model of a column of text, and the features of its texts."""
    from sklearn.decomposition import TruncatedSVD

    n_features = checks.integer(n_features, "n_features", 1)
    few = len(texts) < _FEW_TEXTS
    words = _vectorizer(
        min_df=1 if few else 2, max_df=1.0 if few else 0.5, max_features=_MOST_TERMS
    )
    try:
        rows = words.fit_transform(map(_plain, texts))
    except ValueError as error:
        raise DataError(f"{argument('text')}: the texts hold no words ({error}).") from error
    k = min(n_features, min(rows.shape) - 1)
    if k < 1:
        raise DataError(
            f"{argument('text')}: the texts of {column!r} have too few words in common."
        )
    with blas_on_one_thread():
        svd = TruncatedSVD(k, algorithm="arpack", random_state=0).fit(rows)
    terms = words.get_feature_names_out().tolist()
    model = TextModel(column, terms, words.idf_, svd.components_)
    return model, _unit_rows(rows @ model.axes.T)


def _vectorizer(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, **options)


def _plain(text: str | None) -> str:
    return text or ""


def _unit_rows(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 1e-12, lengths, 1.0))


def with_text(
    frame: Frame, column: str, model: TextModel | None = None, id: str | None = None
) -> tuple[Frame, TextModel]:
    """The frame with the features of a text in place of its numbers, which become labels.

    Ids that are guessed leave the columns; those of the column `id` stay there.
    """
    frame.check_name(column, "text")
    if not frame.is_text(column):
        raise DataError(f"{argument('text')}: column {column!r} of {frame.source} is not text.")
    texts = frame.text(column).tolist()
    if model is None:
        model, vectors = learn_text(column, texts)
        terms = f"{len(model.terms):,} words"
        frame.notes.append(f"text {column!r} as {vectors.shape[1]} features, of {terms}")
    else:
        vectors = model.vectors(texts)
    ids = find_ids(frame, {column}) if id is None else None
    numbers = {name: frame.values(name) for name in frame.number_names if name != ids}
    others = {n: v for n, v in frame.columns.items() if n not in numbers and n != ids}
    features = {f"{column} {i}": values for i, values in enumerate(vectors.T)}
    return replace(
        frame,
        columns=features | others | numbers,
        X=None,
        names=None,
        beside=frame.beside | frozenset(numbers),
        ids=frame.ids if ids is None else frame.values(ids),
        strings=None,
        is_number=lambda value: False,
        _values={},
    ), model


def transpose_frame(frame: Frame) -> Frame:
    """The frame with its columns as objects; the ids of its rows name the features."""
    ids = find_ids(frame, set())
    titles = frame.ids if ids is None else frame.values(ids)
    numeric = [name for name in frame.number_names if name != ids]
    others = [name for name in frame.columns if name not in numeric and name != ids]
    if not numeric:
        raise DataError(
            f"{frame.source} has no column of numbers, so that there are no objects to read."
        )
    numbers = frame.matrix(numeric).T
    notes = [f"rows and columns were exchanged: each of {len(numeric):,} columns is an object"]
    if others:
        notes.append(f"left out, because the values are no numbers: {join_names(others)}")
    return Frame(
        X=numbers.tocsr() if is_sparse(numbers) else np.ascontiguousarray(numbers),
        names=None if titles is None else [str(title) for title in titles],
        ids=np.array(numeric, dtype=object) if frame.has_names else None,
        notes=[*frame.notes, *notes],
        source=frame.source,
    )


# --- counts ---------------------------------------------------------------------------------------


def normalize_counts(X: Any, total: float | None = None) -> Any:
    """Counts of words, cells' molecules and the like: log(1 + share of the row's total).

    Every row is divided by its sum and multiplied by a common total, which removes differences of
    length or depth between objects; the logarithm then makes ratios count instead of differences.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n_features)
        Numbers of at least 0. A sparse matrix stays sparse.
    total : float, default=None
        The common total; by default the median of the sums of the rows.

    Returns
    -------
    array or sparse matrix of the same shape, float32 or float64

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import tables
    >>> X = tables.normalize_counts(np.array([[1, 3], [10, 30]]))
    >>> bool(np.allclose(X[0], X[1]))
    True
    """
    X = checks.vectors(X, sparse=True)
    values = X.data if is_sparse(X) else X
    if values.size and values.min() < 0:
        raise ValueError(f"X: counts must be at least 0, but the least is {values.min():g}.")
    sums = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
    total = common_total(sums) if total is None else total
    factors = np.divide(total, sums, out=np.zeros_like(sums), where=sums > 0).astype(X.dtype)
    if is_sparse(X):
        return X.multiply(factors[:, None]).tocsr().log1p()
    return np.log1p(X * factors[:, None])


def common_total(sums: Array) -> float:
    """The median of the sums of rows that are not empty."""
    return float(np.median(sums[sums > 0])) if (sums > 0).any() else 1.0


def look_like_counts(numbers: Any) -> bool:
    """Whether features are perhaps counts: many columns of small whole numbers, most of them 0 or
    1 and few of them large. Pixels are not: their large values are common."""
    if numbers.shape[1] < _LEAST_COLUMNS:
        return False
    sample = checks.dense(numbers[:_SAMPLE])
    if sample.dtype.kind not in "iuf" or not (sample >= 0).all():
        return False
    if sample.max() <= 2 or (sample != np.rint(sample)).any():
        return False
    shares = np.array([(sample == value).mean() for value in (0, 1, 2)])
    return bool(shares[0] > 0.3 and shares[1] > 1.2 * shares[2] and shares.sum() > 0.7)
