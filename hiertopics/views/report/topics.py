"""The nodes of a report: their order, sizes, words, and differences from their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.data.tree import FEW_TOKENS, ROOT, Label, Labels, Tree, branch_tokens
from hiertopics.views.render import View
from hiertopics.views.report.nodes import columns_of, shortened

LAMBDAS = (1.0, 0.8, 0.6, 0.4, 0.2)
"""Weights of relevance for which a node's best words are kept: the slider of the page.

At 0 all would be words of a few tokens that stand nowhere else.
"""

N_TELLING = 12

_NONE = np.empty(0, dtype=np.int64)


class Layout(NamedTuple):
    """The shown nodes in pre-order, heaviest subtree first; places are indices into ``rows``.

    rows: rows of the tree, int64 [n]. parent: places, -1 for a root, int64 [n]. end: the place
    after the last one below each, int64 [n]. place: of each row of the tree, -1 if not shown.
    """

    rows: I64
    parent: I64
    end: I64
    place: I64


def lay_out(tree: Tree, min_docs: int = 0) -> Layout:
    """Return the nodes of a tree that have ``min_docs`` documents, in the order of a report."""
    rows = np.fromiter(View(min_docs=min_docs).nodes(tree), dtype=np.int64)
    place = np.full(tree.n_nodes, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    above = tree.parent[rows]
    parent = np.where(above == ROOT, ROOT, place[above])
    end = np.arange(1, len(rows) + 1)
    for node in range(len(rows) - 1, -1, -1):
        if parent[node] != ROOT:
            end[parent[node]] = max(end[parent[node]], end[node])
    return Layout(rows, parent, end, place)


class TopWords(NamedTuple):
    """For each node, ids of words and their values.

    kind: "probability", "chance" (of a column to be 1) or "loading" (the entry of a vector).
    """

    kind: str
    ids: list[I64]
    values: list[F64]


class BranchWords(NamedTuple):
    """For each node, ids of words at or below it, and their share of its tokens there.

    telling: words that differ from its nearest, at or below it.
    """

    ids: list[I64]
    values: list[F64]
    telling: list[I64]


def words_of(tree: Tree, layout: Layout, background: F64 | None, n_words: int) -> TopWords:
    """Return the words of each node: the ``n_words`` best by probability and by relevance.

    background: share of each word in the corpus, float64 [n_words]; None where words have none.
    Relevance is l log p(w | node) + (1 - l) log (p(w | node) / p(w)) (C. Sievert and K. Shirley:
    LDAvis, 2014), for each l of ``LAMBDAS``. A word without a share in the corpus has no lift. Of
    vectors without words: the longest entries.
    """
    if tree.vectors is not None:
        return _of_vectors(tree, layout, n_words)
    ids, values = [], []
    tokens = _tokens_below(tree)
    log_background = _log_shares(background)
    for row in layout.rows.tolist():
        chances = tree.phi[row]
        own = _own_words(tree, row, tokens[row], n_words)
        best = _best(own, chances[own], log_background, n_words)
        ids.append(best)
        values.append(chances[best])
    return TopWords("probability", ids, values)


def branch_words_of(
    tree: Tree, layout: Layout, background: F64 | None, n_words: int
) -> BranchWords:
    """Return the words of each branch, chosen as by ``words_of``, and those that are telling.

    For each place int64 [n] and float64 [n]. background: as ``words_of`` takes it. Of vectors none;
    of leaves the telling ones alone: what is at a leaf is all that it has.
    """
    ids, values = [_NONE] * len(layout.rows), [np.empty(0)] * len(layout.rows)
    if tree.vectors is not None:
        return BranchWords(ids, values, ids)
    tokens = branch_tokens(tree)
    log_background = _log_shares(background)
    for place in np.flatnonzero(layout.end > np.arange(1, len(layout.end) + 1)).tolist():
        row = int(layout.rows[place])
        chances = tokens[row] / tokens[row].sum()
        some = np.flatnonzero(tokens[row] >= FEW_TOKENS)
        ids[place] = _best(some, chances[some], log_background, n_words)
        values[place] = chances[ids[place]]
    whole = tokens.sum(axis=1)
    telling = [_telling(tree, layout, place, tokens, whole) for place in range(len(layout.rows))]
    return BranchWords(ids, values, telling)


def telling_words(tree: Tree, node: int, n_words: int) -> I64:
    """Return the words that tell a branch of a tree of words from the parent and the siblings.

    int64 [at most n_words], the most telling one first.
    """
    layout, tokens = lay_out(tree), branch_tokens(tree)
    place = int(layout.place[node])
    return _telling(tree, layout, place, tokens, tokens.sum(axis=1))[:n_words]


def _own_words(tree: Tree, row: int, n_tokens: float, n_words: int) -> I64:
    """Return the words that are expected at a node, at least its best ones."""
    own = np.flatnonzero(tree.phi[row] * n_tokens >= FEW_TOKENS)
    return own if len(own) >= n_words else tree.top_words(row, n_words)


def _of_vectors(tree: Tree, layout: Layout, n_words: int) -> TopWords:
    vectors = tree.vectors
    assert vectors is not None
    if tree.has_words:
        ids = [tree.top_words(row, n_words) for row in layout.rows.tolist()]
    else:
        order = np.argsort(-np.abs(vectors[layout.rows]), axis=1, kind="stable")
        ids = list(order[:, :n_words])
    values = [vectors[row, best] for row, best in zip(layout.rows, ids, strict=True)]
    return TopWords("chance" if tree.has_words else "loading", ids, values)


def _tokens_below(tree: Tree) -> F64:
    """Return the tokens of each node; of one without, those of the nodes below it."""
    below = tree.below(tree.n_tokens.astype(np.float64))
    return np.where(tree.n_tokens > 0, tree.n_tokens, below)


def _log_shares(background: F64 | None) -> F64 | None:
    """Return logarithms of the shares of words, 0 for a word without tokens: it has no lift."""
    return None if background is None else np.log(np.where(background > 0, background, 1.0))


def _best(own: I64, chances: F64, log_background: F64 | None, n_words: int) -> I64:
    """Return the best words for any weight of relevance, most probable first, ties by word id."""
    log_chance = np.log(np.maximum(chances, 1e-300))
    found: set[int] = set()
    for weight in LAMBDAS if log_background is not None else LAMBDAS[:1]:
        score = log_chance
        if log_background is not None:
            score = log_chance - (1 - weight) * log_background[own]
        if len(score) > n_words:
            leading = np.argpartition(-score, n_words)[:n_words]
        else:
            leading = np.arange(len(score))
        found.update(leading.tolist())
    kept = np.array(sorted(found), dtype=np.int64)
    order = np.argsort(-chances[kept], kind="stable")
    return np.asarray(own[kept[order]])


def _telling(tree: Tree, layout: Layout, place: int, tokens: F64, whole: F64) -> I64:
    """Return the words that add most to the divergence of a branch from parent and siblings.

    The words of a node and of its siblings are those at or below it, as its name has them; the
    parent's are its own, since all of these are below it. tokens: as ``branch_tokens`` returns
    them. whole: float64 [n_nodes], their sums.
    """
    row = layout.rows[place]
    near = np.flatnonzero(tree.parent == tree.parent[row])
    near = near[(near != row) & (layout.place[near] >= 0)]
    above = int(tree.parent[row])
    own = np.flatnonzero(tokens[row] >= FEW_TOKENS)
    others = tokens[np.ix_(near, own)].sum(axis=0)
    n_others = whole[near].sum()
    if above != ROOT and tree.arrangement is None:
        others = others + tree.phi[above, own] * tree.n_tokens[above]
        n_others += tree.n_tokens[above]
    if not n_others > 0:
        return np.empty(0, dtype=np.int64)
    chances = tokens[row, own] / whole[row]
    gain = chances * np.log(np.maximum(chances, 1e-300) / np.maximum(others / n_others, 1e-300))
    leading = np.argsort(-gain, kind="stable")[:N_TELLING]
    return np.asarray(own[leading[gain[leading] > 0]])


def node_part(tree: Tree, layout: Layout, words: TopWords, ids: Sequence[I64]) -> dict[str, Any]:
    """Return the columns of the part ``nodes``.

    ids: int64 [n] for each node, its words as the report numbers them.
    See docs/report.md for what each column holds.
    """
    return {
        "id": [tree.id_of(row) for row in layout.rows.tolist()],
        "parent": layout.parent.tolist(),
        "end": layout.end.tolist(),
        **columns_of(tree, layout.rows),
        "words": [node.tolist() for node in ids],
        "values": [shortened(values) for values in words.values],
    }


def label_columns(labels: Labels, layout: Layout) -> dict[str, list[Any]]:
    """Return the users' labels of the nodes of a report: name, hidden, note; if there are any."""
    said = [labels.get(row, Label()) for row in layout.rows.tolist()]
    if not any(label != Label() for label in said):
        return {}
    return {name: [getattr(label, name) for label in said] for name in Label._fields}
