"""Held-out arithmetic and topic quality, against loops that a reader can check by eye."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from stepping import corpus_of

from hiertopics.corpus.data.quality import npmi, topic_quality
from hiertopics.corpus.data.tree import OUTSIDE, Tree
from hiertopics.scoring.scores import Score, log_likelihoods, pool, word_chances


@pytest.fixture(scope="module")
def case() -> tuple[sparse.csr_array, np.ndarray, sparse.csr_array]:
    """Return sparse theta, phi, and counts to be scored; document 2 has none."""
    rng = np.random.default_rng(8)
    theta = rng.dirichlet(np.ones(4), 6)
    theta[0] = [0, 1, 0, 0]
    theta[3] = [0.5, 0, 0, 0.5]
    counts = rng.poisson(0.7, (6, 9))
    counts[2] = 0
    return sparse.csr_array(theta), rng.dirichlet(np.ones(9), 4), sparse.csr_array(counts)


def score(chances: np.ndarray, scored: sparse.csr_array) -> Score:
    """Return the pooled score of tokens with these chances."""
    return pool(log_likelihoods(chances, scored), scored)


def test_chances_equal_a_naive_loop(
    case: tuple[sparse.csr_array, np.ndarray, sparse.csr_array],
) -> None:
    theta, phi, scored = case
    weights, counts = theta.toarray(), scored.toarray()
    expected = [
        sum(weights[doc, node] * phi[node, word] for node in range(4))
        for doc in range(6)
        for word in range(9)
        if counts[doc, word]
    ]
    assert word_chances(theta, phi, scored) == pytest.approx(expected, rel=1e-12)


def test_score_equals_a_naive_loop(
    case: tuple[sparse.csr_array, np.ndarray, sparse.csr_array],
) -> None:
    theta, phi, scored = case
    counts, chance = scored.toarray(), theta.toarray() @ phi
    n_tokens, logs, docs = 0, [], []
    for doc in range(6):
        log = 0.0
        for word in range(9):
            log += counts[doc, word] * math.log(chance[doc, word])
        logs.append(log)
        docs.append(int(counts[doc].sum()))
        n_tokens += docs[-1]
    mean = sum(logs) / n_tokens
    squares = sum((log - mean * n) ** 2 for log, n in zip(logs, docs, strict=True))
    result = score(word_chances(theta, phi, scored), scored)
    assert result.log_likelihood_per_word == pytest.approx(mean, rel=1e-12)
    assert result.perplexity == pytest.approx(math.exp(-mean), rel=1e-12)
    assert result.standard_error == pytest.approx(math.sqrt(squares) / n_tokens, rel=1e-12)
    assert (result.n_docs, result.n_tokens) == (5, n_tokens)


def test_the_standard_error_is_that_of_repeated_corpora() -> None:
    """Over many corpora of documents drawn alike, the pooled mean spreads as the error says."""
    rng = np.random.default_rng(0)
    means, errors = [], []
    for _ in range(400):
        scored = sparse.csr_array(rng.integers(1, 9, (60, 1)))
        result = score(np.exp(-rng.gamma(4.0, 0.5, 60)), scored)
        means.append(result.log_likelihood_per_word)
        errors.append(result.standard_error)
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.1)


def test_uniform_chances_give_a_perplexity_of_the_vocabulary() -> None:
    scored = sparse.csr_array(np.array([[3, 0, 1], [0, 2, 0]]))
    result = score(np.full(3, 1 / 7), scored)
    assert result.perplexity == pytest.approx(7) and result.standard_error == pytest.approx(0)


def test_no_token_is_no_number() -> None:
    result = score(np.empty(0), sparse.csr_array((4, 3), dtype=np.int32))
    assert math.isnan(result.perplexity) and (result.n_docs, result.n_tokens) == (0, 0)


def naive_npmi(words: list[int], rows: np.ndarray) -> float:
    values = []
    n_docs = len(rows)
    for first, second in combinations(words, 2):
        one = sum(1 for row in rows if row[first]) / n_docs
        other = sum(1 for row in rows if row[second]) / n_docs
        both = sum(1 for row in rows if row[first] and row[second]) / n_docs
        if both == 0:
            values.append(-1.0)
        elif both == 1:
            values.append(1.0)
        else:
            values.append(math.log(both / (one * other)) / -math.log(both))
    return sum(values) / len(values)


def test_npmi_equals_a_naive_double_loop() -> None:
    rng = np.random.default_rng(6)
    rows = rng.poisson(0.8, (15, 8))
    rows[:, 0] = 1
    rows[:, 1] = 0
    tops = np.array([[0, 1, 2, 3], [7, 5, 6, 2], [4, 3, 2, 0]])
    expected = [naive_npmi(top.tolist(), rows) for top in tops]
    assert npmi(tops, corpus_of(rows)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[1, 1], [2, 9]], 1.0),  # both in every document
        ([[1, 1], [0, 0], [0, 0]], 1.0),  # always together
        ([[1, 0], [0, 1]], -1.0),  # never together
        ([[1, 0], [1, 0]], -1.0),  # one of them nowhere
        ([[1, 1], [1, 0], [0, 1], [0, 0]], 0.0),  # independent
    ],
)
def test_npmi_at_its_ends(rows: Any, expected: float) -> None:
    assert npmi(np.array([[0, 1]]), corpus_of(rows)) == pytest.approx([expected], abs=1e-12)


def test_npmi_counts_documents_not_tokens() -> None:
    rows = np.array([[1, 1, 0], [1, 0, 2], [0, 3, 1]])
    tops = np.array([[0, 1, 2]])
    assert npmi(tops, corpus_of(rows)) == pytest.approx(npmi(tops, corpus_of(rows * 7)))


def flat(phi: object, kind: list[int]) -> Tree:
    rows = np.asarray(phi, dtype=float)
    n = len(rows)
    return Tree(
        rows, np.full(n, -1), np.array(kind), np.full(n, 1 / n), np.zeros(n, int), np.zeros(n)
    )


def test_diversity_is_the_share_of_distinct_top_words() -> None:
    corpus = corpus_of(np.ones((2, 60), dtype=int))
    down = np.linspace(1, 0.01, 60)
    same = topic_quality(flat([down, down], [0, 0]), corpus)
    apart = topic_quality(flat([down, down[::-1]], [0, 0]), corpus)
    assert (same.n_topics, same.diversity, apart.diversity) == (2, 0.5, 1.0)
    # Of the 25 top words of each, five are shared: none of the first ten.
    near = topic_quality(flat([down, np.roll(down, 20)], [0, 0]), corpus)
    assert near.diversity == 45 / 50


def test_quality_leaves_out_what_lies_outside() -> None:
    corpus = corpus_of([[1, 1, 0, 0], [0, 0, 1, 1]])
    tree = flat([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.3, 0.5]], [0, OUTSIDE])
    quality = topic_quality(tree, corpus)
    assert quality.n_topics == 1
    assert quality.coherence_npmi == pytest.approx(
        naive_npmi([0, 1, 2, 3], corpus.counts.toarray())
    )


def test_a_tree_without_topics_has_a_quality_too() -> None:
    """As a fit to empty documents leaves it."""
    corpus = corpus_of(np.array([[1, 2]]))
    quality = topic_quality(flat([[0.5, 0.5]], [OUTSIDE]), corpus)
    assert tuple(quality) == (0, None, None)
