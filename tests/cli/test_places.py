"""Where results may go: a place that cannot be is wrong usage, told before any work is done."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
FIT = ("-b", "hdp-pcvb0", "-s", "model.truncation=3", "--iterations", 2, "-q")
LONG = "x" * 300


def make_places(folder: Path) -> None:
    (folder / "file").write_text("")
    (folder / "folder.npz").mkdir()
    (folder / "dangling").symlink_to("nowhere")


@pytest.mark.parametrize("place", ["", "file", "file/below", "dangling", LONG, f"{LONG}/below"])
def test_a_run_where_none_can_be(call: Call, tiny_file: Path, tmp_path: Path, place: str) -> None:
    make_places(tmp_path)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    outcome = call("fit", tiny_file, *FIT, "-o", place)
    assert outcome.code == 2 and outcome.out == "" and outcome.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "place", ["", ".", "folder.npz", "file/a.npz", "none/a.npz", f"{LONG}.npz", "x" * 245 + ".npz"]
)
@pytest.mark.parametrize("command", ["infer", "export", "convert", "simulate"])
def test_a_file_where_none_can_be(
    command: str,
    place: str,
    call: Call,
    finished: Callable[..., Path],
    tiny_file: Path,
    tmp_path: Path,
) -> None:
    make_places(tmp_path)
    words: dict[str, tuple[object, ...]] = {
        "infer": ("infer", finished(), tiny_file, "-o", place),
        "export": ("export", finished(), "--to", "json", "-o", place),
        "convert": ("convert", tiny_file, place, "--to", "npz"),
        "simulate": ("simulate", "hdp-pcvb0", "-o", place),
    }
    outcome = call(*words[command])
    assert outcome.code == 2 and outcome.out == "" and outcome.err.count("\n") == 1


@pytest.mark.slow
def test_a_full_disk_behind_stderr_ends_no_fit(tiny_file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hiertopics", "fit", str(tiny_file), *map(str, FIT[:-1])]
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*command, "-o", "run"], cwd=tmp_path, stdout=-1, stderr=full)
    assert (done.returncode, done.stdout) == (0, b"run\n")


def test_a_full_disk_behind_stderr_hides_no_failure(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hiertopics", "check", "none.ldac"]
    with open("/dev/full", "wb") as full:
        assert subprocess.run(command, cwd=tmp_path, stderr=full).returncode == 2


@pytest.mark.parametrize("command", ["show-tree", "topics", "export"])
def test_a_run_without_summary_says_so(command: str, call: Call, copied: Any) -> None:
    run = copied()
    for name in ("model.npz", "theta.npz", "tree.json", "topics.csv"):
        (run / name).unlink()
    manifest = run / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"done"', '"running"'))
    outcome = call(command, run, *(["-o", "a.json"] if command == "export" else []))
    assert outcome.code == 1 and outcome.err.count("\n") == 1
    assert "has no model yet; give the fit's command again" in outcome.err
    shutil.rmtree(run)
