"""Dense tables of numbers: ``.npy`` as numpy saves them, or a text of rows and columns."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus, Tags
from hiertopics.data.vectors import Vectors, default_columns, to_vectors
from hiertopics.errors import DataError, UsageError
from hiertopics.formats.counting import refuse_inflated, room_for
from hiertopics.formats.opening import begun, is_plain, opened
from hiertopics.formats.sidefiles import TagTable
from hiertopics.formats.source import Source, unpacked
from hiertopics.formats.tables import (
    Table,
    class_name,
    label_index,
    number_text,
    read_table,
    table_lines,
)
from hiertopics.units import format_bytes

MAGIC = b"\x93NUMPY"
HEAD_BYTES = 16384
"""More than numpy reads as the head of an array."""


def read(source: Source, vocab: tuple[str, ...] | None) -> Vectors:
    """Read a table; ``vocab``, else a header, names the columns that are no class column.

    Raises DataError where the file is no table of finite numbers or ``vocab`` has another length.
    """
    with opened(source.path) as file:
        head, whole = begun(file, HEAD_BYTES)
        if head.startswith(MAGIC):
            rows, columns, classes = _read_npy(source, head, whole)
        else:
            rows, columns, classes = read_table(source, whole)
    return Vectors(
        rows,
        columns_of(source, rows.shape[1], columns, vocab),
        labels=None if classes is None else tags_of(classes),
    )


def columns_of(
    source: Source, n_columns: int, own: tuple[str, ...] | None, vocab: tuple[str, ...] | None
) -> tuple[str, ...]:
    """Return the names of the columns: the vocabulary's, else the file's own, else ``x0 x1 ...``.

    Reports a vocabulary of another length.
    """
    if vocab is not None and len(vocab) != n_columns:
        what = f"{n_columns} columns, but {source.vocab} holds {len(vocab)} names"
        source.report(DataError(source.path, what))
        vocab = None
    return vocab or own or default_columns(n_columns)


def tags_of(classes: list[str]) -> Tags:
    """Return the classes as labels, one per row; an empty one is no label."""
    table = TagTable()
    for name in classes:
        table.add([name] if name else [])
    return table.tags()


def _read_npy(source: Source, head: bytes, file: IO[bytes]) -> Table:
    shape, dtype = _announced(source, head, file)
    if dtype.kind not in "biuf" or len(shape) != 2 or shape[1] == 0:
        what = f"expected rows x columns of numbers, got {dtype} of shape {shape}"
        raise DataError(source.path, what)
    announced = f"{shape[0]} rows x {shape[1]} columns announced:"
    size = shape[0] * shape[1] * max(dtype.itemsize, 8)
    if not is_plain(file) and source.path.is_file():
        refuse_inflated(source, announced, size, source.path.stat().st_size)
    with room_for(source, f"{announced} about {format_bytes(size)} of memory"):
        return _table_of(source, _load(source, file))


def _table_of(source: Source, stored: NDArray[np.generic]) -> Table:
    rows = stored.astype(np.float64, copy=False)
    wrong = np.argwhere(~np.isfinite(rows))
    if len(wrong):
        row, column = wrong[0]
        what = f"expected finite numbers, got {rows[row, column]} in row {row}, column {column}"
        raise DataError(source.path, f"{what} (from 0)")
    label = label_index(source, rows.shape[1], None)
    if label is None:
        return Table(rows, None, None)
    classes = [class_name(number_text(value)) for value in rows[:, label].tolist()]
    return Table(np.delete(rows, label, axis=1), None, classes)


def _announced(
    source: Source, head: bytes, file: IO[bytes]
) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of the array that opens with ``head``, before it is read."""
    with _no_array(source):
        stream = io.BytesIO(head)
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0
        # The third version differs from the second in names of fields, which no table has.
        if version != (1, 0):
            read = np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
        if dtype.hasobject:
            raise ValueError("objects need pickle")
        if is_plain(file) and math.prod(shape) * dtype.itemsize > os.fstat(file.fileno()).st_size:
            raise ValueError("the file is shorter than the array")
    return shape, dtype


def _load(source: Source, file: IO[bytes]) -> NDArray[np.generic]:
    with _no_array(source):
        stored: NDArray[np.generic] = np.lib.format.read_array(file, allow_pickle=False)
    return stored


@contextmanager
def _no_array(source: Source) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise
    # A damaged header makes ast, tokenize and numpy raise almost anything.
    except Exception as error:
        what = "not an array as numpy.save writes it (without pickle)"
        raise DataError(source.path, what) from error


def writer_for(path: Path) -> Callable[[Corpus | Vectors, IO[bytes]], None]:
    """Return what writes a file of this name: ``.npy`` as numpy does, any other name as text."""
    return write if unpacked(path.name).lower().endswith(".npy") else write_text


def write(data: Corpus | Vectors, file: IO[bytes]) -> None:
    """Write the rows as an array; names and marks have files of their own."""
    np.lib.format.write_array(file, _table(data).rows, allow_pickle=False)


def write_text(data: Corpus | Vectors, file: IO[bytes]) -> None:
    """Write the rows as lines of numbers between commas, without header."""
    file.writelines(table_lines(_table(data).rows))


def _table(data: Corpus | Vectors) -> Vectors:
    vectors = to_vectors(data) if isinstance(data, Corpus) else data
    if vectors.n_columns == 0:
        raise UsageError("a table without columns cannot be written")
    return vectors
