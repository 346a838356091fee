"""A disk that refuses, at any moment of any command that writes: old files or new ones, whole."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faults import KINDS, failing, refusals
from nights import by_night
from run_files import contents
from task_corpora import write_graph, write_labelled

from hiertopics import cli
from hiertopics.corpus.data.corpus import Corpus

Call = Callable[..., Any]
Files = dict[str, bytes]
Words = tuple[object, ...]

WRITERS: dict[str, Words] = {
    "eval": ("eval", "labelled", "--heldout", "--json"),
    "eval of neighbours": ("eval", "labelled", "--task", "neighbours"),
    "eval of links": ("eval", "linked", "--task", "links", "--json"),
    "compare": ("compare", "labelled"),
    "infer": ("infer", "labelled", "a.ldac", "-o", "theta.npz"),
    "export": ("export", "labelled", "-o", "tree.json"),
    "report": ("report", "labelled", "-o", "page.html"),
    "convert": ("convert", "a.ldac", "b.mtx.gz", "--json"),
    "simulate": (
        "simulate", "hdp-gibbs", "-o", "s.ldac", "--docs", 9, "--words", 9, "--length", 9, "--json",
    ),
}  # fmt: skip
READERS: dict[str, Words] = {
    "show-tree": ("show-tree", "labelled"),
    "show-tree --arrange": ("show-tree", "labelled", "--arrange"),
    "topics": ("topics", "labelled"),
    "docs": ("docs", "labelled"),
    "agree": ("agree", "tree", "tree-again"),
    "check": ("check", "a.ldac"),
    "config": ("config", "hdp-gibbs"),
    "sweep": ("sweep", "labelled/config.yaml", "a.ldac"),
    "backends": ("backends",),
    "completion": ("completion", "bash"),
}
ELSEWHERE = {
    "fit": "test_disk_full",
    "consensus": "fitting/test_consensus",
    "import": "fitting/test_importing",
    "shape": "fitting/test_shaping",
    "support": "fitting/test_support_command",
    "label": "views/test_labels",
    "update": "fitting/test_updating",
    "edit": "fitting/test_editing",
    "judge": "views/test_judging",
    **dict.fromkeys(("merge", "drop", "refit"), "fitting/test_reshaping"),
}


def test_no_command_is_forgotten() -> None:
    known = {str(words[0]) for words in (*WRITERS.values(), *READERS.values())}
    assert known | set(ELSEWHERE) == set(cli.COMMANDS)
    assert not known & set(ELSEWHERE)


@pytest.fixture(scope="module")
def inputs(
    fit_tiny: Callable[..., Any], tiny_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a folder with a corpus and two runs, one of which withheld links."""
    folder = tmp_path_factory.mktemp("inputs")
    corpora = tmp_path_factory.mktemp("corpora")
    fit_tiny(
        folder / "labelled", iterations=2, corpus=write_labelled(tiny_corpus, corpora / "l.ldac")
    )
    graph = write_graph(corpora / "graph.npz")
    fit_tiny(folder / "linked", "hdp-gibbs", 2, corpus=graph, holdout="links:0.2@0,drop")
    fit_tiny(folder / "tree", "hlda-variational", 2)
    shutil.copytree(folder / "tree", folder / "tree-again")
    write_labelled(tiny_corpus, folder / "a.ldac")
    return folder


Work = Callable[[Files], None]


@pytest.fixture
def work(call: Call, inputs: Path, tmp_path: Path) -> Work:
    """Return a function that fills the test's folder: with the inputs, then with other files."""

    def fill(others: Files) -> None:
        for path in tmp_path.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(inputs, tmp_path, dirs_exist_ok=True)
        for name, data in others.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(data)

    return fill


def in_folder(words: Words, folder: Path) -> list[object]:
    """Return the words with files as absolute paths."""
    names: tuple[str, ...] = (
        "labelled",
        "linked",
        "tree",
        "tree-again",
        "a.ldac",
        "theta.npz",
        "tree.json",
    )
    names += ("page.html", "b.mtx.gz", "s.ldac")
    return [folder / str(word) if str(word).partition("/")[0] in names else word for word in words]


LAST = (".json", ".mtx.gz", "s.ldac")
"""How the names end of files that stand only beside the others that were written with them."""


def assert_whole(now: Files, before: Files, after: Files, kind: str) -> None:
    """Assert that each file is old or new, and all of them old if no rename was reached.

    Refused between two renames, some are new and others old: then the last one is missing.
    """
    assert set(now) <= set(before) | set(after)  # no temporary file either
    for name, data in now.items():
        assert data in (before.get(name), after[name]), name
    if kind == "rename" and now not in (before, after):
        (last,) = (n for n in after if n.endswith(LAST) and after[n] != before.get(n))
        assert last not in now and set(before) - set(now) <= {last}
    else:
        assert now in (before, after)


@pytest.mark.slow
@pytest.mark.parametrize(
    "older", [True, *by_night(False)], ids=["over older files", "where nothing was"]
)
@pytest.mark.parametrize("command", WRITERS)
def test_a_refusal_at_any_moment_leaves_old_files_or_new_ones_and_a_rerun_repairs(
    call: Call, work: Work, tmp_path: Path, command: str, older: bool
) -> None:
    words = in_folder(WRITERS[command], tmp_path)
    work({})
    inputs = contents(tmp_path)
    assert call(*words).code == 0
    after = contents(tmp_path)
    written = {name: b"old" for name in after if after[name] != inputs.get(name)}
    assert written
    before = inputs | written if older else inputs
    repaired = []

    def prepare(n: int) -> int:
        work(written if older else {})
        return n

    def act(_: int) -> Any:
        outcome = call(*words)
        return outcome if outcome.code else None

    for kind in KINDS if older else ("rename", "write"):
        n = 0
        for n, outcome in refusals(kind, tmp_path, prepare, act):
            assert (outcome.code, outcome.out) == (1, ""), (kind, n)
            lines = outcome.err.splitlines()
            assert len(lines) == 1 and lines[0].startswith("hiertopics: error: cannot "), lines
            assert "No space left" in lines[0] and ".partial" not in lines[0]
            now = contents(tmp_path)
            assert_whole(now, before, after, kind)
            if now not in repaired:
                repaired.append(now)
                assert call(*words).code == 0
                assert contents(tmp_path) == after, (kind, n)
        assert n >= len(written), kind


@pytest.mark.parametrize("command", READERS)
def test_a_command_that_only_prints_asks_nothing_of_the_disk(
    call: Call, work: Work, tmp_path: Path, command: str
) -> None:
    work({})
    before = contents(tmp_path)
    for kind in KINDS:
        with failing(kind, 1, tmp_path) as faults:
            assert call(*in_folder(READERS[command], tmp_path)).code == 0
        assert faults.calls == 0
    assert contents(tmp_path) == before
