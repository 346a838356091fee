"""Peak memory of whole fit commands."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import process, quality
from benchmarks.quality import Task
from benchmarks.records import Record


def measure(data: Path, task: Task) -> Record:
    """Fit once and return the peak of the whole process."""
    with tempfile.TemporaryDirectory() as folder:
        fit = process.run(
            process.hiertopics(*quality.fit_arguments(data, task, Path(folder) / "run"))
        )
    return {
        **task._asdict(),
        "peak_bytes": fit.peak_bytes,
        "seconds": fit.seconds,
    }
