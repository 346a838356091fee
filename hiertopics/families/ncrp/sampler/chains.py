"""Chains of the collapsed sampler: made, moved document by document, widened and recounted."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.token_layout import Data
from hiertopics.families.ncrp.sampler import graft_kernels, joint_kernels, leap_kernels
from hiertopics.families.ncrp.sampler import sweep_kernels as gibbs_kernels
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Prior

LINE = 16
"""Columns are dealt out in lots of a cache line."""

GROWTH = 1.5


def sequential(data: Data, prior: Prior, rng: np.random.Generator) -> Chain:
    """Return a chain whose documents were seated one by one in random order (theory/ncrp 5).

    Each draws a path from the prior and levels on it, then path and levels given those before.
    """
    depth = len(prior.level)
    first = LINE * np.arange(depth + 1, dtype=np.int64)
    chain = Chain(
        path=np.zeros((data.n_docs, depth), np.int32),
        level=np.full(data.n_tokens, -1, np.int8),
        n_dl=np.zeros((data.n_docs, depth), np.int32),
        n_wk=np.zeros((data.n_words, first[-1]), np.int32),
        n_k=np.zeros(first[-1], np.int64),
        parent=np.zeros(first[-1], np.int32),
        visits=np.zeros(first[-1], np.int32),
        first=first,
    )
    return visit(data, chain, prior, rng.permutation(data.n_docs), rng, fresh=True)


def on_branches(
    data: Data, branch: NDArray[np.integer], prior: Prior, rng: np.random.Generator
) -> Chain:
    """Return a chain of documents on known paths, their tokens on levels drawn from the prior.

    branch: int [n_docs, depth - 1], names of the nodes below the root, unique within a level.
    """
    share = np.cumsum(prior.level)
    drawn = rng.random(data.n_tokens) * share[-1]
    level = np.searchsorted(share[:-1], drawn, side="right").astype(np.int8)
    slot = np.zeros((data.n_docs, len(prior.level)), dtype=np.int32)
    for column, names in enumerate(branch.T, start=1):
        slot[:, column] = np.unique(names, return_inverse=True)[1].ravel()
    return recounted(data, slot, level)


def sweep(data: Data, chain: Chain, prior: Prior, rng: np.random.Generator) -> Chain:
    """Redraw path and levels of each document in turn; in place unless columns run out."""
    return visit(data, chain, prior, np.arange(data.n_docs), rng)


def leap(data: Data, chain: Chain, prior: Prior, rng: np.random.Generator) -> Chain:
    """Let each document leap to another path and other levels; in place as ``sweep``."""
    done = 0
    while True:
        done, _ = leap_kernels.leap_all(data.words, chain, prior, done, rng)
        if done == data.n_docs:
            return chain
        chain = moved(chain, grown(chain))


def graft(data: Data, chain: Chain, prior: Prior, rng: np.random.Generator) -> Chain:
    """Redraw the parent of each node below the second level, leaves first; as ``sweep``."""
    for level in range(chain.path.shape[1] - 1, 1, -1):
        order = np.argsort(chain.path[:, level], kind="stable")
        done = 0
        while done < data.n_docs:
            done = graft_kernels.graft_level(data.words, chain, prior, level, order, done, rng)
            if done < data.n_docs:
                chain = moved(chain, grown(chain))
    return chain


def visit(
    data: Data,
    chain: Chain,
    prior: Prior,
    order: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    fresh: bool = False,
) -> Chain:
    """Redraw path and levels of the documents of ``order`` in turn; as ``sweep``.

    fresh: they are not seated yet.
    """
    done = 0
    while True:
        done = gibbs_kernels.sweep(data.words, chain, prior, order, done, fresh, rng)
        if done == len(order):
            return chain
        chain = moved(chain, grown(chain))


def grown(chain: Chain) -> NDArray[np.int64]:
    """Return ``first`` of the chain with more columns at the levels that have no free one."""
    widths = np.diff(chain.first)
    for level in range(1, len(widths)):
        if (chain.visits[chain.first[level] : chain.first[level + 1]] > 0).all():
            widths[level] = _lots(GROWTH * widths[level])
    return np.concatenate([[0], np.cumsum(widths)])


def moved(chain: Chain, first: NDArray[np.int64]) -> Chain:
    """Return the chain with its levels starting at other columns; none may get narrower."""
    level_of = np.repeat(np.arange(len(first) - 1), np.diff(chain.first))
    column = np.arange(chain.first[-1]) + (first - chain.first)[level_of]
    n_wk = np.zeros((len(chain.n_wk), first[-1]), np.int32)
    n_wk[:, column] = chain.n_wk
    n_k = np.zeros(first[-1], np.int64)
    parent, visits = np.zeros((2, first[-1]), np.int32)
    n_k[column], visits[column] = chain.n_k, chain.visits
    parent[column] = column[chain.parent]
    path = column[chain.path].astype(np.int32)
    return chain._replace(path=path, n_wk=n_wk, n_k=n_k, parent=parent, visits=visits, first=first)


def recounted(data: Data, slot: NDArray[np.int32], level: NDArray[np.int8]) -> Chain:
    """Return the chain of these paths and levels, everything else counted afresh.

    slot: int32 [n_docs, L], columns of a path counted from the first of their level.
    """
    widths = [_lots(int(slots.max(initial=0)) + 2) for slots in slot.T]
    first = np.concatenate([[0], np.cumsum(widths)])
    path = (slot + first[:-1]).astype(np.int32)
    n_wk = np.zeros((data.n_words, first[-1]), np.int32)
    n_dl = np.zeros(path.shape, np.int32)
    joint_kernels.count_all(path, level, *data.words, n_wk, n_dl)
    parent = np.zeros(first[-1], np.int32)
    parent[path[:, 1:]] = path[:, :-1]
    visits = np.bincount(path.ravel(), minlength=first[-1]).astype(np.int32)
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    return Chain(path, level.copy(), n_dl, n_wk, n_k, parent, visits, first)


def _lots(n_columns: float) -> int:
    return LINE * math.ceil(n_columns / LINE)
