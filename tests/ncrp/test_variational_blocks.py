"""The formulas of the updates themselves, on naive factors (theory/ncrp 3, T4, T5)."""

from __future__ import annotations

from dataclasses import replace

import naive_variational as naive
import numpy as np
import pytest
from naive_variational import Q
from scipy.special import logsumexp
from variational_cases import TREE

FAMILIES = [pytest.param(False, id="meanfield"), pytest.param(True, id="structured")]
BLOCKS = {
    "path": (naive.update_path, "chances"),
    "level": (naive.update_level, "resp"),
    "theta": (naive.update_theta, "tau"),
    "words": (naive.update_words, "lam"),
    "sticks": (naive.update_sticks, "ab"),
}


def start(seed: int, *, structured: bool) -> Q:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.0, (5, 6)).astype(float)
    return naive.random_q(rng, TREE, counts, np.array([2.0, 1.0, 1.5]), structured=structured)


@pytest.mark.parametrize("structured", FAMILIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_update_lowers_the_bound(seed: int, structured: bool) -> None:
    """T4: from a random start, 200 updates in random order."""
    q = start(seed, structured=structured)
    rng = np.random.default_rng(seed + 10)
    before = first = naive.elbo(q)
    for _ in range(200):
        q = naive.UPDATES[rng.integers(len(naive.UPDATES))](q)
        now = naive.elbo(q)
        assert now >= before - 1e-9 * abs(now)
        before = now
    assert before > first + 10


@pytest.mark.parametrize("structured", FAMILIES)
def test_sticks_that_forget_the_slot_of_the_parent_lower_the_bound(structured: bool) -> None:
    q = start(2, structured=structured)
    for _ in range(3):
        for update in naive.UPDATES:
            q = update(q)
    assert naive.elbo(naive.update_sticks(q, forget_slot=True)) < naive.elbo(q) - 1e-3


def test_levels_that_forget_what_lies_outside_lower_the_bound() -> None:
    """The mistake shows right after a correct update, while inner slots hold mass."""
    q = naive.update_level(start(3, structured=False))
    on = naive.log_words(q)
    inside = np.array([len(naive.path(q, node)) for node in range(len(TREE))])
    for node, n_levels in enumerate(inside):
        on[node, :, n_levels:] = 0.0  # e0 dropped
    weights = np.einsum("dn,nvl->dvl", q.chances, on) + naive.log_levels(q)[:, None, :]
    wrong = np.exp(weights - logsumexp(weights, axis=-1, keepdims=True))
    assert naive.elbo(replace(q, resp=wrong)) < naive.elbo(q) - 1e-3


def moved(q: Q, block: str, rng: np.random.Generator, size: float) -> Q:
    """Move one block along a random direction in log or softmax coordinates."""

    def positive(values: np.ndarray) -> np.ndarray:
        return values * np.exp(size * rng.standard_normal(values.shape))

    if block == "ab":
        return replace(q, a=positive(q.a), b=positive(q.b))
    values = positive(getattr(q, block))
    if block in ("chances", "resp"):
        values = values / values.sum(axis=-1, keepdims=True)
    return replace(q, **{block: values})  # type: ignore[arg-type]


def slope(q: Q, block: str, seed: int) -> float:
    """Return the central difference of the bound along a random direction."""
    step = 1e-4
    sides = [moved(q, block, np.random.default_rng(seed), sign * step) for sign in (1, -1)]
    return (naive.elbo(sides[0]) - naive.elbo(sides[1])) / (2 * step)


@pytest.mark.parametrize("structured", FAMILIES)
@pytest.mark.parametrize("block", BLOCKS)
def test_the_bound_is_flat_after_a_block_s_update_and_not_before(
    block: str, structured: bool
) -> None:
    """T5."""
    q = start(4, structured=structured)
    update, name = BLOCKS[block]
    before = max(abs(slope(q, name, seed)) for seed in range(3))
    after = max(abs(slope(update(q), name, seed)) for seed in range(3))
    assert before > 1e-2 and after < 1e-6
