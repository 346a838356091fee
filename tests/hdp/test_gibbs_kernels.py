"""The loops of the Gibbs sampler against exact laws (theory/hdp 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hdp_cases import begin, random_corpus
from naive import antoniak, log_joint, sweep_by_lists
from scipy import stats
from stepping import docs_of, settings_of

from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.sampler_kernels import sweep_block, sweep_block_by_lists
from hiertopics.families.flat.sweep_kernels import list_words, write_words
from hiertopics.families.flat.token_kernels import TokenTopics, count_tokens
from hiertopics.families.hdp import gibbs, gibbs_kernels as kernels
from hiertopics.numeric.lanes import LANES

N_TOPICS = 4
CORPUS = random_corpus(81, n_docs=6, n_words=7, largest=4)


def start(shards: int = 1) -> tuple[Cells, TokenTopics, PseudoCounts]:
    settings = settings_of(gibbs, truncation=N_TOPICS, shards=shards)
    state, data = begin(gibbs, CORPUS, settings)
    rng = np.random.default_rng(0)
    prior = PseudoCounts(rng.gamma(0.5, size=N_TOPICS), rng.gamma(0.5, size=7), 0.0)
    tables = TokenTopics(state.z, state.n_dk, state.n_wk, state.n_k)
    return data.cells, tables, prior._replace(word_total=float(prior.word.sum()))


def test_count_tokens() -> None:
    cells, tables, _ = start()
    n_dk, n_wk = np.zeros_like(tables.n_dk), np.zeros_like(tables.n_wk)
    count_tokens(cells, tables.z, n_dk, n_wk)
    topics = np.split(tables.z, np.cumsum(CORPUS.doc_lengths)[:-1])
    for doc, (words, chosen) in enumerate(zip(docs_of(CORPUS), topics, strict=True)):
        np.testing.assert_array_equal(n_dk[doc], np.bincount(chosen, minlength=N_TOPICS))
        assert len(words) == len(chosen)
    np.testing.assert_array_equal(n_wk.sum(axis=1), CORPUS.counts.toarray().sum(axis=0))
    np.testing.assert_array_equal(n_wk.sum(axis=0), n_dk.sum(axis=0))


@pytest.mark.parametrize("sweep", [sweep_block, sweep_block_by_lists])
def test_token_is_drawn_by_its_ratios_of_the_joint(sweep: Any) -> None:
    """13: a token's topics come up as often as the naive log joint says, all others fixed."""
    cells, tables, prior = start()
    last = len(tables.z) - 1
    docs, lengths = docs_of(CORPUS), np.cumsum(CORPUS.doc_lengths)[:-1]
    weights = []
    for topic in range(N_TOPICS):
        z = tables.z.copy()
        z[last] = topic
        topics = [part.tolist() for part in np.split(z, lengths)]
        weights.append(log_joint(docs, topics, prior.doc.tolist(), prior.word.tolist()))
    chances = np.exp(np.array(weights) - max(weights))
    chances /= chances.sum()
    # A document range that is empty but for the last token of the last document.
    cuts = np.full_like(cells.cuts, last)
    cuts[-1, 1] = last + 1
    cells = cells._replace(cuts=cuts)
    rng, drawn = np.random.default_rng(6), np.zeros(N_TOPICS)
    for _ in range(20_000):
        sweep(cells, 0, 0, tables, prior, rng)
        drawn[tables.z[last]] += 1
    assert stats.chisquare(drawn, 20_000 * chances).pvalue > 1e-3
    assert chances.min() > 1e-3


