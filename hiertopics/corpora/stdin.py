"""A corpus that comes through a pipe: put into a file, and read from there as any other."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from hiertopics import files
from hiertopics.errors import RunError, UsageError
from hiertopics.formats.source import FORMATS, format_of

STDIN = "-"
NAME = "stdin"


def require_format(name: str | None) -> None:
    """Raise UsageError where no format is named, or one that no pipe can bring."""
    piped = [other for other, form in FORMATS.items() if form.patterns and not form.folder]
    if name is not None:
        format_of(Path(NAME), name)
    if name not in piped:
        raise UsageError(f"{STDIN} has no suffix: name its format by --from, {', '.join(piped)}")


def spooled(folder: Path) -> Path:
    """Write standard input to ``folder``, under a name that its contents give; return the path.

    Raises UsageError where standard input is a terminal, RunError where the file cannot be written.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(f"{STDIN} reads the corpus from a pipe, but there is none")
    files.make_folder(folder)
    part = folder / f"{NAME}.part"
    try:
        with part.open("wb") as out:
            shutil.copyfileobj(sys.stdin.buffer, out)
        with part.open("rb") as written:
            name = hashlib.file_digest(written, "sha256").hexdigest()
        return part.replace(folder / f"{NAME}-{name[:16]}")
    except OSError as error:
        raise RunError(f"cannot write {part}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
