"""The sweep over (document, word) pairs of a tree (theory/nhdp 3.1).

Names: resp is q(z) [n_pairs, C], C columns of ``layout``; n_dk, n_wk, n_k are expected counts. The
kernels are generic in the tables' dtype (float32 in use, float64 in tests); n_k is always float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.kernels import Tables
from hiertopics.families.flat.layout import Cells
from hiertopics.families.nhdp.lane_simd import (
    settle_inner,
    settle_lanes,
    weigh_inner,
    weigh_lanes,
)
from hiertopics.families.nhdp.layout import LANES, Columns
from hiertopics.numeric.jit import REASSOCIATE, kernel
from hiertopics.numeric.simd import aligned_rows, prefetch_row
from hiertopics.numeric.special import copy_row

WORDS_AHEAD = 3


class Rates(NamedTuple):
    """What documents share besides topics, in the tables' dtype.

    share [C]: concentration of the parent times the node's share, 0 at the root and in columns
    left over. concentration, stop_a, stop_b [n_above]: of inner nodes; 1, 0, 1 in columns left
    over, and 1, 1, 0 at a root without children. eta: pseudo-count of each word; eta_total: of all.
    """

    share: NDArray[np.floating]
    concentration: NDArray[np.floating]
    stop_a: NDArray[np.floating]
    stop_b: NDArray[np.floating]
    eta: float
    eta_total: float


@kernel(fastmath=REASSOCIATE)
def sweep_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: Tables,
    n_k: NDArray[np.float64],
    columns: Columns,
    rates: Rates,
) -> int:
    """Visit each pair of a block once: refit q(z) and move the counts (theory/nhdp 3.1).

    n_k [C] is moved too: pass the block's own. Returns -1, or the document at which the weights
    ceased to be positive and finite.
    """
    n_dk = tables.n_dk
    n_columns, n_above = n_dk.shape[1], len(rates.concentration)
    n_lanes = len(columns.lane_parent)
    scratch = aligned_rows(11, tables.resp)
    doc_row, base = scratch[0][:n_columns], scratch[1][:n_columns]
    weights, prior = scratch[2][:n_columns], scratch[3][:n_columns]
    going, below_q = scratch[4][:n_above], scratch[5][:n_above]
    go, share, below = scratch[6][:n_above], scratch[7][:n_above], scratch[8][:n_above]
    reached, flow = scratch[9][:n_above], scratch[10][:n_above]
    lanes = aligned_rows(3, np.zeros((1, max(n_lanes, 1)), n_dk.dtype))
    lane_q, lane_weight, lane_scale = lanes[0][:n_lanes], lanes[1][:n_lanes], lanes[2][:n_lanes]
    copy_row(rates.share, prior)
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        # Within a document n_k moves exactly as n_dk does. Leaves carry their prior in doc_row.
        for column in range(n_columns):
            n_k[column] -= n_dk[doc, column]
            base[column] = n_k[column] + rates.eta_total
            doc_row[column] = n_dk[doc, column]
        write_going(
            doc_row, columns.inner_first, columns.branching, columns.group_start,
            columns.group_depth, columns.lane_parent, going,
        )  # fmt: skip
        for column in range(n_above, n_columns):
            base[column] -= prior[column]
            doc_row[column] += prior[column]
        sound = visit(
            cells.word[start:stop], cells.tokens[start:stop], tables.resp[start:stop],
            tables.n_wk, rates.eta, columns.inner_first, columns.branching,
            columns.group_start, columns.group_depth, columns.lane_parent, doc_row, prior, base,
            weights, going, below_q, go, share, below, reached, flow, rates.concentration,
            rates.stop_a, rates.stop_b, lane_q, lane_weight, lane_scale,
        )  # fmt: skip
        if not sound:
            return doc
        for column in range(n_columns):
            own = prior[column] if column >= n_above else n_dk.dtype.type(0)
            n_dk[doc, column] = doc_row[column] - own
            n_k[column] += n_dk[doc, column]
    return -1


@kernel(fastmath=REASSOCIATE)
def visit(
    words: NDArray[np.int32],
    tokens: NDArray[np.floating],
    resp: NDArray[np.floating],
    n_wk: NDArray[np.floating],
    eta: float,
    inner_first: NDArray[np.uint32],
    branching: NDArray[np.uint32],
    group_start: NDArray[np.int64],
    group_depth: NDArray[np.int64],
    lane_parent: NDArray[np.uint32],
    doc_row: NDArray[np.floating],
    prior: NDArray[np.floating],
    base: NDArray[np.floating],
    weights: NDArray[np.floating],
    going: NDArray[np.floating],
    below_q: NDArray[np.floating],
    go: NDArray[np.floating],
    share: NDArray[np.floating],
    below: NDArray[np.floating],
    reached: NDArray[np.floating],
    flow: NDArray[np.floating],
    concentration: NDArray[np.floating],
    stop_a: NDArray[np.floating],
    stop_b: NDArray[np.floating],
    lane_q: NDArray[np.floating],
    lane_weight: NDArray[np.floating],
    lane_scale: NDArray[np.floating],
) -> bool:
    """Visit the pairs of one document; False: weights are not finite.

    Arrays come one by one: taken from a tuple they cost counted references at each pair.
    """
    one = resp.dtype.type(1)
    last, n_above = len(words) - 1, len(going)
    for pair in range(len(words)):
        prefetch_row(n_wk, words[min(pair + WORDS_AHEAD, last)])
        q, word_row, count = resp[pair], n_wk[words[pair]], tokens[pair]
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
        pass_down(one / total, go, share, inner_first, branching, lane_parent, reached, lane_scale)
        for group in range(len(group_start)):
            settle_lanes(
                q, doc_row, word_row, weights, lane_scale, count,
                group_start[group], group_depth[group], group * LANES,
            )  # fmt: skip
        settle_inner(q, doc_row, word_row, below_q, going, weights, below, reached, count, n_above)
    return True


@kernel()
def write_going(
    row: NDArray[np.floating],
    inner_first: NDArray[np.uint32],
    branching: NDArray[np.uint32],
    group_start: NDArray[np.int64],
    group_depth: NDArray[np.int64],
    lane_parent: NDArray[np.uint32],
    below: NDArray[np.floating],
) -> None:
    """Write to ``below`` [n_above] the sum of ``row`` [C] below each inner node."""
    below[:] = 0
    for group in range(len(group_start)):
        for step in range(group_depth[group]):
            start = group_start[group] + step * LANES
            for lane in range(LANES):
                below[lane_parent[group * LANES + lane]] += row[start + lane]
    add_up(row, inner_first, branching, below)


@kernel()
def sum_below(
    q: NDArray[np.floating],
    lane_q: NDArray[np.floating],
    inner_first: NDArray[np.uint32],
    branching: NDArray[np.uint32],
    lane_parent: NDArray[np.uint32],
    below: NDArray[np.floating],
) -> None:
    """Write to ``below`` the sum of q below each inner node, given that of each lane."""
    below[:] = 0
    for lane in range(len(lane_q)):
        below[lane_parent[lane]] += lane_q[lane]
    add_up(q, inner_first, branching, below)


@kernel()
def add_up(
    row: NDArray[np.floating],
    inner_first: NDArray[np.uint32],
    branching: NDArray[np.uint32],
    below: NDArray[np.floating],
) -> None:
    """Add to ``below`` what ``row`` and ``below`` have at inner children, from the bottom up."""
    for back in range(len(branching)):
        node = branching[np.uint64(len(branching) - 1 - back)]
        total = below[node]
        for child in range(inner_first[node], inner_first[node + np.uint32(1)]):
            total += below[child] + row[child]
        below[node] = total


@kernel()
def gather_up(
    stay: NDArray[np.floating],
    go: NDArray[np.floating],
    share: NDArray[np.floating],
    lane_weight: NDArray[np.floating],
    inner_first: NDArray[np.uint32],
    branching: NDArray[np.uint32],
    lane_parent: NDArray[np.uint32],
    below: NDArray[np.floating],
    flow: NDArray[np.floating],
) -> Any:
    """Return the sum of all weights; write to ``below`` [n_above] those of a token below a node.

    These are of a token that has reached the node; only afterwards is known who does. flow
    [n_above]: scratch, what a node weighs at its parent.
    """
    below[:] = 0
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
    go: NDArray[np.floating],
    share: NDArray[np.floating],
    inner_first: NDArray[np.uint32],
    branching: NDArray[np.uint32],
    lane_parent: NDArray[np.uint32],
    reached: NDArray[np.floating],
    lane_scale: NDArray[np.floating],
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
