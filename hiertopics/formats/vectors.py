"""Dense tables of numbers: ``.npy`` as numpy saves them, or a text of rows and columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus, Tags
from hiertopics.data.vectors import Vectors, default_columns, to_vectors
from hiertopics.errors import DataError, UsageError
from hiertopics.formats.opening import opened
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

MAGIC = b"\x93NUMPY"


def read(source: Source, vocab: tuple[str, ...] | None) -> Vectors:
    """Read a table; ``vocab``, else a header, names the columns that are no class column.

    Raises DataError where the file is no table of finite numbers or ``vocab`` has another length.
    """
    with opened(source.path) as file:
        saved = file.read(len(MAGIC)) == MAGIC
    rows, columns, classes = _read_npy(source) if saved else read_table(source)
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


def _read_npy(source: Source) -> Table:
    stored = _load(source)
    if stored.dtype.kind not in "biuf" or stored.ndim != 2 or stored.shape[1] == 0:
        what = f"expected rows x columns of numbers, got {stored.dtype} of shape {stored.shape}"
        raise DataError(source.path, what)
    rows = stored.astype(np.float64)
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


def _load(source: Source) -> NDArray[np.generic]:
    with opened(source.path) as file:
        try:
            stored: NDArray[np.generic] = np.lib.format.read_array(file, allow_pickle=False)
            return stored
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
