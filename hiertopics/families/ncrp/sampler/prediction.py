"""What a draw of the sampler says of documents: the summary of training, inference on new ones."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import ROOT, Tree
from hiertopics.families.flat.token_layout import Data
from hiertopics.families.ncrp import summary as common
from hiertopics.families.ncrp.config import GibbsInference
from hiertopics.families.ncrp.config import GibbsSettings as Settings
from hiertopics.families.ncrp.sampler import infer_kernels as kernels
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Prior
from hiertopics.families.ncrp.sampler.infer_kernels import FittedTree
from hiertopics.families.nested.posteriors import RARE, place, sparse_rows
from hiertopics.model import Context, Posterior, Summary

BURN_IN = 50
N_SAMPLES = 150


def summarise(chain: Chain, prior: Prior, data: Data, inference: GibbsInference) -> Summary:
    """Return a draw as a tree: each document in the slot of its leaf."""
    live = np.flatnonzero((chain.visits > 0) | (np.arange(len(chain.visits)) == 0))
    number = np.zeros(len(chain.visits), dtype=np.int64)
    number[live] = np.arange(len(live))
    visits, inner = chain.visits[live], live < chain.first[-2]
    parent = number[chain.parent[live]]
    parent[0] = ROOT
    above = np.zeros(len(live))
    for node in range(1, len(live)):
        share = visits[node] / (visits[parent[node]] + prior.gamma)
        above[node] = above[parent[node]] + np.log(share)
    log_mass = above + np.where(inner, np.log(prior.gamma / (visits + prior.gamma)), 0.0)
    leaf = number[chain.path[:, -1]]
    shape = (data.n_docs, len(live))
    slots = sparse.csr_array((np.ones(data.n_docs), leaf, np.arange(data.n_docs + 1)), shape=shape)
    weights = chain.n_dl + prior.level
    summary = common.summarise(
        common.Fitted(
            parent=parent,
            n_wn=chain.n_wk[:, live],
            slot_probs=slots,
            level_weights=weights / weights.sum(axis=1, keepdims=True),
            log_mass=log_mass,
            eta=prior.eta,
            level_prior=prior.level,
            n_tokens=float(data.n_tokens),
            extra={},
        )
    )
    if inference.collapse == "partial" or inference.shards == 1:
        return summary
    note = "inference.shards has no effect: documents are visited one after the other"
    return replace(summary, notes=(*summary.notes, note))


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return theta and the paths of new documents, the topics of the tree held fixed.

    Source: theory/ncrp 6.

    They are averages over samples of a document's path and level weights; topics come from
    the training counts alone, and new branches have the flat topic. The randomness of a document
    derives from its counts.
    """
    fitted = _fitted(tree)
    counts = corpus.counts
    n_nodes, depth = len(fitted.parent), len(fitted.level_prior)

    def sample(doc: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        cells = slice(counts.indptr[doc], counts.indptr[doc + 1])
        # One type, so that the same counts have the same bytes however they were read.
        words, times = counts.indices[cells].astype(np.int32), counts.data[cells].astype(np.int32)
        rng = context.rng("infer", zlib.crc32(words.tobytes()), zlib.crc32(times.tobytes()))
        burn_in, n_samples = (BURN_IN, N_SAMPLES) if len(words) else (0, 1)
        shares = kernels.sample_document(words, times, fitted, burn_in, n_samples, rng)
        chances = shares.sum(axis=1)
        found = chances > RARE
        return chances, shares[found] / chances[found, None]

    sampled = context.map(sample, range(corpus.n_docs))
    chances = np.array([chances for chances, _ in sampled]).reshape(corpus.n_docs, n_nodes)
    weights = np.concatenate([np.empty((0, depth)), *(weights for _, weights in sampled)])
    return place(fitted.parent, depth, sparse_rows(chances), weights)


def _fitted(tree: Tree) -> FittedTree:
    """Return the tree without its last row, the one outside, laid out for the kernels."""
    return FittedTree(
        phi=np.ascontiguousarray(tree.phi[:-1].T),
        parent=tree.parent[:-1],
        depth=tree.depth[:-1],
        log_mass=tree.extra["log_mass"][:-1],
        level_prior=tree.extra["level_prior"],
    )
