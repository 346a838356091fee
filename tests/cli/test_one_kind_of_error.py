"""Mistakes on the command line are told in one line, whoever finds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hiertopics.fitting.reshaping import merge
from hiertopics.runs.rundir import RunDir
from hiertopics.views.showing import TreeRequest, show_tree, tree_on_screen

Call = Callable[..., Any]

TOLD = {
    "merge: missing option '-o'": ("merge", "R", "1", "2"),
    "docs: invalid value for '--words-by': 'lift' is": ("docs", "R", "--words-by", "lift"),
    "topics: invalid value for '--format': 'svg'": ("topics", "R", "--format", "svg"),
    "topics: --top has no meaning without": ("topics", "R", "--top", "3"),
    "no such command 'fti'; did you mean 'fit'?": ("fti",),
    "option '--top' requires an argument": ("docs", "R", "--top"),
}


@pytest.mark.parametrize("told", TOLD)
def test_a_mistake_is_one_line(call: Call, told: str) -> None:
    done = call(*TOLD[told])
    assert done.code == 2 and done.out == ""
    (line,) = done.err.splitlines()
    assert line.startswith(f"hiertopics: error: {told}")


def test_help_is_named_where_click_alone_speaks(call: Call) -> None:
    assert call("docs", "R", "--zzz").err.endswith("; see hiertopics docs -h\n")
    assert call("fit", "R", "--seed", "3;4?").err.endswith(
        "'3;4?' is no whole number; see hiertopics fit -h\n"
    )
    assert not call("topics", "R", "--top", "3").err.endswith("-h\n")
    assert not call("topics", "R", "--topp", "3").err.endswith("-h\n")


def test_three_changed_numbers_are_told(
    call: Call, finished: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDir(finished("nhdp-variational"))
    made = merge(run, run.tree.children(0)[:2].tolist(), "made")
    numbers = {old: old + 1 for old in range(9)}
    replaced = made._replace(numbers=numbers)
    monkeypatch.setattr("hiertopics.fitting.reshaping.merge", lambda *_, **__: replaced)
    told = call("merge", run.path, 1, 2, "-o", "again").err
    assert told == "numbers of nodes now: 0 is 1, 1 is 2, 2 is 3 and 6 more (--json)\n"


def test_the_proposed_edit_has_the_words_that_views_show(
    finished: Callable[..., Path],
) -> None:
    from hiertopics.corpus.data.naming import by_name
    from hiertopics.runs.edits import as_line
    from hiertopics.runs.labels import words_told

    run = RunDir(finished("nhdp-variational"))
    tree = by_name(run.tree, run.vocab)
    line = as_line("merge", run, [1, 2])
    assert all(words_told(tree, run.vocab, node) in line for node in (1, 2))


def test_small_nodes_with_support_are_left_out_of_large_trees(
    finished: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part that comes back may be small, and its nodes may be, too."""
    run = RunDir(finished("nhdp-variational"))
    whole = run.tree
    few = int(whole.branch_docs[whole.shown].min()) + 1
    depths: list[int | None] = []

    def fewest(run: RunDir, form: str, depth: int | None = None) -> int:
        depths.append(depth)
        return few

    monkeypatch.setattr("hiertopics.views.showing.least_documents", fewest)
    monkeypatch.setattr("hiertopics.views.showing.supported_part", lambda run, tree, least: tree)
    text = show_tree(run, supported=0.5, depth=2)
    _, least = tree_on_screen(run, TreeRequest(supported=0.5, depth=2))
    assert depths == [None, None] and least == few
    small = whole.shown[whole.branch_docs[whole.shown] < few]
    assert len(small) and not any(f"[{node}]" in text for node in small.tolist())
