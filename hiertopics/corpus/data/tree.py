"""The tree: a table of nodes, one row each, parents before children; and labels of nodes.

A flat topic model is a forest of roots: no special case anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import F64, I8, I32, I64, Bools
from hiertopics.base.axes import (
    Axes,
    declared,
    require_declared,
    require_finite,
    require_type,
)
from hiertopics.corpus.data.best import largest
from hiertopics.corpus.data.names import unpack_names

Number = TypeVar("Number", bound=np.generic)

NODE, OUTSIDE = 0, 1
ROOT = -1
FEW_TOKENS = 0.5
"""Words expected less often than this at a node are none of its own: smoothing put them there."""

_TINY = np.finfo(float).tiny
NO_TOKENS = 1e-200
GROUPS = {
    "group_docs": Annotated[I64, Axes("n_groups", least=0)],
    "group_theta": Annotated[F64, Axes("n_groups", "n_nodes", least=0, maybe_empty=True)],
}
"""Arrays of groups of documents, where a tree's backend knows of some; ``group_names`` besides."""

VECTORS = {name: Annotated[F64, Axes("n_nodes", "n_columns")] for name in ("mean", "telling")}
"""Arrays of a tree of vectors: the vector of each node, and how telling its columns are."""

MIXTURES = {
    "shares": Annotated[F64, Axes("n_nodes", "n_topics", least=0)],
    "topics": Annotated[F64, Axes("n_topics", "n_words", least=0)],
}
"""Arrays of a tree whose nodes mix topics."""

OWN = ("phi", "parent", "kind", "weight", "n_docs", "n_tokens")


class Arrangement(NamedTuple):
    """Facts about a tree that was made of flat topics after the fit.

    note: how, in one line. ids: what each row is called: the run's own id (int) for a topic, a
    string for a node above topics. lengths: float64 [n_nodes], of the branch above each row.
    """

    note: str
    ids: tuple[int | str, ...]
    lengths: F64


class Support(NamedTuple):
    """The number of other fits that found each node of a tree again.

    found: int64 [n_nodes], how many of them did. n_others: how many there were.
    """

    found: I64
    n_others: int


MEAN_SHARES = "mean_shares"
"""The array of an imported tree with the mean of theta over its documents, float64 [n_nodes]."""

SUPPORTED = 0.5
"""A node of less support (``NodeSupport``) does not come back."""


class NodeSupport(NamedTuple):
    """How far each node comes back in trees of resamples, 0 to 1 (``corpus.data.support``).

    documents: float64 [n_nodes], by documents; words: by words, None where there are none; NaN for
    a single root and what is outside. how: what it was found by, in a few words. note: where
    nothing is known of single nodes, what is known of all branches, in one sentence.
    """

    documents: F64
    words: F64 | None
    how: str = ""
    note: str = ""

    @property
    def value(self) -> F64:
        """The smaller of the two supports, float64 [n_nodes]."""
        return self.documents if self.words is None else np.minimum(self.documents, self.words)

    @property
    def is_of_nodes(self) -> bool:
        """Whether it says something of single nodes, and not in its note alone."""
        return not bool(np.isnan(self.documents).all())


