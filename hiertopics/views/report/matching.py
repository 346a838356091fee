"""Two runs side by side: which topics are the same, and which documents moved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hiertopics.base.arrays import F64, I64, Bools
from hiertopics.base.errors import UsageError
from hiertopics.base.visible import visible
from hiertopics.corpus.data.matching import TreeNodes, affinities, matched
from hiertopics.corpus.data.tree import ROOT, Tree, branch_tokens
from hiertopics.runs.labels import labels_of
from hiertopics.runs.rundir import RunDir
from hiertopics.views.report.card import card_of
from hiertopics.views.report.documents import Shares
from hiertopics.views.report.nodes import rounded
from hiertopics.views.report.topics import Layout, label_columns

N_WORDS = 10
FEW = 2


def refuse_other_kind(run: RunDir, other: RunDir) -> None:
    """Raise UsageError where the topics of two runs cannot be compared."""
    mine, theirs = run.tree, other.tree
    if (mine.vectors is None) != (theirs.vectors is None):
        raise UsageError(
            f"{run.path} and {other.path} cannot be compared: one has words, the other vectors"
        )
    if not set(run.vocab) & set(other.vocab):
        raise UsageError(
            f"{run.path} and {other.path} cannot be compared: they have no word in common"
        )


def same_documents(run: RunDir, other: RunDir) -> bool:
    """Tell whether two runs were trained on the same documents, in the same order."""
    prints = [one.manifest["corpus"]["fingerprint"] for one in (run, other)]
    mine, theirs = run.split.train_docs, other.split.train_docs
    return prints[0] == prints[1] and np.array_equal(mine, theirs)


def comparison_part(
    run: RunDir,
    tree: Tree,
    layout: Layout,
    shares: Shares,
    other: RunDir,
    other_tree: Tree,
    other_layout: Layout,
    other_shares: Shares | None,
    ranked: Tree,
    kept: I64,
) -> dict[str, Any]:
    """Return the part ``comparison``: the other run's card and topics, matches, and moves.

    other_shares: None where the documents are others, so that none of them can move. ranked: the
    other tree, whole, its words in the order that topics are called by. kept: int64 [n], the
    documents whose own place in the other run is held, too.
    """
    pairs, affinity = paired(
        TreeNodes(tree, layout.rows, run.vocab),
        TreeNodes(other_tree, other_layout.rows, other.vocab),
    )
    part: dict[str, Any] = {
        "card": card_of(other),
        "run": named(other),
        "nodes": {
            "id": [other_tree.id_of(row) for row in other_layout.rows.tolist()],
            **label_columns(labels_of(other, other_tree), other_layout),
            "parent": other_layout.parent.tolist(),
            "n_docs": other_tree.n_docs[other_layout.rows].tolist(),
            "branch_docs": other_tree.branch_docs[other_layout.rows].tolist(),
            "below": rounded(other_tree.subtree_weight[other_layout.rows], 6),
            "words": [
                [other.vocab[word] for word in other_tree.top_words(row, N_WORDS)]
                for row in other_layout.rows.tolist()
            ],
            "called": [
                [other.vocab[word] for word in ranked.top_words(row, N_WORDS)]
                for row in other_layout.rows.tolist()
            ],
            **_parts(other, ranked, other_layout),
        },
        "mine": [first for first, _ in pairs],
        "other": [second for _, second in pairs],
        "affinity": rounded(np.array([affinity[pair] for pair in pairs]), 3),
    }
    if other_shares is not None:
        part |= _moves(layout, shares, other_layout, other_shares, pairs, kept)
    return part


def paired(mine: TreeNodes, theirs: TreeNodes) -> tuple[list[tuple[int, int]], F64]:
    """Return the pairs of topics that are most alike, by place, and the affinity of each two.

    float64 [n_mine, n_theirs], from 0 to 1.
    Topics of words are compared by the words at or below them: of an inner node the words at the
    node itself may be few.
    """
    affinity = affinities(
        *(one._replace(tree=_with_branch_words(one.tree)) for one in (mine, theirs))
    )
    return matched(affinity), affinity


def _with_branch_words(tree: Tree) -> Tree:
    """Return a tree whose phi is p(w | branch), to be looked at only; of vectors the same tree."""
    if tree.vectors is not None:
        return tree
    of_branch = branch_tokens(tree)
    of_branch /= of_branch.sum(axis=1, keepdims=True)
    return replace(tree, phi=of_branch)


def _parts(run: RunDir, ranked: Tree, layout: Layout) -> dict[str, Any]:
    """Return the parts of the names of mixed branches; nothing where there are none."""
    parts = [
        [[run.vocab[word] for word in part] for part in ranked.parts.get(row, ())]
        for row in layout.rows.tolist()
    ]
    return {"parts": parts} if any(parts) else {}


def _moves(
    layout: Layout,
    shares: Shares,
    other_layout: Layout,
    other_shares: Shares,
    pairs: list[tuple[int, int]],
    kept: I64,
) -> dict[str, Any]:
    """Return how many documents matched topics share, flows between branches, and homes."""
    both, only_mine, only_other = [], [], []
    for first, second in pairs:
        here = _at(shares.home, first, layout)
        there = _at(other_shares.home, second, other_layout)
        both.append(int((here & there).sum()))
        only_mine.append(int((here & ~there).sum()))
        only_other.append(int((there & ~here).sum()))
    branch = _branches(layout)[shares.home]
    other_branch = _branches(other_layout)[other_shares.home]
    known = (shares.home >= 0) & (other_shares.home >= 0)
    flows, counts = np.unique(
        np.stack([branch[known], other_branch[known]], axis=1), axis=0, return_counts=True
    )
    return {
        "both": both,
        "only_mine": only_mine,
        "only_other": only_other,
        "flows": [[*pair, n] for pair, n in zip(flows.tolist(), counts.tolist(), strict=True)],
        "doc_home": other_shares.home[kept].tolist(),
    }


def _at(home: I64, place: int, layout: Layout) -> Bools:
    return np.asarray((home >= place) & (home < layout.end[place]))


def _branches(layout: Layout) -> I64:
    """Return the branch of each place: its ancestor on the first level of at least FEW nodes.

    Where no level has so many, on the first one below a single root, else among the roots.
    """
    depth = np.zeros(len(layout.rows), dtype=np.int64)
    for place, above in enumerate(layout.parent.tolist()):
        depth[place] = 0 if above == ROOT else depth[above] + 1
    widths = np.bincount(depth)
    wide = np.flatnonzero(widths >= FEW)
    level = int(wide[0]) if len(wide) else min(int(widths[0] == 1), len(widths) - 1)
    branch = np.arange(len(layout.rows))
    for place, above in enumerate(layout.parent.tolist()):
        if depth[place] > level:
            branch[place] = branch[above]
    return branch


def named(run: RunDir) -> str:
    """Return the name of a run in a report."""
    return visible(run.path.name or run.path.absolute().name)
