"""Fits of hdp-cvb0 and hdp-pcvb0 that go on with further documents, as entries are few.

What stays are counts, of which q(z) can be made (theory/hdp 3.7): those of the earlier documents as
they were; of each further token as its word alone would have it under the earlier topics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hiertopics.engine import Each
from hiertopics.families.flat.layout import Data, build_piece, counts_of, parts_of
from hiertopics.families.hdp.few import begin_without_entries
from hiertopics.families.hdp.summary import word_probabilities
from hiertopics.model import Context
from hiertopics.states import Arrays, of_pieces

BY_WORD, MASSES = ("tau", "tau_geo"), ("word_mass", "word_mass_geo")
ALIKE = ("n_tables", "pi", "pi_geo", "alpha", "alpha_geo", "gamma")


def fields_of(before: Arrays, data: Data, context: Context) -> dict[str, Any]:
    """Return the fields of a state that goes on where another one ended."""
    found = widened(before, data.n_words)
    n_wk = np.pad(before["n_wk"], ((0, data.n_words - len(before["n_wk"])), (0, 0)))
    seeded = data.seeds.totals(n_wk.shape[1])
    phi = word_probabilities(n_wk, found["word_mass"] * found["tau"])
    chances = (phi * found["pi"]).astype(np.float32)
    chances /= np.maximum(chances.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    known = np.concatenate(of_pieces(before, "n_dk"))
    further = counts_of(data)[len(known) :]
    n_dk = np.concatenate([known, np.asarray(further @ chances, np.float32)])
    n_wk += np.asarray(further.sum(axis=0), np.float32).reshape(-1, 1) * chances
    parts = Each(np.split(n_dk, data.cells.doc_bounds[1:-1]))
    local = context.place(build_piece, parts_of(data), begin_without_entries, parts)
    n_k = n_wk.sum(axis=0, dtype=np.float64) - seeded
    return {"local": local, "n_wk": n_wk, "n_k": n_k, **found}


def widened(before: Arrays, n_words: int) -> dict[str, Any]:
    """Return what is estimated besides q(z), for so many words; eta stays what it was."""
    n_before = len(before["tau"])
    further = np.full(n_words - n_before, 1.0 / n_words)
    found: dict[str, Any] = {}
    for name in (*ALIKE, *BY_WORD, *MASSES):
        value = before.get(name)
        if value is None:
            continue
        if name in BY_WORD:
            value = np.append(value * (n_before / n_words), further)
        elif name in MASSES:
            value = value * (n_words / n_before)
        found[name] = value if value.ndim else float(value)
    return found
