"""hlda-gibbs: collapsed Gibbs sampling of hierarchical LDA under the nested CRP.

A document takes a path from the root to a leaf of a tree of unlimited branching, and each of its
tokens a level of that path. Topics, level weights and sticks are integrated out. A sweep redraws
each document's whole path at once, new branches from every inner node included, then the levels
of its tokens.

D. Blei, T. Griffiths, M. Jordan: The nested Chinese restaurant process and Bayesian nonparametric
inference of topic hierarchies, JACM 2010; C. Wang, D. Blei, NIPS 2009 (theory/ncrp 5).
Two moves of our own, leaps and grafts, take the chain out of trees that a sweep hardly leaves.
Another sweep, in which most documents move side by side, is in ``partial``.

    paper                  here
    c_d, z_dn              path [n_docs, L], level [n_tokens], root first
    alpha                  level_prior
    n_iw, n_i, m_i, n_dl   n_wk, n_k, visits, n_dl
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from hiertopics.base.arrays import F64, I64
from hiertopics.contract import Arrays, Backend, Context, PerChain, Posterior, Summary
from hiertopics.contract.chains import Chains, chains
from hiertopics.corpus.data import ROOT, Bags, Corpus, Shelf, Tree, seeds_in
from hiertopics.families.flat.summary import notes_on_idle_shards
from hiertopics.families.flat.token_layout import (
    Data,
    counts_of,
    doc_lengths,
    lay_out,
    spans,
    words_of,
)
from hiertopics.families.ncrp import summary as common
from hiertopics.families.ncrp.clustering import MOST_PAIRS, branches_of, leaves_for, widths
from hiertopics.families.ncrp.config import (
    GibbsSettings as Settings,
    HldaGibbsInference as Inference,
    SeededModel as Model,
    level_prior,
)
from hiertopics.families.ncrp.sampler import (
    chain_kernels,
    hyperparameters,
    infer_kernels as kernels,
)
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Hyperparameters
from hiertopics.families.ncrp.sampler.chains import (
    LINE,
    State,
    before,
    begin,
    begins,
    flaw,
    graft,
    joined_by,
    keep,
    leap,
    n_documents,
    on_branches,
    revive,
    sequential,
    sweep,
    tried,
)
from hiertopics.families.ncrp.sampler.infer_kernels import FittedTree
from hiertopics.families.ncrp.simulate import (
    draw_hyperparameters as draw_hyperparameters,
    simulate as simulate,
)
from hiertopics.families.ncrp.summary import merge_extra
from hiertopics.families.nested.slots import RARE, place, sparse_rows

KEPT = 12 << 20
"""Bytes of freed memory that the allocator keeps in pieces."""

PAIR_BYTES = 60
"""Bytes for each pair of document and word that is clustered."""

Sweep = Callable[[Data, Chain, Hyperparameters, Settings, Context], Chain]
"""Redraws path and levels of each document; in place unless columns run out."""


class Info(NamedTuple):
    """Columns of metrics.jsonl.

    n_nodes, n_leaves: nodes, and those at the last level. largest_path: share of the documents
    on the fullest path. log_joint: of the words, levels and paths. moved: documents whose path
    changed.
    """

    n_nodes: int
    n_leaves: int
    largest_path: float
    log_joint: float
    gamma: float
    eta: float
    moved: int


def prepare(corpus: Bags, settings: Settings) -> Data:
    """Lay the corpus out in tokens, with seed words."""
    return lay_out(corpus)._replace(seeds=seeds_in(settings.model, corpus.vocab))


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return a chain of clustered documents, or of documents seated one by one in random order."""
    prior, rng = prior_of(settings.model), context.rng("init")
    if settings.inference.restarts > 1 or settings.inference.start == "sequential":
        return begin(sequential(data, prior, rng), prior)
    doc_pairs, n_leaves = np.diff(data.words.pair_ptr), leaves_for(data.n_docs)

    def counts(docs: I64) -> sparse.csr_array:
        return counts_of(words_of(data.words, docs), data.n_words)

    branch = branches_of(counts, doc_pairs, settings.model.depth, n_leaves, rng)
    return begin(on_branches(data, branch, prior, rng), prior)


def extend_state(before: Arrays, data: Data, settings: Settings, context: Context) -> State:
    """Return an earlier draw after further documents joined it one by one."""
    gamma, eta = float(before["prior.gamma"]), float(before["prior.eta"])
    hyper = Hyperparameters(before["prior.level"], gamma, eta)
    return begin(joined_by(before, data, hyper, context.rng("continued")), hyper)


