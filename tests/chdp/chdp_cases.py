"""What the tests of the cooperative HDP share: small corpora with parents, short fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import stepping
from numpy.typing import ArrayLike
from scipy import sparse

from hiertopics.base.arrays import Floats
from hiertopics.contract import registry
from hiertopics.contract.model import Settings, Sizes
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.families.chdp import gibbs, variational, variational_kernels
from hiertopics.families.chdp.layout import Data
from hiertopics.papers import chdp_irp as irp

COOPERATIONS = ("superposition", "maximization")

# These tests were set with topics as smooth as this; those of the default are sharper.
ETA = 0.05

settings_of = partial(stepping.settings_of, gibbs.one, eta=ETA)


def chains_of(settings: Settings) -> Any:
    """Return the sampler that the settings ask for."""
    return registry.load("chdp-gibbs", inference=settings.inference)


def sampler_of(settings: Settings) -> Any:
    """Return the sampler of one chain."""
    return irp.one if settings.inference.sampler == "irp" else gibbs.one


def begin(corpus: Corpus, settings: Settings, **options: Any) -> tuple[Any, Any]:
    """Return the first state of the sampler and the data laid out."""
    return stepping.begin(sampler_of(settings), corpus, settings, **options)


def advance(state: Any, data: Any, settings: Settings, *args: Any, **options: Any) -> Any:
    """Return the state of the sampler after some iterations."""
    return stepping.advance(sampler_of(settings), state, data, settings, *args, **options)


def with_parents(rows: ArrayLike, parents: Sequence[Sequence[int]], n_groups: int) -> Corpus:
    """Return the corpus with these counts whose documents have these groups, named g0, g1..."""
    members = np.zeros((len(parents), n_groups), dtype=bool)
    for doc, groups in enumerate(parents):
        members[doc, list(groups)] = True
    names = tuple(f"g{group}" for group in range(n_groups))
    tags = Tags(sparse.csr_array(members), names)
    return replace(stepping.corpus_of(rows), groups=tags)


def tiny() -> Corpus:
    """Return the corpus of theory/chdp 8.4: [0, 0, 1] by two authors and [1, 2] by the first."""
    return with_parents([[2, 1, 0], [0, 1, 1]], [[0, 1], [0]], 2)


def simulated(sizes: Sizes, *, seed: int = 0, **keys: Any) -> tuple[Corpus, Mapping[str, Any]]:
    """Return a corpus from the generative story under ``keys``, and its truth."""
    return gibbs.one.simulate(settings_of(**keys), sizes, stepping.at(0, seed=seed))


def fit_variational(
    corpus: Corpus, iterations: int, dtype: Any = np.float64, *, seed: int = 0, **keys: Any
) -> tuple[Any, Any, Settings]:
    """Return the state of chdp-variational after some iterations, its data and settings."""
    settings = stepping.settings_of(variational, **{"eta": ETA, **keys})
    data = variational.prepare(corpus, settings)
    state = variational.init(data, settings, stepping.at(0, seed=seed), dtype)
    state = stepping.advance(variational, state, data, settings, iterations, seed=seed)
    return state, data, settings


def doc_prior_of(state: Any, data: Data, settings: Any) -> Floats:
    """Return the pseudo-counts of topics in each document [n_docs, T], as a sweep takes them."""
    rows = np.empty_like(state.n_dk)
    weights = variational.weights_of(state, data, settings.model)
    variational_kernels.prior_rows(data.parents, weights, state.alpha_doc, rows)
    return rows
