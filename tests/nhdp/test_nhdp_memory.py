"""Memory of the start: it frees each array after the last use, and makes none that is not needed.

Memory of the end: what is larger than the result is there for some documents or words at a time.
"""

from __future__ import annotations

import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest
from nhdp_cases import random_mixing
from scipy import sparse
from stepping import at, corpus_of, settings_of

from hiertopics.base.made import MadeRows
from hiertopics.corpus.data import seedwords
from hiertopics.families.flat.layout import lay_out
from hiertopics.families.flat.summary import document_weights
from hiertopics.families.nhdp import (
    branching,
    dividing,
    first_topics,
    flat_starts,
    patches,
    starts,
    summary,
    variational,
)
from hiertopics.families.nhdp.shapes import find_grouped

Made = TypeVar("Made")

RNG = np.random.default_rng(0)
CORPUS = corpus_of(RNG.poisson(0.3, (80, 60)))


def traced(make: Callable[[], Made]) -> tuple[Made, int]:
    """Return what is made, and the bytes of arrays that were there at the same time at most."""
    tracemalloc.start()
    try:
        found = make()
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("responsibilities", ["all", "few"])
def test_responsibilities_are_gone_before_theta_is_made(
    responsibilities: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the caller keeps the first state."""
    settings = settings_of(variational, truncation=6, responsibilities=responsibilities)
    data = lay_out(CORPUS, 2)
    order = first_topics.order_of(6, len(data.cells.word), settings.inference, bursty=False)
    begun = first_topics.begin_flat(data, settings, order, at(0), np.float32)
    left: list[Any] = []

    def weights(*args: Any) -> Any:
        left.extend(begun.local.state_of(piece) for piece in range(2))
        return document_weights(*args)

    monkeypatch.setattr(first_topics, "document_weights", weights)
    first_topics.fit_flat(begun, data, 3, order, at(0))
    assert left == [None, None]


def test_theta_of_all_documents_is_gone_before_the_next_larger_array_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That of topics joined before q(z) is made of it; that of topics before the tree's state."""
    monkeypatch.setattr(flat_starts, "FEWEST_TOPICS", 4)
    held: dict[str, weakref.ref[Any]] = {}
    gone: dict[str, bool] = {}

    def watched(module: Any, name: str, before: str | None, found: Any) -> None:
        whole = getattr(module, name)

        def watching(*args: Any) -> Any:
            if before is not None:
                gone[before] = held[before]() is None
            result = whole(*args)
            if found is not None:
                held[name] = weakref.ref(found(args, result))
            return result

        monkeypatch.setattr(module, name, watching)

    watched(flat_starts, "joined", None, lambda args, within: within.theta)
    watched(first_topics, "known", "joined", None)
    watched(starts, "divide", None, lambda args, division: args[0].theta)
    watched(starts, "divided", "divide", None)
    # Only with names, or bursts, is there q(z) of all pairs.
    seeds = {"one": ["w0"], "two": ["w1"]}
    settings = settings_of(variational, truncation=8, start_iterations=10, trials=0, seeds=seeds)
    starts.init(variational.prepare(CORPUS, settings), settings, at(0))
    assert gone == {"joined": True, "divide": True}


def test_theta_is_divided_among_nodes_some_documents_at_a_time() -> None:
    """In float64 theta at all nodes is larger than all that stays of it."""
    n_docs, n_topics, n_nodes = 20_000, 10, 40
    flat = first_topics.FlatTopics(
        RNG.random((n_docs, n_topics)), RNG.dirichlet(np.ones(5), n_topics), np.ones(n_topics)
    )
    at_nodes = RNG.integers(0, n_nodes, n_topics)
    tracemalloc.start()
    found = dividing.at_nodes(flat.theta, at_nodes, n_nodes, np.float32)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    whole = np.zeros((n_nodes, n_docs))
    np.add.at(whole, at_nodes, flat.theta.T)
    np.testing.assert_array_equal(found, whole.T.astype(np.float32))
    assert found.nbytes <= peak < 1.5 * found.nbytes


@pytest.mark.parametrize("n_docs", [0, 1, summary.DOCS_AT_ONCE + 1, 6 * summary.DOCS_AT_ONCE])
def test_theta_is_written_some_documents_at_a_time(n_docs: int) -> None:
    """With the bits of all documents at once."""
    mixing = random_mixing(RNG, 60)
    n_di = RNG.gamma(0.3, size=(n_docs, 60)).astype(np.float32)
    words = summary.WordCounts(RNG.gamma(1.0, size=(5, 60)) + 1, 0.1)
    tracemalloc.start()
    found = summary.summarise(summary.NhdpSummaryInput(mixing, n_di, lambda: words))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    left = summary.pruning(mixing, n_di.sum(axis=0, dtype=np.float64))
    expected = left.mixing.weights(left.gather(n_di))
    assert found.theta.toarray().tobytes() == expected.tobytes()
    if n_docs > 2 * summary.DOCS_AT_ONCE:
        assert peak < 3 * expected.nbytes


def test_branches_are_clustered_without_a_copy_of_their_rows() -> None:
    rows = RNG.random((60, 40_000))
    branching.clusters(rows[:, :500], 5)  # compiled
    assert traced(lambda: branching.clusters(rows, 5))[1] < rows.nbytes / 8


def test_the_rows_of_factorisations_are_there_once(monkeypatch: pytest.MonkeyPatch) -> None:
    n_words = 20_000
    counts = sparse.random_array((50, n_words), density=0.01, rng=RNG, format="csr")
    counts.data = np.ceil(counts.data * 3)
    made = RNG.random((3 * 6, n_words))
    monkeypatch.setattr(branching, "factor_rows", lambda *args: made.copy())
    topics, peak = traced(lambda: branching.branch_topics(counts, 6))
    n_factorisations = 1 + branching.WHOLE.subsamples
    assert topics.shape == (6, n_words)
    assert peak < 1.5 * n_factorisations * made.nbytes


def test_topics_within_branches_take_the_memory_of_their_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From the topics of each branch to the first state; each document has words of two branches.

    Of all documents and topics, or of all topics and words, there is no array.
    """
    monkeypatch.setattr(patches, "ENTRIES_AT_ONCE", 1 << 14)
    for module in (first_topics, dividing):
        monkeypatch.setattr(module, "WORDS_AT_ONCE", 32)
    n_docs, n_parts, n_inside, n_own = 6_000, 20, 16, 100
    docs, n_words = np.arange(n_docs), n_parts * n_own
    branch = np.column_stack([docs % n_parts, (docs + 1 + docs // n_parts) % n_parts])
    words = branch * n_own + RNG.integers(0, n_own, branch.shape)
    entries = (np.ones(2 * n_docs), (np.repeat(docs, 2), words.ravel()))
    counts = sparse.csr_array(entries, shape=(n_docs, n_words))
    counts.sort_indices()
    parts = flat_starts.parts(counts.indices // n_own, counts)
    found = [
        (RNG.dirichlet(np.ones(n_inside), len(part.docs)), RNG.dirichlet(np.ones(n_own), n_inside))
        for part in parts
    ]
    data = lay_out(corpus_of(counts.toarray()), 1)
    settings = settings_of(variational, truncation=n_parts * n_inside)

    def arrange() -> Any:
        within = flat_starts.joined(parts, found, counts, seedwords.NONE)
        flat = first_topics.FlatTopics(within.theta, within.phi, np.ones(len(within.branch)))
        features = starts.Features(flat, counts)
        return flat, find_grouped(within.branch, np.arange(n_parts) % 6, features)

    def divide() -> Any:
        return dividing.divide(flat, arranged, data, settings.inference, np.float32)

    flat, arranged = arrange()
    divide()  # compiled
    (flat, arranged), peak = traced(arrange)
    assert peak < min(8 * n_docs, 8 * n_words) * len(flat.phi)
    division, peak = traced(divide)
    tables = (division.leaf_part, division.lent, division.inner_phi)
    assert peak < sum(table.nbytes for table in tables) + 8 * n_words * len(flat.phi)


def test_chances_of_words_are_made_some_words_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the bits of all words at once."""
    monkeypatch.setattr(variational, "ENTRIES_AT_ONCE", 1000)
    n_wk = RNG.gamma(0.2, size=(5000, 37)).astype(np.float32) - np.float32(0.01)
    found, peak = traced(lambda: variational._chances(n_wk, 0.1))
    expected = np.maximum(n_wk, 0, dtype=np.float64) + 0.1
    assert found.tobytes() == (expected / expected.sum(axis=0)).astype(np.float32).tobytes()
    assert peak < 1.5 * n_wk.nbytes


@pytest.mark.parametrize("kept", [0, 1 << 30], ids=["made", "kept"])
def test_counts_at_own_nodes_are_summarised_as_those_at_all_nodes(
    kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same bits, and beside theta with an index for each entry nothing large is made.

    Where theta is made when it is asked for, there is not even that.
    """
    monkeypatch.setattr(summary, "KEPT_ENTRIES", kept)
    mixing, n_docs = random_mixing(RNG, 60), 8 * summary.DOCS_AT_ONCE
    n_di = RNG.gamma(0.3, size=(n_docs, 60)).astype(np.float32)
    n_di[RNG.random(n_di.shape) < 0.9] = 0
    own = sparse.csr_array(n_di)
    words = summary.WordCounts(RNG.gamma(1.0, size=(5, 60)) + 1, 0.1)
    expected = summary.summarise(summary.NhdpSummaryInput(mixing, n_di, lambda: words))
    given = summary.NhdpSummaryInput(mixing, own, lambda: words)
    found, peak = traced(lambda: summary.summarise(given))
    assert isinstance(found.rows, MadeRows) == (kept == 0)
    assert peak < (1.9 if kept else 0.7) * expected.theta.data.nbytes
    assert found.theta.data.tobytes() == expected.theta.data.tobytes()
    assert found.theta.indices.tolist() == expected.theta.indices.tolist()
    assert found.tree.n_docs.tolist() == expected.tree.n_docs.tolist()
