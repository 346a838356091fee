"""The memory that a fit forecasts in its first line, beside the peak of its process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

LINES = "".join(f"w{i % 7} w{i % 5} w{i % 3} word\n" for i in range(60))
COUNTS = "".join(f"3 {i % 7}:1 {7 + i % 5}:2 {12 + i % 3}:1\n" for i in range(60))


@pytest.mark.skipif(sys.platform != "linux", reason="libraries are of other sizes elsewhere")
@pytest.mark.parametrize(
    ("name", "contents", "further"),
    [("a.txt", LINES, ("--lines", "-s", "data.min_df=1")), ("a.ldac", COUNTS, ())],
    ids=["texts", "counts"],
)
def test_it_is_at_least_nine_tenths_of_the_peak(
    name: str, contents: str, further: tuple[str, ...], tmp_path: Path
) -> None:
    """Of a tiny corpus, so that nearly all of the peak are libraries."""
    (tmp_path / name).write_text(contents)
    words = ["fit", name, "--run", "run", "-q", "--iterations", "2", *further]
    command = [sys.executable, "-m", "hiertopics", *words]
    subprocess.run([*command], cwd=tmp_path, check=True, capture_output=True)
    told = re.search(r"about ([0-9.]+) MiB of memory", (tmp_path / "run" / "log.txt").read_text())
    peak = json.loads((tmp_path / "run" / "manifest.json").read_text())["peak_memory_bytes"]
    assert told is not None
    assert float(told[1]) * 2**20 >= 0.9 * peak
