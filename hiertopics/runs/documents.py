"""Facts about training documents that a run keeps: names, marks, metadata, snippets.

A line of documents.jsonl for each, in the order of theta; so that a run can be given away, and its
topics be read, without the corpus.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base import files
from hiertopics.base.arrays import I64
from hiertopics.base.stretches import ends_of
from hiertopics.corpus.data import Bags, Tags, Vectors
from hiertopics.corpus.formats.sidefiles import in_order

DOCUMENTS = "documents.jsonl"
MARKS = ("groups", "labels")


class DocumentRecords(NamedTuple):
    """Facts about training documents, an entry each; None if there are none.

    tags: groups and labels, by these words, and columns of metadata by their own names.
    """

    names: tuple[str, ...] | None
    tags: Mapping[str, Tags]
    snippets: tuple[str, ...] | None


def by_field(tags: Mapping[str, Tags], data: Any) -> dict[str, Tags]:
    """Return columns in which groups and labels are called as the fields of the texts they are of.

    Those of files of their own, and of fields that are called as another column, keep their names.
    data: the section of the config.
    """
    fields = {"groups": data.group_field, "labels": data.label_field}
    own = {mark: field for mark, field in fields.items() if field and field not in tags}
    return {own.get(name, name): column for name, column in tags.items()}


def documents_lines(train: Bags | Vectors, rows: I64) -> Iterator[bytes] | None:
    """Return the lines of documents.jsonl; None where there is nothing but numbers.

    rows: int64 [n_docs], the place of each training document in the corpus, from 0.
    """
    snippets = None if isinstance(train, Vectors) else train.snippets
    columns: dict[str, Any] = {"name": train.doc_ids, "snippet": snippets}
    columns |= {name: tags.by_row for name in MARKS if (tags := getattr(train, name)) is not None}
    fields = {name: tags.by_row for name, tags in getattr(train, "metadata", {}).items()}
    if fields:
        columns["metadata"] = [
            {name: _short(column[doc]) for name, column in fields.items()}
            for doc in range(len(rows))
        ]
    given = {name: column for name, column in columns.items() if column is not None}
    if not given:
        return None
    lines = (
        {"doc": int(row) + 1, **{name: column[place] for name, column in given.items()}}
        for place, row in enumerate(rows)
    )
    return (f"{files.to_json(line)}\n".encode() for line in lines)


def first_columns(path: Path) -> list[str]:
    """Return the marks and the columns of metadata that the first line of documents.jsonl has.

    Raises OSError or ValueError where it cannot be read.
    """
    with path.open("rb") as stream:
        line = json.loads(stream.readline())
    return [*line.get("metadata", {}), *(name for name in MARKS if name in line)]


def read_documents(path: Path, n_docs: int) -> DocumentRecords:
    """Inverse of ``documents_lines``; raises RunError where the file is not that of ``n_docs``."""
    with files.readable(path, OSError, ValueError, TypeError, LookupError, RecursionError):
        # Of text splitlines would also cut where a name holds U+2028 or the like.
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        n_lines = len([line["doc"] for line in lines])
        if n_lines != n_docs:
            raise ValueError(f"{n_lines} lines, but the run has {n_docs} documents")
        tags = _metadata(lines)
        for name in MARKS:
            if lines and name in lines[0]:
                tags[name] = _tags([line[name] for line in lines])
        return DocumentRecords(_texts(lines, "name"), tags, _texts(lines, "snippet"))


def _texts(lines: list[dict[str, Any]], name: str) -> tuple[str, ...] | None:
    if not lines or name not in lines[0]:
        return None
    texts = tuple(line[name] for line in lines)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError(f"an entry {name} is no text")
    return texts


def _short(values: list[str]) -> Any:
    """Return the values of one document: a text, a list of several, None of none."""
    return None if not values else values[0] if len(values) == 1 else values


def _metadata(lines: list[dict[str, Any]]) -> dict[str, Tags]:
    if not lines or "metadata" not in lines[0]:
        return {}
    found = {}
    for name in lines[0]["metadata"]:
        told = [line["metadata"][name] for line in lines]
        found[name] = _tags(
            [one if isinstance(one, list) else [one] * (one is not None) for one in told]
        )
    return found


def _tags(values: list[list[str]]) -> Tags:
    """Return the marks of documents; only what marks one of them has a column."""
    if not all(isinstance(value, str) for value in _flat(values)):
        raise ValueError("a mark is no text")
    known = {value: place for place, value in enumerate(in_order(set(_flat(values))))}
    indices = np.array([known[value] for value in _flat(values)], dtype=np.int32)
    ends = ends_of([len(own) for own in values])
    marks = np.ones(len(indices), dtype=bool)
    shape = (len(values), len(known))
    return Tags(sparse.csr_array((marks, indices, ends), shape=shape), tuple(known))


def _flat(values: list[list[str]]) -> Iterator[str]:
    for own in values:
        yield from own
