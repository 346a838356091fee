"""Small files on disk, made where a test needs them."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest
from spoilt import Put


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Return a function that writes a file, compressed where its name says so."""

    def write(name: str, content: str | bytes) -> Path:
        data = content.encode() if isinstance(content, str) else content
        if name.endswith(".gz"):
            data = gzip.compress(data)
        if name.endswith(".xz"):
            data = lzma.compress(data)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    return write
