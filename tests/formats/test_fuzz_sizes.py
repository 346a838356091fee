"""A few bytes that announce a world: refused before any memory is taken for it."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fuzzing import MTX

from hiertopics.base.errors import DataError
from hiertopics.corpus.corpora.checking import check
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.table import FORMATS

MOST_BYTES = 32 << 20
HUGE = 10**12


def npy(shape: tuple[int, int]) -> bytes:
    """Return the head of an array and 16 bytes of it."""
    stream = io.BytesIO()
    head = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, head)
    return stream.getvalue() + bytes(16)


def npz(shape: list[int], layout: bytes) -> bytes:
    stream = io.BytesIO()
    ids = np.array([0, 1, 1, 1])
    np.savez(
        stream, format=layout, shape=shape, indptr=ids, indices=[0], row=[0], col=[0], data=[1]
    )
    return stream.getvalue()


CASES: dict[str, tuple[str, bytes]] = {
    "ldac: a huge id": ("a.ldac", b"1 0:1\n1 %d:1\n" % HUGE),
    "ldac: a huge number of words": ("a.ldac", b"%d 0:1\n" % HUGE),
    "uci: documents": ("docword.a.txt", b"%d\n2\n1\n1 1 1\n" % HUGE),
    "uci: words": ("docword.a.txt", b"2\n%d\n1\n1 1 1\n" % HUGE),
    "uci: pairs": ("docword.a.txt", b"2\n2\n%d\n1 1 1\n" % HUGE),
    "uci: a huge id": ("docword.a.txt", b"2\n2\n1\n%d 1 1\n" % HUGE),
    "mtx: documents": ("a.mtx", MTX + b"integer general\n%d 2 1\n1 1 1\n" % HUGE),
    "mtx: words": ("a.mtx", MTX + b"integer general\n2 %d 1\n1 1 1\n" % HUGE),
    "mtx: entries": ("a.mtx", MTX + b"integer general\n2 2 %d\n1 1 1\n" % HUGE),
    "mtx: a square": ("a.mtx", MTX + b"pattern symmetric\n%d %d 1\n1 1\n" % (HUGE, HUGE)),
    "svmlight: a huge id": ("a.svm", b"1 1:1\n1 %d:1\n" % HUGE),
    "npz: documents": ("a.npz", npz([HUGE, 3], b"coo")),
    "npz: documents by columns": ("a.npz", npz([HUGE, 3], b"csc")),
    "npz: words": ("a.npz", npz([3, HUGE], b"csr")),
    "arff: a huge column": ("a.arff", b"@relation r\n@attribute a numeric\n@data\n{%d 1}\n" % HUGE),
}
BY_NAME = {"edges", "jsonl", "json", "csv", "tsv", "folder", "lines", "paragraphs"}
"""Formats that hold no ids and announce nothing."""
RESERVED = {"vectors", "shards", "parquet", "h5ad"}
"""numpy reserves addresses for what an array announces, but no memory before the rows are there;
the arrays of shards are mapped from files that must be as long as they say; pyarrow has no memory
that ``tracemalloc`` sees (``test_fuzz_readers`` spoils its files), nor has HDF5."""


@pytest.fixture
def bounded() -> Iterator[None]:
    """Fail where more memory was taken than any of the files can need."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST_BYTES


def test_every_format_is_here() -> None:
    assert {name.partition(":")[0] for name in CASES} | BY_NAME | RESERVED == set(FORMATS)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("bounded")
def test_what_a_file_announces_is_not_believed(tmp_path: Path, name: str) -> None:
    file, content = CASES[name]
    (tmp_path / file).write_bytes(content)
    with pytest.raises(DataError, match=file):
        read_corpus(Source(tmp_path / file))
    assert check(tmp_path / file).problems


@pytest.mark.parametrize("shape", [(HUGE, 2), (2, HUGE), (2**62, 4)])
def test_an_array_that_is_not_there_is_refused(tmp_path: Path, shape: tuple[int, int]) -> None:
    (tmp_path / "a.npy").write_bytes(npy(shape))
    with pytest.raises(DataError, match=r"a\.npy: not an array"):
        read_corpus(Source(tmp_path / "a.npy"))


@pytest.mark.usefixtures("bounded")
def test_a_huge_id_of_a_group_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "a.ldac").write_text("1 0:1\n")
    (tmp_path / "a.authors").write_text(f"{HUGE}\n")
    (tmp_path / "a.authors.key").write_text("ann\n")
    with pytest.raises(DataError, match=r"a\.authors:1: expected ids from 0 to 0"):
        read_corpus(Source(tmp_path / "a.ldac"))