def step(
    sweep: Sweep, state: State, data: Data, settings: Settings, context: Context
) -> tuple[State, Info]:
    """Redraw paths and levels, leap, graft, draw hyperparameters if asked to."""
    inference = settings.inference
    if begins(inference, context.iteration):
        fresh = prior_of(settings.model)
        state = begin(sequential(data, fresh, context.rng("init")), fresh, state.tries)
    chain, hyper = state.chain, state.prior
    path = chain.path.copy()
    chain = sweep(data, chain, hyper, settings, context)
    if _due(inference.leap_every, context.iteration):
        chain = leap(data, chain, hyper, context.rng("leap"))
    if _due(inference.graft_every, context.iteration):
        chain = graft(data, chain, hyper, context.rng("graft"))
    moved = int((chain.path != path).any(axis=1).sum())
    n_held = len(data.seeds.names)
    hyper = _draw_prior(chain, hyper, inference, n_held, context.rng("hyperparameters"))
    log_joint = chain_kernels.log_joint(chain, hyper)
    state, score = begin(chain, hyper, state.tries), log_joint + hyperparameters.log_prior(hyper)
    state = tried(state, data, score, inference, context.iteration)
    chain = state.chain
    n_docs = n_documents(data.seeds, chain)
    leaves = n_docs[chain.first[-2] :]
    info = Info(
        int((n_docs > 0).sum()),
        int((leaves > 0).sum()),
        float(leaves.max() / max(data.n_docs, 1)),
        log_joint,
        state.prior.gamma,
        state.prior.eta,
        moved,
    )
    return state, info


def score(state: State, info: Info) -> float:
    """Return the log probability of a draw and of the hyperparameters that it was drawn under."""
    return info.log_joint + hyperparameters.log_prior(state.prior)


