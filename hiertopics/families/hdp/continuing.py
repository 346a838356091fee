"""Fits of hdp-cvb0 and hdp-pcvb0 that go on with further documents.

What stays are counts, of which q(z) can be made (theory/hdp 3.7): those of the earlier documents as
they were; of each further token as its word alone would have it under the earlier topics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.engine import Each
from hiertopics.families.flat.layout import Data, InCells, build_piece, counts_of, parts_of
from hiertopics.families.flat.variational import Local, Responsibilities, recount
from hiertopics.families.hdp import few
from hiertopics.families.hdp.summary import word_probabilities
from hiertopics.model import Context
from hiertopics.states import Arrays, of_pieces

Table = NDArray[np.float32]

DOCS_AT_ONCE = 1000

BY_WORD, MASSES = ("tau", "tau_geo"), ("word_mass", "word_mass_geo")
ALIKE = ("n_tables", "pi", "pi_geo", "alpha", "alpha_geo", "gamma")


class Counts(NamedTuple):
    """What q(z) is made of: n_dk [n_docs, T] of each piece, n_wk and phi [n_words, T], alpha pi."""

    n_dk: list[Table]
    n_wk: Table
    phi: Table
    doc_prior: Table


Begin = Callable[[Counts, Data, Context], Responsibilities]


def with_few(counts: Counts, data: Data, context: Context) -> Responsibilities:
    """Return the counts as they are, and no entries."""
    messages = Each(counts.n_dk)
    local = context.place(build_piece, parts_of(data), few.begin_without_entries, messages)
    n_k = counts.n_wk.sum(axis=0, dtype=np.float64) - data.seeds.totals(len(counts.doc_prior))
    return Responsibilities(local, counts.n_wk, n_k)


def with_all(counts: Counts, data: Data, context: Context) -> Responsibilities:
    """Return q(z) proportional to (n_dk + alpha pi) phi, and its counts."""
    messages = Each([(rows + counts.doc_prior, counts.phi) for rows in counts.n_dk])
    local = context.place(build_piece, parts_of(data), _begin_with_rows, messages)
    begun = Responsibilities(local, counts.n_wk, np.zeros(len(counts.doc_prior)))
    recount(begun, data)
    return begun


def _begin_with_rows(piece: InCells, given: tuple[Table, Table]) -> Local:
    weights, phi = given
    n_docs, cells = len(weights), piece.cells
    ends = np.append(cells.cuts[:, 0], len(cells.word))
    resp = np.empty((len(cells.word), weights.shape[1]), np.float32)
    for first in range(0, n_docs, DOCS_AT_ONCE):
        last = min(first + DOCS_AT_ONCE, n_docs)
        rows = resp[ends[first] : ends[last]]
        np.take(phi, cells.word[ends[first] : ends[last]], axis=0, out=rows)
        rows *= np.repeat(weights[first:last], np.diff(ends[first : last + 1]), axis=0)
        rows /= np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return Local(resp, np.zeros_like(weights))


def fields_of(before: Arrays, data: Data, context: Context, begin: Begin) -> dict[str, Any]:
    """Return the fields of a state that goes on where another one ended."""
    found = widened(before, data.n_words)
    n_wk = np.pad(before["n_wk"], ((0, data.n_words - len(before["n_wk"])), (0, 0)))
    phi = word_probabilities(n_wk, found["word_mass"] * found["tau"])
    chances = (phi * found["pi"]).astype(np.float32)
    chances /= np.maximum(chances.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    known = np.concatenate(of_pieces(before, "n_dk"))
    further = counts_of(data)[len(known) :]
    n_dk = np.concatenate([known, np.asarray(further @ chances, np.float32)])
    n_wk += np.asarray(further.sum(axis=0), np.float32).reshape(-1, 1) * chances
    doc_prior = (found["alpha"] * found["pi"]).astype(np.float32)
    parts = np.split(n_dk, data.cells.doc_bounds[1:-1])
    begun = begin(Counts(parts, n_wk, phi.astype(np.float32), doc_prior), data, context)
    return {**vars(begun), **found}


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
