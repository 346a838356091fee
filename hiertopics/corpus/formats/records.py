"""Raw text as a stream of records: JSON lines, CSV, TSV, parquet, or a folder of text files.

And what else a record says of its document: years, authors, kinds, as columns of marks.

A record is a mapping from field to value. A table without header has its column numbers for
fields, so that one rule finds a field everywhere. TSV knows no quotes: a stray one in a title
must not swallow the lines after it.
"""

from __future__ import annotations

import csv
import json
from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.errors import DataError, UsageError
from hiertopics.base.visible import in_letters
from hiertopics.corpus.data.corpus import Tags
from hiertopics.corpus.data.names import flaw
from hiertopics.corpus.formats import parquet
from hiertopics.corpus.formats.counting import listed, shown, whole_number
from hiertopics.corpus.formats.opening import lines, rows
from hiertopics.corpus.formats.sidefiles import TagTable, encodes
from hiertopics.corpus.formats.source import FOLDER, Source, unpacked

DEFAULT_TEXT_FIELD = "text"
JSON = (str, int, float, list, dict, type(None))
HTML = (".html", ".htm")
SUFFIXES = ((".txt",), (*HTML, ".md", ".rst"))
"""Of files in a folder that are texts; the second ones where there are none of the first."""
LONGEST_FIELD = 2**31 - 1
NAMING = ("id", "_id", "doc_id", "docid", "document_id", "docno", "docname", "filename", "name")
"""Fields that hold documents' names where none is asked for, upper case alike, the first first."""


class Record(NamedTuple):
    """One document before it is cut into words; None where no field was asked for."""

    text: str
    doc_id: str | None = None
    groups: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    others: Mapping[str, Any] = MappingProxyType({})
    """What else is known of it, by field; None where nothing is."""
    named_by: str | None = None
    """The field that ``doc_id`` comes from, where none was asked for."""


class _Row(NamedTuple):
    line: int
    values: Mapping[str, Any]


def records(source: Source) -> Iterator[Record]:
    """Yield the documents of a resolved source, in the order of the file or of the file names.

    Where other fields are kept and none of names is asked for, the first record tells which of
    ``NAMING`` has some. It is kept among ``others``, too, and need not be in every record.

    Raises DataError naming the line of a broken record; UsageError where fields are asked of a
    folder or numbers are mixed with names.
    """
    if source.format == FOLDER:
        yield from _folder(source)
        return
    rows = _rows(source)
    named = {source.text_field or DEFAULT_TEXT_FIELD, *source.fields.values()}
    named_by: str | None = None
    for place, row in enumerate(rows):
        if place == 0 and source.metadata and source.id_field is None:
            named_by = _naming(row.values, named)
        name = None if named_by is None else _told_name(row.values.get(named_by))
        yield Record(
            _string(source, row, source.text_field or DEFAULT_TEXT_FIELD),
            name if source.id_field is None else _name(source, row, source.id_field),
            None if source.group_field is None else _names(source, row, source.group_field),
            None if source.label_field is None else _names(source, row, source.label_field),
            {field: value for field, value in row.values.items() if field not in named}
            if source.metadata
            else MappingProxyType({}),
            named_by,
        )


def naming_note(field: str) -> str:
    """Return the line that says where names of documents come from, unasked."""
    return f"documents are called by the field {field!r} (data.id_field takes another)"


def _naming(values: Mapping[str, Any], taken: Collection[str]) -> str | None:
    """Return the field of a first record that names its document, None where there is none."""
    small = {field.lower(): field for field in [*values][::-1] if field not in taken}
    found = (small[name] for name in NAMING if name in small)
    return next((field for field in found if _told_name(values[field])), None)


def _told_name(value: Any) -> str:
    """Return a value as the name of a document; empty where it is none."""
    name = value.strip() if isinstance(value, str) else json.dumps(value)
    return "" if value is None or isinstance(value, dict | list) or not encodes(name) else name


def values_of(source: Source, field: str) -> Iterator[Any]:
    """Yield a field of a table's records as it stands there; ``source.text_field`` names it, too.

    Raises DataError naming the line of a broken record, or of one without that field.
    """
    for row in _rows(source):
        yield row.values[field]


def _rows(source: Source) -> Iterator[_Row]:
    if source.format == "jsonl":
        return _json_rows(source)
    return _parquet_rows(source) if source.format == "parquet" else _table_rows(source)


def _folder(source: Source) -> Iterator[Record]:
    if source.fields:
        raise UsageError(f"{source.path} is a folder of text files: they have no fields")
    found = {path.relative_to(source.path).as_posix(): path for path in _texts(source.path)}
    for name in sorted(found):
        if not found[name].is_file():  # a pipe or a device may never end
            raise DataError(found[name], "is no regular file; take it out of the folder")
        suffix = Path(name).suffix
        text = "\n".join(lines(found[name]))
        called = in_letters(name.removesuffix(suffix))
        yield Record(text_of_html(text) if suffix in HTML else text, called)


