"""Rows that are made some at a time, and are kept by nobody."""

from __future__ import annotations

import io
import pickle
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base import archives
from hiertopics.base.errors import NumericalError
from hiertopics.base.made import MadeRows, all_entries, row_ends
from hiertopics.contract.model import Summary
from hiertopics.corpus.data.tree import Tree
from hiertopics.runs import soundness
from hiertopics.runs.artifacts import write_summary
from hiertopics.runs.experiment import read_experiment
from hiertopics.runs.rundir import RunDir

RNG = np.random.default_rng(3)
ROWS = RNG.dirichlet(np.ones(40), 6000)
ROWS[7, 3] = 0.0
ROWS[7] /= ROWS[7].sum()


def some(rows: np.ndarray, first: int, last: int) -> np.ndarray:
    """Return a copy of some rows, as if they were made."""
    return rows[first:last].copy()


def made(rows: np.ndarray = ROWS) -> MadeRows:
    """Return rows that are made a few hundred at a time."""
    bounds = np.linspace(0, len(rows), 21).astype(np.int64)
    return MadeRows(partial(some, rows), bounds, rows.shape[1])


def written(matrix: sparse.csr_array | MadeRows) -> bytes:
    """Return the bytes of a file."""
    stream = io.BytesIO()
    archives.as_csr(matrix)(stream)
    return stream.getvalue()


@pytest.mark.parametrize("n_rows", [0, 3, 6000])
def test_a_file_of_them_is_that_of_the_matrix(n_rows: int) -> None:
    """The rows have no entry, a few, or more than are written at a time."""
    rows = ROWS[:n_rows]
    assert written(made(rows)) == written(all_entries(rows))
    assert made(rows).tocsr().toarray().tobytes() == rows.tobytes()


def test_more_entries_than_32_bits_count_have_indices_of_64(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A row behind 2^31 entries begins there, not below 0; a file of such rows is read as it is."""
    assert row_ends(2, 2**31).tolist() == [0, 2**31, 2**32]
    assert row_ends(1, 2**31 - 1).dtype == np.int32
    monkeypatch.setattr("hiertopics.base.made.MOST_ENTRIES", ROWS.size - 1)
    assert written(made()) == written(all_entries(ROWS))
    found = sparse.load_npz(io.BytesIO(written(made())))
    assert found.indptr.dtype == found.indices.dtype == np.int64
    np.testing.assert_array_equal(found.toarray(), ROWS)


def test_products_have_the_bits_of_those_of_the_matrix() -> None:
    into = sparse.csr_array(np.eye(5)[np.arange(40) % 5])
    whole, found = all_entries(ROWS) @ into, pickle.loads(pickle.dumps(made())) @ into
    assert made().shape == ROWS.shape and found.shape == whole.shape
    for name in ("data", "indices", "indptr"):
        assert getattr(found, name).tobytes() == getattr(whole, name).tobytes()


def test_neither_files_nor_products_hold_all_rows() -> None:
    into, stream = sparse.csr_array(np.eye(5)[np.arange(40) % 5]), io.BytesIO(bytes(3 * 10**6))
    tracemalloc.start()
    archives.as_csr(made())(stream)
    made() @ into
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * ROWS.nbytes


def test_a_run_writes_them_as_they_are_made(tmp_path: Path) -> None:
    """With the bytes of the whole matrix, which nobody makes."""
    experiment = read_experiment({"backend": "multinomial"}, None, ())
    whole = Summary(tree(), all_entries(ROWS))
    write_summary(RunDir(tmp_path), whole, ("a",), experiment)
    expected = (tmp_path / "theta.npz").read_bytes()
    summary = Summary(tree(), made())
    tracemalloc.start()
    write_summary(RunDir(tmp_path), summary, ("a",), experiment)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (tmp_path / "theta.npz").read_bytes() == expected
    assert peak < 0.5 * ROWS.nbytes


def tree() -> Tree:
    """Return a tree of 40 nodes."""
    return Tree(
        phi=np.ones((40, 1)),
        parent=np.array([-1] + [0] * 39, np.int32),
        kind=np.zeros(40, np.int8),
        weight=np.full(40, 1 / 40),
        n_docs=np.ones(40, np.int64),
        n_tokens=np.ones(40),
    )


@pytest.mark.parametrize(
    ("value", "said"), [(-1e-3, "is negative"), (np.nan, "is not finite"), (0.5, "not to 1")]
)
def test_what_is_no_distribution_is_named_by_its_document(value: float, said: str) -> None:
    soundness.check_summary(Summary(tree(), made()))
    rows = ROWS.copy()
    rows[4321, 9] = value
    if value < 0:
        rows[4321, 10] += 1.0 - rows[4321].sum()
    for whole in (made(rows), all_entries(rows)):
        with pytest.raises(NumericalError, match=f"theta of document 4321 .*{said}"):
            soundness.check_summary(Summary(tree(), whole))
