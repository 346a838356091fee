"""The text model: K topics; each node has shares of its own, drawn around its parent's.

A document takes its node's topic shares, theta_e; each token a topic of those and a word of the
topic. Topics are integrated out; shares are kept, as logs (theory/tssb 3).

    paper                  here
    z_dn, n_dk, n_kw       Topics: z, n_dk, n_wk (transposed)
    theta_e                exp(nodes.value[e])
    t_ek                   tables
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import Tree
from hiertopics.families.flat.token_layout import Data, lay_out
from hiertopics.families.tssb import share_kernels, topic_kernels
from hiertopics.families.tssb.config import Model, ends
from hiertopics.families.tssb.layout import Nodes
from hiertopics.families.tssb.share_kernels import Dirichlet
from hiertopics.families.tssb.state import Rows, Start, State
from hiertopics.families.tssb.topic_kernels import Topics
from hiertopics.model import Context, Settings

BITS = 16
"""Digits of a word probability that are written."""

START_MASS = 50.0
"""Pseudo-counts of all topics of a document, in the flat model that topics begin with."""

Rng = Callable[[str], np.random.Generator]


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in tokens."""
    return lay_out(corpus)


def start(data: Data, settings: Settings, rng: Rng) -> Start:
    """Return topics after sweeps of a flat model, and a root drawn from the prior."""
    model = settings.model
    draws = rng("topics")
    z = draws.integers(model.n_topics, size=data.n_tokens).astype(np.int16)
    topics = counted(data, z, model.n_topics)
    flat = np.full((1, model.n_topics), START_MASS / model.n_topics, np.float32)
    rows, mixing = np.zeros(data.n_docs, np.int32), np.ones(data.n_docs, np.bool_)
    for _ in range(settings.inference.start_sweeps):
        topic_kernels.sweep(data.words, topics, flat, rows, mixing, model.eta, draws)
    kappa = float(np.clip(model.n_topics, *ends(model.kappa)))
    root = np.empty(model.n_topics)
    mass = np.full(model.n_topics, kappa * root_share(model))
    share_kernels.draw_log_dirichlet(mass, root, rng("root"))
    return Start(topics, np.array([kappa]), root, 0.0)


def counted(data: Data, z: NDArray[np.int16], n_topics: int) -> Topics:
    """Return the counts of these topics of tokens."""
    n_dk = np.zeros((data.n_docs, n_topics), np.int32)
    n_wk = np.zeros((data.n_words, n_topics), np.int32)
    topics = Topics(z, n_dk, n_wk, np.zeros(n_topics, np.int64))
    topic_kernels.count_topics(data.words, topics)
    return topics


def features(topics: Topics, data: Data) -> NDArray[np.int32]:
    """Return what the log likelihood of a document is linear in."""
    return topics.n_dk


def law(values: NDArray[np.float64], model: Model) -> Dirichlet:
    """Return the law that a node's parameters follow."""
    return Dirichlet(float(values[0]))


def closeness(values: NDArray[np.float64]) -> float:
    """Return how closely nodes follow their parents: kappa."""
    return float(values[0])


def update(state: State, data: Data, settings: Settings, context: Context) -> State:
    """Redraw the topics of tokens, kappa, and the topic shares of all nodes with data."""
    model = settings.model
    if context.iteration > settings.inference.hold_topics:
        base, alone = share_kernels.token_base(state.nodes, state.law[0])
        mixing = alone[state.node]
        topic_kernels.sweep(
            data.words, state.topics, base, state.node, mixing, model.eta, context.rng("tokens")
        )
    counts = counts_at(state.nodes, state.node, state.topics)
    rng = context.rng("shares")
    kappa = share_kernels.draw_shares(
        state.nodes, counts, state.law[0], ends(model.kappa), root_share(model), rng
    )
    return replace(state, law=np.array([kappa]))


def counts_at(nodes: Nodes, node: NDArray[np.int32], topics: Topics) -> NDArray[np.int64]:
    """Return the topic counts of the documents at each node, int64 [n, K]."""
    counts = np.zeros((int(nodes.size[0]), topics.n_dk.shape[1]), np.int64)
    np.add.at(counts, node, topics.n_dk)
    return counts


def root_share(model: Model) -> float:
    """Return the prior pseudo-count of a topic at the root, over kappa."""
    return 1.0 if model.root_concentration == "each" else 1.0 / model.n_topics


def log_likelihood(state: State, data: Data) -> float:
    """Return log f of all documents at their nodes."""
    n_dk, value = state.topics.n_dk, state.nodes.value[state.node]
    return float(np.einsum("dk,dk->", n_dk, value))


def log_extra(state: State, data: Data, settings: Settings) -> float:
    """Return the log probability of the words given their topics (theory/tssb 5)."""
    topics, eta = state.topics, settings.model.eta
    mass = data.n_words * eta
    # Few counts differ: each is worked out once.
    times = np.bincount(topics.n_wk.ravel())
    seen = np.flatnonzero(times)
    by_word = times[seen] @ (gammaln(eta + seen) - gammaln(eta))
    return float(by_word + (gammaln(mass) - gammaln(mass + topics.n_k)).sum())


def rows(state: State, used: NDArray[np.int64], data: Data, settings: Settings) -> Rows:
    """Return word probabilities and topic shares of the nodes ``used``, and the topics.

    Word probabilities are rounded, so that those of thousands of nodes are written small; shares
    and topics are not.
    """
    model = settings.model
    topics = counted(data, state.topics.z, model.n_topics)
    phi = (topics.n_wk.T + model.eta) / (topics.n_k + data.n_words * model.eta)[:, None]
    phi /= phi.sum(axis=1, keepdims=True)
    log_shares = state.nodes.value[used]
    shares = np.exp(log_shares - logsumexp(log_shares, axis=1, keepdims=True))
    lengths = topics.n_dk.sum(axis=1)
    n_tokens = np.zeros(int(state.nodes.size[0]))
    np.add.at(n_tokens, state.node, lengths)
    whole = {"topics": phi, "kappa": state.law[:1]}
    return Rows(rounded(shares @ phi), n_tokens[used], {"shares": shares}, whole)


def rounded(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distributions [n, n_words] to BITS binary digits; the largest makes up for the rest.

    Rows still sum to 1; a probability changes by a share of 2^-BITS, the largest by little more.
    """
    digits, exponents = np.frexp(rows)
    near = np.ldexp(np.rint(np.ldexp(digits, BITS)), exponents - BITS)
    largest = near.argmax(axis=1)
    near[np.arange(len(near)), largest] += 1.0 - near.sum(axis=1)
    return np.asarray(near)


def scorer(tree: Tree, corpus: Corpus) -> Callable[[int], NDArray[np.float64]]:
    """Return a function: the log likelihood of document ``doc`` at each row of the tree."""
    log_phi, counts = np.log(np.ascontiguousarray(tree.phi.T)), corpus.counts

    def score(doc: int) -> NDArray[np.float64]:
        cells = slice(counts.indptr[doc], counts.indptr[doc + 1])
        return np.asarray(counts.data[cells] @ log_phi[counts.indices[cells]])

    return score


def memory(corpus: Corpus, model: Model) -> tuple[int, int]:
    """Return the bytes of a chain's tokens and counts, and of a node."""
    tables = 4 * model.n_topics * (corpus.n_docs + corpus.n_words)
    return 8 * corpus.n_tokens + tables, 8 * model.n_topics
