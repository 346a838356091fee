"""Bursts of documents whose tables are drawn: counts of tables, draws of a and b.

Given tables and tokens of documents, discount and concentration of their process have a density
that needs three histograms of the corpus alone (theory/bursts 9). Integers, so that pieces may be
added in any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64, Numbers
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.contract import Context, Pieces, Summary
from hiertopics.families.flat.bursts import (
    BURST_PRIOR,
    Repeats,
    are_wanted,
    more_than,
    times_as_likely,
    told,
)
from hiertopics.families.flat.seat_kernels import (
    DocumentProcess,
    are_rows,
    count_pairs,
    count_tables,
)
from hiertopics.families.flat.tokens import recounted_by
from hiertopics.numeric.pitman_yor import PitmanYor, log_stirling
from hiertopics.numeric.pitman_yor_kernels import Stirling
from hiertopics.numeric.slices import draw_by_slice

CONCENTRATIONS = (1e-3, 1e6)
"""Bounds of b where it is drawn."""

ODDS = (1e-6, 1e6)
"""Bounds of a / (1 - a) where it is drawn."""

EVERY = 5
"""Iterations from one draw of discount and concentration to the next."""


def seats_of(process: PitmanYor, repeats: Repeats) -> DocumentProcess:
    """Return the numbers that a sweep needs of a process."""
    discount, concentration = process
    return DocumentProcess(discount, concentration, log_stirling(repeats.counts, discount))


class TableHistograms(NamedTuple):
    """Tables of a corpus.

    pairs: int64 [n_values], pairs by tokens and tables, as in ``Stirling.values``. docs: int64
    [most + 1], documents with 0, 1, .. tables.
    """

    pairs: I64
    docs: I64

    @property
    def n_tables(self) -> int:
        """The tables of all documents."""
        return int(self.docs @ np.arange(len(self.docs)))


Seated = Callable[[Stirling], TableHistograms]
"""Returns the histograms of all tables of a draw, as ``Stirling`` orders them."""


@dataclass(kw_only=True)
class BurstyDraw:
    """The process of bursty documents, which a draw of them has besides its other fields."""

    burst_discount: Annotated[float, Axes(least=0)]
    burst_concentration: Annotated[float, Axes(least=POSITIVE)]

    @property
    def process(self) -> PitmanYor:
        """Discount and concentration."""
        return PitmanYor(float(self.burst_discount), float(self.burst_concentration))

    def redraw_process(self, seated: Seated, repeats: Repeats, context: Context) -> None:
        """Draw discount and concentration given all tables, every EVERY iterations.

        seated: see ``Seated``. Without a repeated word nothing is drawn.
        """
        if context.iteration % EVERY or not repeats.there:
            return
        found = seated(log_stirling(repeats.counts, self.burst_discount))
        drawn = draw_process(self.process, found, repeats, context.rng("bursts"))
        self.burst_discount, self.burst_concentration = drawn

    def log_chance(self, seated: Seated, repeats: Repeats) -> float:
        """Return the log probability of all seatings, as the function ``log_chance`` does."""
        stirling = log_stirling(repeats.counts, self.burst_discount)
        return log_chance(self.process, seated(stirling), repeats, stirling)

    def columns(
        self, n_tables: int, doc_lengths: I64, repeats: Repeats
    ) -> tuple[float, float, float, float]:
        """Return the columns of metrics.jsonl that describe bursts.

        They are discount, concentration, tables per token, and how many times as likely a word is
        that was used once. n_tables: of all documents. doc_lengths: int64 [n_docs], tokens.
        """
        n_docs = max(int((doc_lengths > 0).sum()), 1)
        length = max(float(doc_lengths.sum()) / n_docs, 1.0)
        opened = max(n_tables / n_docs, 1.0)
        times = times_as_likely(self.process, length, opened, repeats.chance)
        return (*self.process, opened / length, times)


def tables_of_documents(local: Pieces[Any, Any]) -> I64:
    """Return the tables of each document, int64 [n_docs], 0 where it is put aside.

    local: pieces whose states have topics ``z`` of slots, and counts ``n_dk``.
    """
    return np.concatenate(local.ask(_tables_of, None))


def _tables_of(piece: Any, local: Any, _: None) -> I64:
    return tables_of(local.n_dk)


def seated(local: Pieces[Any, Any], stirling: Stirling) -> TableHistograms:
    """Return how many tables there are. local: as of ``tables_of_documents``."""
    return added(local.ask(_seated, stirling))


def _seated(piece: Any, local: Any, stirling: Stirling) -> TableHistograms:
    pairs = np.zeros(len(stirling.values), np.int64)
    count_pairs(piece.cells, local.z, stirling.row, stirling.starts, pairs)
    return TableHistograms(pairs, np.bincount(tables_of(local.n_dk)))


def misseated(local: Pieces[Any, Any], *, aside: bool) -> str | None:
    """Return the error in slots, or None. local: as of ``tables_of_documents``.

    aside: documents may be put aside, which have no table at all.
    """
    if all(local.ask(_are_rows, aside)):
        return None
    return "z has pairs whose tables do not stand in their first slots"


def _are_rows(piece: Any, local: Any, aside: bool) -> bool:
    return bool(are_rows(piece.cells, local.z, aside))


def recounted(piece: Any, local: Any, shape: tuple[int, int]) -> tuple[bool, I32]:
    """Tell whether n_dk of a piece counts its tables; return n_wk of that shape."""
    return recounted_by(count_tables, piece, local, shape)


def added(parts: Sequence[TableHistograms]) -> TableHistograms:
    """Return the tables of all pieces."""
    longest = max(len(part.docs) for part in parts)
    docs = sum(np.pad(part.docs, (0, longest - len(part.docs))) for part in parts)
    return TableHistograms(np.asarray(sum(part.pairs for part in parts)), np.asarray(docs))


def log_chance(
    process: PitmanYor, tables: TableHistograms, repeats: Repeats, stirling: Stirling
) -> float:
    """Return the log probability of all seatings without words, l of theory/bursts 9."""
    others = _log_rising(process, more_than(tables.docs)) - _log_rising(
        PitmanYor(1.0, process.concentration), repeats.longer
    )
    return others + float(tables.pairs @ stirling.values)


def _log_rising(process: PitmanYor, n_docs: I64) -> float:
    """Return the sum over i of ln(b + a i), of so many documents each, i = 1, 2, .."""
    steps = np.log(process.concentration + process.discount * np.arange(1.0, len(n_docs) + 1))
    return float(n_docs @ steps)


def draw_process(
    process: PitmanYor, tables: TableHistograms, repeats: Repeats, rng: np.random.Generator
) -> PitmanYor:
    """Draw concentration and then discount given all tables, each by a slice sampling step.

    The concentration on its logarithm, the discount a on log a / (1 - a).
    """
    discount = process.discount
    stirling = log_stirling(repeats.counts, discount)

    def of_concentration(b: float) -> float:
        log_density = log_chance(PitmanYor(discount, b), tables, repeats, stirling)
        return log_density + BURST_PRIOR.log_density(b)

    concentration = draw_by_slice(process.concentration, of_concentration, CONCENTRATIONS, rng)

    def of_odds(odds: float) -> float:
        a = odds / (1.0 + odds)
        stirling = log_stirling(repeats.counts, a)
        log_density = log_chance(PitmanYor(a, concentration), tables, repeats, stirling)
        return log_density - 2.0 * math.log1p(odds)  # the density of odds of an even discount

    odds = draw_by_slice(max(discount / (1.0 - discount), ODDS[0]), of_odds, ODDS, rng)
    return PitmanYor(odds / (1.0 + odds), concentration)


def draw_process_from_prior(rng: np.random.Generator) -> PitmanYor:
    """Draw the discount, uniform on (0, 1), and the concentration from their priors."""
    return PitmanYor(float(rng.random()), BURST_PRIOR.draw(rng))


def draw_bursts(settings: Any, rng: np.random.Generator) -> dict[str, F64]:
    """Draw burst_discount and burst_concentration from their priors, where settings ask for them.

    Both have the shape (). Nothing is drawn where they do not.
    """
    if not are_wanted(settings):
        return {}
    discount, concentration = draw_process_from_prior(rng)
    return {
        "burst_discount": np.asarray(discount),
        "burst_concentration": np.asarray(concentration),
    }


def tables_of(n_dk: Numbers) -> I64:
    """Return the tables of documents, int64 [n_docs], of their counts [n_docs, T]."""
    return np.asarray(n_dk.sum(axis=1, dtype=np.int64))


def with_process(
    found: Summary, process: PitmanYor, times: float, repeats: Repeats, iteration: int
) -> Summary:
    """Return a summary with a and b in ``extra["bursts"]`` and a note on repeated words.

    times: as ``times_as_likely``.
    """
    extra = {**found.tree.extra, "bursts": np.array(process)}
    begun = iteration > repeats.start
    note = told(repeats=repeats.there, begun=begun, start=repeats.start, times=times)
    return replace(found, tree=replace(found.tree, extra=extra)).noting(note)
