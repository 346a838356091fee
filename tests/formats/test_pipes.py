"""Corpora and side files out of a pipe: every row of them, in one opening, or a word about it."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base.errors import DataError
from hiertopics.corpus.corpora.checking import check
from hiertopics.corpus.corpora.conversion import convert
from hiertopics.corpus.data.vectors import Vectors
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source

N_ROWS = 4_000
MTX = b"%%MatrixMarket matrix coordinate integer general\n"
Pipe = Callable[..., Path]


@pytest.fixture
def pipe(tmp_path: Path) -> Pipe:
    """Return a function that makes a pipe which gives some bytes once, in parts of some size."""

    def make(name: str, content: bytes, part: int = 1 << 16) -> Path:
        path = tmp_path / name
        os.mkfifo(path)
        threading.Thread(target=feed, args=(path, content, part), daemon=True).start()
        return path

    return make


def feed(path: Path, content: bytes, part: int) -> None:
    try:
        with open(path, "wb", buffering=0) as stream:
            for start in range(0, len(content), part):
                stream.write(content[start : start + part])
    except BrokenPipeError:
        pass


def npy() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.arange(4.0 * N_ROWS).reshape(-1, 4))
    return stream.getvalue()


CORPORA: dict[str, bytes] = {
    "ldac": b"1 0:1\n" * N_ROWS,
    "uci": b"%d\n1\n%d\n" % (N_ROWS, N_ROWS)
    + b"".join(b"%d 1 1\n" % (d + 1) for d in range(N_ROWS)),
    "mtx": MTX + b"%d 1 1\n%d 1 1\n" % (N_ROWS, N_ROWS),
    "svmlight": b"1:1\n" * N_ROWS,
    "edges": b"".join(b"%d %d\n" % (n, (n + 1) % N_ROWS) for n in range(N_ROWS)),
    "vectors": b"1,2,3,4\n" * N_ROWS,
    "vectors as saved": npy(),
    "arff": b"@relation r\n@attribute a numeric\n@data\n" + b"0.5\n" * N_ROWS,
    "jsonl": b'{"text": "tree leaf"}\n' * N_ROWS,
    "csv": b"text\n" + b"tree leaf\n" * N_ROWS,
    "tsv": b"text\n" + b"tree leaf\n" * N_ROWS,
}
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("pack", PACKED)
@pytest.mark.parametrize("name", CORPORA)
def test_no_row_is_lost(pipe: Pipe, name: str, pack: str) -> None:
    path = pipe("fifo", PACKED[pack](CORPORA[name]))
    assert read_corpus(Source(path, name.partition(" ")[0])).n_docs == N_ROWS


@pytest.mark.parametrize("name", ["ldac", "vectors"])
def test_a_pipe_that_gives_a_byte_at_a_time(pipe: Pipe, name: str) -> None:
    path = pipe("fifo", gzip.compress(CORPORA[name]), part=1)
    assert read_corpus(Source(path, name)).n_docs == N_ROWS


@pytest.mark.parametrize("name", CORPORA)
def test_check_and_convert_read_the_same(pipe: Pipe, tmp_path: Path, name: str) -> None:
    form = name.partition(" ")[0]
    assert check(pipe("a", CORPORA[name]), data={"from_": form}).shape["n_docs"] == N_ROWS
    done = convert(pipe("b", CORPORA[name]), tmp_path / "c.arff", data={"from_": form})
    assert done.corpus.n_docs == N_ROWS


@pytest.mark.parametrize("pack", PACKED)
def test_a_zip_needs_a_file(pipe: Pipe, pack: str) -> None:
    stream = io.BytesIO()
    sparse.save_npz(stream, sparse.csr_array(np.eye(3, dtype=int)))
    path = pipe("fifo", PACKED[pack](stream.getvalue()))
    with pytest.raises(DataError, match="cannot be read from a pipe; write it to a file first"):
        read_corpus(Source(path, "npz"))


@pytest.mark.parametrize("separator", [b" ", b"\t"])
def test_side_files(pipe: Pipe, tmp_path: Path, separator: bytes) -> None:
    (tmp_path / "a.ldac").write_bytes(CORPORA["ldac"])
    tags = separator.join([b"ann", b"bob"]) + b"\n"
    corpus = read_corpus(
        Source(
            tmp_path / "a.ldac",
            vocab=pipe("words", b"tree\nleaf\n"),
            groups=pipe("groups", tags * N_ROWS),
            labels=pipe("labels", b"\n" * (N_ROWS - 1) + tags),
        )
    )
    assert not isinstance(corpus, Vectors) and corpus.vocab == ("tree", "leaf")
    assert corpus.groups is not None and corpus.labels is not None
    assert corpus.groups.members.nnz == 2 * N_ROWS and corpus.labels.members.nnz == 2


@pytest.mark.parametrize("side", ["vocab", "groups", "labels"])
def test_a_folder_is_no_side_file(tmp_path: Path, side: str) -> None:
    (tmp_path / "a.ldac").write_bytes(b"1 0:1\n")
    with pytest.raises(DataError, match="is a folder, not a file"):
        sides: dict[str, Any] = {side: tmp_path}
        read_corpus(Source(tmp_path / "a.ldac", **sides))
