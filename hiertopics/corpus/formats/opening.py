"""Files as streams of whole lines: plain, gzip or xz, recognised by their first bytes.

A block is (number of its first line, some whole lines), each line ending in one newline, the
last one included. Windows line ends and a byte order mark are removed. UTF-16 and UTF-32 with such
a mark become UTF-8. Every failure to read is a DataError that names the file. A file is opened
once, because a pipe cannot be read again.
"""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.formats.source import Report, Source, refuse

BLOCK_BYTES = 1 << 18
LONGEST_LINE = 1 << 26
"""Bytes of the longest line: a file without line ends is no text and must not fill the memory."""
BOM = b"\xef\xbb\xbf"

MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32-LE",  # begins with the mark of UTF-16-LE
    codecs.BOM_UTF32_BE: "UTF-32-BE",
    codecs.BOM_UTF16_LE: "UTF-16-LE",
    codecs.BOM_UTF16_BE: "UTF-16-BE",
}
"""First bytes of texts in UTF-16 and UTF-32, which Excel writes, and their codecs."""

SCHEMES = ("http:", "https:", "ftp:", "s3:", "gs:", "hf:")
"""Beginnings of addresses on a network."""

PACKED = (".gz", ".xz")

ALIKE, MOST_NAMES = 0.75, 10_000
"""How much of a name a misspelt one must share; names of a folder that are compared with it."""

OLDER_ENCODING = "cp1252"
MIXED = f"utf-8,{OLDER_ENCODING}"
"""The value of data.encoding that reads files of both encodings, line by line."""
ANY = "utf-8,latin-1"
"""The value of data.encoding that reads lines of any bytes."""


class Remedy(NamedTuple):
    """What to do about a file in another encoding than the settings say.

    encoding: the value of data.encoding that reads it; None where no setting names its encoding.
    """

    advice: str
    encoding: str | None = None


_CONVERT = "convert it first"
_NAMING = "name its encoding, as -s data.encoding="
CONVERT = Remedy(_CONVERT)
RECODE = Remedy(f"{_CONVERT}, as by iconv -f {OLDER_ENCODING} -t utf-8")
"""For a side file, whose encoding no setting names."""
ENCODING = Remedy(f"{_NAMING}{OLDER_ENCODING}, or {_CONVERT}", OLDER_ENCODING)
"""For a raw text."""
BOTH = Remedy(
    f"{_NAMING}{MIXED}, which reads each line in the first that fits, or {_CONVERT}", MIXED
)
"""For a raw text that is UTF-8 in other lines."""

BINARY = "is a binary file, no text"
CONTROLS = bytes({*range(32), 127} - {*b"\b\t\n\v\f\r\x1b"})
"""Bytes of control characters that stand in no texts."""
MANY_CONTROLS = 0.02
"""Bytes with a larger share of control characters are no text; random bytes have a tenth."""

Block = tuple[int, bytes]


class BinaryFileError(DataError):
    """A file that was given as a text is no text in any encoding of bytes."""


class EncodingError(DataError):
    """A line is not in the encoding of its file. ``fault``: what is wrong, without the remedy."""

    def __init__(self, path: Path | str, fault: str, line: int | None, remedy: Remedy) -> None:
        super().__init__(path, f"{fault}; {remedy.advice}", line)
        self.fault, self.remedy = fault, remedy

    def renamed(self, path: Path | str) -> EncodingError:
        """Return the same error of a file that the user knows by another name."""
        return EncodingError(path, self.fault, self.line, self.remedy)


def require_file(path: Path) -> None:
    """Raise DataError where there is nothing to open; a pipe will do."""
    if not path.exists():
        raise lacking(path)
    if path.is_dir():
        raise DataError(path, "is a folder, not a file")


def lacking(path: Path) -> DataError:
    """Return the error for a file that is not there; it names one that may be meant."""
    if (scheme := path.parts[0] if path.parts else "").lower() in SCHEMES:
        address = str(path).replace(scheme, f"{scheme}/", 1)  # a Path has one slash of the two
        return DataError(address, "is no file on this machine; download it, and give the file")
    others = [path.with_name(path.name + suffix) for suffix in PACKED]
    others += [path.with_suffix("")] if path.suffix in PACKED else []
    there = next((other for other in others if os.path.isfile(other)), None)
    told = "no such file" if path.suffix else "no such file or folder"
    if there is not None:
        return DataError(path, f"{told}; there is {there}")
    meant = _alike(path)
    return DataError(path, told + (f"; did you mean {meant}?" if meant else ""))


