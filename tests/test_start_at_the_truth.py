"""Every sampler, started at the simulated truth, keeps the law of the model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from nights import by_night, daily
from truth import CASES, start_at_truth

from hiertopics.contract import registry
from hiertopics.families.tssb import stick_kernels, text, text_kernels, trees

REPLICATES, STEPS = 300, 4
LARGEST_Z, SMALLEST_P = 4.2, 3e-4
"""For some 140 z scores and 40 p values of chains that are right, a false alarm in fifty seeds."""


def test_cases_are_of_samplers_that_simulate_their_hyperparameters() -> None:
    """A backend without a case is proven elsewhere, or not yet: this file asks none of it."""
    for case in CASES.values():
        backend = registry.load(case.backend)
        assert backend.sampler and backend.draw_hyperparameters is not None


EACH_DAY = (
    "hdp-gibbs",
    "hdp-gibbs partial",
    "lda-gibbs asymmetric",
    "hlda-gibbs",
    "nhdp-gibbs",
    "chdp-gibbs superposition",
    "tssb-mcmc text",
)
"""One case of each sampler; the others are like them in all but a prior or a likelihood."""


@pytest.mark.slow
@pytest.mark.parametrize("name", daily(CASES, *EACH_DAY))
def test_the_law_of_the_state_stays(name: str) -> None:
    outcome = start_at_truth(CASES[name], n_replicates=REPLICATES, n_steps=STEPS)
    assert outcome.largest_z < LARGEST_Z, outcome.z_scores
    assert outcome.smallest_p > SMALLEST_P, outcome.p_values


def sticks_drawn_as_if_ordered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sticks before the reordering that belong to children at their positions."""
    kernels = SimpleNamespace(**vars(stick_kernels))

    def ordered(nodes: Any, process: Any, rng: np.random.Generator, _: bool) -> None:
        trees_kernels_draw(nodes, process, rng, True)

    trees_kernels_draw = stick_kernels.draw_sticks
    kernels.draw_sticks = ordered
    monkeypatch.setattr(trees, "kernels", kernels)


def own_counts_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token of a document that is alone at its node does not see the document's other tokens."""
    kernels = SimpleNamespace(**vars(text_kernels))

    def base(nodes: Any, kappa: float) -> tuple[Any, Any]:
        rows, alone = text_kernels.token_base(nodes, kappa)
        return rows, np.zeros_like(alone)

    kernels.token_base = base
    monkeypatch.setattr(text, "text_kernels", kernels)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [own_counts_not_seen, *by_night(sticks_drawn_as_if_ordered)])
def test_a_wrong_step_is_rejected(monkeypatch: pytest.MonkeyPatch, wrong: Any) -> None:
    """The test above can fail: by mistakes that tests of the pieces do not see."""
    wrong(monkeypatch)
    outcome = start_at_truth(CASES["tssb-mcmc text"], n_replicates=REPLICATES, n_steps=STEPS)
    assert outcome.largest_z > 1.2 * LARGEST_Z or outcome.smallest_p < SMALLEST_P / 10, outcome
