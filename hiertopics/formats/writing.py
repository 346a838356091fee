"""Packed files: compressed as their name says, without a time stamp."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path
from typing import IO, cast

from hiertopics.files import Write


def packed(path: Path, write: Write) -> Write:
    """Return ``write`` with compression where ``path`` ends in .gz or .xz.

    Equal data give equal bytes.
    """
    suffix = path.suffix.lower()

    def write_packed(raw: IO[bytes]) -> None:
        if suffix == ".gz":
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as stream:
                write(cast(IO[bytes], stream))
        elif suffix == ".xz":
            with lzma.open(raw, "wb") as stream:
                write(stream)
        else:
            write(raw)

    return write_packed
