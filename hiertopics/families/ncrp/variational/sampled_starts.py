"""Variational starts that a short run of the Gibbs sampler has refined.

A bound is climbed from where it starts, and a topic tree has countless local optima. A few sweeps
of the collapsed sampler move whole documents to other paths and find far better trees than the
moves of the variational method do from the same start; the bound and the held-out score both say
so. From a sequential start this is the "G" of C. Wang, D. Blei, NIPS 2009.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat import token_layout
from hiertopics.families.flat.token_layout import Words
from hiertopics.families.ncrp.config import VariationalSettings as Settings
from hiertopics.families.ncrp.config import level_prior
from hiertopics.families.ncrp.sampler import chain_kernels, chains
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Prior
from hiertopics.families.ncrp.variational.cells import Data
from hiertopics.families.ncrp.variational.starts import (
    cluster_branches,
    from_assignment,
    from_paths,
)
from hiertopics.families.ncrp.variational.state import State
from hiertopics.model import Context

LEAP_EVERY = 2
"""Leaps cost as much as several sweeps."""


def from_gibbs(kind: type[State], data: Data, settings: Settings, context: Context) -> State:
    """Return the variational state of the best draw from a sequential start (theory/ncrp 4)."""
    prior = _prior(settings)
    chain = chains.sequential(_in_tokens(data), prior, context.rng("start"))
    return _state_of(kind, most_probable(chain, data, settings, context), data, settings, context)


def from_clusters(kind: type[State], data: Data, settings: Settings, context: Context) -> State:
    """Return the variational state of the best draw from a tree of clusters of documents.

    Without sweeps each document's words go in equal parts to the topics on its path.
    """
    branch = cluster_branches(data, settings, context)
    if settings.inference.start_sweeps == 0:
        return from_paths(kind, branch, data, settings, context)
    chain = chains.on_branches(
        _in_tokens(data), branch, _prior(settings), context.rng("start levels")
    )
    return _state_of(kind, most_probable(chain, data, settings, context), data, settings, context)


def most_probable(chain: Chain, data: Data, settings: Settings, context: Context) -> Chain:
    """Return the best of ``start_sweeps`` draws by its log joint, ``chain`` among them."""
    prior, laid_out = _prior(settings), _in_tokens(data)
    best, highest = _kept(chain), chain_kernels.log_joint(chain, prior)
    n_sweeps = settings.inference.start_sweeps
    for sweep in range(1, n_sweeps + 1):
        chain = chains.sweep(laid_out, chain, prior, context.rng("start sweep", sweep))
        if sweep % LEAP_EVERY == 0:
            chain = chains.leap(laid_out, chain, prior, context.rng("start leap", sweep))
        chain = chains.graft(laid_out, chain, prior, context.rng("start graft", sweep))
        log_joint = chain_kernels.log_joint(chain, prior)
        if log_joint > highest:
            best, highest = _kept(chain), log_joint
        context.report(sweep, n_sweeps)
    return best


def _kept(chain: Chain) -> Chain:
    return chain._replace(path=chain.path.copy(), level=chain.level.copy())


def _state_of(
    kind: type[State], chain: Chain, data: Data, settings: Settings, context: Context
) -> State:
    """Return the variational state of a draw.

    Documents on leaves that ``max_nodes`` has no room for join the largest leaf nearby.
    """
    tokens = data.cells.tokens
    levels = np.zeros((len(tokens), settings.model.depth))
    np.add.at(levels, (np.repeat(np.arange(len(tokens)), tokens), chain.level), 1)
    branch = folded(chain.path, settings.inference.max_nodes)[:, 1:]
    return from_assignment(kind, branch, levels, data, settings, context)


def _in_tokens(data: Data) -> token_layout.Data:
    cells = data.cells
    token_ptr = np.concatenate([[0], np.cumsum(cells.tokens, dtype=np.int64)])
    words = Words(cells.ptr, cells.word, token_ptr)
    return token_layout.Data(words, data.n_docs, data.n_words, int(token_ptr[-1]))


def _prior(settings: Settings) -> Prior:
    model = settings.model
    return Prior(level_prior(model), model.gamma, model.eta)


def folded(path: NDArray[np.integer], max_nodes: int) -> NDArray[np.int64]:
    """Return paths [n_docs, L] through at most ``max_nodes`` nodes, or through one leaf.

    The smallest leaves go first, each to the largest leaf with which it has the most nodes in
    common.
    """
    leaves, place, size = np.unique(path[:, -1], return_inverse=True, return_counts=True)
    way = np.zeros((len(leaves), path.shape[1]), dtype=np.int64)
    way[place.ravel()] = path
    order = np.argsort(-size, kind="stable")
    opened = np.zeros(len(leaves), dtype=np.int64)
    for column in way[order].T:
        opened[np.unique(column, return_index=True)[1]] += 1
    kept = order[: max(1, int(np.searchsorted(opened.cumsum(), max_nodes, side="right")))]
    home = np.arange(len(leaves))
    for leaf in np.setdiff1d(home, kept):
        home[leaf] = kept[np.argmax((way[leaf] == way[kept]).sum(axis=1))]
    return way[home[place.ravel()]]
