"""Columns cut into bins: where the edges lie, and which word a value becomes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse

from hiertopics.base.errors import HiertopicsError
from hiertopics.corpus.data.corpus import Tags
from hiertopics.corpus.data.discretise import Bins, bin_numbers, learn_bins, learn_edges, to_words
from hiertopics.corpus.data.vectors import Vectors, default_columns

INF = np.inf
values = st.floats(-1e308, 1e308) | st.sampled_from([0.0, 1.0, -1.0, 5e-324, 1.7e308])
tables = (
    st.integers(1, 4)
    .flatmap(lambda n: st.lists(st.lists(values, min_size=n, max_size=n), min_size=1, max_size=12))
    .map(np.array)
)


def column(*entries: float) -> np.ndarray:
    return np.array(entries, dtype=float)[:, None]


@pytest.mark.parametrize(
    ("entries", "n_bins", "edges"),
    [
        ([5, 3, 1, 4, 2, 6], 3, [3, 5]),
        ([1, 2, 3, 4, 5], 2, [3]),
        ([0, 0, 0, 0, 1, 2], 3, [1, INF]),
        ([0, 1, 1, 1, 1, 1], 3, [1, INF]),
        ([7, 7, 7], 4, [INF, INF, INF]),
        ([1, 2], 5, [2, INF, INF, INF]),
        ([3], 2, [INF]),
    ],
)
def test_quantile_edges(entries: list[float], n_bins: int, edges: list[float]) -> None:
    assert learn_edges(column(*entries), "quantile", n_bins).tolist() == [edges]


@pytest.mark.parametrize(
    ("entries", "n_bins", "edges"),
    [
        ([0, 10, 1, 1, 1], 5, [2, 4, 6, 8]),
        ([-1, 1], 2, [0]),
        ([0.1, 0.1, 0.1], 5, [INF] * 4),
        ([0, 5e-324], 4, [5e-324, INF, INF]),
        ([-1e308, 1e308], 2, [0]),
    ],
)
def test_uniform_edges(entries: list[float], n_bins: int, edges: list[float]) -> None:
    found = learn_edges(column(*entries), "uniform", n_bins)[0]
    np.testing.assert_allclose(found, edges, rtol=1e-12)


def test_rounding_between_neighbouring_values_makes_no_edge_twice() -> None:
    """The weighted means of these two go up, down and up again in the last digit."""
    edges = learn_edges(column(0.36159505490948474, 0.36159505490948496), "uniform", 11)[0]
    inner = edges[np.isfinite(edges)]
    assert len(inner) == 4 and (np.diff(inner) > 0).all()


def test_each_column_has_edges_of_its_own() -> None:
    rows = np.array([[0.0, 5.0, 10.0], [1.0, 5.0, 30.0]])
    assert learn_edges(rows, "uniform", 2).tolist() == [[0.5], [INF], [20.0]]
    assert learn_edges(rows, "quantile", 2).tolist() == [[1.0], [INF], [30.0]]


def test_quantile_bins_hold_equally_many_rows() -> None:
    rows = np.random.default_rng(3).permutation(103).astype(float)[:, None]
    numbers = bin_numbers(rows, learn_edges(rows, "quantile", 10))[:, 0]
    sizes = Counter(numbers.tolist())
    assert sorted(sizes) == list(range(10)) and set(sizes.values()) == {10, 11}


def test_a_value_on_an_edge_lies_above_it() -> None:
    edges = np.array([[1.0, 2.0, INF]])
    rows = column(0.9, 1.0, 1.5, 2.0, 1e300, -1e300)
    assert bin_numbers(rows, edges)[:, 0].tolist() == [0, 1, 1, 2, 2, 0]


@settings(deadline=None, derandomize=True)
@given(rows=tables, n_bins=st.integers(2, 6), method=st.sampled_from(["quantile", "uniform"]))
def test_edges_ascend_within_the_values_and_bins_say_what_a_search_says(
    rows: np.ndarray, n_bins: int, method: str
) -> None:
    edges = learn_edges(rows, method, n_bins)
    numbers = bin_numbers(rows, edges)
    assert edges.shape == (rows.shape[1], n_bins - 1)
    for place, row in enumerate(edges):
        inner, values_of = row[np.isfinite(row)], rows[:, place]
        assert (np.diff(inner) > 0).all() and (row[len(inner) :] == INF).all()
        assert ((inner > values_of.min()) & (inner <= values_of.max())).all()
        assert numbers[:, place].tolist() == np.searchsorted(inner, values_of, "right").tolist()
        if method == "quantile":
            assert set(numbers[:, place]) == set(range(len(inner) + 1))  # no bin is empty


def test_a_row_becomes_one_word_per_column() -> None:
    labels = Tags(sparse.csr_array(np.array([[True], [False], [True]])), ("x",))
    rows = np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0]])
    vectors = Vectors(rows, ("a", "b=1"), ("r", "s", "t"), None, labels)
    bins = learn_bins(vectors, "quantile", 3)
    corpus = to_words(vectors, bins)
    assert corpus.vocab == bins.words == ("a=0", "a=1", "a=2", "b=1=0")
    assert corpus.counts.toarray().tolist() == [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]]
    assert (corpus.doc_ids, corpus.labels) == (vectors.doc_ids, labels)


def test_values_beyond_the_training_rows_fall_into_the_outer_bins() -> None:
    bins = learn_bins(Vectors(column(0, 1, 2, 3), ("a",)), "uniform", 3)
    new = to_words(Vectors(column(-100, 100, 1.5), ("a",)), bins)
    assert new.counts.toarray().tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_columns_are_matched_by_name() -> None:
    bins = learn_bins(Vectors(np.array([[0.0, 10.0], [1.0, 20.0]]), ("a", "b")), "quantile", 2)
    new = to_words(Vectors(np.array([[15.0, 5.0]]), ("b", "a")), bins)
    assert [new.vocab[word] for word in new.counts.indices] == ["a=1", "b=0"]


@pytest.mark.parametrize("names", [(("a", "b"), None), (None, ("a", "b"))])
def test_columns_without_names_are_matched_by_place(names: tuple[tuple[str, ...] | None]) -> None:
    first, second = (name or default_columns(2) for name in names)
    bins = learn_bins(Vectors(np.array([[0.0, 10.0], [1.0, 20.0]]), first), "quantile", 2)
    assert to_words(Vectors(np.array([[5.0, 15.0]]), second), bins).counts.indices.tolist() == [
        1,
        2,
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("a", "c"), "2 columns where 2 were cut into bins: no 'b'; 'c' besides"),
        (("a",), "1 columns where 2 were cut into bins: no 'b'$"),
        (("a", "b", "c"), "3 columns where 2 were cut into bins: 'c' besides"),
        (("x0",), "no 'a', 'b'; 'x0' besides"),
        (("a", *"cdefg"), "no 'b'; 'c', 'd', 'e' and 2 more besides"),
    ],
)
def test_other_columns_are_refused(columns: tuple[str, ...], message: str) -> None:
    bins = Bins(("a", "b"), np.zeros((2, 1)))
    with pytest.raises(HiertopicsError, match=message):
        to_words(Vectors(np.ones((1, len(columns))), columns), bins)


def test_bins_come_back_from_their_arrays_without_pickle() -> None:
    bins = Bins(("é a", "b"), np.array([[1.0, INF], [0.5, 2.0]]))
    arrays = bins.to_arrays()
    assert not any(array.dtype.hasobject for array in arrays.values())
    again = Bins.from_arrays(arrays)
    assert again.columns == bins.columns and again.words == bins.words
    np.testing.assert_array_equal(again.edges, bins.edges)
