"""Which groups or labels a document has, by its words: one number for each (theory/chdp 6.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]

MAX_STEPS = 100
TOLERANCE = 1e-4
PRUNE_EVERY = 5
NEGLIGIBLE = 1e-6
"""Tags of smaller weight stay where they are: of thousands of authors few remain in question."""

SMALLEST = 1e-300


class Tagger(NamedTuple):
    """What tags are told by.

    theta: weights of tags over nodes [n_tags, n_nodes]. phi: [n_nodes, n_words]. prior: share of
    each tag beforehand [n_tags], positive, sum 1.
    """

    theta: Array
    phi: Array
    prior: Array


def mixture(chances: Array, counts: Array, prior: Array, strength: float) -> Array:
    """Return the most probable mixing weights of tags [n_tags] under Dir(1 + strength prior).

    chances: p(word | tag) [n_tags, n_pairs]; counts [n_pairs]. By EM from the prior.
    """
    weights = prior.copy()
    active = np.arange(len(prior))
    for step in range(MAX_STEPS):
        own = weights[active]
        tokens = own * (chances @ (counts / (own @ chances))) + strength * prior[active]
        moved = tokens * (own.sum() / tokens.sum())
        change = np.abs(moved - own).max()
        weights[active] = moved
        if change < TOLERANCE:
            break
        if step % PRUNE_EVERY == PRUNE_EVERY - 1:
            kept = moved > NEGLIGIBLE
            active, chances = active[kept], chances[kept]
    return weights


def single(chances: Array, counts: Array, prior: Array, strength: float) -> Array:
    """Return the chance of each tag [n_tags] if a document has exactly one of them.

    Tokens are not independent of each other: ``strength`` of them count as one.
    """
    logs = np.log(chances) @ counts / strength + np.log(prior)
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


RULES: dict[str, Callable[[Array, Array, Array, float], Array]] = {
    "mixture": mixture,
    "single": single,
}


def tag_scores(
    tagger: Tagger, counts: sparse.csr_array, choices: list[tuple[str, float]]
) -> list[Array]:
    """Return a score of each tag for each document [n_docs, n_tags] by each (rule, strength).

    Rows sum to 1. A document without words gives the prior.
    """
    found = [np.tile(tagger.prior, (counts.shape[0], 1)) for _ in choices]
    for doc in range(counts.shape[0]):
        cells = slice(counts.indptr[doc], counts.indptr[doc + 1])
        if cells.start == cells.stop:
            continue
        chances = np.maximum(tagger.theta @ tagger.phi[:, counts.indices[cells]], SMALLEST)
        tokens = counts.data[cells].astype(np.float64)
        for scores, (rule, strength) in zip(found, choices, strict=True):
            scores[doc] = RULES[rule](chances, tokens, tagger.prior, strength)
    return found


def padded(scores: Array, n_tags: int) -> Array:
    """Return scores with columns of -1 for tags that no training document has, up to ``n_tags``."""
    return np.pad(scores, ((0, 0), (0, n_tags - scores.shape[1])), constant_values=-1.0)
