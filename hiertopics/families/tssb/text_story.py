"""The generative story of the text model (theory/tssb 1 and 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.data.corpus import Corpus, default_vocab
from hiertopics.families.tssb.config import Model, ends
from hiertopics.families.tssb.layout import Process
from hiertopics.families.tssb.share_kernels import Dirichlet, draw_log_dirichlet
from hiertopics.families.tssb.starts import seated
from hiertopics.families.tssb.text import root_share
from hiertopics.model import Hyperparameters, Sizes


def simulate(
    model: Model,
    sizes: Sizes,
    process: Process,
    rng: np.random.Generator,
    drawn: Hyperparameters,
) -> tuple[Corpus, dict[str, NDArray[Any]]]:
    """Draw a corpus, sticks integrated out.

    Truth: parent int32 [n_nodes] of the tree, parents first; node int32 [n_docs]; shares
    [n_nodes, K] and topics [K, n_words]; theta [n_docs, n_nodes] and phi [n_nodes, n_words].
    A kappa that is not drawn is as near to n_topics as its range allows.
    """
    kappa = float(drawn.get("kappa", np.clip(model.n_topics, *ends(model.kappa))))
    root = np.empty(model.n_topics)
    draw_log_dirichlet(np.full(model.n_topics, kappa * root_share(model)), root, rng)
    nodes, node = seated(sizes.n_docs, root, 0.0, process, Dirichlet(kappa), rng)
    n = int(nodes.size[0])
    shares = np.exp(nodes.value[:n])
    shares /= shares.sum(axis=1, keepdims=True)
    topics = rng.dirichlet(np.full(sizes.n_words, model.eta), model.n_topics)
    phi = shares @ topics
    theta = np.zeros((sizes.n_docs, n))
    theta[np.arange(sizes.n_docs), node] = 1.0
    counts = np.zeros((sizes.n_docs, sizes.n_words), dtype=np.int32)
    for doc in range(sizes.n_docs):
        z = rng.multinomial(sizes.doc_length, shares[node[doc]])
        for topic in np.flatnonzero(z):
            counts[doc] += rng.multinomial(z[topic], topics[topic]).astype(np.int32)
    corpus = Corpus(sparse.csr_array(counts), default_vocab(sizes.n_words))
    return corpus, {
        "parent": nodes.parent[:n],
        "node": node,
        "shares": shares,
        "topics": topics,
        "theta": theta,
        "phi": phi,
    }
