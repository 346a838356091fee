"""Draws from short lists of topics, written with explicit vectors.

A document's list names the topics that it uses and how often. A token of a word gets the topic at
a place of the list with a chance proportional to (the word's chance in the topic) times (the
topic's count); what the token's own topic counts without the token is put in on the way, so that
nothing is stored, and then waited for, where the topic stays.

Lists lie one behind the other in flat arrays; each has room for a multiple of ``LANES`` entries, of
which those beyond its length count 0. Places are summed lane by lane: lane j of a vector runs over
places j, j + 16, j + 32, ... A number below the total first chooses a lane, then a place in it,
both by counting the sums that are not above it: no branch depends on the draw.

Products and sums are rounded one by one, and in an order that is written down: machines with short
and with long vectors get the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from hiertopics.arrays import F32
from hiertopics.numeric.lanes import (
    FLOAT,
    FLOATS,
    FLOATS_ROW,
    INT16,
    INT32,
    INT64,
    INTS,
    LANES,
    UNSIGNED_ROW,
    declare,
    load,
    running_sums,
    spread,
    store,
)

Names = NDArray[np.unsignedinteger[Any]]
Int = int | np.int64
Float = float | np.float32


def scale_row(table: F32, start: Int, scale: F32, prior: F32, scaled: F32, lanes: F32) -> Any:
    """Write ``scale`` times a row of a flat table to ``scaled``; return its sum times ``prior``.

    The row begins at ``start`` and is as long as ``scale``, a multiple of ``LANES``. lanes
    [LANES]: gets the sum over every sixteenth topic from lane on.
    """
    scaled[:] = table[start : start + len(scale)] * scale
    lanes[:] = (scaled * prior).reshape(-1, LANES).cumsum(axis=0)[-1]
    return _running(lanes)[-1]


def gather_list(scaled: F32, topics: Names, start: Int, length: Int, chances: F32) -> None:
    """Write a word's chance in each topic of a list to ``chances``, whole vectors of them."""
    room = -(-length // LANES) * LANES
    chances[:room] = scaled[topics[start : start + room]]


def sum_list(
    chances: F32,
    counts: F32,
    start: Int,
    length: Int,
    place: Int,
    own: Float,
    sums: F32,
    before: F32,
) -> Any:
    """Return the sum of chances times counts of a list, whose entry ``place`` weighs ``own``.

    sums: running sums by lane. before [LANES + 1]: sums over the lanes before each, and over all.
    """
    room = -(-length // LANES) * LANES
    weights = chances[:room] * counts[start : start + room]
    weights = np.where(np.arange(room) == place, np.float32(own), weights)
    sums[:room] = weights.reshape(-1, LANES).cumsum(axis=0).ravel()
    before[0] = 0
    before[1:] = _running(sums[room - LANES : room]) if room else 0
    return before[-1]


def pick_place(sums: F32, before: F32, length: Int, target: Float) -> int:
    """Return the place of a list at which its sum passes ``target``, in the order of lanes.

    Rounding may pick a place of weight 0, also beyond the length, once in 10^7 times.
    """
    lane = min(int((before[1:] <= target).sum()), LANES - 1)
    rest = np.float32(target) - before[lane]
    last = (length - 1) // LANES
    return lane + LANES * int((sums[lane : last * LANES : LANES] <= rest).sum())


def _running(lanes: F32) -> F32:
    """Return running sums by doubling, added up as the vectors do it."""
    step, sums = 1, lanes.astype(np.float32)
    while step < LANES:
        sums = sums + np.concatenate([np.zeros(step, np.float32), sums[:-step]])
        step *= 2
    return sums


_ZEROS = ir.Constant(FLOATS, [0.0] * LANES)


def _emit_scale_row(builder: Any, args: dict[str, Any], lengths: dict[str, Any]) -> Any:
    total = cgutils.alloca_once_value(builder, _ZEROS)
    with cgutils.for_range_slice(builder, INT64(0), lengths["scale"], INT64(LANES)) as (at, _):
        row = load(builder, args["table"], builder.add(args["start"], at), FLOATS)
        scaled = builder.fmul(row, load(builder, args["scale"], at, FLOATS))
        store(builder, scaled, args["scaled"], at)
        weights = builder.fmul(scaled, load(builder, args["prior"], at, FLOATS))
        builder.store(builder.fadd(builder.load(total), weights), total)
    lanes = builder.load(total)
    store(builder, lanes, args["lanes"], INT64(0))
    return builder.extract_element(running_sums(builder, lanes), INT32(LANES - 1))


def _emit_gather_list(builder: Any, args: dict[str, Any], _: dict[str, Any]) -> None:
    topics = args["topics"]
    with cgutils.for_range_slice(builder, INT64(0), args["length"], INT64(LANES)) as (at, _):
        first = builder.add(args["start"], at)
        found = ir.Constant(FLOATS, ir.Undefined)
        for lane in range(LANES):
            place = builder.gep(topics, [builder.add(first, INT64(lane))])
            topic = builder.zext(builder.load(place), INT64)
            chance = builder.load(builder.gep(args["scaled"], [topic]))
            found = builder.insert_element(found, chance, INT32(lane))
        store(builder, found, args["chances"], at)


def _emit_sum_list(builder: Any, args: dict[str, Any], _: dict[str, Any]) -> Any:
    lanes = ir.Constant(INTS, list(range(LANES)))
    to_place = builder.sub(spread(builder, builder.trunc(args["place"], INT32), INTS), lanes)
    own = spread(builder, args["own"], FLOATS)
    total = cgutils.alloca_once_value(builder, _ZEROS)
    with cgutils.for_range_slice(builder, INT64(0), args["length"], INT64(LANES)) as (at, _):
        counts = load(builder, args["counts"], builder.add(args["start"], at), FLOATS)
        weights = builder.fmul(load(builder, args["chances"], at, FLOATS), counts)
        here = builder.icmp_signed("==", to_place, spread(builder, builder.trunc(at, INT32), INTS))
        weights = builder.select(here, own, weights)
        so_far = builder.fadd(builder.load(total), weights)
        builder.store(so_far, total)
        store(builder, so_far, args["sums"], at)
    sums = running_sums(builder, builder.load(total))
    builder.store(FLOAT(0.0), args["before"])
    store(builder, sums, args["before"], INT64(1))
    return builder.extract_element(sums, INT32(LANES - 1))


def _emit_pick_place(builder: Any, args: dict[str, Any], _: dict[str, Any]) -> Any:
    target = args["target"]
    sums = load(builder, args["before"], INT64(1), FLOATS)
    passed = builder.fcmp_ordered("<=", sums, spread(builder, target, FLOATS))
    count = builder.module.declare_intrinsic("llvm.ctpop", [INT16])
    lane = builder.zext(builder.call(count, [builder.bitcast(passed, INT16)]), INT64)
    is_one = builder.icmp_unsigned("<", lane, INT64(LANES))
    lane = builder.select(is_one, lane, INT64(LANES - 1))
    rest = builder.fsub(target, builder.load(builder.gep(args["before"], [lane])))
    place = cgutils.alloca_once_value(builder, lane)
    last = builder.and_(builder.sub(args["length"], INT64(1)), INT64(-LANES))
    with cgutils.for_range_slice(builder, INT64(0), last, INT64(LANES)) as (at, _):
        so_far = builder.load(builder.gep(args["sums"], [builder.add(at, lane)]))
        below = builder.fcmp_ordered("<=", so_far, rest)
        step = builder.select(below, INT64(LANES), INT64(0))
        builder.store(builder.add(builder.load(place), step), place)
    return builder.load(place)


_INTEGERS = {name: types.intp for name in ("start", "length", "place")}


def _kinds(*names: str) -> dict[str, Any]:
    special = {**_INTEGERS, "own": types.float32, "target": types.float32, "topics": UNSIGNED_ROW}
    return {name: special.get(name, FLOATS_ROW) for name in names}


declare(
    scale_row,
    _emit_scale_row,
    _kinds("table", "start", "scale", "prior", "scaled", "lanes"),
    types.float32,
)
declare(
    gather_list,
    _emit_gather_list,
    _kinds("scaled", "topics", "start", "length", "chances"),
    types.none,
)
declare(
    sum_list,
    _emit_sum_list,
    _kinds("chances", "counts", "start", "length", "place", "own", "sums", "before"),
    types.float32,
)
declare(pick_place, _emit_pick_place, _kinds("sums", "before", "length", "target"), types.intp)
