"""AnnData on disk (``.h5ad``): cells x genes in HDF5, read by h5py (extra ``anndata``).

The layout is that of anndata since 0.7, where each group says by ``encoding-type`` what it holds
(https://anndata.readthedocs.io/en/latest/fileformat-prose.html). Cells are documents, genes words.
A matrix that is stored by rows is read some rows at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.arrays import I64
from hiertopics.base.errors import DataError, UsageError, optional
from hiertopics.base.stretches import stretches
from hiertopics.corpus.data import Corpus, made_unique, unique_note
from hiertopics.corpus.formats.counting import (
    MAX_COUNT,
    MAX_DOCS,
    CountedPairs,
    count_matrix,
    joined,
    listed,
    refuse_inflated,
    room_for,
    size_announced,
    words_of,
)
from hiertopics.corpus.formats.drafts import CorpusDraft, CorpusFacts
from hiertopics.corpus.formats.metadata import Metadata
from hiertopics.corpus.formats.opening import require_file
from hiertopics.corpus.formats.sidefiles import encodes
from hiertopics.corpus.formats.source import Source

SIGNATURE = b"\x89HDF\r\n\x1a\n"
STUMBLES = (
    OSError,
    LookupError,
    ArithmeticError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,
)
"""Errors that the library raises on a damaged file or on one with another layout."""

COUNTS = "counts"
"""The layer that holds the counts where X is something else, as is the custom."""
MATRIX = "X"
BLOCK_ENTRIES = 1 << 20
"""Stored numbers that are in memory at a time, a longer row apart."""


class _Matrix(NamedTuple):
    """Numbers of cells x genes. blocks: makes rows in CSR, in order; note: where they come from."""

    shape: tuple[int, int]
    blocks: Callable[[], Iterator[sparse.csr_array]]
    name: str
    note: tuple[str, ...]


class _Head(NamedTuple):
    """The tables around the counts, read before the counts. cells: names of documents."""

    matrix: _Matrix
    cells: tuple[str, ...]
    words: tuple[str, ...]
    notes: tuple[str, ...]


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus:
    """Read the counts, the names of cells and genes, and the columns of ``obs`` as metadata.

    ``vocab`` renames the genes; else several of one name are told apart as anndata's
    ``var_names_make_unique`` does, and a note says so. Raises DataError where the file is no such
    table or its numbers are no counts; UsageError where h5py is not installed, or there is no such
    layer.
    """
    with _opened(source) as (file, h5py):
        matrix, cells, words, notes = _head(source, file, h5py, vocab)
        with room_for(source, size_announced(*matrix.shape, named=True)):
            counts = count_matrix(*joined(_pairs(source, matrix, cells)), len(words))
            metadata = _metadata(source, file["obs"], h5py, len(cells)) if source.metadata else {}
    return Corpus(counts, words, cells, notes=notes, metadata=metadata)


def draft(source: Source, vocab: tuple[str, ...] | None, into: CorpusDraft) -> CorpusFacts:
    """Read as ``read`` does, some cells at a time; metadata are not kept."""
    with _opened(source) as (file, h5py):
        matrix, cells, words, notes = _head(source, file, h5py, vocab)
        for name in cells:
            into.add_name(name)
        for pairs in _pairs(source, matrix, cells):
            into.add(pairs)
    return CorpusFacts(words, None, into.names(), notes=notes)


@contextmanager
def _opened(source: Source) -> Iterator[tuple[Any, Any]]:
    """Open the file; whatever h5py stumbles over is a mistake of the file."""
    require_file(source.path)
    if not source.path.is_file():
        what = "an .h5ad file cannot be read from a pipe; write it to a file first"
        raise DataError(source.path, what)
    with source.path.open("rb") as raw:
        if raw.read(len(SIGNATURE)) != SIGNATURE:
            raise DataError(source.path, "not an .h5ad file (HDF5); unpack it if it is packed")
    h5py = optional("h5py", "h5ad needs h5py: pip install 'hiertopics[anndata]'")
    try:
        with h5py.File(source.path, "r") as file:
            yield file, h5py
    except STUMBLES as error:
        told = " ".join(str(error).split())[:120]
        raise DataError(source.path, f"damaged, or no AnnData since 0.7 ({told})") from error


def _bounded(source: Source, held: Any, n_rows: int | None = None) -> Any:
    """Return an array; raises DataError where it announces far more than the file can hold.

    n_rows: those of a table that are in memory at a time. A chunk is unpacked as a whole.
    """
    rows = len(held) if n_rows is None else min(n_rows, len(held))
    across = math.prod(held.shape[1:])
    size = max(rows * across, math.prod(held.chunks or ())) * held.dtype.itemsize
    packed = source.path.stat().st_size
    refuse_inflated(source, f"{held.name.strip('/')} announces", size, packed)
    return held


def _head(source: Source, file: Any, h5py: Any, vocab: tuple[str, ...] | None) -> _Head:
    """Return the names, shapes and columns of the file, which are read before its numbers."""
    missing = [part for part in ("obs", "var") if not isinstance(file.get(part), h5py.Group)]
    if missing:
        what = f"no AnnData since 0.7: {missing[0]} is no table; there are {listed(list(file))}"
        raise DataError(source.path, what)
    matrix = _matrix(source, file, h5py)
    cells, genes = _names(source, file["obs"], h5py), _names(source, file["var"], h5py)
    if matrix.shape != (len(cells), len(genes)):
        what = f"{matrix.name} is {matrix.shape[0]} x {matrix.shape[1]}, but there are "
        raise DataError(source.path, f"{what}{len(cells)} cells and {len(genes)} genes")
    if len(cells) > MAX_DOCS:
        raise DataError(source.path, f"{len(cells)} cells, at most {MAX_DOCS} can be read")
    if vocab is not None:
        return _Head(matrix, cells, words_of(source, len(genes), vocab), matrix.note)
    words = made_unique(genes)
    return _Head(matrix, cells, words, (*matrix.note, *unique_note(genes, words, "genes")))


def _matrix(source: Source, file: Any, h5py: Any) -> _Matrix:
    layers = list(file["layers"]) if "layers" in file else []
    name = source.layer or (COUNTS if COUNTS in layers else MATRIX)
    if name != MATRIX and name not in layers:
        has = f"there are {listed([MATRIX, *layers])}"
        raise UsageError(f"{source.path} has no layer {name!r}; {has}")
    if name == MATRIX and MATRIX not in file:
        raise DataError(source.path, f"holds no X; its layers are {listed(layers) or 'none'}")
    unasked = source.layer is None and name == COUNTS
    note = (f"counts are those of the layer {COUNTS!r} (data.layer takes another)",) * unasked
    held = file[MATRIX] if name == MATRIX else file["layers"][name]
    if isinstance(held, h5py.Dataset):
        if held.ndim != 2:
            raise DataError(source.path, f"{name} is no table of cells x genes")
        step = max(1, BLOCK_ENTRIES // max(1, held.shape[1]))
        table = _bounded(source, held, step)
        return _Matrix(held.shape, lambda: _dense_blocks(table, step), name, note)
    shape = tuple(int(size) for size in held.attrs["shape"])
    form = held.attrs["encoding-type"]
    if len(shape) != 2 or form not in ("csr_matrix", "csc_matrix"):
        raise DataError(source.path, f"{name} is stored as {form!s:.40}, not as a table of numbers")
    by_row = form == "csr_matrix"
    ends = _bounded(source, held["indptr"])[:].astype(np.int64)
    n_stored = len(_bounded(source, held["data"]))
    _bounded(source, held["indices"])
    lines, across = shape if by_row else shape[::-1]
    if (
        len(ends) != lines + 1
        or ends[0] != 0
        or ends[-1] != n_stored
        or len(held["indices"]) != n_stored
        or (np.diff(ends) < 0).any()
    ):
        raise DataError(source.path, f"{name} is damaged: its parts do not fit together")

    def part(first: int, last: int) -> tuple[NDArray[Any], NDArray[Any], I64]:
        inside = slice(ends[first], ends[last])
        places = held["indices"][inside].astype(np.int64)
        if places.min(initial=0) < 0 or places.max(initial=-1) >= across:
            raise DataError(source.path, f"{name} is damaged: a place lies outside of the table")
        return held["data"][inside], places, ends[first : last + 1] - ends[first]

    def rows() -> Iterator[sparse.csr_array]:
        if not by_row:
            yield sparse.csr_array(sparse.csc_array(part(0, lines), shape=shape))
            return
        for first, last in stretches(ends, BLOCK_ENTRIES):
            yield sparse.csr_array(part(first, last), shape=(last - first, across))

    return _Matrix((shape[0], shape[1]), rows, name, note)


def _dense_blocks(held: Any, step: int) -> Iterator[sparse.csr_array]:
    for first in range(0, held.shape[0], step):
        yield sparse.csr_array(held[first : first + step])


def _pairs(source: Source, matrix: _Matrix, cells: Sequence[str]) -> Iterator[CountedPairs]:
    """Yield the counts, some cells at a time; raises DataError at the first that is none."""
    done = 0
    for rows in matrix.blocks():
        values = rows.data
        if values.dtype.kind not in "biuf":
            raise DataError(source.path, f"{matrix.name} holds {values.dtype}, not numbers")
        wrong = ~((values >= 0) & (values <= MAX_COUNT) & (values == np.floor(values)))
        if wrong.any():
            place = int(np.argmax(wrong))
            doc = done + int(np.searchsorted(rows.indptr, place, side="right")) - 1
            what = f"{matrix.name} holds {values[place]:g} in the cell {cells[doc]!r}, which is no "
            hint = "count; name a layer that holds counts (data.layer)"
            raise DataError(source.path, what + hint)
        n_stored = rows.nnz
        rows.sum_duplicates()
        if rows.nnz != n_stored:
            raise DataError(source.path, f"{matrix.name} has a gene twice in a cell")
        rows.eliminate_zeros()
        done += rows.shape[0]
        yield CountedPairs(
            np.diff(rows.indptr).astype(np.int64),
            rows.indices.astype(np.int32),
            rows.data.astype(np.int32),
        )


def _names(source: Source, table: Any, h5py: Any) -> tuple[str, ...]:
    """Return the index of ``obs`` or ``var``."""
    column = table[table.attrs["_index"]]
    names = tuple(map(str, _values(source, column, h5py)))
    if wrong := next((name for name in names if not encodes(name) or "\n" in name), None):
        raise DataError(source.path, f"the name {wrong!r} cannot stand in a line of a file")
    return names


def _values(source: Source, column: Any, h5py: Any) -> Sequence[Any]:
    """Return a column as plain values, None where nothing is known.

    Categories, texts, numbers, and numbers of which some are missing; raises KeyError for others.
    """
    if isinstance(column, h5py.Group):
        if "categories" in column:
            known: list[Any] = [*_values(source, column["categories"], h5py)]
            codes = _bounded(source, column["codes"])[:].tolist()
            if max(codes, default=-1) >= len(known):
                what = f"is damaged: a code is none of its {len(known)} categories"
                raise DataError(source.path, f"{column.name.strip('/')} {what}")
            return [known[code] if code >= 0 else None for code in codes]
        held = _values(source, column["values"], h5py)
        gone = _bounded(source, column["mask"])[:].tolist()
        return [None if left else value for value, left in zip(held, gone, strict=True)]
    if h5py.check_string_dtype(column.dtype) is not None:
        return list(_bounded(source, column).asstr()[:])
    values = _bounded(source, column)[:].tolist()
    return [None if value != value else value for value in values]


def _metadata(source: Source, table: Any, h5py: Any, n_cells: int) -> Mapping[str, Any]:
    """Return the columns of ``obs`` as fields of raw text are kept, but those of other kinds."""
    columns = {}
    for name in table.attrs.get("column-order", ()):
        try:
            values = _values(source, table[name], h5py)
        except (KeyError, TypeError, ValueError, OSError):
            continue
        if len(values) == n_cells:
            columns[str(name)] = values
    kept = Metadata()
    for cell in range(n_cells):
        kept.add({name: values[cell] for name, values in columns.items()})
    return kept.tags()
