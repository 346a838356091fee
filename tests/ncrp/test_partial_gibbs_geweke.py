"""Partially collapsed sweeps keep the joint distribution: T8 with topics and branches drawn.

By night: ``step`` is held to a joint distribution each day (test_gibbs_step_geweke).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from partial_cases import one_generator
from test_gibbs_geweke import (
    DEPTH,
    LENGTH,
    N_BATCHES,
    N_DOCS,
    N_WORDS,
    deviations,
    draw_words,
    note,
    on_one_path,
    read_levels,
)

from hiertopics.families.flat.token_layout import Data
from hiertopics.families.ncrp.sampler import partial

N_SWEEPS = 40 * N_BATCHES


def z_scores(n_sweeps: int, seed: int = 0) -> dict[str, float]:
    """Return the deviations of T8's statistics from their means a priori."""
    words, chain, prior = on_one_path()
    data = Data(words, N_DOCS, N_WORDS, N_DOCS * LENGTH)
    shards = one_generator(seed)
    tokens, z = np.zeros((2, N_DOCS, LENGTH), np.int64)
    found = np.zeros((n_sweeps, 12))
    draw_words(tokens, z, words, chain, prior.eta, shards.generator)
    for row in found:
        chain = partial.sweep(data, chain, prior, shards)
        read_levels(tokens, z, chain.level)
        draw_words(tokens, z, words, chain, prior.eta, shards.generator)
        note(row, tokens, z, chain)
    assert chain.path.shape == (N_DOCS, DEPTH)
    return deviations(found)


@pytest.mark.nightly
@pytest.mark.slow
def test_prior_draws_stay_prior_draws_where_topics_are_drawn() -> None:
    """T8: twelve statistics of trees, levels and words within four errors."""
    scores = z_scores(N_SWEEPS)
    assert max(map(abs, scores.values())) < 4.0, scores


def reversed_order(chain: Any, prior: Any, place: Any, *others: Any) -> Any:
    """Draw topics, but take the last document of each path for its first."""
    return draw_topics(chain, prior, len(place) - 1 - place, *others)


def swapped_levels(chain: Any, prior: Any, place: Any, *others: Any) -> Any:
    """Draw topics, but mix up those of the last two levels."""
    topics = draw_topics(chain, prior, place, *others)
    return topics._replace(below=np.ascontiguousarray(topics.below[:, ::-1]))


draw_topics = partial.draw_topics


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("wrong", [swapped_levels, reversed_order])
def test_mistakes_show_in_prior_draws(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial, "draw_topics", wrong)
    scores = z_scores(N_SWEEPS)
    assert max(map(abs, scores.values())) > 5.0, scores
