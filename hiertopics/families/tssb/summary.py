"""Summary of a draw: nodes with data, a row for all others, and new data at them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.base.axes import Axes
from hiertopics.contract.model import Context, Paths, Posterior, Summary
from hiertopics.corpus.data.tree import NODE, OUTSIDE, ROOT, Tree
from hiertopics.families.nested.slots import ancestors
from hiertopics.families.tssb.layout import StickNodes
from hiertopics.families.tssb.state import NodeRows, State
from hiertopics.families.tssb.stick_kernels import log_masses

NEGLIGIBLE = 1e-12
LEAST = -1e4
"""The log of a mass that is zero in double precision."""


def used_nodes(nodes: StickNodes) -> I64:
    """Return the root and all nodes with data at or below them: int64 [n], ascending."""
    used = nodes.n_sub[: nodes.size[0]] > 0
    used[0] = True
    return np.flatnonzero(used)


EXTRA = {
    "log_mass": Annotated[F64, Axes("n_nodes")],
    "below": Annotated[F64, Axes("n_nodes", least=0)],
    "process": Annotated[F64, Axes("4", least=0)],
}
"""Arrays of a tree that inference needs under any likelihood; see ``summarise``."""


def summarise(state: State, used: I64, rows: NodeRows) -> Summary:
    """Return the nodes ``used``, in pre-order, and a last row outside.

    ``Tree.extra`` gets log_mass [n], the log prior mass of each row; below [n], the mass of what
    hangs below a node and holds no datum; process [4]: alpha0, decay, gamma and max_depth; and
    what the likelihood adds: ``rows``. The row outside is the mean of what is there before it has
    data.
    """
    nodes = state.nodes
    n = int(nodes.size[0])
    new_id = np.full(n, ROOT, dtype=np.int32)
    new_id[used] = np.arange(len(used))
    parent = new_id[nodes.parent[used]]
    parent[0] = ROOT
    mass = np.exp(log_masses(nodes)[used])
    below = masses_below(nodes)[used]
    outside = below / below.sum() if below.sum() > 0 else mass / mass.sum()
    outside /= outside.sum()
    n_tokens = np.append(rows.n_tokens, 0.0)
    weight = n_tokens / n_tokens.sum() if n_tokens.sum() > 0 else np.eye(len(used) + 1)[0]
    with np.errstate(divide="ignore"):
        log_mass = np.log(np.append(mass, below.sum()))
    by_node = {name: _with_mean(array, outside) for name, array in rows.by_node.items()}
    tree = Tree(
        phi=_with_mean(rows.phi, outside),
        parent=np.append(parent, ROOT).astype(np.int32),
        kind=np.append(np.full(len(used), NODE), OUTSIDE).astype(np.int8),
        weight=weight,
        n_docs=np.append(nodes.n_sub[used], 0).astype(np.int64),
        n_tokens=n_tokens,
        extra={
            "log_mass": np.maximum(log_mass, LEAST),
            "below": np.append(below, 0.0),
            "process": np.array([float(value) for value in state.process]),
            **by_node,
            **rows.whole,
        },
    )
    home = new_id[state.node]
    shape = (len(home), tree.n_nodes)
    theta = sparse.csr_array((np.ones(len(home)), home, np.arange(len(home) + 1)), shape=shape)
    return Summary(tree, theta, Paths(lineage(tree)[home], np.zeros(len(home))))


def infer(tree: Tree, score: Callable[[int], F64], n_docs: int, context: Context) -> Posterior:
    """Return theta, the chance of each node given a document, and the most probable node's path.

    score: the log likelihood of a document at each row, float64 [n_nodes]. What else nodes have is
    integrated out. All nodes outside the tree count as one, with what is expected there; a new
    document founds no node of its own.
    """

    def weigh(doc: int) -> F64:
        log_weight = tree.extra["log_mass"] + score(doc)
        weight = np.exp(log_weight - logsumexp(log_weight))
        weight[weight < NEGLIGIBLE] = 0.0
        return np.asarray(weight / weight.sum())

    theta = np.array(context.map(weigh, range(n_docs))).reshape(n_docs, tree.n_nodes)
    best = theta[:, tree.shown].argmax(axis=1)
    chance = np.maximum(theta[np.arange(n_docs), best], NEGLIGIBLE)
    return Posterior(sparse.csr_array(theta), Paths(lineage(tree)[best], np.log(chance)))


def masses_below(nodes: StickNodes) -> F64:
    """Return the mass below each node, float64 [n], outside its children with data.

    With the masses of all nodes with data it adds up to 1.
    """
    n = int(nodes.size[0])
    below, left = np.zeros(n), np.ones(n)
    empty = np.zeros(n)
    for node in range(n):
        reach = 1.0
        if node > 0:
            parent = nodes.parent[node]
            share = left[parent] * np.exp(nodes.log_psi[node])
            left[parent] *= np.exp(nodes.log_psi_rest[node])
            reach = below[parent] * share
            if nodes.n_sub[node] == 0:
                empty[parent] += share
        below[node] = reach * np.exp(nodes.log_rest[node])
    return np.asarray(below * (empty + left))


def lineage(tree: Tree) -> I32:
    """Return the path from the root to each row, int32 [n_nodes, n_levels], padded with -1."""
    return ancestors(tree.parent, int(tree.depth.max()) + 1)


def paths_to(nodes: StickNodes, home: I32) -> I32:
    """Return the path to the node of each datum, int32 [n, L], padded with -1."""
    n = int(nodes.size[0])
    n_levels = int(nodes.depth[home].max(initial=0)) + 1
    paths = ancestors(nodes.parent[:n], int(nodes.depth[:n].max()) + 1)
    return np.ascontiguousarray(paths[home, :n_levels])


def _with_mean(rows: NDArray[Any], weights: F64) -> NDArray[Any]:
    """Return rows of nodes with their weighted mean as a last row."""
    return np.vstack([rows, weights @ rows])
