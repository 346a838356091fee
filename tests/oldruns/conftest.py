"""The runs that were kept, taken out of their archives."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from oldcases import HERE


class Old(NamedTuple):
    """A folder with the runs ``done`` and ``stopped`` of a case; answers: by their commands."""

    folder: Path
    answers: dict[str, Any]


@pytest.fixture
def unpack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Old]:
    """Return a function that unpacks a case of a program, its corpora beside it, and goes there."""

    def into(name: str, case: str) -> Old:
        folder = tmp_path / "old"
        shutil.copytree(HERE / name / "corpora", folder)
        with zipfile.ZipFile(HERE / name / f"{case}.zip") as archive:
            archive.extractall(folder)
        monkeypatch.chdir(folder)
        return Old(folder, json.loads((folder / "answers.json").read_text(encoding="utf-8")))

    return into
