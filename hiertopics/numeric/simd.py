"""The inner loops of a collapsed variational sweep, written with explicit vectors.

A sweep visits (document, word) pairs. With q the pair's responsibilities over T topics, ``doc``
the document's expected counts plus ``prior``, ``word`` the word's expected counts, and ``base``
the corpus's without this document plus their prior minus ``prior``, a visit is, per topic:

    x = max(doc - q, prior);  w = x * (max(word - q, 0) + word_prior) / (x + base)      weigh
    n = scale * w;  d = count * (n - q);  q = n;  doc += d;  word += d                  settle

with scale = 1 / sum(w), and for indicators also seen += (1 - seen) * (1 - (1 - n)^count).
Where a pair has tables in place of tokens, whose number moves, d = tables n - tables_before q.

Why explicit vectors: LLVM's own guard every loop over so many rows with alias checks, and leave
up to 63 of T topics to narrower code. And why ``settle_and_weigh``: nothing of the next pair can
be weighed before 1 / sum is known. Moved and weighed in one loop, a document's counts go from
one pair to the next in a register, and stores overlap with divisions.

Each function is plain Python that says what it computes; numba kernels get the vectors inlined,
equal up to rounding. In kernels arguments are positional, and no length is checked. Rows are
C-contiguous, of one dtype (float32 or float64) and one length T; two of them are either the same
row or do not overlap. Any alignment will do, but scratch that lives as long as a document
(``doc``, ``weights``) should come from ``aligned_rows``, or visits wait for stores that straddle
cache lines; with indicators so should the words' tables.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
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

from hiertopics.base.arrays import Floats
from hiertopics.numeric.jit import kernel

Row = Floats

VECTOR_BYTES = 64
"""Bytes of a vector: a register of AVX-512; LLVM splits it into two of AVX2, four of NEON."""

LINE_BYTES = 64
"""Bytes of a cache line."""


@kernel()
def aligned_rows(n_rows: int, like: Floats) -> Floats:
    """Return zeros [n_rows, at least like.shape[1]] of ``like``'s dtype, rows on cache lines."""
    per_line = LINE_BYTES // like.itemsize
    padded = (like.shape[1] + per_line - 1) // per_line * per_line
    memory = np.zeros(n_rows * padded + per_line, like.dtype)
    offset = (LINE_BYTES - memory.ctypes.data % LINE_BYTES) % LINE_BYTES // like.itemsize
    return memory[offset : offset + n_rows * padded].reshape(n_rows, padded)


rows_on_lines: Callable[[int, Floats], Floats] = getattr(aligned_rows, "py_func", aligned_rows)
"""``aligned_rows`` where no kernel calls it: not compiled."""


def prefetch_row(table: NDArray[Any], row: int) -> None:
    """Ask the machine to bring a row of a table near; in Python nothing.

    table: C-contiguous [n_rows, n_columns].

    A hint: a row outside the table is harmless.
    """


def weigh(
    q_row: Row,
    doc_row: Row,
    word_row: Row,
    prior_row: Row,
    base_row: Row,
    word_prior: float,
    weights: Row,
) -> Any:
    """Write a pair's unnormalised responsibilities to ``weights`` [T]; return their sum.

    A NaN in any row makes the sum NaN.
    """
    share = np.maximum(doc_row - q_row, prior_row)
    word_share = np.maximum(word_row - q_row, 0) + word_prior
    weights[:] = share * word_share / (share + base_row)
    return weights.sum()


def weigh_shares(share_row: Row, word_row: Row, word_prior: float, weights: Row) -> Any:
    """Write ``share_row * (word_row + word_prior)`` to ``weights`` [T]; return their sum.

    Products and sums are rounded one by one, in an order that no machine changes.
    """
    weights[:] = share_row * (word_row + word_prior)
    return weights.sum()


def settle(
    q_row: Row,
    doc_row: Row,
    word_row: Row,
    weights: Row,
    scale: float,
    count: float,
    doc_seen: Row | None = None,
    word_seen: Row | None = None,
) -> None:
    """Make ``scale * weights`` a pair's responsibilities and move both rows of counts, in place.

    ``count`` >= 1 is the pair's tokens, a whole number. ``doc_seen`` and ``word_seen`` [T]: the
    probabilities that a topic has been seen in the document and with the word so far.
    """
    new = scale * weights
    moved = count * (new - q_row)
    q_row[:] = new
    doc_row += moved
    word_row += moved
    if doc_seen is not None and word_seen is not None:
        once = _at_least_once(new, int(count))
        doc_seen += (1 - doc_seen) * once
        word_seen += (1 - word_seen) * once


