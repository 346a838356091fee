"""Dense tables of numbers: ``.npy`` as numpy saves them, or a text of rows and columns.

In a text commas stand between numbers if the first line has any, else tabs or blanks. A first line
that holds names only is a header. As in LDA-C, numpy reads a block at once and only an unusual
block is read again cell by cell.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import F64
from hiertopics.base.errors import DataError, UsageError
from hiertopics.base.units import format_bytes
from hiertopics.corpus.data import Corpus, Tags, Vectors, default_columns, to_vectors
from hiertopics.corpus.formats.counting import listed, only, refuse_inflated, room_for, shown
from hiertopics.corpus.formats.opening import (
    Block,
    begun,
    blocks_of,
    is_plain,
    opened,
    without_blank_end,
)
from hiertopics.corpus.formats.sidefiles import TagTable
from hiertopics.corpus.formats.source import Source, unpacked

MAGIC = b"\x93NUMPY"
NO_ARRAY = "not an array as numpy.save writes it (without pickle)"
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
    """Return the classes as labels, one per row; an empty class is no label."""
    table = TagTable()
    for name in classes:
        table.add([name] if name else [])
    return table.tags()


def _read_npy(source: Source, head: bytes, file: IO[bytes]) -> VectorTable:
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


def _table_of(source: Source, stored: NDArray[np.generic]) -> VectorTable:
    rows = stored.astype(np.float64, copy=False)
    wrong = np.argwhere(~np.isfinite(rows))
    if len(wrong):
        row, column = wrong[0]
        what = f"expected finite numbers, got {rows[row, column]} in row {row}, column {column}"
        raise DataError(source.path, f"{what} (from 0)")
    label = label_index(source, rows.shape[1], None)
    if label is None:
        return VectorTable(rows, None, None)
    classes = [class_name(number_text(value)) for value in rows[:, label].tolist()]
    return VectorTable(np.delete(rows, label, axis=1), None, classes)


def _announced(
    source: Source, head: bytes, file: IO[bytes]
) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of the array that opens with ``head``, before it is read."""
    with only(source, NO_ARRAY):
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
    with only(source, NO_ARRAY):
        stored: NDArray[np.generic] = np.lib.format.read_array(file, allow_pickle=False)
    return stored


def writer_for(path: Path) -> Callable[[Corpus | Vectors, IO[bytes]], None]:
    """Return the writer for a file name: ``.npy`` as numpy does, any other name as text."""
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


