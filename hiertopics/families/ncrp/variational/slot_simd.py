"""The inner loop of weighing slots in trees of three levels, written with explicit vectors.

Numba would guard the loop over eight rows with checks for overlap and leave its end to narrower
code; see ``hiertopics.numeric.simd``.
"""

from __future__ import annotations

from typing import Any

from hiertopics.numeric.simd import Row, vectorise


def multiply_four(
    prod: Row,
    upper_a: Row,
    lower_a: Row,
    upper_b: Row,
    lower_b: Row,
    upper_c: Row,
    lower_c: Row,
    upper_d: Row,
    lower_d: Row,
    root_a: float,
    root_b: float,
    root_c: float,
    root_d: float,
    share_upper: float,
    share_lower: float,
) -> None:
    """Multiply ``prod`` [n_nodes] by the chances of four words a, b, c and d, in place.

    A word's chance in a slot is root + share_upper * upper + share_lower * lower. Rows and
    numbers are of one dtype.
    """
    a = root_a + share_upper * upper_a + share_lower * lower_a
    b = root_b + share_upper * upper_b + share_lower * lower_b
    c = root_c + share_upper * upper_c + share_lower * lower_c
    d = root_d + share_upper * upper_d + share_lower * lower_d
    prod *= (a * b) * (c * d)


def _emit_multiply_four(rows: Any) -> None:
    builder, args = rows.builder, rows.args

    def chance(vectors: Any, start: Any, word: str) -> Any:
        share, row = vectors.spread(args["share_upper"]), vectors.load(args[f"upper_{word}"], start)
        above = vectors.multiply_add(share, row, vectors.spread(args[f"root_{word}"]))
        share, row = vectors.spread(args["share_lower"]), vectors.load(args[f"lower_{word}"], start)
        return vectors.multiply_add(share, row, above)

    def multiply(vectors: Any, start: Any) -> None:
        a, b, c, d = (chance(vectors, start, word) for word in "abcd")
        factor = builder.fmul(builder.fmul(a, b), builder.fmul(c, d))
        prod = vectors.load(args["prod"], start)
        vectors.store(builder.fmul(prod, factor), args["prod"], start)

    rows.each_vector(multiply)


vectorise(multiply_four, _emit_multiply_four, returns_sum=False)
