"""chdp-gibbs keeps the joint distribution, and the test notices where it does not.

Source: theory/chdp 8.6.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from chdp_geweke import joint_test
from nights import daily

from hiertopics.families.chdp import gibbs, gibbs_kernels, maximum_kernels
from hiertopics.families.flat import sampler_kernels
from hiertopics.numeric.priors import GammaPrior

SAMPLERS: dict[str, dict[str, Any]] = {
    "superposition": {},
    "learned mixing weights": {"weights": "learned"},
    "maximization": {"cooperation": "maximization"},
    "restaurant of superposition": {"sampler": "irp"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", daily(SAMPLERS, "learned mixing weights", "maximization"))
def test_prior_draws_stay_prior_draws(name: str) -> None:
    """Concentrations, weights, topics and words after six rounds are as they were before.

    Superposition is started at the truth each day, and its restaurant compared with enumeration.
    """
    outcome = joint_test(n_replicates=600, n_rounds=6, seed=1, **SAMPLERS[name])
    assert outcome.largest_z < 4.0, outcome
    assert outcome.smallest_p > 1e-3, outcome


def all_to_the_first(m_dk: Any, parents: Any, weights: Any, totals: Any, *others: Any) -> None:
    """Split no table: the first parent has them all."""
    for doc in range(len(m_dk)):
        if parents.ptr[doc] < parents.ptr[doc + 1]:
            totals[parents.group[parents.ptr[doc]]] += m_dk[doc]
            others[0][parents.ptr[doc]] += m_dk[doc].sum()


def one_option_each(tables: Any, prior: Any, by_topic: Any, rng: Any) -> None:
    """Give each group one option per topic, however many tables there are."""
    by_topic += (tables > 0).sum(axis=0)


def no_rates(m_dk: Any, totals: Any, rng: Any) -> Any:
    """Leave the normaliser of maximization out."""
    return np.zeros(len(m_dk))


sweep_block: Any = sampler_kernels.sweep_block_by_lists


def half_the_word_total(*arguments: Any) -> int:
    """Sweep with half of the word prior missing from the denominators."""
    *others, prior, rng = arguments
    wrong = prior._replace(word_total=prior.word_total / 2)
    return int(sweep_block(*others, wrong, rng))


MUTANTS = {
    "half the word total": (
        sampler_kernels,
        "sweep_block_by_lists",
        half_the_word_total,
        "superposition",
    ),
    "tables all to one parent": (
        gibbs_kernels,
        "split_tables",
        all_to_the_first,
        "learned mixing weights",
    ),
    "one option each": (gibbs_kernels, "draw_options", one_option_each, "superposition"),
    "no normaliser": (maximum_kernels, "draw_rates", no_rates, "maximization"),
    "no prior rate": (gibbs, "CONCENTRATION_PRIOR", GammaPrior(1.0, 0.0), "maximization"),
}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("where", "name", "wrong", "sampler"), MUTANTS.values(), ids=MUTANTS)
def test_mutants_are_rejected(
    where: ModuleType, name: str, wrong: Any, sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: with one term wrong, as many replicates reject it."""
    assert hasattr(where, name)
    monkeypatch.setattr(where, name, wrong)
    assert joint_test(n_replicates=600, n_rounds=8, **SAMPLERS[sampler]).largest_z > 5.0
