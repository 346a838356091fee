"""hdp-gibbs with bursty documents keeps the joint distribution, and the test can tell."""

from __future__ import annotations

import math
from typing import Any

import pytest
from bursty_geweke import joint_test
from nights import by_night

from hiertopics.families.flat import sampler_kernels, seats
from hiertopics.numeric.pitman_yor import PitmanYor, log_stirling
from hiertopics.numeric.priors import GammaPrior

FEW_TOKENS = GammaPrior(1.0, 0.3)
"""The prior of the concentration under which documents of some tokens repeat words."""

sweep_block: Any = sampler_kernels.sweep_block_by_lists


@pytest.mark.slow
@pytest.mark.parametrize("sweep", ["sparse", *by_night("dense")])
def test_prior_draws_stay_prior_draws(sweep: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Process, concentrations, tables, topics and words after ten rounds are as before."""
    monkeypatch.setattr(seats, "BURST_PRIOR", FEW_TOKENS)
    outcome = joint_test(n_replicates=1000, n_rounds=10, sweep=sweep)
    assert outcome.largest_z < 4.0, outcome
    assert outcome.smallest_p > 1e-3, outcome


def without_tables(*arguments: Any) -> int:
    """Sweep with b in place of b + a T."""
    *others, rng, how, held, other = arguments
    return int(sweep_block(*others, rng, how._replace(discount=0.0), held, other))


def without_discount(*arguments: Any) -> int:
    """Sweep with Stirling numbers of no discount."""
    *others, rng, how, held, other = arguments
    plain = log_stirling(range(1, 8), 0.0)
    return int(sweep_block(*others, rng, how._replace(stirling=plain), held, other))


def even_logits(odds: float) -> float:
    """Forget that odds are a change of variable."""
    return 0.0


log_chance = seats.log_chance


def without_seatings(process: PitmanYor, seated: Any, *others: Any) -> float:
    """Draw the process by numbers of tables alone."""
    return log_chance(process, seated._replace(pairs=0 * seated.pairs), *others)


MUTANTS = {
    "b for b + a T": (sampler_kernels, "sweep_block_by_lists", without_tables),
    "no discount in S": (sampler_kernels, "sweep_block_by_lists", without_discount),
    "odds of an even discount": (math, "log1p", even_logits),
    "process without S": (seats, "log_chance", without_seatings),
}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("where", "name", "wrong"), MUTANTS.values(), ids=MUTANTS)
def test_mutants_are_rejected(
    where: Any, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: with one term wrong, fewer replicates reject it."""
    monkeypatch.setattr(seats, "BURST_PRIOR", FEW_TOKENS)
    monkeypatch.setattr(where, name, wrong)
    outcome = joint_test(n_replicates=600, n_rounds=10)
    assert outcome.largest_z > 6.0, outcome
