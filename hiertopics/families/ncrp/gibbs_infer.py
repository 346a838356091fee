"""Inference on new documents under a draw of the sampler (spec ncrp section 6)."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import Tree
from hiertopics.families.ncrp import infer_kernels as kernels
from hiertopics.families.ncrp import summary as common
from hiertopics.families.ncrp.infer_kernels import Topics
from hiertopics.model import Context, Posterior, Settings

BURN_IN = 50
N_SAMPLES = 150


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return theta and the paths of new documents, the topics of the tree held fixed.

    They are averages over samples of a document's path and level weights; topics come from
    the training counts alone, and new branches have the flat topic. The randomness of a document
    derives from its counts.
    """
    topics = _topics(tree)
    counts = corpus.counts
    n_nodes, depth = len(topics.parent), len(topics.level_prior)

    def sample(doc: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        cells = slice(counts.indptr[doc], counts.indptr[doc + 1])
        # One type, so that the same counts have the same bytes however they were read.
        words, times = counts.indices[cells].astype(np.int32), counts.data[cells].astype(np.int32)
        rng = context.rng("infer", zlib.crc32(words.tobytes()), zlib.crc32(times.tobytes()))
        burn_in, n_samples = (BURN_IN, N_SAMPLES) if len(words) else (0, 1)
        shares = kernels.sample_document(words, times, topics, burn_in, n_samples, rng)
        chances = shares.sum(axis=1)
        found = chances > common.RARE
        return chances, shares[found] / chances[found, None]

    sampled = context.map(sample, range(corpus.n_docs))
    chances = np.array([chances for chances, _ in sampled]).reshape(corpus.n_docs, n_nodes)
    weights = np.concatenate([np.empty((0, depth)), *(weights for _, weights in sampled)])
    return common.place(topics.parent, depth, common.sparse_rows(chances), weights)


def _topics(tree: Tree) -> Topics:
    """Return the tree without its last row, the one outside, laid out for the kernels."""
    return Topics(
        phi=np.ascontiguousarray(tree.phi[:-1].T),
        parent=tree.parent[:-1],
        depth=tree.depth[:-1],
        log_mass=tree.extra["log_mass"][:-1],
        level_prior=tree.extra["level_prior"],
    )
