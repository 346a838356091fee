"""The pair version of PCVB0 against a token-by-token one (theory/hdp 11.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hdp_cases import begin, fitted, pairs_of, random_corpus, token_rows
from naive import Pairs, TokenPcvb0, pair_sweep
from stepping import advance, docs_of, settings_of

from hiertopics.base.arrays import F64
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.hdp.variational import pcvb0


def token_twin(state: Any, corpus: Corpus) -> TokenPcvb0:
    return TokenPcvb0(
        docs_of(corpus),
        token_rows(corpus, state.resp),
        corpus.n_words,
        state.alpha,
        state.gamma,
        state.word_mass,
        state.pi.tolist(),
        state.tau.tolist(),
    )


def largest_difference(state: Any, twin: TokenPcvb0) -> float:
    rows = np.array([row for rows in twin.q for row in rows])
    differences = [
        np.abs(state.resp - rows).max(),
        np.abs(state.pi - twin.pi).max(),
        np.abs(state.tau - twin.tau).max(),
        abs(state.alpha - twin.alpha) / twin.alpha,
        abs(state.gamma - twin.gamma) / twin.gamma,
        abs(state.word_mass - twin.word_mass) / twin.word_mass,
    ]
    return float(max(differences))


@pytest.mark.parametrize("prior", ["AS", "AA"])
@pytest.mark.parametrize("reorder", [True, False])
@pytest.mark.parametrize("hyper_start", [0, 2])
def test_pairs_equal_tokens_where_all_counts_are_one(
    prior: str, reorder: bool, hyper_start: int
) -> None:
    """11.1: five whole iterations from the same start agree to 1e-10."""
    corpus = random_corpus(1, n_docs=5, n_words=9)
    settings = settings_of(
        pcvb0,
        truncation=4,
        prior=prior,
        reorder_sticks=reorder,
        hyper_start=hyper_start,
        gamma=0.7,
        alpha=0.4,
    )
    state, data = begin(pcvb0, corpus, settings)
    twin = token_twin(state, corpus)
    for iteration in range(1, 6):
        state = advance(pcvb0, state, data, settings, 1, start=iteration - 1)
        twin.step(learn=iteration > hyper_start, reorder=reorder, learn_tau=prior == "AA")
        held = iteration <= hyper_start
        assert (state.alpha, state.gamma) == (0.4, 0.7) if held else state.alpha != 0.4
        assert largest_difference(state, twin) < 1e-10


def counted_corpus() -> Corpus:
    """Return a corpus with counts up to 13, so that a pair is many tokens."""
    return random_corpus(4, n_docs=5, n_words=6, density=0.6, largest=13)


def token_step(q: F64, state: Any, corpus: Corpus) -> float:
    """Return how far one sweep over tokens moves q of pairs, at the state's priors."""
    twin = token_twin(state, corpus)
    twin.q = token_rows(corpus, q)
    twin.sweep()
    before = np.array([row for rows in token_rows(corpus, q) for row in rows])
    after = np.array([row for rows in twin.q for row in rows])
    return float(np.abs(after - before).max())


def test_fixed_point_of_pairs_is_one_of_tokens() -> None:
    """11.1: converged over pairs with counts up to 13, a sweep over tokens changes nothing."""
    corpus = counted_corpus()
    state, data, settings = fitted(pcvb0, corpus, 0, truncation=4, hyper_start=10**6)
    for iteration in range(3000):
        before = state.resp.copy()
        state = advance(pcvb0, state, data, settings, 1, start=iteration)
        if np.abs(state.resp - before).max() < 1e-12:
            break
    assert np.abs(state.resp - before).max() < 1e-12
    assert token_step(state.resp, state, corpus) < 1e-8


@pytest.mark.parametrize(("exclude", "is_fixed"), [("token", True), ("pair", False)])
def test_excluding_the_whole_pair_has_other_fixed_points(exclude: str, is_fixed: bool) -> None:
    """11.1: the test above notices where count * q is subtracted instead of q."""
    corpus = counted_corpus()
    state, _, _ = fitted(pcvb0, corpus, 0, truncation=4, hyper_start=10**6)
    q = converged_pairs(pairs_of(corpus), state, exclude)
    moved = token_step(q, state, corpus)
    assert moved < 1e-6 if is_fixed else moved > 1e-3


def converged_pairs(pairs: Pairs, state: Any, exclude: str) -> F64:
    q, moved = state.resp, 1.0
    doc_prior, word_prior = state.alpha * state.pi, state.word_mass * state.tau
    while moved > 1e-8:
        before, q = q, pair_sweep(pairs, q, doc_prior, word_prior, exclude=exclude)
        moved = np.abs(q - before).max()
    return q
