"""Inference on new documents under a draw of the sampler (spec ncrp section 6)."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.backends.ncrp import infer_kernels as kernels
from hiertopics.backends.ncrp.infer_kernels import Topics
from hiertopics.backends.ncrp.summary import ancestors
from hiertopics.corpus import Corpus
from hiertopics.model import Context, Paths, Posterior, Settings
from hiertopics.tree import Tree

BURN_IN = 20
N_SAMPLES = 60


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return theta and the best paths of new documents, the topics of the tree held fixed.

    Theta is an average over samples of a document's path and level weights; topics come from
    the training counts alone, and new branches have the flat topic. The randomness of a document
    derives from its counts.
    """
    topics = _topics(tree)
    counts = corpus.counts

    def sample(doc: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        cells = slice(counts.indptr[doc], counts.indptr[doc + 1])
        words, times = counts.indices[cells], counts.data[cells]
        rng = context.rng("infer", zlib.crc32(words.tobytes()), zlib.crc32(times.tobytes()))
        burn_in, n_samples = (BURN_IN, N_SAMPLES) if len(words) else (0, 1)
        return kernels.sample_document(words, times, topics, burn_in, n_samples, rng)

    sampled = context.map(sample, range(corpus.n_docs))
    theta = np.array([theta for theta, _ in sampled]).reshape(corpus.n_docs, tree.n_nodes)
    slot_probs = np.array([p for _, p in sampled]).reshape(corpus.n_docs, tree.n_nodes - 1)
    path = ancestors(topics.parent, len(topics.level_prior))
    log_prob = np.minimum(np.log(slot_probs.max(axis=1)), 0.0)
    return Posterior(sparse.csr_array(theta), Paths(path[slot_probs.argmax(axis=1)], log_prob))


def _topics(tree: Tree) -> Topics:
    """Return the tree without its last row, the one outside, laid out for the kernels."""
    return Topics(
        phi=np.ascontiguousarray(tree.phi[:-1].T),
        parent=tree.parent[:-1],
        depth=tree.depth[:-1],
        log_mass=tree.extra["log_mass"][:-1],
        level_prior=tree.extra["level_prior"],
    )
