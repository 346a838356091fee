"""Raw text as a stream of records: JSON, CSV, TSV, parquet, a text file, or a folder of them.

A record is a mapping from field to value. A table without header has its column numbers for
fields, so that one rule finds a field everywhere. TSV knows no quotes: a stray one in a title
must not swallow the lines after it.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from hiertopics.base.errors import DataError, UsageError
from hiertopics.base.visible import in_letters
from hiertopics.corpus.data.corpus import Tags
from hiertopics.corpus.formats import parquet
from hiertopics.corpus.formats.counting import listed, shown, whole_number
from hiertopics.corpus.formats.html import main_text_of_html, text_of_html
from hiertopics.corpus.formats.metadata import LONGEST, Metadata
from hiertopics.corpus.formats.opening import lines, rows
from hiertopics.corpus.formats.sidefiles import encodes
from hiertopics.corpus.formats.source import FOLDER, Source, unpacked
from hiertopics.corpus.formats.textfield import SAMPLED, guessed, has_header

DEFAULT_TEXT_FIELD = "text"
JSON = (str, int, float, list, dict, type(None))
HTML = (".html", ".htm")
SUFFIXES = ((".txt",), (*HTML, ".md", ".rst"))
"""Suffixes of texts in a folder; the second group counts if no file has a suffix of the first."""
NOT_READ = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".pdf", ".docx", ".gz")
"""Suffixes of files that may hold documents, too, but are not read in a folder of texts."""
LONGEST_FIELD = 2**31 - 1
OLDER_ENCODING = "cp1252"
ENCODING = f"name its encoding, as -s data.encoding={OLDER_ENCODING}, or convert it first"
MISSING = frozenset(("", "nan", "na", "n/a", "#n/a", "<na>", "null", "none"))
"""Texts that other programs write for no text, in small letters."""
PEEKED = 10_000
"""Once a table has another fault, so many lines are searched for bytes that are not UTF-8."""
DELIMITERS = {";": "';'", "\t": "tab", "|": "'|'"}
"""Delimiters other than the comma, and the name of each as a value of ``data.delimiter``."""
MIXED = f"utf-8,{OLDER_ENCODING}"
"""The value of data.encoding that reads files of both encodings, line by line."""
ANY = "utf-8,latin-1"
"""The value of data.encoding that reads lines of any bytes."""
NAMED = 3
"""Files that a message names, of those with the same fault."""
PLAIN_NAME = re.compile(r"[\w.:-]{1,40}")
"""A field that a message can name for a shell."""
NAMING = ("id", "_id", "doc_id", "docid", "document_id", "docno", "docname", "filename", "name")
"""Fields that hold documents' names where none is asked for, upper case alike, the first first."""


class Record(NamedTuple):
    """One document before it is cut into words; None for fields that were not asked for.

    A document without text has the empty one, and ``missing`` is set.
    """

    text: str
    doc_id: str | None = None
    groups: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    others: Mapping[str, Any] = MappingProxyType({})
    """Values of its other fields, by field; None where a field has no value."""
    named_by: str | None = None
    """The field that ``doc_id`` comes from, where none was asked for."""
    missing: bool = False


class _Row(NamedTuple):
    line: int
    values: Mapping[str, Any]


Require = Callable[[Source, Mapping[str, Any], "int | None"], None]


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
    rows = _rows(source)
    named = {source.text_field or DEFAULT_TEXT_FIELD, *source.fields.values()}
    named_by: str | None = None
    for place, row in enumerate(rows):
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


def missing_note(n_missing: int, n_docs: int) -> str:
    """Return the line that says how many documents have no text."""
    return f"{n_missing} of {n_docs} documents have no text (an empty cell, NaN or null)"


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
    """Yield a field of a table's records unchanged; ``source.text_field`` names it, too.

    Raises DataError naming the line of a broken record, or of one without that field.
    """
    for row in _rows(source):
        yield row.values[field]


