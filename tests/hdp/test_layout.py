"""Cells, their cuts into blocks, and the schedule of blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hdp_cases import random_corpus
from stepping import corpus_of, docs_of

from hiertopics.families.flat.layout import Data, lay_out, rounds

SHARDS = [1, 2, 3, 7]


def cells_of_block(data: Data, doc_shard: int, word_shard: int) -> list[tuple[int, int]]:
    """Return (document, cell) of each cell that a kernel visits in a block."""
    cells = data.cells
    docs = range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1])
    return [
        (doc, cell)
        for doc in docs
        for cell in range(cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1])
    ]


@pytest.mark.parametrize("shards", SHARDS)
@pytest.mark.parametrize("tokens", [True, False])
def test_schedule_visits_every_cell_once(shards: int, tokens: bool) -> None:
    corpus = random_corpus(15, n_docs=11, n_words=13, largest=4)
    data = lay_out(corpus, shards, tokens=tokens)
    visited = [
        cell
        for blocks in rounds(shards)
        for block in blocks
        for _, cell in cells_of_block(data, *block)
    ]
    assert sorted(visited) == list(range(len(data.cells.word)))


@pytest.mark.parametrize("shards", SHARDS)
def test_blocks_of_a_round_share_no_document_and_no_word(shards: int) -> None:
    data = lay_out(random_corpus(15, n_docs=11, n_words=13), shards)
    for blocks in rounds(shards):
        visits = [cells_of_block(data, *block) for block in blocks]
        docs = [{doc for doc, _ in visit} for visit in visits]
        words = [{int(data.cells.word[cell]) for _, cell in visit} for visit in visits]
        for sets in (docs, words):
            assert sum(map(len, sets)) == len(set().union(*sets))


@pytest.mark.parametrize("shards", SHARDS)
def test_cells_hold_the_corpus(shards: int) -> None:
    """Each document's cells are its own words in order, with their counts."""
    corpus = random_corpus(15, n_docs=11, n_words=13, largest=4)
    by_pair = lay_out(corpus, shards, np.float64).cells
    by_token = lay_out(corpus, shards, np.float64, tokens=True).cells
    for doc, row in enumerate(corpus.counts.toarray()):
        pairs = slice(by_pair.cuts[doc, 0], by_pair.cuts[doc, -1])
        np.testing.assert_array_equal(by_pair.word[pairs], np.flatnonzero(row))
        np.testing.assert_array_equal(by_pair.tokens[pairs], row[row > 0])
        tokens = slice(by_token.cuts[doc, 0], by_token.cuts[doc, -1])
        assert by_token.word[tokens].tolist() == docs_of(corpus)[doc]
    assert np.all(by_token.tokens == 1)


def test_document_lengths_are_grouped() -> None:
    """3.4: the distinct lengths above zero and how many documents have each."""
    data = lay_out(corpus_of([[2, 1], [0, 0], [3, 0], [0, 1]]), 1)
    assert data.doc_lengths.tolist() == [3, 0, 3, 1]
    assert data.lengths.tolist() == [1, 3]
    assert data.n_with.tolist() == [1, 2]


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (3, 4)])
def test_corpora_without_tokens_are_laid_out(shards: int, shape: tuple[int, int]) -> None:
    data = lay_out(corpus_of(np.zeros(shape)), shards)
    assert data.n_docs == shape[0]
    assert len(data.cells.word) == 0
    assert data.cells.n_shards == shards
