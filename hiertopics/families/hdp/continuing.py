"""Fits of hdp-cvb0 and hdp-pcvb0 that go on with further documents.

What stays are counts, of which q(z) can be made (theory/hdp 3.7): those of the earlier documents as
they were; of each further token as its word alone would have it under the earlier topics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.arrays import F32
from hiertopics.engine import Each
from hiertopics.families.flat import few
from hiertopics.families.flat.layout import Data, InCells, build_piece, pairs_of, parts_of, spans
from hiertopics.families.flat.variational import Responsibilities, begun
from hiertopics.families.hdp.summary import word_probabilities
from hiertopics.model import Context
from hiertopics.room import beside
from hiertopics.states import Arrays, of_pieces

Table = F32

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
    messages = [Known(n_dk, counts.doc_prior, counts.phi) for n_dk in counts.n_dk]
    return begun(data, _rows, messages, len(counts.doc_prior), context)


class Known(NamedTuple):
    """What q(z) of a piece is made of, as in ``Counts``."""

    n_dk: Table
    doc_prior: Table
    phi: Table


def _rows(piece: InCells, known: Known, first: int, last: int) -> Table:
    doc, word = pairs_of(piece.cells, first, last)
    rows = known.phi[word]
    rows *= (known.n_dk[first:last] + known.doc_prior)[doc - first]
    rows /= np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return rows


def fields_of(before: Arrays, data: Data, context: Context, begin: Begin) -> dict[str, Any]:
    """Return the fields of a state that goes on where another one ended."""
    found = widened(before, data.n_words)
    n_wk = np.pad(before["n_wk"], ((0, data.n_words - len(before["n_wk"])), (0, 0)))
    phi = word_probabilities(n_wk, found["word_mass"] * found["tau"])
    chances = (phi * found["pi"]).astype(np.float32)
    chances /= np.maximum(chances.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    known = of_pieces(before, "n_dk")
    n_tokens, _ = few.by_word(data, sum(map(len, known)))
    n_wk += n_tokens.astype(np.float32)[:, None] * chances
    doc_prior = (found["alpha"] * found["pi"]).astype(np.float32)
    parts = np.split(_continued(known, data, chances), data.cells.doc_bounds[1:-1])
    state = begin(Counts(parts, n_wk, phi.astype(np.float32), doc_prior), data, context)
    return {**vars(state), **found}


def _continued(known: list[Table], data: Data, chances: Table) -> Table:
    """Return counts [n_docs, T]: those known, and of further documents by word alone."""
    cells = data.cells
    n_dk: Table = beside(cells.word).empty((data.n_docs, chances.shape[1]), np.float32)
    begin = 0
    for rows in known:
        n_dk[begin : begin + len(rows)] = rows
        begin += len(rows)
    for first, last in spans(cells.cuts[begin:]):
        docs = slice(begin + first, begin + last)
        ends = np.append(cells.cuts[docs, 0], cells.cuts[docs, -1][-1:])
        pairs = slice(ends[0], ends[-1])
        parts = (cells.tokens[pairs].astype(np.float64), cells.word[pairs], ends - ends[0])
        n_dk[docs] = sparse.csr_array(parts, shape=(len(ends) - 1, len(chances))) @ chances
    return n_dk


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