def _texts(folder: Path) -> list[Path]:
    """Return the texts: all .txt files, or where there are none those of the other SUFFIXES.

    A run in the folder, which fits write there, holds none. Raises DataError where there are none.
    """
    runs = {lock.parent for lock in folder.rglob(".lock") if (lock.parent / "checkpoints").is_dir()}
    for suffixes in SUFFIXES:
        found = [path for suffix in suffixes for path in folder.rglob(f"*{suffix}")]
        texts = [path for path in found if runs.isdisjoint(path.parents)]
        if texts:
            return texts
    others = Counter(path.suffix for path in folder.rglob("*") if path.is_file())
    told = ", ".join(f"{count} {suffix or 'without suffix'}" for suffix, count in others.items())
    wanted = " ".join(suffix for suffixes in SUFFIXES for suffix in suffixes)
    raise DataError(folder, f"holds no documents: no {wanted}" + f", but {told}" * bool(told))


def _wanted(source: Source) -> list[str]:
    """Return every field that must be there."""
    text = {"text_field": source.text_field or DEFAULT_TEXT_FIELD}
    return list((text | source.fields | text).values())


def _require(source: Source, fields: Sequence[str], line: int | None) -> None:
    for field in _wanted(source):
        if field not in fields:
            what = f"no field {field!r}; there are {listed(fields) or 'none'}"
            hint = "" if source.text_field else "; name the one that holds the text"
            raise DataError(source.path, what + hint, line)