def _alike(path: Path) -> Path | None:
    """Return the file or folder beside a missing one whose name is most like it."""
    from difflib import get_close_matches  # slow to import, and only a mistake needs it

    try:
        names = [entry.name for entry in islice(os.scandir(path.parent), MOST_NAMES)]
    except OSError:
        return None
    near = get_close_matches(path.name, names, n=1, cutoff=ALIKE)
    return path.with_name(near[0]) if near else None


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed on the way. Raises DataError, while it is read, too."""
    try:
        with path.open("rb") as raw:
            magic, whole = begun(raw, 6)
            with _decompressed(whole, magic) as file:
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


class _PrefixedStream(io.RawIOBase):
    """A stream with the bytes before it that were read already."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = len(buffer)
        part, self._head = self._head[:size], self._head[size:]
        part = part or self._rest.read(size)
        buffer[: len(part)] = part
        return len(part)


def begun(file: IO[bytes], size: int) -> tuple[bytes, IO[bytes]]:
    """Return the first ``size`` bytes of a stream, and the stream as if nobody had read them."""
    head = file.read(size)
    # Streams that unpack say that they can be rewound, also where what they unpack is a pipe.
    if is_plain(file):
        file.seek(0)
        return head, file
    return head, io.BufferedReader(_PrefixedStream(head, file))


def is_plain(file: IO[bytes]) -> bool:
    """Tell whether a stream is a file on disk as it is, neither unpacked nor a pipe."""
    return isinstance(file, io.BufferedReader) and file.seekable()


def blocks(path: Path, size: int = BLOCK_BYTES, encoding: str | None = None) -> Iterator[Block]:
    """Yield the file as blocks of about ``size`` bytes; see ``blocks_of``.

    A file that begins with a mark of ``MARKS`` is converted to UTF-8. encoding: as ``decoders``
    takes it; raises DataError if it contradicts the mark.
    """
    with opened(path) as file:
        yield from blocks_of(path, _as_utf8(path, file, encoding), size)


def _as_utf8(path: Path, file: IO[bytes], encoding: str | None) -> IO[bytes]:
    head, whole = begun(file, 4)
    codec = next((name for mark, name in MARKS.items() if head.startswith(mark)), None)
    if codec is None:
        return whole
    if UTF8[0] not in decoders(encoding):
        what = f"{codec} text, as its first bytes say; leave data.encoding out"
        raise DataError(path, what)
    return io.BufferedReader(_RecodedStream(path, whole, codec))


class _RecodedStream(io.RawIOBase):
    """A text of another encoding as a stream of UTF-8; raises DataError at other bytes."""

    def __init__(self, path: Path, rest: IO[bytes], codec: str) -> None:
        self._path, self._rest, self._codec = path, rest, codec
        self._decoder = codecs.getincrementaldecoder(codec)()
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._held:
            chunk = self._rest.read(BLOCK_BYTES)
            try:
                self._held = self._decoder.decode(chunk, final=not chunk).encode()
            except UnicodeDecodeError as error:
                what = f"not {self._codec} text ({error.reason}), as its first bytes say"
                raise DataError(self._path, f"{what}; {CONVERT.advice}") from error
            if not chunk:
                break
        size = len(buffer)
        part, self._held = self._held[:size], self._held[size:]
        buffer[: len(part)] = part
        return len(part)


