"""A tiny corpus that was made by hand, and the settings that make a fit of a backend small."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from scipy import sparse

from hiertopics import registry
from hiertopics.data.corpus import Corpus
from hiertopics.formats.reading import read_corpus
from hiertopics.formats.source import Source

WORDS = ("bread", "butter", "cheese", "wine", "goal", "match", "team", "coach", "never")
"""The last word occurs in no document."""

SMALL_MODEL = {"truncation": 5, "n_topics": 5, "max_nodes": 20}
SMALL_SCHEDULE = {
    "hyper_start": 2,
    "burn_in": 2,
    "keep_every": 2,
    "moves_every": 2,
    "trials": 4,
    "trial_sweeps": 10,
    "start_iterations": 20,
}
DRAWN = {"nhdp-variational": "inference.start=random", "nhdp-gibbs": "inference.start=random"}
"""Topics from clusters of nine words would be two, whatever the seed."""


def counts_in(source: Source | Path) -> Corpus:
    """Return the corpus in a file that holds counts of words."""
    found = read_corpus(source)
    assert isinstance(found, Corpus)
    return found


def hand_made() -> Corpus:
    """Return 30 documents on food, on sport or on both; document 4 is empty, 5 has one token."""
    rng = np.random.default_rng(7)
    food, sport = np.array([4, 3, 2, 1, 0, 0, 0, 0, 0.0]), np.array([0, 0, 0, 1, 4, 3, 2, 1, 0.0])
    shares = [food / food.sum(), sport / sport.sum(), (food + sport) / 21] * 10
    rows = [rng.multinomial(8 + doc, share) for doc, share in enumerate(shares)]
    rows[4] = np.zeros(9, dtype=int)
    rows[5] = np.eye(9, dtype=int)[2]
    return Corpus(sparse.csr_array(np.array(rows)), WORDS)


@cache
def small_settings(backend: str) -> tuple[str, ...]:
    """Return the ``key=value`` settings that make a fit of a backend small."""
    module = registry.load(backend)
    return tuple(
        f"{section}.{key}={value}"
        for section, kind, values in (
            ("model", module.Model, SMALL_MODEL),
            ("inference", module.Inference, SMALL_SCHEDULE),
        )
        for key, value in values.items()
        if key in kind.__struct_fields__
    ) + ((DRAWN[backend],) if backend in DRAWN else ())
