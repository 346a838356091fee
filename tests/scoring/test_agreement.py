"""``agree``: a tree is held against others of the same split, node by node."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiertopics.base.arrays import F64
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.matching import Marks, marks_of, partners
from hiertopics.corpus.data.tree import ROOT, Tree
from hiertopics.scoring import comparison
from hiertopics.scoring.comparison import agree

Finished = Callable[..., Path]


def contents(run: Path) -> dict[str, bytes]:
    """Return what the files of a run hold."""
    found = {path.name: path for path in run.iterdir() if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if name != ".lock"}


def marks(depth: list[int], words: list[list[int]], docs: list[list[int]]) -> Marks:
    """Return marks of nodes with these words of 40 and documents of 20."""
    word_rows, doc_rows = np.zeros((len(depth), 40), bool), np.zeros((len(depth), 20), bool)
    for node, (own_words, own_docs) in enumerate(zip(words, docs, strict=True)):
        word_rows[node, own_words] = True
        doc_rows[node, own_docs] = True
    return Marks(np.array(depth, np.int32), word_rows, doc_rows)


TEN, NEXT_TEN = list(range(10)), list(range(10, 20))
MIXED = [*range(5), *range(20, 25)]
FIRST_HALF, SECOND_HALF = list(range(10)), list(range(10, 20))


def test_partners_share_words_documents_and_depth() -> None:
    own = marks([0, 1, 1, 2], [[], TEN, NEXT_TEN, TEN], [[], FIRST_HALF, SECOND_HALF, FIRST_HALF])
    assert partners(own, own).mine.tolist() == [1, 2, 3]
    half = marks([0, 1], [[], MIXED], [[], list(range(5))])
    assert partners(own, half).mine.tolist() == [1]
    assert partners(own, marks([0, 1], [[], MIXED[1:]], [[], FIRST_HALF])).mine.size == 0
    assert partners(own, marks([0, 1], [[], TEN], [[], list(range(4))])).mine.size == 0


def test_where_neither_node_has_documents_the_words_decide() -> None:
    own = marks([0, 1, 1], [[], TEN, NEXT_TEN], [[], [], FIRST_HALF])
    assert partners(own, own).mine.tolist() == [1, 2]
    assert partners(own, marks([0, 1], [[], TEN], [[], [3]])).mine.size == 0
    assert partners(own, marks([0, 1], [[], MIXED[1:]], [[], []])).mine.size == 0


def test_a_node_is_the_partner_of_one() -> None:
    """Two nodes that are alike cannot both have the only one that is like them."""
    own = marks([0, 1, 1], [[], TEN, TEN], [[], FIRST_HALF, FIRST_HALF[:6]])
    other = marks([0, 1], [[], TEN], [[], FIRST_HALF])
    assert partners(own, other).mine.tolist() == [1]
    assert partners(other, own).mine.tolist() == [1]


def test_a_run_agrees_with_itself(finished: Finished, call: Callable[..., Any]) -> None:
    run = finished("nhdp-variational")
    record = agree([run, run, run])
    assert {node["support"] for node in record["nodes"]} == {2}
    assert record["support"] == pytest.approx(1)
    assert record["nodes"][0]["n_tokens"] == pytest.approx(
        sum(node["n_tokens"] for node in json.loads((run / "tree.json").read_text())["nodes"])
    )
    said = call("agree", run, run, "--json")
    assert said.code == 0 and json.loads(said.out) == agree([run, run])
    table = call("agree", run, run).out.splitlines()
    assert table[0].split() == ["depth", "nodes", "found", "by", "0", "by", "1"]
    assert table[-1].startswith("100.0%")


@pytest.mark.parametrize(
    ("n_others", "n_alike", "back"),
    [(4, 3, 1), (4, 2, 0), (3, 3, 1), (3, 2, 0), (8, 6, 1), (8, 5, 0)],
)
def test_three_quarters_of_the_others_are_enough(
    finished: Finished, n_others: int, n_alike: int, back: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last of the others have no word and no document in common with the first run."""
    run = finished("nhdp-variational")
    calls = iter(range(1 + n_others))

    def marked(tree: Tree, theta: F64) -> Marks:
        found = marks_of(tree, theta)
        alike = next(calls) <= n_alike
        return found if alike else Marks(found.depth, ~found.words & False, ~found.docs)

    monkeypatch.setattr(comparison, "marks_of", marked)
    record = agree([run] * (1 + n_others))
    below = [node for node in record["nodes"] if node["depth"]]
    assert below and {node["support"] for node in below} == {n_alike}
    assert record["support"] == pytest.approx(back)


