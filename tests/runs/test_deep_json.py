"""JSON that is nested beyond all bounds is damage, in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hiertopics.base.errors import RunError
from hiertopics.runs.rundir import RunDir

DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("metrics.jsonl", RunDir.metrics),
        ("manifest.json", lambda run: run.manifest),
    ],
)
def test_deep_nesting_is_damage(
    copied: Callable[..., Path], name: str, read: Callable[[RunDir], object]
) -> None:
    path = copied()
    (path / name).write_text(DEEP + "\n")
    with pytest.raises(RunError, match="is damaged"):
        read(RunDir(path))
