"""Entry points of installed packages: what is loaded when, and what a broken one stops."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

BROKEN = """
[hiertopics.backends]
broken = nowhere_at_all:entry
hdp-gibbs = nowhere_at_all:entry
wrong-kind = os:path
Not/A/Name = os:path
late = late_backend:entry
[hiertopics.formats]
broken-format = nowhere_at_all:form
[hiertopics.tasks]
broken-task = nowhere_at_all:task
"""
LATE = """
from hiertopics.contract.registry import Entry
entry = Entry("late_backend_nowhere", "loads its entry and not its module")
"""


class Outcome(NamedTuple):
    """Exit code, stdout and stderr of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


def install(folder: Path, name: str, entry_points: str) -> None:
    """Put the metadata of a package into a folder, as an installer would."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a command where a broken package is installed."""
    site = tmp_path / "site"
    install(site, "broken-package", BROKEN)
    (site / "late_backend.py").write_text(LATE)

    def call(*words: object) -> Outcome:
        environment = {**os.environ, "PYTHONPATH": str(site)}
        command = [sys.executable, "-m", "hiertopics", *map(str, words)]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=tmp_path
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


def test_a_broken_package_stops_no_command_that_does_not_use_it(run: Run, tiny_file: Path) -> None:
    done = run("fit", tiny_file, "-b", "multinomial", "-o", "run", "-q", "--iterations", 1)
    assert done == Outcome(0, "run\n", "")
    assert run("check", tiny_file).code == 0
    assert run("eval", "run", "--heldout").err == ""
    assert run("show-tree", "run") == Outcome(0, run("show-tree", "run").out, "")


def test_the_list_leaves_broken_ones_out_with_one_warning_each(run: Run) -> None:
    done = run("backends")
    names = [line.split()[0] for line in done.out.splitlines()]
    assert done.code == 0 and "late" in names and names.count("hdp-gibbs") == 1
    assert not {"broken", "wrong-kind", "Not/A/Name"} & set(names)
    assert "[package broken-package]" in done.out
    warnings = done.err.splitlines()
    assert len(warnings) == 4
    for line, name in zip(
        sorted(warnings), ("Not/A/Name", "broken", "wrong-kind", "hdp-gibbs"), strict=True
    ):
        assert line.startswith("warning: ") and "broken-package" in line and repr(name) in line


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("fit", "{corpus}", "-b", "broken"), "backend 'broken'"),
        (("fit", "{corpus}", "-b", "late"), "backend 'late'"),
        (("config", "wrong-kind"), "backend 'wrong-kind'"),
        (("check", "{corpus}", "--from", "broken-format"), "format 'broken-format'"),
        (("fit", "{corpus}", "--from", "broken-format"), "format 'broken-format'"),
    ],
)
def test_a_broken_one_that_is_asked_for_ends_in_one_line(
    run: Run, tiny_file: Path, words: tuple[str, ...], what: str
) -> None:
    done = run(*(word.format(corpus=tiny_file) for word in words))
    assert (done.code, done.out) == (2, "")
    last = done.err.splitlines()[-1]
    assert last.startswith(f"hiertopics: error: {what} of package 'broken-package' cannot be ")
    assert "Traceback" not in done.err


def test_a_broken_task_that_is_asked_for_ends_in_one_line(run: Run, tiny_file: Path) -> None:
    run("fit", tiny_file, "-b", "multinomial", "-o", "run", "-q", "--iterations", 1)
    done = run("eval", "run", "--task", "broken-task")
    assert done.code == 2 and "task 'broken-task' of package 'broken-package'" in done.err


MISSPELT = """
from dataclasses import replace
from typing import Annotated
from hiertopics.base.arrays import F64
from hiertopics.base.axes import Axes
from hiertopics.contract.registry import Entry
from hiertopics.families import multinomial
backend = replace(multinomial.backend, extra={"shares": Annotated[F64, Axes("n_ndes")]})
entry = Entry("misspelt", "declares an axis that no tree has")
"""


