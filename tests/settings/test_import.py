"""Importing the configuration loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "scipy", "numba", "click", "hashlib", "difflib")

PROGRAM = f"""
import time
import msgspec, yaml
begin = time.perf_counter()
import hiertopics.settings.config, hiertopics.settings.template, hiertopics.units
seconds = time.perf_counter() - begin
import sys
print(seconds, *(name for name in {HEAVY!r} if name in sys.modules))
"""


def test_import_is_cheap() -> None:
    """No numpy, scipy, numba or click; little time beyond msgspec and yaml themselves."""
    command = [sys.executable, "-c", PROGRAM]
    seconds = []
    for _ in range(3):
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        elapsed, *loaded = result.stdout.split()
        assert loaded == []
        seconds.append(float(elapsed))
    assert min(seconds) < 0.06  # about 0.005 with bytecode, 0.012 without
