"""tssb-mcmc of texts: K topics; each node has its own shares, drawn around its parent's.

The algorithm is ``mcmc``; this is what it asks of texts. A document takes its node's topic shares,
theta_e; each token a topic of those and a word of the topic. Topics are integrated out; shares are
kept, as logs (theory/tssb 3).

    paper                  here
    z_dn, n_dk, n_kw       Topics: z, n_dk, n_wk (transposed)
    theta_e                exp(nodes.value[e])
    t_ek                   tables
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, logsumexp

from hiertopics.base.arrays import F64, I16, I32, I64
from hiertopics.base.axes import Axes
from hiertopics.contract import Arrays, Chains, Components, Context, Hyperparameters, Sizes
from hiertopics.corpus.data import Corpus, Tree, default_vocab
from hiertopics.families.flat.token_layout import Data, lay_out
from hiertopics.families.tssb import state as common, text_kernels
from hiertopics.families.tssb.config import Model, Settings, ends, middle
from hiertopics.families.tssb.layout import Process, StickNodes
from hiertopics.families.tssb.mcmc import sampler
from hiertopics.families.tssb.state import Likelihood, NodeRows, Rng
from hiertopics.families.tssb.text_kernels import Dirichlet, TopicAssignments
from hiertopics.families.tssb.trees import bare, seated

ROOT_SHARE = 1.0
"""Pseudo-count of a topic at the root, over kappa."""

BITS = 16
"""Digits of a word probability that are written."""

START_MASS = 50.0
"""Pseudo-counts of all topics of a document, in the flat model that topics begin with."""

BLOCK = 1000
"""Documents that are drawn at once."""


@dataclass
class State(common.State):
    """One draw, with the topics of tokens."""

    topics: TopicAssignments


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in tokens."""
    return lay_out(corpus)


def start(data: Data, settings: Settings, rng: Rng) -> State:
    """Return topics after sweeps of a flat model, and a root drawn from the prior."""
    model = settings.model
    draws = rng("topics")
    z = draws.integers(model.n_topics, size=data.n_tokens).astype(np.int16)
    topics = counted(data, z, model.n_topics)
    flat = np.full((1, model.n_topics), START_MASS / model.n_topics, np.float32)
    rows, mixing = np.zeros(data.n_docs, np.int32), np.ones(data.n_docs, np.bool_)
    for _ in range(settings.inference.start_sweeps):
        text_kernels.sweep(data.words, topics, flat, rows, mixing, model.eta, draws)
    kappa = float(np.clip(model.n_topics, *ends(model.kappa)))
    root = np.empty(model.n_topics)
    mass = np.full(model.n_topics, kappa * ROOT_SHARE)
    text_kernels.draw_log_dirichlet(mass, root, rng("root"))
    return State(rows, bare(root, 0.0), middle(model), np.array([kappa]), topics)


def counted(data: Data, z: I16, n_topics: int) -> TopicAssignments:
    """Return the counts of these topics of tokens."""
    n_dk = np.zeros((data.n_docs, n_topics), np.int32)
    n_wk = np.zeros((data.n_words, n_topics), np.int32)
    topics = TopicAssignments(z, n_dk, n_wk, np.zeros(n_topics, np.int64))
    text_kernels.count_topics(data.words, topics)
    return topics


def features(state: State, data: Data) -> I32:
    """Return the features in which the log likelihood of a document is linear.

    int32 [n_docs, n_topics].
    """
    return state.topics.n_dk


def law(values: F64, model: Model) -> Dirichlet:
    """Return the law that a node's parameters follow."""
    return Dirichlet(float(values[0]))


def closeness(values: F64) -> float:
    """Return how closely nodes follow their parents: kappa."""
    return float(values[0])


def update(state: State, data: Data, settings: Settings, context: Context) -> State:
    """Redraw the topics of tokens, kappa, and the topic shares of all nodes with data."""
    model = settings.model
    if context.iteration > settings.inference.hold_topics:
        base, alone = text_kernels.token_base(state.nodes, state.law[0])
        mixing = alone[state.node]
        text_kernels.sweep(
            data.words, state.topics, base, state.node, mixing, model.eta, context.rng("tokens")
        )
    counts = counts_at(state.nodes, state.node, state.topics)
    rng = context.rng("shares")
    kappa = text_kernels.draw_shares(
        state.nodes, counts, state.law[0], ends(model.kappa), ROOT_SHARE, rng
    )
    return replace(state, law=np.array([kappa]))


