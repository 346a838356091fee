"""Comparison of a tree with the trees of resamples, shared by ``support`` and fits.

theory/agreement 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import stdtrit

from hiertopics.base import seeds
from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.data.support import (
    FEWEST,
    Transfer,
    in_tree,
    masses,
    support_of,
    transfer,
    word_orders,
    word_shares,
)
from hiertopics.corpus.data.tree import NodeSupport, Tree
from hiertopics.corpus.data.treeshares import TreeShares, tree_shares

SCHEMA = "hiertopics.support/1"
PART = 0.9
"""The share of the training documents in a resample."""

PERMUTATIONS = 20

CHANCE_ABOVE = 0.025
"""Chance that a mean lies above its interval."""


@dataclass(frozen=True, eq=False)
class Basis:
    """A tree whose nodes are supported. lengths: int64 [n_docs], tokens of its documents.

    word_counts: int64 [n_words], tokens of each word; None in a tree without words.
    """

    tree: Tree
    theta: sparse.csr_array
    lengths: I64
    word_counts: I64 | None

    @cached_property
    def shares(self) -> TreeShares:
        """The shares of the documents."""
        return tree_shares(self.tree, self.theta)

    @cached_property
    def shares_of_words(self) -> TreeShares:
        """The shares of the words."""
        return tree_shares(self.tree, word_shares(self.tree))


class TreeComparison(NamedTuple):
    """The result of a comparison with one other tree. words: None if there are none."""

    documents: Transfer
    words: Transfer | None


def resampled_rows(seed: int, n_docs: int, number: int) -> I64:
    """Return which of a run's training documents are in a resample: int64 [n], ascending places.

    n is ``PART`` of ``n_docs``.
    """
    rng = seeds.derive(seed, "support documents", number)
    chosen = rng.permutation(n_docs)[: max(1, round(PART * n_docs))]
    return np.sort(chosen)


def held_against(
    seed: int,
    basis: Basis,
    number: int,
    rows: I64,
    tree: Tree,
    theta: sparse.csr_array,
    counts: I64 | None,
) -> TreeComparison:
    """Compare a tree with another one.

    rows: int64 [n_rows], ascending, the places of its documents in ``basis``. theta: CSR [n_rows,
    n_nodes] of the tree. counts: int64 [n_words], tokens of its words; None in a tree without
    words.
    """
    lengths = basis.lengths[rows]
    own = masses(basis.shares.of_documents(rows), lengths)
    other = masses(tree_shares(tree, theta), lengths)
    rng = seeds.derive(seed, "support permutations", number)
    orders = [rng.permutation(len(rows)) for _ in range(PERMUTATIONS)]
    documents = transfer(own, other, orders)
    if basis.word_counts is None or counts is None:
        return TreeComparison(documents, None)
    known = np.flatnonzero((basis.word_counts > 0) & (counts > 0))
    tokens = basis.word_counts[known]
    both = (basis.shares_of_words, tree_shares(tree, word_shares(tree)))
    sides = [masses(shares.of_documents(known), tokens) for shares in both]
    words_rng = seeds.derive(seed, "support words", number)
    words = transfer(sides[0], sides[1], word_orders(tokens, PERMUTATIONS, words_rng))
    return TreeComparison(documents, words)


def node_support(basis: Basis, found: Sequence[TreeComparison]) -> NodeSupport:
    """Return the support of the nodes from the comparisons with all resamples."""
    shares, n_nodes = basis.shares, basis.tree.n_nodes
    documents = in_tree(support_of([one.documents for one in found]), shares, n_nodes)
    words: F64 | None = None
    by_words = [one.words for one in found if one.words is not None]
    if len(by_words) == len(found):
        words = in_tree(support_of(by_words), shares, n_nodes)
    return NodeSupport(documents, words)


def branch_interval(basis: Basis, found: Sequence[TreeComparison]) -> dict[str, float | None]:
    """Return the mean support of the nodes at depth 1, and its 95% interval over resamples.

    mean, low, high: from 0 to 1; low and high are None for fewer than ``FEWEST`` resamples. The
    standard error is that of the jackknife over resamples (B. Efron and C. Stein: The jackknife
    estimate of variance, 1981), the quantile that of Student's t. The corpus is held fixed.
    """
    branches = basis.shares.rows[basis.shares.branches]
    n = len(found)

    def mean(some: Sequence[TreeComparison]) -> float:
        return float(node_support(basis, some).value[branches].mean()) if len(branches) else 0.0

    told = mean(found)
    if n < FEWEST:
        return {"mean": told, "low": None, "high": None}
    without = np.array([mean([*found[:at], *found[at + 1 :]]) for at in range(n)])
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    half = float(stdtrit(n - 1, 1 - CHANCE_ABOVE) * error)
    return {"mean": told, "low": max(0.0, told - half), "high": min(1.0, told + half)}


def headed(n_resamples: int, model: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the first entries of support.json."""
    return {
        "schema": SCHEMA,
        "model": model,
        "resamples": n_resamples,
        "part": PART,
        "permutations": PERMUTATIONS,
        "settings": dict(settings),
    }


def node_records(tree: Tree, supported: NodeSupport) -> list[dict[str, Any]]:
    """Return a record for each node that is shown."""
    below = tree.subtree_weight * tree.n_tokens.sum()
    return [
        {
            "id": node,
            "depth": int(tree.depth[node]),
            "n_tokens": float(below[node]),
            "documents": _number(supported.documents[node]),
            "words": None if supported.words is None else _number(supported.words[node]),
            "support": _number(supported.value[node]),
        }
        for node in tree.shown.tolist()
    ]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
