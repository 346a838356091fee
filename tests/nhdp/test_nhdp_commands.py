"""Commands on a run of trees in which documents mix paths."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import small_settings

BACKENDS = ["nhdp-variational", "nhdp-gibbs"]


def without_names(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records without the names that nodes are called by."""
    names = ("auto_name", "name_score")
    return [{key: node[key] for key in node if key not in names} for node in nodes]


@pytest.mark.parametrize("backend", BACKENDS)
def test_words_of_branches_are_shown_on_request(
    finished: Callable[..., Path], call: Callable[..., Any], backend: str
) -> None:
    run = finished(backend)
    shown = {}
    for by in ("prob", "branch", "relevance", "frex"):
        done = call("show-tree", run, "--format", "json", "--words-by", by)
        assert done.code == 0, done.err
        shown[by] = json.loads(done.out)["nodes"]
    unasked = json.loads(call("show-tree", run, "--format", "json").out)["nodes"]
    # Words stay by probability where no order is asked for; names are then by ``name``.
    assert without_names(shown["prob"]) == without_names(unasked)
    by_prob = [" ".join(word for word, _ in node["words"][:5]) for node in shown["prob"]]
    assert [node["auto_name"] for node in shown["prob"]] == by_prob
    words = {by: [node["words"] for node in nodes] for by, nodes in shown.items()}
    # Of eight words two rankings may come out alike.
    assert len({str(ranked) for ranked in words.values()}) > 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_needs_a_path_per_document_is_refused(
    finished: Callable[..., Path], call: Callable[..., Any], backend: str
) -> None:
    done = call("eval", finished(backend), "--heldout", "--protocol", "path")
    assert done.code == 2
    assert "path" in done.err and backend in done.err and len(done.err.splitlines()) == 1


def test_vectors_have_no_words_by_branch(
    finished: Callable[..., Path], call: Callable[..., Any]
) -> None:
    done = call("show-tree", finished("hca-variational"), "--words-by", "branch")
    assert done.code == 2 and "tree of words" in done.err


def test_branches_that_do_not_rise_are_refused(tiny_file: Path, call: Callable[..., Any]) -> None:
    done = call("fit", tiny_file, "-b", "nhdp-variational", "-s", "model.branches=[7, 3]")
    assert done.code == 2 and "branches must rise" in done.err


FEW = {
    "one document": "3 0:1 1:2 2:1\n",
    "one word": "1 0:3\n1 0:2\n1 0:1\n",
    "documents of one token": "1 0:1\n1 1:1\n1 2:1\n",
    "more branches than words": "2 0:1 1:1\n1 1:1\n1 0:1\n",
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", FEW.values(), ids=FEW)
def test_a_corpus_with_hardly_anything_in_it_gives_a_smaller_tree_and_a_note(
    text: str, backend: str, tmp_path: Path, call: Callable[..., Any]
) -> None:
    (tmp_path / "few.ldac").write_text(text)
    small = [word for key in small_settings(backend) for word in ("-s", key)]
    fit = ["fit", "few.ldac", "-b", backend, "--holdout", "none", "--iterations", 4, *small]
    for branches, said in (("auto", "or uniform for branches"), ("[3, 5, 9]", "asks for 4 levels")):
        run = tmp_path / branches[:4]
        done = call(*fit, "-s", f"model.branches={branches}", "-o", run)
        assert done.code == 0, done.err
        assert "Traceback" not in done.err
        nodes = json.loads((run / "tree.json").read_text())["nodes"]
        notes = [line for line in done.err.splitlines() if said in line]
        assert len(notes) == (branches != "auto" or len(nodes) <= 2)
        assert all(note.startswith("note: ") for note in notes)
        assert len(nodes) <= 4
        assert call("show-tree", run).code == 0
