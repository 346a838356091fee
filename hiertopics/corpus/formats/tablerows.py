"""Rows of tables of raw text: JSON, CSV, TSV and parquet.

A row maps fields to values. A table without header has its column numbers for fields, so that
one rule finds a field everywhere. TSV knows no quotes: a stray one in a title must not swallow
the lines after it.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.formats import parquet
from hiertopics.corpus.formats.counting import listed, shown, whole_number
from hiertopics.corpus.formats.opening import BinaryFileError, EncodingError, text_rows
from hiertopics.corpus.formats.source import Source

JSON = (str, int, float, list, dict, type(None))
LONGEST_FIELD = 2**31 - 1
DEFAULT_TEXT_FIELD = "text"
TABLES = ("jsonl", "json", "csv", "tsv", "parquet")
"""Forms whose columns have names."""


class TableRow(NamedTuple):
    """The values of a row by field, and its line, from 1 (of parquet the row)."""

    line: int
    values: Mapping[str, Any]


class LackingFieldError(DataError):
    """A row or a header lacks a field that is asked for. values: those there, of a header None."""

    def __init__(
        self,
        source: Source,
        field: str,
        values: Mapping[str, Any],
        line: int | None,
        first: Sequence[str] = (),
    ) -> None:
        """``first``: the cells of the first line, where fields are numbers of columns."""
        near = get_close_matches(field, list(values), n=1)
        meant = f"; did you mean {near[0]!r}?" if near and not first else ""
        if first:
            meant = f"; the first line holds {listed(first)}"
        what = f"no field {field!r}; there are {listed(list(values)) or 'none'}{meant}"
        super().__init__(source.path, what, line)
        self.field, self.values = field, values


class FirstLineError(DataError):
    """The first line of a table cannot be read.

    ``broken``: its quotes and commas do not fit. ``coded``: it has another encoding.
    """

    def __init__(self, error: DataError) -> None:
        super().__init__(error.path, error.what, 1)
        self.broken = isinstance(error.__cause__, csv.Error)
        self.coded = isinstance(error, EncodingError)


class SpoiltRowError(DataError):
    """The quotes of a row of a CSV table do not fit, or the number of its columns."""


Require = Callable[[Source, Mapping[str, Any], "int | None"], None]


def table_rows(source: Source, *, whole: bool = True) -> Iterator[TableRow]:
    """Yield the rows of a table, in a form of ``TABLES``.

    Raises DataError naming the line of a broken row: LackingFieldError if it, or the header, lacks
    a field of the source, unless ``whole`` is false; FirstLineError. Raises UsageError if numbers
    of columns are mixed with names.
    """
    return _READERS[str(source.format)](source, _require if whole else _accept)


def _accept(source: Source, values: Mapping[str, Any], line: int | None) -> None:
    """Accept a row or a header without any field."""


def _wanted(source: Source) -> list[str]:
    """Return every field that must be there."""
    text = {"text_field": source.text_field or DEFAULT_TEXT_FIELD}
    return list((text | source.fields | text).values())


def _require(source: Source, values: Mapping[str, Any], line: int | None) -> None:
    """Refuse a row, or a header, that lacks a field. values: by field; of a header None."""
    for field in _wanted(source):
        if field not in values:
            raise LackingFieldError(source, field, values, line)


_BARE = """; write each text as {"text": "..."}, or as a line of a file for --lines"""


def _json_rows(source: Source, require: Require) -> Iterator[TableRow]:
    for number, line in enumerate(text_rows(source), 1):
        try:
            values = json.loads(line, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            raise DataError(source.path, f"not JSON ({_flaw(error)})", number) from error
        if not isinstance(values, dict):
            what = f"expected one JSON object per line, got {shown(line)}"
            hint = "; --from json reads an array" if line.lstrip().startswith("[") else _BARE
            hint = hint if isinstance(values, str | list) else ""
            raise DataError(source.path, what + hint, number)
        require(source, values, number)
        yield TableRow(number, values)


def _array_rows(source: Source, require: Require) -> Iterator[TableRow]:
    """Yield the objects of an array of JSON, or of a file of objects one after the other."""
    text = "\n".join(text_rows(source))
    decode = json.JSONDecoder(object_pairs_hook=_object).raw_decode
    place = _after_blanks(text, 0)
    inside = text.startswith("[", place)
    place = _after_blanks(text, place + inside)
    number, counted = 1, 0
    while place < len(text) and not (inside and text[place] == "]"):
        number, counted = number + text.count("\n", counted, place), place
        try:
            values, end = decode(text, place)
        except (ValueError, RecursionError) as error:
            line = error.lineno if isinstance(error, json.JSONDecodeError) else number
            raise DataError(source.path, f"not JSON ({_flaw(error)})", line) from error
        if not isinstance(values, dict):
            what = f"expected JSON objects, got {shown(text[place : place + 100])}"
            raise DataError(source.path, what + _BARE * isinstance(values, str), number)
        require(source, values, number)
        yield TableRow(number, values)
        place = _after_blanks(text, end)
        if inside and place < len(text) and text[place] != "]":
            number, counted = number + text.count("\n", counted, place), place
            if text[place] != ",":
                raise DataError(source.path, "not JSON (expected a comma or ])", number)
            place = _after_blanks(text, place + 1)
    number += text.count("\n", counted, place)
    if inside and place == len(text):
        raise DataError(source.path, "the array of JSON is cut short: ] is lacking", number)
    if inside and _after_blanks(text, place + 1) < len(text):
        raise DataError(source.path, "something stands after the array of JSON", number)


BLANKS = re.compile(r"[ \t\n\r]*")


def _after_blanks(text: str, place: int) -> int:
    """Return where the blanks from a place on end."""
    found = BLANKS.match(text, place)
    return place if found is None else found.end()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; raises ValueError for one that has a field twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        times = Counter(name for name, _ in pairs)
        twice = next(name for name in times if times[name] > 1)
        raise _RepeatedError(f"the field {shown(twice)} stands there twice")
    return found


class _RepeatedError(ValueError):
    """An object has a field twice."""


def _flaw(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    if isinstance(error, _RepeatedError):
        return str(error)
    return "nested too deeply" if isinstance(error, RecursionError) else "a number is too long"


def _parquet_rows(source: Source, require: Require) -> Iterator[TableRow]:
    names, rows = parquet.rows_of(source.path)
    _check_header(source, names, None, require)
    for number, values in enumerate(rows, 1):
        yield TableRow(number, {name: _plain(value) for name, value in values.items()})


def _plain(value: Any) -> Any:
    """Return a value of a table as JSON has it; dates and the like become texts."""
    return value if isinstance(value, JSON) else str(value)


def _line_rows(source: Source, require: Require) -> Iterator[TableRow]:
    return rows_of_lines(source, table_lines(source), require)


def rows_of_lines(
    source: Source, lines: Iterable[tuple[int, list[str]]], require: Require = _accept
) -> Iterator[TableRow]:
    """Yield the rows of a CSV or TSV table from ``table_lines``; raises as ``table_rows`` does."""
    numbered = [whole_number(field) is not None for field in source.fields.values()]
    if any(numbered) and not all(numbered):
        raise UsageError("fields are either all numbers (no header) or all names (a header)")
    header: list[str] = []
    for number, cells in lines:
        if not header:
            header = [str(column) for column in range(len(cells))] if any(numbered) else cells
            try:
                _check_header(source, header, number, require)
            except LackingFieldError as error:
                if not any(numbered):
                    raise
                lacking = error.field, error.values, number, cells
                raise LackingFieldError(source, *lacking) from error
            if not any(numbered):
                continue
        if len(cells) != len(header):
            what = f"expected {len(header)} columns as on the first line, got {len(cells)}"
            raise SpoiltRowError(source.path, what, number)
        yield TableRow(number, dict(zip(header, cells, strict=True)))


_READERS = {
    "jsonl": _json_rows,
    "json": _array_rows,
    "csv": _line_rows,
    "tsv": _line_rows,
    "parquet": _parquet_rows,
}


def _check_header(source: Source, header: list[str], line: int | None, require: Require) -> None:
    """Refuse a header that lacks a field, or has one twice; a column without name is passed over.

    Repeated names of columns that nobody reads do no harm.
    """
    require(source, dict.fromkeys(header), line)
    read = {*_wanted(source), *(filter(None, header) if source.metadata else ())}
    for field, times in Counter(header).items():
        if times > 1 and field in read:
            hint = "; call them otherwise"
            if field not in _wanted(source):
                hint += ", or leave out what nobody asks for by data.metadata=false"
            raise DataError(source.path, f"several columns are called {field!r}{hint}", line)


def table_lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the line, from 1, and the cells of each row of a CSV or TSV table, the header too.

    Raises DataError naming a broken line; FirstLineError.
    """
    quoted = source.format == "csv" and source.quoting == "double"
    table = _csv_lines(source) if quoted else _unquoted_lines(source)
    try:
        first = next(table, None)
    except BinaryFileError:
        raise
    except DataError as error:
        raise FirstLineError(error) from error
    if first is not None:
        yield first
        yield from table


def _csv_lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    rows = (row + "\n" for row in text_rows(source))
    reader = csv.reader(rows, delimiter=_mark(source), strict=True)
    default = csv.field_size_limit(LONGEST_FIELD)
    first = 1
    try:
        for cells in reader:
            yield first, cells or [""]
            first = reader.line_num + 1
    except csv.Error as error:
        what = str(error).partition(" - ")[0]  # what follows is advice to programmers
        raise SpoiltRowError(source.path, f"broken CSV ({what})", first) from error
    finally:
        csv.field_size_limit(default)


def _unquoted_lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    mark = _mark(source)
    for number, line in enumerate(text_rows(source), 1):
        yield number, line.split(mark)


def _mark(source: Source) -> str:
    """Return the character between the columns of a CSV or TSV table."""
    is_tab = source.format == "tsv" or source.delimiter == "tab"
    return "\t" if is_tab else source.delimiter or ","
