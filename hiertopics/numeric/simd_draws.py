"""Draws of topics, and of few entries of many weights, written with explicit vectors.

Of all topics (``draw_topic``). A token of topic ``old`` gets topic k with a chance proportional to

    share[k] (word[k] + word_prior),     but share_old (word[old] - 1 + word_prior) where k = old,

share[k] being all that does not depend on the word. The token itself is taken out of the counts
in registers, so that nothing is stored, and then waited for, where the topic stays.

Of short lists of topics (``sum_list``, ``pick_place``). A document's list names the topics that it
uses and how often. A token of a word gets the topic at a place of the list with a chance
proportional to (the word's chance in the topic) times (the topic's count); the token itself is
taken out on the way, likewise. Lists lie one behind the other in flat arrays; each has room for a
multiple of ``LANES`` entries, of which those beyond its length count 0.

Both are summed lane by lane: lane j of a vector runs over places j, j + 16, j + 32, ... A number
below the total first chooses a lane, then a place in it, both by counting the sums that are not
above it: no branch depends on the draw. Any order of topics gives the same distribution.

Of many weights a few entries whose expectation they are (``keep_few``). An entry of weight w is
kept where w >= threshold * u, u uniform on (0, 1], and then weighs the larger of w and the
threshold. Entries at or above the threshold stay as they are; a smaller one is kept with chance
w / threshold and weighs the threshold, so that it weighs w on average. The numbers u of a row of
topics lie side by side in a table (``noise``), from a place on that is drawn for each row: a load
in place of a computation.

Products and sums of lists and entries are rounded one by one, and in an order that is written down:
machines with short and with long vectors get the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from hiertopics.base.arrays import F32, I32
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


def draw_topic(
    share_row: F32,
    word_row: I32,
    word_prior: float,
    old: int,
    share_old: float,
    uniform: float,
    sums: F32,
) -> int:
    """Return the topic that ``uniform``, from 0 to below 1 in float32, draws (see the module).

    Rows and the scratch ``sums`` are C-contiguous [n], n a multiple of ``LANES``. share_row,
    word_row: the shares of topics in the document, and the counts of the word in them. An
    ``old`` below 0 takes no token out. Rounding may draw a topic of weight 0, once in 10^7 times.
    In kernels arguments are positional, and no length is checked.
    """
    own = np.arange(len(share_row)) == old
    share = np.where(own, np.float32(share_old), share_row)
    weights = share * ((word_row - own).astype(np.float32) + np.float32(word_prior))
    sums[:] = weights.reshape(-1, LANES).cumsum(axis=0).ravel()
    lanes = sums[-LANES:].cumsum()
    target = np.float32(uniform) * lanes[-1]
    lane = min(int((lanes <= target).sum()), LANES - 1)
    rest = target - (lanes[lane - 1] if lane else np.float32(0))
    return lane + LANES * int((sums[lane:-LANES:LANES] <= rest).sum())


def _emit_factors(builder: Any, args: dict[str, Any], start: Any, to_old: Any) -> tuple[Any, Any]:
    """Return the factors of the weights of the vector of topics from ``start`` on."""
    share = load(builder, args["share"], start, FLOATS)
    word = load(builder, args["word"], start, INTS)
    place = spread(builder, builder.trunc(start, INT32), INTS)
    own = builder.icmp_signed("==", to_old, place)
    word = builder.sitofp(builder.add(word, builder.sext(own, INTS)), FLOATS)
    return builder.select(own, args["share_old"], share), builder.fadd(word, args["word_prior"])


def _emit_sums(builder: Any, args: dict[str, Any], length: Any) -> Any:
    """Store the running sums of each lane; return the lanes' totals."""
    module = builder.module
    name, kind = f"llvm.fmuladd.v{LANES}f32", ir.FunctionType(FLOATS, [FLOATS] * 3)
    multiply_add = cgutils.get_or_insert_function(module, kind, name)
    lanes = ir.Constant(INTS, list(range(LANES)))
    old = spread(builder, builder.trunc(args["old"], INT32), INTS)
    to_old = builder.sub(old, lanes)
    total = cgutils.alloca_once_value(builder, ir.Constant(FLOATS, [0.0] * LANES))
    with cgutils.for_range_slice(builder, INT64(0), length, INT64(LANES)) as (start, _):
        share, word = _emit_factors(builder, args, start, to_old)
        so_far = [share, word, builder.load(total)]
        builder.store(builder.call(multiply_add, so_far), total)
        store(builder, builder.load(total), args["sums"], start)
    return builder.load(total)


