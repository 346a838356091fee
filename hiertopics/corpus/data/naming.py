"""Automatic names: the words that each node of a tree is called by, and other orders of its words.

A node with nodes below it is called by what its branch has more of than the corpus and than the
rest of its parent's branch; a leaf by frequent and exclusive words. Siblings have no word in common
among their first ``APART`` ones. A phrase stands for the words that it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.tree import (
    FEW_TOKENS,
    NO_TOKENS,
    NODE,
    ROOT,
    Tree,
    branch_tokens,
    by_branch,
    by_frex,
    by_relevance,
    root_tokens,
)

NAME = "name"
"""The order of words that every view takes where nobody asks for another one."""

NAME_WORDS = 5
"""Words of an automatic name."""

APART = 2
"""First words of a name that no sibling has among its own first ones."""

AMONG = 20
"""Best words of a node among which phrases are looked for, and which siblings' names are held
against: a word is true of a sibling where it is one of the most probable ones of its branch."""

JOINT = "_"
"""Stands between the words of a phrase."""

_TINY = np.finfo(float).tiny
_NONE = np.empty(0, dtype=np.int64)


def by_name(tree: Tree, vocab: Sequence[str]) -> Tree:
    """Return a tree of words ranked as its nodes are called, to be looked at only.

    Above the leaves by p(w | branch) log(p(w | branch) / q(w)), q the larger one of the word's
    share of the corpus and of the rest of the parent's branch. At leaves by FREX: the harmonic mean
    of two ranks among the words that are expected at the leaf, by p(w | leaf) and by the leaf's
    share of the word's tokens (J. Bischof and E. Airoldi: Summarizing topical content with word
    frequency and exclusivity, 2012). A single root has nothing to be told from: its own most
    probable words. A tree of vectors is returned as it is.

    vocab: the words, by column. Ties by column, and between siblings by row.
    """
    if tree.vectors is not None or not len(tree.shown):
        return tree
    ranking = _scores(tree)
    for row in tree.shown.tolist():
        _join_phrases(ranking[row], vocab)
    inner = {ROOT, *tree.parent[tree.shown].tolist()}
    for above in sorted(inner):
        _part(ranking, tree.shown[tree.parent[tree.shown] == above])
    return replace(tree, ranking=ranking)


def name_words(tree: Tree, n_words: int = NAME_WORDS) -> list[I64]:
    """Return the words of the automatic name of each row, by column.

    tree: as ``by_name`` returns it.
    """
    return [tree.top_words(row, n_words) for row in range(tree.n_nodes)]


def name_scores(tree: Tree, names: Sequence[I64]) -> list[float | None]:
    """Return of each row the share of its name's words that are not true of its siblings.

    A word is true of a sibling where it is among the ``AMONG`` most probable words of the sibling's
    branch. None: a node without siblings or words.
    """
    scores: list[float | None] = [None] * tree.n_nodes
    if tree.vectors is not None:
        return scores
    below = branch_tokens(tree)
    above = tree.parent[tree.shown]
    for parent in np.unique(above).tolist():
        siblings = tree.shown[above == parent].tolist()
        common = {row: _best(below[row], AMONG) for row in siblings}
        n_true = np.zeros(below.shape[1], dtype=np.int64)
        for words in common.values():
            n_true[words] += 1
        for row in siblings:
            if len(siblings) > 1 and len(names[row]):
                of_others = n_true[names[row]] - np.isin(names[row], common[row])
                scores[row] = float(1 - (of_others > 0).mean())
    return scores


def _scores(tree: Tree) -> F64:
    """Return the ranking of names before siblings are told apart, [n_nodes, n_words]."""
    # From the last row on tokens give way to ranks: those of a parent stand until its own turn.
    ranking = branch_tokens(tree)
    whole = root_tokens(tree, ranking)
    corpus = whole / max(float(whole.sum()), _TINY)
    is_leaf = ~np.isin(np.arange(tree.n_nodes), tree.parent[tree.shown])
    roots = tree.shown[tree.parent[tree.shown] == ROOT]
    for row in tree.shown[::-1].tolist():
        if len(roots) == 1 and row == roots[0]:
            continue
        above = int(tree.parent[row])
        if is_leaf[row]:
            own = tree.phi[row] * (tree.n_tokens[row] or NO_TOKENS)
            ranking[row] = _frex(tree.phi[row], own, whole)
        else:
            rest = (whole if above == ROOT else ranking[above]) - ranking[row]
            ranking[row] = _excess(ranking[row], rest, corpus)
    others = tree.kind != NODE
    if len(roots) == 1:
        others[roots[0]] = True
    ranking[others] = tree.phi[others]
    return ranking


def _excess(branch: F64, rest: F64, corpus: F64) -> F64:
    """Return how much more of each word a branch has than the corpus and than ``rest``."""
    chances = branch / max(float(branch.sum()), _TINY)
    others = np.maximum(rest, 0)
    among_others = others / max(float(others.sum()), _TINY)
    told = np.maximum(np.maximum(corpus, among_others), _TINY)
    return np.asarray(chances * np.log(np.maximum(chances, _TINY) / told))


def _frex(chances: F64, tokens: F64, whole: F64) -> F64:
    """Return FREX of the words that are expected at a leaf; the others come last, by chance."""
    ranking = chances - 1.0
    words = np.flatnonzero(tokens >= FEW_TOKENS)
    if len(words):
        exclusive = tokens[words] / np.maximum(whole[words], _TINY)
        ranking[words] = 2 / (1 / _ranks(exclusive) + 1 / _ranks(chances[words]))
    return ranking


def _ranks(values: F64) -> F64:
    """Return for each value the share of all that are not larger."""
    return np.asarray(np.searchsorted(np.sort(values), values, side="right") / len(values))


def _join_phrases(scores: F64, vocab: Sequence[str]) -> None:
    """Put each phrase among the best words in the place of the best word that it is made of.

    Those words go behind the others of the best ones.
    """
    best = _best(scores, AMONG).tolist()
    places = {vocab[word]: word for word in best}
    parts: set[int] = set()
    for word in best:
        within = [places[part] for part in vocab[word].split(JOINT) if part in places]
        if JOINT in vocab[word].strip(JOINT) and within:
            scores[word] = max(scores[word], *(scores[part] for part in within))
            parts.update(within)
    lowest = min(scores[word] for word in best) if best else 0.0
    for part in parts:
        scores[part] = lowest


def _part(ranking: F64, siblings: I64) -> None:
    """Reorder the words of siblings so that no two share one of their first ``APART`` words.

    The best pair of a sibling and a word is settled first, then the next. A word that a sibling
    loses stands behind its first ``APART`` words.
    """
    if len(siblings) < 2:
        return
    n_best = min(APART * len(siblings) + AMONG, ranking.shape[1])
    offers = [(row, word) for row in siblings.tolist() for word in _best(ranking[row], n_best)]
    order = sorted(offers, key=lambda offer: (-ranking[offer], offer))
    first: dict[int, list[int]] = {row: [] for row in siblings.tolist()}
    taken: set[int] = set()
    for row, word in order:
        if word not in taken and len(first[row]) < APART:
            first[row].append(int(word))
            taken.add(int(word))
    for row, words in first.items():
        top = float(ranking[row].max())
        for place, word in enumerate(words):
            ranking[row, word] = top + len(words) - place


def _best(scores: F64, n_words: int) -> I64:
    """Return the best words, the best one first, ties by column."""
    n_words = min(n_words, len(scores))
    if not n_words:
        return _NONE
    lowest = np.partition(scores, len(scores) - n_words)[len(scores) - n_words]
    leading = np.flatnonzero(scores >= lowest)
    return np.asarray(leading[np.argsort(-scores[leading], kind="stable")[:n_words]])


ORDERS: dict[str, Callable[[Tree, Sequence[str]], Tree]] = {
    NAME: by_name,
    "prob": lambda tree, vocab: tree,
    "branch": lambda tree, vocab: by_branch(tree),
    "relevance": lambda tree, vocab: by_relevance(tree),
    "frex": lambda tree, vocab: by_frex(tree),
}
"""What ranks the words of a node, by its name in ``--words-by``."""


def in_order(
    tree: Tree, vocab: Sequence[str], words_by: str | None = None, otherwise: str = NAME
) -> Tree:
    """Return a tree whose top words are by ``words_by``, to be looked at only.

    words_by: one of ``ORDERS``; None: ``otherwise``. Raises UsageError for an order that
    there is not, and for one of words where the tree is of vectors.
    """
    require_order(tree, words_by)
    if tree.vectors is not None:
        return tree
    return ORDERS[otherwise if words_by is None else words_by](tree, vocab)


def require_order(tree: Tree, words_by: str | None) -> None:
    """Raise UsageError for an order of words that there is not, or that vectors do not have."""
    if words_by is not None and words_by not in ORDERS:
        near = get_close_matches(words_by, ORDERS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(ORDERS)}"
        raise UsageError(f"unknown order of words {words_by!r}; {hint}")
    if tree.vectors is not None and words_by not in (None, "prob", NAME):
        needs = f"--words-by {words_by} needs a tree of words"
        raise UsageError(f"{needs}; this one is of vectors")


class Names(NamedTuple):
    """Automatic names of a tree's rows.

    words: the words of each name, by column. texts: the same as one string each. scores: see
    ``name_scores``.
    """

    words: list[I64]
    texts: list[str]
    scores: list[float | None]


def names_of(
    tree: Tree, vocab: Sequence[str], n_words: int = NAME_WORDS, words_by: str | None = None
) -> Names:
    """Return the automatic names of a tree's rows; of vectors those of their most telling columns.

    Of vectors without telling columns names are empty. words_by: names are the first words by this
    order, one of ``ORDERS``; None: ``name``. Raises UsageError as ``in_order``.
    """
    ordered = in_order(tree, vocab, words_by)
    if tree.vectors is not None and tree.has_words and words_by in (None, NAME):
        ordered = by_name(tree, vocab)
    words = name_words(ordered, n_words) if tree.has_words else [_NONE] * tree.n_nodes
    del ordered  # as large as the tree, which scores measure by another array of this size
    texts = [" ".join(vocab[word] for word in name) for name in words]
    return Names(words, texts, name_scores(tree, words))
