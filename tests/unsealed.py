"""Runs whose files may be changed by hand: as before the manifest held their seals."""

from __future__ import annotations

import json
from pathlib import Path


def unsealed(run: Path) -> Path:
    """Take the seals out of the manifest of a run; return the run."""
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["files"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    return run
