"""tssb-mcmc keeps the joint distribution, and the test notices where it does not (T7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nights import by_night
from tssb_geweke import N_TOPICS, joint_test

from hiertopics.families.tssb import (
    binary,
    stick_kernels,
    text,
    text_kernels,
    urn_kernels,
)
from hiertopics.families.tssb.binary_kernels import Diffusion
from hiertopics.families.tssb.mcmc import sampler
from hiertopics.families.tssb.state import before

Patch = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.slow
@pytest.mark.parametrize("settle_every", [*by_night(0), 2], ids=["never settling", "settling"])
@pytest.mark.parametrize("likelihood", ["text", "binary"])
def test_prior_draws_stay_prior_draws(likelihood: str, settle_every: int) -> None:
    """Process, sticks, positions, parameters, topics and data after six rounds are as before."""
    outcome = joint_test(likelihood, n_replicates=500, seed=2, settle_every=settle_every)
    assert outcome.largest_z < 4.0, outcome
    assert outcome.smallest_p > 1e-3, outcome


def psi_of_positions_where_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    draw_sticks = stick_kernels.draw_sticks
    monkeypatch.setattr(
        stick_kernels,
        "draw_sticks",
        lambda nodes, process, rng, ordered: draw_sticks(nodes, process, rng, True),
    )


def another_gamma_of_the_urn(monkeypatch: pytest.MonkeyPatch) -> None:
    resettle = urn_kernels.resettle

    def wrong(features: Any, home: Any, nodes: Any, process: Any, *others: Any) -> Any:
        return resettle(features, home, nodes, process._replace(gamma=9 * process.gamma), *others)

    monkeypatch.setattr(urn_kernels, "resettle", wrong)


def counts_of_lone_documents_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    token_base = text_kernels.token_base

    def wrong(nodes: Any, kappa: float) -> Any:
        base, alone = token_base(nodes, kappa)
        return base, np.zeros_like(alone)

    monkeypatch.setattr(text_kernels, "token_base", wrong)


def shares_of_lone_documents_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    token_base = text_kernels.token_base

    def wrong(nodes: Any, kappa: float) -> Any:
        base, alone = token_base(nodes, kappa)
        return np.exp(nodes.value[: len(base)]).astype(np.float32), alone

    monkeypatch.setattr(text_kernels, "token_base", wrong)


def tokens_ignore_their_node(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = text_kernels.sweep

    def wrong(words: Any, topics: Any, base: Any, node: Any, mixing: Any, *others: Any) -> Any:
        flat, first = np.ones((1, N_TOPICS), np.float32), np.zeros_like(node)
        return sweep(words, topics, flat, first, np.zeros_like(mixing), *others)

    monkeypatch.setattr(text_kernels, "sweep", wrong)


def kappa_ignores_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(nodes: Any, counts: Any, kappa: float, bounds: Any, share: float, rng: Any) -> float:
        tables = text_kernels.seat_tables(nodes, counts, kappa, rng)
        text_kernels.draw_weights(nodes, counts, kappa, kappa * share, rng)
        return float(text_kernels.draw_kappa(kappa, bounds, share, counts, 0 * tables, rng))

    monkeypatch.setattr(text_kernels, "draw_shares", wrong)


def root_too_weak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "ROOT_SHARE", 0.2)


def rows_four_times(monkeypatch: pytest.MonkeyPatch) -> None:
    family_of = binary.family_of

    def wrong(*arguments: Any) -> Any:
        family = family_of(*arguments)
        return family._replace(n_at=4 * family.n_at, sums=4 * family.sums)

    monkeypatch.setattr(binary, "family_of", wrong)


def children_pushed_away(monkeypatch: pytest.MonkeyPatch) -> None:
    family_of = binary.family_of

    def wrong(*arguments: Any) -> Any:
        family = family_of(*arguments)
        return family._replace(persistence=-family.persistence)

    monkeypatch.setattr(binary, "family_of", wrong)


def judge_by(monkeypatch: pytest.MonkeyPatch, **parts: Any) -> None:
    """Put a likelihood in the place of that of rows that differs in these parts."""
    _, several = sampler(replace(binary.likelihood, **parts), before)
    monkeypatch.setattr(binary, "backend", several)


def births_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    law = binary.law

    def wrong(*arguments: Any) -> Diffusion:
        right = law(*arguments)
        return right._replace(scale=2.0 * right.scale)

    judge_by(monkeypatch, law=wrong)


def stale_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    update = binary.update

    def wrong(chain: Any, *others: Any) -> Any:
        before = chain.nodes.offset.copy()
        after = update(chain, *others)
        after.nodes.offset[:] = before
        return after

    judge_by(monkeypatch, update=wrong)


MUTANTS: dict[str, tuple[str, Patch]] = {
    "psi of positions where there are none": ("text", psi_of_positions_where_there_are_none),
    "another gamma of the urn": ("text", another_gamma_of_the_urn),
    "counts of lone documents unseen": ("text", counts_of_lone_documents_unseen),
    "shares of lone documents twice": ("text", shares_of_lone_documents_twice),
    "tokens ignore their node": ("text", tokens_ignore_their_node),
    "kappa ignores the tables": ("text", kappa_ignores_the_tables),
    "root too weak": ("text", root_too_weak),
    "rows four times": ("binary", rows_four_times),
    "children pushed away": ("binary", children_pushed_away),
    "births too wide": ("binary", births_too_wide),
    "stale offsets": ("binary", stale_offsets),
}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("likelihood", "patch"), MUTANTS.values(), ids=MUTANTS)
def test_mutants_are_rejected(
    likelihood: str, patch: Patch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above can fail: with one thing wrong, fewer replicates reject it."""
    patch(monkeypatch)
    outcome = joint_test(likelihood, n_replicates=300, n_rounds=12, settle_every=1)
    assert outcome.largest_z > 5.0 or outcome.smallest_p < 1e-6, outcome
