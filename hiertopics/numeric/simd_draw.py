"""One draw of a collapsed Gibbs sampler over tokens, written with explicit vectors.

A token of topic ``old`` gets topic k with a chance proportional to

    share[k] (word[k] + word_prior),     but share_old (word[old] - 1 + word_prior) where k = old,

share[k] being all that does not depend on the word. The token itself is taken out of the counts
in registers, so that nothing is stored, and then waited for, where the topic stays.

Topics are summed lane by lane: lane j of a vector runs over topics j, j + 16, j + 32, ... The
uniform number first chooses a lane, then a topic in it, both by counting the sums below the
target: no branch depends on the draw. Any order of topics gives the same distribution.
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

LANES = 16
"""Rows of topics must have a multiple of this length, filled up with shares of 0."""


def padded(n_topics: int) -> int:
    """Return the length of a row for ``n_topics`` topics."""
    return -(-n_topics // LANES) * LANES


def draw_topic(
    share_row: NDArray[np.float32],
    word_row: NDArray[np.int32],
    word_prior: float,
    old: int,
    share_old: float,
    uniform: float,
    sums: NDArray[np.float32],
) -> int:
    """Return the topic that ``uniform``, from 0 to below 1 in float32, draws (see the module).

    Rows and the scratch ``sums`` are C-contiguous and of one length, a multiple of ``LANES``. An
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


INT16, INT32, INT64 = (ir.IntType(bits) for bits in (16, 32, 64))
FLOAT = ir.FloatType()
FLOATS = ir.VectorType(FLOAT, LANES)
INTS = ir.VectorType(INT32, LANES)
_KINDS = (
    types.Array(types.float32, 1, "C"),
    types.Array(types.int32, 1, "C"),
    types.float32,
    types.intp,
    types.float32,
    types.float32,
    types.Array(types.float32, 1, "C"),
)


def spread(builder: Any, number: Any, kind: Any) -> Any:
    """Return a vector of equal numbers."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, number, INT32(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(INTS, [0] * LANES))


def load(builder: Any, row: Any, start: Any, kind: Any) -> Any:
    """Return the vector that a row holds from ``start`` on."""
    return builder.load(builder.bitcast(builder.gep(row, [start]), kind.as_pointer()), align=4)


def store(builder: Any, vector: Any, row: Any, start: Any) -> None:
    """Write a vector to a row from ``start`` on."""
    pointer = builder.bitcast(builder.gep(row, [start]), vector.type.as_pointer())
    builder.store(vector, pointer, align=4)


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


def running_sums(builder: Any, vector: Any) -> Any:
    """Return the running sums over a vector's lanes, by doubling."""
    zero = ir.Constant(FLOATS, [0.0] * LANES)
    step = 1
    while step < LANES:
        order = [LANES] * step + list(range(LANES - step))
        moved = builder.shuffle_vector(vector, zero, ir.Constant(INTS, order))
        vector, step = builder.fadd(vector, moved), 2 * step
    return vector


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


def _type_draw_topic(context: Any) -> Any:
    @wraps(draw_topic)
    def typer(*kinds: Any) -> Any:
        for kind, wanted in zip(kinds, _KINDS, strict=True):
            is_row = isinstance(wanted, types.Array)
            if is_row and (kind.dtype, kind.ndim, kind.layout) != (wanted.dtype, 1, "C"):
                raise TypingError(f"a contiguous row of {wanted.dtype} is wanted, got {kind}")
        exact = [k if isinstance(k, types.Array) else w for k, w in zip(kinds, _KINDS, strict=True)]
        return signature(types.intp, *exact)

    return typer


def _emit_draw_topic(context: Any, builder: Any, call: Any, values: Any) -> Any:
    names = ("share", "word", "word_prior", "old", "share_old", "uniform", "sums")
    args = {}
    for name, kind, value in zip(names, call.args, values, strict=True):
        is_row = isinstance(kind, types.Array)
        args[name] = context.make_array(kind)(context, builder, value).data if is_row else value
    row = context.make_array(call.args[0])(context, builder, values[0])
    (length,) = cgutils.unpack_tuple(builder, row.shape)
    for name in ("word_prior", "share_old"):
        args[name] = spread(builder, args[name], FLOATS)
    return _emit_choice(builder, args, length, _emit_sums(builder, args, length))


type_callable(draw_topic)(_type_draw_topic)
lower_builtin(draw_topic, types.VarArg(types.Any))(_emit_draw_topic)
