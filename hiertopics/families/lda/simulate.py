"""The generative story of latent Dirichlet allocation, run forwards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus, default_vocab
from hiertopics.families.lda.config import Settings, start_alpha
from hiertopics.families.lda.hyperparameters import draw_alpha_from_prior, draw_eta_from_prior
from hiertopics.model import NONE_DRAWN, Context, Hyperparameters, Sizes, value_of
from hiertopics.numeric.mixtures import draw_counts


def simulate(
    settings: Settings, sizes: Sizes, context: Context, drawn: Hyperparameters = NONE_DRAWN
) -> tuple[Corpus, dict[str, NDArray[Any]]]:
    """Draw a corpus under the config's priors; truth: theta [n_docs, K], phi [K, n_words].

    drawn: alpha, one or one for each topic, and eta where they are not the config's.
    """
    model = settings.model
    rng = context.rng("simulate")
    alpha = np.full(model.n_topics, drawn.get("alpha", start_alpha(model)))
    theta = rng.dirichlet(alpha, sizes.n_docs)
    phi = rng.dirichlet(np.full(sizes.n_words, value_of("eta", model, drawn)), model.n_topics)
    corpus = Corpus(draw_counts(theta, phi, sizes.doc_length, rng), default_vocab(sizes.n_words))
    return corpus, {"theta": theta, "phi": phi}


def draw_hyperparameters(settings: Settings, sizes: Sizes, context: Context) -> Hyperparameters:
    """Draw alpha and eta from their priors, each if a fit would draw it."""
    rng = context.rng("hyperparameters")
    drawn = {}
    if settings.inference.sample_alpha:
        drawn["alpha"] = draw_alpha_from_prior(settings.model, rng)
    if settings.inference.sample_eta:
        drawn["eta"] = np.asarray(draw_eta_from_prior(rng))
    return drawn
