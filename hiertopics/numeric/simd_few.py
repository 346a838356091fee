"""From weights by topic to a few entries whose expectation they are, written with explicit vectors.

An entry of weight w is kept where w >= threshold * u, u uniform on (0, 1], and then weighs the
larger of w and the threshold. Entries at or above the threshold stay as they are; a smaller one is
kept with chance w / threshold and weighs the threshold, so that it weighs w on average.

The numbers u of a row of topics lie side by side in a table (``noise``), from a place on that is
drawn for each row: a load in place of a computation. Nothing is rounded in another order on another
machine.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing import signature
from numba.extending import lower_builtin, type_callable
from numpy.typing import NDArray

from hiertopics.numeric.simd_draw import FLOATS, INT16, INT32, INT64, LANES, load, spread
from hiertopics.numeric.simd_lists import Float, Int

Floats = NDArray[np.float32]


def keep_few(
    weights: Floats,
    noise: Floats,
    start: Int,
    threshold: Float,
    names: NDArray[np.int32],
    values: Floats,
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


_FLOATS_ROW = types.Array(types.float32, 1, "C")
_KINDS = (
    _FLOATS_ROW,
    _FLOATS_ROW,
    types.intp,
    types.float32,
    types.Array(types.int32, 1, "C"),
    _FLOATS_ROW,
)
_NAMES = ("weights", "noise", "start", "threshold", "names", "values")


def _type_keep_few(context: Any) -> Any:
    @wraps(keep_few)
    def typer(*kinds: Any) -> Any:
        for kind, wanted in zip(kinds, _KINDS, strict=True):
            is_row = isinstance(wanted, types.Array)
            if is_row and (kind.dtype, kind.ndim, kind.layout) != (wanted.dtype, 1, "C"):
                raise TypingError(f"a contiguous row of {wanted.dtype} is wanted, got {kind}")
        exact = [k if isinstance(k, types.Array) else w for k, w in zip(kinds, _KINDS, strict=True)]
        return signature(types.intp, *exact)

    return typer


def _emit_keep_few(context: Any, builder: Any, call: Any, values: Any) -> Any:
    args = {}
    for name, kind, value in zip(_NAMES, call.args, values, strict=True):
        is_row = isinstance(kind, types.Array)
        args[name] = context.make_array(kind)(context, builder, value).data if is_row else value
    row = context.make_array(call.args[0])(context, builder, values[0])
    (length,) = cgutils.unpack_tuple(builder, row.shape)
    n_kept = cgutils.alloca_once_value(builder, INT64(0))
    thresholds = spread(builder, args["threshold"], FLOATS)
    with cgutils.for_range_slice(builder, INT64(0), length, INT64(LANES)) as (at, _):
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


type_callable(keep_few)(_type_keep_few)
lower_builtin(keep_few, types.VarArg(types.Any))(_emit_keep_few)
