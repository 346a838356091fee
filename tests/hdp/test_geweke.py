"""hdp-gibbs keeps the joint distribution, and the test notices where it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hdp_geweke import joint_test
from nights import by_night

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.families.flat import sampler_kernels, sticks
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.hdp import gibbs, gibbs_kernels
from hiertopics.numeric.priors import GammaPrior


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["AS", *by_night("AA")])
def test_prior_draws_stay_prior_draws(prior: str) -> None:
    """Concentrations, sticks, topics and words after ten rounds are as they were before."""
    outcome = joint_test(prior, n_replicates=600, n_rounds=10)
    assert outcome.largest_z < 4.0, outcome
    assert outcome.smallest_p > 1e-3, outcome


def without_successes(
    value: float, n_tables: int, sizes: I64, prior: GammaPrior, rng: np.random.Generator
) -> float:
    """Draw a concentration as ``gibbs`` does, but forget to take the successes off the shape."""
    log_eta = np.log(rng.beta(value + 1.0, sizes[sizes > 0]))
    return prior.posterior(n_tables, -log_eta.sum()).draw(rng)


def one_table_each(
    counts: I32,
    row_prior: F64,
    column_prior: F64,
    by_row: I64,
    by_column: I64,
    rng: np.random.Generator,
) -> None:
    """Give every occupied cell a single table, which is what PCVB0 assumes."""
    by_row += (counts > 0).sum(axis=1)
    by_column += (counts > 0).sum(axis=0)


sweep_block: Any = sampler_kernels.sweep_block_by_lists


def half_the_word_total(*arguments: Any) -> int:
    """Sweep with half of the word prior missing from the denominators."""
    *others, prior, rng = arguments
    wrong = PseudoCounts(prior.doc, prior.word, prior.word_total / 2)
    return int(sweep_block(*others, wrong, rng))


def shifted_doc_prior(*arguments: Any) -> int:
    """Sweep with a document prior that is off by a constant."""
    *others, prior, rng = arguments
    return int(
        sweep_block(*others, PseudoCounts(prior.doc + 0.05, prior.word, prior.word_total), rng)
    )


def by_size(log_weight: float, *_: Any) -> float:
    """Order all sticks by size, as if there were infinitely many: the last one is not special."""
    return -log_weight


def small_weights_first(log_rates: F64, log_end: float, rng: np.random.Generator) -> F64:
    """Let weights arrive in the order opposite to theirs."""
    return -log_arrivals(log_rates, log_end, rng)


log_arrivals = sticks._log_arrivals

MUTANTS = {
    "no prior rate": (gibbs, "CONCENTRATION_PRIOR", GammaPrior(1.0, 0.0)),
    "no successes": (gibbs, "draw_concentration", without_successes),
    "one table each": (gibbs_kernels, "draw_tables", one_table_each),
    "half the word total": (sampler_kernels, "sweep_block_by_lists", half_the_word_total),
    "document prior off": (sampler_kernels, "sweep_block_by_lists", shifted_doc_prior),
    "last stick like the others": (sticks, "_log_density_of_last", by_size),
    "small weights first": (sticks, "_log_arrivals", small_weights_first),
}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("where", "name", "wrong"), MUTANTS.values(), ids=MUTANTS)
def test_mutants_are_rejected(
    where: Any, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: with one term wrong, a third of the replicates reject it."""
    assert hasattr(where, name)
    monkeypatch.setattr(where, name, wrong)
    assert joint_test("AS", n_replicates=400, n_rounds=10).largest_z > 6.0
