"""Names of mixed branches: which branches have one, its parts, and its form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from mixed_trees import (
    BALLS,
    CHESS,
    LEAVES,
    MIXED,
    MUSIC,
    NAMES,
    PARENT,
    PARTS,
    PURE,
    VOCAB,
    VOTES,
    mixed_tree,
    planted,
    tree_of,
)

from hiertopics.corpus.data.naming import (
    APART,
    MOST_PARTS,
    NAME,
    ORDERS,
    by_name,
    called,
    in_order,
    in_parts,
    name_words,
    names_of,
)
from hiertopics.corpus.data.tree import Tree


def parts(tree: Tree) -> dict[int, list[list[str]]]:
    return {
        row: [list(part) for part in found] for row, found in names_of(tree, VOCAB).parts.items()
    }


def test_a_branch_of_two_subjects_is_called_by_those_below_and_one_of_one_subject_is_not() -> None:
    found = names_of(mixed_tree(), VOCAB)
    assert dict(found.parts) == {MIXED: PARTS}
    assert {row: found.texts[row] for row in NAMES} == NAMES


def test_words_at_the_branch_itself_are_true_of_all_below_it() -> None:
    """As where each document has one path: what its topics share stands at the node above."""
    own = {"file": 900, "disk": 800, "page": 700}
    assert MIXED in parts(mixed_tree())
    tree = tree_of(PARENT, {1: own} | planted(LEAVES))
    assert names_of(tree, VOCAB).texts[MIXED].startswith("file disk page")
    assert parts(tree) == {}


def test_leaves_give_no_part() -> None:
    tree = tree_of((-1, 0, 0, 1, 1, 2, 2), {3: BALLS, 4: VOTES, 5: CHESS, 6: CHESS})
    assert parts(tree) == {}


def many(sizes: list[float]) -> Tree:
    """Return a root, a branch of chess, and one of groups of these sizes, a word of each."""
    n, words = len(sizes), ("ball", "goal", "vote", "law", "party", "rook", "tempo", "file")
    groups = range(3, 3 + n)
    parent = [-1, 0, 0, *[1] * n, 2, 2]
    tokens: dict[int, Mapping[str, float]] = {3 + n: CHESS, 4 + n: CHESS}
    for group, size, word in zip(groups, sizes, words, strict=False):
        tokens |= {len(parent): {word: size / 2}, len(parent) + 1: {word: size / 2}}
        parent += [group, group]
    return tree_of(parent, tokens)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([500, 400, 60], ["ball", "goal"]),
        ([300, 250, 200, 150, 120], ["ball", "goal", "vote", "law"]),
        ([200, 190, *[70] * 6], []),
    ],
    ids=["a small one has none", "four at most", "those of less than half say nothing"],
)
def test_the_largest_branches_below_have_a_part(sizes: list[float], expected: list[str]) -> None:
    found = parts(many(sizes)).get(1, [])
    assert [part[0] for part in found] == expected and len(found) <= MOST_PARTS


def test_siblings_share_none_of_their_first_words_in_parts() -> None:
    """Two mixed branches whose largest groups have the same words: the larger one keeps them."""
    half = {word: number / 2 for word, number in BALLS.items()}
    below = (BALLS, BALLS, VOTES, VOTES, MUSIC, MUSIC, half, half, CHESS, CHESS)
    tree = tree_of(PARENT, planted(below))
    words = name_words(by_name(tree, VOCAB))
    assert {*parts(tree)} == {1, 2}
    assert not {*words[1][:APART].tolist()} & {*words[2][:APART].tolist()}
    assert parts(tree)[1][0] == ["ball", "goal"]


def test_no_word_stands_in_a_name_twice_and_no_two_of_a_part_differ_by_their_ending() -> None:
    tree = mixed_tree()
    assert [VOCAB[word] for word in by_name(tree, VOCAB).top_words(3, 2)] == ["ball", "goal"]
    assert parts(tree)[MIXED][0] == ["ball", "goal"]
    third = {"ball": 60, "balls": 50, "file": 20}, {"vote": 55, "votes": 45, "file": 18}
    below = [words for words in (*third, MUSIC, CHESS, CHESS) for _ in range(2)]
    first, second, _ = parts(tree_of(PARENT, planted(below)))[MIXED]
    assert first == ["ball", "file"] and second[0] == "vote" and second[1] not in {"votes", "file"}


def test_a_mixed_group_below_a_mixed_branch_has_parts_by_the_same_rule() -> None:
    """Its parts stand for its own children; the part of the branch has its first two words."""
    subjects = ({"ball": 80}, {"goal": 70}, {"team": 60})
    parent = [-1, 0, 0, 1, 1, 1, 2, 2]
    tokens: dict[int, Mapping[str, float]] = {6: CHESS, 7: CHESS}
    for group, below in ((3, subjects), (4, (VOTES,)), (5, (MUSIC,))):
        for words in below:
            subgroup = len(parent)
            tokens |= {subgroup + 1: words, subgroup + 2: words}
            parent += [group, subgroup, subgroup]
    found = parts(tree_of(parent, tokens))
    assert found.pop(1) == [["ball", "goal"], ["vote", "law"], PARTS[2]]
    assert {row: [part[0] for part in one] for row, one in found.items()} == {
        3: ["ball", "goal", "team"]
    }
    alone = [-1, 0, 0, 1, 1, 1, 2, 2, *np.repeat([3, 4, 5], 2).tolist()]
    leaves = dict(enumerate([words for words in subjects for _ in range(2)], 8))
    found = parts(tree_of(alone, {6: CHESS, 7: CHESS} | leaves))
    assert [part[0] for part in found[1]] == ["ball", "goal", "team"]


def under_a_giant(others: float) -> Tree:
    """Return a root, a branch of chess, and one whose first child holds the rest of the subjects.

    others: tokens of the other child.
    """
    parent = [-1, 0, 0, 1, 1, 2, 2, 3, 3, 3, 4, 4]
    tokens: dict[int, Mapping[str, float]] = {5: CHESS, 6: CHESS}
    tokens |= {10: {"file": others / 2}, 11: {"disk": others / 2}}
    for group, words in zip((7, 8, 9), (BALLS, VOTES, MUSIC), strict=True):
        tokens |= {len(parent): words, len(parent) + 1: words}
        parent += [group, group]
    return tree_of(parent, tokens)


def test_a_branch_is_mixed_if_a_child_with_nearly_all_of_its_words_is() -> None:
    found = parts(under_a_giant(60))
    subjects = [["ball", "goal"], ["vote", "law"], ["tempo", "choir"]]
    assert found == {1: subjects, 3: subjects}
    assert set(parts(under_a_giant(400))) == {3}, "a third of the words is elsewhere"


def test_a_branch_is_not_mixed_if_a_child_with_nearly_all_of_its_words_is_not() -> None:
    """The words of the largest grandchild are true of half of the child, not of the branch."""
    parent = [-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 7, 7, 8, 8]
    tokens: dict[int, Mapping[str, float]] = {5: CHESS, 6: CHESS, 9: MUSIC, 10: MUSIC}
    tokens |= {11: BALLS, 12: BALLS, 13: {"file": 110}, 14: {"disk": 110}}
    assert parts(tree_of(parent, tokens)) == {}


@pytest.mark.parametrize("n_words", [1, 2, 3, 4, 5, 8])
def test_a_name_in_parts_is_whole_or_has_whole_parts(n_words: int) -> None:
    expected = {1: "a b", 2: "a b", 3: "a b", 4: "a b · c d"}
    assert in_parts(["ab", "cd", "ef"], n_words) == expected.get(n_words, "a b · c d · e f")


def test_other_orders_have_no_parts_and_a_ranking_is_the_same_with_parts() -> None:
    tree = mixed_tree()
    for order in set(ORDERS) - {NAME}:
        ranked = in_order(tree, VOCAB, order)
        assert not ranked.parts
        words = [VOCAB[word] for word in ranked.top_words(MIXED, 5)]
        assert called(ranked, VOCAB, MIXED) == " ".join(words)
    ranked = by_name(tree, VOCAB)
    assert ranked.ranking is not None
    assert called(replace(ranked, parts={}), VOCAB, MIXED).split()[0] in BALLS
    np.testing.assert_array_equal(
        ranked.top_words(MIXED, 9), np.argsort(-ranked.ranking[MIXED], kind="stable")[:9]
    )


def test_names_in_parts_are_the_same_each_time_and_equal_siblings_go_by_row() -> None:
    parent = (-1, 0, 0, 1, 1, 1, 2, 2, 2, *np.repeat(np.arange(3, 9), 2).tolist())
    below = (BALLS, BALLS, VOTES, VOTES, MUSIC, MUSIC) * 2
    tree = tree_of(parent, dict(enumerate(below, 9)))
    found = names_of(tree, VOCAB)
    assert found.texts == names_of(tree, VOCAB).texts
    assert found.parts[1][0] == ["ball", "goal"] and found.parts[2][0] != ["ball", "goal"]
    assert PURE in found.parts
