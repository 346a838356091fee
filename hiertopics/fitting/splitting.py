"""Leaves of a tree that are split: new topics below them, and all topics fitted anew.

The tokens of a leaf are divided among new topics by a factorisation of their documents and by
rounds of expectation and maximisation; nothing is drawn. Then the backend fits all topics of the
larger tree, whose shape is held (``Backend.refit_on_tree``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import UsageError
from hiertopics.base.stretches import rows_of
from hiertopics.contract import Context, Settings, Summary, Workers, registry
from hiertopics.corpus.data.regrouping import Regrouping, moved, regrouped
from hiertopics.corpus.data.tree import Tree
from hiertopics.fitting.consensus import with_bins
from hiertopics.numeric import factors
from hiertopics.runs.edits import Edit
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir

MergeExtra = Callable[[Tree, Regrouping], Mapping[str, NDArray[Any]]]

ROUNDS = 50
"""Rounds of expectation and maximisation."""

PRIOR = 0.01
"""Pseudo-count of each word in a new topic, and of each new topic in a document."""

FEWEST = 1e-3
"""Expected tokens of a word of a document at the leaf below which the pair is not divided."""


class LeafTopics(NamedTuple):
    """New topics of a leaf.

    phi: float64 [k, n_words]; theta: float64 [n_docs, k]. Rows sum to 1.
    """

    phi: F64
    theta: F64


class SplitTree(NamedTuple):
    """A tree whose leaves were split. numbers: the new number of each old node."""

    summary: Summary
    numbers: dict[int, int]


def require_splittable(run: RunDir) -> None:
    """Raise UsageError where the backend of a run cannot fit topics on a given tree."""
    if registry.load_for(run.experiment).refit_on_tree is None:
        able = ", ".join(registry.which(lambda backend: backend.refit_on_tree is not None))
        raise UsageError(
            f"only nodes of {able} can be split: {run.experiment.backend} cannot fit topics on a "
            "tree whose shape is held"
        )


def split(run: RunDir, before: Summary, parts: Mapping[int, Edit], workers: int) -> SplitTree:
    """Return the tree in which leaves have the given numbers of new topics, fitted anew.

    before: the tree and theta after other edits. parts: the split of each leaf, by its row there.
    The corpus of the run is read. Raises UsageError, which names the split, where a leaf has too
    few documents or words; DataError where the corpus is gone.
    """
    backend = registry.load_for(run.experiment)
    assert backend.refit_on_tree is not None and backend.merge_extra is not None
    train = read_original(run).train
    summary, numbers = before, {node: node for node in before.tree.shown.tolist()}
    for leaf, edit in parts.items():
        try:
            found = divided(tokens_at(summary, numbers[leaf], train.counts), edit.into)
        except UsageError as error:
            raise UsageError(f"{edit}: {error}") from error
        summary, here = below_leaf(summary, numbers[leaf], found, backend.merge_extra)
        numbers = {old: here[new] for old, new in numbers.items()}
    settings = Settings(run.experiment.model, run.experiment.inference)
    with Workers(workers) as pool:
        context = Context(run.experiment.seed, 0, pool)
        fitted = backend.refit_on_tree(summary.tree, summary.theta, train, settings, context)
    fitted = with_bins(fitted, run)
    places = same_nodes(summary.tree, fitted.tree)
    return SplitTree(fitted, {old: places[new] for old, new in numbers.items() if new in places})


def tokens_at(summary: Summary, node: int, counts: sparse.csr_array) -> sparse.csr_array:
    """Return the tokens that documents expect at a node, float64 CSR [n_docs, n_words].

    counts: int CSR [n_docs, n_words]. A token is at a node by its part in theta phi.
    """
    theta, phi = sparse.csr_array(summary.theta), summary.tree.phi
    expected = sparse.csr_array(counts, dtype=np.float64, copy=True)
    at_node = np.asarray(theta[:, [node]].toarray()).ravel()
    for doc in range(counts.shape[0]):
        pairs = slice(expected.indptr[doc], expected.indptr[doc + 1])
        own = slice(theta.indptr[doc], theta.indptr[doc + 1])
        words = expected.indices[pairs]
        chance = theta.data[own] @ phi[theta.indices[own]][:, words]
        part = at_node[doc] * phi[node, words] / np.maximum(chance, np.finfo(float).tiny)
        expected.data[pairs] *= part
    expected.data[expected.data < FEWEST] = 0.0
    expected.eliminate_zeros()
    return expected


def divided(tokens: sparse.csr_array, n_parts: int) -> LeafTopics:
    """Return topics that tokens, CSR [n_docs, n_words], are divided among.

    Raises UsageError where fewer documents or words than topics have tokens.
    """
    docs = np.flatnonzero(np.diff(tokens.indptr))
    words = np.unique(tokens.indices)
    if min(len(docs), len(words)) < n_parts:
        raise UsageError(
            f"{len(docs)} documents have {len(words)} words there, too few for {n_parts} topics"
        )
    inside = sparse.csr_array(tokens[docs][:, words])
    own_phi, own_theta = _maximised(inside, _first_topics(inside, n_parts))
    phi = np.full((n_parts, tokens.shape[1]), PRIOR / tokens.shape[1])
    phi[:, words] += own_phi
    theta = np.full((tokens.shape[0], n_parts), 1.0 / n_parts)
    theta[docs] = own_theta
    return LeafTopics(_normalised(phi), theta)


def _first_topics(tokens: sparse.csr_array, n_parts: int) -> F64:
    """Return words of topics [k, n_words] by factors of rows of length 1, weighted by rarity."""
    n_docs = tokens.shape[0]
    rarity = factors.logarithms((2.0 + n_docs) / (1.0 + np.bincount(tokens.indices)))
    doc = rows_of(tokens.indptr)
    weights = (1 + factors.logarithms(1 + tokens.data)) * rarity[tokens.indices]
    length = np.sqrt(np.bincount(doc, weights * weights, n_docs))
    scaled = (weights / length[doc], tokens.indices, tokens.indptr)
    matrix = sparse.csr_array(scaled, shape=tokens.shape)
    phi = factors.non_negative(matrix, factors.singular(matrix, n_parts))[1] / rarity + PRIOR
    return _normalised(phi)


def _normalised(rows: NDArray[Any]) -> F64:
    """Return rows scaled to sum to 1."""
    return np.asarray(rows / rows.sum(axis=1, keepdims=True), np.float64)


def _maximised(tokens: sparse.csr_array, phi: F64) -> tuple[F64, F64]:
    """Return phi and theta after rounds of expectation and maximisation."""
    n_docs, (n_parts, n_words) = tokens.shape[0], phi.shape
    doc = rows_of(tokens.indptr)
    theta = np.full((n_docs, n_parts), 1.0 / n_parts)
    for _ in range(ROUNDS):
        share = theta[doc] * phi[:, tokens.indices].T
        share *= (tokens.data / share.sum(axis=1))[:, None]
        by_doc = [np.bincount(doc, column, n_docs) for column in share.T]
        by_word = [np.bincount(tokens.indices, column, n_words) for column in share.T]
        theta = _normalised(np.column_stack(by_doc) + PRIOR)
        phi = _normalised(np.stack(by_word) + PRIOR)
    return phi, theta


def below_leaf(
    summary: Summary, leaf: int, found: LeafTopics, merge_extra: MergeExtra
) -> tuple[Summary, dict[int, int]]:
    """Return the tree with topics below a leaf, which keeps no tokens, and where old nodes are."""
    tree, n_parts = summary.tree, len(found.phi)
    # First they stand beside the leaf, with what it has; then they are moved below it.
    rows = np.insert(np.arange(tree.n_nodes), leaf + 1, np.full(n_parts, leaf))
    number = np.flatnonzero(np.diff(rows, prepend=-1))
    added = leaf + 1 + np.arange(n_parts)
    parent = np.where(tree.parent[rows] < 0, -1, number[tree.parent[rows]]).astype(np.int32)
    column = sparse.csr_array(summary.theta)[:, [leaf]].toarray()
    others = np.flatnonzero(np.arange(tree.n_nodes) != leaf)
    n = len(rows)
    whole = summary.theta @ _into_columns(others, number[others], (tree.n_nodes, n))
    divided_theta = sparse.csr_array(column * found.theta)
    whole = whole + divided_theta @ _into_columns(np.arange(n_parts), added, (n_parts, n))
    share = (column * found.theta).sum(axis=0) / max(float(column.sum()), np.finfo(float).tiny)
    phi, n_tokens, weight = tree.phi[rows], tree.n_tokens[rows], tree.weight[rows]
    phi[added] = found.phi
    for amounts in (n_tokens, weight):
        amounts[added] *= share
        amounts[leaf] = 0.0
    extra = {
        name: array[rows] if array.shape[:1] == (tree.n_nodes,) else array
        for name, array in tree.extra.items()
    }
    wide = Tree(phi, parent, tree.kind[rows], weight, tree.n_docs[rows], n_tokens, extra)
    now = np.arange(n)
    for one in added[::-1].tolist():  # siblings keep the order of their rows
        grouping = moved(wide, int(now[one]), int(now[leaf]))
        wide = regrouped(wide, grouping, merge_extra(wide, grouping))
        now = grouping.into[now]
    theta = sparse.csr_array(whole @ _into_columns(np.arange(n), now, (n, n)))
    theta.sort_indices()
    return Summary(wide, theta), {old: int(now[number[old]]) for old in tree.shown.tolist()}


def _into_columns(places: I64, columns: I64, shape: tuple[int, int]) -> sparse.csr_array:
    """Return what puts columns of a matrix elsewhere, one in each row of ``places``."""
    return sparse.csr_array((np.ones(len(places)), (places, columns)), shape=shape)


def same_nodes(before: Tree, after: Tree) -> dict[int, int]:
    """Return the node of the tree before the fit for each node of the fitted tree.

    Nodes that ended without a token were left out; what stays is in its order. A node is matched
    with one of its depth whose words are most like its own, one to one.
    """
    if np.array_equal(before.parent, after.parent):
        return {node: node for node in before.shown.tolist()}
    from scipy.optimize import linear_sum_assignment  # slow to import

    found: dict[int, int] = {}
    for depth in range(int(before.depth.max()) + 1):
        old, new = (one.shown[one.depth[one.shown] == depth] for one in (before, after))
        alike = np.sqrt(before.phi[old]) @ np.sqrt(after.phi[new]).T
        mine, theirs = linear_sum_assignment(-alike)
        found |= dict(zip(_ints(old[mine]), _ints(new[theirs]), strict=True))
    return found


def _ints(nodes: I64) -> list[int]:
    return [int(node) for node in nodes]
