"""Streams and folders that refuse, for every command: one clear line at most, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import pytest
from unsealed import unsealed

from hiertopics import cli
from hiertopics.runs.edits import Edit, named, write_edits
from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]
SMALL = (
    "-b",
    "hdp-pcvb0",
    "--holdout",
    "none",
    "--iterations",
    1,
    "-s",
    "model.truncation=3",
    "-q",
)
COMMANDS: dict[str, tuple[object, ...]] = {
    "fit": ("fit", "x.ldac", "-o", "new", *SMALL),
    "eval": ("eval", "run", "--heldout"),
    "eval --json": ("eval", "run", "--heldout", "--json"),
    "show-tree": ("show-tree", "run", "--format", "newick"),
    "topics": ("topics", "run", "--format", "csv"),
    "docs": ("docs", "run", "--format", "csv"),
    "report": ("report", "run", "-o", "page.html"),
    "label": ("label", "run", 0, "Zoë"),
    "agree": ("agree", "tree", "tree-again"),
    "merge": ("merge", "tree", 1, 3, "-o", "merged"),
    "drop": ("drop", "tree", 1, "-o", "dropped"),
    "edit": ("edit", "mixed", "-o", "edited"),
    "shape": ("shape", "mixed", "--branches", 2, "-o", "shaped"),
    "refit": ("refit", "tree", 0, "-o", "refitted", "--holdout", "none", "-q"),
    "update": ("update", "mixed", "more.ldac", "-o", "updated", "--iterations", 30, "-q"),
    "support": ("support", "tree", "--resamples", 2, "--iterations", 2),
    "judge": ("judge", "tree", "--intruders", 1, "-o", "sheet.csv"),
    "import": ("import", "foreign.json", "--corpus", "x.ldac", "-o", "imported"),
    "consensus": ("consensus", "mixed", "mixed-again", "-o", "made"),
    "infer": ("infer", "run", "x.ldac", "-o", "theta.npz"),
    "compare": ("compare", "run"),
    "export": ("export", "run", "-o", "tree.csv"),
    "convert": ("convert", "x.ldac", "y.mtx"),
    "check": ("check", "x.ldac", "--json"),
    "check of a broken file": ("check", "broken.ldac"),
    "config": ("config", "hdp-gibbs"),
    "simulate": ("simulate", "hdp-gibbs", "-o", "s.npz", "--docs", 9, "--words", 9),
    "sweep": ("sweep", "run/config.yaml", "x.ldac", "--seeds", "0:3"),
    "backends": ("backends",),
    "completion": ("completion", "bash"),
    "help": ("-h",),
    "version": ("--version",),
}
WORDS = ("Zoë", "naïve", "日本", "Ω", "ß", "é", "ñ", "ü", "😀")


@pytest.fixture
def place(tiny_file: Path, copied: Callable[..., Path], tmp_path: Path) -> Path:
    """Return the test's folder with a corpus of words that are not ASCII, and a run."""
    shutil.copy(tiny_file, tmp_path / "x.ldac")
    (tmp_path / "x.vocab").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    (tmp_path / "broken.ldac").write_text("x\ny\n")
    (tmp_path / "more.ldac").write_text("2 0:1 3:2\n1 1:4\n2 2:1 4:3\n")
    theirs = {"parent": [-1, 0, 0], "theta": [[0.2, 0.3, 0.5]] * 30}
    (tmp_path / "foreign.json").write_text(json.dumps(theirs))
    unsealed(copied()).rename(tmp_path / "run")
    (tmp_path / "run" / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    copied("nhdp-variational").rename(tmp_path / "mixed")
    mixed = RunDir(tmp_path / "mixed")
    nodes = tuple(named(mixed.tree, mixed.vocab, node) for node in (1, 2))
    write_edits(mixed, [Edit("move", nodes)])
    shutil.copytree(tmp_path / "mixed", tmp_path / "mixed-again")
    copied("hlda-variational").rename(tmp_path / "tree")
    shutil.copytree(tmp_path / "tree", tmp_path / "tree-again")
    return tmp_path


@pytest.fixture(params=["reader gone", "disk full"])
def refusing(request: pytest.FixtureRequest) -> Iterator[TextIO]:
    """Return a stream that cannot be written."""
    if request.param == "reader gone":
        reader, writer = os.pipe()
        os.close(reader)
        stream = os.fdopen(writer, "w")
    elif Path("/dev/full").exists():
        stream = open("/dev/full", "w")  # noqa: SIM115
    else:
        pytest.skip("this system has no /dev/full")
    yield stream
    with suppress(OSError):  # what could not be written is tried again
        stream.close()


def test_no_command_is_forgotten() -> None:
    assert {str(words[0]) for words in COMMANDS.values()} - {"-h", "--version"} == set(cli.COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_stdout_that_refuses_ends_a_command_in_1(
    call: Call,
    place: Path,
    refusing: TextIO,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setattr(sys, "stdout", refusing)
    outcome = call(*COMMANDS[name])
    assert outcome.code == 1 and "Traceback" not in outcome.err
    complaints = [line for line in outcome.err.splitlines() if "error: " in line]
    full = "disk full" in request.node.name
    assert len(complaints) == full and all("No space left" in line for line in complaints)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_that_cannot_be_written_stops_only_what_writes(
    call: Call, place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Files of /proc cannot be made, not even by root."""
    if not Path("/proc/self").exists():
        pytest.skip("this system has no /proc")
    words = [place / str(word) if (place / str(word)).exists() else word for word in COMMANDS[name]]
    writes = any(word in ("-o", "convert") for word in words)
    monkeypatch.chdir("/proc")
    outcome = call(*words)
    if writes:
        assert (outcome.code, outcome.out) == (1, "")
        assert (
            outcome.err.count("hiertopics: error: cannot ") == 1 and "Traceback" not in outcome.err
        )
    else:
        assert outcome.code == (2 if "broken" in name else 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_without_stdin_and_home_all_goes_well(
    call: Call, place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.delenv("HOME", raising=False)
    assert call(*COMMANDS[name]).code == (2 if "broken" in name else 0)


def in_shell(line: str, place: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of a shell in which ``$H`` is the command."""
    variables = {**os.environ, "H": f"{sys.executable} -m hiertopics", **environment}
    return subprocess.run(["bash", "-c", line], cwd=place, env=variables, capture_output=True)


@pytest.mark.slow
def test_closed_streams_are_no_reason_to_fail(place: Path) -> None:
    words = " ".join(map(str, COMMANDS["fit"][:-1]))  # not quiet: tree and progress are shown
    done = in_shell(f"$H {words} 2>&-", place)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"new\n", b"")
    done = in_shell("$H topics run >&-; $H topics nowhere >&- 2>&- <&-; echo $?", place)
    assert (done.stdout, done.stderr) == (b"2\n", b"")


def test_a_full_disk_behind_stdout_is_told_once(place: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = in_shell("$H backends > /dev/full", place)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1, done.stderr
    assert done.stderr.startswith(b"hiertopics: error: ") and b"No space left" in done.stderr


@pytest.mark.slow
def test_a_gone_reader_of_the_progress_leaves_a_run_that_can_be_continued(place: Path) -> None:
    words = " ".join(map(str, COMMANDS["fit"][:-1]))
    done = in_shell(f"{{ $H {words}; echo $? > code; }} 2>&1 | true", place)
    assert done.stderr == b"" and (place / "code").read_text() in ("0\n", "1\n")
    again = in_shell(f"$H {words}", place)
    assert (again.returncode, again.stdout) == (0, b"new\n")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_words_that_the_terminal_cannot_show_do_not_stop_the_command(
    place: Path, encoding: str
) -> None:
    done = in_shell("$H topics run --format json --words 9", place, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) == len(
        json.loads((place / "run" / "tree.json").read_text(encoding="utf-8"))["nodes"]
    )
    assert "日本".encode() in done.stdout or b"\\u65e5\\u672c" in done.stdout


@pytest.mark.parametrize("name", ["new\nline", "x" * 200, "tab\there", "back\\slash", "%s"])
def test_names_of_any_letters(call: Call, place: Path, name: str) -> None:
    shutil.copy("x.ldac", f"{name}.ldac")
    fitted = call("fit", f"{name}.ldac", "-o", f"{name} run", *SMALL)
    assert fitted == (0, f"{name} run\n", "")
    again = call("fit", "-c", f"{name} run/config.yaml", "-o", f"{name} run", "--json")
    assert json.loads(again.out)["run"] == f"{name} run"
    assert call("convert", f"{name}.ldac", f"{name}.mtx").out == f"{name}.mtx\n"
    assert call("check", f"{name}.ldac").code == 0
    assert call("check", f"{name}.ldac", "--from", "mtx").code == 2


@pytest.mark.slow
def test_a_name_of_bytes_that_are_no_text_goes_out_as_it_came_in(place: Path) -> None:
    name = os.fsdecode(b"b\xff")
    shutil.copy(place / "x.ldac", place / f"{name}.ldac")
    small = " ".join(map(str, SMALL))
    done = in_shell(f"N=$(printf 'b\\xff'); $H fit $N.ldac {small}", place)
    assert (done.returncode, done.stdout) == (0, b"runs/b\xff-hdp-pcvb0-s0\n"), done.stderr
    run = place / "runs" / f"{name}-hdp-pcvb0-s0"
    manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["argv"][2] == f"{name}.ldac" and manifest["status"] == "done"
    again = in_shell("R=$(ls -d runs/*); $H fit -c $R/config.yaml -o $R --json", place)
    assert json.loads(again.stdout)["run"] == f"runs/{run.name}", again.stderr


def test_a_name_too_long_for_the_disk_is_told_in_one_line(call: Call, place: Path) -> None:
    long = "x" * 300
    for words in (
        ("fit", "x.ldac", "-o", long, *SMALL),
        ("convert", "x.ldac", f"{long}.mtx"),
        ("export", "run", "-o", f"{long}.csv"),
        ("check", f"{long}.ldac"),
        ("show-tree", long),
    ):
        outcome = call(*words)
        assert outcome.code in (1, 2) and outcome.out == ""
        assert outcome.err.count("\n") == 1 and outcome.err.startswith("hiertopics: error: ")


def test_links_and_steps_up_are_followed(call: Call, place: Path) -> None:
    (place / "sub").mkdir()
    os.symlink("../x.ldac", place / "sub" / "link.ldac")
    os.symlink("run", place / "linked")
    assert call("check", "sub/../x.ldac").code == 0
    assert call("fit", "sub/link.ldac", "-o", "sub/../new", *SMALL).out == "sub/../new\n"
    assert call("show-tree", "linked").out == call("show-tree", "run").out
    assert call("export", "linked", "-o", "sub/../tree.csv").code == 0
    assert (place / "tree.csv").exists()
