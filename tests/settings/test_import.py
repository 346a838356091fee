"""Importing the configuration loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "scipy", "numba", "click", "hashlib", "difflib")

PROGRAM = f"""
import hiertopics.settings.config, hiertopics.base.units
import sys
print(*(name for name in {HEAVY!r} if name in sys.modules))
"""


def test_import_is_cheap() -> None:
    """No numpy, scipy, numba or click, nor what msgspec and yaml do without."""
    command = [sys.executable, "-c", PROGRAM]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split() == []
