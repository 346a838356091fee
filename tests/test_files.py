"""Files are replaced whole or not at all, and equal contents are equal bytes."""

from __future__ import annotations

import json
import mmap
import os
import stat
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base import archives, files
from hiertopics.base.errors import RunError
from hiertopics.base.made import MadeRows, all_entries


def test_a_file_is_never_seen_half_written(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    seen = []

    def write(stream: IO[bytes]) -> None:
        stream.write(b"new")
        stream.flush()
        seen.append(path.read_bytes())

    files.write_whole(path, write)
    assert (seen, path.read_bytes()) == ([b"old"], b"new")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ValueError("a bug")])
def test_what_stood_there_stays_when_a_writer_fails(tmp_path: Path, error: Exception) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write(stream: IO[bytes]) -> None:
        stream.write(b"new")
        raise error

    expected = RunError if isinstance(error, OSError) else ValueError
    with pytest.raises(expected):
        files.write_whole(path, write)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]


def test_what_is_no_regular_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    """A device or a pipe: renaming over it would do away with it (-o /dev/null, as root)."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(RunError, match="pipe"):
        files.write_text(pipe, "text")
    assert stat.S_ISFIFO(pipe.stat().st_mode) and os.listdir(tmp_path) == ["pipe"]


def test_a_missing_folder_is_a_run_error_naming_the_file(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"cannot write .*x\.txt: No such file"):
        files.write_text(tmp_path / "nowhere" / "x.txt", "text")


def test_a_new_file_has_the_rights_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        files.write_text(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_compressed_arrays_are_smaller_and_open_with_numpy(tmp_path: Path) -> None:
    arrays = {"a": np.zeros((500, 20)), "number": np.asarray(3.5), "text": np.asarray("word")}
    files.write_whole(tmp_path / "x.npz", archives.as_npz(arrays, compressed=True))
    assert (tmp_path / "x.npz").stat().st_size < 2000
    with np.load(tmp_path / "x.npz") as found:
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array, strict=True)


def test_equal_arrays_give_equal_bytes_at_any_time(tmp_path: Path) -> None:
    arrays = {"a": np.arange(5), "text": np.asarray("word")}
    matrix = sparse.csr_array(np.eye(3))
    for name in ("first", "second"):
        archives.write_npz(tmp_path / f"{name}.npz", arrays)
        archives.write_csr(tmp_path / f"{name}-csr.npz", matrix)
        files.write_whole(tmp_path / f"{name}-small.npz", archives.as_npz(arrays, compressed=True))
        time.sleep(0.01)
        os.utime(tmp_path, (0, 0))
    for kind in ("", "-csr", "-small"):
        first, second = (tmp_path / f"{name}{kind}.npz" for name in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()


def test_a_sparse_matrix_comes_back_and_opens_with_scipy(tmp_path: Path) -> None:
    matrix = sparse.csr_array(np.array([[0, 1.5, 0], [0, 0, 0]]))
    archives.write_csr(tmp_path / "m.npz", matrix)
    for again in (archives.read_csr(tmp_path / "m.npz"), sparse.load_npz(tmp_path / "m.npz")):
        assert again.shape == (2, 3) and (again != matrix).nnz == 0


def test_packing_is_undone_by_unpacking() -> None:
    matrix = sparse.csr_array(np.array([[0, 2, 0], [0, 0, 0], [7, 0, 1]], dtype=np.int32))
    again = archives.unpack_csr("x", archives.pack_csr("x", matrix))
    assert again.dtype == np.int32 and again.shape == (3, 3) and (again != matrix).nnz == 0
    with pytest.raises(KeyError):
        archives.unpack_csr("y", archives.pack_csr("x", matrix))


def test_pickles_are_neither_written_nor_read(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="Python objects"):
        archives.write_npz(tmp_path / "x.npz", {"x": np.array([{}], dtype=object)})
    np.savez(tmp_path / "y.npz", x=np.array([{}], dtype=object))
    with pytest.raises(RunError, match="damaged"):
        archives.read_npz(tmp_path / "y.npz")


@pytest.mark.usefixtures("files_are_closed")
@pytest.mark.parametrize("data", [b"", b"garbage", b"PK\x03\x04garbage"], ids=repr)
def test_a_damaged_file_is_a_run_error_naming_it(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "broken.npz"
    path.write_bytes(data)
    for read in (archives.read_npz, archives.read_csr):
        with pytest.raises(RunError, match=r"broken\.npz is damaged"):
            read(path)


def test_a_missing_file_is_a_run_error_naming_it(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"gone\.npz is missing"):
        archives.read_npz(tmp_path / "gone.npz")


def test_an_npz_that_is_no_sparse_matrix_is_a_run_error(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.arange(3))
    with pytest.raises(RunError, match=r"other\.npz"):
        archives.read_csr(tmp_path / "other.npz")


def test_json_takes_numbers_of_numpy() -> None:
    value = {"a": np.float64(0.5), "b": np.int64(3), "c": np.arange(2), "d": np.bool_(True)}
    assert json.loads(files.to_json(value)) == {"a": 0.5, "b": 3, "c": [0, 1], "d": True}
    assert files.to_json("Zoë") == '"Zoë"'
    with pytest.raises(TypeError, match="set has no JSON form"):
        files.to_json({1})


def test_only_partial_files_are_swept_up(tmp_path: Path) -> None:
    for name in (".model.npz.1a2b.partial", "keep.partial.txt", ".keep"):
        (tmp_path / name).write_bytes(b"")
    files.remove_partial(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".keep", "keep.partial.txt"]


KILLED = """
import os, sys
from pathlib import Path
from hiertopics.base import archives, files

