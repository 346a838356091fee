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

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from hiertopics.arrays import F32, I32
from hiertopics.numeric.lanes import (
    FLOAT,
    FLOATS,
    FLOATS_ROW,
    INT16,
    INT32,
    INT64,
    INTS,
    LANES,
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
