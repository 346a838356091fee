"""Groups with their main topics: lines for people, and a CSV table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hiertopics.files import to_csv
from hiertopics.visible import visible

Row = Mapping[str, Any]


def to_group_lines(rows: Sequence[Row], limit: int | None = None) -> str:
    """Return one line per record of ``hiertopics.data.groups.group_rows``.

    limit: most lines; the rest is counted in a last one.
    """
    shown = rows if limit is None else rows[:limit]
    names = [visible(row["group"]) for row in shown]
    width = max(map(len, names), default=0)
    lines = [
        f"{name:<{width}} {row['n_docs']:5d} docs  {_tell(row)}"
        for name, row in zip(names, shown, strict=True)
    ]
    if len(shown) < len(rows):
        lines.append(f"... and {len(rows) - len(shown)} more")
    return "".join(f"{line}\n" for line in lines)


def to_group_csv(rows: Sequence[Row]) -> str:
    """Return a header and one line per pair of a group and one of its main topics."""
    cells = [
        (row["group"], row["n_docs"], topic["id"], topic["weight"], " ".join(topic["words"]))
        for row in rows
        for topic in row["topics"]
    ]
    return to_csv([("group", "n_docs", "topic", "weight", "words"), *cells])


def _tell(row: Row) -> str:
    topics = (
        f"[{topic['id']}] {topic['weight']:.1%} {' '.join(topic['words'])}"
        for topic in row["topics"]
    )
    text = visible(" | ".join(topics))
    if "similar" in row:
        near = ", ".join(f"{name} {affinity:.2f}" for name, affinity in row["similar"])
        text += f"\n    similar: {visible(near)}"
    return text
