"""Dense tables are checked once; a table of counts is a corpus, and a corpus is one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base.errors import HiertopicsError, UsageError
from hiertopics.corpus.data import vectors as module
from hiertopics.corpus.data.corpus import Corpus, Tags, default_vocab
from hiertopics.corpus.data.vectors import Vectors, default_columns, no_count, to_corpus, to_vectors

ROWS = np.array([[0.5, -1.0], [2.0, 3.0], [0.0, 1e300]])


def tags(*names: str, rows: object = ((1, 0), (0, 1), (1, 1))) -> Tags:
    return Tags(sparse.csr_array(np.array(rows, dtype=bool)), names)


@pytest.fixture
def vectors() -> Vectors:
    """Return three rows over two columns, with ids, groups and labels."""
    return Vectors(ROWS, ("a", "b"), ("d0", "d1", "d2"), tags("ann", "bo"), tags("x", "y"))


def test_rows_are_float64_in_memory_order(vectors: Vectors) -> None:
    turned = Vectors(np.asfortranarray(np.array([[1, 2], [3, 4]])), ("a", "b"))
    assert turned.rows.dtype == np.float64 and turned.rows.flags.c_contiguous
    assert (vectors.n_docs, vectors.n_columns) == (3, 2)


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        (np.ones(3), ("a",), r"got shape \(3,\)"),
        ([[1.0, np.nan]], ("a", "b"), "row 0 holds nan in column 1"),
        ([[1.0], [-np.inf]], ("a",), "row 1 holds -inf in column 0"),
        ([[1.0, 2.0]], ("a",), "2 columns but 1 names"),
        ([[1.0, 2.0]], ("a", "a"), "the column 'a' stands there twice, as number 1 and 2"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(
    rows: object, columns: tuple[str, ...], words: str
) -> None:
    with pytest.raises(HiertopicsError, match=words):
        Vectors(np.asarray(rows), columns)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"doc_ids": ("one",)}, "3 documents but 1 document ids"),
        ({"groups": tags("g", rows=((1,), (1,)))}, "3 documents but 2 lines of groups"),
        ({"labels": tags("g", rows=((1,), (1,)))}, "3 documents but 2 lines of labels"),
    ],
)
def test_marks_of_other_rows_are_refused(
    vectors: Vectors, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(HiertopicsError, match=words):
        replace(vectors, **change)


def test_equal_tables_have_equal_fingerprints(vectors: Vectors) -> None:
    again = Vectors(ROWS.copy(), ("a", "b"), None, tags("ann", "bo"), tags("x", "y"))
    assert again.fingerprint == vectors.fingerprint
    zeros = np.array([[0.0, 1.0]])
    assert (
        Vectors(zeros, ("a", "b")).fingerprint == Vectors(zeros * [-1, 1], ("a", "b")).fingerprint
    )


def test_anything_else_changes_the_fingerprint(vectors: Vectors) -> None:
    variants = [
        vectors,
        replace(vectors, rows=ROWS + [[1e-9, 0]]),
        replace(vectors, columns=("b", "a")),
        replace(vectors, groups=None),
        replace(vectors, labels=None),
        replace(vectors, groups=vectors.labels, labels=vectors.groups),
        vectors.select([1, 0, 2]),
        vectors.select([0, 1]),
        Vectors(ROWS.reshape(2, 3), ("a", "b", "c")),
    ]
    prints = [variant.fingerprint for variant in variants]
    assert len(set(prints)) == len(prints)


def test_select_takes_rows_in_the_order_given(vectors: Vectors) -> None:
    chosen = vectors.select([2, 0])
    assert chosen.rows.tolist() == [[0.0, 1e300], [0.5, -1.0]]
    assert chosen.doc_ids == ("d2", "d0") and chosen.columns == ("a", "b")
    assert chosen.groups is not None and chosen.labels is not None
    assert chosen.groups.members.toarray().tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize(
    ("value", "shown"), [(0.25, "0.25"), (-1.0, "-1.0"), (2.0**31, "2147483648.0")]
)
def test_an_entry_that_is_no_count_is_named(value: float, shown: str) -> None:
    table = Vectors(np.array([[0, 1], [2, value]]), ("a", "b"))
    assert no_count(table) == f"row 2 holds {shown} in column 'b'"
    with pytest.raises(HiertopicsError, match="no table of counts: row 2 holds"):
        to_corpus(table)


def test_a_table_of_counts_is_a_corpus(vectors: Vectors) -> None:
    table = replace(vectors, rows=np.array([[0, 2], [0, 0], [2**31 - 1, 1]]))
    corpus = to_corpus(table)
    assert no_count(table) is None
    assert corpus.counts.toarray().tolist() == [[0, 2], [0, 0], [2**31 - 1, 1]]
    assert (corpus.vocab, corpus.doc_ids) == (("a", "b"), ("d0", "d1", "d2"))
    assert (corpus.groups, corpus.labels) == (table.groups, table.labels)


def test_columns_without_names_are_words_without_names() -> None:
    assert to_corpus(Vectors(np.ones((1, 3)), default_columns(3))).vocab == default_vocab(3)


def test_a_corpus_is_its_dense_table() -> None:
    counts = sparse.csr_array(np.array([[0, 2], [0, 0]]))
    corpus = Corpus(counts, ("a", "b"), ("d0", "d1"), None, tags("x", rows=((1,), (0,))))
    table = to_vectors(corpus)
    assert table.rows.tolist() == [[0.0, 2.0], [0.0, 0.0]]
    assert to_corpus(table).fingerprint == corpus.fingerprint


def test_a_table_that_would_fill_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus(sparse.csr_array((3, 4), dtype=np.int32), default_vocab(4))
    monkeypatch.setattr(module, "MAX_CELLS", 12)
    assert to_vectors(corpus).rows.shape == (3, 4)
    monkeypatch.setattr(module, "MAX_CELLS", 11)
    with pytest.raises(UsageError, match="3 documents x 4 words has 12 cells, more than 11"):
        to_vectors(corpus)
