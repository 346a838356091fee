"""The partially collapsed sampler against the enumerated posterior of eight tokens.

All but z and topics is held (theory/hdp 6.6). A document's tokens are sorted by word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from naive import posterior
from stepping import at, begin, corpus_of, docs_of, settings_of

from hiertopics.base.arrays import F64, Ints
from hiertopics.families.hdp import blocks, partial, topic_kernels

CORPUS = corpus_of([[2, 1, 0], [0, 1, 1], [1, 0, 2]])
ALPHA, ETA, PI = 1.3, 0.4, np.array([0.5, 0.3, 0.2])
N_SWEEPS, N_BATCHES = 25_000, 50


class Outcome(NamedTuple):
    """Z scores of all chances of topics and of coincidences of tokens."""

    z_scores: F64

    @property
    def largest(self) -> float:
        """The largest in size."""
        return float(np.abs(self.z_scores).max())

    @property
    def root_mean_square(self) -> float:
        """Their root mean square: 1 where they are standard normal."""
        return float(np.sqrt((self.z_scores**2).mean()))


def statistics(z: Ints) -> F64:
    """Return who has which topic, and which tokens have the same, of states [n, 8]."""
    n_tokens = z.shape[1]
    first, second = np.triu_indices(n_tokens, 1)
    topics = (z[:, :, None] == np.arange(3)).reshape(len(z), -1)
    return np.concatenate([topics, z[:, first] == z[:, second]], axis=1).astype(np.float64)


def expected() -> F64:
    """Return the statistics' means by enumeration of all 3^8 states."""
    exact = posterior(docs_of(CORPUS), ALPHA, np.full(3, ETA), [(1.0, PI)])
    return exact.chances @ statistics(exact.states)


def run(n_sweeps: int, seed: int = 1) -> Ints:
    """Return the states of a run through ``step``, hyperparameters held."""
    keys = {"truncation": 3, "hyper_start": 10**9, "start": "random"}
    settings = settings_of(partial.backend, **keys)
    state, data = begin(partial, CORPUS, settings, seed=seed)
    state.alpha, state.pi, state.word_mass = ALPHA, PI, 3 * ETA
    visited = []
    for iteration in range(1, n_sweeps + 1):
        partial.step(state, data, settings, at(iteration, seed=seed))
        visited.append(state.z)
    return np.array(visited)


def compare(n_sweeps: int = N_SWEEPS) -> Outcome:
    """Compare the means of a run with the exact ones, their errors by means of batches."""
    found = statistics(run(n_sweeps)).reshape(N_BATCHES, n_sweeps // N_BATCHES, -1).mean(axis=1)
    error = found.std(axis=0, ddof=1) / np.sqrt(N_BATCHES)
    return Outcome((found.mean(axis=0) - expected()) / error)


def test_the_enumeration_gives_the_figures_of_the_theory() -> None:
    """The page's table: log evidence, chances of the first token, of coincidences."""
    exact = posterior(docs_of(CORPUS), ALPHA, np.full(3, ETA), [(1.0, PI)])
    assert exact.log_evidence == pytest.approx(-9.99141, abs=1e-5)
    means = expected()
    np.testing.assert_allclose(means[:3], [0.449302, 0.319002, 0.231696], atol=1e-6)
    first, second = np.triu_indices(8, 1)
    pairs = dict(zip(zip(first.tolist(), second.tolist(), strict=True), means[24:], strict=True))
    found = [pairs[0, 1], pairs[0, 2], pairs[0, 5], pairs[2, 3], pairs[4, 7]]
    np.testing.assert_allclose(found, [0.776675, 0.539722, 0.508490, 0.507647, 0.554253], atol=1e-6)


@pytest.mark.nightly
@pytest.mark.slow
def test_tokens_have_their_topics_as_often_as_the_posterior_says() -> None:
    """With seed words it does so each day (test_seed_words)."""
    outcome = compare()
    assert outcome.largest < 4.2, outcome
    assert outcome.root_mean_square < 1.4, outcome


draw_topics, draw_masses = blocks.draw_topics, topic_kernels.draw_masses


def larger_eta(n_wk: Any, word_prior: Any, *others: Any) -> Any:
    """Draw topics under a prior that is a quarter too large."""
    return draw_topics(n_wk, 1.25 * word_prior, *others)


def mean_topics(begin: int, end: int, n_wk: Any, word_prior: Any, key: Any, table: Any) -> Any:
    """Take the mean of the topics in place of a draw."""
    n_topics = n_wk.shape[1]
    table[begin:end, :n_topics] = n_wk[begin:end] + word_prior[begin:end, None]
    return table[begin:end, :n_topics].sum(axis=0, dtype=np.float64)


def the_same_uniforms(key: Any) -> Callable[..., Any]:
    """Return a way to hold topics whose sweep always has one key: tokens draw the same numbers."""
    hold = blocks.hold

    def held(*arguments: Any) -> Any:
        return hold(*arguments)._replace(key=key)

    return held


WRONG = {
    "eta too large": ("draw_topics", larger_eta),
    "mean topics": ("draw_masses", mean_topics),
    "one key for all sweeps": ("hold", the_same_uniforms(np.uint64(7))),
}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("name", "wrong"), WRONG.values(), ids=WRONG)
def test_wrong_variants_are_rejected(
    name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hasattr(blocks, name)
    monkeypatch.setattr(blocks, name, wrong)
    outcome = compare(N_SWEEPS // 2)
    assert outcome.largest > 6.0 and outcome.root_mean_square > 2.0, outcome
