"""Files that are replaced whole or not at all."""

from __future__ import annotations

import csv
import errno
import fcntl
import hashlib
import io
import json
import math
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePath
from typing import IO, Any

import numpy as np

from hiertopics.base.errors import RunError, UsageError
from hiertopics.base.visible import no_formula

TEMPORARY_SUFFIX = ".partial"
NO_PLACE = (errno.EEXIST, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)


Write = Callable[[IO[bytes]], object]


def inside(root: Path, name: str) -> Path:
    """Return the path of a file or folder below a folder that somebody else may have made.

    The root may be reached over symbolic links. Raises RunError where a part of the way below it
    leads elsewhere: a symbolic link, a pipe or a device, or a name that leaves the root.
    """
    parts = PurePath(name).parts
    if ".." in parts or PurePath(name).is_absolute():
        raise RunError(f"{root} is damaged: the name {name} leads out of it")
    path = root
    for part in parts:
        path = path / part
        try:
            mode = path.lstat().st_mode
        except (OSError, ValueError):  # who opens the file says what is wrong
            break
        _refuse_foreign(path, mode)
    return root / name


def refuse_links(root: Path) -> None:
    """Raise RunError where anything below a folder is a symbolic link, a pipe or a device."""
    if not root.is_dir():
        return
    for folder, folders, names in os.walk(root, onerror=_raise):
        for name in (*folders, *names):
            path = Path(folder, name)
            with suppress(FileNotFoundError):
                _refuse_foreign(path, path.lstat().st_mode)


def _raise(error: OSError) -> None:
    raise RunError(f"cannot read {error.filename}: {error.strerror or error}") from error


