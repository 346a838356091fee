"""Commands on a run of trees in which documents mix paths."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BACKENDS = ["nhdp-variational", "nhdp-gibbs"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_words_of_branches_are_shown_on_request(
    finished: Callable[..., Path], call: Callable[..., Any], backend: str
) -> None:
    run = finished(backend)
    shown = {}
    for by in ("prob", "branch"):
        done = call("show-tree", run, "--format", "json", "--words-by", by)
        assert done.code == 0, done.err
        shown[by] = json.loads(done.out)["nodes"]
    assert shown["prob"] == json.loads(call("show-tree", run, "--format", "json").out)["nodes"]
    root = [nodes[0]["words"] for nodes in shown.values()]
    assert root[0] != root[1]


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


@pytest.mark.parametrize("text", ["1 0:3\n", "1 0:1\n1 0:2\n1 0:1\n", "2 0:1 1:1\n1 1:1\n1 0:1\n"])
def test_a_corpus_with_hardly_anything_in_it_gives_a_smaller_tree(
    text: str, tmp_path: Path, call: Callable[..., Any]
) -> None:
    """One document, one word, documents of one token; more branches than there are words."""
    (tmp_path / "few.ldac").write_text(text)
    keys = ["model.truncation=7", "model.branches=[3, 5]", "inference.start_iterations=5"]
    settings = [word for key in keys for word in ("-s", key)]
    fit = ["fit", "few.ldac", "-b", "nhdp-variational", "--holdout", "none", "--iterations", 6]
    done = call(*fit, *settings, "-o", "run")
    assert done.code == 0, done.err
    assert call("show-tree", "run").code == 0
