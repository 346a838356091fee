"""A command given in this process, and its answer in a form that JSON holds."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

import llvmlite.binding
import numba
import numpy as np
import scipy
from oldcases import OUT

from hiertopics.cli import main


def machine() -> dict[str, str]:
    """Return what the bytes of a fit depend on besides the program: processor and libraries."""
    versions = {module.__name__: module.__version__ for module in (np, scipy, numba)}
    processor = numba.config.CPU_NAME or llvmlite.binding.get_host_cpu_name()
    return {"processor": processor, **versions}


def give(words: list[str]) -> tuple[int, str, str]:
    """Give a command in the current folder; return its exit code, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    typed = patch.object(sys, "argv", ["hiertopics", *words])
    with typed, redirect_stdout(out), redirect_stderr(err):
        try:
            main(words)
        except SystemExit as stop:
            return int(stop.code or 0), out.getvalue(), err.getvalue()
    raise AssertionError("a command ends by an exit code")


def answer(line: str) -> dict[str, Any] | None:
    """Return what a command prints and what it writes to ``OUT``; None where it is refused."""
    written = Path(OUT)
    written.unlink(missing_ok=True)
    code, out, _ = give(line.split())
    if code:
        return None
    found: dict[str, Any] = {"out": out}
    if written.exists():
        found["file"] = _contents(written)
    return found


def _contents(path: Path) -> Any:
    """Return a text as it is, and the arrays of an npz file as lists by their names."""
    if not path.read_bytes().startswith(b"PK"):
        return path.read_text(encoding="utf-8")
    with np.load(path) as arrays:
        return {name: arrays[name].tolist() for name in arrays.files if name != "format"}
