"""What is printed for eyes holds nothing that steers a terminal; data stay what they are."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
EVIL = {
    "\x1b]0;pwn\x07": r"\x1b]0;pwn\x07",
    "\x1b[31mRED\x1b[0m": r"\x1b[31mRED\x1b[0m",
    "a\x9b31mb": r"a\x9b31mb",
    "a\u202eb": r"a\u202eb",
    "a\u2066b": r"a\u2066b",
    "a\rb": r"a\rb",
    "a\x7f\x08b": r"a\x7f\x08b",
    "a\u2028b": r"a\u2028b",
    "[bold]b[/bold]": "[bold]b[/bold]",
    "[/]:smiley:": "[/]:smiley:",
    "\u0646\u200c\u0627": "\u0646\u200c\u0627",  # what words of living languages need is no control
}
LOOKS = re.compile("\x1b\\[(?:0|1|2|36)m")
"""What a terminal is told of the looks of a line's parts, in ``views.render.screen`` alone."""

WIDE = 5000
STEERING = [chr(code) for code in (*range(10), *range(11, 32), *range(127, 160))] + [
    *"\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
]
CHDP = ("-b", "chdp-variational", "-s", "model.truncation=3", "--iterations", "3", "-q")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run whose words and groups are evil, and a file of evil names."""
    folder = tmp_path_factory.mktemp("eyes")
    n = len(EVIL)
    rows = [
        f"{n} " + " ".join(f"{word}:{1 + (word + doc) % 3}" for word in range(n))
        for doc in range(n)
    ]
    (folder / "a.ldac").write_text("\n".join(rows) + "\n")
    names = "".join(f"{word}\n" for word in EVIL)
    (folder / "a.vocab").write_bytes(names.encode())
    (folder / "a.authors").write_bytes(b"".join(b"%d\n" % doc for doc in range(n)))
    (folder / "a.authors.key").write_bytes(names.encode())
    (folder / "side").write_bytes("".join(f"{w.strip()}\t\n" for w in EVIL).encode())
    command = [sys.executable, "-m", "hiertopics", "fit", "a.ldac", *CHDP, "-o", "run"]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return folder


@pytest.fixture
def typed(call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Return ``call`` in the folder above."""
    monkeypatch.chdir(folder)
    return call


def on_terminal(folder: Path, words: Sequence[str]) -> str:
    """Return what a command shows on a terminal wider than any line."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "hiertopics", *words]
    streams: dict[str, Any] = {"stdout": slave, "stderr": subprocess.DEVNULL}
    kind = {**os.environ, "TERM": "xterm", "COLUMNS": str(WIDE)}
    with subprocess.Popen(command, cwd=folder, env=kind, **streams) as process:
        os.close(slave)
        parts = []
        while True:
            try:
                part = os.read(master, 1 << 16)
            except OSError:  # the other side has gone
                break
            if not part:
                break
            parts.append(part)
        assert process.wait() == 0
    os.close(master)
    return b"".join(parts).decode().replace("\r\n", "\n")


SHOWN = {
    "tree": ("show-tree", "run", "--words", "20"),
    "remarks": ("show-tree", "run", "--words", "20", "--side", "names=side"),
    "topics": ("topics", "run", "--words", "20"),
    "groups": ("topics", "run", "--by", "group", "--similar", "2"),
    "html": ("show-tree", "run", "--words", "20", "--format", "html"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_nothing_steers_the_terminal(typed: Call, folder: Path, name: str) -> None:
    code, text, _ = typed(*SHOWN[name])
    assert code == 0 and [c for c in STEERING if c in text] == []
    assert LOOKS.sub("", on_terminal(folder, SHOWN[name])) == text


@pytest.mark.parametrize("name", ["tree", "remarks", "topics"])
def test_words_are_shown_with_their_controls_written_out(typed: Call, name: str) -> None:
    text = typed(*SHOWN[name]).out
    assert [word for word in EVIL.values() if word not in text] == []


def test_csv_and_json_hold_the_words_themselves(typed: Call) -> None:
    out = typed("topics", "run", "--words", "20", "--format", "csv").out
    rows = list(csv.DictReader(out.split("\n")))
    assert all(sorted(row["words"].split(" ")) == sorted(EVIL) for row in rows)
    lines = typed("topics", "run", "--words", "20", "--format", "json").out
    for line in lines.split("\n")[:-1]:
        assert sorted(word for word, _ in json.loads(line)["words"]) == sorted(EVIL)


@pytest.mark.slow
def test_names_of_files_come_out_whole_on_stdout_and_written_out_on_stderr(
    typed: Call, folder: Path
) -> None:
    """A path is data, escapes and all; a message about it is for eyes."""
    name = "\x1b[31mx\u202e"
    (folder / f"{name}.ldac").write_bytes((folder / "a.ldac").read_bytes())
    fitted = typed("fit", f"{name}.ldac", *CHDP[:-1], "-o", name, "--groups", "a.authors")
    assert fitted.out == f"{name}\n"
    checked = typed("check", f"{name}.ldac")
    missing = typed("check", f"{name}.svm")
    for done in (fitted, checked, missing):
        assert r"\x1b[31mx\u202e" in done.err
        assert [c for c in STEERING if c != "\r" and c in done.err] == []
    (folder / f"{name}.mtx").write_bytes(b"x\n")
    told = typed("check", f"{name}.mtx")
    assert told.code == 2 and told.out.startswith(r"\x1b[31mx\u202e.mtx:1: ")


@pytest.mark.slow
def test_tables_of_scores(typed: Call, folder: Path) -> None:
    os.symlink("run", folder / "r\x1b[1mun")
    for words in (("eval", "r\x1b[1mun", "--heldout"), ("compare", "r\x1b[1mun", "run")):
        code, text, err = typed(*words)
        assert code == 0, err
        assert "\x1b" not in text and r"r\x1b[1mun" in text
