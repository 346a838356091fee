"""Documents and names that stay in files: their mapped arrays, and checks of these."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import I32, I64, U8
from hiertopics.base.axes import Axes, read_head
from hiertopics.base.stretches import stretches

BLOCK_PAIRS = 1 << 18
"""Pairs that are in memory at a time, a longer document apart: a few megabytes."""

CONTINUING, CONTINUES = 0xC0, 0x80
"""A byte of UTF-8 continues a letter where its bits under the first mask are the second."""


class PairArrays(NamedTuple):
    """Consecutive documents: word and count of each pair, int32 [n_pairs].

    Words ascend within a document; the arrays are mapped from files.
    """

    words: I32
    counts: I32


class Texts(Sequence[str]):
    """Strings in a file.

    names: uint8 [n_bytes], their UTF-8 bytes, one string behind the other. name_ends: int64
    [n_names + 1], the bytes before each string.
    """

    names: Annotated[U8, Axes("n_bytes")]
    name_ends: Annotated[I64, Axes("n_names+1", ascends_to="n_bytes")]

    def __init__(self, names: U8, name_ends: I64) -> None:
        self.names, self.name_ends = names, name_ends

    def require_sound(self) -> None:
        """Raise ValueError unless the bytes are UTF-8 and strings end where letters do."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        for start in range(0, len(self.names), BLOCK_PAIRS):
            decoder.decode(self.names[start : start + BLOCK_PAIRS].tobytes())
        decoder.decode(b"", final=True)
        begins = self.name_ends[self.name_ends < len(self.names)]
        if ((self.names[begins] & CONTINUING) == CONTINUES).any():
            raise ValueError("a name ends within a letter")

    def __len__(self) -> int:
        return len(self.name_ends) - 1

    def __getitem__(self, place: int) -> str:  # type: ignore[override]
        if not 0 <= place < len(self):
            raise IndexError(place)
        return self.names[self.name_ends[place] : self.name_ends[place + 1]].tobytes().decode()


class StoredBlock(NamedTuple):
    """Documents of a part whose pairs are in memory together.

    words, counts: int32 [n_pairs]. ends: int64 [n_docs + 1], the pairs before each document.
    lengths: int64 [n_docs], the tokens of each. first: number of the first document, for messages.
    """

    words: Annotated[I32, Axes("n_pairs", below="n_words")]
    counts: Annotated[I32, Axes("n_pairs", least=1)]
    ends: Annotated[I64, Axes("n_docs+1", ascends_to="n_pairs")]
    lengths: Annotated[I64, Axes("n_docs")]
    first: int

    def require_sound(self) -> None:
        """Raise ValueError unless words ascend in each document and counts sum to its length."""
        ascends = self.words[1:] > self.words[:-1]
        starts = self.ends[1:-1]
        ascends[starts[(starts > 0) & (starts < len(self.words))] - 1] = True
        if not ascends.all():
            raise ValueError("the words of a document do not ascend")
        sums = np.zeros(len(self.lengths), np.int64)
        filled = np.diff(self.ends) > 0
        if filled.any():
            sums[filled] = np.add.reduceat(self.counts, self.ends[:-1][filled], dtype=np.int64)
        wrong = np.flatnonzero(sums != self.lengths)
        if len(wrong):
            doc = int(wrong[0])
            what = f"counts of document {self.first + doc + 1} add up to {int(sums[doc])}"
            raise ValueError(f"{what}, but its length is {int(self.lengths[doc])}")


class DocumentFiles(NamedTuple):
    """Documents in the files of a folder.

    parts: their pairs. first_doc: int64 [n_parts + 1], the documents before each part. ends: int64
    [n_docs + 1], the pairs before each document. lengths: int64 [n_docs], the tokens of each.

    It is pickled by the name of its folder, which must be in reach where it is unpickled.
    """

    parts: tuple[PairArrays, ...]
    first_doc: Annotated[I64, Axes("n_parts+1", ascends_to="n_docs")]
    ends: Annotated[I64, Axes("n_docs+1", ascends_to="n_pairs")]
    lengths: Annotated[I64, Axes("n_docs")]
    folder: Path

    def __reduce__(self) -> tuple[Any, ...]:
        return stored_in, (self.folder, self.first_doc)

    @property
    def n_pairs(self) -> int:
        """Number of pairs in all parts."""
        return sum(part.words.size for part in self.parts)

    def require_sound(self) -> None:
        """Raise ValueError unless each part has the pairs of its documents."""
        n_pairs = np.diff(self.ends[self.first_doc])
        for part, wanted in zip(self.parts, n_pairs.tolist(), strict=True):
            if not all(array.shape == (wanted,) for array in part):
                raise ValueError("a part has not as many pairs as its documents")

    def blocks(self) -> Iterator[StoredBlock]:
        """Yield all documents, about ``BLOCK_PAIRS`` pairs at a time."""
        for part, first, last in zip(
            self.parts, self.first_doc[:-1].tolist(), self.first_doc[1:].tolist(), strict=True
        ):
            ends = self.ends[first : last + 1] - self.ends[first]
            for a, b in stretches(ends, BLOCK_PAIRS):
                pairs = slice(int(ends[a]), int(ends[b]))
                words, counts = (np.asarray(array[pairs]) for array in part)
                lengths = self.lengths[first + a : first + b]
                yield StoredBlock(words, counts, ends[a : b + 1] - ends[a], lengths, first + a)


def part_names(number: int) -> tuple[str, str]:
    """Return the names of the files of a part: words and counts."""
    return f"{number:05d}.words.npy", f"{number:05d}.counts.npy"


def stored_in(folder: Path, first_doc: I64) -> DocumentFiles:
    """Map the arrays in a folder; raises OSError or ValueError where they cannot be mapped.

    first_doc: int64 [n_parts + 1], as in ``DocumentFiles``.
    """
    names = [part_names(number) for number in range(len(first_doc) - 1)]
    parts = [PairArrays(mapped(folder / words), mapped(folder / counts)) for words, counts in names]
    ends, lengths = mapped(folder / "ends.npy"), mapped(folder / "lengths.npy")
    return DocumentFiles(tuple(parts), first_doc, ends, lengths, folder)


def mapped(path: Path) -> NDArray[Any]:
    """Return the row [n] of a file of NumPy's format, mapped into memory, for reading.

    Raises ValueError where the file is not as long as its header tells, or holds no row.
    """
    with open(path, "rb") as stream:
        shape, _, dtype = read_head(stream, os.fstat(stream.fileno()).st_size)
        if len(shape) != 1:
            raise ValueError(f"{path.name} has {len(shape)} axes, not 1")
        if not shape[0] * dtype.itemsize:  # nothing can be mapped
            return np.empty(shape, dtype)
        return np.memmap(stream, dtype, "r", stream.tell(), shape)
