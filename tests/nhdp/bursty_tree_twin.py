"""Drawn tables of bursty documents on a tree, written plainly (theory/bursts 9.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from naive_nhdp import LANES, Naive, families
from seats_twin import MISTAKES, Order, Rule, State, Twin

from hiertopics.base.arrays import F64

SMALL = Naive(
    parent=(-1, 0, 0, 1),
    share=(1.0, 0.6, 0.4, 1.0),
    concentration=(0.9, 0.5, 0.0, 0.0),
    stop_a=(0.5, 0.8, 1.0, 1.0),
    stop_b=(1.5, 1.1, 0.0, 0.0),
)
"""A tree with a node below a node, few enough for all states of a corpus."""


class TreeTwin(Twin):
    """As ``Twin``, topics at the nodes of a tree. flat: theta is divided as of flat topics."""

    def __init__(
        self,
        docs: Sequence[Sequence[tuple[int, int]]],
        tree: Naive,
        eta: float,
        n_words: int,
        process: tuple[float, float],
        rule: Rule = MISTAKES["right"],
        *,
        flat: bool = False,
    ) -> None:
        super().__init__(docs, np.zeros(len(tree.parent)), eta, n_words, process, rule)
        self.tree, self.flat = tree, flat

    def log_mixture(self, counts: F64) -> float:
        return self.tree.log_chance(counts)

    def shares(self, counts: F64) -> F64:
        return self.tree.theta(counts, self.tree.at_or_below(counts))

    def whole(self, n_tables: int) -> float:
        return n_tables + 1.0 if self.flat else 1.0


def down_the_tree(twin: Twin, state: State, pair: int) -> tuple[list[int], F64]:
    """Look at a node before its children, and at all below a child before the next one."""
    assert isinstance(twin, TreeTwin)
    order = twin.tree.subtree(0)
    return order, twin.weights(state, pair)[order]


def by_lists(listed: dict[int, list[int]]) -> Order:
    """Return the order of the sparse sweep: a word's nodes, lane by lane, then all by families."""

    def order(twin: Twin, state: State, pair: int) -> tuple[list[int], F64]:
        assert isinstance(twin, TreeTwin)
        doc, word, _ = twin.pairs[pair]
        own = listed[word]
        places = [p for lane in range(LANES) for p in range(lane, len(own), LANES)]
        everywhere = [node for family in families(twin.tree) for node in family]
        scaled = twin.shares(twin.counts(state, doc=doc)) / (
            twin.counts(state) + twin.n_words * twin.eta
        )
        of_list = [twin.counts(state, word=word)[own[p]] * scaled[own[p]] for p in places]
        weights = np.concatenate([of_list, twin.eta * scaled[everywhere]])
        return [*(own[p] for p in places), *everywhere], weights

    return order


def seated_one_by_one(
    words: Sequence[int], tree: Naive, eta: float, n_words: int, process: tuple[float, float]
) -> dict[int, float]:
    """Return the chance of a document's words, by tables of word 0; token by token, without S.

    Each token joins a table of its word, or opens one, whose node and word are drawn.
    """
    (discount, b), found = process, defaultdict[int, float](float)
    for chance, tables in _seatings(words, tree, eta, n_words, discount, b):
        found[sum(word == 0 for word, _, _ in tables)] += chance
    return dict(found)


Table = tuple[int, int, int]


def _seatings(
    words: Sequence[int], tree: Naive, eta: float, n_words: int, discount: float, b: float
) -> Iterator[tuple[float, list[Table]]]:
    """Yield chance and tables (word, node, tokens) of each way to seat all words."""
    if not words:
        yield 1.0, []
        return
    *earlier, word = words
    n_nodes, seated = len(tree.parent), len(earlier)
    for chance, tables in _seatings(earlier, tree, eta, n_words, discount, b):
        for place, (its_word, node, size) in enumerate(tables):
            if its_word == word:
                joined = [*tables[:place], (word, node, size + 1), *tables[place + 1 :]]
                yield chance * (size - discount) / (b + seated), joined
        opens = chance * (b + discount * len(tables)) / (b + seated)
        n = np.bincount([node for _, node, _ in tables], minlength=n_nodes).astype(float)
        theta = tree.theta(n, tree.at_or_below(n))
        for node in range(n_nodes):
            same = sum((w, k) == (word, node) for w, k, _ in tables)
            of_word = (same + eta) / (n[node] + n_words * eta)
            yield opens * theta[node] * of_word, [*tables, (word, node, 1)]