NUMBER = re.compile(r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")
NO_NUMBER = ("nan", "inf", "infinity", "?", "na", "null", "none")
LARGEST_CLASS = 1e15


class VectorTable(NamedTuple):
    """Contents of a file: rows float64 [n_rows, n_columns], column names, classes of rows."""

    rows: F64
    columns: tuple[str, ...] | None
    classes: list[str] | None


class _Layout(NamedTuple):
    """Content of the first line: separator (None: any white space), cells, class column."""

    separator: str | None
    n_cells: int
    label: int | None

    def cells(self, line: str) -> list[str]:
        return line.split(self.separator)

    def without_label(self, cells: list[str]) -> list[str]:
        return cells if self.label is None else cells[: self.label] + cells[self.label + 1 :]


class _RowBlock(NamedTuple):
    rows: F64
    classes: list[str]


def read_table(source: Source, file: IO[bytes]) -> VectorTable:
    """Read the numbers in the text ``file``, and the class column, if one is named, separately.

    Raises DataError naming the line of whatever is no finite number or of another length.
    """
    stream = without_blank_end(blocks_of(source.path, file))
    number, block = next(stream, (1, b""))
    if not block:
        raise DataError(source.path, "holds no rows")
    first, rest = block.split(b"\n", 1)
    layout, header = _first_line(source, first)
    if header is None:
        stream = chain([(number, block)], stream)
    elif rest:
        stream = chain([(number + 1, rest)], stream)
    parts = [_read_block(source, layout, block) for block in stream]
    if not parts:
        raise DataError(source.path, "holds no rows below its header")
    return VectorTable(
        np.concatenate([part.rows for part in parts]),
        None if header is None else tuple(layout.without_label(header)),
        None if layout.label is None else [name for part in parts for name in part.classes],
    )


def label_index(source: Source, n_columns: int, names: list[str] | None) -> int | None:
    """Return the number, from 0, of the column that ``label_column`` names by number or name.

    Raises DataError where there is no such column or no other one.
    """
    wanted = source.label_column
    if wanted is None:
        return None
    if (column := _column_number(wanted)) is None:
        if names is None:
            what = f"no header names a column {wanted!r}; data.label_column may be its number"
            raise DataError(source.path, what)
        column = names.index(wanted) if wanted in names else n_columns
    if not -n_columns <= column < n_columns:
        there = "" if names is None else f": {listed(names)}"
        what = f"data.label_column: no column {wanted!r} among the {n_columns} columns{there}"
        raise DataError(source.path, what)
    if n_columns == 1:
        raise DataError(source.path, "holds one column, and data.label_column takes it out")
    return column % n_columns


def class_name(text: str) -> str:
    """Return the name of a class: whole numbers without a point (``3`` for ``3.0``)."""
    text = text.strip()
    if NUMBER.fullmatch(text) and abs(value := float(text)) < LARGEST_CLASS:
        return str(int(value)) if value.is_integer() else text
    return text


def _column_number(wanted: str) -> int | None:
    return int(wanted) if re.fullmatch("-?[0-9]{1,9}", wanted) else None


def _first_line(source: Source, line: bytes) -> tuple[_Layout, list[str] | None]:
    """Return the layout of the rows, and the header if there is one."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise DataError(source.path, "not UTF-8 text; convert it first", 1) from error
    if not text.strip():
        raise DataError(source.path, "blank line where the first row should be", 1)
    separator = "," if "," in text else None
    names = _names(text)
    if not _is_header(source, names):
        n_cells = len(text.split(separator))
        return _Layout(separator, n_cells, label_index(source, n_cells, None)), None
    layout = _Layout(separator, len(names), label_index(source, len(names), names))
    columns = layout.without_label(names)
    seen: set[str] = set()
    for name in columns:
        if not name or name in seen:
            what = "a column without name" if not name else f"two columns are called {shown(name)}"
            raise DataError(source.path, f"{what} in the header", 1)
        seen.add(name)
    return layout, names


def _names(text: str) -> list[str]:
    if "," in text:
        try:
            return [name.strip() for name in next(csv.reader([text]))]
        except csv.Error:
            return [name.strip() for name in text.split(",")]
    return [name.strip() for name in text.split("\t")] if "\t" in text else text.split()


def _is_header(source: Source, names: list[str]) -> bool:
    """Tell whether a line holds names alone, the class column aside."""
    label = None if source.label_column is None else _column_number(source.label_column)
    if label is None and source.label_column in names:
        return True
    if label is not None and -len(names) <= label < len(names):
        label %= len(names)
        names = names[:label] + names[label + 1 :]
    return any(map(_is_name, names)) and all(_is_name(name) or not name for name in names)


def _is_name(cell: str) -> bool:
    """Tell whether a cell is a name: neither a number nor a text for a missing number."""
    cell = cell.strip()
    sign = cell.lstrip("+-").lower()
    return bool(cell) and not NUMBER.fullmatch(cell) and sign not in NO_NUMBER


def _read_block(source: Source, layout: _Layout, block: Block) -> _RowBlock:
    number, text = block
    lines = text.decode(errors="backslashreplace")[:-1].split("\n")
    return _read_fast(layout, lines) or _read_slowly(source, layout, lines, number)


def _read_fast(layout: _Layout, lines: list[str]) -> _RowBlock | None:
    """Read lines that are in perfect order; return None for any other."""
    classes: list[str] = []
    if layout.label is not None:
        table = [layout.cells(line) for line in lines]
        if any(len(cells) != layout.n_cells for cells in table):
            return None
        classes = [class_name(cells.pop(layout.label)) for cells in table]
        lines = [(layout.separator or " ").join(cells) for cells in table]
    if any(not line or line.isspace() for line in lines):
        return None
    try:
        rows = np.loadtxt(lines, delimiter=layout.separator, comments=None, ndmin=2)
    except ValueError:
        return None
    n_columns = layout.n_cells - (layout.label is not None)
    if rows.shape != (len(lines), n_columns) or not np.isfinite(rows).all():
        return None
    return _RowBlock(rows, classes)


def _read_slowly(source: Source, layout: _Layout, lines: list[str], first: int) -> _RowBlock:
    """Read lines cell by cell and report each mistake."""
    rows, classes = [], []
    for number, line in enumerate(lines, first):
        cells = layout.cells(line)
        try:
            values = [_value(cell) for cell in layout.without_label(_complete(layout, cells))]
        except ValueError as error:
            source.report(DataError(source.path, str(error), number))
            continue
        rows.append(values)
        if layout.label is not None:
            classes.append(class_name(cells[layout.label]))
    n_columns = layout.n_cells - (layout.label is not None)
    return _RowBlock(np.array(rows, dtype=np.float64).reshape(len(rows), n_columns), classes)


def _complete(layout: _Layout, cells: list[str]) -> list[str]:
    if len(cells) != layout.n_cells:
        raise ValueError(
            f"expected {layout.n_cells} columns as on the first line, got {len(cells)}"
        )
    return cells


def _value(cell: str) -> float:
    cell = cell.strip()
    if not NUMBER.fullmatch(cell):
        hint = "; data.label_column names a column of classes" if _is_name(cell) else ""
        raise ValueError(f"expected a number, got {shown(cell)}{hint}")
    value = float(cell)
    if not math.isfinite(value):
        raise ValueError(f"expected a number below 1.8e308, got {shown(cell)}")
    return value


def table_lines(rows: F64) -> Iterator[bytes]:
    """Yield rows [n_docs, n_columns] as lines of numbers between commas that read back equal."""
    for row in rows.tolist():
        yield (",".join(map(number_text, row)) + "\n").encode()


def number_text(value: float) -> str:
    """Return the shortest text of a finite number that reads back equal, ``3`` for 3.0."""
    return str(int(value)) if value.is_integer() and abs(value) < LARGEST_CLASS else repr(value)
