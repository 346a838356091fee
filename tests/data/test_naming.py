"""Automatic names: above the leaves, at leaves, between siblings, of phrases; and their score."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import ArrayLike

from hiertopics.base.errors import UsageError
from hiertopics.cli.options import WORDS_BY
from hiertopics.corpus.data.naming import (
    APART,
    ORDERS,
    by_name,
    in_order,
    name_scores,
    name_words,
    names_of,
)
from hiertopics.corpus.data.tree import Tree

VOCAB = ("common", "shared", "ball", "goal", "vote", "law", "chess", "rare")


def tree_of(parent: Sequence[int], tokens: ArrayLike) -> Tree:
    """Return a tree with these tokens of each word at each node."""
    table = np.array(tokens, dtype=np.float64)
    n_tokens = table.sum(axis=1)
    smoothed = table + 1e-3
    n = len(parent)
    return Tree(
        phi=smoothed / smoothed.sum(axis=1, keepdims=True),
        parent=np.array(parent, np.int32),
        kind=np.zeros(n, np.int8),
        weight=n_tokens / n_tokens.sum(),
        n_docs=np.full(n, 3),
        n_tokens=n_tokens,
    )


@pytest.fixture
def tree() -> Tree:
    """Return a root, two branches of two leaves each; branches share a word at their own nodes."""
    return tree_of(
        (-1, 0, 0, 1, 1, 2, 2),
        [
            [90, 0, 0, 0, 0, 0, 0, 0],
            [10, 30, 0, 0, 0, 0, 0, 0],
            [10, 30, 0, 0, 0, 0, 0, 0],
            [0, 5, 40, 10, 0, 0, 0, 1],
            [0, 5, 10, 5, 0, 0, 30, 0],
            [0, 5, 0, 0, 50, 10, 0, 0],
            [0, 5, 0, 0, 20, 60, 0, 1],
        ],
    )


def first(tree: Tree, node: int, n_words: int = 2) -> list[str]:
    return [VOCAB[word] for word in by_name(tree, VOCAB).top_words(node, n_words)]


def test_above_the_leaves_a_name_is_what_the_branch_has_more_of(tree: Tree) -> None:
    """Neither what a node has itself and its sibling too, nor what the whole corpus has."""
    assert VOCAB[tree.top_words(1, 1)[0]] == "shared"
    assert first(tree, 1) == ["ball", "chess"] and set(first(tree, 2)) == {"vote", "law"}


def test_leaves_are_called_by_frequent_and_exclusive_words(tree: Tree) -> None:
    assert first(tree, 4, 1) == ["chess"] and first(tree, 3, 1) == ["ball"]
    assert first(tree, 5, 1) == ["vote"] and first(tree, 6, 1) == ["law"]


def test_a_single_root_is_called_by_its_own_words(tree: Tree) -> None:
    assert first(tree, 0, 1) == ["common"]


@pytest.mark.parametrize("seed", range(5))
def test_siblings_share_none_of_their_first_words(seed: int) -> None:
    """Equal rows, too: there the words can only be dealt out."""
    rng = np.random.default_rng(seed)
    table = rng.poisson(3.0, (13, 40)).astype(float)
    table[4] = table[3] = table[2]
    parent = np.array([-1, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3])
    tree = tree_of(parent.tolist(), table)
    names = name_words(by_name(tree, [f"w{i}" for i in range(40)]), APART)
    for above in range(4):
        words = np.concatenate([names[node] for node in np.flatnonzero(parent == above)])
        assert len(set(words.tolist())) == APART * (parent == above).sum()


def test_topics_without_a_tree_are_siblings(tree: Tree) -> None:
    flat = tree_of((-1, -1), [[50, 30, 20, 0, 0, 0, 0, 0], [50, 30, 0, 20, 0, 0, 0, 0]])
    assert not set(first(flat, 0)) & set(first(flat, 1))


def test_a_phrase_stands_for_its_words(tree: Tree) -> None:
    vocab = ("common", "shared", "ball", "goal", "vote", "law", "law_vote", "rare")
    tokens = np.round(tree.phi * tree.n_tokens[:, None])
    tokens[5, 6] = tokens[6, 6] = 8
    phrased = tree_of(tree.parent.tolist(), tokens)
    name = [vocab[word] for word in by_name(phrased, vocab).top_words(2, 1)]
    assert name == ["law_vote"]
    words = [vocab[word] for word in by_name(phrased, vocab).top_words(2, 8)]
    assert words.index("vote") > 1 and words.index("law") > 1


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (("free licence", "licence text", "paper"), ["free licence", "paper"]),
        (("text text", "paper", "free"), ["paper", "free"]),
        (("licence", "free licence", "paper"), ["free licence", "paper"]),
        (("quercus alba", "quercus rubra", "paper"), ["quercus alba", "quercus rubra"]),
    ],
    ids=["windows overlap", "one word twice", "its words", "species"],
)
def test_n_grams_that_overlap_stand_for_each_other(words: tuple[str, ...], kept: list[str]) -> None:
    """Names of two words, such as species, are no n-grams: their words are no words of the text."""
    vocab = tuple(dict.fromkeys((*words, "free", "licence", "text", "other")))
    rest = len(vocab) - 3
    tokens = [[0] * (2 + rest) + [9], [40, 30, 20, *[0] * (rest - 1), 1], [0, 0, 0, *[9] * rest]]
    tree = tree_of([-1, 0, 0], tokens)
    assert [vocab[word] for word in by_name(tree, vocab).top_words(1, 2)] == kept


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (("gun", "guns", "law"), ["gun", "law", "guns"]),
        (("judgments", "judge", "judgment"), ["judgments", "judge", "judgment"]),
        (("reader", "read", "law"), ["reader", "law", "read"]),
        (("log", "logging", "law"), ["log", "logging", "law"]),
        (("c", "csv", "cs"), ["c", "csv", "cs"]),
        (("form", "platform", "law"), ["form", "platform", "law"]),
    ],
    ids=["longer", "behind another", "shorter", "four letters", "too short", "no beginning"],
)
def test_a_word_stands_for_those_that_differ_by_their_ending(
    words: tuple[str, ...], kept: list[str]
) -> None:
    """In a name the worse one stands behind words that are unlike it, however bad these are."""
    tokens = [[0, 0, 0, 90], [60, 50, 20, 0], [0, 0, 0, 40]]
    tree, vocab = tree_of((-1, 0, 0), tokens), (*words, "chess")
    assert [vocab[word] for word in by_name(tree, vocab).top_words(1, 3)] == kept
    tree = tree_of((-1, 0, 0, 1, 1), [tokens[0], [0, 0, 0, 0], tokens[2], tokens[1], tokens[1]])
    assert [vocab[word] for word in by_name(tree, vocab).top_words(1, 3)] == kept


def test_the_score_counts_words_that_no_sibling_has() -> None:
    """With more words than a branch's most probable ones, of which siblings share half a name."""
    table = np.full((3, 60), 1.0)
    table[0] = 0.0
    table[1, :5], table[2, :5] = 100, 100
    table[1, 5:10], table[2, 10:30] = 50, 50
    tree = tree_of((-1, 0, 0), table)
    names = [np.arange(3), np.array([0, 1, 5, 6]), np.array([25, 26])]
    assert name_scores(tree, names) == [None, 0.5, 1.0]


