"""The generative story of the truncated HDP topic model, run forwards (theory/hdp 1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import F64
from hiertopics.contract.model import NONE_DRAWN, Context, Hyperparameters, Sizes, value_of
from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.corpus.data.seedwords import seeds_in
from hiertopics.families.flat.concentrations import draw_from_prior
from hiertopics.families.flat.config import ModelSettings
from hiertopics.families.flat.sticks import weights_from_fractions
from hiertopics.numeric.mixtures import draw_counts
from hiertopics.numeric.pitman_yor import PitmanYor


def simulate(
    settings: ModelSettings, sizes: Sizes, context: Context, drawn: Hyperparameters = NONE_DRAWN
) -> tuple[Corpus, dict[str, NDArray[Any]]]:
    """Draw a corpus under the config's values; truth: pi [T], theta [n_docs, T], phi [T, V].

    drawn: alpha, gamma, eta and tau [V], the words' shares of V eta, where they are not those. With
    ``model.bursts`` each document draws its words around its mixture (theory/bursts 1).
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
    if getattr(model, "bursts", "none") == "document":
        bursts: Any = model
        process = PitmanYor(bursts.burst_discount, bursts.burst_concentration)
        counts = draw_bursty_counts(theta @ phi, sizes.doc_length, process, rng)
    else:
        counts = draw_counts(theta, phi, sizes.doc_length, rng)
    corpus = Corpus(counts, vocab)
    return corpus, {"pi": pi, "theta": theta, "phi": phi}


def draw_bursty_counts(
    mixtures: F64, doc_length: int, process: PitmanYor, rng: np.random.Generator
) -> sparse.csr_array:
    """Draw documents of ``doc_length`` tokens around mixtures [n_docs, n_words], int32 CSR.

    Token by token: it joins a table of m tokens with chance (m - a)/(b + i), or opens one with
    (b + a T)/(b + i), whose word comes from the mixture (theory/bursts 1).
    """
    discount, concentration = process
    counts = np.zeros(mixtures.shape, np.int32)
    for doc, mixture in enumerate(mixtures):
        sizes, words = np.zeros(doc_length), np.zeros(doc_length, np.int64)
        n_tables = 0
        for token in range(doc_length):
            opens = concentration + discount * n_tables
            table = n_tables
            if rng.random() * (concentration + token) >= opens:
                shares = sizes[:n_tables] - discount
                table = int(rng.choice(n_tables, p=shares / shares.sum()))
            else:
                words[n_tables] = rng.choice(len(mixture), p=mixture / mixture.sum())
                n_tables += 1
            sizes[table] += 1
            counts[doc, words[table]] += 1
    return sparse.csr_array(counts)


def draw_hyperparameters(
    settings: ModelSettings, sizes: Sizes, context: Context
) -> Hyperparameters:
    """Draw alpha, gamma and eta from the priors of hdp-gibbs, for AA tau [n_words] too."""
    rng = context.rng("hyperparameters")
    alpha, gamma, word_mass = (np.asarray(draw_from_prior(rng)) for _ in range(3))
    drawn = {"alpha": alpha, "gamma": gamma, "eta": np.asarray(word_mass / sizes.n_words)}
    if settings.model.prior == "AA":
        drawn["tau"] = rng.dirichlet(np.ones(sizes.n_words))
    return drawn