calls, replace = 0, os.replace

def replacing(source, target):
    global calls
    calls += 1
    if calls == int(sys.argv[1]):
        os._exit(9)
    replace(source, target)

os.replace = replacing
texts = {Path(name): files.as_text(sys.argv[2]) for name in ("words", "[groups]", "corpus")}
files.write_together(texts, last_tells=True)
"""


def write_killed(at: int, text: str, folder: Path) -> int:
    """Write three files in a process that dies before its rename of a number; return its code."""
    words = [sys.executable, "-c", KILLED, str(at), text]
    return subprocess.run(words, cwd=folder).returncode


@pytest.mark.parametrize("at", [1, 2, 3])
def test_files_of_two_moments_never_stand_with_the_last_one(tmp_path: Path, at: int) -> None:
    """Three files, the last of which stands already, killed before each of the three renames."""
    assert write_killed(0, "old", tmp_path) == 0
    assert write_killed(at, "new", tmp_path) == 9
    found = {path.name: path.read_text() for path in tmp_path.glob("[!.]*")}
    assert set(found) == {"words", "[groups]"}
    assert list(found.values()).count("new") == at - 1
    assert any(path.name.endswith(".partial") for path in tmp_path.iterdir())
    assert write_killed(0, "new", tmp_path) == 0
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert found == dict.fromkeys(("words", "[groups]", "corpus"), "new")


def test_a_temporary_file_whose_writer_lives_is_no_leftover(tmp_path: Path) -> None:
    def write(stream: IO[bytes]) -> None:
        files.remove_partial(tmp_path)
        files.write_text(tmp_path / "x.txt", "another's")
        stream.write(b"mine")

    files.write_whole(tmp_path / "x.txt", write)
    assert (tmp_path / "x.txt").read_text() == "mine"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_leftovers_of_other_files_stay(tmp_path: Path) -> None:
    for name in (".x.txt.1a2b3c4d.partial", ".y.txt.1a2b3c4d.partial"):
        (tmp_path / name).write_bytes(b"half")
    files.write_text(tmp_path / "x.txt", "text")
    assert sorted(os.listdir(tmp_path)) == [".y.txt.1a2b3c4d.partial", "x.txt"]


def test_what_stood_there_stands_there_still_where_no_file_was_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write_text(tmp_path / "last", "old")

    def failing(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", failing)
    texts = {tmp_path / name: files.as_text("new") for name in ("first", "last")}
    with pytest.raises(RunError, match="cannot write .*first: No space"):
        files.write_together(texts, last_tells=True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("last", "old")]


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, np.float64("nan"), np.float32("inf")])
def test_json_has_no_word_for_what_is_no_finite_number(number: float, tmp_path: Path) -> None:
    value = {"a": number, "b": [1.5, (number, {"c": number})], "d": np.array([[number, 2.0]])}
    expected = {"a": None, "b": [1.5, [None, {"c": None}]], "d": [[None, 2.0]]}
    assert json.loads(files.to_json(value)) == expected
    files.write_json(tmp_path / "x.json", value)
    text = (tmp_path / "x.json").read_text()
    assert json.loads(text) == expected and "NaN" not in text and "Infinity" not in text


def test_large_arrays_are_mapped_and_their_check_sums_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAPPED", 100)
    path, rng = tmp_path / "a.npz", np.random.default_rng(0)
    matrix = sparse.random_array((40, 30), density=0.2, format="csr", rng=rng)
    archives.write_csr(path, matrix, {"by_columns": np.asfortranarray(rng.random((5, 6)))})
    found = archives.read_csr(path)
    assert (found != matrix).nnz == 0
    base: Any = found.data
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, mmap.mmap)
    arrays = archives.read_npz(path)
    for name, array in archives.read_npz_mapped(path).items():
        np.testing.assert_array_equal(array, arrays[name])
    packed = tmp_path / "packed.npz"
    files.write_whole(packed, archives.as_npz(arrays, compressed=True))
    for name, array in archives.read_npz_mapped(packed).items():
        np.testing.assert_array_equal(array, arrays[name])
    harmed = bytearray(path.read_bytes())
    harmed[400] ^= 1
    path.write_bytes(harmed)
    with pytest.raises(RunError, match="is damaged"):
        archives.read_csr(path)


def test_rows_of_a_sparse_matrix_come_some_at_a_time(tmp_path: Path) -> None:
    """All of them, in order, and in memory there are never more than a few."""
    path, shapes = tmp_path / "a.npz", list[tuple[int, int]]()
    rows = np.random.default_rng(0).poisson(0.7, (6000, 40)).astype(np.float64)
    rows[3000] = 0.0
    matrix = sparse.csr_array(rows)
    archives.write_csr(path, matrix)
    tracemalloc.start()
    blocks = archives.read_csr_blocks(path, shapes.append, 1000, 30)
    n_rows = [block.shape[0] for block in blocks]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * matrix.data.nbytes and max(n_rows) == 30
    assert shapes == [matrix.shape]
    for most_entries in (1, 1000):
        blocks = archives.read_csr_blocks(path, shapes.append, most_entries, 1000)
        found = sparse.vstack(list(blocks), "csr")
        for name in archives.CSR:
            np.testing.assert_array_equal(getattr(found, name), getattr(matrix, name))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"indptr": [0, 2]}, "2 pointers for 2 rows"),
        ({"indptr": [0, 2**30, 0]}, "row by row"),
        ({"indptr": [0, 1, 2]}, "does not lead from 0 to 3"),
        ({"indices": [0, 1, 2]}, "outside 0 .. 1"),
        ({"indices": [0, 1]}, "not as many"),
        ({"indices": [0.0, 1.0, 0.0]}, "whole numbers"),
        ({"data": [0.5, 0.5, np.nan]}, "not finite"),
        ({"data": [[0.5, 0.5, 1.0]]}, "no row of numbers"),
        ({"shape": [2]}, "no pair of lengths"),
        ({"shape": None}, "'shape'"),
        ({"data": None}, "'data.npy'"),
    ],
)
def test_what_is_no_sparse_matrix_is_not_read_row_by_row(
    changes: dict[str, Any], what: str, tmp_path: Path
) -> None:
    arrays: dict[str, Any] = {
        "data": [0.5, 0.5, 1.0],
        "indices": [0, 1, 1],
        "indptr": [0, 2, 3],
        "shape": [2, 2],
    }
    kept = {name: np.array(each) for name, each in (arrays | changes).items() if each is not None}
    archives.write_npz(tmp_path / "a.npz", kept)
    with pytest.raises(RunError, match=f"a.npz is damaged: it holds no sparse matrix: .*{what}"):
        list(archives.read_csr_blocks(tmp_path / "a.npz", lambda shape: None, 2, 2))


def test_check_sums_of_rows_are_compared_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    archives.write_csr(path, sparse.csr_array(np.full((50, 4), 0.25)))
    harmed = path.read_bytes().replace(np.full(9, 0.25).tobytes(), np.full(9, 0.5).tobytes(), 1)
    path.write_bytes(harmed)
    with pytest.raises(RunError, match="is damaged"):
        list(archives.read_csr_blocks(path, lambda shape: None, 20, 20))


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_a_slim_matrix_is_float32_and_compressed(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """scipy reads it, and all ways of reading agree; how much is written at a time is not seen."""
    rows = np.random.default_rng(0).dirichlet(np.ones(60), 400)
    matrix, path, plain = sparse.csr_array(rows), tmp_path / "slim.npz", tmp_path / "plain.npz"
    archives.write_csr(plain, matrix)
    files.write_whole(path, archives.as_csr(matrix, slim=True))
    whole = path.read_bytes()
    monkeypatch.setattr(archives, "AT_ONCE", step)
    files.write_whole(path, archives.as_csr(matrix, slim=True))
    assert path.read_bytes() == whole and len(whole) < 0.36 * plain.stat().st_size
    monkeypatch.undo()
    found = sparse.load_npz(path)
    assert found.dtype == np.float32 and found.format == "csr"
    np.testing.assert_array_equal(found.toarray(), rows.astype(np.float32))
    np.testing.assert_array_equal(archives.read_csr(path).toarray(), rows.astype(np.float32))
    blocks = archives.read_csr_blocks(path, lambda shape: None, 1000, 30)
    assert (sparse.vstack(list(blocks), "csr") != found).nnz == 0


def test_made_rows_are_slim_as_rows_that_stand_there(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(6), 40)
    made = MadeRows(lambda first, last: rows[first:last], np.array([0, 13, 40]), 6)
    for name, given in (("made", made), ("there", all_entries(rows))):
        files.write_whole(tmp_path / name, archives.as_csr(given, slim=True))
    assert (tmp_path / "made").read_bytes() == (tmp_path / "there").read_bytes()
