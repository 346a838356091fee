"""Sparse matrices as scipy saves them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from spoilt import Put
from tiny import counts_in

from hiertopics.base.errors import DataError
from hiertopics.corpus.formats.source import Source

MATRIX = np.array([[0, 2, 1], [0, 0, 0], [4, 0, 0]])


def saved(path: Path, matrix: NDArray[Any]) -> Source:
    sparse.save_npz(path, matrix)
    return Source(path)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("make", [sparse.coo_array, sparse.coo_matrix])
def test_whole_numbers_of_any_type_and_layout(
    tmp_path: Path, layout: Any, dtype: Any, make: Any
) -> None:
    matrix = make(MATRIX.astype(dtype)).asformat(layout)
    corpus = counts_in(saved(tmp_path / "a.npz", matrix))
    assert corpus.counts.toarray().tolist() == MATRIX.tolist()
    assert corpus.counts.dtype == np.int32
    assert corpus.vocab == ("w0", "w1", "w2")


def test_zeros_and_ones(tmp_path: Path) -> None:
    corpus = counts_in(saved(tmp_path / "a.npz", sparse.csr_array(MATRIX > 0)))
    assert corpus.n_tokens == 3


def test_a_stored_zero_is_no_pair(tmp_path: Path) -> None:
    matrix = sparse.csr_array((np.array([1, 0]), np.array([0, 2]), np.array([0, 2])), shape=(1, 3))
    assert counts_in(saved(tmp_path / "a.npz", matrix)).n_pairs == 1


def test_the_vocabulary_must_fit(tmp_path: Path, put: Put) -> None:
    put("a.vocab", "x\ny\n")
    source = saved(tmp_path / "a.npz", sparse.csr_array(MATRIX))
    with pytest.raises(DataError, match=r"counts over 3 words, but .*a\.vocab holds 2"):
        counts_in(source)


@pytest.mark.parametrize(
    ("value", "got"), [(-1, "-1"), (2**31, "2147483648"), (0.5, "0.5"), (np.nan, "nan")]
)
def test_other_values_name_row_and_column(tmp_path: Path, value: Any, got: Any) -> None:
    matrix = MATRIX.astype(float if isinstance(value, float) else np.int64)
    matrix[2, 0] = value
    source = saved(tmp_path / "a.npz", sparse.csr_array(matrix))
    with pytest.raises(DataError, match=rf"whole numbers, got {got} in row 2, column 0"):
        counts_in(source)


def test_complex_values_are_refused(tmp_path: Path) -> None:
    source = saved(tmp_path / "a.npz", sparse.csr_array(MATRIX.astype(complex)))
    with pytest.raises(DataError, match="values of type complex128"):
        counts_in(source)


@pytest.mark.parametrize("layout", ["csr", "coo"])
def test_a_repeated_word_is_refused(tmp_path: Path, layout: Any) -> None:
    ones, zeros = np.ones(2, int), np.zeros(2, int)
    matrix = (
        sparse.csr_array((ones, zeros, np.array([0, 2])), shape=(1, 3))
        if layout == "csr"
        else sparse.coo_array((ones, (zeros, zeros)), shape=(1, 3))
    )
    with pytest.raises(DataError, match="a word is repeated in"):
        counts_in(saved(tmp_path / "a.npz", matrix))


def test_other_layouts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="stored as csr, csc, coo, got dia"):
        counts_in(saved(tmp_path / "a.npz", sparse.dia_array(MATRIX)))


def arrays(**changes: Any) -> dict[str, NDArray[Any]]:
    parts = {"format": b"csr", "shape": (2, 3), "data": [1, 1], "indices": [0, 1]}
    parts |= {"indptr": [0, 1, 2]} | changes
    return {name: np.array(value) for name, value in parts.items() if value is not None}


@pytest.mark.parametrize(
    "broken",
    [
        arrays(data=None),
        arrays(format=None),
        arrays(indices=[0, 7]),
        arrays(indices=[0, -1]),
        arrays(indptr=[0, 2, 1]),
        arrays(indptr=[0, 9]),
        arrays(shape=(2, -3)),
        arrays(format=b"csc", indptr=[0, 1, 2, 2], indices=[0, 5]),
        arrays(format=b"xyz"),
        arrays(data=np.array([None, {}], dtype=object)),
    ],
)
def test_broken_parts_are_data_errors(tmp_path: Path, broken: Any) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, **broken)
    with pytest.raises(DataError, match="not a s"):
        counts_in(Source(path))


def test_what_is_no_archive(tmp_path: Path, put: Put) -> None:
    with pytest.raises(DataError, match=r"not an \.npz file"):
        counts_in(Source(put("a.npz", b"\x80\x04garbage")))
    with pytest.raises(DataError, match="not a sparse matrix"):
        counts_in(Source(put("b.npz", b"PKgarbage")))


def test_no_documents(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no documents"):
        counts_in(saved(tmp_path / "a.npz", sparse.csr_array((0, 3), dtype=int)))


def test_packed_once_more(tmp_path: Path, put: Put) -> None:
    plain = saved(tmp_path / "a.npz", sparse.csr_array(MATRIX)).path
    corpus = counts_in(Source(put("b.npz.gz", plain.read_bytes())))
    assert corpus.n_tokens == 7
