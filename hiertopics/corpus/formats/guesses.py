"""Guesses of settings that a raw text needs: its delimiter, its encoding, the field of its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hiertopics.base.errors import DataError
from hiertopics.corpus.formats.opening import (
    ANY,
    ENCODING,
    MIXED,
    BinaryFileError,
    rows,
    text_rows,
)
from hiertopics.corpus.formats.plaintexts import fault_of_bytes, texts_in
from hiertopics.corpus.formats.source import FOLDER, Source
from hiertopics.corpus.formats.tablerows import (
    DEFAULT_TEXT_FIELD,
    TABLES,
    rows_of_lines,
    table_lines,
    table_rows,
)
from hiertopics.corpus.formats.textfield import SAMPLED, Guess, guessed, has_header

T = TypeVar("T")

DELIMITERS = {";": "';'", "\t": "tab", "|": "'|'"}
"""Delimiters other than the comma, and the name of each as a value of ``data.delimiter``."""


class Sample(NamedTuple):
    """The first rows of a table, up to the first one that cannot be read; none of a pipe.

    lacks_header: the first line seems to be a row like the others.
    """

    rows: Sequence[Mapping[str, Any]]
    lacks_header: bool

    @property
    def guess(self) -> Guess | None:
        """The field that probably holds the text."""
        return guessed(self.rows)

    def column(self, field: str) -> str:
        """Return the number of a field's column, from 0, as a setting names it."""
        return str(list(self.rows[0]).index(field))


def sample(source: Source) -> Sample:
    """Return the first ``SAMPLED`` rows of a table, which is read once."""
    if not source.path.is_file():
        return Sample((), False)
    legible = replace(source, encoding=source.encoding or ANY, metadata=False)
    if source.format not in ("csv", "tsv"):
        found = table_rows(legible, whole=False)
        return Sample([row.values for row in _readable(found, SAMPLED)], False)
    lines = _readable(table_lines(legible), SAMPLED + 1)
    cells = [row for _, row in lines[:SAMPLED]]
    lacks_header = not source.fields and len(cells) > 1 and not has_header(cells[0], cells[1:])
    found = rows_of_lines(legible, lines)
    return Sample([row.values for row in _readable(found, SAMPLED)], lacks_header)


def _readable(found: Iterator[T], most: int) -> list[T]:
    """Return the first ``most`` of what a reader yields, up to the first one that it refuses."""
    read: list[T] = []
    with suppress(DataError):
        read.extend(islice(found, most))
    return read


def settings_found(source: Source) -> dict[str, Any]:
    """Return values of ``delimiter``, ``encoding``, ``quoting`` and ``text_field`` that are needed.

    They are those that the messages about its header and its bytes name; the field only where it
    is clear. A text file without columns, or a folder of texts, needs an encoding alone, and a file
    that cannot be read nothing.
    """
    if source.format == FOLDER and source.encoding is None and source.path.is_dir():
        try:
            texts = texts_in(source)
        except DataError:
            return {}
        files = (path for path in texts if path.is_file())
        faults = [fault for path in files if (fault := fault_of_bytes(path, None)) is not None]
        is_legible = not any(isinstance(fault, BinaryFileError) for fault in faults)
        return {"encoding": MIXED} if faults and is_legible else {}
    if not source.path.is_file():
        return {}
    found: dict[str, Any] = {}
    if source.format == "csv" and not (source.text_field or "").isdigit():
        try:
            header = next(rows(source.path, encoding=ANY, remedy=ENCODING), "")
        except DataError:
            return {}
        mark = None if "," in header else other_delimiter(source, header)
        if mark is not None and header != source.text_field:
            found["delimiter"] = DELIMITERS[mark].strip("'")
    if source.format in ("csv", "tsv", "lines", "paragraphs") and source.encoding is None:
        fault = fault_of_bytes(source.path, None)
        if isinstance(fault, BinaryFileError):
            return {}
        if fault is not None:
            found["encoding"] = fault.remedy.encoding
    if has_loose_quotes(replace(source, **found)):
        found["quoting"] = "none"
    guess = _text_field_guessed(replace(source, **found))
    if guess is not None and guess.is_clear:
        found["text_field"] = guess.field
    return found


def has_loose_quotes(source: Source) -> bool:
    """Tell whether quotes spoil a CSV table that has the same columns on each line without them."""
    if source.format != "csv" or source.quoting != "double" or not source.path.is_file():
        return False
    legible = replace(source, encoding=source.encoding or ANY)
    return (
        _has_quotes(legible)
        and not _is_even(legible)
        and _is_even(replace(legible, quoting="none"))
    )


def _has_quotes(source: Source) -> bool:
    try:
        return any('"' in row for row in text_rows(source))
    except DataError:
        return False


def _is_even(source: Source) -> bool:
    """Tell whether all rows of a CSV table can be read and have the same number of columns."""
    try:
        return len({len(cells) for _, cells in table_lines(source)}) < 2
    except DataError:
        return False


FEW_LINES = 3
"""First lines of a file by which its format is guessed."""


def options_told(path: Path) -> str | None:
    """Return the options that read a file, by its first lines; None where they tell nothing."""
    if not path.is_file():
        return None
    try:
        first = [row for row in islice(rows(path, encoding=ANY), FEW_LINES) if row]
    except DataError:
        return None
    if not first:
        return None
    if first[0].startswith("{"):
        return "--from jsonl"
    if first[0].startswith("["):
        return "--from json"
    for mark, options in COLUMNS.items():
        n_marks = {row.count(mark) for row in first}
        if len(first) > 1 and len(n_marks) == 1 and n_marks != {0}:
            return options
    return None


COLUMNS = {
    "\t": "--from tsv",
    "|": "--from csv -s data.delimiter='|'",
    ";": "--from csv -s data.delimiter=';'",
    ",": "--from csv",
}
"""The options that read a table, by the mark between its columns; the surest mark first."""


def other_delimiter(source: Source, row: str) -> str | None:
    """Return the delimiter of a header that no comma divides; None if it has no known one."""
    if source.format != "csv" or source.delimiter is not None:
        return None
    return next((mark for mark in DELIMITERS if mark in row), None)


def text_field_left(source: Source, found: Mapping[str, Any]) -> str | None:
    """Return the field that probably holds the text, where no clear one is ``found``.

    found: what ``settings_found`` returns.
    """
    guess = None if "text_field" in found else _text_field_guessed(replace(source, **found))
    return None if guess is None else guess.field


def _text_field_guessed(source: Source) -> Guess | None:
    """Return the field of a table that probably holds the text, where one has to be named.

    The field of a table without header is the number of its column.
    """
    if source.format not in TABLES or source.text_field is not None:
        return None
    found = sample(source)
    guess = found.guess
    if guess is None or DEFAULT_TEXT_FIELD in found.rows[0]:
        return None
    return guess._replace(field=found.column(guess.field)) if found.lacks_header else guess
