"""The first levels of a tree without topics, found quickly: groups and branches (theory/nhdp 6.1).

Resamples of a corpus are outlined to tell which branches of its tree come back.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import I64
from hiertopics.base.stretches import rows_of
from hiertopics.contract.model import Context, Summary
from hiertopics.corpus.data import NODE, ROOT, Bags, Corpus, Tree
from hiertopics.families.flat.layout import counts_of
from hiertopics.families.flat.variational import prepare
from hiertopics.families.nhdp import branching, flat_starts, starts
from hiertopics.families.nhdp.config import VariationalSettings, sized
from hiertopics.families.nhdp.documents import USUAL

QUICK = branching.Effort(powers=2, passes=10, subsamples=1, rounds=5, vectors=20)
"""Enough for the groups; the branches below them would need all of it."""


def outline(corpus: Corpus, settings: VariationalSettings, context: Context) -> Summary:
    """Return groups and branches of a corpus: their words, and the documents' shares of them.

    Raises ValueError where the settings have no branches that are found first.
    """
    data = prepare(corpus, settings)
    counts, n_named = counts_of(data), len(data.seeds.names)
    n_branches = starts.branches_first(data, settings, data.n_docs)
    if n_branches < 2:
        raise ValueError("the start finds no branches first")
    branch = branching.branches_of(counts, n_branches, data.seeds, QUICK).probable()
    group = branching.BranchLinks(counts, branch, n_named, QUICK).groups()
    return _summary(counts, branch, group)


def _summary(counts: sparse.csr_array, branch: I64, group: I64) -> Summary:
    """Return the tree of these pairs; branch: int64 [n_pairs], group: int64 [n_branches]."""
    names, place = np.unique(group, return_inverse=True)
    first = 1 + len(names)
    node = first + branch
    n_nodes = first + len(group)
    doc = rows_of(counts.indptr)
    shape = (counts.shape[0], n_nodes)
    theta = sparse.coo_array((counts.data, (doc, node)), shape=shape).tocsr()
    words = np.zeros((n_nodes, counts.shape[1]))
    np.add.at(words, (node, counts.indices), counts.data)
    n_tokens = words.sum(axis=1)
    empty = n_tokens == 0
    words[empty] = 1.0
    tree = Tree(
        phi=words / words.sum(axis=1, keepdims=True),
        parent=np.concatenate([[ROOT], np.zeros(len(names)), 1 + place]).astype(np.int32),
        kind=np.full(n_nodes, NODE, np.int8),
        weight=n_tokens / max(n_tokens.sum(), 1.0),
        n_docs=np.zeros(n_nodes, np.int64),
        n_tokens=n_tokens,
    )
    lengths = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1.0)
    return Summary(tree, sparse.csr_array(sparse.diags_array(1.0 / lengths) @ theta))


def outline_cost(corpus: Bags, settings: VariationalSettings) -> float:
    """Return the cost of an outline relative to a fit: pairs times topics times iterations.

    Infinity where the settings have no branches that are found first, or where the flat topics see
    a part of the documents.
    """
    model, inference = sized(settings, corpus.n_docs).model, settings.inference
    used = int((corpus.word_counts > 0).sum())
    n_topics = flat_starts.most_clusters(used, model.truncation)
    n_branches = starts.number_first(used, corpus.n_docs, settings)
    if inference.start != "groups" or n_branches < 2:
        return math.inf
    if corpus.n_pairs > starts.ROOM // model.truncation:
        return math.inf
    fit = n_topics * inference.start_iterations / n_branches + USUAL * inference.iterations
    effort = branching.WHOLE._replace(passes=inference.start_passes)
    fit += effort.work(n_branches)
    return QUICK.work(n_branches) / fit
