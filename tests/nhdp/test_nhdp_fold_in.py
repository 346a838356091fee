"""The tiny document against its enumerated posterior, through fold-in and through training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from naive_nhdp import PHI, T5, assignments, counts, fold_in
from nhdp_cases import (
    held_topics,
    mixing_of,
    n_di_of,
    random_resp,
    resp_of,
    state_of,
    swept,
    tiny_corpus,
    tiny_document,
    tiny_tree,
)
from stepping import at, corpus_of

from hiertopics.families.nhdp.prediction import infer

NEXT = np.array([0.416263, 0.300710, 0.283027])
AFTER_ONE_SWEEP = np.array([0.404225, 0.301828, 0.293947])
FIRST = np.array([0.296003, 0.367738, 0.062784, 0.090712, 0.182762])
WRONG = {
    "the token stays above": [0.419635, 0.300064, 0.280300],
    "the whole pair is taken out": [0.393653, 0.308613, 0.297734],
}


def test_the_enumerated_posterior_of_the_tiny_document() -> None:
    """T3: the slow model and the figures of the page are one."""
    words = (0, 0, 1, 2)
    weights, following, first = [], [], []
    for z in assignments(4, 5):
        n = counts(z, 5)
        chance = np.exp(T5.log_chance(n)) * np.prod(PHI[list(z), list(words)])
        weights.append(chance)
        following.append(T5.theta(n, T5.at_or_below(n)) @ PHI)
        first.append(np.eye(5)[z[0]])
    total = sum(weights)
    mean = np.array(weights) / total
    assert np.log(total) == pytest.approx(-4.59119221, abs=1e-8)
    assert mean @ following == pytest.approx([0.40765849, 0.30472570, 0.28761581], abs=1e-8)
    assert mean @ first == pytest.approx(
        [0.317166, 0.352311, 0.080824, 0.100009, 0.149690], abs=1e-6
    )


@pytest.mark.parametrize("start", [None, *range(5)])
def test_the_slow_sweep_ends_where_the_page_says(start: int | None) -> None:
    """T3: from any start."""
    begun = None if start is None else random_resp(np.random.default_rng(start), 3, 5)
    r, following = fold_in(T5, 300, begun)
    assert r[0] == pytest.approx(FIRST, abs=1e-6)
    assert following == pytest.approx(NEXT, abs=1e-6)


def test_fold_in_ends_where_the_page_says() -> None:
    """T3: to the tolerance at which it stops."""
    theta = infer(tiny_tree(), tiny_corpus(), None, at(0)).theta.toarray()  # type: ignore[arg-type]
    assert (theta @ PHI)[0] == pytest.approx(NEXT, abs=5e-5)


def test_fold_in_after_one_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """T3."""
    monkeypatch.setattr("hiertopics.families.nhdp.prediction.SWEEPS", 1)
    theta = infer(tiny_tree(), tiny_corpus(), None, at(0)).theta.toarray()  # type: ignore[arg-type]
    assert (theta @ PHI)[0] == pytest.approx(AFTER_ONE_SWEEP, abs=1e-6)
    assert fold_in(T5, 1)[1] == pytest.approx(AFTER_ONE_SWEEP, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_training_ends_where_the_page_says(seed: int) -> None:
    """T3: topics held by very many tokens, the training kernel is the fold-in."""
    data = tiny_document()
    state = state_of(mixing_of(T5), data, random_resp(np.random.default_rng(seed), 3, 5))
    held_topics(state)
    swept(state, data, 300, eta=1e-12)
    assert resp_of(state, data)[0] == pytest.approx(FIRST, abs=2e-6)
    theta = mixing_of(T5).weights(n_di_of(state))
    assert (theta @ PHI)[0] == pytest.approx(NEXT, abs=2e-6)


@pytest.mark.parametrize(("wrong", "ends_at"), WRONG.items(), ids=WRONG)
def test_wrong_ways_to_take_a_token_out_end_elsewhere(wrong: str, ends_at: list[float]) -> None:
    """Wrong variants a and g: their figures, and that the tests above tell them apart."""
    _, following = fold_in(replace(T5, wrong=wrong), 300)
    assert following == pytest.approx(ends_at, abs=2e-6)
    assert np.abs(following - NEXT).max() > 1e-3


def test_all_who_pass_are_no_customers() -> None:
    """Wrong variant b: chances then do not sum to one."""
    _, following = fold_in(replace(T5, wrong="customers are all who pass"), 300)
    assert following.sum() == pytest.approx(0.742, abs=5e-4)
    assert following[0] == pytest.approx(0.293144, abs=2e-6)


@pytest.mark.parametrize(
    ("wrong", "total"), [("leaves stop by a quarter", 0.801), ("leaves stop by counts", 0.851)]
)
def test_leaves_stop_surely(wrong: str, total: float) -> None:
    """Wrong variant c."""
    _, following = fold_in(replace(T5, wrong=wrong), 300)
    assert following.sum() == pytest.approx(total, abs=5e-4)


def test_a_document_without_words_has_the_mixture_of_no_counts() -> None:
    """T7."""
    empty = corpus_of([[0, 0, 0]])
    theta = infer(tiny_tree(), empty, None, at(0)).theta.toarray()[0]  # type: ignore[arg-type]
    assert theta == pytest.approx(mixing_of(T5).weights(np.zeros((1, 5)))[0], abs=1e-12)