def settle_and_weigh(
    q_row: Row,
    doc_row: Row,
    word_row: Row,
    weights: Row,
    scale: float,
    count: float,
    next_q_row: Row,
    next_word_row: Row,
    prior_row: Row,
    base_row: Row,
    next_word_prior: float,
    doc_seen: Row | None = None,
    word_seen: Row | None = None,
) -> Any:
    """Settle a pair, then weigh the document's next pair; return the new weights' sum."""
    settle(q_row, doc_row, word_row, weights, scale, count, doc_seen, word_seen)
    return weigh(next_q_row, doc_row, next_word_row, prior_row, base_row, next_word_prior, weights)


def settle_tables(
    q_row: Row,
    doc_row: Row,
    word_row: Row,
    weights: Row,
    scale: float,
    tables: float,
    grown: float,
) -> None:
    """Settle a pair that has ``tables`` in place of tokens, ``grown`` more than before the visit.

    Where none grew, the same bits as ``settle`` with as many tokens.
    """
    new = scale * weights
    moved = tables * (new - q_row) + grown * q_row
    q_row[:] = new
    doc_row += moved
    word_row += moved


def settle_tables_and_weigh(
    q_row: Row,
    doc_row: Row,
    word_row: Row,
    weights: Row,
    scale: float,
    tables: float,
    grown: float,
    next_q_row: Row,
    next_word_row: Row,
    prior_row: Row,
    base_row: Row,
    next_word_prior: float,
) -> Any:
    """Settle a pair with tables, then weigh the document's next pair; return its weights' sum."""
    settle_tables(q_row, doc_row, word_row, weights, scale, tables, grown)
    return weigh(next_q_row, doc_row, next_word_row, prior_row, base_row, next_word_prior, weights)


def add_seen(once: Row, doc_seen: Row, word_seen: Row) -> None:
    """Update both rows of indicators with the probabilities ``once``."""
    doc_seen += (1 - doc_seen) * once
    word_seen += (1 - word_seen) * once


def _at_least_once(share: Row, count: int) -> Row:
    """Return 1 - (1 - share)^count, by squaring of "not seen" but without its cancellation."""
    seen = np.zeros_like(share)
    while count:
        if count & 1:
            seen += (1 - seen) * share
        share = share + (1 - share) * share
        count >>= 1
    return seen


class _Vectors:
    """Emits code on vectors of ``lanes`` numbers."""

    def __init__(self, builder: Any, element: Any, lanes: int) -> None:
        self.builder = builder
        self.type = ir.VectorType(element, lanes)
        self.lanes = lanes
        self.item_bytes = _item_bytes(element)

    def load(self, row: Any, start: Any) -> Any:
        return self.builder.load(self._pointer(row, start), align=self.item_bytes)

    def store(self, vector: Any, row: Any, start: Any) -> None:
        self.builder.store(vector, self._pointer(row, start), align=self.item_bytes)

    def _pointer(self, row: Any, start: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(row, [start]), self.type.as_pointer())

    def constant(self, number: float) -> Any:
        return ir.Constant(self.type, [number] * self.lanes)

    def spread(self, number: Any) -> Any:
        """Return a vector of equal numbers."""
        nothing = ir.Constant(self.type, ir.Undefined)
        first = self.builder.insert_element(nothing, number, _int32(0))
        return self.builder.shuffle_vector(first, nothing, _indices([0] * self.lanes))

    def multiply_add(self, left: Any, right: Any, add: Any) -> Any:
        """Return left * right + add, fused where the machine can."""
        name = f"llvm.fmuladd.v{self.lanes}f{8 * self.item_bytes}"
        signature = ir.FunctionType(self.type, [self.type] * 3)
        function = cgutils.get_or_insert_function(self.builder.module, signature, name)
        return self.builder.call(function, [left, right, add])

    def towards_one(self, seen: Any, share: Any) -> Any:
        """Return seen + (1 - seen) * share."""
        unseen = self.builder.fsub(self.constant(1.0), seen)
        return self.multiply_add(unseen, share, seen)

    def at_least(self, vector: Any, floor: Any) -> Any:
        """Return the maximum, or what ``vector`` holds where either is NaN (one instruction)."""
        larger = self.builder.fcmp_ordered(">", floor, vector)
        return self.builder.select(larger, floor, vector)


