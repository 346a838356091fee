"""Trees in levels of about so many nodes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hiertopics
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.tree import NODE, ROOT, Tree
from hiertopics.runs.rundir import RunDir
from hiertopics.views.levels import in_levels, parse_cut


def grown(parents: list[int], weights: list[float]) -> Tree:
    n = len(parents)
    weight = np.array(weights) / sum(weights)
    return Tree(
        phi=np.full((n, 2), 0.5),
        parent=np.array(parents, dtype=np.int32),
        kind=np.zeros(n, dtype=np.int8),
        weight=weight,
        n_docs=np.arange(n, 0, -1),
        n_tokens=weight * 100,
    )


PARENTS = [ROOT, 0, 0, 1, 1, 2, 2, 3, 3, 4]
WEIGHTS = [1.0, 1, 2, 5, 3, 4, 1, 20, 10, 3]


def edges(tree: Tree) -> dict[int, int]:
    return {node: int(tree.parent[node]) for node in tree.shown.tolist()}


def test_the_largest_nodes_are_opened_until_there_are_so_many() -> None:
    # 1 has 42 of 50 tokens and 3 has 35: they are opened, 2 with 7 is not.
    tree = in_levels(grown(PARENTS, WEIGHTS), (3, 4))
    assert edges(tree) == {0: ROOT, 2: 0, 3: 0, 4: 0, 7: 3, 8: 3}


def test_tokens_of_nodes_left_out_count_above_them() -> None:
    whole = grown(PARENTS, WEIGHTS)
    tree = in_levels(whole, (3,))
    assert tree.weight[tree.shown].sum() == pytest.approx(1)
    for node in (2, 3, 4):  # their branches are as large as ever
        assert tree.subtree_weight[node] == pytest.approx(whole.subtree_weight[node])
    assert tree.weight[0] == pytest.approx(whole.weight[[0, 1]].sum())
    assert tree.n_tokens[tree.shown].sum() == pytest.approx(100)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_tokens_levels_below_a_node_that_stays_count_there(size: int) -> None:
    """With two nodes on the level what is left out is two and three levels below them."""
    whole = grown([*PARENTS, 7, 10], [*WEIGHTS, 6.0, 8.0])
    tree = in_levels(whole, (size,))
    assert tree.n_tokens[tree.shown].sum() == tree.n_tokens.sum() == pytest.approx(100)
    level = np.flatnonzero((tree.parent == 0) & (tree.kind == NODE))
    assert len(level) >= 2
    for node in level:
        assert tree.weight[node] == pytest.approx(whole.subtree_weight[node])


def test_each_level_is_as_near_to_its_size_as_opening_a_node_can_bring_it() -> None:
    rng = np.random.default_rng(3)
    parents = [ROOT] + [int(rng.integers(max(n - 40, 0), n)) for n in range(1, 400)]
    tree = in_levels(grown(parents, rng.random(400).tolist()), (10, 50))
    assert tree.weight[tree.shown].sum() == pytest.approx(1)
    n_first = int((tree.depth[tree.shown] == 1).sum())
    n_leaves = int((~np.isin(tree.shown, tree.parent[tree.shown])).sum())
    assert abs(n_first - 10) <= 5 and abs(n_leaves - 50) <= 10
    assert tree.depth[tree.shown].max() <= 2 and tree.kind[tree.shown].max() == NODE


def test_a_root_is_opened_though_it_has_more_children_than_wanted() -> None:
    tree = grown([ROOT, 0, 0, 0, 0, 0, 0, 1, 1], [1.0, 1, 1, 1, 1, 1, 1, 5, 5])
    assert edges(in_levels(tree, (2,))) == {0: ROOT} | dict.fromkeys(range(1, 7), 0)
    assert edges(in_levels(tree, (2, 7)))[7] == 1
    assert edges(in_levels(grown([ROOT, 0], [1.0, 1]), (1,))) == {0: ROOT, 1: 0}


def test_places_of_a_further_level_go_to_the_largest_nodes() -> None:
    """Node 1 has ten children: its eight small ones get no place before those of node 2."""
    parents = [ROOT, 0, 0, *[1] * 10, 2, 2]
    weights = [1.0, 1, 1, 30, 20, *[0.5] * 8, 15, 14]
    tree = in_levels(grown(parents, weights), (2, 4))
    assert edges(tree) == {0: ROOT, 1: 0, 2: 0, 3: 1, 4: 1, 13: 2, 14: 2}
    whole = sum(weights)
    assert tree.weight[1] == pytest.approx(
        (1 + 8 * 0.5) / whole
    )  # those without a place count here


def test_depth_of_a_cut_counts_the_levels_of_the_cut(
    call: Callable[..., Any], copied: Callable[..., Path]
) -> None:
    """A single root stands above them, and is none of them."""
    run = copied("hlda-gibbs")
    sizes = (1, len(RunDir(run).tree.shown))
    both = in_levels(RunDir(run).tree, sizes)
    assert both.depth[both.shown].max() == 2
    cut = ("show-tree", run, "--cut", ",".join(map(str, sizes)))
    whole = call(*cut)
    assert call(*cut, "--depth", 2).out == whole.out
    first = call(*cut, "--depth", 1)
    assert first.out.count(" doc") == 1 + len(both.children(0)) < whole.out.count(" doc")
    assert "the root alone" not in first.err
    assert call("show-tree", run, "--depth", 1).out.count(" doc") == 1


def test_a_node_gives_way_to_children_that_hold_most_of_it_alone() -> None:
    """Below node 1 are nodes 2 and 3; of node 2 half is in the children that have places."""
    parents = [ROOT, 0, 0, 1, 1, *[3] * 8]
    weights = [1.0, 1, 9, 1, 8, 12, 11, *[4] * 6]
    held = grown(parents, weights)
    assert edges(in_levels(held, (2, 4))) == {0: ROOT, 1: 0, 2: 0, 3: 1, 4: 1}
    weights[7:] = [1.0] * 6
    assert edges(in_levels(grown(parents, weights), (2, 4))) == {
        0: ROOT, 1: 0, 2: 0, 4: 1, 5: 1, 6: 1,
    }  # fmt: skip


def test_flat_topics_have_no_levels() -> None:
    with pytest.raises(UsageError, match="--arrange makes a tree"):
        in_levels(grown([ROOT, ROOT], [1, 2]), (2,))


@pytest.mark.parametrize("text", ["", "20,", "0", "20,20", "80,20", "x", "-1", "1.5"])
def test_what_is_no_list_of_sizes_that_grow_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="like 20,80"):
        parse_cut(text)
    assert parse_cut("20, 80") == parse_cut("[20,80]") == (20, 80)


def test_a_node_beside_the_run_shows_its_branch_alone(
    call: Callable[..., Any], finished: Callable[..., Path]
) -> None:
    run = finished("hlda-variational")
    tree = RunDir(run).tree
    parent = tree.parent
    node = next(n for n in tree.shown.tolist() if parent[n] == 0 and len(tree.children(n)))
    below = [n for n in tree.shown.tolist() if node in (n, parent[n], parent[parent[n]])]

    def numbers(text: str) -> list[int]:
        return sorted(int(found) for found in re.findall(r"^[^\[]*\[(\d+)\]", text, re.MULTILINE))

    assert numbers(call("show-tree", run, node).out) == below
    assert numbers(call("show-tree", run, node, "--depth", 1).out) == [node]
    assert numbers(hiertopics.show_tree(run, node=node)) == below
    for words, told in (
        ((9999,), "there is no node 9999; nodes are 0 to"),
        ((node, "--json"), "json holds the whole tree"),
        ((node, "--cut", "4"), f"--cut takes its levels with commas: --cut 4,{node}"),
        ((node, "--cut", "4,8"), "--cut has no meaning for a branch alone"),
    ):
        refused = call("show-tree", run, *words)
        assert refused.code == 2 and told in refused.err
