"""Metadata of documents in records: years, authors, kinds, as columns of marks."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from hiertopics.corpus.data.corpus import Tags
from hiertopics.corpus.data.names import flaw
from hiertopics.corpus.formats.sidefiles import TagTable, encodes

LONGEST = 200
"""Letters of a value; a field with a longer one, or a nested one, is text and no metadata."""

NO_VALUE = frozenset(("nan", "<na>"))
"""Texts of data frames for a missing value, in small letters."""

TITLES = (
    "title",
    "headline",
    "subject",
    "slug",
    "url",
    "link",
    "uri",
    "doi",
    "path",
    "file",
    "key",
)
"""Columns that name documents where their values are unique, the first ones first; any case."""

FEWEST_NAMED = 20
"""Documents from which on a unique column of another name counts as names."""

NUMBER_OR_DATE = re.compile(r"[+-]?[\d.,]+|\d{1,4}[-./]\d{1,2}([-./]\d{1,4})?([T ]\d.*)?")
"""A value that measures or dates a document, and does not name it."""

MOST_CELLS = 1 << 24
TIMES_VALUES = 16
"""Cells (documents x fields) that are kept: so many, or so many times the values that are given.

All cells of a table are kept. Where each record has fields of its own, all cells would take
quadratic room.
"""


class _FieldColumn:
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
        self._columns: dict[str, _FieldColumn | None] = {}
        self._n_docs = 0

    def add(self, values: Mapping[str, Any]) -> None:
        """Add a document; a field that others lack is empty for them."""
        for field, value in values.items():
            if field not in self._columns:
                self._columns[field] = _FieldColumn()
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


def naming_column(columns: Mapping[str, Tags], n_docs: int) -> str | None:
    """Return the column that names documents: each has a value, and no two have the same one.

    The first one of ``TITLES``, else the first column of texts, neither numbers nor dates, if there
    are ``FEWEST_NAMED`` documents. None where there is none.
    """
    unique = [name for name, tags in columns.items() if _is_unique(tags, n_docs)]
    known = [name for title in TITLES for name in unique if name.lower() == title]
    if known or n_docs < FEWEST_NAMED:
        return known[0] if known else None
    texts = (name for name in unique if not all(map(NUMBER_OR_DATE.fullmatch, columns[name].names)))
    return next(texts, None)


def _is_unique(tags: Tags, n_docs: int) -> bool:
    values = tags.members
    return values.nnz == len(tags.names) == n_docs and bool((np.diff(values.indptr) == 1).all())


def names_in(tags: Tags) -> tuple[str, ...]:
    """Return the value of each document of a column that ``naming_column`` names."""
    return tuple(name for (name,) in tags.by_row)


def parted(tags: Tags, mark: str) -> Tags:
    """Return a column whose values hold several, with a mark between them, with these as values."""
    table = TagTable()
    for values in tags.by_row:
        table.add(part for value in values for part in parts_of(value, mark))
    return table.tags()


def parts_of(value: str, mark: str) -> list[str]:
    """Return the parts of a value with a mark between them, without empty ones."""
    return [part for text in value.split(mark) if (part := text.strip())]


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
        if text and text.lower() not in NO_VALUE:
            told.append(" ".join(text.split()))
    return told
