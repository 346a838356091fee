"""The memory that a fit forecasts in its first line, beside the peak of its process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

LINES = "".join(f"w{i % 7} w{i % 5} w{i % 3} word\n" for i in range(60))
COUNTS = "".join(f"3 {i % 7}:1 {7 + i % 5}:2 {12 + i % 3}:1\n" for i in range(60))

CHILD = """
    from contextlib import suppress
    from pathlib import Path
    from hiertopics.cli import main

    with suppress(SystemExit):
        main()
    # Not that of resource.getrusage: a process begins with the peak of the one that made it.
    lines = Path("/proc/self/status").read_text().splitlines()
    print(*(line.split()[1] for line in lines if line.startswith("VmHWM")))
"""
"""Prints the kilobytes of the peak last."""


@pytest.mark.skipif(sys.platform != "linux", reason="libraries are of other sizes elsewhere")
@pytest.mark.parametrize(
    ("name", "contents", "further"),
    [("a.txt", LINES, ("--lines", "-s", "data.min_df=1")), ("a.ldac", COUNTS, ())],
    ids=["texts", "counts"],
)
def test_it_is_at_least_nine_tenths_of_the_peak(
    name: str, contents: str, further: tuple[str, ...], tmp_path: Path
) -> None:
    """The corpus is tiny, so libraries are nearly all of the peak."""
    (tmp_path / name).write_text(contents)
    words = ["fit", name, "--run", "run", "-q", "--iterations", "2", *further]
    command = [sys.executable, "-c", dedent(CHILD), *words]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    told = re.search(r"about ([0-9.]+) MiB of memory", (tmp_path / "run" / "log.txt").read_text())
    assert told is not None
    assert float(told[1]) * 2**10 >= 0.9 * int(done.stdout.split()[-1])