def _item_bytes(element: Any) -> int:
    return 4 if isinstance(element, ir.FloatType) else 8


def _int32(number: int) -> Any:
    return ir.Constant(ir.IntType(32), number)


def _int64(number: int) -> Any:
    return ir.Constant(ir.IntType(64), number)


def _indices(lanes: list[int]) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)


def _widen(builder: Any, vector: Any, lanes: int) -> Any:
    """Return ``vector`` with zeros appended, ``lanes`` in all (powers of two both)."""
    while vector.type.count < lanes:
        zeros = ir.Constant(vector.type, [0.0] * vector.type.count)
        vector = builder.shuffle_vector(vector, zeros, _indices([*range(2 * vector.type.count)]))
    return vector


def _add_lanes(builder: Any, vector: Any) -> Any:
    """Return the sum of a vector's numbers, by halving."""
    while vector.type.count > 1:
        half, nothing = vector.type.count // 2, ir.Constant(vector.type, ir.Undefined)
        low = builder.shuffle_vector(vector, nothing, _indices([*range(half)]))
        high = builder.shuffle_vector(vector, nothing, _indices([*range(half, 2 * half)]))
        vector = builder.fadd(low, high)
    return builder.extract_element(vector, _int32(0))


def _each_vector(builder: Any, element: Any, length: Any, emit: Callable[..., None]) -> None:
    """Emit ``emit(vectors, start)`` for a row: whole vectors in a loop, then a half, a quarter...

    A masked last vector would be simpler, but its store is one that the next row's first load
    would wait for.
    """
    lanes = VECTOR_BYTES // _item_bytes(element)
    start = builder.and_(length, _int64(-lanes))
    with cgutils.for_range_slice(builder, _int64(0), start, _int64(lanes)) as (index, _):
        emit(_Vectors(builder, element, lanes), index)
    while lanes := lanes // 2:
        rest = builder.and_(length, _int64(lanes))
        with builder.if_then(builder.icmp_unsigned("!=", rest, _int64(0))):
            emit(_Vectors(builder, element, lanes), start)
        start = builder.add(start, rest)


