"""Shares of topics by a column of documents as a chart: a specification of Vega-Lite.

It holds its data and loads nothing; any program that draws Vega-Lite shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hiertopics.corpus.data.columns import axis_of
from hiertopics.views.render import FEW_DOCUMENTS
from hiertopics.views.shares import drawn_values

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
PANELS = 4
"""Topics that stand beside each other."""

WIDTH, HEIGHT = 220, 130
"""Size of a topic's panel, in pixels."""


def to_vega_lite(rows: Sequence[Mapping[str, Any]], column: str) -> dict[str, Any]:
    """Return a chart with a panel for each topic, in the order of ``rows``.

    rows: records of ``bycolumn.by_column``. Where all values of the column are numbers the share is
    a line in a band of its interval; else a point for each value, in the order of the records.
    Months without documents keep their place, as years do. Of time the drawn values are there
    (``columns.drawn_part``).
    """
    drawn = drawn_values(rows)
    shown = set(drawn.of(list(dict.fromkeys(str(row["value"]) for row in rows))))
    rows = [row for row in rows if str(row["value"]) in shown]
    numbers = [_number(str(row["value"])) for row in rows]
    in_order = bool(rows) and None not in numbers
    values = [
        {
            "topic": _title(row),
            "value": number if in_order else row["value"],
            **{name: row[name] for name in ("share", "low", "high", "n_docs", "of")},
        }
        for row, number in zip(rows, numbers, strict=True)
    ]
    pale = PALE_TITLE if any(row["of"] < FEW_DOCUMENTS for row in rows) else ""
    subtitle = [text for text in (pale, f"{drawn.told}." if drawn.told else "") if text]
    topics = list(dict.fromkeys(value["topic"] for value in values))
    return {
        "$schema": SCHEMA,
        **({"title": {"text": "", "subtitle": " ".join(subtitle)}} if subtitle else {}),
        "data": {"values": values},
        "facet": {"field": "topic", "type": "nominal", "title": None, "sort": topics},
        "columns": PANELS,
        "spec": {
            "width": WIDTH,
            "height": HEIGHT,
            "encoding": {"x": _places(column, values, in_order)},
            "layer": _lines() if in_order else _points(),
        },
        "resolve": {"scale": {"y": "independent"}},
    }


def _title(row: Mapping[str, Any]) -> str:
    return f"[{row['id']}] {row.get('name') or row['auto_name']}".rstrip()


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _places(column: str, values: Sequence[Mapping[str, Any]], in_order: bool) -> dict[str, Any]:
    if not in_order:
        places = axis_of(list(dict.fromkeys(value["value"] for value in values)))
        told = {"field": "value", "type": "nominal", "title": column}
        return told | {"sort": places, "scale": {"domain": places}}
    scale, axis = {"zero": False, "nice": False}, {"format": "d"}
    whole = all(float(value["value"]).is_integer() for value in values)
    place = {"field": "value", "type": "quantitative", "title": column, "scale": scale}
    return place | ({"axis": axis} if whole else {})


SHARE = {"field": "share", "type": "quantitative", "title": "share", "axis": {"format": "%"}}
INTERVAL = {"y": SHARE | {"field": "low"}, "y2": {"field": "high"}}
TOLD = [
    {"field": "value", "type": "nominal"},
    *(
        {"field": name, "type": "quantitative", "format": ".2%"}
        for name in ("share", "low", "high")
    ),
    {"field": "n_docs", "type": "quantitative", "title": "documents at the topic"},
    {"field": "of", "type": "quantitative", "title": "documents of the value"},
]
"""Fields of the tooltip of a mark."""


POINT = {"type": "point", "filled": True}
PALE = {"condition": {"test": f"datum.of < {FEW_DOCUMENTS}", "value": 0.35}, "value": 1}
PALE_TITLE = f"Pale marks rest on fewer than {FEW_DOCUMENTS} documents."


def _lines() -> list[dict[str, Any]]:
    return [
        {"mark": {"type": "area", "opacity": 0.25}, "encoding": INTERVAL},
        {"mark": "line", "encoding": {"y": SHARE}},
        {"mark": POINT, "encoding": {"y": SHARE, "tooltip": TOLD, "opacity": PALE}},
    ]


def _points() -> list[dict[str, Any]]:
    return [
        {"mark": "rule", "encoding": INTERVAL | {"opacity": PALE}},
        {"mark": POINT, "encoding": {"y": SHARE, "tooltip": TOLD, "opacity": PALE}},
    ]