def test_documents_belong_to_nodes_that_they_give_a_tenth_at_and_below() -> None:
    tree = Tree(
        phi=np.full((5, 2), 0.5),
        parent=np.array([ROOT, 0, 1, 1, 0], np.int32),
        kind=np.zeros(5, np.int8),
        weight=np.full(5, 0.2),
        n_docs=np.ones(5, np.int64),
        n_tokens=np.ones(5),
    )
    theta = np.array(
        [
            [0, 0, 0.06, 0.06, 0.88],  # node 1 has a tenth by its two children alone
            [0, 0, 0.1, 0, 0.9],  # a tenth is enough
            [0, 0.03, 0.03, 0.03, 0.91],
            [0.02, 0.02, 0.03, 0.01, 0.02],  # the best node, though it has less
        ]
    )
    wanted = [[1, 1, 0, 0, 1], [1, 1, 1, 0, 1], [1, 0, 0, 0, 1], [1, 1, 1, 0, 0]]
    assert marks_of(tree, theta).docs.T.astype(int).tolist() == wanted


def test_support_is_written_on_request(copied: Finished, call: Callable[..., Any]) -> None:
    run = copied("nhdp-variational")
    before = contents(run)
    told = agree([run, run, run])
    assert contents(run) == before
    done = call("agree", run, run, run, "--write", "--json")
    assert done.code == 0 and json.loads(done.out) == told
    changed = {name for name, data in contents(run).items() if before[name] != data}
    assert changed == {"tree.json", "manifest.json"}
    tree = json.loads((run / "tree.json").read_text())
    assert tree["others"] == 2
    assert [node["support"] for node in tree["nodes"]] == [n["support"] for n in told["nodes"]]
    for node in tree["nodes"]:
        node.pop("support")
    assert tree["nodes"] == json.loads(before["tree.json"])["nodes"]
    lines = call("show-tree", run).out.splitlines()
    assert "support" not in lines[0] and all("  support 2/2  " in line for line in lines[1:])
    rows = [json.loads(line) for line in call("topics", run, "--format", "json").out.splitlines()]
    assert {row["support"] for row in rows} == {2}
    assert call("topics", run).out.splitlines()[0].split()[4] == "support"
    assert json.loads(call("show-tree", run, "--format", "json").out)["others"] == 2


def test_killed_while_it_is_written_a_run_is_old_or_new(
    copied: Finished, call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One rename after the other is the last that is reached."""
    run = copied("nhdp-variational")
    old = call("show-tree", run).out
    told, replace = [], os.replace
    for reached in range(4):
        left = reached

        def refuse(source: str, target: str) -> None:
            nonlocal left
            if left == 0:
                raise SystemExit(137)
            left -= 1
            replace(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", refuse)
            assert call("agree", run, run, "--write").code == (0 if reached == 3 else 137)
        shown = call("show-tree", run)
        assert shown.code == 0, shown.err
        told.append(shown.out)
    assert told[:2] == [old, old] and told[2] == told[3] != old


def test_what_cannot_be_compared_is_refused(finished: Finished, call: Callable[..., Any]) -> None:
    tree = finished("nhdp-variational")
    for words, said in (
        ((tree,), "two runs"),
        ((tree, finished("hdp-pcvb0")), "no tree of words"),
        ((tree, finished("nhdp-variational", "tokens:0.2@0")), "same split"),
        ((tree, finished("nhdp-gibbs")), "same backend"),
    ):
        done = call("agree", *words)
        assert done.code == 2 and said in done.err and "Traceback" not in done.err
    with pytest.raises(UsageError, match="two runs"):
        agree([tree])
