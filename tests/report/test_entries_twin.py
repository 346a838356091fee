"""The shares and topics that a page keeps are those of a whole sort, which takes longer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy import sparse

from hiertopics.views.report.documents import (
    SMALLEST,
    UNIT,
    ShareEntries,
    Shares,
    _contents,
    _entries_of_block,
    leading,
)

N_DOCS, N_PLACES, N_WORDS = 30, 40, 25


def shares_with(seed: int) -> sparse.csr_array:
    """Return shares with ties, documents of small shares alone, and documents without any."""
    rng = np.random.default_rng(seed)
    dense = rng.choice([0, 1e-6, 2e-6, 0.1, 0.25, 0.3], size=(N_DOCS, N_PLACES))
    dense[:3] = rng.choice([0, 1e-6, 2e-6], size=(3, N_PLACES))
    dense[3] = 0
    return sparse.csr_array(dense)


@pytest.mark.parametrize("most", [1, 4, 100])
def test_kept_shares_are_the_first_ones_of_each_document(most: int) -> None:
    for seed in range(5):
        own = shares_with(seed)
        found = _entries_of_block(own, most)
        wanted: list[tuple[int, int, int]] = []
        for doc in range(N_DOCS):
            row = own[[doc]]
            ranked = sorted(zip(-row.data, row.indices, strict=True))
            whole = [(int(np.rint(-UNIT * share)), int(place)) for share, place in ranked]
            kept = [
                (place, max(value, 1))
                for rank, (value, place) in enumerate(whole)
                if rank == 0 or (rank < most and value >= SMALLEST)
            ]
            wanted += [(doc, *pair) for pair in sorted(kept)]
        docs = np.repeat(np.arange(N_DOCS), found.n)
        assert (
            list(zip(docs.tolist(), found.place.tolist(), found.share.tolist(), strict=True))
            == wanted
        )


@pytest.mark.parametrize("n_docs", [1, 5, N_DOCS])
def test_leading_documents_are_the_first_ones_of_some_node(n_docs: int) -> None:
    own = shares_with(7)
    shares = Shares(own, sparse.csr_array(np.eye(N_PLACES)), np.zeros(N_DOCS, np.int64))
    dense, wanted = own.toarray(), set()
    for place in range(N_PLACES):
        has = np.flatnonzero(dense[:, place])
        wanted |= {*has[np.argsort(-dense[has, place].round(9), kind="stable")[:n_docs]].tolist()}
    assert set(leading(shares, n_docs).tolist()) == wanted


def test_a_word_is_of_the_first_of_its_likeliest_topics() -> None:
    rng = np.random.default_rng(3)
    phi = rng.choice([0.0, 0.1, 0.2], size=(N_PLACES, N_WORDS))
    counts = sparse.csr_array(rng.integers(3, size=(6, N_WORDS)))
    n = np.array([3, 0, 5, 1, 2, 40])
    place = np.concatenate([np.sort(rng.choice(N_PLACES, size, replace=False)) for size in n])
    entries = ShareEntries(n, place, rng.integers(1, 4, size=len(place)))
    first = np.concatenate([[0], np.cumsum(n)])
    tree, layout = SimpleNamespace(phi=phi), SimpleNamespace(rows=np.arange(N_PLACES))
    docs = np.arange(6)
    found = _contents(counts, docs, entries, first, cast(Any, tree), cast(Any, layout))
    wanted = []
    for doc in docs:
        own = slice(first[doc], first[doc + 1])
        for word in counts[[doc]].indices:
            scores = phi[entries.place[own], word] * entries.share[own]
            wanted.append(int(scores.argmax()) if len(scores) else 0)
    assert found.topic.tolist() == wanted
    none = _contents(counts[[1]], docs[1:2], entries, first, cast(Any, tree), cast(Any, layout))
    assert not none.topic.any()
