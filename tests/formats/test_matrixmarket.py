"""Matrix Market: headers, fields, symmetry, lines of mistakes, and what scipy makes of it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, example, given, settings, strategies as st
from numpy.typing import NDArray
from scipy import sparse
from spoilt import Put

from hiertopics.base.arrays import I64
from hiertopics.base.errors import DataError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.writing import write_corpus

HEAD = "%%MatrixMarket matrix coordinate {} {}\n"
INTEGER = HEAD.format("integer", "general")
REAL = HEAD.format("real", "general")
PATTERN = HEAD.format("pattern", "general")
SYMMETRIC = HEAD.format("integer", "symmetric")
MATRIX = [[2, 0, 1], [0, 0, 0], [0, 5, 0], [0, 0, 1]]

common = settings(
    deadline=None, derandomize=True, max_examples=40, suppress_health_check=list(HealthCheck)
)


def read(put: Put, text: str, name: str = "a.mtx") -> Any:
    return read_corpus(Source(put(name, text)))


def dense(corpus: Any) -> Any:
    return corpus.counts.toarray().tolist()


@pytest.mark.parametrize("name", ["a.mtx", "a.MTX.gz", "a.b.mtx.xz"])
@pytest.mark.parametrize(
    "text",
    [
        INTEGER + "4 3 4\n1 1 2\n1 3 1\n3 2 5\n4 3 1\n",
        INTEGER.upper() + "%\n% a remark\n\n4 3 4\n4 3 1\n1 3 1\n3 2 5\n1 1 2\n",
        INTEGER.replace(" ", "  ") + " 4\t3 4 \r\n1\t1  2\r\n 1 3 1\n\n% more\n3 2 5 \n4 3 1\n\n",
        "\ufeff" + INTEGER + "4 3 5\n1 1 2\n1 3 1\n2 2 0\n3 2 5\n4 3 1",
        REAL + "4 3 4\n1 1 2\n1 3 1.000\n3 2 0.5E+1\n4 3 1e0\n",
        REAL + "4 3 5\n1 1 2.\n1 3 10e-1\n3\t2\t5.0 \n4 3 1\n1 2 0.0\n",
    ],
)
def test_a_small_corpus(put: Put, name: str, text: str) -> None:
    corpus = read(put, text, name)
    assert dense(corpus) == MATRIX
    assert corpus.vocab == ("w0", "w1", "w2") and corpus.n_empty == 1


def test_a_pattern_has_counts_of_one(put: Put) -> None:
    assert dense(read(put, PATTERN + "2 3 3\n1 1\n2 3 \n2\t1\n")) == [[1, 0, 0], [1, 0, 1]]


@pytest.mark.parametrize("pairs", ["1 1 4\n2 1 3\n3 2 1\n", "1 2 3\n1 1 4\n2 3 1\n"])
def test_a_symmetric_matrix_is_completed_from_either_triangle(put: Put, pairs: Any) -> None:
    assert dense(read(put, f"{SYMMETRIC}3 3 3\n{pairs}")) == [[4, 3, 0], [3, 0, 1], [0, 1, 0]]


def test_no_entries_at_all(put: Put) -> None:
    assert read(put, INTEGER + "2 3 0\n").counts.shape == (2, 3)


def test_a_remark_longer_than_a_block(put: Put) -> None:
    text = INTEGER + "%" + "x" * 300_000 + "\n%\n1 2 2\n1 1 1\n1 3 1\n"
    with pytest.raises(DataError, match="expected a word from 1 to 2, got '3'") as caught:
        read(put, text)
    assert caught.value.line == 6


def test_the_vocabulary_must_have_as_many_words_as_columns(put: Put) -> None:
    put("a.vocab", "x\ny\n")
    with pytest.raises(DataError, match=r"a\.mtx:3: counts over 3 words, but .*a\.vocab holds 2"):
        read(put, INTEGER + "%\n2 3 0\n")


TRIPLE = 'expected "row column count", three whole numbers'


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "expected a first line like '%%MatrixMarket matrix coordinate integer general'"),
        ("4 3 4\n1 1 1\n", 1, "expected a first line like '%%MatrixMarket"),
        ("%%MatrixMarket matrix coordinate integer\n", 1, "expected a first line like"),
        (HEAD.format("complex", "general"), 1, "the field 'complex'; store them as integer or"),
        (HEAD.format("integer", "hermitian"), 1, "the symmetry 'hermitian'; store them as general"),
        (
            "%%MatrixMarket matrix array integer general\n1 1\n3\n",
            1,
            "counts cannot be read from the layout 'array'; store them as coordinate",
        ),
        (INTEGER, 2, "expected a line with the numbers of rows, columns and entries"),
        (INTEGER + "% 2 3 1\n", 3, "expected a line with the numbers of rows, columns and entries"),
        (INTEGER + "2 3\n", 2, "expected the numbers of rows .* columns and entries, got '2 3'"),
        (INTEGER + "0 3 0\n", 2, "expected the numbers of rows"),
        (INTEGER + "2 3 x 4\n", 2, "expected the numbers of rows"),
        (
            INTEGER + "999999999999 3 0\n",
            2,
            "999999999999 documents x 3 words announced: about 14.6 TiB",
        ),
        (INTEGER + "3 99999999 0\n", 2, "99999999 words need a vocabulary file"),
        (SYMMETRIC + "2 3 0\n", 2, "a symmetric matrix must be square, got '2 3 0'"),
        (SYMMETRIC + f"2 {'9' * 300} 0\n", 2, f"must be square, got '2 {'9' * 38}'\\.\\.\\."),
        (INTEGER + "2 3 2\n%\n1 1 1\n", 2, "announces 2 entries, the file holds 1"),
        (INTEGER + "2 3 1\n1 1\n", 3, TRIPLE + ", got '1 1'"),
        (INTEGER + "2 3 1\n1 1 1 1\n", 3, TRIPLE),
        (INTEGER + "2 3 1\n1 1 2.0\n", 3, TRIPLE),
        (INTEGER + "2 3 1\n1 1 -2\n", 3, TRIPLE),
        (REAL + "2 3 1\n1 1 2.5\n", 3, TRIPLE + r" \(3\.0 is one\), got '1 1 2\.5'"),
        (REAL + "2 3 1\n1 1 nan\n", 3, TRIPLE),
        (REAL + "2 3 1\n1 1 1e999\n", 3, TRIPLE),
        (REAL + "2 3 1\n1 1 1_0.0\n", 3, TRIPLE),
        (REAL + "2 3 1\n1.0 1 1\n", 3, TRIPLE),
        (REAL + "2 3 1\n1 2.0\n", 3, TRIPLE),
        (REAL + "2 3 1\n1 1 1e10\n", 3, "expected a count from 0 to 2147483647"),
        (PATTERN + "2 3 1\n1 1 1\n", 3, r'expected "row column", two whole numbers .* \'1 1 1\''),
        (PATTERN + "2 3 1\n1\n", 3, 'expected "row column", two whole numbers'),
        (INTEGER + "2 3 1\n3 1 1\n", 3, "expected a document from 1 to 2, got '3'"),
        (INTEGER + "2 3 1\n1 0 1\n", 3, "expected a word from 1 to 3, got '0'"),
        (INTEGER + "2 3 1\n%\n\n1 4 1\n", 5, "expected a word from 1 to 3, got '4'"),
        (
            INTEGER + "2 3 3\n2 1 1\n% between\n1 1 1\n\n2 1 0\n",
            7,
            "document 2 has word 1 already, on line 3",
        ),
        (SYMMETRIC + "2 2 2\n1 2 1\n2 1 1\n", 4, "document 1 has word 2 already, on line 3"),
    ],
)
def test_a_mistake_names_its_line(put: Put, text: str, line: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(put, text)
    assert caught.value.line == line


def test_writing(tmp_path: Path) -> None:
    corpus = Corpus(sparse.csr_array(np.array(MATRIX)), ("x", "y", "z"))
    write_corpus(corpus, tmp_path / "a.mtx.gz")
    text = gzip.decompress((tmp_path / "a.mtx.gz").read_bytes()).decode()
    assert text == INTEGER + "4 3 4\n1 1 2\n1 3 1\n3 2 5\n4 3 1\n"


@st.composite
def matrices(draw: st.DrawFn, symmetric: bool = False) -> I64:
    n_docs = draw(st.integers(1, 6))
    n_words = n_docs if symmetric else draw(st.integers(1, 6))
    size = st.sampled_from([0, 0, 0, 1, 2, 10, 1200, 2**31 - 1])
    rows = [[draw(size) for _ in range(n_words)] for _ in range(n_docs)]
    matrix = np.array(rows, dtype=np.int64)
    return np.triu(matrix) + np.triu(matrix, 1).T if symmetric else matrix


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("symmetric", [False, True])
@common
@given(data=st.data())
def test_what_scipy_writes_is_read(tmp_path: Path, kind: str, symmetric: bool, data: Any) -> None:
    matrix = data.draw(matrices(symmetric))
    options = data.draw(st.sampled_from([{}, {"precision": 17}, {"symmetry": "general"}]))
    scipy.io.mmwrite(tmp_path / "a.mtx", sparse.coo_array(matrix.astype(kind)), "remark", **options)
    assert dense(read_corpus(Source(tmp_path / "a.mtx"))) == matrix.tolist()


@common
@given(matrix=matrices())
def test_a_pattern_of_scipy_is_read(tmp_path: Path, matrix: NDArray[Any]) -> None:
    scipy.io.mmwrite(tmp_path / "a.mtx", sparse.coo_array(matrix), field="pattern")
    assert dense(read_corpus(Source(tmp_path / "a.mtx"))) == (matrix > 0).astype(int).tolist()


@common
@given(matrix=matrices())
@example(matrix=np.zeros((2, 3), dtype=np.int64))
def test_scipy_reads_what_is_written(tmp_path: Path, matrix: NDArray[Any]) -> None:
    words = tuple(f"w{word}" for word in range(matrix.shape[1]))
    write_corpus(Corpus(sparse.csr_array(matrix), words), tmp_path / "a.mtx")
    back = scipy.io.mmread(tmp_path / "a.mtx", spmatrix=False)
    assert back.toarray().tolist() == matrix.tolist() and back.dtype.kind == "i"
