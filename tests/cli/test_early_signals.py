"""A signal before the first iteration: the promised exit code, nothing written, no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SIGNALS = ["SIGINT", "SIGTERM", "SIGUSR1"]
FIT = ["fit", "a.ldac", "-b", "hdp-pcvb0", "-s", "model.truncation=3", "--iterations", "2"]
AT_IMPORT = """
import os, signal, sys

class AtImport:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.{signal})

sys.meta_path.insert(0, AtImport())
from hiertopics.cli import main
main({words!r})
"""


def told(stderr: bytes, name: str) -> bool:
    text = stderr.decode()
    return text.count("\n") == 1 and text.startswith(f"hiertopics: stopped by {name}")


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("module", ["numpy", "scipy.sparse", "hiertopics.corpus.corpora.dataset"])
def test_during_imports(tmp_path: Path, name: str, module: str) -> None:
    (tmp_path / "a.ldac").write_text("1 0:1\n" * 9)
    program = AT_IMPORT.format(module=module, signal=name, words=FIT)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True)
    assert done.returncode == 75 and told(done.stderr, name), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.ldac"]


@pytest.mark.parametrize("name", SIGNALS)
def test_while_the_corpus_is_read(tmp_path: Path, name: str) -> None:
    """The corpus is a pipe, so that the test knows when it is being read."""
    os.mkfifo(tmp_path / "a.ldac")
    command = [sys.executable, "-m", "hiertopics", *FIT]
    with (
        subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as process,
        open(tmp_path / "a.ldac", "wb", buffering=0) as stream,
    ):
        stream.write(b"1 0:1\n")
        process.send_signal(getattr(signal, name))
        # A signal that comes just before Python begins to read is seen when the read has ended.
        stream.close()
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 75 and told(stderr, name), stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.ldac"]


def test_another_command_ends_as_ever(tmp_path: Path) -> None:
    (tmp_path / "a.ldac").write_text("1 0:1\n" * 9)
    words = ["check", "a.ldac"]
    program = AT_IMPORT.format(module="numpy", signal="SIGTERM", words=words)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True)
    assert done.returncode == -signal.SIGTERM