@pytest.mark.slow
def test_an_axis_that_is_misspelt_is_told_by_a_fit_and_by_the_tests_of_the_contract(
    run: Run, tiny_file: Path, tmp_path: Path
) -> None:
    install(tmp_path / "site", "misspelling", "[hiertopics.backends]\nmisspelt = misspelt:entry\n")
    (tmp_path / "site" / "misspelt.py").write_text(MISSPELT)
    what = "shares has the axis n_ndes, which is none of "
    done = run("fit", tiny_file, "-b", "misspelt", "-o", "run", "-q", "--iterations", 1)
    assert done.code == 1 and "Traceback" not in done.err
    last = done.err.splitlines()[-1]
    assert last.startswith("hiertopics: error: backend 'misspelt' of package 'misspelling' ")
    assert what in last and not (tmp_path / "run" / "model.npz").exists()
    words = [sys.executable, "-m", "hiertopics.testing", "misspelt", "--", "-k", "extra"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    tested = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path)
    told = "backend 'misspelt' of package 'misspelling': Tree.extra: " + what
    assert tested.returncode == 1 and told in tested.stdout


NAMING = """
from hiertopics.corpus.formats.table import Format
kept = Format("naming", ("*.kept",), writes=True, doc_names=True)
lost = Format("naming", ("*.lost",), writes=True)
def write(corpus, file):
    file.write(" ".join(corpus.doc_ids).encode())
"""


@pytest.mark.parametrize(("ending", "is_lost"), [("kept", False), ("lost", True)])
def test_names_of_documents_are_lost_where_a_format_does_not_write_them(
    run: Run, tmp_path: Path, ending: str, is_lost: bool
) -> None:
    points = "[hiertopics.formats]\nkept = naming:kept\nlost = naming:lost\n"
    install(tmp_path / "site", "naming-package", points)
    (tmp_path / "site" / "naming.py").write_text(NAMING)
    (tmp_path / "in.jsonl").write_text('{"id": "oak", "text": "green leaf"}\n')
    done = run("convert", "in.jsonl", f"out.{ending}")
    assert (done.code, (tmp_path / f"out.{ending}").read_text()) == (0, "oak")
    assert ("names of the documents are not written" in done.err) == is_lost


def test_one_name_of_two_packages_is_neither_of_them(
    run: Run, tiny_file: Path, tmp_path: Path
) -> None:
    install(tmp_path / "site", "another", "[hiertopics.backends]\nlate = late_backend:entry\n")
    done = run("fit", tiny_file, "-b", "late")
    assert done.code == 2
    assert "comes from packages another and broken-package; uninstall one" in done.err


def test_metadata_of_packages_are_not_read_for_names_of_ones_own(
    tiny_file: Path, tmp_path: Path
) -> None:
    program = (
        "import sys; from importlib import metadata; "
        "metadata.entry_points = lambda **_: sys.exit('read'); "
        "from hiertopics.cli import main; main(sys.argv[1:])"
    )
    words = ["fit", tiny_file, "-b", "multinomial", "-o", tmp_path / "run", "-q"]
    done = subprocess.run([sys.executable, "-c", program, *map(str, words)], capture_output=True)
    assert done.returncode == 0, done.stderr


def test_options_of_a_task_are_set_by_name(run: Run, tiny_file: Path) -> None:
    run("fit", tiny_file, "-b", "multinomial", "-o", "run", "-q", "--iterations", 1)
    done = run("eval", "run", "--task", "neighbours", "-s", "k=many")
    assert done.code == 2 and "--k of task neighbours takes a value of type int" in done.err
    assert "-s has no meaning without --task" in run("eval", "run", "--heldout", "-s", "k=2").err


def test_a_run_of_a_missing_backend_says_what_to_install(
    run: Run, tiny_file: Path, tmp_path: Path
) -> None:
    run("fit", tiny_file, "-b", "multinomial", "-o", "run", "-q", "--iterations", 1)
    manifest = tmp_path / "run" / "manifest.json"
    text = manifest.read_text().replace('"backend":"multinomial"', '"backend":"gone"')
    text = text.replace('"backend": "multinomial"', '"backend": "gone"')
    text = text.replace('"python":', '"gone-package": "2.1", "python":')
    manifest.write_text(text)
    done = run("eval", "run", "--heldout")
    assert done.code == 1
    assert "its backend 'gone' is not installed here; install gone-package 2.1" in done.err
    assert run("show-tree", "run").code == 0
