"""Fit corpora by all defaults with the code of several processors, and compare the files.

Kernels are compiled for the processor at hand, for one with AVX2 and one with AVX-512 (where the
processor at hand runs their code), numpy and OpenBLAS are held to older instructions, and each of
these fits is made with two versions of numpy. All files of a corpus must have the same bytes. Run
``.ci/nightly machines``, or ``python tests/nightly/machines.py CORPUS ...``; what stands in the
ledger is not fitted again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(Path(__file__).parent)]

from processors import without_avx512  # noqa: E402
from records import (  # noqa: E402
    FOLDER as LEDGERS,
    FOUND,
    PASSED,
    TIME_IS_UP,
    Deadline,
    Ledger,
    parser,
    published,
)

from benchmarks import golden  # noqa: E402
from benchmarks.golden_child import SWITCHES  # noqa: E402
from benchmarks.golden_fits import Fit  # noqa: E402

FOLDER = LEDGERS / "machines"
PARTS = ("hiertopics", "tests/nightly/machines.py", "tests/processors.py")
SECOND_NUMPY = "numpy==2.2.*"
CORPORA = ("data-samples/docstrings.ldac", "data-samples/planted.ldac")
HASWELL = ("avx2", "fma", "bmi", "bmi2", "f16c")
SKYLAKE = (*HASWELL, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
FILES = ("model.npz", "theta.npz", "tree.json")
SHOWN = 8
"""Hexadecimal digits of a hash that the table shows."""


class Machine(NamedTuple):
    """A way to fit.

    narrow: whether numpy does without AVX-512. second: whether the second numpy is taken.
    """

    name: str
    switches: Mapping[str, str] = {}
    narrow: bool = False
    second: bool = False

    def variables(self, python: str) -> dict[str, str]:
        """Return the environment variables for an interpreter, whose numpy has names of its own."""
        told = {"NPY_DISABLE_CPU_FEATURES": without_avx512(python)} if self.narrow else {}
        return {**self.switches, **told}


def machines(host: Iterable[str]) -> list[Machine]:
    """Return the ways to fit on a processor with these features; the first is its own."""
    found = [Machine("host")]
    if set(HASWELL) <= set(host):
        older = {"OPENBLAS_CORETYPE": "Haswell"}
        found.append(Machine("AVX2", _compiled("haswell", HASWELL) | older, narrow=True))
    if set(SKYLAKE) <= set(host):
        newer = {"OPENBLAS_CORETYPE": "SkylakeX"}
        found.append(Machine("AVX-512", _compiled("skylake-avx512", SKYLAKE) | newer))
    return found + [one._replace(name=f"{one.name}, second numpy", second=True) for one in found]


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


def wrong(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each fit that failed, or whose files differ from the corpus's first."""
    first: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        where = f"{row['machine']}: {row['corpus']}"
        if row["code"]:
            yield f"{where}: exit code {row['code']}: {row['said']}"
            continue
        other = first.setdefault(row["corpus"], row)
        if row["tree"] != other["tree"]:
            yield f"{where}: another tree than on {other['machine']}"
        elif row["files"] != other["files"]:
            names = ", ".join(name for name in FILES if row["files"][name] != other["files"][name])
            yield f"{where}: the same tree as on {other['machine']}, other bytes of {names}"


def newest(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the newest row of each key, in the order of their first ones."""
    return list({row["key"]: row for row in rows}.values())


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the fits as markdown: the first digits of the SHA-256 of their files."""
    lines = [
        "| corpus | machine | numpy | nodes by depth | " + " | ".join(FILES) + " |",
        "| --- | --- | --- | --- | " + " | ".join("---" for _ in FILES) + " |",
    ]
    for row in sorted(rows, key=lambda row: str(row["corpus"])):
        numpy, name = row["made_by"]["numpy"], row["machine"].partition(",")[0]
        name = f"{name} ({row['made_by']['processor']})" if name == "host" else name
        if row["code"]:
            cells = [f"exit code {row['code']}", *("" for _ in FILES)]
        else:
            cells = [" + ".join(map(str, row["nodes"]))]
            cells += [row["files"][file][:SHOWN] for file in FILES]
        lines.append("| " + " | ".join([row["corpus"], name, numpy, *cells]) + " |")
    found = list(wrong(rows))
    n_corpora = len({row["corpus"] for row in rows})
    told = "; ".join(found) if found else "all files of each corpus have the same bytes"
    lines += ["", f"{len(rows)} fits of {n_corpora} corpora: {told}."]
    return "\n".join(lines)


def main() -> int:
    """Fit what the ledger has not; return the exit code: 1 where bytes differ."""
    options = parser(str(__doc__).partition("\n")[0])
    options.add_argument("corpora", nargs="*", help="files; by default the sample corpora")
    options.add_argument("-b", "--backend", default="nhdp-variational")
    asked = options.parse_args()
    ledger = Ledger("machines", *PARTS)
    if published("machines", table(newest(ledger.rows())), asked):
        return PASSED
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in SWITCHES:
        os.environ.pop(name, None)
    deadline = Deadline(asked.minutes)
    host = golden.fit([], ROOT, print).machine["features"]
    for path in map(Path, asked.corpora or [ROOT / corpus for corpus in CORPORA]):
        for machine in machines(host):
            key = f"{asked.backend}: {path.name}: {machine.name}"
            if ledger.done(key):
                continue
            if deadline.over:
                return TIME_IS_UP
            python = second_python() if machine.second else sys.executable
            one = Fit(path.name, ["fit", str(path.resolve()), "-b", asked.backend, "-q"])
            switches = machine.variables(python)
            made = golden.fit([one], ROOT, lambda line: None, None, python, switches)
            ledger.add(
                key,
                corpus=path.name,
                machine=machine.name,
                made_by=made.machine,
                **made.fits[one.name],
            )
            print(key, flush=True)
    rows = newest(ledger.rows())
    print(table(rows))
    return FOUND if any(wrong(rows)) else PASSED


if __name__ == "__main__":
    sys.exit(main())