def _rows(source: Source, require: Require | None = None) -> Iterator[_Row]:
    """Yield the rows of a table. require: raises DataError if a record or header lacks a field."""
    return _READERS[str(source.format)](source, require or _require)


def _folder(source: Source) -> Iterator[Record]:
    _refuse_fields(source, "a folder of text files")
    found = {path.relative_to(source.path).as_posix(): path for path in _texts(source.path)}
    text_of_page = main_text_of_html if source.html == "main" else text_of_html
    names = sorted(found)
    for place, name in enumerate(names):
        if not found[name].is_file():  # a pipe or a device may never end
            raise DataError(found[name], "is no regular file; take it out of the folder")
        suffix = Path(name).suffix
        try:
            text = "\n".join(lines(found[name], encoding=source.encoding, advice=ENCODING))
        except DataError as error:
            later = [found[name] for name in names[place + 1 :]]
            raise _of_all_files(error, source, [found[name], *later], len(names)) from None
        called = in_letters(name.removesuffix(suffix))
        yield Record(text_of_page(text) if suffix in HTML else text, called)


def _of_all_files(
    error: DataError, source: Source, paths: Sequence[Path], n_files: int
) -> DataError:
    """Return the error of a file in another encoding with the number of such files of a folder.

    paths: the file, and those after it; the files before it are in the encoding.
    """
    fault, ends, _ = error.what.partition(f"; {ENCODING}")
    if not ends:
        return error
    first, *later = paths
    others = [path for path in later if path.is_file() and not _is_read(path, source.encoding)]
    misread = [path.relative_to(source.path).as_posix() for path in (first, *others)]
    few = ", ".join(map(shown, misread[:NAMED])) + ", ..." * (len(misread) > NAMED)
    told = f"{len(misread)} of {n_files} files are like this: {few}"
    how = f"-s data.encoding={MIXED} reads both encodings" if source.encoding is None else ENCODING
    return DataError(error.path, f"{fault}; {told}; {how}", error.line)


def _is_read(path: Path, encoding: str | None) -> bool:
    """Return whether a file has this encoding; one with another fault counts as read."""
    try:
        for _ in lines(path, encoding=encoding, advice=ENCODING):
            pass
    except DataError as error:
        return ENCODING not in error.what
    return True


def _refuse_fields(source: Source, what: str) -> None:
    if source.fields:
        raise UsageError(f"{source.path} is {what}, which has no fields")


def _line_records(source: Source) -> Iterator[Record]:
    """Yield each line of a text file as a document."""
    _refuse_fields(source, "a text file")
    for text in _text_rows(source):
        yield Record(text, missing=not text.strip())


def _paragraph_records(source: Source) -> Iterator[Record]:
    """Yield each block between blank lines of a text file as a document."""
    _refuse_fields(source, "a text file")
    held: list[str] = []
    for text in _text_rows(source):
        if text.strip():
            held.append(text)
        elif held:
            yield Record("\n".join(held))
            held = []
    if held:
        yield Record("\n".join(held))


def _text_rows(source: Source) -> Iterator[str]:
    return rows(source.path, encoding=source.encoding, advice=ENCODING)


PLAIN = {FOLDER: _folder, "lines": _line_records, "paragraphs": _paragraph_records}
"""Forms without fields, and what reads them."""


def holds_pages(folder: Path) -> bool:
    """Tell whether a folder's documents are HTML pages, some of them. Raises as ``records``."""
    return any(path.suffix in HTML for path in _texts(folder))


def _texts(folder: Path) -> list[Path]:
    """Return the texts: all .txt files, or where there are none those of the other SUFFIXES.

    A run in the folder, which fits write there, holds none. Raises DataError where there are none.
    """
    runs = _runs_in(folder)
    for suffixes in SUFFIXES:
        found = [path for suffix in suffixes for path in folder.rglob(f"*{suffix}")]
        texts = [path for path in found if runs.isdisjoint(path.parents)]
        if texts:
            return texts
    others = Counter(path.suffix for path in folder.rglob("*") if path.is_file())
    told = ", ".join(f"{count} {suffix or 'without suffix'}" for suffix, count in others.items())
    wanted = " ".join(suffix for suffixes in SUFFIXES for suffix in suffixes)
    raise DataError(folder, f"holds no documents: no {wanted}" + f", but {told}" * bool(told))


