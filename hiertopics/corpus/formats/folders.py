"""Folders that are replaced whole or not at all."""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hiertopics.base.errors import RunError
from hiertopics.base.files import TEMPORARY_SUFFIX

ASIDE = ".old"
AT_FDCWD = -100
"""The constant of Linux by which names of files are relative to the current folder."""
EXCHANGE = 2
"""The flag that exchanges two names: RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS."""


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a folder to write in, which takes the place of ``path`` once all went well.

    What killed writers of the same folder left is removed; a folder that one of them had put aside
    is put back first. Raises RunError where the disk refuses.
    """
    try:
        _remove_leftovers(path)
        folder, lock = _locked_folder(path)
        try:
            yield folder
            _put(folder, path)
        finally:
            _remove(folder)
            os.close(lock)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error


def _locked_folder(path: Path) -> tuple[Path, int]:
    """Return a new folder beside ``path``, locked as long as its descriptor is open.

    The folder itself is locked, not a file in it, so that what a kill leaves never looks held.
    Where the file system knows no locks there is none, and no leftover is ever removed.
    """
    while True:
        folder = path.parent / f".{path.name}.{secrets.token_hex(4)}{TEMPORARY_SUFFIX}"
        folder.mkdir()
        with suppress(FileNotFoundError):  # taken for a leftover before it was locked
            lock = os.open(folder, os.O_RDONLY)
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _put(folder: Path, path: Path) -> None:
    """Give a folder its name; a folder that had the name gets that of the first, or is removed.

    Where the system cannot exchange names at one stroke, what had the name lies aside for a
    moment; the next writer puts it back, where a kill comes in between.
    """
    if not os.path.lexists(path):
        os.rename(folder, path)
    elif not _exchanged(folder, path):
        aside = folder.with_name(f"{folder.name}{ASIDE}")
        os.rename(path, aside)
        try:
            os.rename(folder, path)
        except OSError:
            os.rename(aside, path)
            raise
        _remove(aside)


def _exchanged(one: Path, other: Path) -> bool:
    """Give each of two folders the name of the other; tell whether the system could."""
    first, second = os.fsencode(one), os.fsencode(other)
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        swap = getattr(library, "renamex_np", None)
        return swap is not None and swap(first, second, ctypes.c_uint(EXCHANGE)) == 0
    swap = getattr(library, "renameat2", None)
    if swap is None:
        return False
    here = ctypes.c_int(AT_FDCWD)
    return bool(swap(here, first, here, second, ctypes.c_uint(EXCHANGE)) == 0)


def _remove_leftovers(path: Path) -> None:
    for aside in _named(path, ASIDE):
        if os.path.lexists(path):
            _remove(aside)
        else:
            os.rename(aside, path)
    for leftover in _named(path):
        with suppress(OSError):
            lock = os.open(leftover, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(leftover)
            finally:
                os.close(lock)


def _named(path: Path, ending: str = "") -> list[Path]:
    """Return what writers of ``path``, dead ones or alive, have beside it."""
    names = re.compile(
        rf"\.{re.escape(path.name)}\.[0-9a-f]+{re.escape(TEMPORARY_SUFFIX + ending)}"
    )
    return [path.parent / name for name in os.listdir(path.parent) if names.fullmatch(name)]


def _remove(folder: Path) -> None:
    """Remove a folder, or a link to one, as far as it can be."""
    if folder.is_symlink():
        with suppress(OSError):
            folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)
