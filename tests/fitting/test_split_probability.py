"""The support of a node's split by draws, against sets of documents compared one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import ArrayLike

from hiertopics.base.arrays import I32, Ints
from hiertopics.fitting.sampling import split_probability


def documents(path: Ints, node: int) -> set[int]:
    return {doc for doc, nodes in enumerate(path.tolist()) if node in nodes}


def naive(path: ArrayLike, n_nodes: int, draws: list[ArrayLike]) -> list[float]:
    """Return the support, by its definition."""
    mine, n_docs, support = np.asarray(path), len(np.asarray(path)), []
    for node in range(n_nodes):
        here, total = documents(mine, node), 0.0
        for draw in map(np.asarray, draws):
            others = [documents(draw, other) for other in set(draw.ravel().tolist()) - {-1}]
            moved = min((len(here ^ other) for other in others if here & other), default=None)
            smaller = min(len(here), n_docs - len(here))
            if moved == 0:
                total += 1.0
            elif moved is not None and smaller > 1:
                total += max(0.0, 1.0 - moved / (smaller - 1))
        support.append(total / len(draws))
    return support


@st.composite
def trees(draw: st.DrawFn, n_docs: int) -> I32:
    """Return paths [n_docs, 3] of a tree; some end at an inner node."""
    names: dict[tuple[int, ...], int] = {}
    rows = []
    for _ in range(n_docs):
        branch = (0, draw(st.integers(0, 2)), draw(st.integers(-1, 2)))
        ways = [branch[: level + 1] for level in range(3) if branch[level] >= 0]
        row = [names.setdefault(way, len(names)) for way in ways]
        rows.append(row + [-1] * (3 - len(row)))
    return np.array(rows, dtype=np.int32).reshape(n_docs, 3)


@settings(max_examples=60)
@given(st.data())
def test_support_is_that_of_sets_compared_one_by_one(data: st.DataObject) -> None:
    n_docs = data.draw(st.integers(1, 12))
    path = data.draw(trees(n_docs))
    draws = data.draw(st.lists(trees(n_docs), min_size=1, max_size=3))
    n_nodes = int(path.max()) + 2  # the last one has no document
    found = split_probability(path, n_nodes, iter(draws))
    assert found is not None
    assert found == pytest.approx(naive(path, n_nodes, list(draws)), abs=1e-12)


PATH = np.array([[0, 1]] * 6 + [[0, 2]] * 5 + [[0, 3]] * 9)


def test_draws_with_the_same_splits_give_one_whatever_their_names() -> None:
    renamed = np.array([7, 4, 9, 2])[PATH]
    found = split_probability(PATH, 4, [renamed, PATH])
    assert found is not None and found.tolist() == [1, 1, 1, 1]


def test_a_document_that_moved_counts_by_its_share_of_the_node() -> None:
    moved = PATH.copy()
    moved[0, 1] = 2
    found = split_probability(PATH, 4, [PATH, moved])
    assert found is not None
    assert found == pytest.approx([1, (1 + 1 - 1 / 5) / 2, (1 + 1 - 1 / 4) / 2, 1])


def test_random_draws_give_next_to_nothing() -> None:
    rng = np.random.default_rng(0)
    branch = rng.integers(1, 11, size=(21, 500))
    path, *draws = (np.column_stack([np.zeros(500, dtype=int), column]) for column in branch)
    found = split_probability(path, 11, draws)
    assert found is not None and found[0] == 1.0 and found[1:].max() < 0.02


def test_a_node_of_nearly_all_documents_gets_nothing_for_free() -> None:
    """The root of every tree is near to it, which says nothing of the split."""
    path = np.array([[0, 1]] * 18 + [[0, 2]] * 2)
    elsewhere = np.array([[0, 1]] * 10 + [[0, 2]] * 10)
    found = split_probability(path, 3, [elsewhere])
    assert found is not None and found.tolist() == [1.0, 0.0, 0.0]


def test_without_draws_there_is_nothing_to_tell() -> None:
    assert split_probability(PATH, 4, []) is None
