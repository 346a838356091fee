"""Quality of topics and of trees, against a corpus.

Of topics: NPMI coherence and diversity of their top words. Of a tree: whether children go with
their parents and apart from each other. All means are over pairs, groups or nodes, each with the
same weight. Top words are the ``TREE_WORDS`` most probable ones of a node. What does not exist in
a tree is None: everything in a flat one, and comparisons with non-children where no level above
the last has two nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.data.shelf import Bags
from hiertopics.corpus.data.tree import ROOT, Tree

COHERENCE_WORDS = 10
DIVERSITY_WORDS = 25


class Quality(NamedTuple):
    """coherence_npmi: mean over topics, in [-1, 1]. diversity: share of distinct top words.

    Both are None where there is no topic.
    """

    n_topics: int
    coherence_npmi: float | None
    diversity: float | None


def topic_quality(tree: Tree, corpus: Bags) -> Quality:
    """Return the quality of a tree's nodes against the training corpus."""
    nodes = tree.shown
    tops = np.array([tree.top_words(node, COHERENCE_WORDS) for node in nodes])
    wide = np.array([tree.top_words(node, DIVERSITY_WORDS) for node in nodes])
    per_topic = npmi(tops, corpus)
    return Quality(
        len(nodes),
        float(per_topic.mean()) if len(nodes) else None,
        len(np.unique(wide)) / wide.size if wide.size else None,
    )


def npmi(tops: I64, corpus: Bags) -> F64:
    """Return the mean NPMI over pairs of each topic's top words, float64 [n_topics].

    tops: word ids [n_topics, n_top]. Probabilities are document frequencies: NPMI(a, b) =
    log(p(a, b) / (p(a) p(b))) / -log p(a, b), and -1 where a and b never meet
    (G. Bouma, Normalized (pointwise) mutual information in collocation extraction, 2009).
    """
    words, place = np.unique(tops, return_inverse=True)
    place = place.reshape(tops.shape)
    together = documents_with_both(corpus, words) / max(corpus.n_docs, 1)
    alone = together.diagonal()
    scores = np.empty(len(tops))
    first, second = np.triu_indices(tops.shape[1], 1) if tops.ndim == 2 else ((), ())
    for topic, row in enumerate(place):
        joint = together[row[first], row[second]]
        product = alone[row[first]] * alone[row[second]]
        scores[topic] = npmi_of_pairs(joint, product).mean() if len(joint) else 0.0
    return scores


def documents_with_both(corpus: Bags, words: I64) -> F64:
    """Return in how many documents each two of some words are, float64 [n, n]."""
    together = np.zeros((len(words), len(words)))
    for block in corpus.blocks():
        present = block[:, words].astype(bool).astype(np.float64)
        together += (present.T @ present).toarray()
    return together


def npmi_of_pairs(joint: F64, product: F64) -> F64:
    """Return NPMI of pairs of words, in [-1, 1].

    joint: p(a, b); product: p(a) p(b); float64 of one shape, which is that of the result.
    """
    value = np.full(joint.shape, -1.0)
    met = joint > 0
    always = joint >= 1.0
    value[always] = 1.0
    some = met & ~always
    value[some] = np.log(joint[some] / product[some]) / -np.log(joint[some])
    return value


TREE_WORDS = 15


class Hierarchy(NamedTuple):
    """parent_child_npmi in [-1, 1], the others in [0, 1]; see the functions of the same names.

    specialization: one value per depth, the root's first.
    """

    parent_child_npmi: float | None = None
    sibling_diversity: float | None = None
    non_child_diversity: float | None = None
    specialization: list[float] | None = None
    affinity_child: float | None = None
    affinity_non_child: float | None = None


def hierarchy_quality(tree: Tree, corpus: Bags) -> Hierarchy:
    """Return how good the nodes of a tree are as a hierarchy, against the training corpus."""
    if not (tree.parent[tree.shown] != ROOT).any():
        return Hierarchy()
    tops = np.array([tree.top_words(node, TREE_WORDS) for node in tree.shown])
    groups = _groups(tree)
    children, others = _pairs(tree)
    return Hierarchy(
        parent_child_npmi(tops, groups, corpus),
        sibling_diversity(tops, groups),
        non_child_diversity(tops, others),
        specialization(tree, corpus),
        affinity(tree, children) if len(others) else None,
        affinity(tree, others),
    )


