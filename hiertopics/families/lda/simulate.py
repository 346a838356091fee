"""The generative story of latent Dirichlet allocation, run forwards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus, default_vocab
from hiertopics.families.lda.config import start_alpha
from hiertopics.model import Context, Settings, Sizes
from hiertopics.numeric.mixtures import draw_counts


def simulate(
    settings: Settings, sizes: Sizes, context: Context
) -> tuple[Corpus, dict[str, NDArray[Any]]]:
    """Draw a corpus under the config's priors; truth: theta [n_docs, K], phi [K, n_words]."""
    model = settings.model
    rng = context.rng("simulate")
    theta = rng.dirichlet(np.full(model.n_topics, start_alpha(model)), sizes.n_docs)
    phi = rng.dirichlet(np.full(sizes.n_words, model.eta), model.n_topics)
    corpus = Corpus(draw_counts(theta, phi, sizes.doc_length, rng), default_vocab(sizes.n_words))
    return corpus, {"theta": theta, "phi": phi}