def test_names_are_the_same_each_time_and_ties_go_by_column() -> None:
    tree = tree_of((-1, 0, 0), np.ones((3, 8)))
    found = names_of(tree, VOCAB)
    assert found.texts == names_of(tree, VOCAB).texts
    assert found.words[1][:2].tolist() == [0, 1] and found.words[2][:2].tolist() == [2, 3]


def test_no_order_is_lacking_on_the_command_line_and_others_are_refused(tree: Tree) -> None:
    assert tuple(ORDERS) == WORDS_BY
    with pytest.raises(UsageError, match="did you mean 'frex'"):
        in_order(tree, VOCAB, "freks")


@pytest.mark.parametrize("order", [None, "branch"])
def test_names_take_little_room_beside_the_tree(order: str | None) -> None:
    """The topics of a large tree fill a quarter of a gigabyte; no step holds them many times."""
    rng = np.random.default_rng(0)
    parent = [-1, *[0] * 9, *(1 + n % 9 for n in range(90))]
    tree = tree_of(parent, rng.poisson(0.1, (len(parent), 5000)))
    vocab = [f"w{n}" for n in range(5000)]
    tracemalloc.start()
    try:
        names_of(tree, vocab, words_by=order)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < (2 if order is None else 3.5) * tree.phi.nbytes
