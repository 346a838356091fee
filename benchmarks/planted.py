"""Planted trees: how many of their edges a fit that is told nothing finds.

Each tree is drawn anew: every node has some words of its own, documents draw their tokens from
the model's own story, and neither the branches nor the depth are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from statistics import mean
from typing import NamedTuple

import click
import numpy as np
from scipy import sparse

from benchmarks.benchmark import benchmark
from benchmarks.records import Record, latest
from benchmarks.table import grouped, tabulate
from benchmarks.timing import Cost
from hiertopics import fit
from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.data.tree import Tree
from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.prediction import draw_mixtures

DOCUMENTS, TOKENS, TRUNCATION = 400, 60, 60
ROOT_WORDS, INNER_WORDS, LEAF_WORDS, NOISE = 10, 8, 6, 0.05
STOP, GO, SHARE = 2.0, 3.0, 0.25
"""Weights of stopping and of going on; the concentration over that many children each."""

CHILDREN, AT_ROOT, EARLY = (2, 4), {2: (4, 10), 3: (3, 6), 4: (3, 4)}, 0.2
"""Fewest and most children of a node, and of the root by the number of levels; how often a node
above the last level is a leaf."""

ENOUGH = 0.95
KEYS = ("levels", "seed", "start", "settings")


class Planted(NamedTuple):
    """A corpus of a known tree: counts [n_docs, n_words], parent [K], phi [K, n_words]."""

    counts: sparse.csr_array
    parent: I64
    phi: F64


def uneven(n_levels: int, rng: np.random.Generator) -> I64:
    """Return the parents of a tree of so many levels, the root's among them, breadth first."""
    parent, row = [-1], [0]
    for level in range(1, n_levels):
        fewest, most = AT_ROOT[n_levels] if level == 1 else CHILDREN
        below = [node for node in row for _ in range(rng.integers(fewest, most + 1))]
        first = len(parent)
        parent += below
        row = [first + place for place in range(len(below)) if rng.random() >= EARLY]
        row = row or [first]
    return np.array(parent)


def planted(n_levels: int, seed: int) -> Planted:
    """Draw a tree, its topics and documents."""
    rng = np.random.default_rng([n_levels, seed])
    shape = shape_of(uneven(n_levels, rng))
    inner = shape.n_children > 0
    sizes = [ROOT_WORDS, *np.where(inner, INNER_WORDS, LEAF_WORDS)[1:].tolist()]
    phi = np.full((shape.n_nodes, sum(sizes)), NOISE / sum(sizes))
    for node, (stop, size) in enumerate(zip(np.cumsum(sizes), sizes, strict=True)):
        phi[node, stop - size : stop] += (1 - NOISE) / size
    share = np.ones(shape.n_nodes)
    share[1:] = 1 / shape.n_children[shape.parent[1:]]
    concentration = np.where(inner, SHARE * shape.n_children, 0.0)
    stop = np.where(inner, STOP, 1.0), np.where(inner, GO, 0.0)
    theta = draw_mixtures(Mixing(shape, share, concentration, *stop), DOCUMENTS, rng)
    rows = [rng.multinomial(TOKENS, row) for row in theta @ phi]
    return Planted(sparse.csr_array(np.array(rows)), shape.parent.astype(np.int64), phi)


def right_edges(text: Planted, tree: Tree) -> float:
    """Return the share of the edges whose ends' nearest topics are a parent and its child."""
    far = np.array([[divergence(row, other) for other in tree.phi] for row in text.phi])
    match = far.argmin(axis=1)
    return float((tree.parent[match[1:]] == match[text.parent[1:]]).mean())


def divergence(one: F64, other: F64) -> float:
    """Return the Jensen-Shannon divergence in nats."""
    middle = (one + other) / 2
    return float((one * np.log(one / middle) + other * np.log(other / middle)).sum() / 2)


def table(results: Sequence[Record]) -> str:
    """Return a row for each number of levels, over the trees."""
    return tabulate(
        {
            "levels": lambda group: group[0]["levels"],
            "start": lambda group: group[0]["start"],
            "settings": lambda group: group[0]["settings"],
            "trees": len,
            "edges right, mean": lambda group: f"{mean(one['right'] for one in group):.2f}",
            f"trees with {ENOUGH:.0%}": lambda group: sum(one["right"] >= ENOUGH for one in group),
            "nodes planted": lambda group: f"{mean(one['planted'] for one in group):.0f}",
            "nodes found": lambda group: f"{mean(one['nodes'] for one in group):.0f}",
            "processor time, s": lambda group: (
                f"{mean(one['train_cpu_seconds'] for one in group):.1f}"
            ),
        },
        grouped(latest(results, *KEYS), "levels", "start", "settings"),
    )


@benchmark("planted", table)
@click.option("--levels", type=click.IntRange(2, 4), multiple=True, default=(2, 3, 4))
@click.option("--seed", type=int, multiple=True, default=tuple(range(10)), show_default=True)
@click.option("--start", multiple=True, default=("words", "random"), show_default=True)
@click.option("-s", "--set", "changes", multiple=True, metavar="KEY=VALUE", help="As for fit.")
def measure(
    levels: tuple[int, ...], seed: tuple[int, ...], start: tuple[str, ...], changes: tuple[str, ...]
) -> Iterator[Record]:
    """Edges of planted trees of two to four levels, neither branches nor depth told."""
    for n_levels, begins, number in product(levels, start, seed):
        text = planted(n_levels, number)
        settings = [f"model.truncation={TRUNCATION}", f"inference.start={begins}", *changes]
        with Cost() as cost:
            run = fit(text.counts, overrides=settings, seed=number, holdout="none")
        named = (n_levels, number, begins, " ".join(changes))
        yield {
            **dict(zip(KEYS, named, strict=True)),
            "right": right_edges(text, run.tree),
            "planted": len(text.parent),
            "nodes": len(run.tree.shown),
            **cost.record,
        }
