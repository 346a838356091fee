"""First states of the variational methods (theory/ncrp 4).

A bound is climbed from where it starts, and a topic tree has countless local optima. A few sweeps
of the collapsed sampler move whole documents to other paths and find far better trees than the
moves of the variational method do from the same start; the bound and the held-out score both say
so. From a sequential start this is the "G" of C. Wang, D. Blei, NIPS 2009.

Of a large corpus the first tree is that of random documents; its topics count for all, and the
first sweep finds every document its place.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64, Floats, Ints
from hiertopics.base.stretches import ends_of
from hiertopics.contract import Context, Each
from hiertopics.families.flat import token_layout
from hiertopics.families.flat.token_layout import TokenRanges
from hiertopics.families.ncrp import clustering
from hiertopics.families.ncrp.clustering import leaves_for, nested_clusters, sums_of
from hiertopics.families.ncrp.config import VariationalSettings as Settings, level_prior
from hiertopics.families.ncrp.sampler import chain_kernels, chains
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Hyperparameters
from hiertopics.families.ncrp.variational.expectations import dtype_for
from hiertopics.families.ncrp.variational.slot_kernels import (
    DocumentPairs,
    count_levels,
    seat_documents,
)
from hiertopics.families.ncrp.variational.state import Data, State, counts_of, place, some_of
from hiertopics.families.nested.slots import fit_sticks, in_order, nodes_of, renumbered
from hiertopics.families.nested.tree_state import each

PAPER = "hiertopics.papers.ncrp_one_by_one"
OVERCOMPLETE_BRANCHES, OVERCOMPLETE_TWIGS = 5, 3

UNSURE = 1e-3

LEAP_EVERY = 2
"""Leaps cost as much as several sweeps."""


class FirstTree(NamedTuple):
    """A first tree, nodes in the order of ``nested.slots``.

    parent: int32 [n_nodes]. words: (expected) counts [n_words, n_nodes]. mass: float64 [n_nodes],
    documents in each slot. seats: where its documents are, if that is known.
    """

    parent: I32
    words: Floats
    mass: F64
    seats: SlotSeats | None = None


class SlotSeats(NamedTuple):
    """Documents in slots: leaf int64 [n_docs], the slot of each document up to ``UNSURE``; and tau,
    float64 [n_docs, depth].
    """

    leaf: I64
    tau: F64


def state_of(
    kind: type[State], tree: FirstTree, data: Data, settings: Settings, context: Context
) -> State:
    """Return the state of a tree.

    Where seats are not known, tau starts where the level prior's mean shares out each document.
    """
    model = settings.model
    prior = level_prior(model)
    nodes = nodes_of(tree.parent, model.depth)
    sticks = fit_sticks(nodes, tree.mass, model.gamma)
    lam = (tree.words + model.eta).astype(dtype_for(model.eta))
    if tree.seats is None:
        tau = prior + np.outer(data.doc_lengths, prior / prior.sum())
    else:
        tau = tree.seats.tau
    state = kind(
        local=place(kind, data, context, tau, tree.mass),
        parent=tree.parent,
        stick_a=sticks.a,
        stick_b=sticks.b,
        lam=lam,
        level_prior=prior,
        gamma=model.gamma,
        eta=model.eta,
        n_outside=0.0,
    )
    if tree.seats is None:
        return state
    rows = each(state.local, leaf=tree.seats.leaf)
    seated = Each([_DocumentLeaves(nodes.n_nodes, **own) for own in rows.messages])
    return replace(state, local=state.reseated(_seated, seated))


class _DocumentLeaves(NamedTuple):
    """The leaf of each document of a piece, int64 [n_docs]."""

    n_nodes: int
    leaf: I64


def _seated(piece: DocumentPairs, local: Any, seated: _DocumentLeaves) -> tuple[Any, None]:
    n_nodes, leaf = seated
    chances = np.full((len(leaf), n_nodes), UNSURE / max(n_nodes - 1, 1))
    chances[np.arange(len(leaf)), leaf] = 1.0 - UNSURE
    return local._replace(chances=chances), None


def sampled(data: Data, context: Context) -> Data:
    """Return the documents of the first tree, in memory: for a large corpus random ones with at
    most ``clustering.MOST_PAIRS`` pairs, otherwise all.
    """
    doc_pairs = np.diff(data.cells.ptr)
    if doc_pairs.sum() > clustering.MOST_PAIRS:
        return some_of(data, clustering.some_of(doc_pairs, context.rng("sample")))
    return data if data.shelf is None else some_of(data, np.arange(data.n_docs))


def of_all(tree: FirstTree, seen: Data, data: Data) -> FirstTree:
    """Return a tree of some documents, scaled up to all of them; it seats none."""
    if seen.n_docs == data.n_docs:
        return tree
    n_tokens = [float(max(some.doc_lengths.sum(), 1)) for some in (data, seen)]
    words, mass = tree.words * (n_tokens[0] / n_tokens[1]), tree.mass * (data.n_docs / seen.n_docs)
    return FirstTree(tree.parent, words, mass)


def from_root(data: Data, settings: Settings, context: Context) -> FirstTree:
    """Return the tree of a root alone."""
    parent = np.array([-1], dtype=np.int32)
    mass = np.array([float(max(data.n_docs, 1))])
    return FirstTree(parent, data.word_counts[:, None].astype(np.float64), mass)


def one_by_one(data: Data, settings: Settings, context: Context) -> FirstTree:
    """Return the tree of documents that open paths one by one (the paper's start)."""
    prior, most = level_prior(settings.model), settings.inference.max_nodes // settings.model.depth
    tree = import_module(PAPER).grow_by_documents(data, settings, prior, max(most, 1), context)
    parent, mass = np.array(tree.parent), np.array(tree.mass)
    order = in_order(parent, np.arange(len(parent)))
    counts = np.ascontiguousarray(tree.counts[:, order])
    return FirstTree(renumbered(parent, order), counts, mass[order])


def overcomplete(data: Data, settings: Settings, context: Context) -> FirstTree:
    """Return a full tree whose topics are a share of the corpus plus Gamma(1, 1) noise."""
    model = settings.model
    rng = context.rng("start")
    parent, row = [-1], [0]
    for n_children in [OVERCOMPLETE_BRANCHES, *[OVERCOMPLETE_TWIGS] * (model.depth - 2)]:
        below = range(len(parent), len(parent) + len(row) * n_children)
        parent += [node for node in row for _ in range(n_children)]
        row = list(below)
    parents = np.array(parent, dtype=np.int32)
    nodes = nodes_of(parents, model.depth)
    share = data.word_counts / len(parent)
    counts = np.outer(share, 1.0 / np.diff(nodes.bounds)[nodes.level])
    counts += rng.gamma(1.0, 1.0, counts.shape)
    mass = np.zeros(len(parent))
    mass[nodes.leaves] = data.n_docs / len(nodes.leaves)
    return FirstTree(parents, counts, mass)


def cluster_branches(data: Data, settings: Settings, context: Context) -> I64:
    """Return the branches of a tree of clusters of documents, int [n_docs, depth - 1]."""
    n_leaves = starting_leaves(data.n_docs, settings)
    counts = counts_of(data.cells, data.n_words)
    return nested_clusters(counts, settings.model.depth, n_leaves, context.rng("start"))


def starting_leaves(n_docs: int, settings: Settings) -> int:
    """Return the number of leaves to start with: the config's, or by the number of documents."""
    chosen = settings.inference.start_leaves
    most = max(1, settings.inference.max_nodes // 2)
    return min(int(chosen or leaves_for(n_docs)), most)


def from_paths(branch: Ints, data: Data, settings: Settings) -> FirstTree:
    """Return the tree in which each document takes a path, its words shared by all levels.

    branch: int [n_docs, depth - 1], names of the nodes below the root, unique within a level.
    """
    depth = settings.model.depth
    parent, path = _tree_of(branch)
    counts = counts_of(data.cells, data.n_words) / depth
    rows = [sums_of(counts, path[:, level], len(parent)) for level in range(depth)]
    words = np.ascontiguousarray(np.sum([row.toarray() for row in rows], axis=0).T)
    mass = np.bincount(path[:, -1], minlength=len(parent)).astype(np.float64)
    return FirstTree(parent, words, mass)


def _tree_of(branch: Ints) -> tuple[I32, I64]:
    """Return a tree's parents, and the nodes on each document's path [n_docs, depth].

    Nodes are numbered as in ``nested.slots``, siblings by decreasing number of documents.
    """
    n_docs, n_below = branch.shape
    path = np.zeros((n_docs, n_below + 1), dtype=np.int64)
    parent, size = [-1], [n_docs]
    for level in range(n_below):
        names, place = np.unique(branch[:, level], return_inverse=True)
        path[:, level + 1] = len(parent) + place.ravel()
        above = np.zeros(len(names), dtype=np.int64)
        above[place.ravel()] = path[:, level]
        parent += above.tolist()
        size += np.bincount(place.ravel(), minlength=len(names)).tolist()
    order = in_order(np.array(parent), -np.array(size))
    new_id = np.empty(len(order), dtype=np.int64)
    new_id[order] = np.arange(len(order))
    return renumbered(np.array(parent), order), new_id[path]


def from_assignment(branch: Ints, level_tokens: I32, data: Data, settings: Settings) -> FirstTree:
    """Return the tree of documents on known paths, their tokens on known levels (start "G").

    branch: int [n_docs, depth - 1], names of the nodes below the root, unique within a level.
    level_tokens: int32 [n_pairs, depth], tokens of each (document, word) pair by level. q of the
    path is 1 - ``UNSURE``, the rest spread over all other slots; levels are smoothed by the level
    prior's mean (theory/ncrp 4, initialisation 2).
    """
    parent, path = _tree_of(branch)
    nodes, prior, leaf = (
        nodes_of(parent, settings.model.depth),
        level_prior(settings.model),
        path[:, -1],
    )
    words, mass = np.zeros((data.n_words, nodes.n_nodes)), np.zeros(nodes.n_nodes)
    tau = np.zeros((data.n_docs, nodes.depth))
    share = prior / prior.sum()
    seat_documents(
        data.cells, leaf, level_tokens, share, UNSURE, parent, nodes.bounds, words, mass, tau
    )
    return FirstTree(parent, words, mass, SlotSeats(leaf, prior + tau))


def from_gibbs(data: Data, settings: Settings, context: Context) -> FirstTree:
    """Return the tree of the best draw from a sequential start (theory/ncrp 4)."""
    prior = _prior(settings)
    chain = chains.sequential(_in_tokens(data), prior, context.rng("start"))
    return _tree_of_chain(most_probable(chain, data, settings, context), data, settings)


def from_clusters(data: Data, settings: Settings, context: Context) -> FirstTree:
    """Return the tree of the best draw from a tree of clusters of documents.

    Without sweeps each document's words go in equal parts to the topics on its path.
    """
    branch = cluster_branches(data, settings, context)
    if settings.inference.start_sweeps == 0:
        return from_paths(branch, data, settings)
    chain = chains.on_branches(
        _in_tokens(data), branch, _prior(settings), context.rng("start levels")
    )
    return _tree_of_chain(most_probable(chain, data, settings, context), data, settings)


def most_probable(chain: Chain, data: Data, settings: Settings, context: Context) -> Chain:
    """Return the best of ``start_sweeps`` draws by its log joint, ``chain`` among them."""
    prior, laid_out = _prior(settings), _in_tokens(data)
    best, highest = _kept(chain), chain_kernels.log_joint(chain, prior)
    n_sweeps = settings.inference.start_sweeps
    for sweep in range(1, n_sweeps + 1):
        chain = chains.sweep(laid_out, chain, prior, context.rng("start sweep", sweep))
        if sweep % LEAP_EVERY == 0:
            chain = chains.leap(laid_out, chain, prior, context.rng("start leap", sweep))
        chain = chains.graft(laid_out, chain, prior, context.rng("start graft", sweep))
        log_joint = chain_kernels.log_joint(chain, prior)
        if log_joint > highest:
            best, highest = _kept(chain), log_joint
        context.report(sweep, n_sweeps)
    return best


def _kept(chain: Chain) -> Chain:
    return chain._replace(path=chain.path.copy(), level=chain.level.copy())


def _tree_of_chain(chain: Chain, data: Data, settings: Settings) -> FirstTree:
    """Return the tree of a draw.

    Documents on leaves that ``max_nodes`` has no room for join the largest leaf nearby.
    """
    words = _in_tokens(data).words
    levels = np.zeros((len(words.word), settings.model.depth), np.int32)
    count_levels(words.token_ptr, chain.level, levels)
    branch = folded(chain.path, settings.inference.max_nodes)[:, 1:]
    return from_assignment(branch, levels, data, settings)


def _in_tokens(data: Data) -> token_layout.Data:
    cells = data.cells
    token_ptr = ends_of(cells.tokens)
    words = TokenRanges(cells.ptr, cells.word, token_ptr)
    return token_layout.Data(words, data.n_docs, data.n_words, int(token_ptr[-1]))


def _prior(settings: Settings) -> Hyperparameters:
    model = settings.model
    return Hyperparameters(level_prior(model), model.gamma, model.eta)


def folded(path: Ints, max_nodes: int) -> I64:
    """Return paths [n_docs, L] through at most ``max_nodes`` nodes, at least one path.

    The smallest leaves go first, each to the largest leaf with which it has the most nodes in
    common.
    """
    leaves, place, size = np.unique(path[:, -1], return_inverse=True, return_counts=True)
    way = np.zeros((len(leaves), path.shape[1]), dtype=np.int64)
    way[place.ravel()] = path
    order = np.argsort(-size, kind="stable")
    opened = np.zeros(len(leaves), dtype=np.int64)
    for column in way[order].T:
        opened[np.unique(column, return_index=True)[1]] += 1
    kept = order[: max(1, int(np.searchsorted(opened.cumsum(), max_nodes, side="right")))]
    home = np.arange(len(leaves))
    for leaf in np.setdiff1d(home, kept):
        home[leaf] = kept[np.argmax((way[leaf] == way[kept]).sum(axis=1))]
    return way[home[place.ravel()]]