@pytest.mark.parametrize("n_topics", [3, 40])
def test_a_sweep_by_lists_draws_what_its_plain_twin_draws(n_topics: int) -> None:
    """6.7: 40 topics need more than one block and one vector. Many draws are among all topics."""
    corpus = random_corpus(5, n_docs=8, n_words=6, largest=6)
    state, data = begin(gibbs, corpus, settings_of(gibbs, truncation=n_topics))
    rng = np.random.default_rng(1)
    prior = PseudoCounts(rng.gamma(0.5, size=n_topics), rng.gamma(4.0, size=6), 0.0)
    prior = prior._replace(word_total=float(prior.word.sum()))
    tables = TokenTopics(state.z, state.n_dk, state.n_wk, state.n_k)
    cuts = np.cumsum(corpus.doc_lengths)[:-1]
    z = [part.tolist() for part in np.split(state.z, cuts)]
    rows, words = np.tile(np.asarray(prior.doc, float), (8, 1)), np.asarray(prior.word, float)
    ours, same = np.random.default_rng(8), np.random.default_rng(8)
    for _ in range(3):
        sweep_block_by_lists(data.cells, 0, 0, tables, prior, ours)
        sweep_by_lists(docs_of(corpus), z, rows, words, same)
        assert [part.tolist() for part in np.split(state.z, cuts)] == z
    n_dk, n_wk = np.zeros_like(tables.n_dk), np.zeros_like(tables.n_wk)
    count_tokens(data.cells, state.z, n_dk, n_wk)
    assert (n_wk == state.n_wk).all() and (n_dk == state.n_dk).all()
    assert (n_wk.sum(axis=0) == state.n_k).all()


def test_lists_of_words_hold_their_counts() -> None:
    """6.7: lists of some words, topics ascending, in whole vectors; written back they are n_wk."""
    n_wk = np.random.default_rng(3).poisson(0.4, (9, 40)).astype(np.int32)
    n_wk[4], n_wk[5] = 0, 1
    lists = list_words(n_wk, 2, 8)
    assert (lists.start % LANES == 0).all()
    for word in range(2, 8):
        entries = slice(lists.start[word], lists.start[word] + lists.length[word])
        used = np.flatnonzero(n_wk[word])
        assert lists.topic[entries].tolist() == used.tolist()
        assert lists.times[entries].tolist() == n_wk[word, used].tolist()
    assert lists.times.sum() == n_wk[2:8].sum()
    written = np.full_like(n_wk, 7)
    write_words(lists, 2, 8, written)
    assert (written[2:8] == n_wk[2:8]).all()
    assert (written[[0, 1, 8]] == 7).all()


@pytest.mark.parametrize("n_tokens", [1, 2, 3, 8])
@pytest.mark.parametrize("x", [0.05, 0.7, 4.0])
def test_tables_follow_the_antoniak_law(n_tokens: int, x: float) -> None:
    """14: frequencies of 50 000 draws against Stirling numbers."""
    counts = np.full((50_000, 1), n_tokens, dtype=np.int32)
    by_row, by_column = np.zeros(50_000, dtype=np.int64), np.zeros(1, dtype=np.int64)
    rng = np.random.default_rng(7)
    row_prior, column_prior = np.full(50_000, 2.0), np.full(1, x / 2.0)
    kernels.draw_tables(counts, row_prior, column_prior, by_row, by_column, rng)
    assert by_row.sum() == by_column[0]
    expected = 50_000 * antoniak(n_tokens, x)
    found = np.bincount(by_row, minlength=n_tokens + 1)
    common = expected > 5
    assert found[~common].sum() <= 5 + 5 * expected[~common].sum()
    if common.sum() > 1:
        scale = found[common].sum() / expected[common].sum()
        assert stats.chisquare(found[common], expected[common] * scale).pvalue > 1e-3
    else:
        assert found[common].sum() == 50_000


def test_empty_cells_make_no_table_and_vanished_weights_one() -> None:
    """6: the first table is certain, also where the concentration has underflowed to 0."""
    counts = np.array([[0, 9], [5, 0]], dtype=np.int32)
    by_row, by_column = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    rng = np.random.default_rng(8)
    kernels.draw_tables(counts, np.ones(2), np.zeros(2), by_row, by_column, rng)
    assert by_row.tolist() == by_column.tolist() == [1, 1]
