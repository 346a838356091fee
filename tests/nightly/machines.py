"""Fit corpora by all defaults with the code of several processors, and compare the trees.

Kernels are compiled for the processor at hand, for one with AVX2 and one with AVX-512 (where the
processor at hand runs their code), numpy and OpenBLAS are held to older instructions, and a second
numpy is put beside the first. The trees must be the same: the nodes, their parents and the ten
first words of each; whether all bytes are is told besides. Run ``.ci/nightly machines``, or
``python tests/nightly/machines.py CORPUS ...``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import golden  # noqa: E402
from benchmarks.golden_fits import Fit  # noqa: E402

FOLDER = ROOT / "nightly" / "machines"
SECOND_NUMPY = "numpy==2.2.*"
CORPORA = ("data-samples/docstrings.ldac", "data-samples/planted.ldac")
HASWELL = ("avx2", "fma", "bmi", "bmi2", "f16c")
SKYLAKE = (*HASWELL, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
OLDER_NUMPY = "X86_V4 AVX512_ICL AVX512_SKX"
"""Instructions that numpy does without: names of all versions, of which each knows some."""


class Machine(NamedTuple):
    """A way to fit: its name, environment variables, and whether it takes the second numpy."""

    name: str
    switches: Mapping[str, str] = {}
    second: bool = False


def machines(host: Sequence[str]) -> list[Machine]:
    """Return the ways to fit on a processor with these features; the first is its own."""
    avx2 = {"NPY_DISABLE_CPU_FEATURES": OLDER_NUMPY, "OPENBLAS_CORETYPE": "Haswell"}
    found = [Machine("host"), Machine("second numpy", second=True)]
    if set(HASWELL) <= set(host):
        found.append(Machine("AVX2", _compiled("haswell", HASWELL) | avx2))
    if set(SKYLAKE) <= set(host):
        found.append(Machine("AVX-512", _compiled("skylake-avx512", SKYLAKE)))
        found.append(Machine("AVX-512 of OpenBLAS", {"OPENBLAS_CORETYPE": "SkylakeX"}))
    return found


def _compiled(name: str, features: Sequence[str]) -> dict[str, str]:
    flags = ",".join(f"+{feature}" for feature in features)
    cache = FOLDER / f"kernels-{name}"
    return {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": flags, "NUMBA_CACHE_DIR": str(cache)}


def second_python() -> str:
    """Return the interpreter of an environment with another numpy, made where there is none."""
    home = FOLDER / "numpy"
    python = home / "bin" / "python"
    if not (home / "made").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "-e", str(ROOT), SECOND_NUMPY], check=True)
        (home / "made").touch()
    return str(python)


def differences(
    found: Mapping[str, Mapping[str, Any]],
) -> tuple[list[str], list[str]]:
    """Return a line for each fit of each machine, and those of trees that differ from the first's.

    found: results of the child by fit, by machine.
    """
    told, wrong = [], []
    first = next(iter(found.values()))
    for machine, fits in found.items():
        for name, result in fits.items():
            if result["code"]:
                line = f"{machine}: {name}: exit code {result['code']}: {result['said']}"
                wrong.append(line)
            else:
                same = result["tree"] == first[name].get("tree")
                every = result["files"] == first[name].get("files")
                nodes = "+".join(map(str, result["nodes"]))
                verdict = "same bytes" if every else "same tree" if same else "another tree"
                line = f"{machine}: {name}: {nodes} nodes, {verdict}"
                wrong += [] if same else [line]
            told.append(line)
    return told, wrong


def main() -> None:
    """Fit, compare, and exit with 1 where a tree differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", help="files; by default the sample corpora")
    parser.add_argument("-b", "--backend", default="nhdp-variational")
    # As of all parts of .ci/nightly; a fit has no end of its own to be stopped at.
    parser.add_argument("--long", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--minutes", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    fits = [
        Fit(Path(path).name, ["fit", str(Path(path).resolve()), "-b", asked.backend, "-q"])
        for path in asked.corpora or [ROOT / corpus for corpus in CORPORA]
    ]
    host = golden.fit([], ROOT, print).machine["features"]
    found = {}
    for machine in machines(host):
        python = second_python() if machine.second else sys.executable
        made = golden.fit(fits, ROOT, lambda line: None, None, python, machine.switches)
        found[machine.name] = made.fits
        print(f"{machine.name}: numpy {made.machine['numpy']}, numba {made.machine['numba']}")
    told, wrong = differences(found)
    print("\n".join(told))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