def parent_child_npmi(tops: I64, groups: Sequence[tuple[int, I64]], corpus: Bags) -> float:
    """Return the mean over parents and children of the NPMI of their top words.

    Of a pair it is the mean of NPMI(a, b) over words a of the parent alone and b of the child
    alone (shared words are left out); -1 where all are shared. Z. Chen, C. Ding, Y. Rao, H. Xie,
    X. Tao, G. Cheng, F. L. Wang: Hierarchical neural topic modeling with manifold regularization,
    World Wide Web 24, 2021 (there CLNPMI). NPMI as in ``quality.npmi``. tops: [n_nodes, n_top].
    groups: each parent with its children.
    """
    n_docs = max(corpus.n_docs, 1)
    frequency = np.zeros(corpus.n_words)
    met = [np.zeros((tops.shape[1], tops[children].size)) for _, children in groups]
    for block in corpus.blocks():
        present = block.tocsc().astype(bool).astype(np.float64)
        frequency += np.diff(present.indptr)
        for (parent, children), counted in zip(groups, met, strict=True):
            counted += (present[:, tops[parent]].T @ present[:, tops[children].ravel()]).toarray()
    frequency /= n_docs
    scores = []
    for (parent, children), counted in zip(groups, met, strict=True):
        own, below = tops[parent], tops[children].ravel()
        pairs = npmi_of_pairs(counted / n_docs, np.outer(frequency[own], frequency[below]))
        for place, child in enumerate(children):
            columns = slice(place * len(own), (place + 1) * len(own))
            rows, kept = ~np.isin(own, tops[child]), ~np.isin(tops[child], own)
            scores.append(pairs[:, columns][rows][:, kept].mean() if rows.any() else -1.0)
    return float(np.mean(scores))


def sibling_diversity(tops: I64, groups: Sequence[tuple[int, I64]]) -> float | None:
    """Return the mean over sets of siblings of the share of top words unique to one sibling.

    X. Wu, F. Pan, T. Nguyen, Y. Feng, C. Liu, C.-D. Nguyen, A. T. Luu: On the affinity,
    rationality, and diversity of hierarchical topic modeling, AAAI 2024. tops: int64 [n_nodes, n],
    words; groups: parents with their children. None where no node has two children.
    """
    shares = []
    for _, children in groups:
        if len(children) > 1:
            _, times = np.unique(tops[children], return_counts=True)
            shares.append((times == 1).sum() / tops[children].size)
    return _mean(shares)


def non_child_diversity(tops: I64, pairs: I64) -> float | None:
    """Return the mean over ``pairs`` of the share of top words unique to one of the two.

    Pairs of nodes [n_pairs, 2], the second one level below the first and no child of it: Wu et
    al. 2024 (see ``sibling_diversity``).
    """
    n_nodes, n_top = tops.shape
    ends = np.arange(n_nodes + 1) * n_top
    members = sparse.csr_array((np.ones(tops.size), tops.ravel(), ends))
    shared = (members @ members.T).toarray()
    return _mean(1.0 - shared[pairs[:, 0], pairs[:, 1]] / n_top)


def specialization(tree: Tree, corpus: Bags) -> list[float]:
    """Return the mean over the nodes of each depth of 1 - cos(phi, word counts of the corpus).

    It should grow from the root down. J. H. Kim, D. Kim, S. Kim, A. Oh: Modeling topic
    hierarchies with the recursive Chinese restaurant process, CIKM 2012.
    """
    counts = corpus.word_counts.astype(np.float64)
    apart = 1.0 - _unit(tree.phi[tree.shown]) @ _unit(counts[None, :])[0]
    depth = tree.depth[tree.shown]
    return [float(apart[depth == level].mean()) for level in range(depth.max() + 1)]


def affinity(tree: Tree, pairs: I64) -> float | None:
    """Return the mean over ``pairs`` [n_pairs, 2] of the cosine of their word probabilities.

    For children it should be larger than for non-children of the same levels: Kim et al. 2012
    (see ``specialization``).
    """
    rows = _unit(tree.phi[tree.shown])
    cosines = rows @ rows.T
    return _mean(cosines[pairs[:, 0], pairs[:, 1]])


def _groups(tree: Tree) -> list[tuple[int, I64]]:
    """Return each node that has children with them, by place among the shown nodes."""
    parent = _places(tree)
    return [
        (int(above), np.flatnonzero(parent == above)) for above in np.unique(parent[parent >= 0])
    ]


def _pairs(tree: Tree) -> tuple[I64, I64]:
    """Return pairs of a node and one a level below it: children, and those that are none.

    Only levels with at least two nodes have both, and only those are taken.
    """
    parent, depth = _places(tree), tree.depth[tree.shown]
    taken = np.bincount(depth)[depth] > 1
    first, second = np.nonzero(taken[:, None] & (depth[None, :] == depth[:, None] + 1))
    pairs = np.column_stack([first, second])
    own = parent[second] == first
    return pairs[own], pairs[~own]


def _places(tree: Tree) -> I64:
    """Return the place of each shown node's parent among the shown nodes; -1 for a root."""
    place = np.full(tree.n_nodes + 1, ROOT)  # the last entry serves a root's parent, -1
    place[tree.shown] = np.arange(len(tree.shown))
    return place[tree.parent[tree.shown]]


def _unit(rows: F64) -> F64:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def _mean(values: Sequence[float] | F64) -> float | None:
    return float(np.mean(values)) if len(values) else None
