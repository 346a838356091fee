"""Hints for messages about a table that cannot be read: the settings that would read it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from hiertopics.base.errors import DataError
from hiertopics.corpus.formats.guesses import (
    DELIMITERS,
    has_loose_quotes,
    other_delimiter,
    sample,
)
from hiertopics.corpus.formats.opening import ANY, BINARY, BinaryFileError, text_rows
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.tablerows import (
    DEFAULT_TEXT_FIELD,
    FirstLineError,
    LackingFieldError,
    SpoiltRowError,
    TableRow,
    table_rows,
)

PEEKED = 10_000
"""Once a table has another fault, so many lines are searched for bytes that are not UTF-8."""
PLAIN_NAME = re.compile(r"[\w.:-]{1,40}")
"""A field that a message can name for a shell."""


def rows_or_hints(source: Source) -> Iterator[TableRow]:
    """Yield the rows of a table as ``table_rows`` does; errors name the remedy.

    One error names all faults of the header. Raises DataError.
    """
    try:
        yield from table_rows(source)
    except LackingFieldError as error:
        hint = _field_hint(source, error.field, error.values) + _encoding_hint(source, error.line)
        raise DataError(source.path, error.what + hint, error.line) from error
    except FirstLineError as error:
        hint = _broken_hint(source) or _quotes_hint(source) if error.broken else ""
        hint += _header_hint(source) if error.coded else ""
        raise DataError(source.path, error.what + hint, error.line) from error
    except SpoiltRowError as error:
        raise DataError(source.path, error.what + _quotes_hint(source), error.line) from error


def _quotes_hint(source: Source) -> str:
    """Return what to do about a table that can be read if its quotes are characters like others."""
    if not has_loose_quotes(source):
        return ""
    return "; its quotes seem to belong to the texts: -s data.quoting=none"


def _field_hint(source: Source, field: str, values: Mapping[str, Any]) -> str:
    """Return what to do about a field that is lacking."""
    first = next(iter(values), "")
    mark = other_delimiter(source, first) if len(values) == 1 else None
    if mark is None:
        return _text_field_hint(source, field, values)
    columns = dict.fromkeys(first.split(mark))
    hint, divided = _delimiter_hint(mark), _divided(source, mark)
    return hint if field in columns else hint + _text_field_hint(divided, field, columns)


def _text_field_hint(source: Source, field: str, values: Mapping[str, Any]) -> str:
    """Return which field of a record, or of a header, seems to hold the text."""
    if source.text_field is not None or field != DEFAULT_TEXT_FIELD or not values:
        return ""
    found = sample(source)
    found = found if found.rows else found._replace(rows=[values])
    guess = found.guess
    if found.lacks_header:
        column = "" if guess is None else f" --text-field {found.column(guess.field)}"
        return (
            "; the first line looks like a document, not like names of columns: take its number,"
            f" from 0, as{column or ' --text-field 0'}"
        )
    hint = "; name the one that holds the text"
    if guess is None or not PLAIN_NAME.fullmatch(guess.field):
        return hint
    return f"{hint}, as --text-field {guess.field}"


def _delimiter_hint(mark: str) -> str:
    called = DELIMITERS[mark]
    return f"; columns seem to be parted by {called}: -s data.delimiter={called}"


def _divided(source: Source, mark: str) -> Source:
    """Return a source with the delimiter ``mark``."""
    return replace(source, delimiter=DELIMITERS[mark].strip("'"))


def _encoding_hint(source: Source, line: int | None) -> str:
    """Return a hint that names the first line that is not UTF-8, and the setting for it."""
    if source.format not in ("csv", "tsv") or line != 1 or not source.path.is_file():
        return ""
    try:
        for _ in islice(text_rows(source), PEEKED):
            pass
    except BinaryFileError:
        return f"; it {BINARY}"
    except DataError as error:
        return f"; line {error.line} is {error.what}"
    return ""


def _broken_hint(source: Source) -> str:
    """Return what to do about a header that another delimiter may part, its columns in quotes."""
    row = next(text_rows(source), "") if source.path.is_file() else ""
    mark = other_delimiter(source, row)
    if mark is None:
        return ""
    columns = [name.strip('"') for name in row.split(mark)]
    hint = _delimiter_hint(mark)
    if DEFAULT_TEXT_FIELD not in columns:
        divided = _divided(source, mark)
        hint += _text_field_hint(divided, DEFAULT_TEXT_FIELD, dict.fromkeys(columns))
    return hint + _encoding_hint(source, 1)


def _header_hint(source: Source) -> str:
    """Return the further faults of a header that is not UTF-8, which ``ANY`` reads."""
    if source.encoding is not None or not source.path.is_file():
        return ""
    try:
        next(rows_or_hints(replace(source, encoding=ANY)), None)
    except DataError as error:
        return f"; {error.what}"
    return ""
