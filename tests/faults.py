"""A disk that refuses: calls that change files fail from the n-th on."""

from __future__ import annotations

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeVar
from unittest import mock

Ready = TypeVar("Ready")
Told = TypeVar("Told")

KINDS = ("rename", "sync", "open", "write")


class Met(Protocol):
    """What is told of each call that changes a file, before it is made."""

    def meet(self, kind: str) -> None:
        """Take note of a call of a kind; what is raised here, the caller meets."""


class Faults:
    """Counts the calls of one kind that change files; lets the n-th and later ones fail.

    first: the number of the first call that fails; 0: none does.
    """

    def __init__(self, kind: str, first: int) -> None:
        self.kind, self.first, self.calls = kind, first, 0

    def meet(self, kind: str) -> None:
        """Count a call; raise what a full disk raises if its time has come."""
        self.calls += kind == self.kind
        if kind == self.kind and self.first and self.calls >= self.first:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class WatchedFile(io.FileIO):
    """A file whose writes may fail."""

    faults: Met

    def write(self, data: Any) -> int:
        self.faults.meet("write")
        return super().write(data)


@contextmanager
def failing(kind: str, first: int, below: Path) -> Iterator[Faults]:
    """Let calls of a kind fail for files below a folder: rename, sync, open or write."""
    faults = Faults(kind, first)
    with meeting(faults, below):
        yield faults


def refusals(
    kind: str,
    below: Path,
    prepare: Callable[[int], Ready],
    act: Callable[[Ready], Told | None],
    every: int = 1,
) -> Iterator[tuple[Ready, Told]]:
    """Let the first call of a kind fail, then the second ..., each time in what was prepared anew.

    Yields what was prepared and what ``act`` tells of its refusal, and ends where it tells None.
    every: the next but how many to fail.
    """
    for n in count(1, every):
        ready = prepare(n)
        with failing(kind, n, below):
            told = act(ready)
        if told is None:
            return
        yield ready, told


@contextmanager
def meeting(faults: Met, below: Path) -> Iterator[None]:
    """Tell of each call that changes files below a folder."""
    replace, real_open = os.replace, builtins.open

    def renaming(source: Any, target: Any) -> None:
        faults.meet("rename")
        replace(source, target)

    def syncing(_: int) -> None:  # no test can tell whether the disk has it
        faults.meet("sync")

    def opening(path: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        ours = isinstance(path, str | os.PathLike) and Path(path).is_relative_to(below)
        if not ours or mode[0] not in "wax":
            return real_open(path, mode, *rest, **options)
        faults.meet("open")
        raw = WatchedFile(path, mode[0])
        raw.faults = faults
        stream = io.BufferedWriter(raw)
        return stream if "b" in mode else io.TextIOWrapper(stream, encoding="utf-8")

    with (
        mock.patch("os.replace", renaming),
        mock.patch("os.fsync", syncing),
        mock.patch("builtins.open", opening),
    ):
        yield
