"""A run that somebody sends may hold symbolic links: no command follows one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nights import daily
from run_files import contents
from scipy import sparse
from task_corpora import write_labelled

import hiertopics
from hiertopics.base import files
from hiertopics.base.errors import RunError
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.runs.edits import MERGE, Edit, named, write_edits
from hiertopics.runs.rundir import FOLDERS, NAMES, RunDir

Call = Callable[..., Any]

MADE = ("labelled", "tree", "grouped", "shards", "refitted", "updated", "in-shards")
"""Runs that together have every kind of file."""

USES: dict[str, tuple[str, ...]] = {
    "label": ("label", "RUN", "0", "a name"),
    "labels": ("label", "RUN"),
    "show-tree": ("show-tree", "RUN", "--docs", "2"),
    "docs": ("docs", "RUN"),
    "topics": ("topics", "RUN"),
    "report": ("report", "RUN", "-o", "page.html"),
    "export": ("export", "RUN", "-o", "tree.json"),
    "eval": ("eval", "RUN", "--heldout"),
    "average": ("eval", "RUN", "--heldout", "--average"),
    "compare": ("compare", "RUN"),
    "agree": ("agree", "RUN", "BESIDE", "--write"),
    "consensus": ("consensus", "RUN", "BESIDE", "-o", "new"),
    "infer": ("infer", "RUN", "a.ldac", "-o", "theta.npz"),
    "merge": ("merge", "RUN", "1", "2", "-o", "new"),
    "drop": ("drop", "RUN", "2", "-o", "new"),
    "edit": ("edit", "RUN", "-o", "new"),
    "judge": ("judge", "RUN", "-o", "sheet.csv"),
    "shape": ("shape", "RUN", "--branches", "2", "-o", "new"),
    "refit": ("refit", "RUN", "0", "-o", "new", "--holdout", "none"),
    "update": ("update", "RUN", "more.ldac", "-o", "new"),
    "support": ("support", "RUN", "--resamples", "2", "--iterations", "1"),
}
"""Commands on a run; a fit that goes on comes beside them."""


WARN = ("show-tree", "docs", "report", "eval", "average", "compare")
"""Commands that do without the corpus, say why, and show the rest."""


SINGLE = ("eval", "compare")
"""Commands that only count draws, for a remark."""


class Opened:
    """Notes every file and folder below a folder that this process opens, lists or removes."""

    def __init__(self) -> None:
        self.below: str | None = None
        self.paths: set[str] = set()
        sys.addaudithook(self._note)

    def _note(self, event: str, details: tuple[Any, ...]) -> None:
        if self.below is None or event not in ("open", "os.listdir", "os.scandir", "os.remove"):
            return
        if isinstance(details[0], str | os.PathLike):
            path = os.path.abspath(os.fspath(details[0]))
            if path.startswith(self.below):
                self.paths.add(path[len(self.below) + 1 :])

    @contextmanager
    def noted(self, below: Path) -> Iterator[set[str]]:
        """Give the set of paths, from ``below``, that are opened meanwhile."""
        self.paths, self.below = set(), str(below)
        try:
            yield self.paths
        finally:
            self.below = None


@pytest.fixture(scope="session")
def opened() -> Opened:
    """Return the hook, which stays as long as the process."""
    return Opened()


def merge_in(run: RunDir) -> Edit:
    """Return an edit that makes the last two nodes one."""
    nodes = run.tree.shown.tolist()[-2:]
    return Edit(MERGE, tuple(named(run.tree, run.vocab, node) for node in nodes))


@pytest.fixture(scope="module")
def inputs(
    fit_tiny: Callable[..., Any], tiny_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a folder with runs that have every kind of file between them."""
    folder = tmp_path_factory.mktemp("inputs")
    corpus = write_labelled(tiny_corpus, folder / "l.ldac")
    write_corpus(tiny_corpus, folder / "a.ldac")
    half = tiny_corpus.select(range(0, 30, 2))
    write_corpus(half, folder / "more.ldac")
    hiertopics.convert(folder / "a.ldac", folder / "a.shards")
    every = ["output.checkpoint_seconds=0"]
    fit_tiny(folder / "labelled", "hdp-gibbs", 6, every, corpus=corpus)
    fit_tiny(folder / "tree", "hlda-gibbs", 6, [*every, "inference.collapse=partial"])
    members = sparse.csr_array(np.eye(3, dtype=bool)[np.arange(30) % 3])
    grouped = replace(tiny_corpus, groups=Tags(members, ("ann", "ben", "cyd")))
    write_corpus(grouped, folder / "g.ldac")
    fit_tiny(folder / "grouped", "chdp-variational", 2, every, corpus=folder / "g.ldac")
    fit_tiny(folder / "shards", "hdp-cvb0", 2, every, corpus=folder / "a.shards")
    hiertopics.refit(folder / "labelled", 0, folder / "refitted", holdout="none")
    hiertopics.update(folder / "shards", folder / "more.ldac", folder / "in-shards")
    hiertopics.update(folder / "tree", folder / "more.ldac", folder / "updated")
    hiertopics.support(folder / "labelled", 2, iterations=1, say=lambda line: None)
    for name in MADE:
        run = folder / name
        node = RunDir(run).tree.shown[0]
        hiertopics.label(run, int(node), "a name")
        write_edits(RunDir(run), [merge_in(RunDir(run))])
        if RunDir(run).split.kind != "none":
            hiertopics.evaluate(run)
        shutil.copytree(run, folder / f"{name}-beside")
    return folder


