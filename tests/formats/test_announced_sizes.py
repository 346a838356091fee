"""A small file that announces much: refused before it is read, or accepted with a word about it."""

from __future__ import annotations

import gzip
import io
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base.errors import DataError
from hiertopics.corpus.corpora.checking import check
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats import counting
from hiertopics.corpus.formats.counting import MAX_DOCS
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source

Put = Callable[[str, bytes], Path]
MTX = b"%%MatrixMarket matrix coordinate integer general\n"
N_DOCS = 50_000
MIB = 1 << 20
HEADS: dict[str, tuple[bytes, str]] = {
    "docword.a.txt": (
        b"%d\n5\n1\n1 1 2\n" % N_DOCS,
        r"50000 documents x 5 words announced: about 78",
    ),
    "a.mtx": (MTX + b"%d 5 1\n1 1 2\n" % N_DOCS, r"50000 documents x 5 words announced: about 78"),
    "a.ldac": (b"1 %d:1\n" % (N_DOCS - 1), r"1 documents x 50000 words announced: about 3\.4 MiB"),
    "a.svm": (b"%d:1\n" % N_DOCS, r"1 documents x 50000 words announced: about 3\.4 MiB"),
}
TOO_MANY = {"docword.a.txt": b"N\n5\n1\n1 1 2\n", "a.mtx": MTX + b"N 5 1\n1 1 2\n"}


def packed_npz() -> bytes:
    stream = io.BytesIO()
    zeros = np.zeros(MIB, np.int64)
    ends = np.array([0, MIB])
    np.savez_compressed(stream, format=b"csr", shape=(1, 9), indptr=ends, indices=zeros, data=zeros)
    return stream.getvalue()


def packed_npy(n: int) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.zeros((n, 4)))
    return gzip.compress(stream.getvalue())


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what takes a megabyte be large."""
    monkeypatch.setattr(counting, "LARGE", MIB // 2)


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.usefixtures("small_limit")
def test_much_memory_for_few_bytes_is_told(put: Put, name: str) -> None:
    content, words = HEADS[name]
    notes = check(put(name, content)).notes
    assert len(notes) == 1
    assert re.match(words, notes[0])


@pytest.mark.parametrize("name", HEADS)
def test_what_takes_little_is_not(put: Put, name: str) -> None:
    assert check(put(name, HEADS[name][0])).notes == ()


@pytest.mark.parametrize("name", TOO_MANY)
def test_what_is_beyond_the_limit_is_refused_with_its_size(put: Put, name: str) -> None:
    path = put(name, TOO_MANY[name].replace(b"N", b"%d" % (MAX_DOCS + 1)))
    with pytest.raises(DataError, match=r"134217729 documents x 5 words announced: about 2\.0 GiB"):
        read_corpus(Source(path))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "a.npz",
            packed_npz(),
            r"1 documents x 9 words announced: about 16\.0 MiB of memory, packed",
        ),
        (
            "a.npy",
            packed_npy(MIB),
            r"1048576 rows x 4 columns announced: about 32\.0 MiB of memory",
        ),
    ],
    ids=["npz", "npy.gz"],
)
@pytest.mark.usefixtures("small_limit")
def test_what_inflates_is_refused_unread(put: Put, name: str, content: bytes, words: str) -> None:
    path = put(name, content)
    tracemalloc.start()
    with pytest.raises(DataError, match=words):
        read_corpus(Source(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * MIB


@pytest.mark.usefixtures("small_limit")
def test_what_is_packed_as_matrices_are_is_read(tmp_path: Path) -> None:
    counts = np.random.default_rng(0).integers(1, 9, (100, 1000))
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(counts))
    read = read_corpus(Source(tmp_path / "a.npz"))
    assert isinstance(read, Corpus) and read.n_tokens == counts.sum()


def test_a_packed_table_is_held_once(put: Put) -> None:
    path = put("a.npy", packed_npy(MIB))
    read_corpus(Source(put("b.npy", packed_npy(1))))  # imports
    tracemalloc.start()
    read_corpus(Source(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.5 * 32 * MIB


@pytest.mark.parametrize("name", [*HEADS, "a.npz"])
def test_a_lack_of_memory_names_what_was_announced(
    put: Put, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise MemoryError

    content = HEADS[name][0] if name in HEADS else b""
    path = put(name, content)
    if name == "a.npz":
        sparse.save_npz(path, sparse.csr_array(np.ones((1, N_DOCS), int)))
    monkeypatch.setattr(sparse, "csr_array", refuse)
    with pytest.raises(DataError, match="documents x .* words announced: .*, more than there is"):
        read_corpus(Source(path))
