"""ARFF, dense and sparse, as WEKA and MULAN use it.

A row is ``v,v,...`` or ``{column v,column v,...}``, columns from 0. Columns are attributes:
numbers, or nominal ones whose values are numbers. Label columns are taken out: those that an XML
file names (0 or 1 each), with one ``label`` element for each, or one column of classes
(``label_column``).

The rows are decoded one by one by liac-arff. Names, in ``@attribute name type`` lines, are read and
written here because liac-arff leaves escapes in them and cuts quotes off their ends. What it makes
of the types follows a head in which every name is plain.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple
from xml.etree.ElementTree import ParseError, XMLParser

import numpy as np
from scipy import sparse

from hiertopics.base.errors import DataError, UsageError, optional
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.data.vectors import MAX_CELLS, Vectors
from hiertopics.corpus.formats.counting import MAX_COUNT, shown
from hiertopics.corpus.formats.opening import lines, opened
from hiertopics.corpus.formats.sidefiles import encodes
from hiertopics.corpus.formats.source import Source, names_columns
from hiertopics.corpus.formats.vectors import (
    NUMBER,
    class_name,
    columns_of,
    label_index,
    table_lines,
    tags_of,
)

CHUNK = 1 << 16


class _Labels:
    """Collects the names of ``label`` elements, nested ones too, in the order of the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: dict[str, None] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition("}")[2] != "label":
            return
        name = attributes.get("name", "")
        if not name or name in self.names:
            what = "a label without name" if not name else f"the label {name!r} stands here twice"
            raise DataError(self.path, what)
        self.names[name] = None

    def doctype(self, *_: object) -> None:
        # What a document type declares may expand without bound or name other files.
        raise DataError(self.path, "declares a document type, which no list of labels needs")


def read_label_names(path: Path) -> list[str]:
    """Return the names of the labels; raises DataError where the file is no list of labels."""
    labels = _Labels(path)
    parser = XMLParser(target=labels)
    try:
        with opened(path) as file:
            while chunk := file.read(CHUNK):
                parser.feed(chunk)
        parser.close()
    except ParseError as error:
        raise DataError(path, f"not XML ({error})", error.position[0]) from error
    except (ValueError, LookupError) as error:  # an encoding that does not exist or is multi-byte
        raise DataError(path, f"not XML ({error})") from error
    if not labels.names:
        raise DataError(path, "names no label: expected <label name=...> elements")
    return list(labels.names)


class _Roles(NamedTuple):
    """The columns of features, those of labels, and the column of classes."""

    features: list[int]
    labels: list[int]
    classes: int | None


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus | Vectors:
    """Read a table: sparse rows of whole numbers >= 0 are counts, any others vectors.

    ``vocab`` renames the features. Raises UsageError where liac-arff is not installed, DataError
    for a broken head or XML file. Reports each row that is not as its attributes say.
    """
    with closing(lines(source.path)) as text:
        numbered = enumerate(text, 1)
        attributes = read_attributes(source, numbered)
        instances = decoded(source, attributes, numbered)
        roles = _roles(source, attributes, instances)
        table = _Table([attribute.name for attribute in attributes], instances, roles)
        for instance in instances.rows:
            try:
                table.add(instance)
            except ValueError as error:
                source.report(DataError(source.path, str(error), instance.line))
    own = tuple(attributes[column].name for column in roles.features)
    return table.data(source, columns_of(source, len(own), own, vocab))


def _roles(source: Source, attributes: Sequence[Attribute], instances: Instances) -> _Roles:
    names = [attribute.name for attribute in attributes]
    labels = _label_columns(source, names)
    classes = label_index(source, len(names), names)
    others = {*labels, classes}
    features = [column for column in range(len(names)) if column not in others]
    if not features:
        raise DataError(source.path, "every attribute is a label; no feature is left")
    for column, (attribute, kind) in enumerate(zip(attributes, instances.kinds, strict=True)):
        if column != classes and kind is not None:
            _check_kind(source, attribute, kind, instances.sparse)
    return _Roles(features, labels, classes)


def _label_columns(source: Source, names: Sequence[str]) -> list[int]:
    """Return the columns that the labels file names, in their own order."""
    if source.labels is None or not names_columns(source.labels):
        return []
    place = {name: column for column, name in enumerate(names)}
    labels = read_label_names(source.labels)
    for label in labels:
        if label not in place:
            what = f"the label {shown(label)} is no attribute of {source.path}"
            raise DataError(source.labels, what)
    return sorted(place[label] for label in labels)


