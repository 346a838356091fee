"""Tiny corpora and slow, obvious versions of latent Dirichlet allocation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import stepping
from naive import Docs
from stepping import corpus_of

from hiertopics.contract.model import Settings
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.lda import gibbs


def varied_corpus() -> Corpus:
    """Return 9 documents over 7 words; document 3 is empty."""
    counts = np.random.default_rng(4).poisson(1.3, (9, 7))
    counts[3] = 0
    return corpus_of(counts)


def settings_of(**keys: Any) -> Settings:
    """Return settings of lda-gibbs, alpha and eta held unless ``keys`` say otherwise."""
    return stepping.settings_of(gibbs, **{"hold": ("alpha", "eta")} | keys)


def log_joint(
    docs: Docs,
    topics: Sequence[Sequence[int]],
    n_topics: int,
    n_words: int,
    alpha: float | Sequence[float],
    eta: float,
) -> float:
    """Return log p(words, topics), each token given those before it; alpha: one, or by topic."""
    total = 0.0
    priors = [alpha] * n_topics if isinstance(alpha, float) else list(alpha)
    mass = math.fsum(priors)
    n_kw = [[0] * n_words for _ in range(n_topics)]
    for words, chosen in zip(docs, topics, strict=True):
        n_dk = [0] * n_topics
        for place, (word, topic) in enumerate(zip(words, chosen, strict=True)):
            total += math.log((n_dk[topic] + priors[topic]) / (place + mass))
            total += math.log((n_kw[topic][word] + eta) / (sum(n_kw[topic]) + n_words * eta))
            n_dk[topic] += 1
            n_kw[topic][word] += 1
    return total


def split(z: Any, docs: Docs) -> list[list[int]]:
    """Return topics document by document."""
    return [part.tolist() for part in np.split(z, np.cumsum([len(doc) for doc in docs])[:-1])]
