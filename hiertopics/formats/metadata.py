"""What else a record says of its document: years, authors, kinds, as columns of marks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hiertopics.data.corpus import Tags
from hiertopics.errors import DataError
from hiertopics.formats.records import values_of
from hiertopics.formats.sidefiles import TagTable, encodes
from hiertopics.formats.source import Source, unpacked

LONGEST = 200
"""Letters of a value; a field with a longer one, or a nested one, is text and no metadata."""

TABLES = ("jsonl", "csv", "tsv", "parquet")
"""Forms whose columns have names."""


class Metadata:
    """Columns that grow one document at a time."""

    def __init__(self) -> None:
        self._columns: dict[str, TagTable | None] = {}
        self._n_docs = 0

    def add(self, values: Mapping[str, Any]) -> None:
        """Add a document; a field that earlier ones lacked is empty for them."""
        for field, value in values.items():
            if field not in self._columns:
                self._columns[field] = self._empty()
            column, told = self._columns[field], _told(value)
            if column is None or told is None or not encodes(field):
                self._columns[field] = None
            else:
                column.add(told)
        for field, column in self._columns.items():
            if column is not None and field not in values:
                column.add(())
        self._n_docs += 1

    def _empty(self) -> TagTable:
        column = TagTable()
        for _ in range(self._n_docs):
            column.add(())
        return column

    def tags(self) -> dict[str, Tags]:
        """Return the columns that hold values and nothing else, by field."""
        found = {name: column for name, column in self._columns.items() if column is not None}
        return {name: column.tags() for name, column in found.items() if column.columns}


def _told(value: Any) -> list[str] | None:
    """Return a field's values as texts; None where they are no metadata."""
    values = value if isinstance(value, list) else [value]
    told = []
    for one in values:
        if isinstance(one, dict | list):
            return None
        text = one.strip() if isinstance(one, str) else "" if one is None else json.dumps(one)
        if len(text) > LONGEST or not encodes(text):
            return None
        if text:
            told.append(" ".join(text.split()))
    return told


def column_of(path: Path, name: str, form: str) -> Tags:
    """Return a column of a table in a form of ``TABLES``, a row for each record.

    Raises DataError where there is no such column, or it holds texts.
    """
    table = Metadata()
    for value in values_of(Source(path, form, text_field=name), name):
        table.add({name: value})
    found = table.tags()
    if name not in found:
        raise DataError(path, f"field {name!r} holds no values of at most {LONGEST} letters")
    return found[name]


def table_form(path: Path) -> str | None:
    """Return in which form of ``TABLES`` a file is, by its name; None: in none."""
    plain = unpacked(path.name).lower()
    return next((form for form in TABLES if plain.endswith(f".{form}")), None)
