"""The quick support of a fitted tree's branches, which fits compute by default.

Resamples are not fitted but outlined (``Backend.outline``). Only the children of the root are held
against outlines, and by documents alone: an outline does not tell a branch's words from general
ones. This support is 0.10 to 0.22 below that of whole fits (five corpora; docs/evaluation).
``support`` measures all nodes. theory/agreement 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I64
from hiertopics.contract import AnyBackend, Context, Settings, Summary, Workers
from hiertopics.corpus.data import ROOT, NodeSupport, Tree, in_memory
from hiertopics.fitting.resampling import (
    PART,
    Basis,
    headed,
    held_against,
    node_records,
    node_support,
    resampled_rows,
)
from hiertopics.runs.rundir import OUTLINES

RESAMPLES = 3
MOST = 0.1
"""Largest cost of all outlines as a part of the fit's; if they cost more, there are none."""

FEWEST_DOCS = 50


def quick_support(
    backend: AnyBackend,
    settings: Settings,
    train: Any,
    summary: Summary,
    seed: int,
    model: str,
) -> dict[str, Any] | None:
    """Return the content of support.json after a fit; None if outlines cost too much or cannot be.

    train: what was fitted to; model: the seal of model.npz. By counts of what is done, never by a
    clock, so that the same fit has the same files everywhere.
    """
    if backend.outline is None or backend.outline_cost is None or train.n_docs < FEWEST_DOCS:
        return None
    if RESAMPLES * PART * backend.outline_cost(train, settings) > MOST:
        return None
    basis, branches = _first_level(summary, train.doc_lengths)
    if len(branches) < 2:
        return None
    found = []
    with Workers() as here:
        for number in range(RESAMPLES):
            rows = resampled_rows(seed, train.n_docs, number)
            part = in_memory(train.select(rows))
            made = backend.outline(part, settings, Context(seed, 0, here))
            found.append(held_against(seed, basis, number, rows, made.tree, made.theta, None))
    documents = np.full(summary.tree.n_nodes, np.nan)
    documents[branches] = node_support(basis, found).documents[1:]
    return {
        **headed(len(found), model, {}),
        OUTLINES: True,
        "note": _note(documents[branches]),
        "nodes": node_records(summary.tree, NodeSupport(documents, None)),
    }


def _first_level(summary: Summary, lengths: I64) -> tuple[Basis, I64]:
    """Return the root and its children with all that is below these, and which nodes they are."""
    tree = summary.tree
    roots = tree.shown[tree.parent[tree.shown] == ROOT]
    branches = tree.shown[np.isin(tree.parent[tree.shown], roots)]
    place = np.zeros(tree.n_nodes, np.int64)
    place[branches] = np.arange(1, 1 + len(branches))
    for node in tree.shown[np.argsort(tree.depth[tree.shown], kind="stable")].tolist():
        if tree.depth[node] > 1:
            place[node] = place[tree.parent[node]]
    # Indices of 32 bits: those of theta would else be copied to the type of these.
    ends = np.arange(tree.n_nodes + 1, dtype=np.int32)
    cells = (np.ones(tree.n_nodes), place.astype(np.int32), ends)
    into = sparse.csr_array(cells, shape=(tree.n_nodes, 1 + len(branches)))
    rows = np.concatenate([roots[:1], branches])
    small = Tree(
        phi=tree.phi[rows],
        parent=np.array([ROOT] + [0] * len(branches), np.int32),
        kind=tree.kind[rows],
        weight=into.T @ tree.weight,
        n_docs=tree.n_docs[rows],
        n_tokens=into.T @ tree.n_tokens,
    )
    return Basis(small, sparse.csr_array(summary.rows @ into), lengths, None), branches


def _note(support: F64) -> str:
    return (
        f"Without a tenth of the documents the {len(support)} branches come back to "
        f"{support.mean():.0%} (quick estimate, usually 10 to 20 points too low)"
    )