def counts_at(nodes: StickNodes, node: I32, topics: TopicAssignments) -> I64:
    """Return the topic counts of the documents at each node, int64 [n, K]."""
    counts = np.zeros((int(nodes.size[0]), topics.n_dk.shape[1]), np.int64)
    np.add.at(counts, node, topics.n_dk)
    return counts


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


OFF_ONE = 1e-6
"""How far the log of a sum of shares may be from 0."""


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return how a saved draw disagrees with the corpus; see ``Backend``."""
    n_topics, topics = settings.model.n_topics, state.topics
    again = counted(data, topics.z, n_topics)
    counts = ((topics.n_dk, again.n_dk), (topics.n_wk, again.n_wk), (topics.n_k, again.n_k))
    if not all(np.array_equal(own, wanted) for own, wanted in counts):
        return "n_dk, n_wk and n_k do not count the tokens"
    if wrong := common.misplaced(state, n_topics, 1, settings.model):
        return wrong
    (kappa,), (least, most) = state.law, ends(settings.model.kappa)
    if not least * (1 - common.ROUNDING) <= kappa <= most * (1 + common.ROUNDING):
        return f"kappa is {kappa:g}, which is outside {least:g} .. {most:g}"
    sums = logsumexp(state.nodes.value[state.nodes.known], axis=1)
    if not (np.abs(sums) <= OFF_ONE).all():
        return "a node has shares that do not sum to 1"
    return None


def rows(state: State, used: I64, data: Data, settings: Settings) -> NodeRows:
    """Return word probabilities and topic shares of the nodes ``used``, int64 [n], and the topics.

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
    return NodeRows(rounded(shares @ phi), n_tokens[used], {"shares": shares}, whole)


def rounded(rows: F64) -> F64:
    """Return distributions [n, n_words] to BITS binary digits; the largest makes up for the rest.

    Rows still sum to 1; a probability changes by a share of 2^-BITS, the largest by little more.
    """
    digits, exponents = np.frexp(rows)
    near = np.ldexp(np.rint(np.ldexp(digits, BITS)), exponents - BITS)
    largest = near.argmax(axis=1)
    near[np.arange(len(near)), largest] += 1.0 - near.sum(axis=1)
    return np.asarray(near)


def scorer(tree: Tree, corpus: Corpus) -> Callable[[int], F64]:
    """Return a function: the log likelihood of document ``doc`` at each row of the tree.

    float64 [n_nodes].
    """
    log_phi, counts = np.log(np.ascontiguousarray(tree.phi.T)), corpus.counts

    def score(doc: int) -> F64:
        cells = slice(counts.indptr[doc], counts.indptr[doc + 1])
        return np.asarray(counts.data[cells] @ log_phi[counts.indices[cells]])

    return score


def memory(corpus: Corpus, model: Model) -> tuple[int, int]:
    """Return the bytes of a chain's tokens and counts, and of a node."""
    tables = 4 * model.n_topics * (corpus.n_docs + corpus.n_words)
    return 8 * corpus.n_tokens + tables, 8 * model.n_topics


def predictive(
    tree: Tree, n_samples: int, settings: Settings, rng: np.random.Generator
) -> Iterator[Components]:
    """Yield ``n_samples`` draws of topic shares, those of one node as one component.

    Source: theory/tssb 6.

    A document may come to a node that is not in the tree; its shares are then drawn from the law,
    level by level, and forgotten afterwards.
    """
    alpha0, decay, gamma, max_depth = tree.extra["process"]
    process = Process(float(alpha0), float(decay), float(gamma), int(max_depth))
    nodes, shares = tree.shown, tree.extra["shares"]
    masses = np.concatenate([np.exp(tree.extra["log_mass"][nodes]), tree.extra["below"][nodes]])
    times = rng.multinomial(n_samples, masses / masses.sum())
    at, below = times[: len(nodes)], times[len(nodes) :]
    seen = nodes[at > 0]
    for start in range(0, len(seen), BLOCK):
        chosen = seen[start : start + BLOCK]
        weights = at[chosen].astype(np.float64)
        yield Components(weights, shares[chosen], tree.extra["topics"])
    parents = np.repeat(nodes, below)
    kappa = float(tree.extra["kappa"][0])
    for start in range(0, len(parents), BLOCK):
        chosen = parents[start : start + BLOCK]
        drawn = shares[chosen].copy()
        text_kernels.draw_newcomers(drawn, tree.depth[chosen], kappa, process, rng)
        yield Components(np.ones(len(chosen)), drawn, tree.extra["topics"])


