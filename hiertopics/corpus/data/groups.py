"""Groups of documents (authors, labels) as a fitted model sees them: their weights over topics.

A backend whose documents have parents puts these into ``Tree.extra``: group_names
(``names.pack_short_names``; A names),
group_docs int64 [A], the training documents of each, and group_theta float64 [A, n_nodes], rows
sum to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.data.names import unpack_names
from hiertopics.corpus.data.tree import GROUPS, Tree

N_TOPICS = 5
N_WORDS = 4


class Groups(NamedTuple):
    """names: one string per group; n_docs: int64 [A]; theta: float64 [A, n_nodes]."""

    names: tuple[str, ...]
    n_docs: I64
    theta: F64

    @property
    def by_size(self) -> I64:
        """The groups with a training document, most documents first, ties by number: int64 [n]."""
        order = np.argsort(-self.n_docs, kind="stable")
        return np.asarray(order[self.n_docs[order] > 0])

    def affinity(self, group: int) -> F64:
        """Return the Hellinger affinity of a group to every group, from 0 to 1 (1: equal).

        float64 [A].
        """
        root = np.sqrt(self.theta)
        return np.asarray(np.minimum(root @ root[group], 1.0))

    def most_similar(self, group: int, n_groups: int) -> list[tuple[int, float]]:
        """Return the groups with documents nearest to ``group``, the group itself left out."""
        affinity = self.affinity(group)
        order = np.argsort(-affinity, kind="stable")
        near = order[(order != group) & (self.n_docs[order] > 0)]
        return [(int(other), float(affinity[other])) for other in near[:n_groups]]


def groups_of(tree: Tree) -> Groups | None:
    """Return the groups that a tree's backend left, None where it knows of none."""
    if any(name not in tree.extra for name in GROUPS) or not len(tree.extra["group_docs"]):
        return None
    extra = tree.extra
    return Groups(unpack_names("group_names", extra), extra["group_docs"], extra["group_theta"])


def group_rows(
    groups: Groups,
    tree: Tree,
    vocab: Sequence[str],
    *,
    n_topics: int = N_TOPICS,
    n_words: int = N_WORDS,
    n_similar: int = 0,
    min_docs: int = 1,
) -> list[dict[str, Any]]:
    """Return a record per group with training documents, largest first.

    A record holds group (its name), n_docs, topics (id, weight and top words of its main topics)
    and, where they are asked for, similar: pairs of a name and an affinity.
    """
    words = {
        int(node): [vocab[word] for word in tree.top_words(int(node), n_words)]
        for node in tree.shown
    }
    rows = []
    for group in groups.by_size.tolist():
        if groups.n_docs[group] < min_docs:
            break
        weight = groups.theta[group]
        main = tree.shown[np.argsort(-weight[tree.shown], kind="stable")[:n_topics]].tolist()
        topics = [
            {"id": node, "weight": float(weight[node]), "words": words[node]} for node in main
        ]
        row = {"group": groups.names[group], "n_docs": int(groups.n_docs[group]), "topics": topics}
        if n_similar:
            near = groups.most_similar(group, n_similar)
            row["similar"] = [[groups.names[other], affinity] for other, affinity in near]
        rows.append(row)
    return rows