def _emit_choice(builder: Any, args: dict[str, Any], length: Any, totals: Any) -> Any:
    """Return the topic: a lane by the lanes' totals, then its topic by its running sums."""
    lanes = running_sums(builder, totals)
    target = builder.fmul(builder.extract_element(lanes, INT32(LANES - 1)), args["uniform"])
    below = builder.fcmp_ordered("<=", lanes, spread(builder, target, FLOATS))
    count = builder.module.declare_intrinsic("llvm.ctpop", [INT16])
    lane = builder.zext(builder.call(count, [builder.bitcast(below, INT16)]), INT64)
    is_one = builder.icmp_unsigned("<", lane, INT64(LANES))
    lane = builder.select(is_one, lane, INT64(LANES - 1))
    before = cgutils.alloca_once(builder, FLOAT, size=LANES + 1)
    builder.store(FLOAT(0.0), before)
    store(builder, lanes, before, INT64(1))
    rest = builder.fsub(target, builder.load(builder.gep(before, [lane])))
    topic = cgutils.alloca_once_value(builder, lane)
    last = builder.sub(length, INT64(LANES))
    with cgutils.for_range_slice(builder, INT64(0), last, INT64(LANES)) as (start, _):
        so_far = builder.load(builder.gep(args["sums"], [builder.add(start, lane)]))
        passed = builder.fcmp_ordered("<=", so_far, rest)
        step = builder.select(passed, INT64(LANES), INT64(0))
        builder.store(builder.add(builder.load(topic), step), topic)
    return builder.load(topic)


def _emit_draw_topic(builder: Any, args: dict[str, Any], lengths: dict[str, Any]) -> Any:
    for name in ("word_prior", "share_old"):
        args[name] = spread(builder, args[name], FLOATS)
    length = lengths["share"]
    return _emit_choice(builder, args, length, _emit_sums(builder, args, length))


