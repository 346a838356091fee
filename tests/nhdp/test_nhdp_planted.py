"""A planted tree is found again (theory/nhdp 8, T6)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from nights import by_night
from stepping import advance, at, begin, corpus_of, settings_of

from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.tree import Tree
from hiertopics.families.nhdp import variational
from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.prediction import draw_mixtures


class Planted(NamedTuple):
    """A corpus from a known tree: parent [K], phi [K, n_words]."""

    corpus: Corpus
    parent: I64
    phi: F64


def planted(seed: int, parent: list[int]) -> Planted:
    """Draw 400 documents of 60 tokens: the root has 10 words of its own, a branch 8, a leaf 6."""
    rng = np.random.default_rng(seed)
    shape = shape_of(np.array(parent))
    inner = shape.n_children > 0
    sizes = [10, *np.where(inner, 8, 6)[1:].tolist()]
    phi = np.full((len(parent), sum(sizes)), 0.05 / sum(sizes))
    for node, (stop, size) in enumerate(zip(np.cumsum(sizes), sizes, strict=True)):
        phi[node, stop - size : stop] += 0.95 / size
    share = np.ones(len(parent))
    share[1:] = 1 / shape.n_children[shape.parent[1:]]
    concentration = np.where(inner, 0.25 * shape.n_children, 0.0)
    stop = np.where(inner, 2.0, 1.0), np.where(inner, 3.0, 0.0)
    theta = draw_mixtures(Mixing(shape, share, concentration, *stop), 400, rng)
    return Planted(
        corpus_of([rng.multinomial(60, row) for row in theta @ phi]),
        shape.parent.astype(np.int64),
        phi,
    )


def fitted(text: Planted, seed: int = 0, iterations: int = 25, **keys: Any) -> Tree:
    settings = settings_of(variational, start_iterations=100, **keys)
    state, data = begin(variational, text.corpus, settings, seed=seed)
    state = advance(variational, state, data, settings, iterations, seed=seed)
    return variational.summarise(state, data, settings, at(iterations)).tree


def divergence(one: F64, other: F64) -> float:
    """Return the Jensen-Shannon divergence in nats."""
    mean = (one + other) / 2
    return float((one * np.log(one / mean) + other * np.log(other / mean)).sum() / 2)


def found(text: Planted, tree: Tree) -> tuple[int, float]:
    """Return how many edges join the matches of parent and child, and the worst match."""
    far = np.array([[divergence(row, other) for other in tree.phi] for row in text.phi])
    match = far.argmin(axis=1)
    edges = tree.parent[match[1:]] == match[text.parent[1:]]
    return int(edges.sum()), float(far.min(axis=1).max())


EVEN = [-1, *[0] * 4, *[1] * 4, *[2] * 4, *[3] * 4, *[4] * 4]


@pytest.mark.slow
def test_a_planted_tree_is_found_in_one_of_three_starts() -> None:
    """T6: one cluster more than branches, since general words make one of their own."""
    text = planted(0, EVEN)
    keys: dict[str, Any] = {"branches": [5], "truncation": 24, "start": "random"}
    ends = [found(text, fitted(text, seed, **keys)) for seed in range(3)]
    assert max(edges for edges, _ in ends) == 20
    assert min(edges for edges, _ in ends) >= 15
    assert min(worst for _, worst in ends) < 0.1


shapes = pytest.mark.parametrize(
    "parent",
    [*by_night([-1, *[0] * 8]), [-1, *[0] * 4, *[1] * 3, *[2] * 5, *[3] * 2]],
    ids=["two levels", "three levels, uneven"],
)


@pytest.mark.nightly
@pytest.mark.slow
@shapes
def test_shapes_that_nobody_told_are_found(parent: list[int]) -> None:
    """In the best of three starts; theory/nhdp 6.1 says how often.

    Each day the shape is found from the other start, and a told one from these.
    """
    text, keys = planted(1, parent), {"truncation": 40, "start": "random"}
    ends = [found(text, fitted(text, seed, 15, **keys))[0] for seed in range(3)]
    assert max(ends) >= 0.95 * (len(parent) - 1)


@pytest.mark.slow
@shapes
def test_shapes_are_found_from_words(parent: list[int]) -> None:
    text = planted(1, parent)
    assert found(text, fitted(text, 0, 15, truncation=40))[0] >= 0.95 * (len(parent) - 1)


def test_topics_without_a_tree_above_them_are_children_of_the_root() -> None:
    text = planted(2, EVEN)
    tree = fitted(text, branches=[], truncation=24, iterations=2)
    assert set(tree.parent[1:].tolist()) == {0}
