"""The start that draws nothing: words in clusters by context."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import linkage
from stepping import at, corpus_of, settings_of

from hiertopics.base.arrays import F64, I64
from hiertopics.families.flat.layout import lay_out
from hiertopics.families.flat.variational import IN_FIXED_ORDER
from hiertopics.families.nhdp import first_topics, flat_starts, starts, variational
from hiertopics.families.nhdp.shapes import labels_at

RNG = np.random.default_rng(0)
TEXT = RNG.poisson(0.8, (20, 15))


def begun(counts: I64, n_topics: int = 3, seed: int = 0, shards: int = 1) -> object:
    data = lay_out(corpus_of(counts), shards, np.float64)
    keys = {"truncation": n_topics, "start_iterations": 2}
    settings = settings_of(variational, **keys)
    return first_topics.begin_flat(data, settings, IN_FIXED_ORDER, at(0, seed=seed), np.float64)


def subjects(n_docs: int = 60) -> I64:
    """Return documents of one of three subjects, eight words each, and of four words of all."""
    rng, counts = np.random.default_rng(1), np.zeros((n_docs, 28), np.int64)
    for doc in range(n_docs):
        own = np.arange(8) + 8 * (doc % 3)
        counts[doc] += rng.multinomial(30, np.bincount(own, minlength=28) / 8)
        counts[doc, 24:] += 2
    return counts


def test_words_of_a_subject_are_a_cluster() -> None:
    found = flat_starts.clusters_of(sparse.csr_array(subjects().astype(float)), 4, np.float64)
    assert [len(set(found.cluster[at : at + 8].tolist())) for at in (0, 8, 16)] == [1, 1, 1]
    assert found.n_topics == len(set(found.cluster.tolist())) == 4


def test_few_words_for_each_topic_are_the_most_frequent_ones() -> None:
    counts = sparse.csr_array(subjects().astype(float))
    found = flat_starts.clusters_of(counts, 2, np.float64, words_per_topic=5)
    totals = subjects().sum(axis=0)
    assert np.flatnonzero(found.cluster >= 0).tolist() == sorted(np.argsort(-totals)[:10].tolist())
    assert found.n_topics == 2


def test_a_start_within_branches_clusters_as_many_words_as_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of each branch."""
    seen, find = [], flat_starts.clusters_of

    def noted(*given: Any) -> flat_starts.Clusters:
        seen.append(given[-1])
        return find(*given)

    monkeypatch.setattr(flat_starts, "clusters_of", noted)
    monkeypatch.setattr(flat_starts, "FEWEST_TOPICS", 4)
    told = settings_of(variational, start_iterations=2, start_words=5, trials=0)
    starts.init(variational.prepare(corpus_of(subjects()), told), told, at(0))
    assert len(seen) > 1 and set(seen) == {5}


def test_seeds_make_no_difference() -> None:
    one, other = (begun(TEXT, seed=seed) for seed in (0, 1))
    assert one.resp.tobytes() == other.resp.tobytes()  # type: ignore[attr-defined]


def test_shards_make_no_difference() -> None:
    one, other = (begun(TEXT, shards=shards).resp for shards in (1, 3))  # type: ignore[attr-defined]
    assert np.array_equal(one, other)


def test_contexts_are_those_of_the_page() -> None:
    """6.1, word by word, but for the rounding; documents are of many lengths."""
    counts = TEXT * np.where(np.arange(20) < 4, 9.0, 1.0)[:, None]
    context = np.zeros((15, 15))
    for row in counts:
        context += np.outer(row, row / row.sum())
    roots = np.sqrt(context / context.sum(axis=1, keepdims=True))
    heights = flat_starts.linkage_of(sparse.csr_array(counts))[:, 2]
    assert heights == pytest.approx(linkage(roots, "ward")[:, 2], abs=2e-3)


def test_distances_do_not_depend_on_the_order_of_their_sums(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Roots are whole numbers, and their products are exact in float32."""
    counts = np.random.default_rng(2).poisson(1.5, (90, 400)).astype(float)
    order = np.random.default_rng(3).permutation(400)
    seen: list[F64] = []

    def note(distances: F64, method: str) -> list[Any]:
        seen.append(distances)
        return []

    monkeypatch.setattr(flat_starts, "linkage", note)
    flat_starts.linkage_of(sparse.csr_array(counts))
    flat_starts.linkage_of(sparse.csr_array(counts[:, order]))
    square = np.zeros((2, 400, 400))
    for table, distances in zip(square, seen, strict=True):
        table[np.triu_indices(400, 1)] = distances
        table += table.T
    # Contexts add documents up in the same order: only the sums over words may differ.
    assert np.array_equal(square[1], square[0][np.ix_(order, order)])


def test_what_a_pair_starts_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """6.1, pair by pair; words beyond the most frequent have no cluster of their own."""
    monkeypatch.setattr(flat_starts, "MOST_WORDS", 12)
    totals = TEXT.sum(axis=0)
    rare = np.argsort(-totals, kind="stable")[12:]
    counts = sparse.csr_array(TEXT.astype(float))
    found = flat_starts.clusters_of(counts, 3, np.float64)
    assert sorted(np.flatnonzero(found.cluster < 0).tolist()) == sorted(rare.tolist())
    kept = np.setdiff1d(np.arange(15), rare)
    labels = labels_at(flat_starts.linkage_of(counts[:, kept]), 3)
    assert found.cluster[kept].tolist() == labels.tolist()
    theta = np.array([[row[kept][labels == k].sum() + 1e-3 for k in range(3)] for row in TEXT])
    theta /= theta.sum(axis=1, keepdims=True)
    phi = TEXT.T @ theta + 0.01
    phi /= phi.sum(axis=0)
    resp, pair = begun(TEXT).resp, 0  # type: ignore[attr-defined]
    for doc, row in enumerate(TEXT):
        for word in np.flatnonzero(row):
            both = theta[doc] * phi[word]
            expected = both / both.sum() + 1 / 3
            if found.cluster[word] >= 0:
                expected[found.cluster[word]] += 1
            assert resp[pair] == pytest.approx(expected / expected.sum(), abs=1e-12)
            pair += 1


@pytest.mark.parametrize(
    ("counts", "n_topics"),
    [([[3]], 1), ([[0, 2], [0, 1]], 1), ([[0, 0], [0, 0]], 1), (np.ones((2, 9)), 2)],
    ids=["one word", "one word seen", "no token", "a topic for four words"],
)
def test_small_corpora_have_few_topics(counts: list[list[int]], n_topics: int) -> None:
    found = flat_starts.clusters_of(sparse.csr_array(np.array(counts, float)), 5, np.float64)
    assert found.n_topics == n_topics
    assert np.isfinite(found.theta).all() and found.phi.sum(axis=0) == pytest.approx(1)
