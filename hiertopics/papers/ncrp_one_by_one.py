"""The paper's starts: documents come one by one and may open new paths (theory/ncrp 4)."""

from __future__ import annotations

import numpy as np
from scipy.special import psi, softmax

from hiertopics.base.arrays import F64, I32
from hiertopics.contract.model import Context
from hiertopics.families.ncrp.config import VariationalSettings as Settings
from hiertopics.families.ncrp.variational.expectations import outside_log_chance
from hiertopics.families.ncrp.variational.state import Data
from hiertopics.families.nested.slots import fit_sticks, in_order, log_masses, nodes_of, renumbered

ROUNDS = 5


class GrowingTree:
    """A tree that grows by documents, its nodes numbered as they came.

    counts: float64 [n_words, capacity]; mass: documents in each node's slot.
    """

    def __init__(self, n_words: int, depth: int, gamma: float, eta: float) -> None:
        self.depth, self.gamma, self.eta = depth, gamma, eta
        self.parent, self.level = [-1], [0]
        self.path = [[0] + [-1] * (depth - 1)]
        self.mass = [0.0]
        self.counts = np.zeros((n_words, 64))
        self.totals = np.zeros(64)

    @property
    def n_leaves(self) -> int:
        """Number of full paths."""
        return self.level.count(self.depth - 1)

    def log_mass(self) -> F64:
        """Return LM of each slot for the documents added so far, float64 [n_nodes]."""
        parent = np.array(self.parent)
        order = in_order(parent, np.arange(len(parent)))
        nodes = nodes_of(renumbered(parent, order), self.depth)
        sticks = fit_sticks(nodes, np.array(self.mass)[order], self.gamma)
        result = np.empty(len(parent))
        result[order] = log_masses(nodes, sticks, self.gamma)
        return result

    def log_chances(self, words: I32) -> F64:
        """Return E log phi of some words by slot and level, [n_words, n_nodes, depth]."""
        n_nodes = len(self.parent)
        n_words = len(self.counts)
        table = psi(self.counts[words, :n_nodes] + self.eta)
        table -= psi(self.totals[:n_nodes] + n_words * self.eta)
        table = np.column_stack([table, np.full(len(words), outside_log_chance(self.eta, n_words))])
        return table[:, np.array(self.path)]  # -1, outside, is the last column

    def extend(self, node: int) -> int:
        """Append a chain from ``node`` to the last level; return its leaf."""
        while self.level[node] < self.depth - 1:
            new = len(self.parent)
            self.parent.append(node)
            self.level.append(self.level[node] + 1)
            path = list(self.path[node])
            path[self.level[new]] = new
            self.path.append(path)
            self.mass.append(0.0)
            node = new
            if new >= self.counts.shape[1]:
                self.counts = np.hstack([self.counts, np.zeros_like(self.counts)])
                self.totals = np.append(self.totals, np.zeros_like(self.totals))
        return node

    def add(self, leaf: int, words: I32, tokens: F64) -> None:
        """Put a document on a full path; tokens [n_words, depth]."""
        self.mass[leaf] += 1.0
        path = np.array(self.path[leaf])
        self.counts[np.ix_(words, path)] += tokens
        self.totals[path] += tokens.sum(axis=0)


def grow_by_documents(
    data: Data, settings: Settings, prior: F64, most_leaves: int, context: Context
) -> GrowingTree:
    """Return the tree after every document, in random order, has taken a path.

    The start ``separate`` opens a path for each; ``sequential`` only where the slot that is
    drawn leaves the tree. With ``most_leaves`` paths no more are opened.
    """
    model = settings.model
    tree = GrowingTree(data.n_words, model.depth, model.gamma, model.eta)
    rng = context.rng("start")
    always = settings.inference.start == "separate"
    for doc in rng.permutation(data.n_docs):
        pairs = slice(data.cells.ptr[doc], data.cells.ptr[doc + 1])
        words, count = data.cells.word[pairs], data.cells.tokens[pairs].astype(np.float64)
        log_table, log_mass = tree.log_chances(words), tree.log_mass()
        tau = prior * (1.0 + count.sum() / prior.sum())
        log_prob = _slot_scores(log_table, count, log_mass, tau, prior)
        inner = np.array(tree.level) < model.depth - 1
        full = tree.n_leaves >= most_leaves
        if full or (always and inner.any()):
            log_prob = np.where(inner != full, log_prob, -np.inf)
        leaf = tree.extend(int(rng.choice(len(log_prob), p=softmax(log_prob))))
        log_levels = tree.log_chances(words)[:, leaf] + psi(tau)
        tree.add(leaf, words, count[:, None] * softmax(log_levels, axis=1))
    return tree


def _slot_scores(log_table: F64, count: F64, log_mass: F64, tau: F64, prior: F64) -> F64:
    """Return the slots' log weights for one document; tau [depth] is fitted in place."""
    scores = log_mass
    for _ in range(ROUNDS):
        weighted = log_table + (psi(tau) - psi(tau.sum()))
        log_total = np.logaddexp.reduce(weighted, axis=2)
        scores = log_mass + count @ log_total
        tokens = np.einsum("w,wsl->sl", count, np.exp(weighted - log_total[:, :, None]))
        tau[:] = prior + softmax(scores) @ tokens
    return scores
