"""The sweep over (document, word) pairs of a tree (theory/nhdp 3.1), and its expected tables (4).

A pair has q(z) at its document's own nodes alone (``documents``). They are gathered into vectors
(``layout``), as the word's counts there are, and put back after the visit. The kernels are generic
in the tables' dtype (float32 in use, float64 in tests); n_k is always float64. No sum is
reassociated: bits are the same on every processor with fused multiply-add (docs/runs.md).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64, U32, Bools, Floats
from hiertopics.families.flat.burst_kernels import TableRule, seated
from hiertopics.families.flat.layout import Cells
from hiertopics.families.nhdp.document_kernels import pack, unpack
from hiertopics.families.nhdp.lane_kernels import LanePlaces, lay_inner, lay_out
from hiertopics.families.nhdp.lane_simd import settle_inner, settle_lanes, weigh_inner, weigh_lanes
from hiertopics.families.nhdp.layout import LANES, Ancestry, Local, StoredResponsibilities
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.simd import prefetch_row
from hiertopics.numeric.special import digamma, fill_row

WORDS_AHEAD = 3

N_ROWS, N_SUMS = 20, 7
"""Rows of scratch of ``sweep_block`` and of ``add_tables``."""


class Rates(NamedTuple):
    """Parameters that documents share besides topics, by node [K], in the tables' dtype.

    share: concentration of the parent times the node's share, 0 at the root. concentration,
    stop_a, stop_b: of inner nodes; the concentration of a root without children is 1. eta:
    pseudo-count of each word; eta_total: of all.
    """

    share: Floats
    concentration: Floats
    stop_a: Floats
    stop_b: Floats
    eta: float
    eta_total: float


@kernel()
def sweep_block(
    cells: Cells,
    word_shard: int,
    local: Local,
    n_wk: Floats,
    n_k: F64,
    ancestry: Ancestry,
    rates: Rates,
    pair_tables: Floats,
    seating: TableRule | None,
    places: LanePlaces,
    rows: Floats,
) -> int:
    """Visit each pair of a block once: refit q(z) and move the counts (theory/nhdp 3.1).

    n_k [K] is moved too: pass the block's own. pair_tables [n_pairs]: where documents are bursty,
    the tables of each pair, refitted too (theory/bursts 8); else without entries. seating: None
    there, and no kernel of bursts is compiled. places, and rows [N_ROWS, most_columns(K)], zeros on
    cache lines in the tables' dtype: scratch. Returns -1, or the document at which the weights
    ceased to be positive and finite.
    """
    # Nobody reads ``elsewhere`` where there is no seating.
    elsewhere, doc_tables, rest = n_k, 0.0, 0.0
    if seating is not None:
        elsewhere = chances_of_words(n_wk, n_k, rates)
    doc_row, base, weights, prior = rows[0], rows[1], rows[2], rows[3]
    going, below_q, go, share, below = rows[4], rows[5], rows[6], rows[7], rows[8]
    reached, flow, concentration, stop_a, stop_b = rows[9], rows[10], rows[11], rows[12], rows[13]
    lane_q, lane_weight, lane_scale = rows[14], rows[15], rows[16]
    q, word_row, own_q = rows[17], rows[18], rows[19]
    for doc in range(len(cells.cuts)):
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        own = slice(local.first_node[doc], local.first_node[doc + 1])
        n, n_own = local.n[own], own.stop - own.start
        sizes = lay_out(local.node[own], ancestry, places)
        n_above, n_columns = sizes.n_above, sizes.n_columns
        # What is left over: weights of 0, whatever comes.
        for row in range(4):
            fill_row(rows[row], n_columns, 1.0 if row == 1 else 0.0)
        for column in range(n_above):
            going[column], concentration[column] = 0, 1
            stop_a[column], stop_b[column] = 0, 1
        # Within a document n_k moves exactly as n does. Leaves carry their prior in doc_row.
        for at in range(n_own):
            node, column = places.node[at], places.column[at]
            n_k[node] -= n[at]
            prior[column] = rates.share[node]
            base[column] = n_k[node] + rates.eta_total
            doc_row[column] = n[at]
            if column < n_above:
                concentration[column] = rates.concentration[node]
                stop_a[column], stop_b[column] = rates.stop_a[node], rates.stop_b[node]
            else:
                base[column] -= prior[column]
                doc_row[column] += prior[column]
        add_up(n, places.node, places.above, places.place, ancestry.inner, going)
        if seating is not None:
            doc_tables = 0.0
            for pair in range(cells.cuts[doc, 0], cells.cuts[doc, -1]):
                doc_tables += pair_tables[pair]
            rest = share_elsewhere(n, places.node, places.above, places.place, ancestry.inner,
                                   going, rates)  # fmt: skip
        first_pair = local.first_resp[doc] + (start - cells.cuts[doc, 0]) * n_own
        last_pair = first_pair + (stop - start) * n_own
        n_lanes = sizes.n_groups * LANES
        sound = visit(
            cells.word[start:stop], cells.tokens[start:stop],
            local.resp[first_pair:last_pair].reshape(stop - start, n_own), n_wk, rates.eta,
            places.node[:n_own], places.column[:n_own],
            places.inner_first[: sizes.n_inner + 1], places.branching[: sizes.n_branching],
            places.group_start[: sizes.n_groups], places.group_depth[: sizes.n_groups],
            places.lane_parent[:n_lanes], doc_row[:n_columns], prior[:n_columns],
            base[:n_columns], weights[:n_columns], q[:n_columns], word_row[:n_columns],
            own_q[:n_own],
            going[:n_above], below_q[:n_above], go[:n_above], share[:n_above], below[:n_above],
            reached[:n_above], flow[:n_above], concentration[:n_above], stop_a[:n_above],
            stop_b[:n_above], lane_q[:n_lanes], lane_weight[:n_lanes], lane_scale[:n_lanes],
            pair_tables[start:stop], doc_tables, rest, elsewhere,
            seating,
        )  # fmt: skip
        if not sound:
            return doc
        for at in range(n_own):
            node, column = places.node[at], places.column[at]
            carried = prior[column] if column >= n_above else n.dtype.type(0)
            n[at] = doc_row[column] - carried
            n_k[node] += n[at]
    return -1


@kernel()
def visit(
    words: I32,
    tokens: Floats,
    resp: StoredResponsibilities,
    n_wk: Floats,
    eta: float,
    node: U32,
    column: U32,
    inner_first: U32,
    branching: U32,
    group_start: I64,
    group_depth: I64,
    lane_parent: U32,
    doc_row: Floats,
    prior: Floats,
    base: Floats,
    weights: Floats,
    q: Floats,
    word_row: Floats,
    own_q: Floats,
    going: Floats,
    below_q: Floats,
    go: Floats,
    share: Floats,
    below: Floats,
    reached: Floats,
    flow: Floats,
    concentration: Floats,
    stop_a: Floats,
    stop_b: Floats,
    lane_q: Floats,
    lane_weight: Floats,
    lane_scale: Floats,
    pair_tables: Floats,
    doc_tables: float,
    rest: float,
    elsewhere: F64,
    seating: TableRule | None,
) -> bool:
    """Visit the pairs of one document; False: weights are not finite.

    doc_tables: of the document, where it is bursty; rest: its theta at all nodes but its own, where
    words have the chances ``elsewhere``. Arrays come one by one: taken from a tuple they cost
    counted references at each pair.
    """
    kind = n_wk.dtype.type
    one = kind(1)
    last, n_above = len(words) - 1, len(going)
    fill_row(q, len(q), 0.0)
    fill_row(word_row, len(word_row), 0.0)
    for pair in range(len(words)):
        prefetch_row(n_wk, words[min(pair + WORDS_AHEAD, last)])
        word, count = words[pair], tokens[pair]
        unpack(resp[pair], own_q)
        # The pair's q(z) and the word's counts at the document's own nodes; at all other columns
        # both stay 0.
        for at in range(len(node)):
            q[column[at]] = own_q[at]
            word_row[column[at]] = n_wk[word, node[at]]
        # Up the tree: a node's weight needs the sums below it. One token of the pair, as q(z)
        # spreads it, is taken out of all counts.
        for group in range(len(group_start)):
            weigh_lanes(
                q, doc_row, word_row, prior, base, weights, lane_q, lane_weight, eta,
                group_start[group], group_depth[group], group * LANES,
            )  # fmt: skip
        sum_below(q, lane_q, inner_first, branching, lane_parent, below_q)
        weigh_inner(
            q, doc_row, word_row, prior, base, below_q, going, concentration, stop_a, stop_b,
            weights, go, share, eta, n_above,
        )  # fmt: skip
        total = gather_up(
            weights, go, share, lane_weight, inner_first, branching, lane_parent, below, flow
        )
        if not (total > 0 and total < np.inf):
            return False
        if seating is not None:
            before = pair_tables[pair]
            count = before
            # The pair's expected tables come between: they need the chance of a new table, and the
            # counts move by them.
            if tokens[pair] > one:
                chance = total + rest * elsewhere[word]
                count = kind(seated(tokens[pair], chance, doc_tables - 1.0, seating))
                grown = count - before
                pair_tables[pair] = count
                doc_tables += grown
                grow(grown, q, below_q, doc_row, word_row, going)
        # Down the tree: only now is known how likely the token reaches each node. Then q(z) is
        # new, and the counts move by its change.
        pass_down(one / total, go, share, inner_first, branching, lane_parent, reached, lane_scale)
        for group in range(len(group_start)):
            settle_lanes(
                q, doc_row, word_row, weights, lane_scale, count,
                group_start[group], group_depth[group], group * LANES,
            )  # fmt: skip
        settle_inner(q, doc_row, word_row, below_q, going, weights, below, reached, count, n_above)
        for at in range(len(node)):
            own_q[at] = q[column[at]]
            n_wk[word, node[at]] = word_row[column[at]]
        pack(own_q, resp[pair])
    return True


@kernel()
def grow(
    grown: float, q: Floats, below_q: Floats, doc_row: Floats, word_row: Floats, going: Floats
) -> None:
    """Count ``grown`` more tables of a pair, at the nodes where its tables are.

    q, doc_row, word_row: [n], by column. below_q, going: [n_inner].
    """
    for column in range(len(q)):
        doc_row[column] += grown * q[column]
        word_row[column] += grown * q[column]
    for node in range(len(going)):
        going[node] += grown * below_q[node]


@kernel()
def chances_of_words(n_wk: Floats, n_k: F64, rates: Rates) -> F64:
    """Return the chance of each word of a block at no node in particular, float64 [n]."""
    total, chances = float(rates.eta_total), np.empty(len(n_wk))
    for node in range(len(n_k)):
        total += n_k[node]
    for word in range(len(n_wk)):
        count = 0.0
        for node in range(len(n_k)):
            count += n_wk[word, node]
        chances[word] = (max(count, 0.0) + rates.eta) / total
    return chances


@kernel()
def share_elsewhere(
    n: Floats, node: U32, above: U32, place: U32, inner: Bools, going: Floats, rates: Rates
) -> float:
    """Return the part of a document's theta outside its own nodes (theory/nhdp 2.2).

    n: [n] and node, above as in places; going: [n_inner], by inner node, what ``n`` has below it.
    """
    onwards, here = np.empty(len(going)), 0.0
    for at in range(len(n)):
        which = node[at]
        stopped = max(float(n[at]), 0.0)
        gone = max(float(going[place[which]]), 0.0) if inner[which] else 0.0
        reached = onwards[above[at]] * (stopped + gone + rates.share[which]) if at else 1.0
        if inner[which]:
            a, b = float(rates.stop_a[which]), float(rates.stop_b[which])
            visits = reached / (a + b + stopped + gone)
            onwards[place[which]] = visits * (b + gone) / (gone + rates.concentration[which])
            reached = visits * (a + stopped)
        here += reached
    return max(1.0 - here, 0.0)


@kernel()
def add_up(n: Floats, node: U32, above: U32, place: U32, inner: Bools, going: Floats) -> None:
    """Add to ``going``, by inner node, the part of ``n`` below it; n, node, above as in places."""
    for back in range(len(n) - 1):
        at = len(n) - 1 - back
        here = n[at]
        if inner[node[at]]:
            here += going[place[node[at]]]
        going[above[at]] += here


@kernel()
def sum_below(
    q: Floats, lane_q: Floats, inner_first: U32, branching: U32, lane_parent: U32, below: Floats
) -> None:
    """Write to ``below`` [n_inner] the sum of q below each inner node, given that of each lane.

    lane_q: [n_lanes].
    """
    fill_row(below, len(below), 0.0)
    for lane in range(len(lane_q)):
        below[lane_parent[lane]] += lane_q[lane]
    climb(q, inner_first, branching, below)


@kernel()
def climb(row: Floats, inner_first: U32, branching: U32, below: Floats) -> None:
    """Add ``row`` and ``below`` at inner children to ``below``, [n_inner], from the bottom up."""
    for back in range(len(branching)):
        node = branching[np.uint64(len(branching) - 1 - back)]
        total = below[node]
        for child in range(inner_first[node], inner_first[node + np.uint32(1)]):
            total += below[child] + row[child]
        below[node] = total


@kernel()
def gather_up(
    stay: Floats,
    go: Floats,
    share: Floats,
    lane_weight: Floats,
    inner_first: U32,
    branching: U32,
    lane_parent: U32,
    below: Floats,
    flow: Floats,
) -> Any:
    """Return the sum of all weights; write to ``below`` [n_above] those of a token below a node.

    These are of a token that has reached the node; only afterwards is known who does. flow
    [n_above]: scratch, what a node weighs at its parent.
    """
    fill_row(below, len(below), 0.0)
    for lane in range(len(lane_weight)):
        below[lane_parent[lane]] += lane_weight[lane]
    for node in range(len(below)):
        below[node] *= go[node]
        flow[node] = (stay[node] + below[node]) * share[node]
    for back in range(len(branching)):
        node = branching[np.uint64(len(branching) - 1 - back)]
        total = below[node]
        for child in range(inner_first[node], inner_first[node + np.uint32(1)]):
            total += flow[child] * go[node]
        below[node] = total
        flow[node] = (stay[node] + total) * share[node]
    return stay[0] + below[0]


@kernel()
def pass_down(
    scale: float,
    go: Floats,
    share: Floats,
    inner_first: U32,
    branching: U32,
    lane_parent: U32,
    reached: Floats,
    lane_scale: Floats,
) -> None:
    """Write ``scale`` times the chance to reach each inner node, and to go on to each lane."""
    reached[0] = scale
    for place in range(len(branching)):
        node = branching[place]
        going = go[node] * reached[node]
        for child in range(inner_first[node], inner_first[node + np.uint32(1)]):
            reached[child] = going * share[child]
    for lane in range(len(lane_scale)):
        lane_scale[lane] = go[lane_parent[lane]] * reached[lane_parent[lane]]


RARE = 1e-6


class NodeSums(NamedTuple):
    """Sums over documents, by node; all float64 [K]. tables: from its parent's customers.

    growth, stops, goes, visits: at inner nodes, of the concentration, of the weights of stopping
    and of going on, and of both together.
    """

    tables: F64
    growth: F64
    stops: F64
    goes: F64
    visits: F64


@kernel()
def add_tables(
    cells: Cells,
    local: Local,
    ancestry: Ancestry,
    rates: Rates,
    sums: NodeSums,
    places: LanePlaces,
    room: F64,
) -> None:
    """Add the expected tables of a piece's documents to ``sums``.

    places, and room [N_SUMS, K]: scratch.
    """
    passing, seen, below, gone = room[0], room[1], room[2], room[3]
    seen_below, seen_here, row = room[4], room[5], room[6]
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
            count = float(cells.tokens[pair])
            unpack(local.resp[place : place + n_own], row[:n_own])
            place += n_own
            # q(z) of the pair at and below each own inner node, and whether a token is seen there.
            fill_row(below, n_inner, 0.0)
            add_up(row[:n_own], node, above, places.place, inner, below)
            note(below[:n_inner], count, seen_below)
            for at in range(n_own):
                if inner[node[at]]:
                    here = places.place[node[at]]
                    note_one(row[at], count, seen_here, here)
                    row[at] += below[here]
            note(row[:n_own], count, seen)
        # The document's tokens at each node, and those that go on from it.
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
                # Tables of the going-on, and customers of stopping and going on (theory/nhdp 4).
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
def note(share: F64, count: float, seen: F64) -> None:
    """Note ``count`` tokens, each somewhere with chance ``share``, in the chance of any there.

    share, seen: float64 [n].
    Where documents are bursty they are tables, and their number need not be whole.
    """
    for place in range(len(share)):
        note_one(share[place], count, seen, place)


@kernel()
def note_one(share: float, count: float, seen: F64, place: int) -> None:
    """Note ``count`` tokens, each with probability ``share``, in one place of ``seen`` [n]."""
    unseen = 1.0 - min(max(share, 0.0), 1.0)
    left = int(count)
    rest = count - left
    power = (math.exp(rest * math.log(unseen)) if unseen > 0.0 else 0.0) if rest > 0.0 else 1.0
    while left:
        if left & 1:
            power *= unseen
        unseen *= unseen
        left >>= 1
    seen[place] += (1.0 - seen[place]) * (1.0 - power)
