"""Hyperparameters that ``inference.hold`` names keep their values; the others are learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hdp_cases import random_corpus
from stepping import advance, at, begin, settings_of

from hiertopics.contract import registry
from hiertopics.contract.model import Sizes
from hiertopics.families.hdp import bursty_gibbs, bursty_partial, gibbs, partial
from hiertopics.families.hdp.variational import cvb0, few_cvb0, few_pcvb0, pcvb0
from hiertopics.papers.hdp_second_order_backends import cvb, pcvb

VALUES = {"alpha": 1.7, "eta": 0.13, "gamma": 2.3}
BACKENDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "hdp-cvb0": (cvb0, {"hyper_every": 1}),
    "hdp-cvb0:few": (few_cvb0, {"hyper_every": 1}),
    "hdp-cvb0, start: gibbs": (cvb0, {"hyper_every": 1, "start": "gibbs", "start_sweeps": 3}),
    "hdp-pcvb0": (pcvb0, {}),
    "hdp-pcvb0:few": (few_pcvb0, {}),
    "hdp-cvb": (cvb, {"hyper_every": 1}),
    "hdp-pcvb": (pcvb, {}),
    "hdp-gibbs": (gibbs.one, {}),
    "hdp-gibbs:bursts": (bursty_gibbs.one, {"bursts": "document"}),
    "hdp-gibbs:partial": (partial.one, {"start": "variational"}),
    "hdp-gibbs:partial, start: random": (partial.one, {"start": "random"}),
    "hdp-gibbs:partial:bursts": (bursty_partial.one, {"bursts": "document"}),
}


def learned(name: str, prior: str = "AS", **keys: Any) -> tuple[dict[str, float], Any]:
    """Return the hyperparameters after some iterations, and the state."""
    backend, own = BACKENDS[name]
    corpus = random_corpus(5, n_docs=25, n_words=30, largest=6)
    wanted = {"truncation": 6, "hyper_start": 0, "prior": prior, **VALUES, **own, **keys}
    settings = settings_of(backend, **wanted)
    state, data = begin(backend, corpus, settings)
    state = advance(backend, state, data, settings, 6)
    eta = state.word_mass / corpus.n_words
    return {"alpha": float(state.alpha), "eta": float(eta), "gamma": float(state.gamma)}, state


@pytest.mark.parametrize("hold", [("alpha",), ("eta",), ("gamma",), ("alpha", "eta", "gamma")])
@pytest.mark.parametrize("name", BACKENDS)
def test_what_is_held_keeps_its_value_and_the_rest_is_learned(
    name: str, hold: tuple[str, ...]
) -> None:
    found, state = learned(name, hold=hold)
    for key, value in VALUES.items():
        same = found[key] == pytest.approx(value, rel=1e-12)
        assert same == (key in hold), key
    if hasattr(state, "alpha_geo") and "alpha" in hold:
        assert state.alpha_geo == state.alpha


@pytest.mark.parametrize("name", ["hdp-cvb0", "hdp-pcvb0", "hdp-gibbs", "hdp-gibbs:partial"])
def test_the_words_shares_are_learned_where_their_sum_is_held(name: str) -> None:
    found, state = learned(name, "AA", hold=("eta",))
    assert found["eta"] == pytest.approx(VALUES["eta"], rel=1e-12)
    assert np.ptp(state.tau) > 1e-3


def test_what_is_held_is_not_drawn_from_its_prior() -> None:
    settings = settings_of(gibbs, hold=("eta", "gamma"))
    drawn = gibbs.draw_hyperparameters(settings, Sizes(4, 5, 6), at(0))
    assert set(drawn) == {"alpha"}


def test_every_backend_of_the_hdp_has_the_key() -> None:
    named = [name for name in registry.BACKENDS if name.startswith("hdp-")]
    assert len(named) == 5
    for name in named:
        inference: Any = registry.load(name).Inference()
        assert inference.hold == ()
