"""Documents drawn from a fitted tree, for the protocol ``empirical`` (theory/tssb 6)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hiertopics.data.tree import Tree
from hiertopics.families.tssb.layout import Process
from hiertopics.families.tssb.share_kernels import draw_newcomers
from hiertopics.model import Components, Settings

BLOCK = 1000


def predictive(
    tree: Tree, n_samples: int, settings: Settings, rng: np.random.Generator
) -> Iterator[Components]:
    """Yield ``n_samples`` draws of topic shares, those of one node as one component.

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
        draw_newcomers(drawn, tree.depth[chosen], kappa, process, rng)
        yield Components(np.ones(len(chosen)), drawn, tree.extra["topics"])
