"""The generative story of hierarchical LDA under the nested CRP (theory/ncrp 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.contract.model import (
    NONE_DRAWN,
    Context,
    Hyperparameters,
    Settings,
    Sizes,
    value_of,
)
from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.corpus.data.seedwords import NONE, seeds_in
from hiertopics.families.ncrp.config import GibbsSettings, Model, SeededModel, level_prior
from hiertopics.families.ncrp.sampler.hyperparameters import draw_from_prior
from hiertopics.families.nested.simulate import draw_tree
from hiertopics.settings.config import InferenceConfig


def simulate(
    settings: Settings[Model, InferenceConfig],
    sizes: Sizes,
    context: Context,
    drawn: Hyperparameters = NONE_DRAWN,
) -> tuple[Corpus, dict[str, NDArray[Any]]]:
    """Draw a corpus under the config's values, sticks integrated out.

    Truth: parent int32 [n_nodes] and depth int32 [n_nodes] of the tree, parents first; path
    int32 [n_docs, L], nodes from the root down; level_weights [n_docs, L]; theta
    [n_docs, n_nodes]; phi [n_nodes, n_words]. drawn: gamma, eta and level_prior [L] where they
    are not the config's.
    """
    model = settings.model
    rng = context.rng("simulate")
    gamma, eta = (value_of(name, model, drawn) for name in ("gamma", "eta"))
    vocab = default_vocab(sizes.n_words)
    seeds = seeds_in(model, vocab) if isinstance(model, SeededModel) else NONE
    parent, path = draw_tree(sizes.n_docs, model.depth, gamma, rng, len(seeds.names))
    phi = rng.dirichlet(np.full(sizes.n_words, eta), len(parent))
    priors = np.full((sizes.n_words, len(parent)), eta)
    seeds.add_to(priors, seeds.branches)
    for node in seeds.branches:
        phi[node] = rng.dirichlet(priors[:, node])
    weights = rng.dirichlet(drawn.get("level_prior", level_prior(model)), sizes.n_docs)
    counts = np.zeros((sizes.n_docs, sizes.n_words), dtype=np.int32)
    for doc in range(sizes.n_docs):
        tokens = rng.multinomial(sizes.doc_length, weights[doc])
        for level, node in enumerate(path[doc]):
            counts[doc] += rng.multinomial(tokens[level], phi[node]).astype(np.int32)
    theta = np.zeros((sizes.n_docs, len(parent)))
    np.put_along_axis(theta, path, weights, axis=1)
    depth = np.zeros(len(parent), dtype=np.int32)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    corpus = Corpus(sparse.csr_array(counts), vocab)
    return corpus, {
        "parent": parent,
        "depth": depth,
        "path": path,
        "level_weights": weights,
        "theta": theta,
        "phi": phi,
    }


def draw_hyperparameters(
    settings: GibbsSettings, sizes: Sizes, context: Context
) -> Hyperparameters:
    """Draw gamma, eta and level_prior [L] from the priors of hlda-gibbs, each if a fit would."""
    held = settings.inference.hold
    asked = ("gamma" not in held, "eta" not in held, "level_prior" not in held)
    return draw_from_prior(asked, settings.model.depth, context.rng("hyperparameters"))
