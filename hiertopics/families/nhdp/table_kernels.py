"""Expected tables of a tree's documents (theory/nhdp 4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hiertopics.arrays import F64
from hiertopics.families.flat.layout import Cells
from hiertopics.families.nhdp.kept_kernels import unpack
from hiertopics.families.nhdp.lane_kernels import lay_inner, room_for_places
from hiertopics.families.nhdp.layout import Ancestry, Local
from hiertopics.families.nhdp.sweep_kernels import Rates, add_up
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import digamma, fill_row

RARE = 1e-6


class Sums(NamedTuple):
    """What documents add up to, by node; all float64 [K]. tables: from its parent's customers.

    growth, stops, goes, visits: at inner nodes, of the concentration, of the weights of stopping
    and of going on, and of both together.
    """

    tables: F64
    growth: F64
    stops: F64
    goes: F64
    visits: F64


@kernel()
def add_tables(cells: Cells, local: Local, ancestry: Ancestry, rates: Rates, sums: Sums) -> None:
    """Add the expected tables of a piece's documents to ``sums``."""
    n_nodes = len(rates.share)
    places = room_for_places(n_nodes)
    passing, seen = np.zeros(n_nodes), np.zeros(n_nodes)
    below, gone = np.zeros(n_nodes), np.zeros(n_nodes)
    seen_below, seen_here = np.zeros(n_nodes), np.zeros(n_nodes)
    row = np.zeros(n_nodes)
    for doc in range(len(cells.cuts)):
        start, stop = cells.cuts[doc, 0], cells.cuts[doc, -1]
        if start == stop:
            continue
        own = slice(local.first_node[doc], local.first_node[doc + 1])
        n_own = own.stop - own.start
        n_inner, _ = lay_inner(local.node[own], ancestry, places)
        node, above, inner = places.node[:n_own], places.above, ancestry.inner
        fill_row(seen, n_own, 0.0)
        fill_row(seen_below, n_inner, 0.0)
        fill_row(seen_here, n_inner, 0.0)
        place = local.first_resp[doc]
        for pair in range(start, stop):
            count = int(cells.tokens[pair])
            unpack(local.resp[place : place + n_own], row[:n_own])
            place += n_own
            fill_row(below, n_inner, 0.0)
            add_up(row[:n_own], node, above, places.place, inner, below)
            note(below[:n_inner], count, seen_below)
            for at in range(n_own):
                if inner[node[at]]:
                    here = places.place[node[at]]
                    note_one(row[at], count, seen_here, here)
                    row[at] += below[here]
            note(row[:n_own], count, seen)
        for at in range(n_own):
            passing[at] = max(local.n[own][at], 0.0)
        fill_row(gone, n_inner, 0.0)
        add_up(passing[:n_own], node, above, places.place, inner, gone)
        for at in range(n_own):
            if inner[node[at]]:
                here = places.place[node[at]]
                a, b = float(rates.stop_a[node[at]]), float(rates.stop_b[node[at]])
                stopped = passing[at]
                passing[at] += gone[here]
                sums.growth[node[at]] += growth(
                    float(rates.concentration[node[at]]), gone[here], seen_below[here]
                )
                sums.stops[node[at]] += a * growth(a, stopped, seen_here[here]) if a > 0 else 0.0
                sums.goes[node[at]] += b * growth(b, gone[here], seen_below[here]) if b > 0 else 0.0
                sums.visits[node[at]] += growth(a + b, passing[at], seen[at])
            x = float(rates.share[node[at]])
            if x > 0.0:
                sums.tables[node[at]] += x * growth(x, passing[at], seen[at])


@kernel()
def growth(x: float, count: float, chance: float) -> float:
    """Return P (psi(x + E) - psi(x)), E = max(count / P, 1), P the chance that there is a token."""
    if chance < RARE:
        return 0.0
    return chance * (digamma(x + max(count / chance, 1.0)) - digamma(x))


@kernel()
def note(share: F64, count: int, seen: F64) -> None:
    """Note ``count`` tokens, each somewhere with chance ``share``, in the chance of any there."""
    for place in range(len(share)):
        note_one(share[place], count, seen, place)


@kernel()
def note_one(share: float, count: int, seen: F64, place: int) -> None:
    """Note ``count`` tokens, each there with chance ``share``, in one place of ``seen``."""
    unseen = 1.0 - min(max(share, 0.0), 1.0)
    power, left = 1.0, count
    while left:
        if left & 1:
            power *= unseen
        unseen *= unseen
        left >>= 1
    seen[place] += (1.0 - seen[place]) * (1.0 - power)
