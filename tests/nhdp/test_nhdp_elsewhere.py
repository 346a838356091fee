"""Starts under an engine elsewhere: few orders, and the state that one process begins with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from stepping import begin, corpus_of, settings_of
from test_nhdp_planted import planted

from hiertopics.contract.engine import LocalPieces, Workers
from hiertopics.contract.states import to_arrays
from hiertopics.families.nhdp import gibbs, shape_trials, starts, variational

N_SHARDS = 3


class Counted(LocalPieces[Any, Any]):
    """Pieces elsewhere: of every order their engine is told."""

    def ask(self, task: Callable[[Any, Any, Any], Any], message: Any) -> list[Any]:
        assert isinstance(self._engine, Elsewhere)
        self._engine.n_orders += 1
        return super().ask(task, message)


class Elsewhere(Workers):
    """An engine that counts the orders that travel to its pieces and back."""

    def __init__(self) -> None:
        super().__init__()
        self.n_orders = 0
        self._near = Workers()

    @property
    def here(self) -> Workers:
        return self._near

    def place(
        self,
        build: Callable[[Any], Any],
        parts: Sequence[Any],
        begin: Callable[[Any, Any], Any],
        message: Any,
    ) -> Counted:
        placed = super().place(build, parts, begin, message)
        self.n_orders += 1
        return Counted(self, placed._pieces, placed._states)


@pytest.mark.slow
@pytest.mark.parametrize("trials", [0, 3])
@pytest.mark.parametrize("backend", [variational, gibbs])
def test_a_start_elsewhere_takes_few_orders_and_changes_no_bit(
    backend: Any, trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An order costs tens of milliseconds on a cluster; sweeps of the start are hundreds."""
    reshaped = []

    def better(*arguments: Any) -> float:
        reshaped.append(True)
        return float(len(reshaped) % 2)  # asked after the trial, then before it

    monkeypatch.setattr(shape_trials, "completion", better)
    text = planted(0, [-1, *[0] * 3, *[1] * 3]).corpus
    keys = {"truncation": 12, "start_iterations": 20, "trials": trials, "shards": N_SHARDS}
    settings, engine = settings_of(backend, **keys), Elsewhere()
    there, data = begin(backend, text, settings, workers=engine)
    here, _ = begin(backend, text, settings)
    assert bool(reshaped) == bool(trials)
    _require_same(there, here)
    assert isinstance(there.local, Counted)
    # The pieces are placed, words counted turn by turn and totals asked for.
    assert engine.n_orders <= 1 + N_SHARDS + 1


@pytest.mark.slow
def test_documents_that_the_flat_topics_did_not_see_begin_where_they_live(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = corpus_of(np.random.default_rng(0).poisson(0.8, (20, 15)))
    settings = settings_of(gibbs, truncation=5, start_iterations=4, shards=N_SHARDS)
    monkeypatch.setattr(starts, "ROOM", 5 * 60)
    engine = Elsewhere()
    there, _ = begin(gibbs, text, settings, workers=engine)
    here, _ = begin(gibbs, text, settings)
    assert engine.n_orders > settings.inference.variational_sweeps
    _require_same(there, here)


def _require_same(one: Any, other: Any) -> None:
    found, wanted = to_arrays(one), to_arrays(other)
    assert found.keys() == wanted.keys()
    for name, array in found.items():
        assert np.array_equal(array, wanted[name]), name
