"""Corpora and short fits for the HDP tests."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import stepping
from naive import Pairs, Point, Resp
from numpy.typing import ArrayLike, DTypeLike
from stepping import SERIAL, advance, at, corpus_of, settings_of

from hiertopics.base.arrays import F64, I64, Floats, Ints
from hiertopics.contract.engine import Engine
from hiertopics.contract.model import Settings
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat.layout import Data, lay_out
from hiertopics.families.flat.sticks import fit_sticks
from hiertopics.families.hdp import gibbs
from hiertopics.families.hdp.variational import cvb0, pcvb0
from hiertopics.papers.hdp_second_order_backends import cvb, pcvb

BACKENDS = [pcvb0, pcvb, cvb0, cvb, gibbs]
ZERO_ORDER = [pcvb0, cvb0]
SECOND_ORDER = [pcvb, cvb]
VARIATIONAL = [*ZERO_ORDER, *SECOND_ORDER]


def random_corpus(
    seed: int, n_docs: int, n_words: int, *, density: float = 0.5, largest: int = 1
) -> Corpus:
    """Return counts of 1 .. largest in a share ``density`` of the cells, a few at least."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, largest + 1, (n_docs, n_words))
    counts[rng.random(counts.shape) > density] = 0
    counts[0, :2] = largest
    return corpus_of(counts)


class Planted(NamedTuple):
    """A corpus drawn from known topics, held-out counts of the same documents, and the truth.

    theta [n_docs, n_topics]; phi [n_topics, n_words].
    """

    train: Corpus
    heldout: I64
    theta: F64
    phi: F64

    @property
    def best_perplexity(self) -> float:
        """Held-out perplexity under the true parameters."""
        return perplexity(self.theta @ self.phi, self.heldout)

    @property
    def unigram_perplexity(self) -> float:
        """Held-out perplexity of the smoothed word frequencies."""
        counts = self.train.counts.toarray().sum(axis=0) + 1.0
        return perplexity(np.tile(counts / counts.sum(), (len(self.heldout), 1)), self.heldout)


def planted(
    seed: int,
    n_docs: int,
    n_words: int,
    n_topics: int,
    length: int,
    *,
    eta: float = 0.1,
    theta_prior: ArrayLike = 0.3,
) -> Planted:
    """Draw ``length`` training tokens per document and a quarter as many held-out ones."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_words, eta), n_topics)
    theta = rng.dirichlet(np.broadcast_to(theta_prior, n_topics), n_docs)
    train = corpus_of([rng.multinomial(length, row) for row in theta @ phi])
    heldout = np.array([rng.multinomial(length // 4, row) for row in theta @ phi])
    return Planted(train, heldout, theta, phi)


def pairs_of(corpus: Corpus) -> Pairs:
    """Return the (document, word, count) triples in document order."""
    doc = np.repeat(np.arange(corpus.n_docs), np.diff(corpus.counts.indptr))
    word = corpus.counts.indices.astype(np.int64)
    return Pairs(doc, word, corpus.counts.data.astype(np.float64))


def token_rows(corpus: Corpus, resp: Floats) -> Resp:
    """Return q of every token from q of every pair."""
    pairs = pairs_of(corpus)
    q: Resp = [[] for _ in range(corpus.n_docs)]
    for doc, count, row in zip(pairs.doc, pairs.count, resp, strict=True):
        q[doc] += [row.astype(np.float64).tolist() for _ in range(int(count))]
    return q


def begin(
    backend: Any,
    corpus: Corpus,
    settings: Settings,
    *,
    seed: int = 0,
    dtype: DTypeLike = np.float64,
    workers: Engine = SERIAL,
) -> tuple[Any, Data]:
    """Return the first state and the laid-out corpus, the variational ones in ``dtype``."""
    if backend is gibbs:
        return stepping.begin(backend, corpus, settings, seed=seed, workers=workers)
    data = lay_out(corpus, settings.inference.shards, dtype)
    return backend.init(data, settings, at(0, seed=seed, workers=workers), dtype=dtype), data


def fitted(
    backend: Any,
    corpus: Corpus,
    iterations: int,
    *,
    seed: int = 0,
    dtype: DTypeLike = np.float64,
    **keys: Any,
) -> tuple[Any, Data, Settings]:
    """Return the state of a fit from scratch, its data and settings."""
    settings = settings_of(backend, **keys)
    state, data = begin(backend, corpus, settings, seed=seed, dtype=dtype)
    return advance(backend, state, data, settings, iterations, seed=seed), data, settings


def best_point(state: Any, *, reorder: bool = False) -> Point:
    """Return a PCVB0 state as a point of its bound, sticks at their best."""
    sticks = fit_sticks(state.n_tables, state.gamma, reorder=reorder)
    return Point(state.alpha, state.gamma, state.word_mass, state.tau, *sticks)


def word_chances(backend: Any, state: Any, data: Data, settings: Settings) -> Any:
    """Return p(v | d), float64 [n_docs, n_words], of the training documents."""
    summary = backend.summarise(state, data, settings, at(0))
    return summary.theta.toarray() @ summary.tree.phi


def perplexity(chances: F64, counts: Ints) -> float:
    """Return exp of minus the mean log chance of the tokens in ``counts``."""
    return float(np.exp(-(counts * np.log(chances)).sum() / counts.sum()))