def uses_of(name: str) -> dict[str, tuple[str, ...]]:
    """Return the words of each command on a run, by their name."""
    called = {"RUN": name, "BESIDE": f"{name}-beside"}
    found = {use: tuple(called.get(word, word) for word in words) for use, words in USES.items()}
    if name in ("refitted", "updated", "in-shards"):
        return found
    return found | {
        "fit": ("fit", "-c", f"{name}-beside/config.yaml", "-o", name, "--iterations", "8")
    }


@pytest.fixture
def work(inputs: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that fills the test's folder anew and returns a run in it."""

    def fill(name: str) -> Path:
        for path in tmp_path.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for source in (*inputs.glob("*.*"), inputs / name, inputs / f"{name}-beside"):
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, tmp_path / source.name)
        return tmp_path / name

    return fill


def replaced(path: Path, victims: Path) -> dict[str, bytes]:
    """Put a file or folder elsewhere and a link in its place; return what lies there."""
    victims.mkdir()
    victim = victims / path.name
    shutil.move(path, victim)
    path.symlink_to(victim)
    return contents(victims)


def kinds(paths: set[str]) -> set[str]:
    """Return one path of each kind: of files that a number tells apart the first one."""
    first: dict[str, str] = {}
    for path in sorted(paths):
        first.setdefault("".join("#" if letter.isdigit() else letter for letter in path), path)
    return set(first.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", daily(MADE, "labelled"))
def test_no_command_follows_a_link_in_a_run(
    call: Call, work: Callable[[str], Path], opened: Opened, tmp_path: Path, name: str
) -> None:
    """Each file and folder that a command opens in a run it refuses as a link to its like."""
    n_refused, wrong = 0, []
    for use, words in uses_of(name).items():
        run = work(name)
        present = {path.relative_to(run).as_posix() for path in run.rglob("*")}
        with opened.noted(run) as met:
            if call(*words).code == 2:
                continue  # the command is not for such runs
        for path in sorted(kinds(present & met)):
            run = work(name)
            victims = tmp_path / "victims"
            before = replaced(run / path, victims)
            with opened.noted(run) as met_now:
                outcome = call(*words)
            lines = [line for line in outcome.err.splitlines() if "is a symbolic link" in line]
            refused = outcome.code in (1, 2) and not outcome.out
            warned = outcome.code == 0 and use in WARN
            followed = [name for name in met_now if f"{name}/".startswith(f"{path}/")]
            told = len(lines) == 1 and (refused or warned) or path == "draws" and use in SINGLE
            if contents(victims) != before or followed or not told:
                wrong.append((use, path, followed, *outcome))
            n_refused += 1
    assert not wrong, "\n".join(map(str, wrong))
    assert n_refused > 20


def test_the_runs_of_this_test_have_every_file_of_a_run(inputs: Path) -> None:
    runs = [inputs / name for name in MADE]
    found = {path.name for run in runs for path in run.iterdir()}
    assert found == {*NAMES, *FOLDERS}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "manifest.json"])
