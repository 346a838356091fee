"""Overlap of the columns of two sparse matrices with the same rows."""

from __future__ import annotations

from hiertopics.base.arrays import F64, I64
from hiertopics.numeric.jit import kernel


@kernel()
def add_smaller(
    starts: I64,
    columns: I64,
    values: F64,
    order: I64,
    other_starts: I64,
    other_columns: I64,
    others: F64,
    found: F64,
) -> None:
    """Add the sums over rows of min(a, b) for each pair of columns to ``found``, float64 [n, m].

    Both matrices are CSR: where rows start, the column and the value of each entry. order: int64
    [n_rows], the row of the second matrix that stands beside each of the first.
    """
    for row in range(len(order)):
        other = order[row]
        for here in range(starts[row], starts[row + 1]):
            for there in range(other_starts[other], other_starts[other + 1]):
                value = min(values[here], others[there])
                found[columns[here], other_columns[there]] += value