@dataclass(frozen=True)
class Tree:
    """The node table.

    phi: float64 [n_nodes, n_words], word probabilities, rows sum to 1. A tree of vectors has no
    words, phi [n_nodes, 0], but ``extra["mean"]``, float64 [n_nodes, n_columns]. Where it has
    ``extra["telling"]`` too, of that shape, columns stand in for words: means are their chances,
    and the most telling ones come first.
    parent: int32 [n_nodes], -1 for a root. kind: int8 [n_nodes], 0 a node, 1 what lies outside
    the nodes (at most one, the last row; never shown as a topic).
    weight: float64 [n_nodes], share of the training tokens at the node itself; n_tokens: their
    number. n_docs: int64 [n_nodes], as the backend counts them.
    extra: the backend's own globals that inference on new documents needs.
    arrangement: only for a tree that was made after the fit; such a tree is only looked at.
    split_probability: float64 [n_nodes], only where several chains tell
    (``hiertopics.fitting.sampling``).
    support: only where the tree was held against those of other runs
    (``hiertopics.scoring.comparison``).
    transfer: only where the tree was held against those of resamples (``fitting.support``).
    ranking: float64 [n_nodes, n_words], what top words are ranked by; None: phi.
    parts: of the rows whose name has parts, the words of each part, by column
    (``corpus.data.naming``).
    counted: int64 [n_nodes], documents of each branch, only where theta tells
    (``corpus.data.membership``).
    """

    phi: F64
    parent: I32
    kind: I8
    weight: F64
    n_docs: I64
    n_tokens: F64
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    arrangement: Arrangement | None = None
    split_probability: F64 | None = None
    support: Support | None = None
    transfer: NodeSupport | None = None
    ranking: F64 | None = None
    parts: Mapping[int, tuple[I64, ...]] = field(default_factory=dict)
    counted: I64 | None = None

    @property
    def n_nodes(self) -> int:
        """Number of rows, including the row outside."""
        return len(self.parent)

    @cached_property
    def shown(self) -> I64:
        """Ids of the rows that are nodes: int64 [n], ascending."""
        return np.flatnonzero(self.kind == NODE)

    @property
    def is_flat(self) -> bool:
        """Whether all nodes are roots: topics without any tree."""
        return bool((self.parent[self.shown] == ROOT).all())

    @cached_property
    def depth(self) -> I32:
        """Distance from the root, int32 [n_nodes]."""
        depth = np.zeros(self.n_nodes, dtype=np.int32)
        for node in range(self.n_nodes):
            if self.parent[node] != ROOT:
                depth[node] = depth[self.parent[node]] + 1
        return depth

    @property
    def vectors(self) -> F64 | None:
        """The vector of each node, float64 [n_nodes, n_columns]; None in a tree of words."""
        return None if self.phi.shape[1] else self.extra.get("mean")

    @property
    def has_words(self) -> bool:
        """Whether nodes have top words: words, or columns that are more or less telling."""
        return self.vectors is None or "telling" in self.extra

    @property
    def n_columns(self) -> int:
        """Number of words, or of columns in a tree of vectors."""
        return int((self.phi if self.vectors is None else self.vectors).shape[1])

    def id_of(self, node: int) -> int | str:
        """Return the id by which every view shows row ``node``; -1 stays -1."""
        if self.arrangement is None or node == ROOT:
            return int(node)
        return self.arrangement.ids[node]

    def children(self, node: int) -> I64:
        """Ids of the shown children of ``node`` (-1: the roots), heaviest subtree first.

        int64 [n].
        """
        mine = self.shown[self.parent[self.shown] == node]
        order = np.argsort(-self.subtree_weight[mine], kind="stable")
        return np.asarray(mine[order])

    @cached_property
    def branch_docs(self) -> I64:
        """The documents at or below each node, int64 [n_nodes], as all views show them.

        Where nobody counted them, the most documents that a node at or below each has.
        """
        if self.counted is not None:
            return self.counted
        return self.below(np.asarray(self.n_docs, np.int64), np.maximum)

    @cached_property
    def subtree_weight(self) -> F64:
        """Share of the training tokens at or below each node, float64 [n_nodes]."""
        return self.below(self.weight)

    def below(self, own: NDArray[Number], join: np.ufunc = np.add) -> NDArray[Number]:
        """Return the sum, or another join, of ``own`` values at and below each node.

        own: [n_nodes, ...].
        """
        total = own.copy()
        for node in range(self.n_nodes - 1, -1, -1):
            if self.parent[node] != ROOT:
                total[self.parent[node]] = join(total[self.parent[node]], total[node])
        return total

    def without(self, gone: NDArray[np.bool_]) -> Tree:
        """Return the tree without some nodes, to be looked at only; rows keep their numbers.

        gone: bool [n_nodes]. What hangs below them, and their tokens, go to the next node above
        that stays.
        """
        parent, kind = self.parent.copy(), self.kind.copy()
        weight, n_tokens = self.weight.copy(), self.n_tokens.copy()
        for node in self.shown.tolist():
            above = parent[node]
            if above != ROOT and gone[above]:
                parent[node] = parent[above]
        for node in self.shown[::-1].tolist():
            if not gone[node]:
                continue
            kind[node] = OUTSIDE
            for amount in (weight, n_tokens):
                if self.parent[node] != ROOT:
                    amount[self.parent[node]] += amount[node]
                    amount[node] = 0.0
        return replace(self, parent=parent, kind=kind, weight=weight, n_tokens=n_tokens)

    def path(self, node: int) -> list[int]:
        """Return the way from the root to ``node``."""
        path = [node]
        while self.parent[path[0]] != ROOT:
            path.insert(0, int(self.parent[path[0]]))
        return path

    @cached_property
    def above(self) -> sparse.csr_array:
        """1 where a column lies at or above a row, float64 [n_nodes, n_nodes]."""
        pairs = [(node, up) for node in range(self.n_nodes) for up in self.path(node)]
        cells = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        shape = (self.n_nodes, self.n_nodes)
        return sparse.csr_array((np.ones(len(cells)), (cells[:, 0], cells[:, 1])), shape=shape)

    def top_words(self, node: int, n_words: int) -> I64:
        """Word ids of the ``n_words`` best words of ``node``, the most probable; ties by word id.

        int64 [n_words], fewer in a smaller vocabulary, the best one first.
        In a tree of vectors the most telling columns, if it says which those are.
        """
        chances = self.phi if self.ranking is None else self.ranking
        row = chances[node] if self.vectors is None else self._telling(node)
        return largest(row, n_words)

    def chance(self, node: int, word: int) -> float:
        """Return the probability of a word, or of a column in place of one, at ``node``."""
        return float((self.phi if self.vectors is None else self.vectors)[node, word])

    def _telling(self, node: int) -> F64:
        return self.extra["telling"][node] if self.has_words else np.empty(0)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of model.npz, by the names of the fields and of ``extra``."""
        own = {name: getattr(self, name) for name in OWN} | dict(self.extra)
        if self.vectors is not None:
            own.pop("phi")
        return own

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Tree:
        """Inverse of ``to_arrays``.

        Raises KeyError where an array is missing, ValueError where they do not fit one another.
        """
        if "mean" in arrays and "phi" not in arrays:
            arrays = {"phi": np.zeros((len(arrays["mean"]), 0)), **arrays}
        extra = {name: array for name, array in arrays.items() if name not in OWN}
        own: dict[str, Any] = {name: arrays[name] for name in OWN}
        tree = Tree(**own, extra=extra)
        require_tree(tree)
        return tree


def branch_tokens(tree: Tree) -> F64:
    """Return the tokens of each word at and below each node, float64 [n_nodes, n_words].

    A node without tokens at and below it counts NO_TOKENS tokens, divided as its phi. The result is
    the only array as large as phi: memory has no room for copies of a large tree.
    """
    found = tree.phi * np.where(tree.n_tokens == 0, NO_TOKENS, tree.n_tokens)[:, None]
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.parent[node] != ROOT:
            found[tree.parent[node]] += found[node]
    return found


def root_tokens(tree: Tree, below: F64) -> F64:
    """Return the tokens of each word at and below all roots, float64 [n_words].

    below: as ``branch_tokens`` returns it.
    """
    whole = np.zeros(below.shape[1])
    for root in np.flatnonzero(tree.parent == ROOT):
        whole += below[root]
    return whole


def by_branch(tree: Tree) -> Tree:
    """Return a tree of words whose nodes show their branches, to be looked at only.

    phi: p(w | branch), of all tokens at and below a node; words are ranked by
    p(w | branch) log(p(w | branch) / p(w)), by what a branch has more of than the corpus.
    """
    of_branch = branch_tokens(tree)
    whole = root_tokens(tree, of_branch)
    of_branch /= of_branch.sum(axis=1, keepdims=True)
    ranking = np.maximum(of_branch, _TINY)
    np.log(ranking, out=ranking)
    ranking -= np.log(np.maximum(whole / whole.sum(), _TINY))
    ranking *= of_branch
    # A single root has all there is, and nothing more than that: its own words say what it is.
    roots = np.flatnonzero(tree.parent == ROOT)
    if len(roots) == 1:
        ranking[roots] = tree.phi[roots]
    return replace(tree, phi=of_branch, ranking=ranking)


def by_relevance(tree: Tree, weight: float = 0.6) -> Tree:
    """Return a tree of words ranked by relevance, to be looked at only.

    Relevance is l log p(w | node) + (1 - l) log (p(w | node) / p(w)), l the weight (C. Sievert and
    K. Shirley: LDAvis, 2014); p(w) is the share of all tokens. Words that are expected less often
    than ``FEW_TOKENS`` at a node come last: smoothing put them there.
    """
    tokens = tree.phi * tree.n_tokens[:, None]
    share = np.maximum(tokens.sum(axis=0) / max(tokens.sum(), np.finfo(float).tiny), _TINY)
    chances = np.log(np.maximum(tree.phi, _TINY))
    ranking = chances - (1 - weight) * np.log(share)
    return replace(tree, ranking=_own_first(tree, tokens, ranking, chances))


def by_frex(tree: Tree, weight: float = 0.5) -> Tree:
    """Return a tree of words ranked by FREX, to be looked at only.

    FREX is the weighted harmonic mean of two ranks of a word at the node, as shares of all words:
    by p(w | node), and by p(w | node) / sum_j p(w | j), how exclusive it is (J. Bischof and E.
    Airoldi: Summarizing topical content with word frequency and exclusivity, 2012). weight: that
    of exclusivity. Words that smoothing put there come last, as by relevance.
    """
    exclusive = tree.phi / np.maximum(tree.phi.sum(axis=0), _TINY)
    ranking = 1 / (weight / _ranks(exclusive) + (1 - weight) / _ranks(tree.phi))
    tokens = tree.phi * tree.n_tokens[:, None]
    return replace(tree, ranking=_own_first(tree, tokens, ranking, tree.phi))


def _ranks(table: F64) -> F64:
    """Return for each entry the share of its row that is not larger."""
    below = [np.searchsorted(np.sort(row), row, side="right") for row in table]
    ranks: F64 = np.array(below) / table.shape[1]
    return ranks


def _own_first(tree: Tree, tokens: F64, ranking: F64, otherwise: F64) -> F64:
    """Return a ranking with the words that a node has too few tokens of below all others."""
    lowest = np.minimum(ranking.min(axis=1, keepdims=True), 0) - 1
    span = otherwise.max() - otherwise.min() + 1
    return np.where(tokens < FEW_TOKENS, lowest + (otherwise - otherwise.max()) / span, ranking)


def require_tree(tree: Tree) -> None:
    """Raise ValueError unless the arrays form one tree, parents before children.

    Numbers are finite, chances and counts not negative; at most the last row is outside.
    """
    hints = get_type_hints(Tree)
    for name in OWN:
        array = getattr(tree, name)
        require_type(name, array, declared(hints[name]))
        n_axes = 2 if name == "phi" else 1
        if array.ndim != n_axes or len(array) != tree.n_nodes:
            raise ValueError(f"{name} is not of {tree.n_nodes} nodes")
    parent = tree.parent
    if ((parent < ROOT) | (parent >= np.arange(tree.n_nodes))).any():
        raise ValueError("a node's parent is no node before it")
    kind = tree.kind
    if (kind[:-1] != NODE).any() or not np.isin(kind[-1:], (NODE, OUTSIDE)).all():
        raise ValueError("kind has another row outside than the last one")
    for name in ("phi", "weight", "n_docs", "n_tokens"):
        array = getattr(tree, name)
        require_finite(name, array)
        if array.size and array.min() < 0:
            raise ValueError(f"{name} has a negative number")
    lengths = {"n_nodes": tree.n_nodes, "n_words": tree.phi.shape[1]}
    mixed = MIXTURES if tree.extra.keys() >= MIXTURES.keys() else {}
    for name, hint in {**(VECTORS if not lengths["n_words"] else mixed), **GROUPS}.items():
        if name in tree.extra:
            require_declared(name, tree.extra[name], hint, lengths)
    if "group_docs" in tree.extra:
        for name in ("group_theta", "group_mean"):
            rows = tree.extra.get(name)
            if rows is not None and len(rows) != len(tree.extra["group_docs"]):
                raise ValueError(f"{name} has not a row for each of group_docs")
        if "group_names" not in tree.extra:
            raise ValueError("it has no group_names")
        if len(unpack_names("group_names", tree.extra)) != len(tree.extra["group_docs"]):
            raise ValueError("group_names are not those of group_docs")


class Label(NamedTuple):
    """The user's label of a node; the name is one line, empty if there is none."""

    name: str = ""
    hidden: bool = False
    note: str = ""


Labels = Mapping[int, Label]
"""Labels by row of a tree."""

NONE: Labels = {}


def hidden_nodes(tree: Tree, labels: Labels) -> Bools:
    """Return which rows are hidden, themselves or by a node above them, bool [n_nodes]."""
    hidden = np.array([labels.get(node, Label()).hidden for node in range(tree.n_nodes)])
    if not hidden.any():
        return hidden
    found: Bools = tree.above @ hidden > 0
    return found


def n_hidden(tree: Tree, labels: Labels) -> int:
    """Return the number of nodes that are hidden, themselves or by a node above them."""
    return int(np.count_nonzero(hidden_nodes(tree, labels)[tree.shown]))