def _json_rows(source: Source) -> Iterator[_Row]:
    for number, line in enumerate(rows(source.path), 1):
        try:
            values = json.loads(line, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            raise DataError(source.path, f"not JSON ({_flaw(error)})", number) from error
        if not isinstance(values, dict):
            what = f"expected one JSON object per line, got {shown(line)}"
            raise DataError(source.path, what, number)
        _require(source, list(values), number)
        yield _Row(number, values)


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


def _parquet_rows(source: Source) -> Iterator[_Row]:
    names, rows = parquet.rows_of(source.path)
    _check_header(source, names, None)
    for number, values in enumerate(rows, 1):
        yield _Row(number, {name: _plain(value) for name, value in values.items()})


def _plain(value: Any) -> Any:
    """Return a value of a table as JSON has it; dates and the like become texts."""
    return value if isinstance(value, JSON) else str(value)


def _table_rows(source: Source) -> Iterator[_Row]:
    numbered = [whole_number(field) is not None for field in source.fields.values()]
    if any(numbered) and not all(numbered):
        raise UsageError("fields are either all numbers (no header) or all names (a header)")
    header: list[str] = []
    for number, cells in _csv_lines(source) if source.format == "csv" else _tsv_lines(source):
        if not header:
            header = [str(column) for column in range(len(cells))] if any(numbered) else cells
            _check_header(source, header, number)
            if not any(numbered):
                continue
        if len(cells) != len(header):
            what = f"expected {len(header)} columns as on the first line, got {len(cells)}"
            raise DataError(source.path, what, number)
        yield _Row(number, dict(zip(header, cells, strict=True)))


def _check_header(source: Source, header: list[str], line: int | None) -> None:
    """Refuse a header that lacks a field, or has one twice; a column without name is passed over.

    Repeated names of columns that nobody reads do no harm.
    """
    _require(source, header, line)
    read = {*_wanted(source), *(filter(None, header) if source.metadata else ())}
    for field, times in Counter(header).items():
        if times > 1 and field in read:
            hint = "; call them otherwise"
            if field not in _wanted(source):
                hint += ", or leave out what nobody asks for by data.metadata=false"
            raise DataError(source.path, f"several columns are called {field!r}{hint}", line)


def _csv_lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader((line + "\n" for line in rows(source.path)), strict=True)
    default = csv.field_size_limit(LONGEST_FIELD)
    first = 1
    try:
        for cells in reader:
            yield first, cells or [""]
            first = reader.line_num + 1
    except csv.Error as error:
        what = str(error).partition(" - ")[0]  # what follows is advice to programmers
        raise DataError(source.path, f"broken CSV ({what})", first) from error
    finally:
        csv.field_size_limit(default)


def _tsv_lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(rows(source.path), 1):
        yield number, line.split("\t")


def _string(source: Source, row: _Row, field: str) -> str:
    value = row.values[field]
    if value is None or isinstance(value, (dict, list)):
        what = f"expected a string in field {field!r}, got {shown(json.dumps(value))}"
        raise DataError(source.path, what, row.line)
    return value if isinstance(value, str) else json.dumps(value)


def _name(source: Source, row: _Row, field: str) -> str:
    name = _string(source, row, field).strip()
    if not encodes(name):
        what = f"field {field!r} holds half a surrogate pair, which is no character"
        raise DataError(source.path, what, row.line)
    return name


def _names(source: Source, row: _Row, field: str) -> list[str]:
    """Return the groups or labels of a row: a JSON list, or cells separated by ``;``."""
    value = row.values[field]
    if value is None:
        return []
    if isinstance(value, str) and source.format != "jsonl":
        values = value.split(";")
    else:
        values = value if isinstance(value, list) else [value]
    names = [_name(source, _Row(row.line, {field: entry}), field) for entry in values]
    return [name for name in names if name]


UNSEEN = ("script", "style", "template", "noscript")
INLINE = (
    *("a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "em", "font", "i", "kbd"),
    *("mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "tt", "u", "var"),
)
"""Elements that do not end a word: ``<b>t</b>opic`` is one."""


def text_of_html(page: str) -> str:
    """Return what stands between the tags; scripts and styles are left out, entities resolved."""
    reader = _Text()
    reader.feed(page)
    reader.close()
    return "".join(reader.parts)


class _Text(HTMLParser):
    """Collects text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unseen: list[str] = []
        self._first: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Note that text after it is not seen, or that a word ends here."""
        if tag in UNSEEN:
            self._first.setdefault(tag, len(self._unseen))
            self._unseen.append(tag)
        self._end_word(tag)

    def handle_endtag(self, tag: str) -> None:
        """Note that text is seen again, or that a word ends here."""
        if tag in self._first:
            outermost = self._first[tag]
            del self._unseen[outermost:]
            self._first = {name: at for name, at in self._first.items() if at < outermost}
        self._end_word(tag)

    def handle_data(self, data: str) -> None:
        """Keep text that is seen."""
        if not self._unseen:
            self.parts.append(data)

    def _end_word(self, tag: str) -> None:
        if tag not in INLINE:
            self.parts.append("\n")


LONGEST = 200
"""Letters of a value; a field with a longer one, or a nested one, is text and no metadata."""

TABLES = ("jsonl", "csv", "tsv", "parquet")
"""Forms whose columns have names."""


MOST_CELLS = 1 << 24
TIMES_VALUES = 16
"""Cells (documents x fields) that are kept: so many, or so many times the values that are given.

Of a table all are. Where each record had fields of its own, columns would take quadratic room.
"""


class _Column:
    """A field of the documents that have it. docs: their numbers, ascending."""

    def __init__(self) -> None:
        self.docs = array("q")
        self._values = TagTable()

    def add(self, doc: int, values: Sequence[str]) -> None:
        self.docs.append(doc)
        self._values.add(values)

    @property
    def is_empty(self) -> bool:
        return not self._values.columns

    def tags(self, n_docs: int) -> Tags:
        """Return the values of all documents; those that lack the field have none."""
        tags = self._values.tags()
        ends = np.zeros(n_docs + 1, np.int32)
        ends[np.array(self.docs, np.int64) + 1] = np.diff(tags.members.indptr)
        parts = (tags.members.data, tags.members.indices, np.cumsum(ends, dtype=np.int32))
        return Tags(sparse.csr_array(parts, shape=(n_docs, len(tags.names))), tags.names)


class Metadata:
    """Columns that grow one document at a time."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column | None] = {}
        self._n_docs = 0

    def add(self, values: Mapping[str, Any]) -> None:
        """Add a document; a field that others lack is empty for them."""
        for field, value in values.items():
            if field not in self._columns:
                self._columns[field] = _Column()
            column, told = self._columns[field], _told(value)
            if column is None or told is None or flaw(field) is not None:
                self._columns[field] = None
            else:
                column.add(self._n_docs, told)
        self._n_docs += 1

    def tags(self) -> dict[str, Tags]:
        """Return the columns that hold values and nothing else, by field.

        Where they were more than ``MOST_CELLS`` allows, those with fewest documents are left out.
        """
        found = {
            name: column
            for name, column in self._columns.items()
            if column is not None and not column.is_empty
        }
        n_values = sum(len(column.docs) for column in found.values())
        most = max(MOST_CELLS, TIMES_VALUES * n_values) // max(self._n_docs, 1)
        if len(found) > most:
            fullest = {*sorted(found, key=lambda name: -len(found[name].docs))[:most]}
            found = {name: column for name, column in found.items() if name in fullest}
        return {name: column.tags(self._n_docs) for name, column in found.items()}


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