def _runs_in(folder: Path) -> set[Path]:
    return {lock.parent for lock in folder.rglob(".lock") if (lock.parent / "checkpoints").is_dir()}


def left_aside_note(folder: Path) -> tuple[str, ...]:
    """Return a note on files of a folder that could be documents and are not read."""
    texts, runs = set(_texts(folder)), _runs_in(folder)
    could_be = {*(suffix for suffixes in SUFFIXES for suffix in suffixes), *NOT_READ}
    others = Counter(
        path.suffix
        for path in sorted(folder.rglob("*"))
        if path.suffix in could_be and path not in texts and runs.isdisjoint(path.parents)
    )
    if not others:
        return ()
    read = " ".join(sorted({path.suffix for path in texts}))
    told = ", ".join(f"{count} {suffix}" for suffix, count in others.items())
    return (f"only the {read} files of the folder are read, not {told}",)


def _wanted(source: Source) -> list[str]:
    """Return every field that must be there."""
    text = {"text_field": source.text_field or DEFAULT_TEXT_FIELD}
    return list((text | source.fields | text).values())


def _require(source: Source, values: Mapping[str, Any], line: int | None) -> None:
    """Refuse a record, or a header, that lacks a field. values: by field; of a header None."""
    for field in _wanted(source):
        if field not in values:
            near = get_close_matches(field, list(values), n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            what = f"no field {field!r}; there are {listed(list(values)) or 'none'}{meant}"
            what += _field_hint(source, field, values) + _encoding_hint(source, line)
            raise DataError(source.path, what, line)


def _field_hint(source: Source, field: str, values: Mapping[str, Any]) -> str:
    """Return what to do about a field that is lacking."""
    first = next(iter(values), "")
    mark = _other_delimiter(source, first) if len(values) == 1 else None
    if mark is None:
        return _text_field_hint(source, field, values)
    columns = dict.fromkeys(first.split(mark))
    hint, divided = _delimiter_hint(mark), _divided(source, mark)
    return hint if field in columns else hint + _text_field_hint(divided, field, columns)


def _divided(source: Source, mark: str) -> Source:
    """Return a source with the delimiter ``mark``."""
    return replace(source, delimiter=DELIMITERS[mark].strip("'"))


def _other_delimiter(source: Source, row: str) -> str | None:
    """Return the delimiter of a header that no comma divides; None if it has no known one."""
    if source.format != "csv" or source.delimiter is not None:
        return None
    return next((mark for mark in DELIMITERS if mark in row), None)


def settings_found(source: Source) -> dict[str, Any]:
    """Return values of ``delimiter``, ``encoding`` and ``text_field`` that a table needs.

    They are those that the messages about its header and its bytes name; the field only where it
    is clear. A text file without columns, or a folder of texts, needs an encoding alone, and a file
    that cannot be read nothing.
    """
    if source.format == FOLDER and source.encoding is None and source.path.is_dir():
        try:
            texts = _texts(source.path)
        except DataError:
            return {}
        read = all(_is_read(path, None) for path in texts if path.is_file())
        return {} if read else {"encoding": MIXED}
    if not source.path.is_file():
        return {}
    found: dict[str, Any] = {}
    if source.format == "csv" and not (source.text_field or "").isdigit():
        try:
            header = next(rows(source.path, encoding=ANY, advice=ENCODING), "")
        except DataError:
            return {}
        mark = None if "," in header else _other_delimiter(source, header)
        if mark is not None and header != source.text_field:
            found["delimiter"] = DELIMITERS[mark].strip("'")
    if source.format in ("csv", "tsv", "lines", "paragraphs") and source.encoding is None:
        try:
            for _ in rows(source.path, encoding=None, advice=ENCODING):
                pass
        except DataError as error:
            if ENCODING in error.what:
                found["encoding"] = OLDER_ENCODING
    if (field := text_field_found(replace(source, **found))) is not None:
        found["text_field"] = field
    return found


def _encoding_hint(source: Source, line: int | None) -> str:
    """Return a hint that names the first line that is not UTF-8, and the setting for it."""
    if source.format not in ("csv", "tsv") or line != 1 or not source.path.is_file():
        return ""
    try:
        for _ in islice(_text_rows(source), PEEKED):
            pass
    except DataError as error:
        return f"; line {error.line} is {error.what}"
    return ""


def _text_field_hint(source: Source, field: str, values: Mapping[str, Any]) -> str:
    """Return which field of a record, or of a header, seems to hold the text."""
    if source.text_field is not None or field != DEFAULT_TEXT_FIELD or not values:
        return ""
    rows = sampled_rows(source) or [values]
    guess = guessed(rows)
    if _lacks_header(source):
        column = "" if guess is None else f" --text-field {list(rows[0]).index(guess.field)}"
        return (
            "; the first line looks like a document, not like names of columns: take its number,"
            f" from 0, as{column or ' --text-field 0'}"
        )
    hint = "; name the one that holds the text"
    if guess is None or not PLAIN_NAME.fullmatch(guess.field):
        return hint
    return f"{hint}, as --text-field {guess.field}"


def sampled_rows(source: Source) -> list[Mapping[str, Any]]:
    """Return the first rows of a table, up to the first one that cannot be read; none of a pipe."""
    found: list[Mapping[str, Any]] = []
    if source.path.is_file():
        legible = replace(source, encoding=source.encoding or ANY, metadata=False)
        with suppress(DataError):
            found.extend(row.values for row in islice(_rows(legible, _no_field), SAMPLED))
    return found


def _no_field(source: Source, values: Mapping[str, Any], line: int | None) -> None:
    """Accept a record or a header without any field."""


def _lacks_header(source: Source) -> bool:
    """Tell whether the first line of a table seems to be a row like the others."""
    if source.format not in ("csv", "tsv") or not source.path.is_file() or source.fields:
        return False
    table = _csv_lines if source.format == "csv" else _tsv_lines
    lines: list[list[str]] = []
    with suppress(DataError):
        legible = replace(source, encoding=source.encoding or ANY)
        lines.extend(cells for _, cells in islice(table(legible), SAMPLED))
    return len(lines) > 1 and not has_header(lines[0], lines[1:])


def text_field_found(source: Source) -> str | None:
    """Return the field that holds the text of a table, where it is clear and nobody named one."""
    if source.format not in TABLES or source.text_field is not None:
        return None
    rows = sampled_rows(source)
    guess = guessed(rows)
    if guess is None or not guess.is_clear or DEFAULT_TEXT_FIELD in rows[0]:
        return None
    return str(list(rows[0]).index(guess.field)) if _lacks_header(source) else guess.field


_BARE = """; write each text as {"text": "..."}, or as a line of a file for --lines"""


def _json_rows(source: Source, require: Require) -> Iterator[_Row]:
    for number, line in enumerate(_text_rows(source), 1):
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
        yield _Row(number, values)


def _array_rows(source: Source, require: Require) -> Iterator[_Row]:
    """Yield the objects of an array of JSON, or of a file of objects one after the other."""
    text = "\n".join(_text_rows(source))
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
        yield _Row(number, values)
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


def _parquet_rows(source: Source, require: Require) -> Iterator[_Row]:
    names, rows = parquet.rows_of(source.path)
    _check_header(source, names, None, require)
    for number, values in enumerate(rows, 1):
        yield _Row(number, {name: _plain(value) for name, value in values.items()})


def _plain(value: Any) -> Any:
    """Return a value of a table as JSON has it; dates and the like become texts."""
    return value if isinstance(value, JSON) else str(value)


def _table_rows(source: Source, require: Require) -> Iterator[_Row]:
    numbered = [whole_number(field) is not None for field in source.fields.values()]
    if any(numbered) and not all(numbered):
        raise UsageError("fields are either all numbers (no header) or all names (a header)")
    header: list[str] = []
    for number, cells in _table_lines(source):
        if not header:
            header = [str(column) for column in range(len(cells))] if any(numbered) else cells
            _check_header(source, header, number, require)
            if not any(numbered):
                continue
        if len(cells) != len(header):
            what = f"expected {len(header)} columns as on the first line, got {len(cells)}"
            raise DataError(source.path, what, number)
        yield _Row(number, dict(zip(header, cells, strict=True)))


_READERS = {
    "jsonl": _json_rows,
    "json": _array_rows,
    "csv": _table_rows,
    "tsv": _table_rows,
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


def _table_lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row with its line; one error names all faults of the header."""
    table = _csv_lines(source) if source.format == "csv" else _tsv_lines(source)
    try:
        first = next(table, None)
    except DataError as error:
        raise DataError(source.path, error.what + _header_hint(source, error), 1) from error
    if first is not None:
        yield first
        yield from table


def _header_hint(source: Source, found: DataError) -> str:
    """Return the further faults of a header that is not UTF-8, which ``ANY`` reads."""
    if source.encoding is not None or not source.path.is_file():
        return ""
    try:
        next(_rows(replace(source, encoding=ANY)), None)
    except DataError as error:
        return "" if found.what.startswith(error.what) else f"; {error.what}"
    return ""


def _csv_lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    mark = "\t" if source.delimiter == "tab" else source.delimiter or ","
    reader = csv.reader((row + "\n" for row in _text_rows(source)), delimiter=mark, strict=True)
    default = csv.field_size_limit(LONGEST_FIELD)
    first = 1
    try:
        for cells in reader:
            yield first, cells or [""]
            first = reader.line_num + 1
    except csv.Error as error:
        what = str(error).partition(" - ")[0]  # what follows is advice to programmers
        hint = _broken_hint(source) if first == 1 else ""
        raise DataError(source.path, f"broken CSV ({what}){hint}", first) from error
    finally:
        csv.field_size_limit(default)


def _broken_hint(source: Source) -> str:
    """Return what to do about a header that another delimiter may part, its columns in quotes."""
    row = next(_text_rows(source), "") if source.path.is_file() else ""
    mark = _other_delimiter(source, row)
    if mark is None:
        return ""
    columns = [name.strip('"') for name in row.split(mark)]
    hint = _delimiter_hint(mark)
    if DEFAULT_TEXT_FIELD not in columns:
        divided = _divided(source, mark)
        hint += _text_field_hint(divided, DEFAULT_TEXT_FIELD, dict.fromkeys(columns))
    return hint + _encoding_hint(source, 1)


def _delimiter_hint(mark: str) -> str:
    called = DELIMITERS[mark]
    return f"; columns seem to be parted by {called}: -s data.delimiter={called}"


def _tsv_lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(_text_rows(source), 1):
        yield number, line.split("\t")


def _text(source: Source, row: _Row, field: str) -> str | None:
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


TABLES = ("jsonl", "json", "csv", "tsv", "parquet")
"""Forms whose columns have names."""


def column_of(
    path: Path,
    name: str,
    form: str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Tags:
    """Return a column of a table in a form of ``TABLES``, a row for each record.

    delimiter, encoding: see ``Source``. Raises DataError where there is no such column, or it
    holds texts.
    """
    table = Metadata()
    source = Source(path, form, text_field=name, delimiter=delimiter, encoding=encoding)
    for value in values_of(source, name):
        table.add({name: value})
    found = table.tags()
    if name not in found:
        raise DataError(path, f"field {name!r} holds no values of at most {LONGEST} letters")
    return found[name]


def table_form(path: Path) -> str | None:
    """Return in which form of ``TABLES`` a file is, by its name; None: in none."""
    plain = unpacked(path.name).lower()
    return next((form for form in TABLES if plain.endswith(f".{form}")), None)
