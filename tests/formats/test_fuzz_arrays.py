"""Archives of arrays that scipy did not write: every array replaced by another, any dtype."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing import Seed, common
from hypothesis import example, given, settings, strategies as st
from judging import examine
from tiny import counts_in

from hiertopics.base.errors import DataError
from hiertopics.corpus.formats.source import Source

MATRICES: dict[str, dict[str, Any]] = {
    "csr": {"indptr": [0, 2, 2, 3], "indices": [0, 2, 1], "data": [2, 3, 1]},
    "csc": {"indptr": [0, 1, 2, 3], "indices": [0, 2, 0], "data": [2, 1, 3]},
    "coo": {"row": [0, 0, 2], "col": [0, 2, 1], "data": [2, 3, 1]},
}
SHAPES: list[Any] = [
    [3, 3], [2, 3], [3, 2], [0, 3], [3, 0], [0, 0], [3], [3, 3, 3], 3, [-1, 3], [3.5, 3.0],
    [10**12, 3], [3, 10**12], [2**28, 3], [2**62, 4], [3, 2**25],
]  # fmt: skip
DTYPES = ["int32", "int64", "uint64", "int8", "float16", "float32", "bool", "c8", "S3", "M8[s]"]
LAYOUTS = [b"csc", b"coo", b"dia", b"bsr", "csr", b""]
entries = st.lists(st.sampled_from([0, 1, 2, 3, -1, 2**31 - 1, 2**31, 2**40]), max_size=5)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    values = np.array(draw(entries))
    with np.errstate(all="ignore"):
        values = values.astype(draw(st.sampled_from(DTYPES)))
    return values.reshape(1, -1) if draw(st.integers(0, 9)) == 9 else values


def archive(arrays: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def saved(layout: str, changes: dict[str, Any]) -> bytes:
    """Return a matrix as an archive, some of its arrays changed or (None) left out."""
    parts = {"format": np.array(layout.encode()), "shape": [3, 3], **MATRICES[layout], **changes}
    return archive({name: part for name, part in parts.items() if part is not None})


@pytest.mark.slow
@pytest.mark.parametrize("layout", MATRICES)
@settings(common, max_examples=150)
@example(changes={"indptr": [0, 2**30, 0, 0]})  # scipy walks off the end of its arrays here
@example(changes={"shape": [10**12, 3]})
@example(changes={"data": np.array([1, 2**31, 1], dtype=np.float32)})
@example(changes={"data": np.array([1, 2, -1], dtype=np.float16)})
@given(
    changes=st.dictionaries(
        st.sampled_from(["shape", "indptr", "indices", "row", "col", "data"]),
        st.none() | arrays(),
        max_size=2,
    )
    | st.fixed_dictionaries({"shape": st.sampled_from(SHAPES)})
    | st.fixed_dictionaries({"format": st.sampled_from(LAYOUTS)})
)
def test_strange_arrays_are_refused_clearly_or_sound(
    tmp_path: Path, layout: str, changes: dict[str, Any]
) -> None:
    seed = Seed("a.npz", "a.npz", {"a.npz": b""}, {})
    examine(seed, saved(layout, changes), tmp_path, line=False)


@pytest.mark.parametrize("layout", MATRICES)
def test_the_matrices_are_sound(tmp_path: Path, layout: str) -> None:
    (tmp_path / "a.npz").write_bytes(saved(layout, {}))
    dense = counts_in(Source(tmp_path / "a.npz")).counts.toarray()
    assert dense.tolist() == [[2, 0, 3], [0, 0, 0], [0, 1, 0]]


def test_a_count_that_float32_rounds_up_is_too_large(tmp_path: Path) -> None:
    data = np.array([1, 2**31, 1], dtype=np.float32)
    (tmp_path / "a.npz").write_bytes(saved("csr", {"data": data}))
    with pytest.raises(DataError, match="expected counts from 1 to 2147483647"):
        counts_in(Source(tmp_path / "a.npz"))
