"""The corpus is checked once; equal corpora have equal fingerprints, others have not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base.errors import HiertopicsError
from hiertopics.corpus.data.corpus import Corpus, Tags, default_vocab

ROWS = np.array([[2, 0, 1], [0, 0, 0], [1, 5, 0], [0, 0, 3]])
VOCAB = ("ant", "bee", "cat")


def tags(*names: str, rows: object = ((1, 0), (0, 1), (1, 1), (0, 0))) -> Tags:
    return Tags(sparse.csr_array(np.array(rows, dtype=bool)), names)


@pytest.fixture
def corpus() -> Corpus:
    """Return four documents over three words, with ids, groups and labels."""
    ids = ("d0", "d1", "d2", "d3")
    return Corpus(sparse.csr_array(ROWS), VOCAB, ids, tags("ann", "bo"), tags("x", "y"))


def test_sizes(corpus: Corpus) -> None:
    assert (corpus.n_docs, corpus.n_words, corpus.n_pairs, corpus.n_tokens) == (4, 3, 5, 12)
    assert corpus.doc_lengths.tolist() == [3, 0, 6, 3] and corpus.n_empty == 1


def test_counts_are_int32_in_order() -> None:
    jumbled = sparse.csr_array(
        (np.array([1.0, 2.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3)
    )
    counts = Corpus(jumbled, VOCAB).counts
    assert counts.dtype == np.int32 and counts.indices.tolist() == [0, 2]
    assert counts.data.tolist() == [2, 1]
    assert jumbled.indices.tolist() == [2, 0]  # the caller's own matrix is left alone


def test_token_numbers_do_not_overflow() -> None:
    large = sparse.csr_array(np.full((3, 2), 2**31 - 1, dtype=np.int64))
    corpus = Corpus(large, ("a", "b"))
    assert corpus.n_tokens == 6 * (2**31 - 1)
    assert corpus.doc_lengths.tolist() == [2 * (2**31 - 1)] * 3


def raw(data: list[object], indices: list[int], indptr: list[int]) -> sparse.csr_array:
    return sparse.csr_array((np.array(data), np.array(indices), np.array(indptr)), shape=(2, 3))


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (raw([1, -1], [0, 1], [0, 1, 2]), "positive"),
        (raw([1, 0], [0, 1], [0, 1, 2]), "positive"),
        (raw([1.5], [0], [0, 1, 1]), "positive integers"),
        (raw([float("nan")], [0], [0, 1, 1]), "positive integers"),
        (raw([2**31], [0], [0, 1, 1]), "larger than 2147483647"),
        (raw([1, 2], [1, 1], [0, 0, 2]), "repeated in document 1"),
    ],
)
def test_what_is_no_count_matrix_is_refused(counts: sparse.csr_array, words: str) -> None:
    with pytest.raises(HiertopicsError, match=words):
        Corpus(counts, VOCAB)


def test_a_word_id_out_of_range_is_refused() -> None:
    counts = raw([1], [0], [0, 1, 1])
    counts.indices[0] = 3  # as a damaged file may have it; kernels would read beyond their arrays
    with pytest.raises((HiertopicsError, ValueError)):
        Corpus(counts, VOCAB)


def test_a_repeated_word_across_two_documents_is_none() -> None:
    assert Corpus(raw([1, 2], [2, 2], [0, 1, 2]), VOCAB).n_tokens == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vocab": ("a", "b")}, "3 word columns but 2 words"),
        ({"doc_ids": ("one",)}, "4 documents but 1 document ids"),
        ({"groups": tags("g", rows=((1,), (1,)))}, "4 documents but 2 lines of groups"),
        ({"labels": tags("g", rows=((1,), (1,)))}, "4 documents but 2 lines of labels"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    corpus: Corpus, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(HiertopicsError, match=words):
        replace(corpus, **change)


def test_tags_need_a_name_per_column() -> None:
    with pytest.raises(HiertopicsError, match="2 tag columns but 1 names"):
        tags("only")


def test_equal_corpora_have_equal_fingerprints(corpus: Corpus) -> None:
    wide = sparse.csr_array(ROWS.astype(np.int64))
    again = Corpus(wide, VOCAB, corpus.doc_ids, tags("ann", "bo"), tags("x", "y"))
    assert again.fingerprint == corpus.fingerprint


def test_document_ids_do_not_count(corpus: Corpus) -> None:
    assert replace(corpus, doc_ids=None).fingerprint == corpus.fingerprint


def test_notes_are_no_part_of_the_corpus(corpus: Corpus) -> None:
    noted = replace(corpus, notes=("60 self-loops were dropped",))
    assert noted.fingerprint == corpus.fingerprint
    assert noted.notes and noted.select([0, 1]).notes == ()


def test_anything_else_changes_the_fingerprint(corpus: Corpus) -> None:
    more = ROWS.copy()
    more[2, 1] += 1
    longer = sparse.csr_array(np.vstack([ROWS, np.zeros((1, 3), dtype=int)]))
    variants = [
        corpus,
        corpus.with_counts(sparse.csr_array(more)),
        corpus.select([1, 0, 2, 3]),
        corpus.select([0, 1, 2]),
        Corpus(longer, VOCAB),
        Corpus(sparse.csr_array(ROWS), VOCAB),
        Corpus(sparse.csr_array(ROWS), ("ant", "bee", "dog")),
        Corpus(sparse.csr_array(ROWS), ("an", "tbee", "cat")),
        Corpus(sparse.csr_array(ROWS), ("bee", "ant", "cat")),
        replace(corpus, groups=None),
        replace(corpus, labels=None),
        replace(corpus, groups=corpus.labels, labels=corpus.groups),
        replace(corpus, groups=tags("ann", "cy")),
        replace(corpus, labels=tags("x", "y", rows=((1, 0), (0, 1), (1, 1), (0, 1)))),
    ]
    prints = [variant.fingerprint for variant in variants]
    assert len(set(prints)) == len(prints)


def test_select_takes_rows_in_the_order_given(corpus: Corpus) -> None:
    chosen = corpus.select([2, 0])
    assert chosen.counts.toarray().tolist() == [[1, 5, 0], [2, 0, 1]]
    assert chosen.doc_ids == ("d2", "d0") and chosen.vocab == VOCAB
    assert chosen.groups is not None and chosen.labels is not None
    assert chosen.groups.members.toarray().tolist() == [[True, True], [True, False]]
    assert chosen.groups.names == ("ann", "bo") and chosen.labels.names == ("x", "y")


def test_select_of_nothing_keeps_the_vocabulary(corpus: Corpus) -> None:
    none = corpus.select([])
    assert (none.n_docs, none.n_words, none.n_tokens) == (0, 3, 0)


def test_with_counts_keeps_the_rest(corpus: Corpus) -> None:
    other = corpus.with_counts(sparse.csr_array(ROWS * 2))
    assert other.n_tokens == 24
    assert (other.vocab, other.doc_ids, other.groups) == (VOCAB, corpus.doc_ids, corpus.groups)


def test_unnamed_words_are_numbered() -> None:
    assert default_vocab(3) == ("w0", "w1", "w2")
