"""A kernel in fixed order gives the same bits whatever processor LLVM writes code for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from nights import by_night

NEEDED = ("avx2", "fma", "bmi", "bmi2", "f16c")
BITS = Path(__file__).with_name("sweep_bits.py")


def swept(name: str, folder: Path, processor: dict[str, str]) -> str:
    """Return the hashes of a kernel's sweeps, with code for a processor; {}: this one's."""
    apart = {"NUMBA_CACHE_DIR": str(folder)} if processor else {}
    environment = {**os.environ, **apart, **processor}
    done = subprocess.run(
        [sys.executable, str(BITS), name], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sweep_block_in_fixed_order", *by_night("tables", "placing")])
def test_a_tree_has_the_same_bits_on_every_processor(name: str, tmp_path: Path) -> None:
    """On a processor of AVX-512 ``sweep_block`` itself has others: sums are split otherwise."""
    features = llvm.get_host_cpu_features()
    if not all(features.get(name) for name in NEEDED):
        pytest.skip("code for another processor cannot run here")
    haswell = {
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in NEEDED),
    }
    assert swept(name, tmp_path, {}) == swept(name, tmp_path, haswell)
