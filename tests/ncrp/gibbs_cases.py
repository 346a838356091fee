"""Corpora, chains and settings for the tests of the Gibbs sampler."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import structs
from naive_gibbs import Hyper
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from hiertopics.data.corpus import Corpus, default_vocab
from hiertopics.engine import Workers
from hiertopics.families.ncrp import chains, gibbs
from hiertopics.families.ncrp.chain_kernels import Chain, Prior
from hiertopics.families.ncrp.chains import Data
from hiertopics.model import Context, Settings

SERIAL = Workers()
PRIOR = Prior(np.array([1.5, 0.7, 1.1]), 0.8, 0.4)


def corpus_of(counts: ArrayLike) -> Corpus:
    """Return the corpus of a dense count matrix [n_docs, n_words]."""
    matrix = np.asarray(counts, dtype=np.int32)
    return Corpus(sparse.csr_array(matrix), default_vocab(matrix.shape[1]))


def varied_corpus(seed: int = 4, n_docs: int = 9, n_words: int = 7) -> Corpus:
    """Return documents of very unequal lengths, some words many times in one of them."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(np.outer(np.linspace(0.3, 4, n_docs), rng.gamma(0.7, size=n_words)))
    counts[2] = 0
    counts[3, 1] = 40
    return corpus_of(counts)


def settings_of(**keys: Any) -> Settings:
    """Return settings; each key goes where it belongs."""
    model, inference = gibbs.Model(), gibbs.Inference()
    own = {name: keys.pop(name) for name in list(keys) if name in model.__struct_fields__}
    return Settings(structs.replace(model, **own), structs.replace(inference, **keys))


def at(iteration: int, seed: int = 0) -> Context:
    """Return the context of an iteration."""
    return Context(seed, iteration, SERIAL)


def advance(state: Any, data: Data, settings: Settings, n: int, start: int = 0) -> Any:
    """Return the state after ``n`` more steps."""
    for iteration in range(start + 1, start + n + 1):
        state, _ = gibbs.step(state, data, settings, at(iteration))
    return state


def random_chain(
    corpus: Corpus, depth: int = 3, seed: int = 0, n_sweeps: int = 3, prior: Prior | None = None
) -> tuple[Data, Chain, Prior]:
    """Return a chain after some sweeps of its own, on a tree of several branches."""
    prior = prior or Prior(np.linspace(1.5, 0.7, depth), 2.5, 0.4)
    rng = np.random.default_rng(seed)
    data = chains.lay_out(corpus)
    chain = chains.sequential(data, prior, rng)
    for _ in range(n_sweeps):
        chain = chains.sweep(data, chain, prior, rng)
    return data, chain, prior


def docs_of(corpus: Corpus) -> list[list[int]]:
    """Return the words of each document, ascending."""
    rows = corpus.counts.toarray()
    return [np.repeat(np.arange(len(row)), row).tolist() for row in rows]


def levels_of(corpus: Corpus, level: NDArray[np.integer]) -> list[list[int]]:
    """Return the levels of each document's tokens."""
    return [part.tolist() for part in np.split(level, np.cumsum(corpus.doc_lengths)[:-1])]


def paths_of(path: NDArray[np.integer]) -> list[tuple[int, ...]]:
    """Return each path below the root as a tuple."""
    return [tuple(row) for row in path[:, 1:].tolist()]


def hyper_of(prior: Prior, n_words: int) -> Hyper:
    """Return hyperparameters as the naive functions take them."""
    return Hyper(prior.level.tolist(), prior.gamma, prior.eta, n_words)


def copy_of(chain: Chain) -> Chain:
    """Return a chain that shares no memory with ``chain``."""
    return Chain(*(array.copy() for array in chain))
