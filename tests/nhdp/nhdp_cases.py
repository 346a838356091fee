"""Trees, corpora and states for the tests of the nested HDP."""

from __future__ import annotations

from typing import Any

import numpy as np
from naive_nhdp import DOCUMENT, PHI, T5, Naive
from numpy.typing import NDArray
from stepping import SERIAL, at, corpus_of

from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import Tree
from hiertopics.engine import Workers
from hiertopics.families.flat import variational
from hiertopics.families.flat.layout import Data, dealt, lay_out
from hiertopics.families.nhdp.layout import Columns, columns_of, shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.state import State, sweep

CERTAIN = 1e9
"""Tokens that hold a topic where it is."""


def mixing_of(tree: Naive) -> Mixing:
    """Return what the documents of a naive tree share."""
    parts = (tree.share, tree.concentration, tree.stop_a, tree.stop_b)
    return Mixing(shape_of(np.array(tree.parent)), *(np.array(part, float) for part in parts))


def naive_of(mixing: Mixing) -> Naive:
    """Return the same, slowly."""
    return Naive(mixing.shape.parent.tolist(), *(part.tolist() for part in mixing[1:]))


def random_parent(rng: np.random.Generator, n_nodes: int) -> NDArray[np.int64]:
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
    mixing: Mixing, data: Data, by_node: NDArray[np.floating], workers: Workers = SERIAL
) -> tuple[State, Columns]:
    """Return the state of these responsibilities [n_pairs, K], in their dtype."""
    columns = columns_of(mixing.shape)
    dtype, n_columns = by_node.dtype, columns.n_columns
    resp = np.ascontiguousarray(columns.spread(by_node))
    n_dk = np.zeros((data.n_docs, n_columns), dtype)
    state = State(
        dealt(data, at(0, workers=workers), variational.Local, resp=resp, n_dk=n_dk),
        np.zeros((data.n_words, n_columns), dtype),
        np.zeros(n_columns),
        mixing.shape.parent,
        *(part.copy() for part in mixing[1:]),
    )
    variational.recount(state, data)
    return state, columns


def random_resp(rng: np.random.Generator, n_pairs: int, n_nodes: int) -> NDArray[np.float64]:
    """Return random responsibilities."""
    return np.asarray(rng.dirichlet(np.full(n_nodes, 0.5), n_pairs))


def swept(state: State, data: Data, columns: Columns, n_sweeps: int, *, eta: float) -> State:
    """Return the state after sweeps, shares as they are."""
    for _ in range(n_sweeps):
        sweep(state, data, state.mixing, columns, eta)
    return state


def tiny_document() -> Data:
    """Return the tiny document laid out."""
    return lay_out(corpus_of([DOCUMENT]), 1, np.float64)


def held_topics(state: State, columns: Columns) -> None:
    """Add so many tokens to the topics that they stay where they are."""
    held = columns.spread(CERTAIN * PHI.T)
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