def _check_kind(source: Source, attribute: Attribute, kind: list[str], is_sparse: bool) -> None:
    """Refuse nominal values that are no numbers, and sparse rows that leave out another than 0."""
    name = shown(attribute.name)
    for value in kind:
        if not NUMBER.fullmatch(value):
            what = f"the attribute {name} has the value {shown(value)}, which is no number"
            hint = "name it as data.label_column, recode it as numbers, or remove it"
            raise DataError(source.path, f"{what}; {hint}", attribute.line)
    if is_sparse and float(kind[0]) != 0:
        what = f"sparse rows leave out the first value of {name}, which is {shown(kind[0])}"
        raise DataError(source.path, f"{what}; declare 0 first", attribute.line)


class _Table:
    """The rows so far: features as one long CSR matrix, labels or classes apart."""

    def __init__(self, names: list[str], instances: Instances, roles: _Roles) -> None:
        self.names, self.roles, self.sparse = names, roles, instances.sparse
        kind = None if roles.classes is None else instances.kinds[roles.classes]
        self._left_out = 0.0 if kind is None else kind[0]
        self._place = {column: place for place, column in enumerate(roles.features)}
        self._ids, self._values, self._ends = array("i"), array("d"), array("q", [0])
        self._labels: list[list[int]] = []
        self._classes: list[str] = []

    def add(self, instance: Instance) -> None:
        """Add a row; raises ValueError where it does not hold what its attributes say."""
        row = self._row(instance)
        cells = {c: self._number(c, value) for c, value in row.items() if c != self.roles.classes}
        labels = [i for i, c in enumerate(self.roles.labels) if self._is_marked(c, cells)]
        if self.roles.classes is not None:
            given = row.get(self.roles.classes, self._left_out)
            self._classes.append("" if given is None else class_name(str(given)))
        self._labels.append(labels)
        features = [(self._place[c], value) for c, value in cells.items() if c in self._place]
        self._ids.extend(place for place, _ in features)
        self._values.extend(value for _, value in features)
        self._ends.append(len(self._ids))

    def _row(self, instance: Instance) -> Mapping[int, Any]:
        if not self.sparse:
            return dict(enumerate(instance.values))
        row: dict[int, Any] = instance.values
        text = instance.text
        if row and "'" not in text and '"' not in text and text.count(",") != len(row) - 1:
            raise ValueError(f"a column is repeated in {shown(text)}")
        return row

    def _number(self, column: int, value: float | str | None) -> float:
        if value is None:
            what = f"{shown(self.names[column])} has no value (?)"
            raise ValueError(f"{what}; fill it in, or leave the row out")
        number = float(value)
        if not math.isfinite(number):
            what = f"expected a finite number for {shown(self.names[column])}"
            raise ValueError(f"{what}, got {value}")
        return number

    def _is_marked(self, column: int, cells: Mapping[int, float]) -> bool:
        value = cells.get(column, 0.0)
        if value not in (0.0, 1.0):
            what = f"the label {shown(self.names[column])} is 0 or 1, got {value:g}"
            raise ValueError(what)
        return value == 1.0

    def data(self, source: Source, columns: tuple[str, ...]) -> Corpus | Vectors:
        """Return all rows; raises DataError where they are a dense table that is too large."""
        shape = (len(self._labels), len(columns))
        parts = (np.array(self._values), np.array(self._ids), np.array(self._ends))
        matrix = sparse.csr_array(parts, shape=shape)
        values = matrix.data
        whole = (values >= 0) & (values == np.floor(values)) & (values <= MAX_COUNT)
        if self.sparse and whole.all():
            matrix.eliminate_zeros()
            return Corpus(matrix, columns, labels=self._tags())
        if shape[0] * shape[1] > MAX_CELLS:
            what = f"{shape[0]} rows x {shape[1]} columns, and not all are whole numbers >= 0"
            raise DataError(source.path, f"{what}: more than {MAX_CELLS} cells of a dense table")
        return Vectors(matrix.toarray(), columns, labels=self._tags())

    def _tags(self) -> Tags | None:
        if self.roles.classes is not None:
            return tags_of(self._classes)
        if not self.roles.labels:
            return None
        ends = np.cumsum([0, *map(len, self._labels)])
        ids = np.array([label for labels in self._labels for label in labels], dtype=np.int32)
        shape = (len(self._labels), len(self.roles.labels))
        members = sparse.csr_array((np.ones(len(ids), dtype=bool), ids, ends), shape=shape)
        return Tags(members, tuple(self.names[column] for column in self.roles.labels))


