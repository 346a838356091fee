"""The generative story of the truncated HDP topic model, run forwards (spec pcvb0 section 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus, default_vocab
from hiertopics.families.hdp.sticks import weights_from_fractions
from hiertopics.model import Context, Settings, Sizes
from hiertopics.numeric.mixtures import draw_counts


def simulate(
    settings: Settings, sizes: Sizes, context: Context
) -> tuple[Corpus, dict[str, NDArray[Any]]]:
    """Draw a corpus under the config's values; truth: pi [T], theta [n_docs, T], phi [T, V]."""
    model = settings.model
    rng = context.rng("simulate")
    pi = weights_from_fractions(rng.beta(1.0, model.gamma, model.truncation - 1))
    theta = rng.dirichlet(np.maximum(model.alpha * pi, 1e-12), sizes.n_docs)
    phi = rng.dirichlet(np.full(sizes.n_words, model.eta), model.truncation)
    corpus = Corpus(draw_counts(theta, phi, sizes.doc_length, rng), default_vocab(sizes.n_words))
    return corpus, {"pi": pi, "theta": theta, "phi": phi}
