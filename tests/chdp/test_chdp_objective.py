"""The objectives of the samplers and of collapsed variational Bayes, written out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from chdp_cases import (
    COOPERATIONS,
    advance,
    begin,
    doc_prior_of,
    fit_variational,
    settings_of,
    with_parents,
)
from scipy.special import gammaln, xlogy
from stepping import at, docs_of

from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.chdp import gibbs, variational
from hiertopics.families.chdp.base_kernels import base_rows
from hiertopics.families.chdp.gibbs_state import weights_of

PARENTS = [[0, 1], [0], [], [1], [0, 1], [2]]


def six_documents() -> Corpus:
    return with_parents(np.random.default_rng(0).poisson(0.9, (6, 7)), PARENTS, 4)


@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_the_samplers_objective_is_the_joint_token_by_token(cooperation: str) -> None:
    """log p(words, topics | groups' weights): each token given those before it."""
    corpus = six_documents()
    settings = settings_of(truncation=4, hyper_start=0, cooperation=cooperation)
    state, data = begin(corpus, settings)
    state = advance(state, data, settings, 5)
    base = base_rows(data.parents, weights_of(state, data, settings.model))
    n_kw, n_k, total = np.zeros((4, corpus.n_words)), np.zeros(4), 0.0
    z = iter(state.z)
    for doc, words in enumerate(docs_of(corpus)):
        n_dk = np.zeros(4)
        for word in words:
            topic = next(z)
            chance = n_dk[topic] + state.alpha_doc * base[doc, topic]
            total += math.log(chance / (n_dk.sum() + state.alpha_doc))
            chance = n_kw[topic, word] + state.eta
            total += math.log(chance / (n_k[topic] + corpus.n_words * state.eta))
            n_dk[topic] += 1
            n_kw[topic, word] += 1
            n_k[topic] += 1
    assert gibbs.one.objective(state, data, settings, at(0)) == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_the_surrogate_is_its_formula(cooperation: str) -> None:
    """The same at expected counts, and the entropy of each token's topic."""
    keys: dict[str, Any] = {"truncation": 4, "hyper_start": 2, "cooperation": cooperation}
    state, data, settings = fit_variational(six_documents(), 6, **keys)
    prior = doc_prior_of(state, data, settings)
    lengths, eta = data.doc_lengths, state.word_mass / data.n_words
    total = (gammaln(prior + state.n_dk) - gammaln(prior)).sum()
    total -= (gammaln(state.alpha_doc + lengths) - gammaln(state.alpha_doc)).sum()
    total += (gammaln(eta + state.n_wk) - gammaln(eta)).sum()
    total -= (gammaln(state.word_mass + state.n_k) - gammaln(state.word_mass)).sum()
    total -= data.cells.tokens @ xlogy(state.resp, state.resp).sum(axis=1)
    assert variational.objective(state, data, settings, at(0)) == pytest.approx(total, rel=1e-9)
