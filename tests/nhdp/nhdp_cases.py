"""Trees, corpora and states for the tests of the nested HDP."""

from __future__ import annotations

from typing import Any

import numpy as np
from naive_nhdp import DOCUMENT, PHI, T5, Naive
from stepping import SERIAL, at, corpus_of

from hiertopics.base.arrays import F64, I64, Floats
from hiertopics.base.room import Room
from hiertopics.contract.engine import Each, Workers
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.tree import Tree
from hiertopics.families.flat.layout import Data, Piece, build_piece, lay_out, parts_of
from hiertopics.families.nhdp import documents
from hiertopics.families.nhdp.document_kernels import unpack
from hiertopics.families.nhdp.layout import AnyLocal, shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.state import State, counted, sweep

CERTAIN = 1e9
"""Tokens that hold a topic where it is."""


def mixing_of(tree: Naive) -> Mixing:
    """Return what the documents of a naive tree share."""
    parts = (tree.share, tree.concentration, tree.stop_a, tree.stop_b)
    return Mixing(shape_of(np.array(tree.parent)), *(np.array(part, float) for part in parts))


def naive_of(mixing: Mixing) -> Naive:
    """Return the same, slowly."""
    return Naive(mixing.shape.parent.tolist(), *(part.tolist() for part in mixing[1:]))


def random_parent(rng: np.random.Generator, n_nodes: int) -> I64:
    """Return a random tree, nodes breadth first and siblings contiguous."""
    above = np.sort(np.concatenate([[0], rng.integers(0, np.arange(1, n_nodes - 1))]))
    # Sorted parents below the node itself make the breadth-first order of some tree.
    return np.concatenate([[-1], np.minimum(above, np.arange(n_nodes - 1))])


def random_mixing(rng: np.random.Generator, n_nodes: int) -> Mixing:
    """Return a random tree with random shares, concentrations and weights of stopping."""
    shape = shape_of(random_parent(rng, n_nodes))
    inner = shape.n_children > 0
    share = np.ones(n_nodes)
    for node in shape.inner:
        children = shape.children(int(node))
        share[children] = rng.dirichlet(np.ones(children.stop - children.start))
    rows = rng.gamma(2.0, 0.7, (3, n_nodes))
    leaf = ((0.0, rows[0]), (1.0, rows[1]), (0.0, rows[2]))
    return Mixing(shape, share, *(np.where(inner, row, at_leaf) for at_leaf, row in leaf))


def state_of(
    mixing: Mixing,
    data: Data,
    by_node: Floats,
    workers: Workers = SERIAL,
    least: float = 0.0,
) -> State:
    """Return the state of these responsibilities [n_pairs, K], in their dtype."""
    parts = np.split(by_node, data.cell_bounds[1:-1])

    def own(piece: Piece, resp: Floats) -> AnyLocal:
        cuts = piece.cells.cuts
        rows = lambda first, last: resp[cuts[first, 0] : cuts[last - 1, -1]]  # noqa: E731
        return documents.begin(piece, rows, mixing.shape.ancestry, least, Room())

    place = at(0, workers=workers).place
    local = place(build_piece, parts_of(data), own, Each(parts))
    return counted(local, mixing, data, by_node.dtype)


def resp_of(state: State, data: Data) -> Floats:
    """Return q(z) of all pairs at all nodes, [n_pairs, K]."""
    found = np.zeros((len(data.cells.word), len(state.n_k)), state.n_wk.dtype)
    pair = 0
    for number, part in enumerate(parts_of(data)):
        local = state.local.state_of(number)
        for doc, cuts in enumerate(part.cells.cuts):
            nodes = local.node[local.first_node[doc] : local.first_node[doc + 1]]
            n_pairs = cuts[-1] - cuts[0]
            kept = local.resp[local.first_resp[doc] : local.first_resp[doc + 1]]
            rows = np.empty(len(kept), found.dtype)
            unpack(kept, rows)
            found[pair : pair + n_pairs, nodes] = rows.reshape(n_pairs, len(nodes))
            pair += n_pairs
    return found


def n_di_of(state: State) -> Floats:
    """Return the counts of all documents at all nodes, [n_docs, K]."""
    pieces = [state.local.state_of(number) for number in range(state.local.n_pieces)]
    blocks = [block for local in pieces for block in documents.counts_of(local, len(state.n_k))]
    return np.concatenate(blocks)


def random_resp(rng: np.random.Generator, n_pairs: int, n_nodes: int) -> F64:
    """Return random responsibilities."""
    return np.asarray(rng.dirichlet(np.full(n_nodes, 0.5), n_pairs))


def swept(state: State, data: Data, n_sweeps: int, *, eta: float) -> State:
    """Return the state after sweeps, shares as they are."""
    for _ in range(n_sweeps):
        sweep(state, data, eta)
    return state


def tiny_document() -> Data:
    """Return the tiny document laid out."""
    return lay_out(corpus_of([DOCUMENT]), 1, np.float64)


def held_topics(state: State) -> None:
    """Add so many tokens to the topics that they stay where they are."""
    held = CERTAIN * PHI.T
    state.n_wk += held
    state.n_k += held.sum(axis=0)


def tiny_tree(tree: Naive = T5) -> Tree:
    """Return the tiny tree as a run keeps it."""
    n_nodes = len(tree.parent)
    extra: dict[str, Any] = {
        "share": np.array(tree.share),
        "concentration": np.array(tree.concentration),
        "stop": np.column_stack([tree.stop_a, tree.stop_b]).astype(float),
        "eta": np.array([0.1]),
    }
    return Tree(
        phi=PHI.copy(),
        parent=np.array(tree.parent, np.int32),
        kind=np.zeros(n_nodes, np.int8),
        weight=np.full(n_nodes, 1.0 / n_nodes),
        n_docs=np.ones(n_nodes, np.int64),
        n_tokens=np.ones(n_nodes),
        extra=extra,
    )


def tiny_corpus() -> Corpus:
    """Return the tiny document as a corpus."""
    return corpus_of([DOCUMENT])
