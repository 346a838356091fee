"""Streams and paths as shells have them: broken pipes, odd names, no terminal."""

from __future__ import annotations

import builtins
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
ODD = ["with blank", "Übergröße-日本", "semi;colon & 'quote'", "-dash", "a.b.c"]


@pytest.mark.parametrize(
    "words",
    [
        ("topics",),
        ("topics", "--format", "json"),
        ("show-tree",),
        ("show-tree", "--format", "json"),
    ],
    ids=" ".join,
)
def test_a_reader_that_has_gone_is_no_reason_to_complain(
    finished: Callable[..., Path], words: tuple[str, ...]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "hiertopics", words[0], str(finished()), *words[1:]],
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.stderr == "" and done.returncode == 1


def test_head_gets_its_line(finished: Callable[..., Path]) -> None:
    command = f"'{sys.executable}' -m hiertopics topics '{finished()}' | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout.split()[0] == "id" and done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.parametrize("name", ODD)
def test_odd_names_of_corpus_and_run(
    call: Call, tiny_file: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    corpus, run = folder / f"{name}.ldac", folder / f"{name} run"
    for suffix in (".ldac", ".vocab"):
        shutil.copy(tiny_file.with_suffix(suffix), corpus.with_suffix(suffix))
    settings = ("-b", "hdp-pcvb0", "--iterations", 2, "-s", "model.truncation=3", "-q")
    fitted = call("fit", corpus, "-o", run, *settings)
    assert (fitted.code, fitted.out) == (0, f"{run}\n")
    assert call("eval", run, "--heldout").code == 0
    assert "bread" in call("show-tree", run).out
    assert call("infer", run, corpus, "-o", folder / "theta.npz").code == 0
    again = call("fit", "-c", run / "config.yaml", "-o", run, "--iterations", 3, "-q")
    assert (again.code, again.err) == (0, "")


@pytest.mark.parametrize("name", ["with blank", "Übergröße-日本", "a.b.c"])
def test_odd_names_make_a_default_run(
    call: Call, tiny_file: Path, tmp_path: Path, name: str
) -> None:
    shutil.copy(tiny_file, tmp_path / f"{name}.ldac")
    fitted = call("fit", f"{name}.ldac", "--iterations", 1, "-q")
    assert fitted.code == 0
    path = Path(fitted.out.removesuffix("\n"))
    assert path.parent == Path("runs") and path.name.endswith("-nhdp-variational-s0")
    assert (tmp_path / path / "tree.json").exists()


@pytest.mark.slow
def test_words_that_are_not_ascii_are_printed_as_they_are(
    tiny_file: Path, tmp_path: Path, shell: Call
) -> None:
    shutil.copy(tiny_file, tmp_path / "x.ldac")
    words = ["Zoë", "naïve", "日本", "Ω", "ß", "é", "ñ", "ü", "å"]
    (tmp_path / "x.vocab").write_text("\n".join(words) + "\n", encoding="utf-8")
    assert shell("fit", "x.ldac", "--iterations", 2, "-q").code == 0
    shown = shell("show-tree", "--words", 9)
    assert all(word in shown.out for word in words)
    assert "日本" in (tmp_path / "runs/x-nhdp-variational-s0/tree.json").read_text(encoding="utf-8")


@pytest.mark.slow
def test_nothing_but_data_on_stdout_of_a_whole_session(
    tiny_file: Path, tmp_path: Path, shell: Call
) -> None:
    """Progress, log, tree and hints of fit go to stderr, even where that is no terminal."""
    settings = ("-b", "hdp-pcvb0", "-s", "model.truncation=3", "-o", "run")
    fitted = shell("fit", tiny_file, *settings, "--iterations", 30)
    assert fitted.out == "run\n"
    assert "30/30" in fitted.err and "hiertopics eval run --heldout" in fitted.err
    assert re.search(
        r"^done: 3 nodes after 30 iterations, [\d.ms]+; .* are in run$", fitted.err, re.M
    )
    assert fitted.err.count("\r") < 10  # no bar that is redrawn without a terminal


def test_python_m_and_the_script_are_the_same_command(tmp_path: Path) -> None:
    script = Path(sys.executable).parent / "hiertopics"
    if not script.exists():
        pytest.skip("the package is not installed as a script here")
    outputs = {
        subprocess.run([*command, "backends"], capture_output=True).stdout
        for command in ([sys.executable, "-m", "hiertopics"], [str(script)])
    }
    assert len(outputs) == 1


def test_a_run_is_readable_where_it_cannot_be_written(
    copied: Callable[..., Path], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking at a run writes nothing: every attempt to open a file for writing would fail."""
    real = builtins.open

    def reading_only(path: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if isinstance(path, str | Path) and set(mode) & set("wax+"):
            raise OSError(30, "Read-only file system", str(path))
        return real(path, mode, *rest, **options)

    run = copied()
    monkeypatch.setattr(builtins, "open", reading_only)
    for words in (("show-tree", run), ("topics", run), ("show-tree", run, "--format", "dot")):
        assert call(*words).code == 0
    outcome = call("eval", run, "--heldout")
    assert outcome.code == 1 and outcome.err.count("\n") == 1
    assert "Read-only file system" in outcome.err


def test_a_folder_that_cannot_be_made_is_told(
    call: Call, tiny_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(self: Path, *_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "mkdir", refusing)
    outcome = call("fit", tiny_file, "-o", "new", "--iterations", 1, "-q")
    assert outcome.code == 1 and outcome.out == ""
    assert outcome.err.startswith("hiertopics: error: cannot create new")
