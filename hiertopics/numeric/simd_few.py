"""From weights by topic to a few entries whose expectation they are, written with explicit vectors.

An entry of weight w is kept where w >= threshold * u, u uniform on (0, 1], and then weighs the
larger of w and the threshold. Entries at or above the threshold stay as they are; a smaller one is
kept with chance w / threshold and weighs the threshold, so that it weighs w on average.

The numbers u of a row of topics lie side by side in a table (``noise``), from a place on that is
drawn for each row: a load in place of a computation. Nothing is rounded in another order on another
machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from hiertopics.arrays import F32, I32
from hiertopics.numeric.lanes import (
    FLOATS,
    FLOATS_ROW,
    INT16,
    INT32,
    INT64,
    LANES,
    declare,
    load,
    spread,
)
from hiertopics.numeric.simd_lists import Float, Int


def keep_few(
    weights: F32, noise: F32, start: Int, threshold: Float, names: I32, values: F32
) -> int:
    """Write the names and values of entries that are kept, ascending; return how many.

    weights: a multiple of ``LANES`` of them, filled up with 0; names, values: as much room. noise:
    u of entry i at start + i, above 0. In kernels arguments are positional, and no length is
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
    """Write the entries of a vector whose bits are set, of which there is one at least."""
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
