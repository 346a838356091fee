"""The generative story of the truncated HDP topic model, run forwards (theory/hdp 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiertopics.contract.model import NONE_DRAWN, Context, Hyperparameters, Sizes, value_of
from hiertopics.corpus.data import Corpus, default_vocab, seeds_in
from hiertopics.families.flat.concentrations import CONCENTRATION_PRIOR
from hiertopics.families.flat.config import ModelSettings
from hiertopics.families.flat.drawing import draw_words
from hiertopics.families.flat.seats import draw_bursts
from hiertopics.families.flat.sticks import weights_from_fractions


def simulate(
    settings: ModelSettings, sizes: Sizes, context: Context, drawn: Hyperparameters = NONE_DRAWN
) -> tuple[Corpus, dict[str, NDArray[Any]]]:
    """Draw a corpus under the config's values; truth: pi [T], theta [n_docs, T], phi [T, V].

    drawn: alpha, gamma, eta and tau [V], the words' shares of V eta, where they are not those, with
    ``model.bursts`` burst_discount and burst_concentration, too. Each document then draws its words
    around its mixture (theory/bursts 1).
    """
    model = settings.model
    alpha, gamma, eta = (value_of(name, model, drawn) for name in ("alpha", "gamma", "eta"))
    rng = context.rng("simulate")
    pi = weights_from_fractions(rng.beta(1.0, gamma, model.truncation - 1))
    theta = rng.dirichlet(np.maximum(alpha * pi, 1e-12), sizes.n_docs)
    by_word = np.full(sizes.n_words, eta)
    if "tau" in drawn:
        by_word = np.maximum(sizes.n_words * eta * drawn["tau"], 1e-12)
    vocab = default_vocab(sizes.n_words)
    seeds = seeds_in(model, vocab)
    if seeds.names:
        priors = np.tile(by_word[:, None], model.truncation)
        seeds.add_to(priors)
        phi = np.array([rng.dirichlet(prior) for prior in priors.T])
    else:
        phi = rng.dirichlet(by_word, model.truncation)
    corpus = Corpus(draw_words(theta, phi, sizes.doc_length, model, rng, drawn), vocab)
    return corpus, {"pi": pi, "theta": theta, "phi": phi}


def draw_hyperparameters(settings: Any, sizes: Sizes, context: Context) -> Hyperparameters:
    """Draw alpha, gamma and eta from the priors of hdp-gibbs, but those that are held.

    For AA tau [n_words] too, with ``model.bursts`` burst_discount and burst_concentration.
    """
    rng = context.rng("hyperparameters")
    alpha, gamma, word_mass = (np.asarray(CONCENTRATION_PRIOR.draw(rng)) for _ in range(3))
    eta = np.asarray(word_mass / sizes.n_words)
    named = {"alpha": alpha, "gamma": gamma, "eta": eta}
    drawn = {name: value for name, value in named.items() if name not in settings.inference.hold}
    if settings.model.prior == "AA":
        drawn["tau"] = rng.dirichlet(np.ones(sizes.n_words))
    return {**drawn, **draw_bursts(settings, rng)}
