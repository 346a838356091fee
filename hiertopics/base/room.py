"""Allocation of large arrays: in memory, or in files that the system maps as needed.

The files have no name: their space is free again as soon as nobody holds the array, however its
process ends. Such an array looks like any other and may be written to; what made it is found again
by ``beside``, so that a task puts its results where its piece lies.
"""

from __future__ import annotations

import copy
import mmap
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hiertopics.base.errors import RunError

Record = TypeVar("Record")


class _RoomMap(mmap.mmap):
    """A mapped file that knows the folder of its room."""

    folder: Path


class Room:
    """Makes arrays: in memory, or in nameless files of ``folder``."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array to be written; in a file it is 0 at first.

        Raises RunError where the disk has no room for it.
        """
        sizes = (shape,) if isinstance(shape, int) else shape
        n_bytes = int(np.prod(sizes, dtype=np.int64)) * np.dtype(dtype).itemsize
        if self.folder is None or not n_bytes:
            return np.empty(shape, dtype)
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                if hasattr(os, "posix_fallocate"):
                    # A hole is filled when it is written to: on a full disk that kills the process.
                    os.posix_fallocate(file.fileno(), 0, n_bytes)
                else:
                    file.truncate(n_bytes)
                return _mapped(file, self.folder, dtype).reshape(shape)
        except OSError as error:
            raise _no_room(self.folder, error) from error

    def zeros(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array of zeros, as ``empty``; raises as it does."""
        if self.folder is None:
            return np.zeros(shape, dtype)
        return self.empty(shape, dtype)

    def copy(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of an array, of any shape; raises RunError as ``empty``."""
        made = self.empty(array.shape, array.dtype)
        made[...] = array
        return made

    def growing(self, dtype: DTypeLike) -> GrowingArray:
        """Return an array that is written part by part."""
        return GrowingArray(self, dtype)


class GrowingArray:
    """Parts of an array, one after the other, whose number is not known in advance."""

    def __init__(self, room: Room, dtype: DTypeLike) -> None:
        self._room, self._dtype = room, np.dtype(dtype)
        self._parts: list[NDArray[Any]] = []
        self._file: IO[bytes] | None = None
        self.n_entries = 0

    def __del__(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # what cannot be written is said where it is met first
                self._file.close()

    def append(self, part: NDArray[Any]) -> None:
        """Add a part [n]; raises RunError where the disk has no room for it."""
        self.n_entries += len(part)
        if self._room.folder is None:
            self._parts.append(part.astype(self._dtype, copy=False))
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._room.folder)  # noqa: SIM115
            self._file.write(np.ascontiguousarray(part, self._dtype).data)
        except OSError as error:
            raise _no_room(self._room.folder, error) from error

    def done(self) -> NDArray[Any]:
        """Return the array [n_entries]; nothing can be added any more.

        Raises RunError where the disk has no room for it.
        """
        if self._room.folder is None:
            return self._joined()
        if self._file is None or not self.n_entries:
            return np.empty(0, self._dtype)
        try:
            with self._file:
                self._file.flush()
                return _mapped(self._file, self._room.folder, self._dtype)
        except OSError as error:
            raise _no_room(self._room.folder, error) from error

    def _joined(self) -> NDArray[Any]:
        """Return the parts in one array. A part is given up as soon as it is copied."""
        joined, end = np.empty(self.n_entries, self._dtype), self.n_entries
        while self._parts:
            part = self._parts.pop()
            joined[end - len(part) : end] = part
            end -= len(part)
        return joined


def beside(array: NDArray[Any]) -> Room:
    """Return the room in which an array, of any shape, or the base of a view, was allocated."""
    held: Any = array
    while isinstance(held, np.ndarray | memoryview):
        held = held.base if isinstance(held, np.ndarray) else held.obj
    return Room(held.folder if isinstance(held, _RoomMap) else None)


def copied(record: Record) -> Record:
    """Return a copy of a record of arrays, each in its own room."""
    memo: dict[int, Any] = {}
    for array in record if isinstance(record, Sequence) else ():
        if isinstance(array, np.ndarray) and (room := beside(array)).folder is not None:
            memo[id(array)] = room.copy(array)
    return copy.deepcopy(record, memo)


def _mapped(file: IO[bytes], folder: Path, dtype: DTypeLike) -> NDArray[Any]:
    # Shared and writable: a private one would count as memory of the process, and a read-only one
    # is another type to kernels.
    held = _RoomMap(file.fileno(), 0)
    held.folder = folder
    return np.frombuffer(held, dtype)


def _no_room(folder: Path, error: OSError) -> RunError:
    return RunError(f"cannot write in {folder}: {error.strerror or error}")
