"""Memory of the start: it frees each array after the last use."""

from __future__ import annotations

import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest
from nhdp_cases import random_mixing
from stepping import at, corpus_of, settings_of

from hiertopics.families.flat.layout import lay_out
from hiertopics.families.flat.summary import document_weights
from hiertopics.families.nhdp import flat_starts, starts, summary, variational

RNG = np.random.default_rng(0)
CORPUS = corpus_of(RNG.poisson(0.3, (80, 60)))


@pytest.mark.parametrize("responsibilities", ["all", "few"])
def test_responsibilities_are_gone_before_theta_is_made(
    responsibilities: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the caller keeps the first state."""
    settings = settings_of(variational, truncation=6, responsibilities=responsibilities)
    data = lay_out(CORPUS, 2)
    order = starts.order_of(6, len(data.cells.word), settings.inference, bursty=False)
    begun = starts.begin_flat(data, settings, order, at(0), np.float32)
    left: list[Any] = []

    def weights(*args: Any) -> Any:
        left.extend(begun.local.state_of(piece) for piece in range(2))
        return document_weights(*args)

    monkeypatch.setattr(starts, "document_weights", weights)
    starts.fit_flat(begun, data, 3, order, at(0))
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
    watched(starts, "known", "joined", None)
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
    flat = starts.FlatTopics(
        RNG.random((n_docs, n_topics)), RNG.dirichlet(np.ones(5), n_topics), np.ones(n_topics)
    )
    at_nodes = RNG.integers(0, n_nodes, n_topics)
    tracemalloc.start()
    found = starts.at_nodes(flat.theta, at_nodes, n_nodes, np.float32)
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
    words = summary.Words(RNG.gamma(1.0, size=(5, 60)) + 1, 0.1)
    tracemalloc.start()
    found = summary.summarise(summary.SummaryInput(mixing, n_di, words))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    left = summary.pruning(mixing, n_di.sum(axis=0, dtype=np.float64))
    expected = left.mixing.weights(left.gather(n_di))
    assert found.theta.toarray().tobytes() == expected.tobytes()
    if n_docs > 2 * summary.DOCS_AT_ONCE:
        assert peak < 3 * expected.nbytes
