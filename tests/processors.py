"""What numpy has to leave out to work as on a processor without AVX-512."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping

UP_TO_AVX2 = frozenset(
    [
        "SSE",
        "SSE2",
        "SSE3",
        "SSSE3",
        "SSE41",
        "POPCNT",
        "SSE42",
        "AVX",
        "F16C",
        "FMA3",
        "FMA4",
        "XOP",
        "AVX2",
        "X86_V2",
        "X86_V3",
    ]
)
"""Numpy's names, those of all versions, of what a processor with AVX2 has."""

FOUND = """
import json, numpy
print(json.dumps(numpy.show_config(mode="dicts")["SIMD Extensions"]))
"""


def simd_of(
    python: str = sys.executable, more: Mapping[str, str] | None = None
) -> dict[str, list[str]]:
    """Return the names that numpy of an interpreter has code for: baseline, found and not found.

    more: environment variables. A name that numpy does not know is an error.
    """
    command = [python, "-W", "error::ImportWarning", "-c", FOUND]
    said = subprocess.run(
        command, env={**os.environ, **(more or {})}, stdout=subprocess.PIPE, check=True
    )
    found: dict[str, list[str]] = json.loads(said.stdout)
    return found


def wider(names: Iterable[str]) -> list[str]:
    """Return the names of what a processor with AVX2 lacks: also those of later versions."""
    return [name for name in names if name not in UP_TO_AVX2]


def without_avx512(python: str = sys.executable) -> str:
    """Return ``NPY_DISABLE_CPU_FEATURES`` for the numpy of an interpreter.

    Each version has names of its own, knows only those that it has code for, and ignores others.
    """
    simd = simd_of(python, {"NPY_DISABLE_CPU_FEATURES": ""})
    return " ".join(wider([*simd.get("found", []), *simd.get("not found", [])]))