declare(
    draw_topic,
    _emit_draw_topic,
    {
        "share": FLOATS_ROW,
        "word": types.Array(types.int32, 1, "C"),
        "word_prior": types.float32,
        "old": types.intp,
        "share_old": types.float32,
        "uniform": types.float32,
        "sums": FLOATS_ROW,
    },
    types.intp,
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
    """Write a word's chance in each topic of a list to ``chances``, whole vectors of them.

    scaled: float32 [n_topics], the chances. topics: the list, from ``start`` on ``length`` long and
    filled up to a multiple of ``LANES``. chances: as long or longer.
    """
    room = -(-length // LANES) * LANES
    chances[:room] = scaled[topics[start : start + room]]


def gather_products(
    scaled: F32,
    factors: F32,
    group: Names,
    topics: Names,
    start: Int,
    length: Int,
    chances: F32,
) -> None:
    """Do as ``gather_list`` does, times the factor of each topic's group.

    factors: float32 [n_groups]. group: [n_topics], the group of each topic.
    """
    room = -(-length // LANES) * LANES
    listed = topics[start : start + room]
    chances[:room] = scaled[listed] * factors[group[listed]]


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


def sum_products(one: F32, other: F32) -> Any:
    """Return the sum of one times other, float32 [n] both, n a multiple of ``LANES``.

    Each lane adds up its own products; then the upper half of the lanes is added to the lower.
    """
    lanes = (one * other).reshape(-1, LANES).cumsum(axis=0)[-1]
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    return lanes[0]


def pick_place(sums: F32, before: F32, length: Int, target: Float) -> int:
    """Return the place of a list at which its sum passes ``target``, in the order of lanes.

    sums: float32, running sums in each lane. before: float32 [LANES + 1], the sum of all lanes
    before each one.
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


def _emit_gather_products(builder: Any, args: dict[str, Any], _: dict[str, Any]) -> None:
    with cgutils.for_range_slice(builder, INT64(0), args["length"], INT64(LANES)) as (at, _):
        first = builder.add(args["start"], at)
        found = factors = ir.Constant(FLOATS, ir.Undefined)
        for lane in range(LANES):
            place = builder.gep(args["topics"], [builder.add(first, INT64(lane))])
            topic = builder.zext(builder.load(place), INT64)
            group = builder.zext(builder.load(builder.gep(args["group"], [topic])), INT64)
            chance = builder.load(builder.gep(args["scaled"], [topic]))
            factor = builder.load(builder.gep(args["factors"], [group]))
            found = builder.insert_element(found, chance, INT32(lane))
            factors = builder.insert_element(factors, factor, INT32(lane))
        store(builder, builder.fmul(found, factors), args["chances"], at)


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


def _emit_sum_products(builder: Any, args: dict[str, Any], lengths: dict[str, Any]) -> Any:
    total = cgutils.alloca_once_value(builder, _ZEROS)
    with cgutils.for_range_slice(builder, INT64(0), lengths["one"], INT64(LANES)) as (at, _):
        one, other = (load(builder, args[name], at, FLOATS) for name in ("one", "other"))
        builder.store(builder.fadd(builder.load(total), builder.fmul(one, other)), total)
    lanes, half = builder.load(total), LANES // 2
    while half:
        order = [(lane + half) % LANES for lane in range(LANES)]
        moved = builder.shuffle_vector(lanes, lanes, ir.Constant(INTS, order))
        lanes, half = builder.fadd(lanes, moved), half // 2
    return builder.extract_element(lanes, INT32(0))


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
    special = {
        **_INTEGERS,
        "own": types.float32,
        "target": types.float32,
        "topics": UNSIGNED_ROW,
        "group": UNSIGNED_ROW,
    }
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
    gather_products,
    _emit_gather_products,
    _kinds("scaled", "factors", "group", "topics", "start", "length", "chances"),
    types.none,
)
declare(
    sum_list,
    _emit_sum_list,
    _kinds("chances", "counts", "start", "length", "place", "own", "sums", "before"),
    types.float32,
)
declare(sum_products, _emit_sum_products, _kinds("one", "other"), types.float32)
declare(pick_place, _emit_pick_place, _kinds("sums", "before", "length", "target"), types.intp)


def keep_few(
    weights: F32, noise: F32, start: Int, threshold: Float, names: I32, values: F32
) -> int:
    """Write the names and values of entries that are kept, ascending; return how many.

    weights: float32 [n], n a multiple of ``LANES``, filled up with 0; names, values: as much room.
    noise: u of entry i at start + i, above 0. In kernels arguments are positional, and no length is
    checked.
    """
    room = len(weights)
    kept = np.flatnonzero(weights >= np.float32(threshold) * noise[start : start + room])
    names[: len(kept)] = kept
    values[: len(kept)] = np.maximum(weights[kept], np.float32(threshold))
    return len(kept)


def _emit_keep_few(builder: Any, args: dict[str, Any], lengths: dict[str, Any]) -> Any:
    n_kept = cgutils.alloca_once_value(builder, INT64(0))
    thresholds = spread(builder, args["threshold"], FLOATS)
    with cgutils.for_range_slice(builder, INT64(0), lengths["weights"], INT64(LANES)) as (at, _):
        weights = load(builder, args["weights"], at, FLOATS)
        noise = load(builder, args["noise"], builder.add(args["start"], at), FLOATS)
        passed = builder.fcmp_ordered(">=", weights, builder.fmul(noise, thresholds))
        bits = builder.bitcast(passed, INT16)
        with builder.if_then(builder.icmp_unsigned("!=", bits, INT16(0)), likely=False):
            _emit_entries(builder, args, at, bits, n_kept)
    return builder.load(n_kept)


def _emit_entries(builder: Any, args: dict[str, Any], at: Any, bits: Any, n_kept: Any) -> None:
    """Write the entries of a vector whose bits are set; at least one bit is set."""
    left = cgutils.alloca_once_value(builder, bits)
    again = builder.append_basic_block("entry")
    done = builder.append_basic_block("entries")
    builder.branch(again)
    builder.position_at_end(again)
    bits, count = builder.load(left), builder.load(n_kept)
    lane = builder.cttz(bits, ir.Constant(ir.IntType(1), 1))
    entry = builder.add(at, builder.zext(lane, INT64))
    weight = builder.load(builder.gep(args["weights"], [entry]))
    larger = builder.fcmp_ordered(">=", weight, args["threshold"])
    value = builder.select(larger, weight, args["threshold"])
    builder.store(builder.trunc(entry, INT32), builder.gep(args["names"], [count]))
    builder.store(value, builder.gep(args["values"], [count]))
    builder.store(builder.add(count, INT64(1)), n_kept)
    bits = builder.and_(bits, builder.sub(bits, INT16(1)))
    builder.store(bits, left)
    builder.cbranch(builder.icmp_unsigned("!=", bits, INT16(0)), again, done)
    builder.position_at_end(done)


declare(
    keep_few,
    _emit_keep_few,
    {
        "weights": FLOATS_ROW,
        "noise": FLOATS_ROW,
        "start": types.intp,
        "threshold": types.float32,
        "names": types.Array(types.int32, 1, "C"),
        "values": FLOATS_ROW,
    },
    types.intp,
)
