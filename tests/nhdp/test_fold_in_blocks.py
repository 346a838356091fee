"""Shares of new documents are computed for many documents together, with the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.contract import Context, Workers
from hiertopics.families.nhdp import prediction
from hiertopics.families.nhdp.layout import Shape
from hiertopics.families.nhdp.mixing import Mixing, even

N_DOCS, N_WORDS = 30, 12


def test_shares_of_documents_together_are_those_of_each_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A call for each document took more time than the sweeps of a short one."""
    rng = np.random.default_rng(0)
    parent = np.array([0, *[0] * 9, *np.repeat(np.arange(1, 10), 17)], np.int32)
    first = np.searchsorted(parent[1:], np.arange(len(parent) + 1)) + 1
    shape = Shape(parent, first.astype(np.int64))
    mixing = even(shape, 2.0, 1.0, 3.0)
    phi = rng.dirichlet(np.ones(N_WORDS), shape.n_nodes).T.copy()
    counts = sparse.csr_array(rng.poisson(0.6, (N_DOCS, N_WORDS)))
    whole, n_calls = Mixing.weights, []

    def counted(self: Mixing, n: Any) -> Any:
        n_calls.append(len(n))
        return whole(self, n)

    monkeypatch.setattr(Mixing, "weights", counted)
    monkeypatch.setattr(prediction, "BLOCK", 8)
    monkeypatch.setattr(prediction, "REPORTED", 16)
    told: list[tuple[int, int]] = []
    context = Context(0, 0, Workers(), lambda *done: told.append(done))
    together, _ = prediction.fold_in(mixing, phi, counts, context)
    assert told == [(16, N_DOCS), (N_DOCS, N_DOCS)]
    assert n_calls == [1, 8, 8, 8, 6], "that of the start, then a call for each block"
    alone = [
        prediction.fold_in(mixing, phi, counts[[doc]], Context(0, 0, Workers()))[0]
        for doc in range(N_DOCS)
    ]
    assert np.concatenate(alone).tobytes() == together.tobytes()
    assert together.sum(axis=1) == pytest.approx(np.ones(N_DOCS))
