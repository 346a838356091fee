"""hlda-gibbs as a whole keeps the joint distribution, and the test notices where it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ncrp_geweke import joint_test
from nights import daily

from hiertopics.families.ncrp.sampler import backend as gibbs, hyperparameters, partial
from hiertopics.numeric.priors import GammaPrior

Patch = Callable[[pytest.MonkeyPatch], None]

SAMPLERS: dict[str, dict[str, Any]] = {
    "sweeps": {"leap_every": 0, "graft_every": 0},
    "sweeps, leaps and grafts": {"leap_every": 2, "graft_every": 1},
    "partially collapsed": {"collapse": "partial", "leap_every": 0, "graft_every": 0},
    "partially collapsed, three shards": {
        "collapse": "partial",
        "shards": 3,
        "leap_every": 3,
        "graft_every": 2,
    },
}


EACH_DAY = ("sweeps, leaps and grafts", "partially collapsed, three shards")
"""They make all moves of the others, too."""


@pytest.mark.slow
@pytest.mark.parametrize("name", daily(SAMPLERS, *EACH_DAY))
def test_prior_draws_stay_prior_draws(name: str) -> None:
    """Hyperparameters, paths, levels and words after six rounds are as they were before."""
    outcome = joint_test(n_replicates=300, seed=1, **SAMPLERS[name])
    assert outcome.largest_z < 4.0, outcome
    assert outcome.smallest_p > 1e-3, outcome


def under(name: str, where: Any = gibbs, **factors: float) -> Patch:
    """Return a patch: a move of the step is made under hyperparameters times factors."""

    def patch(monkeypatch: pytest.MonkeyPatch) -> None:
        move = getattr(where, name)

        def wrong(data: Any, chain: Any, prior: Any, *others: Any) -> Any:
            changed = {key: factor * getattr(prior, key) for key, factor in factors.items()}
            return move(data, chain, prior._replace(**changed), *others)

        monkeypatch.setattr(where, name, wrong)

    return patch


def rate(name: str, value: float) -> Patch:
    """Return a patch: another rate of a prior."""
    return lambda monkeypatch: monkeypatch.setattr(hyperparameters, name, GammaPrior(1.0, value))


def gamma_of_leaves_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gamma as if each leaf were a restaurant of one branch more."""
    draw_gamma = hyperparameters.draw_gamma

    def wrong(chain: Any, *others: Any) -> float:
        first = chain.first.copy()
        first[-2] = first[-1]
        return draw_gamma(chain._replace(first=first), *others)

    monkeypatch.setattr(hyperparameters, "draw_gamma", wrong)


FULL, MOVES, PARTIAL, _ = SAMPLERS
MUTANTS: dict[str, tuple[str, Patch]] = {
    "sweeps under another gamma": (FULL, under("sweep", gamma=4.0)),
    "sweeps under another eta": (FULL, under("sweep", eta=3.0)),
    "leaps under another gamma": (MOVES, under("leap", gamma=9.0)),
    "grafts under another gamma": (MOVES, under("graft", gamma=100.0)),
    "partial sweeps under another eta": (PARTIAL, under("sweep", partial, eta=3.0)),
    "gamma of leaves too": (FULL, gamma_of_leaves_too),
    "another rate of gamma and eta": (FULL, rate("CONCENTRATION_PRIOR", 0.5)),
    "another rate of levels": (FULL, rate("LEVEL_PRIOR", 0.3)),
}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("sampler", "patch"), MUTANTS.values(), ids=MUTANTS)
def test_mutants_are_rejected(sampler: str, patch: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: with one thing wrong, fewer replicates reject it."""
    patch(monkeypatch)
    outcome = joint_test(n_replicates=300, **SAMPLERS[sampler])
    assert outcome.largest_z > 5.0 or outcome.smallest_p < 1e-6, outcome
