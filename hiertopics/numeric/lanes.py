"""Vectors of sixteen lanes in compiled code: load, spread, add up, and call their intrinsics.

An emitter writes instructions by llvmlite's builder. ``declare`` lets kernels call a plain Python
function and get what the emitter writes; Python itself runs the function, which says the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing import signature
from numba.extending import lower_builtin, type_callable

LANES = 16
"""Rows of topics must have a multiple of this length, filled up with shares of 0."""


def padded(n_topics: int) -> int:
    """Return the length of a row for ``n_topics`` topics."""
    return -(-n_topics // LANES) * LANES


INT16, INT32, INT64 = (ir.IntType(bits) for bits in (16, 32, 64))
FLOAT = ir.FloatType()
FLOATS = ir.VectorType(FLOAT, LANES)
INTS = ir.VectorType(INT32, LANES)
FLOATS_ROW = types.Array(types.float32, 1, "C")
UNSIGNED_ROW = None
"""The kind of a row of unsigned numbers, of any width."""


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


def running_sums(builder: Any, vector: Any) -> Any:
    """Return the running sums over a vector's lanes, by doubling."""
    zero = ir.Constant(FLOATS, [0.0] * LANES)
    step = 1
    while step < LANES:
        order = [LANES] * step + list(range(LANES - step))
        moved = builder.shuffle_vector(vector, zero, ir.Constant(INTS, order))
        vector, step = builder.fadd(vector, moved), 2 * step
    return vector


def declare(
    function: Callable[..., Any],
    emit: Callable[[Any, dict[str, Any], dict[str, Any]], Any],
    kinds: dict[str, Any],
    returned: Any,
) -> None:
    """Let compiled code run the output of ``emit`` where it calls ``function``.

    kinds: of each argument by position, numba's type, or ``UNSIGNED_ROW``. ``emit`` gets the
    builder, pointers and numbers by the names of ``kinds``, and the lengths of rows by name; the
    compiler refuses rows that are of another dtype or not contiguous.
    """

    def type_call(context: Any) -> Any:
        @wraps(function)
        def typer(*given: Any) -> Any:
            exact = [_exact(*pair) for pair in zip(given, kinds.values(), strict=True)]
            return signature(returned, *exact)

        return typer

    def generate(context: Any, builder: Any, call: Any, values: Any) -> Any:
        args, lengths = {}, {}
        for name, kind, value in zip(kinds, call.args, values, strict=True):
            args[name] = value
            if isinstance(kind, types.Array):
                row = context.make_array(kind)(context, builder, value)
                args[name] = row.data
                (lengths[name],) = cgutils.unpack_tuple(builder, row.shape)
        result = emit(builder, args, lengths)
        return context.get_dummy_value() if result is None else result

    type_callable(function)(type_call)
    lower_builtin(function, types.VarArg(types.Any))(generate)


def _exact(given: Any, wanted: Any) -> Any:
    """Return the type that an argument is passed as; refuse rows that no conversion makes it."""
    if wanted is not UNSIGNED_ROW and not isinstance(wanted, types.Array):
        return wanted
    if wanted is UNSIGNED_ROW:
        numbers = "unsigned numbers"
        right = isinstance(given, types.Array) and not getattr(given.dtype, "signed", True)
    else:
        numbers = str(wanted.dtype)
        right = isinstance(given, types.Array) and given.dtype == wanted.dtype
    if not right or (given.ndim, given.layout) != (1, "C"):
        raise TypingError(f"a contiguous row of {numbers} is wanted, got {given}")
    return given
