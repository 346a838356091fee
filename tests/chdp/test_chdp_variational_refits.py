"""What chdp-variational refits besides q(z): concentrations, mixing weights, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from chdp_cases import COOPERATIONS, fit_variational, with_parents
from scipy.special import digamma
from stepping import at
from variational_twin import Twin

from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.chdp import variational
from hiertopics.families.chdp.variational import EVEN_ITERATIONS

PARENTS = [[0, 1], [0], [], [1], [0, 1], [2]]
KEYS: dict[str, Any] = {"truncation": 4, "hyper_start": 2, "alpha_group": 2.5}


def six_documents() -> Corpus:
    return with_parents(np.random.default_rng(0).poisson(0.9, (6, 7)), PARENTS, 4)


def served_by_group(twin: Twin, served: Any) -> Any:
    found = np.zeros_like(twin.tables)
    for _, group, given in served:
        found[group] += given
    return found


@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_a_step_is_that_of_a_plain_twin_whatever_alpha_group_is(cooperation: str) -> None:
    state, data, settings = fit_variational(six_documents(), 9, cooperation=cooperation, **KEYS)
    twin = Twin(six_documents().counts.toarray(), PARENTS, state, cooperation)
    assert twin.alpha_group == 2.5
    state, _ = variational.step(state, data, settings, at(10))
    twin.sweep()
    np.testing.assert_allclose(state.resp, twin.q, atol=1e-12)
    tables, _ = twin.document_tables()
    expected = served_by_group(twin, twin.serve(tables))
    np.testing.assert_allclose(state.n_group_tables, expected, atol=1e-10)


@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_concentrations_take_the_steps_of_their_bounds(cooperation: str) -> None:
    """Tables over the growth of digamma for the first three, and the best gamma of the sticks."""
    keys = {**KEYS, "hold": (), "cooperation": cooperation}
    state, data, settings = fit_variational(six_documents(), 9, **keys)
    rows = six_documents().counts.toarray()
    twin = Twin(rows, PARENTS, state, cooperation)
    state, _ = variational.step(state, data, settings, at(10))
    twin.sweep()
    tables, seen = twin.document_tables()
    served = twin.serve(tables)
    by_group = twin.options(served, tables, seen)
    sizes = served_by_group(twin, served).sum(axis=1)
    assert len(set(rows.sum(axis=1))) < len(rows)  # two documents of one length at least

    alpha_doc = tables.sum() / growth(rows.sum(axis=1), twin.alpha_doc)
    assert state.alpha_doc == pytest.approx(alpha_doc, rel=1e-9)
    seen_wk = 1.0 - word_unseen(twin)
    word_mass = seen_wk.sum() / growth(twin.counts(), twin.word_mass)
    assert state.word_mass == pytest.approx(word_mass, rel=1e-9)
    alpha_group = by_group.sum() / growth(sizes, twin.alpha_group)
    assert state.alpha_group == pytest.approx(alpha_group, rel=1e-6)

    counts = np.sort(by_group.sum(axis=0) + tables[2])[::-1]
    after = counts[::-1].cumsum()[::-1] - counts
    a, b = 1.0 + counts[:-1], twin.gamma + after[:-1]
    gamma = 3 / -(digamma(b) - digamma(a + b)).sum()
    assert state.gamma == pytest.approx(gamma, rel=1e-6)


def growth(sizes: Any, value: float) -> float:
    return float((digamma(sizes + value) - digamma(value)).sum())


def word_unseen(twin: Twin) -> Any:
    """Return the chance that no token of a word has a topic [n_words, T]."""
    unseen = np.ones((twin.rows.shape[1], twin.q.shape[1]))
    for pair, (doc, word) in enumerate(twin.pairs):
        unseen[word] *= (1 - twin.q[pair]) ** twin.rows[doc, word]
    return unseen


def test_learned_mixing_weights_are_the_mean_given_the_tables() -> None:
    """Dir(1) beforehand: (1 + tables of a link) / (parents + tables of the document)."""
    rows = [[3, 2, 4, 1], [1, 0, 0, 0]]
    corpus = with_parents(rows, [[0, 1], [0]], 2)
    state, data, settings = fit_variational(corpus, 11, weights="learned", **KEYS)
    state, _ = variational.step(state, data, settings, at(12))
    one_token = np.array([1.0, 0.0])  # makes one table, of the first group
    served = 1.0 + state.n_group_tables.sum(axis=1) - one_token
    np.testing.assert_allclose(state.share[:2], served / served.sum(), rtol=1e-9)
    assert abs(state.share[0] - 0.5) > 1e-6
    assert state.share[2] == 1.0


def test_parents_serve_alike_at_first_and_then_by_their_weights() -> None:
    """Nothing while all is held; even parts in the next iterations; then share times weight."""
    state, data, settings = fit_variational(six_documents(), 2, **KEYS)
    assert not state.n_group_tables.any()
    rows = six_documents().counts.toarray()
    for iteration in range(3, 3 + EVEN_ITERATIONS + 2):
        twin = Twin(rows, PARENTS, state, "superposition")
        state, _ = variational.step(state, data, settings, at(iteration))
        twin.sweep()
        tables, _ = twin.document_tables()
        evenly = np.zeros_like(twin.tables)
        for doc, own in enumerate(PARENTS):
            for group in own:
                evenly[group] += tables[doc] / len(own)
        weighed = served_by_group(twin, twin.serve(tables))
        assert np.abs(evenly - weighed).max() > 1e-6 or iteration == 3
        expected = evenly if iteration <= 2 + EVEN_ITERATIONS else weighed
        np.testing.assert_allclose(state.n_group_tables, expected, atol=1e-10)
