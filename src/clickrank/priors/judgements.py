"""Judged queries: the features and the grades of their documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse

from clickrank._core.arrays import Ints
from clickrank.errors import invalid

#: A dense or sparse float32 matrix with one row per document and one column per feature.
Features: TypeAlias = "NDArray[np.float32] | csr_matrix"


@dataclass(frozen=True, eq=False)
class JudgedQuery:
    """A query: its number, and the grade (0 is worst) and the features of each document."""

    qid: int
    grades: Ints
    features: Features

    @property
    def n_items(self) -> int:
        """The number of documents."""
        return int(self.grades.size)


class JudgedQueries(Mapping[int, JudgedQuery]):
    """A mapping from the number of a query to the query, with all documents in one matrix.

    A query taken from the mapping is a view. Rows of ``features`` and entries of ``grades`` are
    documents; those of the i-th query are ``offsets[i]`` to ``offsets[i + 1]``, and its number is
    ``qids[i]``.

    Parameters
    ----------
    features
        A matrix with one row per document, dense or SciPy sparse; float32 is not copied.
    grades
        The grade of each document, a whole number of at least 0.
    sizes
        The number of documents of each query, in the order of the rows.
    qids
        The number of each query; by default 0, 1, 2, …

    Examples
    --------
    >>> queries = JudgedQueries([[0.5], [0.1], [0.7]], grades=[4, 0, 1], sizes=[2, 1], qids=[17, 3])
    >>> queries[17].grades
    array([4, 0])
    >>> list(queries), queries.n_rows, queries.n_features
    ([17, 3], 3, 1)
    """

    def __init__(
        self,
        features: ArrayLike | csr_matrix,
        grades: ArrayLike,
        sizes: ArrayLike,
        qids: ArrayLike | None = None,
    ) -> None:
        """Check that the arrays fit together; they are copied only if their types must change."""
        owner = "JudgedQueries"
        self.features: Features = features_of(owner, "features", features)
        self.grades: Ints = check_int_vector(owner, "grades", grades, 0)
        counts = check_int_vector(owner, "sizes", sizes, 1)
        self.offsets: Ints = np.concatenate(([0], np.cumsum(counts)))
        numbers = np.arange(counts.size) if qids is None else qids
        self.qids: Ints = check_int_vector(owner, "qids", numbers, 0)
        rows = (self.features.shape[0], self.grades.size, int(self.offsets[-1]))
        if len(set(rows)) != 1:
            rule = "features, grades and sizes must have the same number of documents"
            raise invalid(owner, rule, rows)
        if self.qids.size != counts.size:
            raise invalid(owner, f"qids must have {counts.size} entries", self.qids.size)
        self._places = {qid: place for place, qid in enumerate(self.qids.tolist())}
        if len(self._places) != self.qids.size:
            found, seen = np.unique(self.qids, return_counts=True)
            raise invalid(owner, "qids must be distinct", int(found[np.argmax(seen)]))

    @property
    def sizes(self) -> Ints:
        """The number of documents of each query."""
        return np.diff(self.offsets)

    @property
    def n_rows(self) -> int:
        """The number of documents of all queries."""
        return int(self.grades.size)

    @property
    def n_features(self) -> int:
        """The number of features of a document."""
        return int(self.features.shape[1])

    def __getitem__(self, qid: int) -> JudgedQuery:
        place = self._places[qid]
        rows = slice(int(self.offsets[place]), int(self.offsets[place + 1]))
        return JudgedQuery(int(qid), self.grades[rows], _rows(self.features, rows))

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    # A mapping compares contents, which for arrays does not give one boolean.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        kind = "sparse" if issparse(self.features) else "dense"
        return (
            f"<JudgedQueries: {len(self)} queries, {self.n_rows} documents, "
            f"{self.n_features} {kind} features>"
        )

    def widened(self, n_features: int) -> JudgedQueries:
        """Return the queries with additional features of 0, up to ``n_features``."""
        if n_features == self.n_features:
            return self
        if n_features < self.n_features:
            rule = f"n_features must be at least {self.n_features}"
            raise invalid("JudgedQueries", rule, n_features)
        wide: Features
        if isinstance(self.features, np.ndarray):
            wide = np.pad(self.features, ((0, 0), (0, n_features - self.n_features)))
        else:
            parts = (self.features.data, self.features.indices, self.features.indptr)
            wide = csr_matrix(parts, shape=(self.n_rows, n_features), copy=False)
        return JudgedQueries(wide, self.grades, self.sizes, self.qids)

    def take(self, places: ArrayLike) -> JudgedQueries:
        """Return a copy of the queries at these indices, which count from 0."""
        chosen = check_int_vector("JudgedQueries", "places", places, 0)
        if int(chosen.max()) >= len(self):
            rule = f"places must be between 0 and {len(self) - 1}"
            raise invalid("JudgedQueries", rule, int(chosen.max()))
        starts, sizes = self.offsets[chosen], self.sizes[chosen]
        # The rows of all chosen queries, in the order of the queries.
        shift = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
        rows = np.arange(int(sizes.sum())) + shift
        return JudgedQueries(self.features[rows], self.grades[rows], sizes, self.qids[chosen])


def features_of(owner: str, name: str, features: ArrayLike | csr_matrix) -> Features:
    """Check a matrix of features; it is copied only if it is not float32."""
    found: Features
    if issparse(features):
        found = csr_matrix(features, dtype=np.float32)
    else:
        try:
            array = np.asarray(features)
        except ValueError:  # ragged
            array = np.array("ragged")
        if array.dtype.kind not in "fiub":
            raise invalid(owner, f"{name} must be a matrix of numbers", features)
        found = array.astype(np.float32, copy=False)
    if found.ndim != 2 or 0 in found.shape:
        raise invalid(owner, f"{name} must be a matrix with one row per document", found.shape)
    return found


def _rows(features: Features, rows: slice) -> Features:
    """Return a view of some rows; of a sparse matrix, only the row pointers are copied."""
    if isinstance(features, np.ndarray):
        return features[rows]
    pointers = features.indptr[rows.start : rows.stop + 1]
    inside = slice(int(pointers[0]), int(pointers[-1]))
    parts = (features.data[inside], features.indices[inside], pointers - pointers[0])
    return csr_matrix(parts, shape=(rows.stop - rows.start, features.shape[1]), copy=False)


def check_int_vector(owner: str, name: str, values: ArrayLike, low: int) -> Ints:
    """Return a non-empty vector of integers of at least ``low``, or raise."""
    array = np.asarray(values)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise invalid(owner, f"{name} must be a non-empty vector of whole numbers", values)
    if int(array.min()) < low:
        where = int(np.argmin(array))
        raise invalid(owner, f"{name}[{where}] must be at least {low}", int(array[where]))
    return array.astype(np.int64, copy=False)
