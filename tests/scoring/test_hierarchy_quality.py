"""Metrics of a hierarchy by hand: a tree of seven nodes over eight words, six documents."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from hiertopics.corpus.data import quality
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.quality import Hierarchy, hierarchy_quality, npmi
from hiertopics.corpus.data.tree import NODE, OUTSIDE, Tree
from hiertopics.scoring.evaluation import evaluate

TOPS = {0: (0, 1), 1: (2, 3), 2: (4, 5), 3: (2, 6), 4: (2, 7), 5: (4, 5), 6: (0, 5)}
"""The two top words of each node, 0.6 and 0.3 probable; 0 is the root, 1 and 2 its children."""
PARENT = [-1, 0, 0, 1, 1, 2, 2]
DOCS = [[0, 1, 2, 3], [0, 2, 6], [0, 1, 4, 5], [4, 5], [2, 3, 7], [0, 2]]


@pytest.fixture(autouse=True)
def two_top_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "TREE_WORDS", 2)


@pytest.fixture
def corpus() -> Corpus:
    counts = np.zeros((len(DOCS), 8), dtype=int)
    for doc, words in enumerate(DOCS):
        counts[doc, words] = doc + 1
    return Corpus(sparse.csr_array(counts), tuple("abcdefgh"))


def tree_of(parent: list[int], tops: list[tuple[int, int]]) -> Tree:
    """Return a tree whose last row is the one outside."""
    phi = np.full((len(parent) + 1, 8), 0.1 / 6)
    for node, (first, second) in enumerate(tops):
        phi[node, first], phi[node, second] = 0.6, 0.3
    phi[-1] = 1 / 8
    n_rows = len(phi)
    return Tree(
        phi=phi,
        parent=np.array([*parent, -1], dtype=np.int32),
        kind=np.array([NODE] * len(parent) + [OUTSIDE], dtype=np.int8),
        weight=np.full(n_rows, 1 / n_rows),
        n_docs=np.ones(n_rows, dtype=np.int64),
        n_tokens=np.ones(n_rows),
    )


@pytest.fixture
def tree() -> Tree:
    return tree_of(PARENT, list(TOPS.values()))


def met(a: int, b: int) -> float:
    """Return NPMI of two words from the documents that hold them."""
    holds = [sum(word in doc for doc in DOCS) / 6 for word in (a, b)]
    both = sum(a in doc and b in doc for doc in DOCS) / 6
    return math.log(both / (holds[0] * holds[1])) / -math.log(both) if both else -1.0


def test_words_that_parent_and_child_share_are_left_out_of_their_npmi(
    tree: Tree, corpus: Corpus
) -> None:
    pairs = {
        (0, 1): [met(0, 2), met(0, 3), met(1, 2), met(1, 3)],
        (0, 2): [met(0, 4), met(0, 5), met(1, 4), met(1, 5)],
        (1, 3): [met(3, 6)],
        (1, 4): [met(3, 7)],
        (2, 5): [-1.0],
        (2, 6): [met(4, 0)],
    }
    found = hierarchy_quality(tree, corpus).parent_child_npmi
    assert found == pytest.approx(np.mean([np.mean(values) for values in pairs.values()]))
    assert met(3, 6) == -1.0 and met(3, 7) > 0


def test_npmi_of_a_pair_is_that_of_coherence(corpus: Corpus) -> None:
    for pair in ((0, 2), (4, 5), (3, 6), (1, 7)):
        assert npmi(np.array([pair]), corpus)[0] == pytest.approx(met(*pair), abs=1e-15)


def test_siblings_are_diverse_by_the_words_that_one_alone_has(tree: Tree, corpus: Corpus) -> None:
    """Children of the root share none of four, those of 1 the word 2, those of 2 the word 5."""
    expected = (1 + 2 / 4 + 2 / 4) / 3
    assert hierarchy_quality(tree, corpus).sibling_diversity == pytest.approx(expected)


def test_non_children_are_compared_one_level_below(tree: Tree, corpus: Corpus) -> None:
    """Node 1 shares nothing with 5 and 6, nor does 2 with 3 and 4; a changed word shows."""
    assert hierarchy_quality(tree, corpus).non_child_diversity == pytest.approx(1)
    other = tree_of(PARENT, [*list(TOPS.values())[:6], (2, 5)])
    found = hierarchy_quality(other, corpus).non_child_diversity
    assert found == pytest.approx((1 + 1 / 2 + 1 + 1) / 4)


def test_nodes_two_levels_below_are_no_non_children(corpus: Corpus) -> None:
    """Of two paths from the root down, 1 has the words of what is two levels below it."""
    tops = [(0, 1), (0, 1), (2, 3), (4, 5), (6, 7), (0, 1), (0, 1)]
    deep = hierarchy_quality(tree_of([-1, 0, 0, 1, 2, 3, 4], tops), corpus)
    assert deep.non_child_diversity == 1.0
    assert deep.affinity_non_child is not None and deep.affinity_non_child < 0.1


def test_specialization_is_the_distance_from_the_word_counts_by_depth(
    tree: Tree, corpus: Corpus
) -> None:
    counts = corpus.counts.sum(axis=0)
    apart = [1 - row @ counts / math.sqrt(row @ row) / math.sqrt(counts @ counts)
             for row in tree.phi]  # fmt: skip
    expected = [apart[0], np.mean(apart[1:3]), np.mean(apart[3:7])]
    assert hierarchy_quality(tree, corpus).specialization == pytest.approx(expected)


def test_a_topic_that_is_the_corpus_is_not_special(corpus: Corpus) -> None:
    tree = tree_of([-1, 0], [(0, 1), (2, 3)])
    tree.phi[0] = corpus.counts.sum(axis=0) / corpus.n_tokens
    found = hierarchy_quality(tree, corpus).specialization
    assert found is not None and found[0] == pytest.approx(0, abs=1e-15) and found[1] > 0.1


def test_affinity_is_the_cosine_of_children_and_of_non_children(tree: Tree, corpus: Corpus) -> None:
    """The root has only children, so that its level says nothing."""

    def cosine(a: int, b: int) -> float:
        rows = tree.phi[[a, b]]
        return float(rows[0] @ rows[1] / np.linalg.norm(rows[0]) / np.linalg.norm(rows[1]))

    found = hierarchy_quality(tree, corpus)
    children, others = [(1, 3), (1, 4), (2, 5), (2, 6)], [(1, 5), (1, 6), (2, 3), (2, 4)]
    assert found.affinity_child == pytest.approx(np.mean([cosine(*pair) for pair in children]))
    assert found.affinity_non_child == pytest.approx(np.mean([cosine(*pair) for pair in others]))
    assert found.affinity_child is not None and found.affinity_non_child is not None
    assert found.affinity_child > found.affinity_non_child


def test_two_levels_have_no_non_children(corpus: Corpus) -> None:
    found = hierarchy_quality(tree_of([-1, 0, 0], [(0, 1), (2, 3), (4, 5)]), corpus)
    assert (found.non_child_diversity, found.affinity_child, found.affinity_non_child) == (
        None,
        None,
        None,
    )
    assert found.parent_child_npmi is not None and found.sibling_diversity == 1


def test_a_single_path_has_no_siblings(corpus: Corpus) -> None:
    found = hierarchy_quality(tree_of([-1, 0, 1], [(0, 1), (2, 3), (4, 5)]), corpus)
    assert found.sibling_diversity is None and found.non_child_diversity is None
    assert found.parent_child_npmi is not None


def test_the_order_of_nodes_changes_nothing(tree: Tree, corpus: Corpus) -> None:
    order = [0, 2, 5, 6, 1, 4, 3]
    new = {old: place for place, old in enumerate(order)} | {-1: -1}
    other = tree_of([new[PARENT[old]] for old in order], [TOPS[old] for old in order])
    one, two = hierarchy_quality(tree, corpus), hierarchy_quality(other, corpus)
    for name in Hierarchy._fields:
        assert getattr(one, name) == pytest.approx(getattr(two, name)), name


def test_a_flat_model_has_none_of_it(corpus: Corpus) -> None:
    flat = tree_of([-1, -1, -1], [(0, 1), (2, 3), (4, 5)])
    assert hierarchy_quality(flat, corpus) == Hierarchy()


@pytest.mark.parametrize("backend", ["hlda-gibbs", "hdp-pcvb0"])
def test_the_record_of_a_score_has_them_and_null_for_a_flat_model(
    copied: Callable[..., Path], backend: str
) -> None:
    run = copied(backend)
    record = evaluate(run)
    written = json.loads((run / "eval" / "completion.json").read_text())
    assert {name: written[name] for name in Hierarchy._fields} == {
        name: record[name] for name in Hierarchy._fields
    }
    is_tree = backend.startswith("hlda")
    assert (record["parent_child_npmi"] is not None) == is_tree
    assert (record["specialization"] is not None) == is_tree
