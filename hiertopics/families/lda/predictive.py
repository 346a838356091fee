"""Topic weights of documents that nobody has seen, for the protocol ``empirical``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hiertopics.data.tree import Tree
from hiertopics.families.lda.config import Settings
from hiertopics.model import Components

BLOCK = 1024


def predictive(
    tree: Tree, n_samples: int, settings: Settings, rng: np.random.Generator
) -> Iterator[Components]:
    """Yield ``n_samples`` draws of theta ~ Dir(alpha, ..., alpha), each of weight 1.

    A gamma number of a tiny shape may be 0 for every topic; the largest prior then has it all.
    """
    prior = tree.extra["doc_prior"]
    for start in range(0, n_samples, BLOCK):
        theta = rng.standard_gamma(prior, (min(BLOCK, n_samples - start), len(prior)))
        theta[theta.sum(axis=1) == 0, prior.argmax()] = 1.0
        yield Components(np.ones(len(theta)), theta / theta.sum(axis=1, keepdims=True))
