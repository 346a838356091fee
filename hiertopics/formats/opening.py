"""Files as streams of whole lines: plain, gzip or xz, recognised by their first bytes.

A block is (number of its first line, some whole lines), each line ending in one newline, the
last one included. Windows line ends and a byte order mark are gone. Every failure to read is a
DataError that names the file.
"""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from hiertopics.errors import DataError
from hiertopics.formats.source import Report, refuse

BLOCK_BYTES = 1 << 18
BOM = b"\xef\xbb\xbf"

Block = tuple[int, bytes]


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed on the way."""
    try:
        with path.open("rb") as raw, _decompressed(raw, raw.peek(6)[:6]) as file:
            yield file
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise DataError(path, f"the archive is damaged or cut short ({error})") from error
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror or error})") from error


def _decompressed(raw: IO[bytes], magic: bytes) -> IO[bytes]:
    if magic.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(raw))
    if magic == b"\xfd7zXZ\x00":
        return lzma.open(raw)
    return raw


def blocks(path: Path, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Yield the file as blocks of about ``size`` bytes."""
    number, rest = 1, b""
    with opened(path) as file:
        while chunk := file.read(size):
            whole, newline, rest = (rest + chunk).rpartition(b"\n")
            if newline:
                yield number, _tidy(number, whole + newline)
                number += whole.count(b"\n") + 1
    if rest:
        yield number, _tidy(number, rest + b"\n")


def _tidy(number: int, block: bytes) -> bytes:
    if number == 1:
        block = block.removeprefix(BOM)
    return block.replace(b"\r\n", b"\n")


def without_blank_end(blocks: Iterable[Block]) -> Iterator[Block]:
    """Pass blocks on, without the blank lines at the very end."""
    held = b""
    for number, block in blocks:
        lines = held + block
        body = lines.rstrip(b"\n")
        held = lines[len(body) + 1 :] if body else lines
        if body:
            yield number + len(block) - len(lines), body + b"\n"


def lines(path: Path, report: Report = refuse) -> Generator[str, None, None]:
    """Yield every line of a UTF-8 file, blank ones too, without its line end.

    Where ``report`` returns, a line in another encoding is yielded with its bytes escaped.
    """
    return _decoded(path, blocks(path), report)


def rows(path: Path, report: Report = refuse) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, as ``lines`` does, without the blank ones at its end."""
    return _decoded(path, without_blank_end(blocks(path)), report)


def _decoded(path: Path, blocks: Iterable[Block], report: Report) -> Generator[str, None, None]:
    for number, block in blocks:
        try:
            text = block.decode()
        except UnicodeDecodeError:
            for line, raw in enumerate(block[:-1].split(b"\n"), number):
                yield decoded_line(path, raw, line, report)
        else:
            yield from text[:-1].split("\n")


def decoded_line(path: Path, raw: bytes, line: int, report: Report) -> str:
    """Return one line as text; report another encoding than UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        what = f"not UTF-8 text (byte 0x{raw[error.start]:02x}); convert it first"
        report(DataError(path, what, line))
        return raw.decode(errors="backslashreplace")
