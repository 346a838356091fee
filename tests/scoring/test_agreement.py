"""``agree``: a tree is held against others of the same split, node by node."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiertopics.errors import UsageError
from hiertopics.scoring import agreement
from hiertopics.scoring.agreement import Marks, agree

Finished = Callable[..., Path]


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
    assert agreement._partners(own, own).tolist() == [1, 2, 3]
    half = marks([0, 1], [[], MIXED], [[], list(range(5))])
    assert agreement._partners(own, half).tolist() == [1]
    assert agreement._partners(own, marks([0, 1], [[], MIXED[1:]], [[], FIRST_HALF])).size == 0
    assert agreement._partners(own, marks([0, 1], [[], TEN], [[], list(range(4))])).size == 0


def test_a_node_is_the_partner_of_one() -> None:
    """Two nodes that are alike cannot both have the only one that is like them."""
    own = marks([0, 1, 1], [[], TEN, TEN], [[], FIRST_HALF, FIRST_HALF[:6]])
    other = marks([0, 1], [[], TEN], [[], FIRST_HALF])
    assert agreement._partners(own, other).tolist() == [1]
    assert agreement._partners(other, own).tolist() == [1]


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
    assert table[0].split() == ["depth", "nodes", "0", "1"]
    assert table[-1].startswith("100.0%")


def test_trees_of_other_backends_may_be_held_against_one(finished: Finished) -> None:
    record = agree([finished("nhdp-variational"), finished("nhdp-gibbs")])
    assert 0 <= record["support"] <= 1
    assert record["nodes"][0]["support"] == 1


def test_what_cannot_be_compared_is_refused(finished: Finished, call: Callable[..., Any]) -> None:
    tree = finished("nhdp-variational")
    for words, said in (
        ((tree,), "two runs"),
        ((tree, finished("hdp-pcvb0")), "no tree of words"),
        ((tree, finished("nhdp-variational", "tokens:0.2@0")), "same split"),
    ):
        done = call("agree", *words)
        assert done.code == 2 and said in done.err and "Traceback" not in done.err
    with pytest.raises(UsageError, match="two runs"):
        agree([tree])
