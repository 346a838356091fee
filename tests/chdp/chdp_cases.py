"""What the tests of the cooperative HDP share: small corpora with parents, settings, contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import ArrayLike
from scipy import sparse

from hiertopics.data.corpus import Corpus, Tags, default_vocab
from hiertopics.engine import Workers
from hiertopics.families.chdp import gibbs
from hiertopics.families.chdp.layout import Data
from hiertopics.model import Context, Settings, Sizes

COOPERATIONS = ("superposition", "maximization")
SERIAL = Workers(1)


def with_parents(rows: ArrayLike, parents: Sequence[Sequence[int]], n_groups: int) -> Corpus:
    """Return the corpus with these counts whose documents have these groups, named g0, g1..."""
    counts = np.asarray(rows, dtype=np.int32)
    members = np.zeros((len(counts), n_groups), dtype=bool)
    for doc, groups in enumerate(parents):
        members[doc, list(groups)] = True
    names = tuple(f"g{group}" for group in range(n_groups))
    tags = Tags(sparse.csr_array(members), names)
    return Corpus(sparse.csr_array(counts), default_vocab(counts.shape[1]), groups=tags)


def tiny() -> Corpus:
    """Return the corpus of spec chdp 8.4: [0, 0, 1] by two authors and [1, 2] by the first."""
    return with_parents([[2, 1, 0], [0, 1, 1]], [[0, 1], [0]], 2)


def settings_of(**keys: Any) -> Settings:
    """Return settings with ``keys`` of the Model or Inference record."""
    names = {field.name for field in structs.fields(gibbs.Model)}
    model = {name: value for name, value in keys.items() if name in names}
    inference = {name: value for name, value in keys.items() if name not in names}
    return Settings(gibbs.Model(**model), gibbs.Inference(**inference))


def at(iteration: int, *, seed: int = 0, workers: Workers = SERIAL) -> Context:
    """Return the context of an iteration."""
    return Context(seed, iteration, workers)


def begin(corpus: Corpus, settings: Settings, *, seed: int = 0) -> tuple[Any, Data]:
    """Return the first state and the laid-out corpus."""
    data = gibbs.prepare(corpus, settings)
    return gibbs.init(data, settings, at(0, seed=seed)), data


def advance(
    state: Any, data: Data, settings: Settings, iterations: int, *, start: int = 0, seed: int = 0
) -> Any:
    """Return the state after iterations start + 1 .. start + iterations."""
    for iteration in range(start + 1, start + iterations + 1):
        state, _ = gibbs.step(state, data, settings, at(iteration, seed=seed))
    return state


def simulated(sizes: Sizes, *, seed: int = 0, **keys: Any) -> tuple[Corpus, dict[str, Any]]:
    """Return a corpus from the generative story under ``keys``, and its truth."""
    return gibbs.simulate(settings_of(**keys), sizes, at(0, seed=seed))
