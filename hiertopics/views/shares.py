"""Tables for a terminal of shares of topics by metadata: lines over time, or differences.

Tables in files have all numbers of a record (``bycolumn.by_column``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from hiertopics.corpus.data.columns import Drawn, axis_of, drawn_part
from hiertopics.views.bycolumn import is_few
from hiertopics.views.remarks import BARS
from hiertopics.views.render.records import Grid, Row, to_table

LONGEST_NAME = 40
"""Letters of a topic's name in these tables."""

MOST_BARS = 40
"""Most bars of a line over time; with more years or months, neighbours share a bar."""

INTERVALS = ("95% interval", "difference in points", "its 95% interval")
"""Heads behind that of a share."""

MOST_VALUES, MOST_TOPICS = 15, 8
"""Values, and topics, of a table of both."""

LONGEST_HEAD = 10
"""Letters of a topic's name at the head of a column."""

FEW_BAR = "·"
"""The bar of values that have too few documents."""


class _Point(NamedTuple):
    value: str
    of: int
    share: float | None
    is_few: bool


def to_trend_table(rows: Sequence[Row]) -> Grid:
    """Return a line per topic: bars over the ascending values, and three shares.

    The shares are the first, the largest and the last one of values with enough documents.
    """
    lines, heads = [], ("over time", "first", "last")
    for _, group in groupby(rows, key=lambda row: row["id"]):
        own = list(group)
        drawn = drawn_values(own)
        points = [_Point(r["value"], r["of"], r["share"], is_few(r)) for r in own]
        points = points[drawn.first : drawn.end]
        told = [point for point in points if point.share is not None and not point.is_few]
        told = told or [point for point in points if point.share is not None]
        if not told:
            continue
        heads = (f"{points[0].value} to {points[-1].value}", told[0].value, told[-1].value)
        peak = max(told, key=lambda point: point.share or 0.0)
        lines.append(
            {
                "id": own[0]["id"],
                "topic": _name(own[0]),
                heads[0]: _bars(points, peak.share or 0.0),
                f"in {heads[1]}": _percent(told[0].share),
                "largest": f"{_percent(peak.share)} in {peak.value}",
                f"in {heads[2]} ": _percent(told[-1].share),
            }
        )
    # The blank at the end keeps the columns of the first and the last value apart if they are one.
    columns = ("id", "topic", heads[0], f"in {heads[1]}", "largest", f"in {heads[2]} ")
    return to_table(lines, columns, right=(columns[3], columns[5]))


def drawn_values(rows: Sequence[Row]) -> Drawn:
    """Return which values of a column of time are drawn, and what is said of the others.

    rows: by topic and value, all values of the first topic first.
    """
    n_docs = {str(row["value"]): int(row["of"]) for row in rows}
    return drawn_part(list(n_docs), list(n_docs.values()))


def _bars(points: Sequence[_Point], most: float) -> str:
    """Return a bar for each year or month, or for several neighbours, as high as the mean share.

    A blank stands where there are no documents.
    """
    axis = axis_of([point.value for point in points])
    by_value = {point.value: point for point in points}
    wide = -(-len(axis) // MOST_BARS)
    drawn = []
    for first in range(0, len(axis), wide):
        some = [by_value[value] for value in axis[first : first + wide] if value in by_value]
        known = [point for point in some if point.share is not None and not point.is_few]
        if not known:
            drawn.append(FEW_BAR if any(point.of for point in some) else " ")
            continue
        mean = sum(p.of * (p.share or 0.0) for p in known) / sum(p.of for p in known)
        drawn.append(BARS[min(int(mean / most * len(BARS)), len(BARS) - 1)] if most else BARS[0])
    return "".join(drawn)


def to_value_table(rows: Sequence[Row]) -> Grid:
    """Return a line for each of the commonest values: its documents, and the share of each topic.

    rows: by topic, then value. The topics are those with the largest shares, in their order.
    """
    n_docs = {str(row["value"]): int(row["of"]) for row in rows}
    values = sorted(n_docs, key=lambda value: -n_docs[value])[:MOST_VALUES]
    topics: dict[int, Row] = {int(row["id"]): row for row in rows}
    whole = dict.fromkeys(topics, 0.0)
    for row in rows:
        whole[int(row["id"])] += row["of"] * (row["share"] or 0.0)
    largest = sorted(topics, key=lambda node: -whole[node])[:MOST_TOPICS]
    heads = {node: _head(topics[node]) for node in topics if node in largest}
    lines = {value: {"value": value, "documents": f"{n_docs[value]}"} for value in values}
    for row in rows:
        if row["id"] in heads and row["value"] in lines:
            lines[row["value"]][heads[row["id"]]] = _percent(row["share"])
    columns = ("value", "documents", *heads.values())
    return to_table(list(lines.values()), columns, right=columns[1:])


def _head(row: Row) -> str:
    """Return the number of a topic and the first word of its name."""
    name = str(row.get("name") or row["auto_name"]).split(" ")[0]
    return (
        f"[{row['id']}] {name}"
        if len(name) <= LONGEST_HEAD
        else f"[{row['id']}] {name[: LONGEST_HEAD - 1]}…"
    )


def to_share_table(rows: Sequence[Row]) -> Grid:
    """Return a line per topic and value: percentages, differences in points, 95% intervals."""
    lines = [
        {
            "id": row["id"],
            "topic": _name(row),
            "value": row["value"],
            "documents": f"{row['n_docs']} of {row['of']}",
            "share": _percent(row["share"]),
            "95% interval": _between(row["low"], row["high"], ""),
            "difference in points": _points(row["difference"]),
            "its 95% interval": _between(row["difference_low"], row["difference_high"], "+"),
        }
        for row in rows
    ]
    columns = ("id", "topic", "value", "documents", "share", *INTERVALS)
    return to_table(lines, columns, right=columns[3:])


def by_difference(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows by their differences: those above other documents, then those below, by size.

    Rows of values with few documents come last, those without a difference at the very end.
    """

    def key(row: Row) -> tuple[bool, bool, bool, float]:
        found = row["difference"]
        return is_few(row), found is None, (found or 0.0) < 0, -abs(found or 0.0)

    return sorted(rows, key=key)


def _name(row: Row) -> str:
    name = str(row.get("name") or row["auto_name"])
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1].rstrip(' ·')}…"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _points(difference: float | None) -> str:
    return "-" if difference is None else f"{100 * difference:+.1f}"


def _between(low: float | None, high: float | None, sign: str) -> str:
    """Return an interval in percent, or with a sign in points."""
    if low is None or high is None:
        return "-"
    return f"{100 * low:{sign}.1f} to {100 * high:{sign}.1f}"
