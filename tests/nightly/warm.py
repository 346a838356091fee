"""A process that has imported the libraries which tests use, and runs pytest in copies of itself.

Such a run differs from one in a new interpreter in this alone: pytest, its plug-ins and the
libraries are imported already. Modules of the package and of the tests are not. Each line of stdin
asks for a run, as JSON: ``copy``, the checkout; ``options``, those of pytest; ``seconds`` of
processor time and ``wall`` by the clock, after which the run is killed; ``out``, the file that
takes what it prints. The answer is a line with its exit code, negative for a signal, and the
seconds of processor time that it took.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

LIBRARIES = (
    *("click", "hypothesis.extra.numpy", "hypothesis.strategies", "msgspec", "numba"),
    *("scipy.io", "scipy.optimize", "scipy.sparse.linalg", "scipy.special", "scipy.stats"),
    *("xdist.scheduler", "yaml"),
)
POLL_SECONDS = 0.01


def prepare() -> None:
    """Import the libraries as a run of pytest does, which rewrites those that are plug-ins."""
    with tempfile.TemporaryDirectory(prefix="warm-") as folder:
        Path(folder, "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        imports = "".join(f"import {name}\n" for name in LIBRARIES)
        Path(folder, "conftest.py").write_text(imports, encoding="utf-8")
        os.chdir(folder)
        code = pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", "--co", folder])
        assert code == pytest.ExitCode.NO_TESTS_COLLECTED, code
        os.chdir("/")
    del sys.modules["conftest"]
    assert not any(name.partition(".")[0] == "hiertopics" for name in sys.modules)
    gc.collect()
    gc.freeze()


def run(asked: dict[str, Any]) -> tuple[int, float]:
    """Run pytest in a copy of this process; return its exit code and its processor time."""
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            code = _live(asked)
        except BaseException:
            traceback.print_exc()
        finally:
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    ends = time.monotonic() + asked["wall"]
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            seconds = round(usage.ru_utime + usage.ru_stime, 1)
            return os.waitstatus_to_exitcode(status), seconds
        if time.monotonic() > ends:
            os.kill(pid, signal.SIGKILL)
        time.sleep(POLL_SECONDS)


def _live(asked: dict[str, Any]) -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (asked["seconds"], asked["seconds"] + 5))
    for number, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, asked["out"], os.O_WRONLY | os.O_TRUNC),
    ):
        os.dup2(os.open(path, flags), number)
    os.dup2(1, 2)
    os.chdir(asked["copy"])
    os.environ["PYTHONPATH"] = asked["copy"]
    sys.path.insert(0, asked["copy"])
    sys.argv[:] = ["pytest", *asked["options"]]
    return int(pytest.main(asked["options"]))


def main() -> None:
    """Answer until stdin ends; what pytest prints while it is prepared goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    prepare()
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
