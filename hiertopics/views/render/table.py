"""Records as aligned columns for people."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hiertopics.visible import visible


def to_table(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, right: Collection[str] = ()
) -> str:
    """Return a header and one line per record.

    Numbers stand on the right, and so does the text of the columns ``right``.
    """
    if not rows:
        return ""
    cells = [[_show(row.get(column)) for column in columns] for row in rows]
    on_right = [
        column in right or isinstance(rows[0].get(column), int | float) for column in columns
    ]
    widths = [
        max(len(column), *(len(line[place]) for line in cells))
        for place, column in enumerate(columns)
    ]
    return "".join(
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, on_right, strict=True)
        ).rstrip()
        + "\n"
        for line in [list(columns), *cells]
    )


def _show(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 10 else f"{value:.1f}"
    if isinstance(value, list):
        return "/".join(_show(item) for item in value)
    return visible(str(value))
