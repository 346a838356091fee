"""The smoothed multinomial: its one distribution, its evidence and its story, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lda_cases import varied_corpus
from stepping import at, begin, docs_of, settings_of as settings_for

from hiertopics.contract.model import Sizes
from hiertopics.families import multinomial

CORPUS = varied_corpus()
SMOOTHING = 0.4


def test_words_have_their_smoothed_shares() -> None:
    settings = settings_for(multinomial, smoothing=SMOOTHING)
    state, data = begin(multinomial, CORPUS, settings)
    words = [word for doc in docs_of(CORPUS) for word in doc]
    mass = len(words) + SMOOTHING * CORPUS.n_words
    expected = [(words.count(word) + SMOOTHING) / mass for word in range(CORPUS.n_words)]
    tree = multinomial.summarise(state, data, settings, at(0)).tree
    np.testing.assert_allclose(tree.phi, [expected], rtol=1e-14)


def test_the_objective_is_the_urn_token_by_token() -> None:
    settings = settings_for(multinomial, smoothing=SMOOTHING)
    state, data = begin(multinomial, CORPUS, settings)
    seen, total = [0] * CORPUS.n_words, 0.0
    for place, word in enumerate(word for doc in docs_of(CORPUS) for word in doc):
        chance = (seen[word] + SMOOTHING) / (place + SMOOTHING * CORPUS.n_words)
        total += math.log(chance)
        seen[word] += 1
    assert multinomial.objective(state, data, settings, at(0)) == pytest.approx(total, rel=1e-12)


def test_the_story_draws_words_from_the_distribution_that_it_tells() -> None:
    settings = settings_for(multinomial, smoothing=SMOOTHING)
    corpus, truth = multinomial.simulate(settings, Sizes(400, 5, 50), at(0))
    (phi,) = truth["phi"]
    found = np.asarray(corpus.counts.sum(axis=0)).ravel() / 20_000
    assert np.abs(found - phi).max() < 4 * math.sqrt(0.25 / 20_000)
    assert phi.max() > 0.3


def test_the_distribution_that_is_told_has_the_moments_of_its_prior() -> None:
    """E[phi^2] = (s + 1) / (V (V s + 1)) under Dir(s, ..., s)."""
    settings = settings_for(multinomial, smoothing=SMOOTHING)
    drawn = [
        multinomial.simulate(settings, Sizes(1, 5, 1), at(iteration))[1]["phi"][0]
        for iteration in range(2000)
    ]
    squares = (np.array(drawn) ** 2).sum(axis=1)
    expected = (SMOOTHING + 1) / (5 * SMOOTHING + 1)
    assert abs(squares.mean() - expected) < 4 * squares.std() / math.sqrt(2000)
