"""Words of simulated documents: from their mixtures, or around them where documents are bursty."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64
from hiertopics.contract.model import NONE_DRAWN, Hyperparameters
from hiertopics.numeric.mixtures import draw_counts
from hiertopics.numeric.pitman_yor import PitmanYor


def draw_words(
    theta: F64,
    phi: F64,
    doc_length: int,
    model: Any,
    rng: np.random.Generator,
    drawn: Hyperparameters = NONE_DRAWN,
) -> sparse.csr_array:
    """Draw documents of ``doc_length`` tokens, int32 [n_docs, n_words].

    theta [n_docs, T], phi [T, n_words]. With ``model.bursts`` each document draws its words around
    its mixture (theory/bursts 1). drawn: discount and concentration where they are
    not those of model.
    """
    if getattr(model, "bursts", "none") == "none":
        return draw_counts(theta, phi, doc_length, rng)
    names = ("burst_discount", "burst_concentration")
    values = zip(names, model.burst_process, strict=True)
    process = PitmanYor(*(float(drawn.get(name, value)) for name, value in values))
    return draw_bursty_counts(theta @ phi, doc_length, process, rng)


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
