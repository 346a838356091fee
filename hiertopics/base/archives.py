"""Arrays and matrices in npz files: equal arrays give equal bytes, and damage is noticed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.axes import read_head, require_csr, require_pointers, require_shape
from hiertopics.base.files import Write, readable, seal_of, write_whole
from hiertopics.base.made import MadeRows
from hiertopics.base.room import Room
from hiertopics.base.stretches import stretches

CSR = ("data", "indices", "indptr")
"""The arrays of a matrix."""

SEAL = "seal_"
"""The array of an npz file that holds the seal of the others."""

AT_ONCE = 1 << 20
"""Bytes of an array that are read or written at a time."""

MAPPED = 1 << 25
"""Bytes of an array from which it is mapped and not read."""

QUICK, THOROUGH = 1, 6
"""Levels of compression: for shares, which hardly shrink, and for columns, which shrink much."""

LOCAL_LENGTHS = 26
"""Where the header of a part of an archive tells how long its name is, and what follows it."""


class Parts(NamedTuple):
    """An array of one axis that is written part by part: its length, type and parts.

    effort: of its compression, from 1 to 9.
    """

    n_entries: int
    dtype: np.dtype[Any]
    parts: Callable[[], Iterator[NDArray[Any]]]
    effort: int = QUICK


def as_npz(
    arrays: Mapping[str, NDArray[Any] | Parts],
    *,
    compressed: bool = False,
    sealed: str | None = None,
) -> Write:
    """Return a function that writes arrays as npz: equal arrays give equal bytes.

    arrays: of any shapes, by name. sealed: what the file is; it then has one array more, ``SEAL``,
    the seal of all others and of this text. Raises TypeError for an array of Python objects, which
    would need pickle.
    """
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {name!r} holds Python objects")
    return lambda stream: _save(stream, arrays, compressed, sealed)


def _save(
    stream: IO[bytes],
    arrays: Mapping[str, NDArray[Any] | Parts],
    compressed: bool,
    sealed: str | None,
) -> None:
    # Not numpy's savez: its compression takes five times as long and saves a tenth more, and
    # in older releases it leaves the archive open on a full disk, which ends in a traceback.
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", method, compresslevel=QUICK) as archive:
        for name, array in arrays.items():
            archive.compresslevel = array.effort if isinstance(array, Parts) else QUICK
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                if isinstance(array, Parts):
                    _write_parts(part, array)
                else:
                    _write_array(part, np.asarray(array))
        if sealed is not None:
            seal = np.asarray(_seal_of_parts(archive, sealed))
            with archive.open(f"{SEAL}.npy", "w", force_zip64=True) as part:
                _write_array(part, seal)


def _write_array(part: IO[bytes], array: NDArray[Any]) -> None:
    """Write an array as numpy does, which would copy large ones to do so."""
    if array.nbytes <= AT_ONCE or not array.flags.c_contiguous:
        np.lib.format.write_array(part, array, allow_pickle=False)
        return
    head = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(part, head)
    data = array.reshape(-1).view(np.uint8).data
    for start in range(0, len(data), AT_ONCE):
        part.write(data[start : start + AT_ONCE])


def _write_parts(stream: IO[bytes], array: Parts) -> None:
    """Write as ``_write_array`` writes the whole of it."""
    head = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False}
    np.lib.format.write_array_header_1_0(stream, {**head, "shape": (array.n_entries,)})
    for part in array.parts():
        stream.write(np.ascontiguousarray(part, array.dtype).reshape(-1).view(np.uint8).data)


def as_csr(
    matrix: sparse.csr_array | MadeRows,
    beside: Mapping[str, NDArray[Any]] | None = None,
    *,
    slim: bool = False,
) -> Write:
    """Return a function that writes ``matrix`` [n_rows, n_columns] for scipy.sparse.load_npz.

    beside: more arrays for the same file, under other names than those of the matrix. slim: write
    values as float32, and compress every array.
    """
    buffer = io.BytesIO()
    own_type = np.dtype(np.float64) if isinstance(matrix, MadeRows) else matrix.dtype
    dtype = np.dtype(np.float32) if slim else own_type
    sparse.save_npz(buffer, sparse.csr_array(matrix.shape, dtype=dtype), compressed=False)
    given = _in_parts(matrix, dtype) if slim or isinstance(matrix, MadeRows) else matrix
    buffer.seek(0)
    with np.load(buffer) as empty:  # for the names; the matrix may be too large to be copied
        own = {name: getattr(given, name) if name in CSR else empty[name] for name in empty.files}
    return as_npz({**own, **(beside or {})}, compressed=slim)


class _CsrParts(NamedTuple):
    """The arrays of a CSR matrix."""

    data: Parts
    indices: Parts
    indptr: NDArray[Any]


def _in_parts(matrix: sparse.csr_array | MadeRows, dtype: np.dtype[Any]) -> _CsrParts:
    """Return the arrays of a matrix that are written part by part. dtype: of its values."""
    if isinstance(matrix, MadeRows):
        n_entries = matrix.shape[0] * matrix.shape[1]
        return _CsrParts(
            Parts(n_entries, dtype, matrix.blocks),
            Parts(n_entries, matrix.indptr.dtype, matrix.columns, THOROUGH),
            matrix.indptr,
        )
    n_entries, columns = len(matrix.data), matrix.indices
    return _CsrParts(
        Parts(n_entries, dtype, partial(_cut, matrix.data)),
        Parts(n_entries, columns.dtype, partial(_cut, columns), THOROUGH),
        matrix.indptr,
    )


def _cut(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield an array of one axis, some entries after the other."""
    step = max(1, AT_ONCE // array.itemsize)
    for first in range(0, len(array), step):
        yield array[first : first + step]


def write_npz(
    path: Path,
    arrays: Mapping[str, NDArray[Any]],
    *,
    sync: bool = True,
    sealed: str | None = None,
) -> None:
    """Replace ``path`` by an npz file of arrays of any shapes; sealed: see ``as_npz``.

    Raises TypeError as ``as_npz``, RunError where the file cannot be written.
    """
    write_whole(path, as_npz(arrays, sealed=sealed), sync=sync)


def write_csr(
    path: Path, matrix: sparse.csr_array, beside: Mapping[str, NDArray[Any]] | None = None
) -> None:
    """Replace ``path`` by a matrix [n_rows, n_columns] that scipy.sparse.load_npz reads.

    See ``as_csr``.
    """
    write_whole(path, as_csr(matrix, beside))


def read_npz(path: Path, names: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file, as they were written, by name.

    Raises RunError if it is missing or damaged.

    names: those that are wanted, if they are there; None takes all.
    """
    return read_npz_in(path, lambda name: Room(), names)


def read_npz_in(
    path: Path, room_of: Callable[[str], Room], names: Collection[str] | None = None
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file as ``read_npz`` does, each in the room of its name."""
    found = {}
    with readable(path), open(path, "rb") as stream, zipfile.ZipFile(stream) as archive:
        for part in archive.infolist():
            array = part.filename.removesuffix(".npy")
            if names is None or array in names:
                with archive.open(part) as opened:
                    found[array] = _read_array(opened, room_of(array), part.file_size)
    return found


def _read_array(part: IO[bytes], room: Room, size: int) -> NDArray[Any]:
    shape, by_columns, dtype = read_head(part, size)
    array = room.empty(shape[::-1] if by_columns else shape, dtype)
    _read_into(part, array)
    _require_end(part)
    if not dtype.isnative:
        array = array.astype(dtype.newbyteorder("="))
    return array.T if by_columns else array


def _read_into(part: IO[bytes], array: NDArray[Any]) -> None:
    """Fill an array with the next bytes of a part of an archive; ValueError where they end."""
    left = array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
    while len(left):
        size = part.readinto(left[:AT_ONCE])  # type: ignore[attr-defined]
        if not size:
            raise ValueError("an array is cut short")
        left = left[size:]


def _require_end(part: IO[bytes]) -> None:
    if part.read(1):  # reads to the end, where the check sum is compared
        raise ValueError("an array is too long")


def read_npz_mapped(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file; large uncompressed arrays are mapped, not read.

    All bytes are read once, for their check sums. Raises RunError as ``read_npz`` does.
    """
    found = {}
    with readable(path), open(path, "rb") as stream, zipfile.ZipFile(stream) as archive:
        for part in archive.infolist():
            stored = part.compress_type == zipfile.ZIP_STORED and part.file_size >= MAPPED
            with archive.open(part) as opened:
                if not stored:
                    array = _read_array(opened, Room(), part.file_size)
                else:
                    while opened.read(AT_ONCE):  # to the end, where check sums are compared
                        pass
                    array = _mapped(path, stream, part)
            found[part.filename.removesuffix(".npy")] = array
    return found


def _mapped(path: Path, stream: IO[bytes], part: zipfile.ZipInfo) -> NDArray[Any]:
    """Return an array that lies in an archive as it is, mapped."""
    stream.seek(part.header_offset + LOCAL_LENGTHS)
    n_name, n_extra = np.frombuffer(stream.read(4), "<u2").tolist()
    stream.seek(part.header_offset + LOCAL_LENGTHS + 4 + n_name + n_extra)
    shape, by_columns, dtype = read_head(stream, part.file_size)
    order: Any = "F" if by_columns else "C"
    array: NDArray[Any] = np.asarray(np.memmap(path, dtype, "r", stream.tell(), shape, order))
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


def read_csr(path: Path) -> sparse.csr_array:
    """Return the CSR matrix [n_rows, n_columns] of an npz file, mapped where it is large.

    Raises RunError if it is missing or damaged.
    """
    arrays = read_npz_mapped(path)
    with readable(path, KeyError, ValueError, TypeError, what="it holds no sparse matrix: "):
        return _csr((arrays["data"], arrays["indices"], arrays["indptr"]), arrays["shape"])


def read_csr_blocks(
    path: Path, require: Callable[[tuple[int, int]], None], most_entries: int, most_rows: int
) -> Iterator[sparse.csr_array]:
    """Yield the CSR matrix of an npz file, some rows after the other; nothing of it is mapped.

    require: is called with the shape, before the first rows. A block has at most so many entries
    and rows; a row with more entries is a block of its own. Raises RunError as ``read_csr`` does.
    """
    heads = read_npz(path, ("indptr", "shape"))
    with (
        readable(path),
        readable(path, KeyError, ValueError, TypeError, what="it holds no sparse matrix: "),
        zipfile.ZipFile(path) as archive,
        archive.open("data.npy") as values,
        archive.open("indices.npy") as columns,
    ):
        indptr, shape = heads["indptr"], heads["shape"]
        n_values, of_values = _read_row_head(values, archive.getinfo("data.npy").file_size)
        n_entries, of_columns = _read_row_head(columns, archive.getinfo("indices.npy").file_size)
        if n_values != n_entries:
            raise ValueError("data and indices are not as many")
        n_rows, n_columns = require_shape(shape)
        require_pointers("indptr", indptr, n_rows, n_entries)
        require((n_rows, n_columns))
        ends = indptr.astype(np.int64)
        for first, last in stretches(ends, most_entries, most_rows):
            size = int(ends[last] - ends[first])
            data, indices = np.empty(size, of_values), np.empty(size, of_columns)
            _read_into(values, data)
            _read_into(columns, indices)
            own = (ends[first : last + 1] - ends[first]).astype(indptr.dtype)
            yield _csr((data, indices, own), np.array([last - first, n_columns]))
        for part in (values, columns):
            _require_end(part)


def _read_row_head(part: IO[bytes], size: int) -> tuple[int, np.dtype[Any]]:
    """Return length and type of an array of one axis that is about to be read."""
    shape, _, dtype = read_head(part, size)
    if len(shape) != 1 or not dtype.isnative:
        raise ValueError("an array is no row of numbers of this machine")
    return shape[0], dtype


def seal(path: Path) -> str:
    """Return a hash of a file's contents, 16 hexadecimal digits.

    Of an npz file they come from the names, sizes and check sums in its directory, so that its
    arrays need not be read; who reads them checks those sums. Raises RunError for a file that is
    missing or damaged.
    """
    with readable(path):
        if path.suffix != ".npz":
            return seal_of(path.read_bytes())
        with zipfile.ZipFile(path) as archive:
            return _seal_of_parts(archive)


def seal_inside(path: Path, what: str) -> str:
    """Return the expected value of the array ``SEAL`` in an npz file that is ``what``.

    It comes from the directory alone, as that of ``seal``; raises RunError as that does.
    """
    with readable(path), zipfile.ZipFile(path) as archive:
        return _seal_of_parts(archive, what)


def _seal_of_parts(archive: zipfile.ZipFile, what: str | None = None) -> str:
    parts = [
        (part.filename, part.file_size, part.CRC)
        for part in archive.infolist()
        if what is None or part.filename != f"{SEAL}.npy"
    ]
    return seal_of(repr(parts if what is None else (what, parts)).encode())


def pack_csr(name: str, matrix: sparse.csr_array) -> dict[str, NDArray[Any]]:
    """Return ``matrix`` as the four arrays ``name_indptr name_indices name_data name_shape``."""
    return {
        f"{name}_indptr": matrix.indptr,
        f"{name}_indices": matrix.indices,
        f"{name}_data": matrix.data,
        f"{name}_shape": np.asarray(matrix.shape, dtype=np.int64),
    }


def unpack_csr(
    name: str, arrays: Mapping[str, NDArray[Any]], *, marks: bool = False
) -> sparse.csr_array:
    """Inverse of ``pack_csr``; raises KeyError for a missing array, ValueError for nonsense.

    marks: its values may be truth values.
    """
    parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return _csr(parts, arrays[f"{name}_shape"], marks)


def _csr(
    parts: tuple[NDArray[Any], ...], shape: NDArray[Any], marks: bool = False
) -> sparse.csr_array:
    """Return a matrix; raises ValueError where its arrays are not those of one.

    Pointers that lead outside a matrix crash the process that multiplies it. The checks of scipy
    look at no pointer and no column where the last pointer is 0.
    """
    data, indices, indptr = parts
    return sparse.csr_array(parts, shape=require_csr(indptr, indices, data, shape, marks=marks))
