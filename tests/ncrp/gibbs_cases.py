"""Chains and settings for the tests of the Gibbs sampler."""

from __future__ import annotations

from functools import partial

import numpy as np
import stepping
from naive_gibbs import Hyper
from stepping import corpus_of

from hiertopics.base.arrays import Ints
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat import token_layout
from hiertopics.families.flat.token_layout import Data
from hiertopics.families.ncrp.sampler import backend as gibbs, chains
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Hyperparameters

settings_of = partial(stepping.settings_of, gibbs)
advance = partial(stepping.advance, gibbs.one)
PRIOR = Hyperparameters(np.array([1.5, 0.7, 1.1]), 0.8, 0.4)


def varied_corpus(seed: int = 4, n_docs: int = 9, n_words: int = 7) -> Corpus:
    """Return documents of very unequal lengths, some words many times in one of them."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(np.outer(np.linspace(0.3, 4, n_docs), rng.gamma(0.7, size=n_words)))
    counts[2] = 0
    counts[3, 1] = 40
    return corpus_of(counts)


def random_chain(
    corpus: Corpus,
    depth: int = 3,
    seed: int = 0,
    n_sweeps: int = 3,
    prior: Hyperparameters | None = None,
) -> tuple[Data, Chain, Hyperparameters]:
    """Return a chain after some sweeps of its own, on a tree of several branches."""
    prior = prior or Hyperparameters(np.linspace(1.5, 0.7, depth), 2.5, 0.4)
    rng = np.random.default_rng(seed)
    data = token_layout.lay_out(corpus)
    chain = chains.sequential(data, prior, rng)
    for _ in range(n_sweeps):
        chain = chains.sweep(data, chain, prior, rng)
    return data, chain, prior


def levels_of(corpus: Corpus, level: Ints) -> list[list[int]]:
    """Return the levels of each document's tokens."""
    return [part.tolist() for part in np.split(level, np.cumsum(corpus.doc_lengths)[:-1])]


def paths_of(path: Ints) -> list[tuple[int, ...]]:
    """Return each path below the root as a tuple."""
    return [tuple(row) for row in path[:, 1:].tolist()]


def hyper_of(prior: Hyperparameters, n_words: int) -> Hyper:
    """Return hyperparameters as the naive functions take them."""
    return Hyper(prior.level.tolist(), prior.gamma, prior.eta, n_words)


def blank(chain: Chain) -> Chain:
    """Return a chain as large as ``chain`` that holds nothing, with the same first nodes."""
    zeros = {name: np.zeros_like(array) for name, array in chain._asdict().items()}
    return Chain(**{**zeros, "first": chain.first})


def copy_of(chain: Chain) -> Chain:
    """Return a chain that shares no memory with ``chain``."""
    return Chain(**{name: array.copy() for name, array in chain._asdict().items()})
