"""Groups with their main topics: lines for people, and a CSV table."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def to_group_lines(rows: Sequence[Row], limit: int | None = None) -> str:
    """Return one line per record of ``hiertopics.data.groups.group_rows``.

    limit: most lines; the rest is counted in a last one.
    """
    shown = rows if limit is None else rows[:limit]
    width = max((len(row["group"]) for row in shown), default=0)
    lines = [f"{row['group']:<{width}} {row['n_docs']:5d} docs  {_tell(row)}" for row in shown]
    if len(shown) < len(rows):
        lines.append(f"... and {len(rows) - len(shown)} more")
    return "".join(f"{line}\n" for line in lines)


def to_group_csv(rows: Sequence[Row]) -> str:
    """Return a header and one line per pair of a group and one of its main topics."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("group", "n_docs", "topic", "weight", "words"))
    for row in rows:
        for topic in row["topics"]:
            words = " ".join(topic["words"])
            writer.writerow((row["group"], row["n_docs"], topic["id"], topic["weight"], words))
    return table.getvalue()


def _tell(row: Row) -> str:
    topics = (
        f"[{topic['id']}] {topic['weight']:.1%} {' '.join(topic['words'])}"
        for topic in row["topics"]
    )
    text = " | ".join(topics)
    if "similar" in row:
        near = ", ".join(f"{name} {affinity:.2f}" for name, affinity in row["similar"])
        text += f"\n    similar: {near}"
    return text
