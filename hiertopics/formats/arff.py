"""ARFF, dense and sparse, as WEKA and MULAN use it.

A row is ``v,v,...`` or ``{column v,column v,...}``, columns from 0. Columns are attributes:
numbers, or nominal ones whose values are numbers. Label columns are taken out: those that an XML
file names (0 or 1 each), with one ``label`` element for each, or one column of classes
(``label_column``).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple
from xml.etree.ElementTree import ParseError, XMLParser

import numpy as np
from scipy import sparse

from hiertopics.data.corpus import Corpus, Tags
from hiertopics.data.vectors import MAX_CELLS, Vectors
from hiertopics.errors import DataError, UsageError
from hiertopics.formats.counting import MAX_COUNT, shown
from hiertopics.formats.instances import (
    Attribute,
    Instance,
    Instances,
    attribute_line,
    decoded,
    read_attributes,
)
from hiertopics.formats.opening import lines, opened
from hiertopics.formats.source import Source, names_columns
from hiertopics.formats.tables import NUMBER, class_name, label_index, table_lines
from hiertopics.formats.vectors import columns_of, tags_of

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
    """Which columns are features, which labels, and which one holds classes."""

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