class _Pair:
    """Emits a vector's share of a visit; ``args``: pointers to rows, and scalars, by name."""

    def __init__(self, builder: Any, args: dict[str, Any], element: Any, length: Any) -> None:
        self.builder, self.args, self.element, self.length = builder, args, element, length
        if "count" in args:
            self.times = builder.sitofp(args["count"], element)
        elif "tables" in args:
            self.times = args["tables"]

    def vectors(self, lanes: int) -> _Vectors:
        """Return vectors of ``lanes`` numbers of the rows' kind."""
        return _Vectors(self.builder, self.element, lanes)

    def each_vector(self, emit: Callable[..., None]) -> None:
        _each_vector(self.builder, self.element, self.length, emit)

    def sum_over(self, emit: Callable[..., Any]) -> Any:
        """Emit ``emit`` for each vector of the row; return the sum of all that it returns."""
        lanes = VECTOR_BYTES // _item_bytes(self.element)
        zero = _Vectors(self.builder, self.element, lanes).constant(0.0)
        total = cgutils.alloca_once_value(self.builder, zero)

        def add(vectors: _Vectors, start: Any) -> None:
            part = _widen(self.builder, emit(vectors, start), lanes)
            self.builder.store(self.builder.fadd(self.builder.load(total), part), total)

        self.each_vector(add)
        return _add_lanes(self.builder, self.builder.load(total))

    def weigh(self, vectors: _Vectors, start: Any, doc: Any, following: str = "") -> Any:
        """Store and return the weights; ``following`` is the prefix of the pair's names."""
        builder, args = self.builder, self.args
        q, word, prior, base = (
            vectors.load(args[name], start)
            for name in (f"{following}q_row", f"{following}word_row", "prior_row", "base_row")
        )
        word_prior = vectors.spread(args[f"{following}word_prior"])
        word_share = builder.fadd(builder.fsub(word, q), word_prior)
        word_share = vectors.at_least(word_share, word_prior)
        others = builder.fsub(doc, q)
        # The first maximum keeps a NaN of prior, the second one of others: neither keeps both.
        upper = builder.fmul(vectors.at_least(prior, others), word_share)
        lower = builder.fadd(vectors.at_least(others, prior), base)
        weights = builder.fdiv(upper, lower)
        vectors.store(weights, args["weights"], start)
        return weights

    def settle(self, vectors: _Vectors, start: Any) -> Any:
        """Store the changes of a settled pair; return the document's counts."""
        args = self.args
        q, weights, doc, word = (
            vectors.load(args[name], start) for name in ("q_row", "weights", "doc_row", "word_row")
        )
        scale, times = vectors.spread(args["scale"]), vectors.spread(self.times)
        new = self.builder.fmul(weights, scale)
        change = vectors.multiply_add(weights, scale, self.builder.fneg(q))
        doc = vectors.multiply_add(times, change, doc)
        word = vectors.multiply_add(times, change, word)
        if "grown" in args:
            grown = vectors.spread(args["grown"])
            doc = vectors.multiply_add(grown, q, doc)
            word = vectors.multiply_add(grown, q, word)
        vectors.store(new, args["q_row"], start)
        vectors.store(doc, args["doc_row"], start)
        vectors.store(word, args["word_row"], start)
        if "word_seen" in args:
            self.note_seen(vectors, start, self._at_least_once(vectors, new))
        return doc

    def note_seen(self, vectors: _Vectors, start: Any, once: Any) -> None:
        """Update both rows of indicators by the chances ``once``."""
        for name in ("doc_seen", "word_seen"):
            seen = vectors.load(self.args[name], start)
            vectors.store(vectors.towards_one(seen, once), self.args[name], start)

    def _at_least_once(self, vectors: _Vectors, share: Any) -> Any:
        """Return the share of at least one token; most pairs have one token and skip the loop."""
        builder, count = self.builder, self.args["count"]
        result = cgutils.alloca_once_value(builder, share)
        with builder.if_then(builder.icmp_signed(">", count, _int64(1)), likely=False):
            builder.store(vectors.constant(0.0), result)
            left = cgutils.alloca_once_value(builder, count)
            power = cgutils.alloca_once_value(builder, share)
            again = builder.append_basic_block("square")
            done = builder.append_basic_block("squared")
            builder.branch(again)
            builder.position_at_end(again)
            bits, base, seen = (builder.load(slot) for slot in (left, power, result))
            odd = builder.trunc(bits, ir.IntType(1))
            builder.store(builder.select(odd, vectors.towards_one(seen, base), seen), result)
            builder.store(vectors.towards_one(base, base), power)
            bits = builder.lshr(bits, _int64(1))
            builder.store(bits, left)
            builder.cbranch(builder.icmp_unsigned("!=", bits, _int64(0)), again, done)
            builder.position_at_end(done)
        return builder.load(result)


def _emit_weigh(pair: _Pair) -> Any:
    def emit(vectors: _Vectors, start: Any) -> Any:
        return pair.weigh(vectors, start, vectors.load(pair.args["doc_row"], start))

    return pair.sum_over(emit)


def _emit_weigh_shares(pair: _Pair) -> Any:
    def emit(vectors: _Vectors, start: Any) -> Any:
        share, word = (vectors.load(pair.args[name], start) for name in ("share_row", "word_row"))
        word_prior = vectors.spread(pair.args["word_prior"])
        weights = pair.builder.fmul(share, pair.builder.fadd(word, word_prior))
        vectors.store(weights, pair.args["weights"], start)
        return weights

    return pair.sum_over(emit)


def _emit_settle(pair: _Pair) -> None:
    pair.each_vector(pair.settle)


def _emit_add_seen(pair: _Pair) -> None:
    def emit(vectors: _Vectors, start: Any) -> None:
        pair.note_seen(vectors, start, vectors.load(pair.args["once"], start))

    pair.each_vector(emit)


