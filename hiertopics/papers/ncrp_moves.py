"""A round of moves as the nested CRP paper has it: grow, merge by cosine, prune (theory/ncrp 4)."""

from __future__ import annotations

import numpy as np

from hiertopics.contract.model import Context
from hiertopics.families.ncrp.config import VariationalSettings as Settings
from hiertopics.families.ncrp.variational.draft import PathTreeDraft, draft_of, state_of_draft
from hiertopics.families.ncrp.variational.growing import grow
from hiertopics.families.ncrp.variational.moves import PRUNE_BELOW, TRIAL_SWEEPS, sweep
from hiertopics.families.ncrp.variational.state import Data, State
from hiertopics.families.nested.slots import disjoint_pairs

SAME_DOCUMENTS = 0.95


def paper_moves(
    state: State, data: Data, settings: Settings, context: Context
) -> tuple[State, int]:
    """Grow by both rules, sweep, merge paths with the same documents, prune."""
    state, n_grown = grow(state, data, settings.inference.max_nodes, context)
    for _ in range(TRIAL_SWEEPS):
        sweep(state)
    draft = draft_of(state)
    n_moves = merge_alike(draft) + draft.prune(PRUNE_BELOW)
    return (state_of_draft(draft, state) if n_moves else state), n_grown + n_moves


def merge_alike(draft: PathTreeDraft) -> int:
    """Merge nodes that the same documents pass, by cosine; return how many.

    Full paths may merge wherever they are (paper), inner nodes with their siblings alone
    (theory/ncrp 4). Pairs come by decreasing cosine, and each node takes part at most once.
    """
    n_merged = _merge_level(draft, draft.depth - 1)
    for level in range(draft.depth - 2, 0, -1):
        n_merged += _merge_level(draft, level)
    return n_merged


def _merge_level(draft: PathTreeDraft, level: int) -> int:
    nodes = draft.alive(level)
    products = draft.products(level)
    passing, norms = products[-1, :-1], np.sqrt(np.diag(products)[:-1])
    norms = np.where(norms > 0, norms, 1.0)
    cosine = products[:-1, :-1] / norms / norms[:, None]
    if level < draft.depth - 1:
        cosine[draft.parent[nodes][:, None] != draft.parent[nodes]] = 0.0
    pairs = disjoint_pairs(cosine, SAME_DOCUMENTS)
    for i, j in pairs:
        if passing[i] < passing[j]:
            i, j = j, i
        kept, gone = int(nodes[i]), int(nodes[j])
        if draft.parent[kept] != draft.parent[gone]:
            draft.hang(gone, int(draft.parent[kept]))
        draft.join(kept, gone)
    return len(pairs)
