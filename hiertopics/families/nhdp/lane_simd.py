"""The inner loops of a collapsed sweep over a tree, written with explicit vectors.

A visit of a (document, word) pair weighs leaves as a flat sweep does, up to a factor for each
family; sums over families tell what reaches the inner nodes, and these give the factors
(``sweep_kernels``). Why explicit vectors: see ``hiertopics.numeric.simd``. Rows are C-contiguous
and of one dtype; ``start``, ``depth`` and ``lane`` are those of a group (``layout``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from hiertopics.families.nhdp.layout import LANES
from hiertopics.numeric.simd import Row, vectorise


def weigh_lanes(
    q_row: Row,
    doc_row: Row,
    word_row: Row,
    prior_row: Row,
    base_row: Row,
    weights: Row,
    lane_q: Row,
    lane_weight: Row,
    word_prior: float,
    start: int,
    depth: int,
    lane: int,
) -> None:
    """Weigh the leaves of a group; write each lane's sum of q and of weights.

    doc_row holds n_dk + prior, base_row what makes n_k + total of it; one token is taken out.
    """
    leaves = slice(start, start + LANES * depth)
    q = q_row[leaves]
    share = np.maximum(doc_row[leaves] - q, prior_row[leaves])
    word = np.maximum(word_row[leaves] - q, 0) + word_prior
    weights[leaves] = share * word / (share + base_row[leaves])
    lane_q[lane : lane + LANES] = q.reshape(-1, LANES).sum(axis=0)
    lane_weight[lane : lane + LANES] = weights[leaves].reshape(-1, LANES).sum(axis=0)


def settle_lanes(
    q_row: Row,
    doc_row: Row,
    word_row: Row,
    weights: Row,
    lane_scale: Row,
    tables: float,
    start: int,
    depth: int,
    lane: int,
) -> None:
    """Make weights times their lane's scale the q of a group's leaves; move both counts.

    tables: of the pair, or its tokens where documents are not bursty.
    """
    leaves = slice(start, start + LANES * depth)
    new = weights[leaves] * np.tile(lane_scale[lane : lane + LANES], depth)
    moved = tables * (new - q_row[leaves])
    q_row[leaves] = new
    doc_row[leaves] += moved
    word_row[leaves] += moved


def weigh_inner(
    q_row: Row,
    doc_row: Row,
    word_row: Row,
    prior_row: Row,
    base_row: Row,
    below_q: Row,
    going: Row,
    concentration: Row,
    stop_a: Row,
    stop_b: Row,
    stay: Row,
    go: Row,
    share: Row,
    word_prior: float,
    n_above: int,
) -> None:
    """Write the weight of a token that reaches each inner node, one token taken out everywhere.

    stay: the chance to stop times the word's; go: the chance to go on over g + concentration;
    share: s + prior, the node's numerator at its parent (theory/nhdp 3.1). doc_row: n_dp; going:
    g_dp; below_q: the q below each node. n_above: a multiple of ``LANES``.
    """
    own = slice(0, n_above)
    stopped = np.maximum(doc_row[own] - q_row[own], 0)
    gone = np.maximum(going[own] - below_q[own], 0)
    visits = 1 / (stop_a[own] + stop_b[own] + stopped + gone)
    word = np.maximum(word_row[own] - q_row[own], 0) + word_prior
    stay[own] = (stop_a[own] + stopped) * visits * word / (stopped + base_row[own])
    go[own] = (stop_b[own] + gone) * visits / (gone + concentration[own])
    share[own] = stopped + gone + prior_row[own]


def settle_inner(
    q_row: Row,
    doc_row: Row,
    word_row: Row,
    below_q: Row,
    going: Row,
    stay: Row,
    below: Row,
    reached: Row,
    tables: float,
    n_above: int,
) -> None:
    """Make ``stay * reached`` the q of inner nodes; move the counts, and those that go on.

    tables: as in ``settle_lanes``.
    """
    own = slice(0, n_above)
    new = stay[own] * reached[own]
    moved = tables * (new - q_row[own])
    going[own] += tables * (below[own] * reached[own] - below_q[own])
    q_row[own] = new
    doc_row[own] += moved
    word_row[own] += moved


def _each_of_group(rows: Any, emit: Callable[[Any], None]) -> None:
    """Emit ``emit(start)`` for each vector of a group."""
    builder, args = rows.builder, rows.args
    step = ir.IntType(64)(LANES)
    with cgutils.for_range(builder, args["depth"]) as loop:
        emit(builder.add(args["start"], builder.mul(loop.index, step)))


def _emit_weigh_lanes(rows: Any) -> None:
    builder, args = rows.builder, rows.args
    vectors = rows.vectors(LANES)
    sums = [cgutils.alloca_once_value(builder, vectors.constant(0.0)) for _ in range(2)]

    def weigh(start: Any) -> None:
        weights = rows.weigh(vectors, start, vectors.load(args["doc_row"], start))
        for total, part in zip(sums, (vectors.load(args["q_row"], start), weights), strict=True):
            builder.store(builder.fadd(builder.load(total), part), total)

    _each_of_group(rows, weigh)
    for total, name in zip(sums, ("lane_q", "lane_weight"), strict=True):
        vectors.store(builder.load(total), args[name], args["lane"])


def _emit_settle_lanes(rows: Any) -> None:
    args, vectors = rows.args, rows.vectors(LANES)
    scale, times = vectors.load(args["lane_scale"], args["lane"]), vectors.spread(rows.times)
    _each_of_group(rows, lambda start: _move(rows, vectors, start, "weights", scale, times))


def _move(rows: Any, vectors: Any, start: Any, name: str, scale: Any, times: Any) -> None:
    """Emit: the row ``name`` times scale becomes q, and both counts move."""
    builder, args = rows.builder, rows.args
    q, weights = vectors.load(args["q_row"], start), vectors.load(args[name], start)
    new = builder.fmul(weights, scale)
    change = builder.fsub(new, q)
    vectors.store(new, args["q_row"], start)
    for counts in ("doc_row", "word_row"):
        moved = vectors.multiply_add(times, change, vectors.load(args[counts], start))
        vectors.store(moved, args[counts], start)


def _each_above(rows: Any, emit: Callable[[Any], None]) -> None:
    """Emit ``emit(start)`` for each vector of inner nodes."""
    zero, step = ir.IntType(64)(0), ir.IntType(64)(LANES)
    with cgutils.for_range_slice(rows.builder, zero, rows.args["n_above"], step) as (start, _):
        emit(start)


def _emit_weigh_inner(rows: Any) -> None:
    builder, args = rows.builder, rows.args
    vectors = rows.vectors(LANES)
    zero, one = vectors.constant(0.0), vectors.constant(1.0)
    word_prior = vectors.spread(args["word_prior"])

    def weigh(start: Any) -> None:
        row = {name: vectors.load(args[name], start) for name in _READ_BY_INNER}
        stopped = vectors.at_least(builder.fsub(row["doc_row"], row["q_row"]), zero)
        gone = vectors.at_least(builder.fsub(row["going"], row["below_q"]), zero)
        both = builder.fadd(stopped, gone)
        priors = builder.fadd(row["stop_a"], row["stop_b"])
        visits = builder.fdiv(one, builder.fadd(priors, both))
        word = builder.fadd(builder.fsub(row["word_row"], row["q_row"]), word_prior)
        word = vectors.at_least(word, word_prior)
        stop = builder.fmul(builder.fadd(row["stop_a"], stopped), visits)
        upper, lower = builder.fmul(stop, word), builder.fadd(stopped, row["base_row"])
        vectors.store(builder.fdiv(upper, lower), args["stay"], start)
        upper = builder.fmul(builder.fadd(row["stop_b"], gone), visits)
        lower = builder.fadd(gone, row["concentration"])
        vectors.store(builder.fdiv(upper, lower), args["go"], start)
        vectors.store(builder.fadd(both, row["prior_row"]), args["share"], start)

    _each_above(rows, weigh)


_READ_BY_INNER = (
    *("q_row", "doc_row", "word_row", "prior_row", "base_row"),
    *("below_q", "going", "concentration", "stop_a", "stop_b"),
)


def _emit_settle_inner(rows: Any) -> None:
    builder, args = rows.builder, rows.args
    vectors = rows.vectors(LANES)
    times = vectors.spread(rows.times)

    def settle(start: Any) -> None:
        scale = vectors.load(args["reached"], start)
        _move(rows, vectors, start, "stay", scale, times)
        below, before = (vectors.load(args[name], start) for name in ("below", "below_q"))
        change = builder.fsub(builder.fmul(below, scale), before)
        going = vectors.multiply_add(times, change, vectors.load(args["going"], start))
        vectors.store(going, args["going"], start)

    _each_above(rows, settle)


vectorise(weigh_lanes, _emit_weigh_lanes, returns_sum=False)
vectorise(settle_lanes, _emit_settle_lanes, returns_sum=False)
vectorise(weigh_inner, _emit_weigh_inner, returns_sum=False)
vectorise(settle_inner, _emit_settle_inner, returns_sum=False)
