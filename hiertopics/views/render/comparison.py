"""The rows of ``compare``: as a table for people, and as CSV with every score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hiertopics.files import to_csv
from hiertopics.views.render.table import to_table

Row = Mapping[str, Any]

MIB = 2**20
SHOWN_DEPTHS = 3
TEXT = ("backend", "run")


def to_comparison_table(rows: Sequence[Row]) -> str:
    """Return one line per run under the columns that some run has.

    The name of the run stands at the end where two of them have the same backend.
    """
    cells = [_cells(row) for row in rows]
    columns = [name for name in cells[0] if any(row[name] is not None for row in cells)]
    if len({row["backend"] for row in rows}) == len(rows):
        columns.remove("run")
    return to_table(cells, columns, right=[name for name in columns if name not in TEXT])


def to_comparison_csv(rows: Sequence[Row]) -> str:
    """Return a header and one line per run; the parts of a list are separated by blanks."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return to_csv([columns, *([_flat(row.get(name, "")) for name in columns] for row in rows)])


def _cells(row: Row) -> dict[str, Any]:
    """Return what the table shows of a row, by the column's head."""
    per_row = row.get("log_likelihood_per_row")
    # A small error of the log likelihood is the same share of the perplexity.
    perplexity = _measured(row["perplexity"], row["perplexity"], row["standard_error"], 1)
    return {
        "backend": row["backend"],
        "perplexity": perplexity,
        "per_row": _measured(per_row, 1, row["standard_error"], 2),
        "behind": _measured(row["behind"], 1, row["behind_error"], 3),
        "draws": row.get("draws"),
        "topics": row.get("n_topics"),
        "npmi": _rounded(row.get("coherence_npmi")),
        "diversity": _rounded(row.get("diversity")),
        "child_npmi": _rounded(row.get("parent_child_npmi")),
        "specialization": _by_depth(row.get("specialization")),
        "seconds": f"{row['seconds']:.1f}",
        "MiB": f"{row['peak_memory_bytes'] / MIB:.0f}",
        "run": row["run"],
    }


def _measured(value: float | None, unit: float, error: float | None, digits: int) -> str | None:
    """Return a value with its error, which is given in ``unit``."""
    if value is None or error is None:
        return None
    return f"{value:.{digits}f} ± {unit * error:.{digits}f}"


def _rounded(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"


def _by_depth(values: Sequence[float] | None) -> str | None:
    """Return the values of the first depths, the root's first."""
    return None if values is None else "/".join(f"{value:.2f}" for value in values[:SHOWN_DEPTHS])


def _flat(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value