def _emit_settle_and_weigh(pair: _Pair) -> Any:
    def emit(vectors: _Vectors, start: Any) -> Any:
        return pair.weigh(vectors, start, pair.settle(vectors, start), "next_")

    return pair.sum_over(emit)


def vectorise(
    function: Callable[..., Any], emit: Callable[[_Pair], Any], *, returns_sum: bool
) -> None:
    """Let compiled code run the output of ``emit`` where it calls ``function``."""
    names = tuple(inspect.signature(function).parameters)

    def type_call(context: Any) -> Any:
        @wraps(function)
        def typer(*kinds: Any) -> Any:
            dtype = _dtype_of_rows(kinds)
            scalars = {"count": types.intp, "scale": dtype, "tables": dtype, "grown": dtype}
            scalars |= {"word_prior": dtype, "next_word_prior": dtype}
            exact = [scalars.get(name, kind) for name, kind in zip(names, kinds, strict=False)]
            return signature(dtype if returns_sum else types.none, *exact)

        return typer

    def generate(context: Any, builder: Any, call: Any, values: Any) -> Any:
        args = {}
        for name, kind, value in zip(names, call.args, values, strict=False):
            if isinstance(kind, types.Array):
                args[name] = context.make_array(kind)(context, builder, value).data
            elif kind is not types.none:
                args[name] = value
        row = context.make_array(call.args[0])(context, builder, values[0])
        (length,) = cgutils.unpack_tuple(builder, row.shape)
        element = context.get_value_type(call.args[0].dtype)
        result = emit(_Pair(builder, args, element, length))
        return result if returns_sum else context.get_dummy_value()

    type_callable(function)(type_call)
    lower_builtin(function, types.VarArg(types.Any))(generate)


def _dtype_of_rows(kinds: tuple[Any, ...]) -> Any:
    rows = [kind for kind in kinds if isinstance(kind, types.Array)]
    dtypes = {kind.dtype for kind in rows}
    contiguous = all(kind.ndim == 1 and kind.layout == "C" for kind in rows)
    if not contiguous or len(dtypes) != 1 or not dtypes <= {types.float32, types.float64}:
        raise TypingError("rows must be C-contiguous and all float32 or all float64")
    return dtypes.pop()


def _type_prefetch_row(context: Any) -> Any:
    def typer(table: Any, row: Any) -> Any:
        if not (isinstance(table, types.Array) and table.ndim == 2 and table.layout == "C"):
            raise TypingError("a table to prefetch from must be 2-D and C-contiguous")
        return signature(types.none, table, types.intp)

    return typer


def _emit_prefetch_row(context: Any, builder: Any, call: Any, values: Any) -> Any:
    table = context.make_array(call.args[0])(context, builder, values[0])
    row_bytes, _ = cgutils.unpack_tuple(builder, table.strides)
    pointer = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [pointer, *[ir.IntType(32)] * 3])
    prefetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
    table_start = builder.bitcast(table.data, pointer)
    row_start = builder.gep(table_start, [builder.mul(values[1], row_bytes)])
    rounded = builder.add(row_bytes, _int64(LINE_BYTES - 1))
    lines = builder.udiv(rounded, _int64(LINE_BYTES))
    to_read, keep, data = _int32(0), _int32(3), _int32(1)
    with cgutils.for_range(builder, lines) as loop:
        line = builder.gep(row_start, [builder.mul(loop.index, _int64(LINE_BYTES))])
        builder.call(prefetch, [line, to_read, keep, data])
    return context.get_dummy_value()


vectorise(weigh, _emit_weigh, returns_sum=True)
vectorise(weigh_shares, _emit_weigh_shares, returns_sum=True)
vectorise(settle, _emit_settle, returns_sum=False)
vectorise(settle_and_weigh, _emit_settle_and_weigh, returns_sum=True)
vectorise(settle_tables, _emit_settle, returns_sum=False)
vectorise(add_seen, _emit_add_seen, returns_sum=False)
vectorise(settle_tables_and_weigh, _emit_settle_and_weigh, returns_sum=True)
type_callable(prefetch_row)(_type_prefetch_row)
lower_builtin(prefetch_row, types.Array, types.Integer)(_emit_prefetch_row)