def blocks_of(path: Path, file: IO[bytes], size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Yield an opened file as blocks; raises DataError at a line beyond ``LONGEST_LINE``."""
    rest: list[bytes] = []
    number, length = 1, 0
    while chunk := file.read(size):
        end = chunk.rfind(b"\n") + 1
        if end:
            block = b"".join([*rest, chunk[:end]])
            yield number, _tidy(number, block)
            number += block.count(b"\n")
            rest, length = [], 0
        rest.append(chunk[end:])
        length += len(chunk) - end
        if length > LONGEST_LINE:
            what = f"a line of more than {LONGEST_LINE} bytes; is this a text of many lines?"
            raise DataError(path, what, number)
    if length:
        yield number, _tidy(number, b"".join([*rest, b"\n"]))


def _tidy(number: int, block: bytes) -> bytes:
    if number == 1:
        block = block.removeprefix(BOM)
    return block.replace(b"\r\n", b"\n")


def without_blank_end(blocks: Iterable[Block]) -> Iterator[Block]:
    """Pass blocks on, without the blank lines at the very end."""
    held = 0
    for number, block in blocks:
        body = block.rstrip(b"\n")
        n_blank = len(block) - len(body)
        if body:
            yield number - held, b"\n" * held + body + b"\n"
            held = n_blank - 1
        else:
            held += n_blank


def lines(
    path: Path, report: Report = refuse, encoding: str | None = None, remedy: Remedy = CONVERT
) -> Generator[str, None, None]:
    """Yield every line of a text file, including blank ones, without its line end.

    encoding: see ``decoders``. remedy: of a line in another encoding. Where
    ``report`` returns, such a line is yielded with its bytes escaped.
    """
    return decoded_lines(path, blocks(path, encoding=encoding), report, encoding, remedy)


def rows(
    path: Path, report: Report = refuse, encoding: str | None = None, remedy: Remedy = CONVERT
) -> Iterator[str]:
    """Yield the lines of a text file, as ``lines`` does, without the blank ones at its end."""
    found = without_blank_end(blocks(path, encoding=encoding))
    return decoded_lines(path, found, report, encoding, remedy)


def text_rows(source: Source) -> Iterator[str]:
    """Yield the lines of a raw text, as ``rows`` does, in the encoding of its source."""
    return rows(source.path, encoding=source.encoding, remedy=ENCODING)


def decoded_lines(
    path: Path,
    blocks: Iterable[Block],
    report: Report,
    encoding: str | None = None,
    remedy: Remedy = CONVERT,
) -> Generator[str, None, None]:
    """Yield the lines of blocks as ``lines`` does."""
    names = decoders(encoding)
    looked = remedy != ENCODING
    for number, block in blocks:
        try:
            text = block.decode(names[0])
        except UnicodeDecodeError:
            if not looked:
                remedy, looked = _remedy_of(path, names), True
            for line, raw in enumerate(block[:-1].split(b"\n"), number):
                yield decoded_line(path, raw, line, report, names, remedy)
        else:
            yield from text[:-1].split("\n")


def _remedy_of(path: Path, names: Sequence[str]) -> Remedy:
    """Return the remedy of a raw text with lines that are in no encoding of ``names``.

    Raises BinaryFileError.
    """
    if not path.is_file():  # a pipe cannot be read again
        return ENCODING
    if is_binary(path):
        raise BinaryFileError(path, BINARY)
    return BOTH if names == UTF8 and _has_utf8(path) else ENCODING


def is_binary(path: Path) -> bool:
    """Tell whether the beginning of a file, unpacked, is no text in any encoding of bytes."""
    with opened(path) as file:
        head = file.read(BLOCK_BYTES)
    return len(head) - len(head.translate(None, CONTROLS)) > MANY_CONTROLS * len(head)


def _has_utf8(path: Path) -> bool:
    """Tell whether a line of a file has letters beyond ASCII in UTF-8."""
    for _, block in blocks(path):
        for line in () if block.isascii() else block.split(b"\n"):
            with suppress(UnicodeDecodeError):
                if not line.decode().isascii():
                    return True
    return False


UTF8 = ("utf-8",)


def decoded_line(
    path: Path,
    raw: bytes,
    line: int,
    report: Report,
    names: Sequence[str] = UTF8,
    remedy: Remedy = CONVERT,
) -> str:
    """Return a line as text, by the first codec that fits; report a line that none fits."""
    for codec in names:
        try:
            return raw.decode(codec)
        except UnicodeDecodeError as error:
            byte = raw[error.start]
    named = " or ".join("UTF-8" if codec == UTF8[0] else codec for codec in names)
    report(EncodingError(path, f"not {named} text (byte 0x{byte:02x})", line, remedy))
    return raw.decode(errors="backslashreplace")


def decoders(encoding: str | None) -> tuple[str, ...]:
    """Return the codecs of ``data.encoding``: names apart by commas; None is UTF-8.

    Raises UsageError for a name that Python does not know, and for an encoding whose line ends are
    not the one byte that ends a line of ASCII.
    """
    if encoding is None:
        return UTF8
    names = tuple(name.strip() for name in encoding.split(","))
    for name in names:
        try:
            ends = "\n".encode(name)
        except (LookupError, UnicodeError, ValueError):
            raise UsageError(
                f"data.encoding: {name!r} is no text encoding; use a name such as cp1252"
            ) from None
        if ends != b"\n":
            raise UsageError(
                f"data.encoding: lines of {name} do not end in one byte; leave it out where the "
                "file begins with a mark (ff fe or fe ff), else convert the file first, as by "
                f"iconv -f {name} -t utf-8"
            )
    return names