def per_chain(state: State, data: Data, settings: Settings, context: Context) -> PerChain:
    """Return log joint, nodes and paths."""
    chain = state.chain
    traces: dict[str, list[float]] = {
        "objective": [float(chain_kernels.log_joint(chain, state.prior))],
        "n_nodes": [int((n_documents(data.seeds, chain) > 0).sum())],
    }
    return PerChain(traces, chain.path[None])


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the log joint of words, levels and paths given the hyperparameters, from scratch.

    From paths and levels alone (theory/ncrp 5, score); with seed words and their paths, which are
    held.
    """
    path, level, seeds = state.chain.path, state.chain.level, data.seeds
    held = state.chain.first[:-1] + np.outer(seeds.first_topics, np.arange(path.shape[1]) > 0)
    alpha, gamma, eta = state.prior
    n_dl = np.zeros(path.shape)
    n_nodes = 1 + max(int(path.max(initial=0)), int(held.max(initial=0)))
    n_kw = np.zeros((n_nodes, data.n_words), np.int32)
    for first, last in spans(doc_lengths(data.words)):
        pair_ptr, word, token_ptr = words_of(data.words, np.arange(first, last))
        lengths, begin = np.diff(token_ptr[pair_ptr]), data.words.pair_ptr[first]
        doc = np.repeat(np.arange(first, last), lengths)
        at = level[data.words.token_ptr[begin] :][: token_ptr[-1]]
        np.add.at(n_dl, (doc, at), 1)
        np.add.at(n_kw, (path[doc, at], np.repeat(word, np.diff(token_ptr))), 1)
    np.add.at(n_kw, (held[seeds.name, 1], seeds.word), seeds.weight)
    path = np.vstack([path, held])
    visits = np.bincount(path.ravel())
    inner = np.bincount(path[:, :-1].ravel())
    n_children = (visits > 0).sum() - (len(path) > 0)
    tree = gammaln(visits[1:][visits[1:] > 0]).sum() + n_children * np.log(gamma)
    tree += (gammaln(gamma) - gammaln(gamma + inner[inner > 0])).sum()
    levels = (gammaln(alpha + n_dl) - gammaln(alpha)).sum()
    levels += (gammaln(alpha.sum()) - gammaln(alpha.sum() + n_dl.sum(axis=1))).sum()
    mass = eta * data.n_words
    words = (gammaln(n_kw[n_kw > 0] + eta) - gammaln(eta)).sum()
    words += (gammaln(mass) - gammaln(mass + n_kw.sum(axis=1))).sum()
    return float(tree + levels + words)


def prior_of(model: Model) -> Hyperparameters:
    """Return the hyperparameters of the config."""
    return Hyperparameters(level_prior(model), model.gamma, model.eta)


def held_by_sweep(settings: Settings) -> int:
    """Return the bytes of each word and node that sweeps hold besides the state: none."""
    return 0


SweepBytes = Callable[[Settings], int]
"""The bytes of each word and node that sweeps hold besides the state."""


def at_most(held: SweepBytes, corpus: Bags, settings: Settings, n_nodes: int) -> int:
    """Return the bytes of tokens and counts, and of the largest other arrays.

    That is the start, a sweep, which holds so many bytes, or the summary. Tokens of a corpus in
    files lie in files, too.
    """
    depth = settings.model.depth
    counts = 4 * (n_nodes + LINE * depth) * corpus.n_words + 8 * depth * corpus.n_docs
    tokens, theta = 3 * corpus.n_tokens + 12 * corpus.n_pairs, 30 * depth * corpus.n_docs
    if isinstance(corpus, Shelf):
        tokens = theta = 0
    clusters = settings.inference.start == "clusters"
    start = PAIR_BYTES * min(corpus.n_pairs, MOST_PAIRS) if clusters else 0
    documents = 40 * depth * corpus.n_docs
    summary = 24 * n_nodes * corpus.n_words + theta
    sweeps = held(settings) * n_nodes * corpus.n_words
    return KEPT + counts + tokens + max(start, documents + max(sweeps, summary))


def memory(held: SweepBytes, corpus: Bags, settings: Settings) -> int:
    """Return the bytes of a fit, assuming that the tree stays as large as its first one."""
    return at_most(held, corpus, settings, nodes_for(corpus, settings))


def memory_from(held: SweepBytes, state: State, corpus: Bags, settings: Settings) -> int:
    """Return the bytes of a fit whose tree is as large as that of a state."""
    return at_most(held, corpus, settings, int((state.chain.visits > 0).sum()))


def nodes_for(corpus: Bags, settings: Settings) -> int:
    """Return the approximate number of nodes: that of the start, which sweeps change little.

    Documents that are seated one by one begin with about half as many as clusters.
    """
    inference, n_leaves = settings.inference, leaves_for(corpus.n_docs)
    if inference.restarts > 1 or inference.start == "sequential":
        n_leaves = -(-n_leaves // 2)
    return 1 + sum(widths(settings.model.depth, n_leaves))


def _due(every: int, iteration: int) -> bool:
    return every > 0 and iteration % every == 0


def _draw_prior(
    chain: Chain,
    hyper: Hyperparameters,
    inference: Inference,
    n_held: int,
    rng: np.random.Generator,
) -> Hyperparameters:
    if "gamma" not in inference.hold:
        gamma = hyperparameters.draw_gamma(chain, hyper.gamma, rng, n_held)
        hyper = hyper._replace(gamma=gamma)
    if "eta" not in inference.hold:
        hyper = hyper._replace(eta=hyperparameters.draw_eta(chain, hyper.eta, rng))
    if "level_prior" not in inference.hold:
        level = hyperparameters.draw_level_prior(chain.n_dl, hyper.level, rng)
        hyper = hyper._replace(level=level)
    return hyper


BURN_IN = 50
N_SAMPLES = 150


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return this draw as a tree: each document in the slot of its leaf."""
    chain, hyper = state.chain, state.prior
    live = np.flatnonzero((chain.visits > 0) | (np.arange(len(chain.visits)) == 0))
    number = np.zeros(len(chain.visits), dtype=np.int64)
    number[live] = np.arange(len(live))
    visits, inner = chain.visits[live], live < chain.first[-2]
    parent = number[chain.parent[live]]
    parent[0] = ROOT
    above = np.zeros(len(live))
    for node in range(1, len(live)):
        share = visits[node] / (visits[parent[node]] + hyper.gamma)
        above[node] = above[parent[node]] + np.log(share)
    log_mass = above + np.where(inner, np.log(hyper.gamma / (visits + hyper.gamma)), 0.0)
    leaf = number[chain.path[:, -1]]
    shape = (data.n_docs, len(live))
    slots = sparse.csr_array((np.ones(data.n_docs), leaf, np.arange(data.n_docs + 1)), shape=shape)
    weights = data.room.empty(chain.n_dl.shape, np.float64)
    np.add(chain.n_dl, hyper.level, out=weights)
    weights /= weights.sum(axis=1, keepdims=True)
    # Seed words are not among the counts of nodes that are shown.
    n_wn, own = chain.n_wk[:, live], -data.seeds.weight
    np.add.at(n_wn, (data.seeds.word, number[chain.first[1] + data.seeds.name]), own)
    return common.summarise(
        common.HldaSummaryInput(
            parent=parent,
            n_wn=n_wn,
            slot_probs=slots,
            level_weights=weights,
            log_mass=log_mass,
            eta=hyper.eta,
            level_prior=hyper.level,
            n_tokens=float(data.n_tokens),
            extra={},
            room=data.room,
            seeds=data.seeds,
            named=number[chain.first[1] + data.seeds.first_topics],
        )
    )


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return theta and the paths of new documents, the topics of the tree held fixed.

    Source: theory/ncrp 6.

    They are averages over samples of a document's path and level weights; topics come from
    the training counts alone, and new branches have the flat topic. The randomness of a document
    derives from its counts.
    """
    fitted = _fitted(tree)
    counts = corpus.counts
    n_nodes, depth = len(fitted.parent), len(fitted.level_prior)

    def sample(doc: int) -> tuple[F64, F64]:
        cells = slice(counts.indptr[doc], counts.indptr[doc + 1])
        # One type, so that the same counts have the same bytes however they were read.
        words, times = counts.indices[cells].astype(np.int32), counts.data[cells].astype(np.int32)
        rng = context.rng("infer", zlib.crc32(words.tobytes()), zlib.crc32(times.tobytes()))
        burn_in, n_samples = (BURN_IN, N_SAMPLES) if len(words) else (0, 1)
        shares = kernels.sample_document(words, times, fitted, burn_in, n_samples, rng)
        chances = shares.sum(axis=1)
        found = chances > RARE
        return chances, shares[found] / chances[found, None]

    sampled = context.map(sample, range(corpus.n_docs))
    chances = np.array([chances for chances, _ in sampled]).reshape(corpus.n_docs, n_nodes)
    weights = np.concatenate([np.empty((0, depth)), *(weights for _, weights in sampled)])
    return place(fitted.parent, depth, sparse_rows(chances), weights)


def _fitted(tree: Tree) -> FittedTree:
    """Return the tree without its last row, the one outside, laid out for the kernels."""
    return FittedTree(
        phi=np.ascontiguousarray(tree.phi[:-1].T),
        parent=tree.parent[:-1],
        depth=tree.depth[:-1],
        log_mass=tree.extra["log_mass"][:-1],
        level_prior=tree.extra["level_prior"],
    )


def sampler(
    sweep: Sweep,
    held: SweepBytes = held_by_sweep,
    summarise: Callable[[State, Data, Settings, Context], Summary] = summarise,
    *,
    remote_tasks: bool = False,
) -> tuple[Backend[Corpus, Data, State, Settings], Backend[Corpus, Data, Chains[State], Settings]]:
    """Return the sampler with the given sweep of documents, for one chain and for several."""
    one = Backend(
        Model=Model,
        Inference=Inference,
        State=State,
        Info=Info,
        objective_name="log joint probability",
        prepare=prepare,
        init=init,
        step=partial(step, sweep),
        summarise=summarise,
        infer=infer,
        extra=common.EXTRA,
        objective=objective,
        simulate=simulate,
        memory=partial(memory, held),
        from_counts=True,
        memory_from=partial(memory_from, held),
        out_of_core=True,
        remote_tasks=remote_tasks,
        by_token=("chain.level", "tries.level"),
        extend_state=extend_state,
        merge_extra=merge_extra,
        per_chain=per_chain,
        draw_hyperparameters=draw_hyperparameters,
        flaw=flaw,
    )
    several = chains(one, score=score, keep=keep, revive=revive, numbered=True, before=before)
    return one, several


def one_by_one(
    data: Data, chain: Chain, hyper: Hyperparameters, settings: Settings, context: Context
) -> Chain:
    """Redraw documents in their order, topics and branches integrated out throughout."""
    return sweep(data, chain, hyper, context.rng("sweep"))


def summarise_one_by_one(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return this draw as a tree; say that shards have no effect."""
    notes = notes_on_idle_shards(settings.inference.shards, "documents")
    return summarise(state, data, settings, context).noting(*notes)


one, backend = sampler(one_by_one, summarise=summarise_one_by_one)