def story(
    model: Model, sizes: Sizes, process: Process, rng: np.random.Generator, drawn: Hyperparameters
) -> tuple[Corpus, dict[str, NDArray[Any]]]:
    """Draw a corpus, sticks integrated out (theory/tssb 1 and 3).

    Truth: parent int32 [n_nodes] of the tree, parents first; node int32 [n_docs]; shares
    [n_nodes, K] and topics [K, n_words]; theta [n_docs, n_nodes] and phi [n_nodes, n_words].
    A kappa that is not drawn is as near to n_topics as its range allows.
    """
    kappa = float(drawn.get("kappa", np.clip(model.n_topics, *ends(model.kappa))))
    root = np.empty(model.n_topics)
    text_kernels.draw_log_dirichlet(np.full(model.n_topics, kappa * ROOT_SHARE), root, rng)
    nodes, node = seated(sizes.n_docs, root, 0.0, process, Dirichlet(kappa), rng)
    n = int(nodes.size[0])
    shares = np.exp(nodes.value[:n])
    shares /= shares.sum(axis=1, keepdims=True)
    topics = rng.dirichlet(np.full(sizes.n_words, model.eta), model.n_topics)
    phi = shares @ topics
    theta = np.zeros((sizes.n_docs, n))
    theta[np.arange(sizes.n_docs), node] = 1.0
    counts = np.zeros((sizes.n_docs, sizes.n_words), dtype=np.int32)
    for doc in range(sizes.n_docs):
        z = rng.multinomial(sizes.doc_length, shares[node[doc]])
        for topic in np.flatnonzero(z):
            counts[doc] += rng.multinomial(z[topic], topics[topic]).astype(np.int32)
    corpus = Corpus(sparse.csr_array(counts), default_vocab(sizes.n_words))
    return corpus, {
        "parent": nodes.parent[:n],
        "node": node,
        "shares": shares,
        "topics": topics,
        "theta": theta,
        "phi": phi,
    }


def ranges(sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Return that kappa is a number."""
    return {"kappa": ()}


def keep(state: State) -> State:
    """Return a copy of a state without the counts of topics, which follow from those of tokens."""
    return copy.deepcopy(replace(state, topics=without_counts(state.topics)))


def without_counts(topics: TopicAssignments) -> TopicAssignments:
    """Return the topics of tokens alone."""
    return TopicAssignments(topics.z, topics.n_dk[:0], topics.n_wk[:0], topics.n_k[:0])


def revive(kept: State, data: Data) -> State:
    """Return the state that was kept, the topics of its tokens counted again."""
    n_topics = kept.nodes.value.shape[1]
    return replace(kept, topics=counted(data, kept.topics.z, n_topics))


def before(arrays: Arrays, settings: Settings) -> Chains[State]:
    """Return the chains of an old checkpoint, which held them packed, topics in sequence."""
    found = common.before(arrays, settings)
    names = (*TopicAssignments._fields, "best_z")
    *counted, best_z = (np.split(arrays[name], len(found.now)) for name in names)
    topics = [TopicAssignments(*of_chain) for of_chain in zip(*counted, strict=True)]
    drawn = [without_counts(now)._replace(z=z) for now, z in zip(topics, best_z, strict=True)]
    now, best = (
        [State(**vars(one), topics=own) for one, own in zip(states, of_states, strict=False)]
        for states, of_states in ((found.now, topics), (found.best, drawn))
    )
    return Chains(now, best, found.best_score)


likelihood = Likelihood(
    observes="counts",
    State=State,
    prepare=prepare,
    start=start,
    features=features,
    law=law,
    closeness=closeness,
    update=update,
    log_likelihood=log_likelihood,
    log_extra=log_extra,
    rows=rows,
    scorer=scorer,
    story=story,
    ranges=ranges,
    memory=memory,
    predictive=predictive,
    flaw=flaw,
    extra={
        "shares": Annotated[F64, Axes("n_nodes", "n_topics", least=0)],
        "topics": Annotated[F64, Axes("n_topics", "n_words", least=0)],
        "kappa": Annotated[F64, Axes("1", least=0)],
    },
)
one, backend = sampler(likelihood, before, keep, revive)
