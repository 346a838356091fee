"""The generative story of the truncated cooperative HDP, run forwards (theory/chdp 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.contract.model import NONE_DRAWN, Context, Hyperparameters, Sizes, value_of
from hiertopics.corpus.data.corpus import Corpus, Tags, default_vocab
from hiertopics.families.chdp.base_kernels import Weights, base_rows
from hiertopics.families.chdp.config import ConcentrationFlags, GibbsSettings, ModelSettings
from hiertopics.families.chdp.layout import link_parents
from hiertopics.families.flat.concentrations import CONCENTRATION_PRIOR
from hiertopics.families.flat.sticks import weights_from_fractions
from hiertopics.numeric.mixtures import draw_counts

DOCS_PER_GROUP = 15
CHANCES = (0.4, 0.4, 0.2)
"""Chances that a document has one, two or three parents, if there are so many groups."""

SMALLEST = 1e-6


def simulate(
    settings: ModelSettings, sizes: Sizes, context: Context, drawn: Hyperparameters = NONE_DRAWN
) -> tuple[Corpus, dict[str, NDArray[Any]]]:
    """Draw a corpus under the config's values, one group for every 15 documents.

    Truth: pi_0 [T], pi [n_groups, T], theta [n_docs, T], phi [T, n_words] and the shares of a
    document's parents, in the order of the groups [n_links]. drawn: the concentrations and eta
    where they are not the config's.
    """
    model = settings.model
    alpha_doc, alpha_group = (value_of(name, model, drawn) for name in ("alpha_doc", "alpha_group"))
    gamma, eta = (value_of(name, model, drawn) for name in ("gamma", "eta"))
    rng = context.rng("simulate")
    tags = _draw_parents(sizes.n_docs, rng)
    parents, columns = link_parents(tags, sizes.n_docs)
    pi_0 = weights_from_fractions(rng.beta(1.0, gamma, model.truncation - 1))
    pi = rng.dirichlet(np.maximum(alpha_group * pi_0, SMALLEST), len(tags.names))
    share = parents.uniform()
    if model.weights == "learned":
        share = np.concatenate([rng.dirichlet(np.ones(size)) for size in np.diff(parents.ptr)])
    weights = Weights(pi[columns], pi_0, share, model.maximization)
    base = np.maximum(alpha_doc * base_rows(parents, weights), SMALLEST)
    theta = np.array([rng.dirichlet(row) for row in base])
    phi = rng.dirichlet(np.full(sizes.n_words, eta), model.truncation)
    counts = draw_counts(theta, phi, sizes.doc_length, rng)
    groups, labels = (tags, None) if model.parents == "groups" else (None, tags)
    vocab = default_vocab(sizes.n_words)
    corpus = Corpus(counts, vocab, groups=groups, labels=labels)
    return corpus, {"pi_0": pi_0, "pi": pi, "theta": theta, "phi": phi, "share": share}


def draw_hyperparameters(
    settings: GibbsSettings, sizes: Sizes, context: Context
) -> Hyperparameters:
    """Draw the concentrations and eta from the priors of chdp-gibbs, each if a fit would."""
    rng = context.rng("hyperparameters")
    values = {name: CONCENTRATION_PRIOR.draw(rng) for name in ConcentrationFlags._fields}
    values["eta"] /= sizes.n_words
    asked = settings.inference.sampled._asdict()
    return {name: np.asarray(value) for name, value in values.items() if asked[name]}


def _draw_parents(n_docs: int, rng: np.random.Generator) -> Tags:
    n_groups = -(-n_docs // DOCS_PER_GROUP)
    chances = np.array(CHANCES[:n_groups]) / sum(CHANCES[:n_groups])
    members = np.zeros((n_docs, n_groups), dtype=bool)
    for doc in range(n_docs):
        n_parents = rng.choice(len(chances), p=chances) + 1
        members[doc, rng.choice(n_groups, n_parents, replace=False)] = True
    names = tuple(f"g{group}" for group in range(n_groups))
    return Tags(sparse.csr_array(members), names)
