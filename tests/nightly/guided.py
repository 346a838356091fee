"""Search one reader by coverage with atheris: READER SECONDS FOLDER.

What it finds is left in the folder as find-*. Started by fuzz.py.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import atheris

# Kernels are left alone: numba would compile what counts the branches.
INSTRUMENTED = ["formats", "corpora", "data", "holdouts", "runs", "settings", "files", "units"]

with atheris.instrument_imports(include=[f"hiertopics.{name}" for name in INSTRUMENTED]):
    from readers import readers

MOST_MIB = 4096
LONGEST_INPUT = 4096


def main() -> None:
    """Search; the process ends in it."""
    name, seconds, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    work, seeds = Path(tempfile.mkdtemp(dir=folder)), folder / "seeds"
    (work / "read").mkdir()
    seeds.mkdir()
    reader = readers(work)[name]
    for number, sound in enumerate(reader.sound):
        (seeds / str(number)).write_bytes(sound)
    warnings.simplefilter("error")
    options = [f"-max_total_time={seconds}", "-timeout=20", f"-rss_limit_mb={MOST_MIB}"]
    options += [f"-artifact_prefix={folder}/find-", f"-max_len={LONGEST_INPUT}", "-seed=1"]

    def judge(content: bytes) -> None:
        reader.judge(content, work / "read")

    atheris.Setup([sys.argv[0], *options, str(seeds)], judge)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