def write(data: Corpus | Vectors, file: IO[bytes]) -> None:
    """Write counts as sparse rows and vectors as dense ones, columns named by the words.

    Marks have files of their own. Raises UsageError where a name is repeated or cannot be written.
    """
    names = data.vocab if isinstance(data, Corpus) else data.columns
    if not names:
        raise UsageError("a table without columns cannot be written")
    if len(set(names)) < len(names):
        raise UsageError("two words are the same; ARFF tells columns by their names")
    file.write(b"@relation corpus\n\n")
    file.writelines(map(attribute_line, names))
    file.write(b"\n@data\n")
    file.writelines(_sparse_lines(data) if isinstance(data, Corpus) else table_lines(data.rows))


def _sparse_lines(corpus: Corpus) -> Iterator[bytes]:
    counts = corpus.counts
    for start, end in pairwise(counts.indptr.tolist()):
        words, numbers = counts.indices[start:end].tolist(), counts.data[start:end].tolist()
        pairs = ",".join(f"{word} {n}" for word, n in zip(words, numbers, strict=True))
        yield f"{{{pairs}}}\n".encode()


_ATTRIBUTE = re.compile(
    r"""@attribute\s+
    (?: '(?P<single>(?:[^'\\]|\\.)*)' | "(?P<double>(?:[^"\\]|\\.)*)" | (?P<bare>[^\s'"{},%]\S*) )
    \s+(?P<type>\S.*)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_ESCAPED = re.compile(r"""\\([\\'"%])""")
_PLAIN = re.compile(r"[^\s{},%'\"\\]+")


class Attribute(NamedTuple):
    """A declared column: its name, its type as it is written, and the line."""

    name: str
    type: str
    line: int


def read_attributes(source: Source, lines: Iterator[tuple[int, str]]) -> list[Attribute]:
    """Take the head off the numbered lines, up to ``@data``.

    Raises DataError at a line that has no place there and at a repeated name.
    """
    attributes: dict[str, Attribute] = {}
    number = 1
    for number, line in lines:
        text = line.strip()
        keyword = text[:10].lower()
        if keyword.startswith("@data"):
            if not attributes:
                raise DataError(source.path, "@data before any @attribute", number)
            return list(attributes.values())
        if keyword == "@attribute":
            attribute = _read_attribute(source, text, number)
            if (other := attributes.setdefault(attribute.name, attribute)) is not attribute:
                what = f"the attribute {shown(other.name)} stands on line {other.line} already"
                raise DataError(source.path, what, number)
        elif text and not text.startswith("%") and not keyword.startswith("@relation"):
            what = "expected @relation, @attribute, @data or a comment after %"
            raise DataError(source.path, f"{what}, got {shown(text)}", number)
    raise DataError(source.path, "no line @data", number)


def _read_attribute(source: Source, text: str, number: int) -> Attribute:
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        what = f'expected "@attribute name type", got {shown(text)}'
        raise DataError(source.path, what, number)
    quoted = match["single"] if match["single"] is not None else match["double"]
    name = match["bare"] if quoted is None else _ESCAPED.sub(r"\1", quoted)
    if not name:
        raise DataError(source.path, "an attribute without name", number)
    return Attribute(name, match["type"], number)


def attribute_line(name: str) -> bytes:
    """Return the declaration of a numeric column; raises UsageError where no line can hold it."""
    if not name or "\n" in name or not encodes(name):
        raise UsageError(f"{shown(name)} cannot be the name of an ARFF attribute")
    if not _PLAIN.fullmatch(name):
        mark = '"' if "'" in name and '"' not in name else "'"
        name = mark + re.sub(rf"([\\{mark}])", r"\\\1", name) + mark
    return f"@attribute {name} numeric\n".encode()


Numbered = tuple[int, str]

_VALUE = r"""(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|[^,\s"'{}]*+)"""
# Checked before liac-arff sees it, which takes exponential time to refuse a type.
_NOMINAL = re.compile(rf"\{{\s*+{_VALUE}\s*+(?:,\s*+{_VALUE}\s*+)*+\}}")


class Instance(NamedTuple):
    """A row with its line number: values by column, sparse ones without the omitted value.

    A value is a float, a text (of a nominal column) or None (missing).
    """

    line: int
    text: str
    values: Any


class Instances(NamedTuple):
    """kinds: of each column its nominal values, or None where it is numeric."""

    kinds: list[list[str] | None]
    sparse: bool
    rows: Iterator[Instance]


class _Feed:
    """Lines on their way to liac-arff; knows the last one that it took."""

    def __init__(self, lines: Iterator[Numbered]) -> None:
        self.lines = lines
        self.number, self.text = 0, ""

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        self.number, self.text = next(self.lines)
        return self.text


def decoded(
    source: Source, attributes: Sequence[Attribute], lines: Iterator[Numbered]
) -> Instances:
    """Decode the lines after ``@data``; the first row decides whether rows are sparse.

    Raises UsageError where liac-arff is not installed, DataError at a type that is neither
    numeric nor nominal. A row that cannot be decoded is reported.
    """
    first = next((pair for pair in lines if _is_row(pair[1])), None)
    sparse = first is not None and first[1].lstrip().startswith("{")
    head = [(0, "@relation r")]
    for place, attribute in enumerate(attributes):
        if attribute.type.startswith("{") and not _NOMINAL.fullmatch(attribute.type):
            raise _no_type(source, attribute.type, attribute.line)
        # liac-arff would cut integers down: 1.5 to 1, in silence.
        kind = "numeric" if attribute.type.lower() == "integer" else attribute.type
        head.append((attribute.line, f"@attribute a{place} {kind}"))
    head.append((0, "@data"))
    feed = _Feed(chain([] if first is None else [first], lines))
    declared = _start(source, _Feed(iter(head)), sparse)["attributes"]
    kinds = [_kind(source, *pair) for pair in zip(attributes, declared, strict=True)]
    return Instances(kinds, sparse, _rows(source, head, feed, sparse, attributes, kinds))


def _is_row(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("%")


def _start(source: Source, feed: _Feed, sparse: bool) -> dict[str, Any]:
    """Have the head decoded; the rows are decoded when they are asked for."""
    arff = optional("arff", "ARFF needs the library liac-arff: pip install 'hiertopics[arff]'")
    try:
        started: dict[str, Any] = arff.ArffDecoder().decode(
            feed, return_type=arff.LOD_GEN if sparse else arff.DENSE_GEN
        )
        return started
    # Besides its own errors liac-arff lets almost anything through.
    except Exception as error:
        raise _no_type(source, feed.text.split(" ", 2)[2], feed.number) from error


def _no_type(source: Source, text: str, line: int) -> DataError:
    what = "expected numeric, real, integer or {value, ...} as the type of the attribute"
    return DataError(source.path, f"{what}, got {shown(text)}", line)


def _kind(source: Source, attribute: Attribute, declared: tuple[str, Any]) -> list[str] | None:
    if declared[1] == "STRING":
        what = f"the attribute {shown(attribute.name)} holds texts, which are no numbers"
        raise DataError(source.path, f"{what}; remove that column", attribute.line)
    if not isinstance(declared[1], list):
        return None
    if None in declared[1]:
        what = f"one of the values of the attribute {shown(attribute.name)} is empty or ?"
        raise DataError(source.path, what, attribute.line)
    return [str(value) for value in declared[1]]


def _rows(
    source: Source,
    head: list[Numbered],
    feed: _Feed,
    sparse: bool,
    attributes: Sequence[Attribute],
    kinds: list[list[str] | None],
) -> Iterator[Instance]:
    while True:
        feed.lines = chain(head, feed.lines)
        try:
            for values in _start(source, feed, sparse)["data"]:
                yield Instance(feed.number, feed.text, values)
            return
        except DataError:
            raise
        except Exception as error:
            what = _explained(error, feed.text, sparse, attributes, kinds)
            source.report(DataError(source.path, what, feed.number))


def _explained(
    error: Exception,
    text: str,
    sparse: bool,
    attributes: Sequence[Attribute],
    kinds: list[list[str] | None],
) -> str:
    """Return in words why liac-arff did not take a row; its own words quote whole rows."""
    name = type(error).__name__
    values = [value.strip() for value in text.strip().split(",")]
    if name == "BadDataFormat" and not sparse:
        return f"expected {len(attributes)} values, one per attribute, got {len(values)}"
    if not sparse and len(values) == len(attributes):
        for attribute, kind, value in zip(attributes, kinds, values, strict=True):
            if kind is None and not NUMBER.fullmatch(value) and value != "?":
                return f"expected a number for {shown(attribute.name)}, got {shown(value)}"
            if kind is not None and value not in (*kind, "?"):
                return f"{shown(attribute.name)} is declared without the value {shown(value)}"
    wanted = "{column value, ...}" if sparse else "values between commas"
    known = {
        "BadDataFormat": f"a column outside 0 to {len(attributes) - 1} in",
        "BadNominalValue": "a value that its attribute does not declare in",
        "BadNumericalValue": "a value that is no number in",
    }
    return f"{known.get(name, f'expected {wanted}, got')} {shown(text.strip())}"
