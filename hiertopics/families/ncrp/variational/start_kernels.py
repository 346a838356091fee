"""Counts of a tree whose documents have been seated by a sampler (theory/ncrp 4)."""

from __future__ import annotations

import numpy as np

from hiertopics.arrays import F64, I8, I32, I64
from hiertopics.families.ncrp.variational.slot_kernels import Cells
from hiertopics.numeric.jit import kernel


@kernel()
def count_levels(token_ptr: I64, level: I8, found: I32) -> None:
    """Count the tokens of each pair by level [n_pairs, depth]; level: of each token."""
    for pair in range(len(found)):
        for token in range(token_ptr[pair], token_ptr[pair + 1]):
            found[pair, level[token]] += 1


@kernel()
def seat_documents(
    cells: Cells,
    leaf: I64,
    level_tokens: I32,
    share: F64,
    unsure: float,
    parent: I32,
    bounds: I64,
    words: F64,
    mass: F64,
    tau: F64,
) -> None:
    """Add documents on their paths to words [n_words, n_nodes], slots [n_nodes] and tau.

    leaf: int64 [n_docs], the slot of each document, in which q of slots is 1 - ``unsure``; the rest
    is spread evenly. level_tokens: [n_pairs, depth], tokens of each pair by level, smoothed by
    ``share`` [depth] of a token. parent, bounds: as in ``nested.slots.Nodes``. tau: [n_docs,
    depth], added to.
    """
    n_nodes, depth = len(parent), len(share)
    rest = unsure / max(n_nodes - 1, 1)
    passing = np.empty(n_nodes)
    for doc in range(len(leaf)):
        passing[:] = rest
        passing[leaf[doc]] = 1.0 - unsure
        for node in range(n_nodes):
            mass[node] += passing[node]
        for level in range(depth - 1, 0, -1):
            for node in range(bounds[level], bounds[level + 1]):
                passing[parent[node]] += passing[node]
        for pair in range(cells.ptr[doc], cells.ptr[doc + 1]):
            row, count = words[cells.word[pair]], cells.tokens[pair]
            for level in range(depth):
                amount = count * (level_tokens[pair, level] + share[level]) / (count + 1.0)
                tau[doc, level] += amount
                for node in range(bounds[level], bounds[level + 1]):
                    row[node] += amount * passing[node]
