"""The machine and the versions behind a result, and how a process is held to one core.

Nothing that imports numpy: this module is imported before numpy, and by the processes that
measure the memory of others and must stay small themselves.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import hiertopics

THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "llvmlite",
    "tomotopy",
    "gensim",
    "scikit-learn",
)


def use_one_thread() -> None:
    """Limit every numerical library to one thread; only works before they are imported."""
    for name in THREAD_LIMITS:
        os.environ[name] = "1"


@contextmanager
def pinned() -> Iterator[None]:
    """Hold this process, and those it starts, to the last of its cores."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def describe() -> dict[str, object]:
    """Return processor, cores, memory, load and versions: part of every result."""
    return {
        "cpu": _field("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "cores_usable": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load_average": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": _versions(),
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "hiertopics": hiertopics.__version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _field(path: str, name: str) -> str | None:
    """Return what stands behind the first ``name:`` of a file in /proc."""
    for line in Path(path).read_text().splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip() == name:
            return value.strip()
    return None
