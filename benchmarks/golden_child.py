"""Fits commands with the package of any commit and prints the hashes of what they write.

A script of its own, of the standard library and that package alone: it is run by path, so that the
package on PYTHONPATH is the one that fits. Reads one line of JSON per fit, ``name``, ``words`` and
``run`` (the folder of the run, removed afterwards); the first line that it prints holds the
processor and the versions, each further line the result of a fit.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

FILES = ("model.npz", "theta.npz", "theta_groups.npz", "paths.npz", "tree.json")
TOP_WORDS = 10
SWITCHES = (
    "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES",
    "NPY_DISABLE_CPU_FEATURES",
    "OPENBLAS_CORETYPE",
    "HIERTOPICS_PLAIN_NJIT",
)


def features() -> dict[str, Any]:
    """Return what bytes depend on besides the program: processor, switches, versions."""
    import llvmlite.binding as llvm
    import numba
    import numpy as np
    import scipy

    versions = {module.__name__: module.__version__ for module in (np, scipy, numba)}
    flags = sorted(name for name, there in llvm.get_host_cpu_features().items() if there)
    return {
        "processor": llvm.get_host_cpu_name(),
        "features": flags,
        "switches": {name: os.environ[name] for name in SWITCHES if name in os.environ},
        "python": sys.version.split()[0],
        **versions,
    }


def fit(words: list[str], run: Path) -> dict[str, Any]:
    """Give the command of a fit; return its exit code, hashes, and why it was refused."""
    from hiertopics.cli import main

    out, err = io.StringIO(), io.StringIO()
    words = [*words, "-o", str(run)]
    typed = patch.object(sys, "argv", ["hiertopics", *words])
    code = 0
    with typed, redirect_stdout(out), redirect_stderr(err):
        try:
            main(words)
        except SystemExit as stop:
            code = int(stop.code or 0)
        except Exception as error:
            code, _ = 70, err.write(f"{type(error).__name__}: {error}\n")
    if code:
        return {"code": code, "said": (err.getvalue().strip().splitlines() or [""])[-1]}
    return {"code": 0, **hashes(run)}


def hashes(run: Path) -> dict[str, Any]:
    """Return the SHA-256 of each file, of each array in it, and of the tree as people see it."""
    import numpy as np

    files = {name: _digest((run / name).read_bytes()) for name in FILES if (run / name).exists()}
    arrays = {}
    for name in files:
        if name.endswith(".npz"):
            with np.load(run / name) as held:
                arrays[name] = {
                    key: _digest(
                        f"{held[key].dtype} {held[key].shape}".encode(), held[key].tobytes()
                    )
                    for key in held.files
                }
    with np.load(run / "model.npz") as model:
        parent = model["parent"]
        # Trees of principal axes have vectors in place of words.
        phi = model["phi"] if "phi" in model.files else np.zeros((len(parent), 0))
    best = np.argsort(-phi, axis=1, kind="stable")[:, :TOP_WORDS]
    tree = {"parents": _digest(parent.tobytes()), "words": _digest(best.tobytes())}
    return {"files": files, "arrays": arrays, "tree": tree, "nodes": _by_depth(parent.tolist())}


def _by_depth(parent: list[int]) -> list[int]:
    """Return the number of nodes at each depth; what lies outside the nodes counts as a root."""
    depth: list[int] = []
    for up in parent:
        depth.append(0 if up < 0 else depth[up] + 1)
    return [depth.count(level) for level in range(max(depth, default=-1) + 1)]


def _digest_of(array: Any) -> str:
    return _digest(f"{array.dtype} {array.shape}".encode(), array.tobytes())


def _digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()


def main() -> None:
    """Fit what stdin asks for."""
    import hiertopics

    said = {"machine": features(), "package": str(Path(hiertopics.__file__).parents[1])}
    print(json.dumps(said), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        run = Path(asked["run"])
        result = {"name": asked["name"], **fit(asked["words"], run)}
        shutil.rmtree(run, ignore_errors=True)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
