"""A large theta.npz: documents of branches are counted without the whole of it in memory."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from test_altered_arrays import resealed
from tiny import small_settings

from hiertopics.base import archives
from hiertopics.base.errors import RunError
from hiertopics.fitting import driver
from hiertopics.runs import artifacts, rundir
from hiertopics.runs.rundir import RunDir

BACKEND = "nhdp-variational"


def refuse(*_: Any) -> None:
    """Stand in for what must not be done."""
    raise AssertionError("theta is mapped")


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every theta as a large one, and read a few of its documents at a time."""
    monkeypatch.setattr(archives, "MAPPED", 0)
    monkeypatch.setattr(rundir, "ENTRIES", 20)


def test_documents_are_counted_some_at_a_time(
    finished: Callable[..., Path], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = finished(BACKEND)
    expected = RunDir.open(path).supported_tree.branch_docs
    request.getfixturevalue("large")
    run = RunDir.open(path)
    _ = run.tree, run.split
    monkeypatch.setattr(archives, "_mapped", refuse)
    assert run.supported_tree.branch_docs.tolist() == expected.tolist()
    assert "theta" not in run.__dict__


def _without_a_row(arrays: dict[str, Any]) -> None:
    arrays["indptr"] = arrays["indptr"][:-1]
    arrays["shape"] = arrays["shape"] - [1, 0]
    for name in ("data", "indices"):
        arrays[name] = arrays[name][: arrays["indptr"][-1]]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda arrays: arrays["data"].__setitem__(-1, 2.0), "its values are no shares: one is"),
        (lambda arrays: arrays["data"].__setitem__(-1, -0.5), "its values are no shares: data has"),
        (lambda arrays: arrays["data"].__setitem__(-1, np.nan), "it holds no sparse matrix: "),
        (lambda arrays: arrays["indices"].__setitem__(-1, 99), "it holds no sparse matrix: "),
        (_without_a_row, r"\d+ x \d+ documents and nodes, but the run has"),
    ],
)
@pytest.mark.parametrize("size", ["small", "large"])
def test_what_is_no_theta_is_refused_as_the_whole_of_it_is(
    change: Callable[[dict[str, Any]], object],
    what: str,
    size: str,
    copied: Callable[..., Path],
    request: pytest.FixtureRequest,
) -> None:
    path = copied(BACKEND)
    resealed(path, "theta.npz", change)
    if size == "large":
        request.getfixturevalue("large")
    with pytest.raises(RunError, match=rf"theta\.npz is damaged: {what}"):
        _ = RunDir.open(path).supported_tree


def test_a_theta_that_is_gone_is_told(
    copied: Callable[..., Path], request: pytest.FixtureRequest
) -> None:
    path = copied(BACKEND)
    (path / "theta.npz").unlink()
    request.getfixturevalue("large")
    with pytest.raises(RunError, match=r"theta\.npz is missing"):
        _ = RunDir.open(path).supported_tree


def test_a_theta_of_many_entries_is_slim_and_read_as_before(
    tiny_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fitted(name: str) -> RunDir:
        return driver.fit(
            tiny_file,
            run=tmp_path / name,
            backend=BACKEND,
            iterations=4,
            overrides=[*small_settings(BACKEND)],
        ).run

    plain = fitted("plain")
    n_entries = plain.theta.nnz
    monkeypatch.setattr(artifacts, "MANY", n_entries)
    assert (fitted("as many").path / "theta.npz").read_bytes() == (
        plain.path / "theta.npz"
    ).read_bytes()
    monkeypatch.setattr(artifacts, "MANY", n_entries - 1)
    slim = fitted("slim")
    stored = sparse.load_npz(slim.path / "theta.npz")
    assert stored.dtype == np.float32
    with zipfile.ZipFile(slim.path / "theta.npz") as archive:
        assert {part.compress_type for part in archive.infolist()} == {zipfile.ZIP_DEFLATED}
    assert slim.theta.dtype == np.float64
    np.testing.assert_allclose(slim.theta.toarray(), plain.theta.toarray(), rtol=1e-7)
    assert slim.supported_tree.branch_docs.tolist() == plain.supported_tree.branch_docs.tolist()
    blocks = sparse.vstack(list(RunDir.open(slim.path).theta_in_blocks()), "csr")
    assert (blocks != slim.theta).nnz == 0
    assert slim.broken_seal() is None
    for name in ("model.npz", "tree.json", "topics.csv"):
        assert (slim.path / name).read_bytes() == (plain.path / name).read_bytes()
