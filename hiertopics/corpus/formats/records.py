"""Raw text as a stream of records: JSON, CSV, TSV, parquet, a text file, or a folder of them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hiertopics.base.errors import DataError
from hiertopics.corpus.data.corpus import Tags
from hiertopics.corpus.formats.counting import shown
from hiertopics.corpus.formats.hints import rows_or_hints
from hiertopics.corpus.formats.metadata import LONGEST, Metadata, parts_of
from hiertopics.corpus.formats.plaintexts import PLAIN, Record
from hiertopics.corpus.formats.sidefiles import encodes
from hiertopics.corpus.formats.source import Source, unpacked
from hiertopics.corpus.formats.tablerows import DEFAULT_TEXT_FIELD, TABLES, TableRow

MISSING = frozenset(("", "nan", "na", "n/a", "#n/a", "<na>", "null", "none"))
"""Texts that other programs write for no text, in small letters."""
NAMING = ("id", "_id", "doc_id", "docid", "document_id", "docno", "docname", "filename", "name")
"""Fields that hold documents' names where none is asked for, upper case alike, the first first."""


def records(source: Source) -> Iterator[Record]:
    """Yield the documents of a resolved source, in the order of the file or of the file names.

    Where other fields are kept and none of names is asked for, the first record tells which of
    ``NAMING`` has some. It is kept among ``others``, too, and need not be in every record.

    Raises DataError naming the line of a broken record; UsageError where fields are asked of a
    folder or numbers are mixed with names.
    """
    if source.format in PLAIN:
        yield from PLAIN[source.format](source)
        return
    named = {source.text_field or DEFAULT_TEXT_FIELD, *source.fields.values()}
    named_by: str | None = None
    for place, row in enumerate(rows_or_hints(source)):
        if place == 0 and source.metadata and source.id_field is None:
            named_by = _naming(row.values, named)
        name = None if named_by is None else _told_name(row.values.get(named_by))
        text = _text(source, row, source.text_field or DEFAULT_TEXT_FIELD)
        yield Record(
            text or "",
            name if source.id_field is None else _name(source, row, source.id_field),
            None if source.group_field is None else _names(source, row, source.group_field),
            None if source.label_field is None else _names(source, row, source.label_field),
            {field: value for field, value in row.values.items() if field not in named}
            if source.metadata
            else MappingProxyType({}),
            named_by,
            text is None,
        )


def _naming(values: Mapping[str, Any], taken: Collection[str]) -> str | None:
    """Return the field of a first record that names its document, None where there is none."""
    small = {field.lower(): field for field in [*values][::-1] if field not in taken}
    found = (small[name] for name in NAMING if name in small)
    return next((field for field in found if _told_name(values[field])), None)


def _told_name(value: Any) -> str:
    """Return a value as the name of a document; empty where it is none."""
    name = value.strip() if isinstance(value, str) else json.dumps(value)
    return "" if value is None or isinstance(value, dict | list) or not encodes(name) else name


def _text(source: Source, row: TableRow, field: str) -> str | None:
    """Return the text of a record; None where other programs write that there is none."""
    value = row.values[field]
    if is_missing(value):
        return None
    return _string(source, row, field)


def is_missing(value: Any) -> bool:
    """Tell whether a value stands for no text: None, NaN, or one of ``MISSING``."""
    if isinstance(value, str):
        return len(value) < 8 and value.strip().lower() in MISSING
    return value is None or (isinstance(value, float) and value != value)


def _string(source: Source, row: TableRow, field: str) -> str:
    value = row.values[field]
    if value is None or isinstance(value, (dict, list)):
        what = f"expected a string in field {field!r}, got {shown(json.dumps(value))}"
        raise DataError(source.path, what, row.line)
    return value if isinstance(value, str) else json.dumps(value)


def _name(source: Source, row: TableRow, field: str) -> str:
    name = _string(source, row, field).strip()
    if not encodes(name):
        what = f"field {field!r} holds half a surrogate pair, which is no character"
        raise DataError(source.path, what, row.line)
    return name


def _names(source: Source, row: TableRow, field: str) -> list[str]:
    """Return the groups or labels of a row: a JSON list, or cells separated by ``;``."""
    value = row.values[field]
    if value is None:
        return []
    if isinstance(value, str) and source.format != "jsonl":
        values = value.split(";")
    else:
        values = value if isinstance(value, list) else [value]
    names = [_name(source, TableRow(row.line, {field: entry}), field) for entry in values]
    return [name for name in names if name]


def column_of(
    path: Path,
    name: str,
    form: str,
    *,
    delimiter: str | None = None,
    quoting: str = "double",
    encoding: str | None = None,
    mark: str | None = None,
) -> Tags:
    """Return a column of a table in a form of ``TABLES``, a row for each record.

    delimiter, quoting, encoding: see ``Source``. mark: what stands between the values of a cell;
    None: a cell is one value. Raises DataError naming the line of a broken row;
    where there is no such column, or it holds texts.
    """
    table = Metadata()
    source = Source(
        path, form, text_field=name, delimiter=delimiter, quoting=quoting, encoding=encoding
    )
    for row in rows_or_hints(source):
        value = row.values[name]
        is_parted = mark is not None and isinstance(value, str)
        table.add({name: parts_of(value, str(mark)) if is_parted else value})
    found = table.tags()
    if name not in found:
        raise DataError(path, f"field {name!r} holds no values of at most {LONGEST} letters")
    return found[name]


def table_form(path: Path) -> str | None:
    """Return in which form of ``TABLES`` a file is, by its name; None: in none."""
    plain = unpacked(path.name).lower()
    return next((form for form in TABLES if plain.endswith(f".{form}")), None)
