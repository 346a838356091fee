"""``--words-by``: one order of words calls a node by the same words in every view."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hiertopics.corpus.data.naming import NAME_WORDS, ORDERS, in_order, name_words, names_of
from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]


def called(run: Path, order: str) -> dict[int | str, str]:
    """Return the names of nodes by an order, from its ranked words alone."""
    opened = RunDir(run)
    words = name_words(in_order(opened.tree, opened.vocab, order), NAME_WORDS)
    return {
        opened.tree.id_of(row): " ".join(opened.vocab[word] for word in words[row])
        for row in opened.tree.shown.tolist()
    }


@pytest.mark.parametrize("order", ORDERS)
def test_a_node_has_the_same_name_in_every_view(
    copied: Callable[..., Path], call: Call, order: str
) -> None:
    run = copied("hlda-variational")
    expected = called(run, order)
    node = int(RunDir(run).tree.children(0)[0])
    chosen = ("--words-by", order)

    assert f"[{node}] {expected[node]}\n" in call("topics", run, node, *chosen).out
    told = json.loads(call("label", run, node, "mine", "--json", *chosen).out)
    assert told["auto_name"] == expected[node]
    (listed,) = map(json.loads, call("label", run, "--json", *chosen).out.splitlines())
    assert listed["auto_name"] == expected[node]

    topics = [json.loads(line) for line in call("topics", run, "--json", *chosen).out.splitlines()]
    assert {one["id"]: one["auto_name"] for one in topics} == expected
    documents = [json.loads(line) for line in call("docs", run, "--json", *chosen).out.splitlines()]
    named = {one["topic_auto_name"] for one in documents if one["topic"] is not None}
    assert named and named <= set(expected.values())

    agreed = json.loads(call("agree", run, run, "--json", *chosen).out)
    assert {one["id"]: one["auto_name"] for one in agreed["nodes"]} == expected


@pytest.mark.parametrize("command", ["eval", "compare"])
@pytest.mark.parametrize("order", ["name", "prob"])
def test_branches_that_mix_labels_have_the_names_of_the_order(
    copied: Callable[..., Path], call: Call, order: str, command: str, tmp_path: Path
) -> None:
    run = copied("hlda-variational")
    opened = RunDir(run)
    n_docs = len(opened.split.train_docs) + len(opened.split.heldout_docs)
    paths = tmp_path / "a.paths"
    paths.write_text(
        "".join(f"a/{'xyz'[doc % 3]}\n" if doc % 2 else "b\n" for doc in range(n_docs))
    )
    flags = ("--task", "hierarchy", "--paths", paths, "--words-by", order, "--json")
    told = json.loads(call(command, run, *flags).out)
    expected = called(run, order)
    mixed = [(one["node"], one["auto_name"]) for one in told["mixed"]]
    assert mixed and all(name == expected[node] for node, name in mixed)


@pytest.mark.parametrize("command", ["eval", "compare"])
def test_an_order_of_words_without_a_task_is_refused(
    finished: Callable[..., Path], call: Call, command: str
) -> None:
    done = call(command, finished(), "--words-by", "prob")
    assert done.code == 2 and "--words-by has no meaning without --task" in done.err


def test_a_command_that_names_nodes_takes_no_order(
    finished: Callable[..., Path], call: Call
) -> None:
    done = call("label", finished(), "--with", "cat", "--words-by", "prob")
    assert done.code == 2 and "--words-by has no meaning with --with" in done.err


def test_names_by_an_order_are_its_first_words(finished: Callable[..., Path]) -> None:
    opened = RunDir(finished("hlda-variational"))
    by_prob = names_of(opened.tree, opened.vocab, words_by="prob")
    assert [list(words) for words in by_prob.words] == [
        list(opened.tree.top_words(row, NAME_WORDS)) for row in range(opened.tree.n_nodes)
    ]