def _refuse_foreign(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return
    what = "a symbolic link" if stat.S_ISLNK(mode) else "no regular file"
    raise RunError(f"{path} is {what}; hiertopics does not follow it: put the file itself there")


def open_inside(path: Path, mode: str, **options: Any) -> IO[Any]:
    """Open a file as ``open`` does, but no symbolic link; an appended file is not truncated.

    Raises OSError, with ELOOP for a link, and never waits for the other end of a pipe.
    """
    flags = os.O_NOFOLLOW | os.O_NONBLOCK
    return open(path, mode, opener=lambda name, how: os.open(name, how | flags, 0o666), **options)


def write_whole(path: Path, write: Write, *, sync: bool = True) -> None:
    """Replace ``path`` by the output of ``write``, whole or not at all; see ``write_together``."""
    write_together({path: write}, sync=sync)


def write_together(
    writers: Mapping[Path, Write], *, sync: bool = True, last_tells: bool = False
) -> None:
    """Write every file under a temporary name beside it, then rename them in the order given.

    What killed writers of the same files left is removed. sync: wait until the disk has them, so
    that they survive a power cut too. last_tells: the last file, where it stands already, is taken
    away before the first rename and comes after all others; so wherever it stands it belongs to
    them, and it is missing after a kill in between. Raises RunError where the disk refuses; what
    stood under the names before then stands there still.
    """
    for path in writers:
        if path.exists() and not path.is_file():
            raise RunError(f"cannot write {path}: it is no regular file")
    path, temporary, replaced = Path(), dict[Path, Path](), False
    last = [*writers][-1]
    aside = _temporary(last, secrets.token_hex(4))
    try:
        with ExitStack() as stack:  # the locks on temporary files stay until they are renamed
            for path, write in writers.items():
                _remove_leftovers(path.parent, f".{path.name}.")
                temporary[path], stream = open_temporary(path)
                write(stack.enter_context(stream))
                stream.flush()
                if sync:
                    os.fsync(stream.fileno())
            if last_tells and len(writers) > 1 and last.exists():
                _move(last, aside)
            for path in writers:
                os.replace(temporary[path], path)
                replaced = True
        if sync:
            for folder in {path.parent for path in writers}:
                _sync_folder(folder)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if aside.exists() and not replaced:
            _move(aside, last)
        for leftover in (*temporary.values(), aside):
            with suppress(OSError):
                leftover.unlink()


def _move(path: Path, target: Path) -> None:
    """Give a file another name that is free; where no name can be replaced any more, too."""
    try:
        os.link(path, target, follow_symlinks=False)
    except OSError:  # a file system without links
        os.replace(path, target)
    else:
        path.unlink()


def open_temporary(path: Path) -> tuple[Path, IO[bytes]]:
    """Return a new file beside ``path``, locked as long as it is open: its writer lives.

    Where the file system knows no locks there is none, and no leftover is ever removed.
    """
    while True:
        temporary = _temporary(path, secrets.token_hex(4))
        try:
            stream = open(temporary, "xb")  # noqa: SIM115
        except FileExistsError:
            continue
        with suppress(OSError):
            fcntl.flock(stream, fcntl.LOCK_EX)
        if os.fstat(stream.fileno()).st_nlink:
            return temporary, stream
        stream.close()  # taken for a leftover before it was locked


def _remove_leftovers(folder: Path, start: str) -> None:
    """Remove temporary files whose names begin so and whose writers are dead."""
    for leftover in os.listdir(folder):
        if leftover.startswith(start) and leftover.endswith(TEMPORARY_SUFFIX):
            with suppress(OSError), open_inside(folder / leftover, "rb+") as stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(folder / leftover)


def _temporary(path: Path, mark: str) -> Path:
    return path.parent / f".{path.name}.{mark}{TEMPORARY_SUFFIX}"


def as_text(text: str) -> Write:
    """Return a function that writes ``text`` as UTF-8."""
    return lambda stream: stream.write(text.encode())


def as_json(value: Any) -> Write:
    """Return a function that writes ``value`` as JSON; numpy numbers become numbers."""
    return as_text(to_json(value, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Replace ``path`` by ``text``; raises RunError as ``write_together`` does."""
    write_whole(path, as_text(text))


def write_json(path: Path, value: Any) -> None:
    """Replace ``path`` by ``value`` as JSON."""
    write_whole(path, as_json(value))


@contextmanager
def readable(path: Path, *flaws: type[Exception], what: str = "") -> Iterator[None]:
    """Raise RunError, naming the file, if it is missing or damaged.

    flaws: the errors that say so; without any, whatever is raised. what: said before the error.
    """
    flaws = flaws or (Exception,)
    try:
        yield
    except RunError:
        raise
    except FileNotFoundError:
        raise RunError(f"{path} is missing") from None
    except flaws as error:
        raise RunError(f"{path} is damaged: {what}{error}") from error


def seal_of(contents: bytes) -> str:
    """Return the seal of a file, no npz file, with these contents."""
    return hashlib.blake2b(contents, digest_size=8).hexdigest()


def to_json(value: Any, indent: int | None = None) -> str:
    """Return ``value`` as JSON text; numpy scalars and arrays become numbers and lists.

    What is no finite number becomes null: JSON has no word for it.
    """
    try:
        text = _dumps(value, indent)
    except ValueError:
        text = _dumps(_without_nan(value), indent)
    # Bytes of a file's name that are no UTF-8 are half surrogate pairs: JSON escapes them alike.
    return text.encode(errors="backslashreplace").decode()


def to_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV with a newline after each; a cell with a line end is quoted.

    A text that a spreadsheet would take for a formula has a ``'`` before it.
    """
    lines = []
    for row in rows:
        line = io.StringIO()
        cells = (no_formula(cell) if isinstance(cell, str) else cell for cell in row)
        csv.writer(line, lineterminator="\r\n").writerow(cells)  # quotes what holds one of these
        lines.append(line.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


def make_folder(path: Path) -> None:
    """Make a folder and those above it; raises RunError where the disk refuses.

    Raises UsageError where no folder can have that name: a file stands there, or it is too long.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in NO_PLACE:
            what = f"cannot create {path}: {error.strerror}; choose another place"
            raise UsageError(what) from error
        raise RunError(f"cannot create {path}: {error.strerror or error}") from error


def require_place(path: Path) -> None:
    """Raise UsageError where no file can be written: before the work that is to be written."""
    what = ""
    if not path.name:
        what = "names no file"
    else:
        try:
            _temporary(path, "0" * 8).lstat()
        except FileNotFoundError:
            what = "" if path.parent.is_dir() else f"there is no folder {path.parent}"
        except OSError as error:
            what = error.strerror or str(error)
        if not what and path.is_dir():
            what = "is a folder"
    if what:
        raise UsageError(f"cannot write {path}: {what}; choose another place")


def remove_partial(folder: Path) -> None:
    """Remove the partial files of killed writers from ``folder``, if it exists."""
    with suppress(FileNotFoundError):
        _remove_leftovers(folder, ".")


def _dumps(value: Any, indent: int | None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=_plain)


def _without_nan(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
