"""The sampler's state: one record per chain while it moves, flat arrays in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.tssb.layout import Nodes, Process, make_nodes, with_room
from hiertopics.families.tssb.stick_kernels import count
from hiertopics.families.tssb.topic_kernels import Topics

STICKS = ("log_nu", "log_rest", "log_psi", "log_psi_rest")


@dataclass
class State:
    """The current and the best draw of each of C chains, trees in rows of N nodes.

    node: int32 [C n_docs]. z: int16 [C n_tokens] and its counts n_dk int32 [C n_docs, K], n_wk
    int32 [C n_words, K], n_k int64 [C K]. size: int64 [C], nodes in use. parent: int32 [C, N].
    sticks: float64 [C, 4, N], logs of nu, 1 - nu, psi and 1 - psi. value: [C, N, P] and offset
    [C, N], the parameters of nodes. process: float64 [C, 3], alpha0, decay and gamma. law: float64
    [C, L], what the parameters of nodes are drawn from (text: kappa).
    best_*: likewise of the best draw; best_score: float64 [C], -inf: none yet.
    """

    node: NDArray[np.int32]
    z: NDArray[np.int16]
    n_dk: NDArray[np.int32]
    n_wk: NDArray[np.int32]
    n_k: NDArray[np.int64]
    size: NDArray[np.int64]
    parent: NDArray[np.int32]
    sticks: NDArray[np.float64]
    value: NDArray[np.floating]
    offset: NDArray[np.floating]
    process: NDArray[np.float64]
    law: NDArray[np.float64]
    best_node: NDArray[np.int32]
    best_z: NDArray[np.int16]
    best_size: NDArray[np.int64]
    best_parent: NDArray[np.int32]
    best_sticks: NDArray[np.float64]
    best_value: NDArray[np.floating]
    best_offset: NDArray[np.floating]
    best_process: NDArray[np.float64]
    best_law: NDArray[np.float64]
    best_score: NDArray[np.float64]


class Chain(NamedTuple):
    """One chain: node of each datum int32 [n], topics of tokens, tree, process, law [L]."""

    node: NDArray[np.int32]
    topics: Topics
    nodes: Nodes
    process: Process
    law: NDArray[np.float64]


class Draw(NamedTuple):
    """What is kept of a chain's best draw, and its score."""

    node: NDArray[np.int32]
    z: NDArray[np.int16]
    nodes: Nodes
    process: Process
    law: NDArray[np.float64]
    score: float


class Start(NamedTuple):
    """Topics, the law's values [L], the root's parameters [P] and offset: all before the tree."""

    topics: Topics
    law: NDArray[np.float64]
    root: NDArray[np.floating]
    offset: float


class Rows(NamedTuple):
    """What a draw's nodes look like to users: phi [n, n_words], tokens at each node, extras.

    by_node: arrays with a row for each node. whole: arrays of another kind.
    """

    phi: NDArray[np.float64]
    n_tokens: NDArray[np.float64]
    by_node: dict[str, NDArray[Any]]
    whole: dict[str, NDArray[Any]]


class Walk(NamedTuple):
    """A chain and its best draw."""

    chain: Chain
    best: Draw


def drawn(chain: Chain, score: float) -> Draw:
    """Return a copy of what is kept of a chain."""
    nodes = with_room(chain.nodes, len(chain.nodes.parent))
    law = chain.law.copy()
    return Draw(chain.node.copy(), chain.topics.z.copy(), nodes, chain.process, law, score)


def pack(walks: list[Walk]) -> State:
    """Lay chains into a state."""
    chains, bests = [walk.chain for walk in walks], [walk.best for walk in walks]
    counts = {
        name: np.concatenate([getattr(chain.topics, name) for chain in chains])
        for name in Topics._fields
    }
    best = {f"best_{name}": array for name, array in _packed(bests).items()}
    return State(
        **counts,
        **_packed(chains),
        **best,
        best_z=np.concatenate([draw.z for draw in bests]),
        best_score=np.array([draw.score for draw in bests]),
    )


def unpack(state: State, max_depth: int) -> list[Walk]:
    """Return the chains of a state; they share its arrays."""
    n_chains = len(state.size)
    counts = [np.split(getattr(state, name), n_chains) for name in Topics._fields]
    best_z = np.split(state.best_z, n_chains)
    walks = []
    for chain in range(n_chains):
        node, nodes, process, law = _unpacked(state, "", chain, max_depth)
        topics = Topics(*(table[chain] for table in counts))
        now = Chain(node, topics, nodes, process, law)
        node, nodes, process, law = _unpacked(state, "best_", chain, max_depth)
        score = float(state.best_score[chain])
        walks.append(Walk(now, Draw(node, best_z[chain], nodes, process, law, score)))
    return walks


def _packed(draws: list[Any]) -> dict[str, NDArray[Any]]:
    """Return what chains and draws have in common as arrays."""
    capacity = max(len(draw.nodes.parent) for draw in draws)
    trees = [with_room(draw.nodes, capacity) for draw in draws]
    return {
        "node": np.concatenate([draw.node for draw in draws]),
        "size": np.concatenate([tree.size for tree in trees]),
        "parent": np.stack([tree.parent for tree in trees]),
        "sticks": np.stack([[getattr(tree, name) for name in STICKS] for tree in trees]),
        "value": np.stack([tree.value for tree in trees]),
        "offset": np.stack([tree.offset for tree in trees]),
        "process": np.array([draw.process[:3] for draw in draws]),
        "law": np.stack([draw.law for draw in draws]),
    }


def _unpacked(
    state: State, prefix: str, chain: int, max_depth: int
) -> tuple[NDArray[np.int32], Nodes, Process, NDArray[np.float64]]:
    """Return node, tree, process and law of a draw; depths and counts follow from the arrays."""

    def row(name: str) -> NDArray[Any]:
        found: NDArray[Any] = getattr(state, prefix + name)[chain]
        return found

    node = np.split(getattr(state, f"{prefix}node"), len(state.size))[chain]
    parent, size = row("parent"), int(row("size"))
    nodes = make_nodes(len(parent), 0)._replace(
        parent=parent,
        value=row("value"),
        offset=row("offset"),
        **dict(zip(STICKS, row("sticks"), strict=True)),
    )
    nodes.size[0] = size
    for child in range(1, size):
        nodes.depth[child] = nodes.depth[parent[child]] + 1
    count(node, nodes)
    nodes.known[:size] = nodes.n_sub[:size] > 0
    nodes.known[0] = True
    alpha0, decay, gamma = row("process").tolist()
    return node, nodes, Process(alpha0, decay, gamma, max_depth), row("law")
