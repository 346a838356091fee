"""The sampler's state, and what a likelihood tells of its start and of its nodes."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.chains import Chains
from hiertopics.families.tssb.layout import Nodes, Process, make_nodes
from hiertopics.families.tssb.stick_kernels import count
from hiertopics.families.tssb.topic_kernels import Topics
from hiertopics.model import Settings
from hiertopics.states import Arrays

STICKS = ("log_nu", "log_rest", "log_psi", "log_psi_rest")


@dataclass
class State:
    """One draw: node of each datum int32 [n], topics of tokens, tree, process, law [L].

    law: float64, what the parameters of nodes are drawn from (text: kappa).
    """

    node: NDArray[np.int32]
    topics: Topics
    nodes: Nodes
    process: Process
    law: NDArray[np.float64]


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


def keep(state: State) -> State:
    """Return a copy of a state without the counts of topics, which follow from those of tokens."""
    return copy.deepcopy(replace(state, topics=without_counts(state.topics)))


def without_counts(topics: Topics) -> Topics:
    """Return the topics of tokens alone."""
    return Topics(topics.z, topics.n_dk[:0], topics.n_wk[:0], topics.n_k[:0])


def before(arrays: Arrays, settings: Settings) -> Chains[State]:
    """Return the chains of a checkpoint that held them packed, trees in rows of equal length."""
    n_chains, max_depth = len(arrays["size"]), settings.model.max_depth
    parts = {name: np.split(arrays[name], n_chains) for name in (*Topics._fields, "best_z")}
    now, best = [], []
    for chain in range(n_chains):
        topics = Topics(*(parts[name][chain] for name in Topics._fields))
        now.append(_unpacked(arrays, "", chain, topics, max_depth))
        drawn = without_counts(topics)._replace(z=parts["best_z"][chain])
        best.append(_unpacked(arrays, "best_", chain, drawn, max_depth))
    scores = np.array(arrays["best_score"])
    return Chains(now, best if np.isfinite(scores).all() else [], scores)


def _unpacked(arrays: Arrays, prefix: str, chain: int, topics: Topics, max_depth: int) -> State:
    """Return the state of a draw; depths and counts of its tree follow from the arrays."""

    def row(name: str) -> NDArray[Any]:
        found: NDArray[Any] = arrays[prefix + name][chain]
        return found

    node = np.split(arrays[f"{prefix}node"], len(arrays["size"]))[chain]
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
    return State(node, topics, nodes, Process(alpha0, decay, gamma, max_depth), row("law"))