def test_a_link_where_a_new_run_is_to_be_leads_no_file_elsewhere(
    call: Call, tmp_path: Path, tiny_corpus: Corpus, name: str
) -> None:
    write_corpus(tiny_corpus, tmp_path / "a.ldac")
    run, victim = tmp_path / "run", tmp_path / "victim"
    run.mkdir()
    victim.write_text("kept")
    (run / name).symlink_to(victim)
    outcome = call("fit", "a.ldac", "-b", "multinomial", "-o", "run", "-q")
    assert outcome.code == 1 and "is a symbolic link" in outcome.err
    assert outcome.err.count("\n") == 1
    assert victim.read_text() == "kept"
    assert [path.name for path in run.iterdir() if path.name != "checkpoints"] == [name]


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_is_a_link_leads_no_file_elsewhere(
    call: Call, tmp_path: Path, tiny_corpus: Corpus, name: str
) -> None:
    write_corpus(tiny_corpus, tmp_path / "a.ldac")
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    for folder in (run, elsewhere):
        folder.mkdir()
    (elsewhere / ".foo.12345678.partial").write_text("kept")
    (run / name).symlink_to(elsewhere)
    assert call("fit", "a.ldac", "-b", "multinomial", "-o", "run", "-q").code == 1
    with pytest.raises(RunError, match="is a symbolic link"):
        hiertopics.fit(["one two", "two three"] * 4, backend="multinomial", run="run", quiet=True)
    assert contents(elsewhere) == {".foo.12345678.partial": b"kept"}


def test_what_a_killed_writer_left_is_not_followed(call: Call, copied: Any, tmp_path: Path) -> None:
    run, victim = copied(), tmp_path / "victim"
    victim.write_text("kept")
    leftover = run / ".labels.csv.12345678.partial"
    leftover.symlink_to(victim)
    assert call("label", run, "0", "name").code == 0
    assert victim.read_text() == "kept" and leftover.is_symlink()


@pytest.mark.parametrize("name", [".lock", "log.txt", "model.npz", "labels.csv", "manifest.json"])
def test_a_pipe_in_a_run_is_no_file_to_wait_for(call: Call, copied: Any, name: str) -> None:
    run = copied()
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    outcome = call("fit", "-c", run / "config.yaml", "-o", run, "--iterations", 9, "-q")
    assert outcome.code in (1, 2) and outcome.err.count("\n") == 1


def test_a_run_is_reached_over_a_link_to_its_folder(
    call: Call, copied: Any, tmp_path: Path
) -> None:
    run = copied()
    (tmp_path / "runs").symlink_to(run.parent)
    (tmp_path / "link").symlink_to(run)
    for path in (Path("runs") / run.name, Path("link")):
        assert call("label", path, "0", "name").code == 0
        assert call("eval", path, "--heldout").code == 0


def test_the_lock_of_a_run_is_not_emptied(copied: Any) -> None:
    run = copied()
    (run / ".lock").write_text("whatever stands here")
    with RunDir(run).locked():
        pass
    assert (run / ".lock").read_text() == "whatever stands here"


def test_a_name_that_leads_out_of_a_run_is_refused(tmp_path: Path) -> None:
    for name in ("../victim", "draws/../../victim", str(tmp_path / "victim")):
        with pytest.raises(RunError, match="leads out of it"):
            files.inside(tmp_path / "run", name)


def test_a_run_with_a_link_is_not_copied(copied: Any, tmp_path: Path) -> None:
    run = copied()
    (tmp_path / "secret").write_text("secret")
    (run / "note").symlink_to(tmp_path / "secret")
    with pytest.raises(RunError, match="is a symbolic link"):
        hiertopics.Run.open(run).save(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
