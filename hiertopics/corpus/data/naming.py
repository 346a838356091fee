"""Automatic names: the words that each node of a tree is called by, and other orders of its words.

A node with nodes below it is called by what its branch has more of than the corpus and than the
rest of its parent's branch; a leaf by frequent and exclusive words. Siblings have no word in common
among their first ``APART`` ones. A phrase stands for the words that it is made of, and a word for
those that differ from it by their ending.

Words that a whole branch has are often true of few of the branches below it. Such a branch is
mixed, and its name has parts: the first words of the largest branches below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I64, Bools
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.best import largest
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

JOINT, BLANK = "_", " "
"""Stand between the words of a phrase, and of an n-gram."""

STEM, ENDING = 3, 3
"""Words that differ by their last letters alone, ``ENDING`` at most, are like each other if they
have ``STEM`` letters or more in common."""

MOST_PARTS = 4
"""Most parts of the name of a mixed branch, ``APART`` words each."""

LEAST_PART = 0.1
"""Least share of a branch, its own tokens aside, that has a part of the name."""

GIANT = 0.7
"""A branch is mixed if a mixed child holds more than this share of the tokens below the branch."""

BETWEEN = " · "
"""Stands between the parts of a name."""

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

    A branch with branches below it is mixed where more than half of its first ``NAME_WORDS`` words
    are true of less than half of it: its ``parts`` are the first words of the largest branches
    below. A branch is also mixed if one child holds nearly all of it and is mixed itself. The same
    holds of a branch below a mixed one. Parts do not change the ranking of words.

    vocab: the words, by column. Ties by column, and between siblings by row.
    """
    if tree.vectors is not None or not len(tree.shown):
        return tree
    ranking = branch_tokens(tree)
    holdings = _holdings(tree, ranking)
    _rank(tree, ranking)
    known = {*vocab}
    for row in tree.shown.tolist():
        _join_phrases(ranking[row], vocab, known)
        _join_inflections(ranking[row], vocab)
    families = [
        tree.shown[tree.parent[tree.shown] == above]
        for above in np.unique(tree.parent[tree.shown]).tolist()
    ]
    for siblings in families:
        _part(ranking, siblings)
    named = replace(tree, ranking=ranking)
    parts: dict[int, tuple[I64, ...]] = {}
    for siblings in families:
        parts |= _parts_of(named, siblings, holdings)
    return replace(named, parts=parts)


def name_words(tree: Tree, n_words: int = NAME_WORDS) -> list[I64]:
    """Return the words of the automatic name of each row, by column; of a mixed one all.

    For each row an int64 array [at most n_words, or more of a mixed one], the best word first.
    tree: as ``by_name`` returns it.
    """
    return [_words_of(tree, row, n_words) for row in range(tree.n_nodes)]


def called(tree: Tree, vocab: Sequence[str], row: int, n_words: int = NAME_WORDS) -> str:
    """Return the name of a row: its first words, or the parts of its name as ``in_parts``.

    tree: as ``in_order`` returns it.
    """
    if row in tree.parts:
        return in_parts(tuple([vocab[word] for word in part] for part in tree.parts[row]), n_words)
    return " ".join(vocab[word] for word in tree.top_words(row, n_words))


