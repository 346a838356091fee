"""``shape``: a fitted tree cut into other numbers of nodes by level."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from faults import refusals
from scipy import sparse

import hiertopics
from hiertopics.base.errors import NumericalError
from hiertopics.base.made import all_entries
from hiertopics.cli.changing import _shape_told
from hiertopics.corpus.corpora.conversion import convert
from hiertopics.corpus.data.tree import NODE, Tree
from hiertopics.families.nhdp import recutting
from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.recutting import _moved, _tree
from hiertopics.families.nhdp.shapes import ArrangedTopics, nested, numbered
from hiertopics.fitting.driver import fit
from hiertopics.python.shaping import ShapeResult
from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]
Finished = Callable[..., Path]
BOTH = ["nhdp-variational", "nhdp-gibbs"]


def leaves_of(tree: Tree) -> np.ndarray[Any, Any]:
    return np.setdiff1d(tree.shown, tree.parent)


@pytest.mark.parametrize("backend", BOTH)
def test_leaves_and_the_root_stay_and_there_are_as_many_branches_as_asked(
    copied: Finished, tmp_path: Path, backend: str
) -> None:
    old = RunDir(copied(backend))
    made = hiertopics.shape(old, [2], tmp_path / "new")
    tree, theta = made.run.tree, made.run.theta.toarray()
    assert made.nodes[0] == 2 == (tree.depth == 1).sum()
    before, after = leaves_of(old.tree), leaves_of(tree)
    assert len(before) == len(after)
    order = [
        next(new for new in after if np.array_equal(tree.phi[new], old.tree.phi[leaf]))
        for leaf in before
    ]
    assert sorted(order) == after.tolist()
    was = old.theta.toarray()
    np.testing.assert_allclose(theta[:, order], was[:, before], rtol=1e-12)
    np.testing.assert_allclose(theta[:, 0], was[:, 0], rtol=1e-12)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(tree.phi.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(tree.n_tokens.sum(), old.tree.n_tokens.sum(), rtol=1e-12)


def given(parent: list[int]) -> tuple[Tree, Any]:
    """Return a tree of random topics, and theta of nine documents."""
    rng, n = np.random.default_rng(0), len(parent)
    theta = rng.dirichlet(np.ones(n), 9)
    tree = Tree(
        phi=rng.dirichlet(np.ones(7), n),
        parent=np.array(parent, np.int32),
        kind=np.full(n, NODE, np.int8),
        weight=theta.mean(axis=0),
        n_docs=np.ones(n, np.int64),
        n_tokens=theta.sum(axis=0) * 10,
    )
    return tree, theta


def test_the_same_shape_gives_the_same_topics_and_shares() -> None:
    tree, theta = given([-1, 0, 0, 1, 1, 2, 2])
    arranged = numbered(nested([np.array([0, 0, 1, 1])], 4))
    moved = _moved(tree, all_entries(theta), np.full(9, 10), arranged)
    again = _tree(tree, moved, arranged)
    np.testing.assert_array_equal(again.parent, tree.parent)
    np.testing.assert_allclose(moved.theta.toarray(), theta, rtol=1e-12)
    np.testing.assert_allclose(again.phi, tree.phi, rtol=1e-12)
    np.testing.assert_allclose(again.n_tokens, tree.n_tokens, rtol=1e-12)


def test_what_an_inner_node_has_goes_where_its_documents_have_leaves() -> None:
    tree, theta = given([-1, 0, 0, 1, 1, 2, 2])
    arranged = ArrangedTopics(
        shape_of(np.array([-1, 0, 0, 1, 1, 2, 2])), np.array([3, 5, 4, 6]), np.zeros(7, np.int64)
    )
    moved = _moved(tree, all_entries(theta), np.full(9, 10), arranged)
    first = theta[:, 3] / theta[:, [3, 4]].sum(axis=1) * theta[:, 1]
    second = theta[:, 5] / theta[:, [5, 6]].sum(axis=1) * theta[:, 2]
    np.testing.assert_allclose(moved.theta.toarray()[:, 1], first + second, rtol=1e-12)
    parts = np.array([first.sum(), second.sum()]) * 10
    wanted = parts @ tree.phi[1:3] / parts.sum()
    np.testing.assert_allclose(_tree(tree, moved, arranged).phi[1], wanted, rtol=1e-12)


def test_documents_are_moved_some_at_a_time_and_what_they_do_not_use_is_not_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree, dense = given([-1, 0, 0, 1, 1, 2, 2])
    dense[::2, [1, 3, 4]] = 0
    lengths, theta = np.arange(1, 10), sparse.csr_array(dense)
    arranged = numbered(nested([np.array([0, 1, 0, 1])], 4))
    whole = _moved(tree, theta, lengths, arranged)
    assert whole.theta.nnz < dense.size
    monkeypatch.setattr(recutting, "DOCS_AT_ONCE", 2)
    moved = _moved(tree, theta, lengths, arranged)
    np.testing.assert_array_equal(moved.theta.toarray(), whole.theta.toarray())
    np.testing.assert_allclose(moved.tokens, whole.tokens, rtol=1e-12)
    assert moved.theta.nnz == whole.theta.nnz


def test_a_level_that_the_fitted_tree_has_not_has_topics_of_those_below() -> None:
    tree, theta = given([-1, 0, 0, 0, 0])
    arranged = numbered(nested([np.array([0, 0, 1, 1])], 4))
    cut = _tree(tree, _moved(tree, all_entries(theta), np.full(9, 10), arranged), arranged)
    wanted = tree.n_tokens[1:3] @ tree.phi[1:3] / tree.n_tokens[1:3].sum()
    np.testing.assert_allclose(cut.phi[1], wanted, rtol=1e-12)
    assert cut.n_tokens[1] == 0


@pytest.mark.parametrize("backend", BOTH)
@pytest.mark.parametrize("refit", [(), ("--refit",)], ids=["kept", "refitted"])
def test_the_price_is_what_compare_says(
    copied: Finished, call: Call, tmp_path: Path, backend: str, refit: tuple[str, ...]
) -> None:
    run = copied(backend)
    told = call("shape", run, "--branches", 2, *refit, "-o", "new", "--json")
    assert told.code == 0, told.err
    record = json.loads(told.out)
    score = {row["run"]: row["log_likelihood_per_word"] for row in hiertopics.compare([run, "new"])}
    assert record["price"] == pytest.approx(score[str(run)] - score["new"], abs=1e-12)
    assert record["price_error"] > 0
    manifest = RunDir(tmp_path / "new").manifest
    assert manifest["made_by"] == "shape 2" + " --refit" * bool(refit)
    assert manifest["parents"][0]["run"] == run.name
    again = call("fit", "-c", "new/config.yaml", "-o", "new")
    assert again.code == 2 and "there is no fit to go on with" in again.err
    for words in (("show-tree", "new"), ("report", "new", "-o", "page.html")):
        assert call(*words).code == 0


def test_names_of_leaves_stay_and_any_workers_give_the_same_bytes(
    copied: Finished, call: Call, tmp_path: Path
) -> None:
    run = copied("nhdp-variational")
    leaf = int(leaves_of(RunDir(run).tree)[0])
    hiertopics.label(run, leaf, "a leaf")
    for name, workers in (("one", 1), ("two", 2)):
        assert call("shape", run, "--branches", 2, "-o", name, "--workers", workers).code == 0
    (row,) = hiertopics.label(tmp_path / "one")
    old, new = RunDir(run).tree, RunDir(tmp_path / "one").tree
    np.testing.assert_array_equal(new.phi[row["node"]], old.phi[leaf])
    for name in ("model.npz", "theta.npz", "tree.json", "topics.csv", "labels.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("holdout", ["none", "tokens:0.2@0"])
def test_a_price_needs_held_out_words(copied: Finished, call: Call, holdout: str) -> None:
    run = copied("nhdp-variational", holdout)
    told = call("shape", run, "--branches", 2, "-o", "new")
    assert told.code == 0 and told.out == "new\n"
    assert ("note: " in told.err and "no held-out" in told.err) == (holdout == "none")
    assert ("price: " in told.err) == (holdout != "none")


@pytest.mark.parametrize(
    ("backend", "branches", "message"),
    [
        ("hdp-pcvb0", "2", "shape is for nhdp-variational, nhdp-gibbs"),
        ("hlda-variational", "2", "shape is for nhdp-variational, nhdp-gibbs"),
        (
            "nhdp-variational",
            "3,2",
            "must rise from level to level: the nodes below the root first",
        ),
        ("nhdp-variational", "2,2", "must rise from level to level"),
        ("nhdp-variational", "1", "2 or more"),
        ("nhdp-variational", "99", "leaves: ask less"),
        ("nhdp-variational", "x", "takes numbers as 6,30"),
        ("nhdp-variational", "", "takes numbers as 6,30"),
    ],
)
def test_what_cannot_be_made_is_told_in_one_line_and_nothing_is_written(
    finished: Finished, call: Call, tmp_path: Path, backend: str, branches: str, message: str
) -> None:
    told = call("shape", finished(backend), "--branches", branches, "-o", "new")
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1) and message in told.err
    assert not (tmp_path / "new").exists()


def test_a_place_that_is_taken_stays_as_it_is(finished: Finished, call: Call) -> None:
    run = finished("nhdp-variational")
    told = call("shape", run, "--branches", 2, "-o", finished("lda-gibbs"))
    assert told.code == 2 and "is there already" in told.err


def test_a_disk_that_refuses_leaves_no_run_and_the_command_given_again_makes_it(
    finished: Finished, call: Call, tmp_path: Path
) -> None:
    run, n_refused = finished("nhdp-variational", "none"), 0

    def act(_: int) -> Any:
        done = call("shape", run, "--branches", 2, "-o", "made")
        return done if done.code else None

    for _, done in refusals("rename", tmp_path, int, act, every=3):
        n_refused += 1
        assert done.code == 1 and "Traceback" not in done.err, done.err
        assert call("show-tree", "made").code == 2
    assert n_refused > 1
    assert call("show-tree", "made").code == 0


def test_the_price_leaves_no_scores_in_the_run(copied: Finished, call: Call) -> None:
    run = copied("nhdp-variational")
    told = call("shape", run, "--branches", 2, "-o", "new", "--json")
    assert told.code == 0 and json.loads(told.out)["note"] is None
    assert not list(run.glob("eval/*")) and not list(Path("new").glob("eval/*"))


def test_a_record_without_a_price_says_why(copied: Finished, call: Call) -> None:
    told = call("shape", copied("nhdp-variational", "none"), "--branches", 2, "-o", "new", "--json")
    record = json.loads(told.out)
    assert record["price"] is None and "has no held-out documents" in record["note"]


def test_a_run_that_cannot_be_scored_is_refused_with_the_reason_alone(
    copied: Finished, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoilt(*_: object) -> None:
        raise NumericalError("the score is not finite")

    run = copied("nhdp-variational")
    monkeypatch.setattr("hiertopics.scoring.evaluation.check_scores", spoilt)
    told = call("shape", run, "--branches", 2, "-o", "new")
    assert told.code == 1 and told.err.count("\n") == 1 and "the score is not finite" in told.err
    assert not Path("new").exists()


def shaped(parent: list[int], least: int = 2) -> ShapeResult:
    """Return a made run of this shape."""
    inner = np.bincount(_depths(parent)[np.unique(parent[1:])])[1:].tolist()
    nodes = np.bincount(_depths(parent))[1:].tolist()
    model = SimpleNamespace(least_children=least)
    run = SimpleNamespace(experiment=SimpleNamespace(model=model))
    return ShapeResult(run, nodes, inner, None, None)  # type: ignore[arg-type]


def _depths(parent: list[int]) -> np.ndarray[Any, Any]:
    depth = np.zeros(len(parent), dtype=np.int64)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    return depth


def test_numbers_that_are_not_those_asked_for_are_explained() -> None:
    """Node 2 is one cluster on both levels: its leaves stand at depth 2, and are not counted."""
    made = shaped([-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    assert made.nodes == [2, 4, 4]
    head = "nodes above the leaves by depth: 2, 2; leaves: 6"
    assert _shape_told(made, [2, 2]) == head
    told = _shape_told(made, [2, 3])
    why = "nodes without parts of their own count once"
    assert told == f"{head} (2, 3 were asked for: {why})"
    fewer = shaped([-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4], least=3)
    assert _shape_told(fewer, [2, 3]).endswith("with fewer than 3 take its place)")


@pytest.mark.slow
def test_a_run_of_a_corpus_in_shards_is_cut_too(tmp_path: Path, call: Call) -> None:
    planted = Path(__file__).parents[2] / "data-samples" / "planted.ldac"
    convert(planted, tmp_path / "planted.shards")
    again = ["model.truncation=9", "inference.start_iterations=10"]
    for name, corpus in (("one", planted), ("two", tmp_path / "planted.shards")):
        fit(corpus, run=tmp_path / name, iterations=3, overrides=again)
        told = call("shape", tmp_path / name, "--branches", 2, "-o", f"{name}-cut")
        assert told.code == 0 and "price: " in told.err, told.err
    trees = [RunDir(f"{name}-cut").tree for name in ("one", "two")]
    assert trees[0].parent.tolist() == trees[1].parent.tolist()
    assert trees[0].phi.tobytes() == trees[1].phi.tobytes()