def in_parts(parts: Sequence[Sequence[str]], n_words: int = NAME_WORDS) -> str:
    """Return a name in parts as text.

    It is whole where names have room for ``NAME_WORDS`` words. Where they have less it is so many
    first parts as fit, at least one.
    """
    fit = len(parts) if n_words >= NAME_WORDS else max(n_words // APART, 1)
    return BETWEEN.join(" ".join(part) for part in parts[:fit])


def name_scores(tree: Tree, names: Sequence[I64]) -> list[float | None]:
    """Return of each row the share of its name's words that are not true of its siblings.

    names: as ``name_words`` returns them, int64 [n] for each row. A word is true of a sibling where
    it is among the ``AMONG`` most probable words of the sibling's branch. None: a node without
    siblings or words.
    """
    scores: list[float | None] = [None] * tree.n_nodes
    if tree.vectors is not None:
        return scores
    below = branch_tokens(tree)
    above = tree.parent[tree.shown]
    for parent in np.unique(above).tolist():
        siblings = tree.shown[above == parent].tolist()
        common = {row: largest(below[row], AMONG) for row in siblings}
        n_true = np.zeros(below.shape[1], dtype=np.int64)
        for words in common.values():
            n_true[words] += 1
        for row in siblings:
            if len(siblings) > 1 and len(names[row]):
                of_others = n_true[names[row]] - np.isin(names[row], common[row])
                scores[row] = float(1 - (of_others > 0).mean())
    return scores


class _Holdings(NamedTuple):
    """Facts about the words of branches, bool [n_words] by row, taken before tokens become ranks.

    more: the branch has more of the word than the corpus has; for rows below an inner row. itself:
    half of the word's tokens in the branch, or more, are at its own node; for inner rows.
    """

    more: Mapping[int, Bools]
    itself: Mapping[int, Bools]


def _holdings(tree: Tree, tokens: F64) -> _Holdings:
    """Return the facts that identify mixed branches; tokens: as ``branch_tokens`` returns them."""
    whole, single = root_tokens(tree, tokens), _single_root(tree)
    n_whole = float(whole.sum())
    inner = np.setdiff1d(np.intersect1d(tree.parent[tree.shown], tree.shown), single)
    lower = tree.shown[np.isin(tree.parent[tree.shown], inner)]
    more = {row: tokens[row] * n_whole > whole * tokens[row].sum() for row in lower.tolist()}
    own = {row: 2 * tree.n_tokens[row] * tree.phi[row] >= tokens[row] for row in inner.tolist()}
    return _Holdings(more, own)


def _single_root(tree: Tree) -> list[int]:
    """Return the only root of a tree, which needs no distinct name; no row if there are several."""
    roots: list[int] = tree.shown[tree.parent[tree.shown] == ROOT].tolist()
    return roots if len(roots) == 1 else []


def _rank(tree: Tree, ranking: F64) -> None:
    """Replace tokens of branches by ranks of words in names, before siblings are made to differ."""
    # From the last row on tokens give way to ranks: those of a parent stand until its own turn.
    whole = root_tokens(tree, ranking)
    corpus = whole / max(float(whole.sum()), _TINY)
    is_leaf = ~np.isin(np.arange(tree.n_nodes), tree.parent[tree.shown])
    single = _single_root(tree)
    for row in tree.shown[::-1].tolist():
        if row in single:
            continue
        above = int(tree.parent[row])
        if is_leaf[row]:
            own = tree.phi[row] * (tree.n_tokens[row] or NO_TOKENS)
            ranking[row] = _frex(tree.phi[row], own, whole)
        else:
            rest = (whole if above == ROOT else ranking[above]) - ranking[row]
            ranking[row] = _excess(ranking[row], rest, corpus)
    others = tree.kind != NODE
    others[single] = True
    ranking[others] = tree.phi[others]


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


def _join_phrases(scores: F64, vocab: Sequence[str], known: Set[str]) -> None:
    """Put each phrase among the best words in the place of the best word that it is made of.

    Those words go behind the others of the best ones. So do n-grams that have a word in common with
    a better n-gram, since n-grams overlap, and those that repeat one word. If one of its words is
    not in ``known``, a word with blanks is no n-gram: it may be the name of a species.
    """
    best = largest(scores, AMONG).tolist()
    places = {vocab[word]: word for word in best}
    behind, used = set[int](), set[str]()
    for word in best:
        made_of = vocab[word].strip(JOINT).replace(BLANK, JOINT).split(JOINT)
        is_gram = BLANK in vocab[word] and known >= {*made_of}
        if is_gram and (used.intersection(made_of) or len({*made_of}) == 1):
            behind.add(word)
            continue
        within = [places[part] for part in made_of if part in places]
        if len(made_of) > 1 and within:
            scores[word] = max(scores[word], *(scores[part] for part in within))
            behind.update(within)
        if is_gram:
            used.update(made_of)
    lowest = min(scores[word] for word in best) if best else 0.0
    for word in behind:
        scores[word] = lowest


def _join_inflections(scores: F64, vocab: Sequence[str]) -> None:
    """Put a word that differs from a better one by its ending behind the other best words."""
    best = largest(scores, AMONG).tolist()
    kept: list[int] = []
    for word in best:
        if _alike(vocab, word, kept):
            scores[word] = scores[best[-1]]
        else:
            kept.append(word)


def _part(ranking: F64, siblings: I64) -> None:
    """Reorder the words of siblings so that no two share one of their first ``APART`` words.

    The best pair of a sibling and a word is settled first, then the next. A word that a sibling
    loses stands behind its first ``APART`` words.
    """
    if len(siblings) < 2:
        return
    n_best = min(APART * len(siblings) + AMONG, ranking.shape[1])
    offers = [(row, word) for row in siblings.tolist() for word in largest(ranking[row], n_best)]
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


def _parts_of(tree: Tree, siblings: I64, holdings: _Holdings) -> dict[int, tuple[I64, ...]]:
    """Return the parts of the names of mixed siblings, by row.

    Nobody takes a first word of another sibling, or of another sibling's parts. tree: ranked.
    """
    first = {row: {*tree.top_words(row, APART).tolist()} for row in siblings.tolist()}
    mixed = {row: below for row in first if len(below := _subjects(tree, row, holdings))}
    parts: dict[int, tuple[I64, ...]] = {}
    for row in sorted(mixed, key=lambda one: -float(tree.subtree_weight[one])):
        others = [words for other, words in first.items() if other != row]
        found = _parts_below(tree, mixed[row], holdings, set().union(*others))
        if found:
            parts[row] = found
            first[row] |= {*found[0].tolist()}
    return parts


def _subjects(tree: Tree, row: int, holdings: _Holdings) -> I64:
    """Return the branches that the parts of a mixed branch stand for, the largest first.

    They are its children. If a mixed child holds nearly all of the branch (``GIANT``), the children
    of that child replace it. A branch that is not mixed has none.
    """
    if row not in holdings.itself:
        return _NONE
    children = tree.children(row)
    if _is_mixed(tree, row, children, holdings):
        return children
    weights = tree.subtree_weight[children]
    if weights[0] <= GIANT * weights.sum():
        return _NONE
    below = _subjects(tree, int(children[0]), holdings)
    found = np.concatenate([children[1:], below])
    if not len(below) or not _is_mixed(tree, row, found, holdings):
        return _NONE
    return found[np.argsort(-tree.subtree_weight[found], kind="stable")]


def _is_mixed(tree: Tree, row: int, children: I64, holdings: _Holdings) -> bool:
    """Tell whether most words of a name are true of less than half of the children, by weight.

    A word is true of a branch that has more of it than the corpus, and of all of them where most of
    its tokens are at the node above them.
    """
    name = tree.top_words(row, NAME_WORDS)
    weights = tree.subtree_weight[children]
    true = np.array([holdings.more[child][name] for child in children.tolist()])
    held = weights @ (true | holdings.itself[row][name])
    return bool(2 * (2 * held < weights.sum()).sum() > len(name))


def _parts_below(
    tree: Tree, children: I64, holdings: _Holdings, taken: Set[int]
) -> tuple[I64, ...]:
    """Return first words of the largest of some branches, none of them twice or taken.

    No part where these branches hold less than half of what is below: names of leaves are too
    narrow to speak for the rest.
    """
    shares = tree.subtree_weight[children] / max(tree.subtree_weight[children].sum(), _TINY)
    is_branch = np.array([child in holdings.itself for child in children.tolist()])
    large = np.flatnonzero(is_branch & (shares >= LEAST_PART))[:MOST_PARTS]
    seen, found = set(taken), []
    for child in children[large].tolist() if 2 * shares[large].sum() >= 1 else ():
        best = tree.top_words(child, AMONG).tolist()
        part = [word for word in best if word not in seen][:APART]
        seen.update(part)
        if part:
            found.append(np.array(part, dtype=np.int64))
    return tuple(found) if len(found) > 1 else ()


def _words_of(tree: Tree, row: int, n_words: int) -> I64:
    """Return the words of a name; all of them where it has parts."""
    return np.concatenate(tree.parts[row]) if row in tree.parts else tree.top_words(row, n_words)


def _alike(vocab: Sequence[str], word: int, others: Sequence[int]) -> bool:
    """Tell whether a word and one of some others differ by an ending of the longer one (gun, guns).

    A rule for all languages: the shorter one has ``STEM`` letters or more, the ending ``ENDING`` at
    most.
    """
    for other in others:
        short, long = sorted((vocab[word], vocab[other]), key=len)
        if long.startswith(short) and len(short) >= STEM and len(long) - len(short) <= ENDING:
            return True
    return False


ORDERS: dict[str, Callable[[Tree, Sequence[str]], Tree]] = {
    NAME: by_name,
    "prob": lambda tree, vocab: tree,
    "branch": lambda tree, vocab: by_branch(tree),
    "relevance": lambda tree, vocab: by_relevance(tree),
    "frex": lambda tree, vocab: by_frex(tree),
}
"""Functions that rank the words of nodes, by their names in ``--words-by``."""


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
    ``name_scores``. parts: of mixed branches alone, their words by part.
    """

    words: list[I64]
    texts: list[str]
    scores: list[float | None]
    parts: Mapping[int, list[list[str]]]


def names_of(tree: Tree, vocab: Sequence[str], words_by: str | None = None) -> Names:
    """Return the automatic names of a tree's rows; of vectors those of their most telling columns.

    Of vectors without telling columns names are empty. words_by: names are the first words by this
    order, one of ``ORDERS``; None: ``name``. Raises UsageError as ``in_order``.
    """
    ordered = in_order(tree, vocab, words_by)
    words = name_words(ordered) if tree.has_words else [_NONE] * tree.n_nodes
    texts = [called(ordered, vocab, row) if tree.has_words else "" for row in range(tree.n_nodes)]
    parts = {
        row: [[vocab[word] for word in part] for part in found]
        for row, found in ordered.parts.items()
    }
    del ordered  # as large as the tree, which scores measure by another array of this size
    return Names(words, texts, name_scores(tree, words), parts)
