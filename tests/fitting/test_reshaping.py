"""merge, drop, refit: runs made of others, scored and shown like any other."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faults import refusals
from scipy import sparse

import hiertopics
from hiertopics.base.errors import ConfigError, UsageError
from hiertopics.contract import registry
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.data.regrouping import joined, regrouped, without
from hiertopics.corpus.data.tree import NODE, OUTSIDE, ROOT, Tree
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.fitting.refitting import documents_below
from hiertopics.runs.manifest import read_manifest
from hiertopics.runs.newdocs import infer_theta
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]
Finished = Callable[..., Path]
ABLE = [name for name in registry.BACKENDS if registry.load(name).merge_extra is not None]
UNABLE = [name for name in registry.BACKENDS if name not in ABLE]
FEW = ["hlda-variational", "nhdp-variational", "hdp-pcvb0", "lda-gibbs", "chdp-variational"]
"""One backend of each family that has its own globals."""


def pair(tree: Tree) -> tuple[int, int]:
    """Return two nodes with one parent, the deepest such ones with the most below them."""
    families = [tree.children(node).tolist() for node in (ROOT, *tree.shown.tolist())]
    first, second, *_ = max((f for f in families if len(f) > 1), key=len)
    return first, second


def sums(grouping: Any, theta: np.ndarray) -> np.ndarray:
    """Add the columns of theta up, one by one."""
    new = np.zeros((len(theta), grouping.n_rows))
    for old, place in enumerate(grouping.into):
        new[:, place] += theta[:, old]
    return new


@pytest.mark.parametrize("backend", ABLE)
def test_nodes_that_are_one_have_what_both_had(
    finished: Finished, tmp_path: Path, backend: str
) -> None:
    old = RunDir(finished(backend))
    if len(old.tree.shown) < 2:
        pytest.skip("the tiny fit has one topic")
    a, b = pair(old.tree)
    made = hiertopics.merge(old.path, [b, a], tmp_path / "merged")
    new, at = RunDir(tmp_path / "merged"), made.numbers[a]
    assert made.numbers[b] == at and len(new.tree.shown) == len(old.tree.shown) - 1
    grouping = joined(old.tree, [a, b])
    assert np.allclose(new.theta.toarray(), sums(grouping, old.theta.toarray()))
    tokens = old.tree.n_tokens[[a, b]]
    assert new.tree.n_tokens[at] == pytest.approx(tokens.sum())
    if tokens.sum() > 0:
        wanted = tokens @ old.tree.phi[[a, b]] / tokens.sum()
        assert np.allclose(new.tree.phi[at], wanted)
    for node, number in made.numbers.items():
        above = old.tree.parent[node]
        assert new.tree.parent[number] == (ROOT if above == ROOT else made.numbers[above])
        if node not in (a, b):
            assert (new.tree.phi[number] == old.tree.phi[node]).all()
    posterior = infer_theta(new, read_original(old).train)
    assert np.allclose(posterior.theta.sum(axis=1), 1.0)
    assert np.isfinite(hiertopics.evaluate(new)["perplexity"])


def doubled(tree: Tree, node: int) -> Tree:
    """Return a tree in which a node without children stands twice, each with half its mass."""
    order = np.append(np.arange(tree.n_nodes), node)
    if tree.kind[-1] == OUTSIDE:
        order = np.concatenate([np.arange(tree.n_nodes - 1), [node, tree.n_nodes - 1]])
    elif (np.diff(tree.depth) >= 0).all():  # breadth first, siblings together
        order = np.insert(np.arange(tree.n_nodes), node + 1, node)
    number = np.full(tree.n_nodes, -1)
    number[order[::-1]] = np.arange(len(order))[::-1]
    half = np.where(order == node, 0.5, 1.0)
    extra: dict[str, Any] = {}
    for name, array in tree.extra.items():
        by_node = array.ndim and array.shape[0 if name in ("stop",) else -1] == tree.n_nodes
        if name == "log_mass":
            extra[name] = array[order] + np.log(half)
        elif name in ("concentration", "stop"):
            extra[name] = array[order]
        else:
            extra[name] = array[..., order] * half if by_node else array
    parent = tree.parent[order]
    return Tree(
        phi=tree.phi[order],
        parent=np.where(parent == ROOT, ROOT, number[parent]).astype(np.int32),
        kind=tree.kind[order],
        weight=tree.weight[order] * half,
        n_docs=tree.n_docs[order],
        n_tokens=tree.n_tokens[order] * half,
        extra=extra,
    )


@pytest.mark.parametrize("backend", FEW)
def test_halves_that_are_put_together_are_the_node_that_was_cut(
    finished: Finished, backend: str
) -> None:
    """Equal nodes with half the prior mass each, merged: every global is what it was."""
    run = RunDir(finished(backend))
    tree, function = run.tree, registry.load(backend).merge_extra
    assert function is not None
    leaf = int(np.setdiff1d(tree.shown, tree.parent)[-1])
    twice = doubled(tree, leaf)
    same = [n for n in twice.shown.tolist() if (twice.phi[n] == tree.phi[leaf]).all()]
    grouping = joined(twice, same)
    whole = regrouped(twice, grouping, function(twice, grouping))
    for name in ("phi", "parent", "kind", "weight", "n_tokens"):
        assert np.allclose(getattr(whole, name), getattr(tree, name)), name
    for name, array in tree.extra.items():
        if array.dtype.kind == "f":
            assert np.allclose(whole.extra[name], array), name
    new = read_original(run).train
    before, after = (infer_theta(run, new, tree=one).theta.toarray() for one in (tree, whole))
    assert np.allclose(before, after)


@pytest.mark.parametrize("backend", FEW)
def test_a_node_that_is_gone_leaves_its_share_outside_or_above(
    finished: Finished, tmp_path: Path, backend: str
) -> None:
    old = RunDir(finished(backend))
    if len(old.tree.shown) < 2:
        pytest.skip("the tiny fit has one topic")
    node = pair(old.tree)[0]
    made = hiertopics.drop(old.path, node, tmp_path / "dropped")
    new, grouping = made.run, without(old.tree, node)
    assert node not in made.numbers and new.tree.n_docs.dtype == np.int64
    gone = [n for n in old.tree.shown.tolist() if n not in made.numbers]
    theta = new.theta.toarray()
    assert np.allclose(theta, sums(grouping, old.theta.toarray()))
    (outside,) = {int(grouping.into[n]) for n in gone}
    assert outside == (made.numbers[int(old.tree.parent[node])]
                       if (new.tree.kind == NODE).all() else new.tree.n_nodes - 1)  # fmt: skip
    if old.paths is not None:
        assert new.paths is not None and set(np.unique(new.paths.node)) <= {-1, *new.tree.shown}
        for was, now in zip(old.paths.node, new.paths.node, strict=True):
            assert [made.numbers[n] for n in was if n in made.numbers] == [n for n in now if n >= 0]
    assert np.isfinite(hiertopics.evaluate(new)["perplexity"])
    assert hiertopics.show_tree(new).count(" docs  ") == len(made.numbers)


def test_what_was_made_says_of_what_and_is_refused_by_fit(
    copied: Finished, tmp_path: Path, call: Call
) -> None:
    run = copied("hlda-variational")
    tree = RunDir(run).tree
    a, b = sorted(pair(tree))
    hiertopics.label(run, b, "second")
    told = call("merge", run, a, b, "-o", tmp_path / "two", "--json")
    made = json.loads(told.out)
    assert made["nodes"] == len(tree.shown) - 1 and Path(made["run"]) == tmp_path / "two"
    manifest = read_manifest(tmp_path / "two")
    assert manifest["made_by"] == f"merge {a} {b}" and manifest["parents"][0]["run"] == run.name
    assert [row["name"] for row in hiertopics.label(tmp_path / "two")] == ["second"]
    plain = call("drop", tmp_path / "two", a, "-o", tmp_path / "three")
    assert plain.out == f"{tmp_path / 'three'}\n"
    dropped = call("drop", run, a, "-o", tmp_path / "first gone")
    assert f"numbers of nodes now: {b} is {a}" in dropped.err
    again = call("drop", run, a, "-o", tmp_path / "first gone")
    assert "is there already" in again.err and again.err.endswith("first gone-2'\n")
    for name in ("two", "three"):
        again = call("fit", "-c", tmp_path / name / "config.yaml", "-o", tmp_path / name)
        assert again.code == 2 and "there is no fit to go on with" in again.err
    assert call("compare", run, tmp_path / "two").code in (0, 2)
    report = hiertopics.report(tmp_path / "two", run, tmp_path / "page.html")
    assert report.path.exists()
    keys = {hiertopics.report(r, output=tmp_path / "p.html", json=tmp_path / "p.json") and
            json.loads((tmp_path / "p.json").read_text())["key"]
            for r in (run, tmp_path / "two", tmp_path / "three")}  # fmt: skip
    assert len(keys) == 3  # names given in one page are not those of another run


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("merge", "RUN", 1, 1), "two or more different nodes"),
        (("merge", "RUN", 1), "two or more different nodes"),
        (("merge", "RUN", 0, 1), "only nodes below the same one can be merged: 0 lies at the top"),
        (("merge", "RUN", 1, 999), "has no node 999"),
        (("drop", "RUN", 999), "has no node 999"),
        (("drop", "RUN", 0), "0 is the root"),
        (("refit", "RUN", 999), "has no node 999"),
    ],
)
def test_what_cannot_be_made_is_told_and_nothing_is_written(
    finished: Finished, call: Call, tmp_path: Path, words: tuple[Any, ...], message: str
) -> None:
    run = finished("hlda-variational")
    told = call(*(run if word == "RUN" else word for word in words), "-o", "new")
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1) and message in told.err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", ["merge", "drop", "refit"])
def test_a_disk_that_refuses_leaves_no_run_and_the_command_given_again_makes_it(
    finished: Finished, call: Call, tmp_path: Path, command: str
) -> None:
    run = finished("hlda-variational")
    nodes = pair(RunDir(run).tree)[: 2 if command == "merge" else 1]
    n_refused = 0

    def act(_: int) -> Any:
        done = call(command, run, *nodes, "-o", "made")
        return done if done.code else None

    for _, done in refusals("rename", tmp_path, int, act, every=3):
        n_refused += 1
        assert done.code == 1 and "Traceback" not in done.err, done.err
        if command != "refit":  # what is fitted is a run before its documents have their names
            assert call("show-tree", "made").code == 2
    assert n_refused > 1
    assert call("show-tree", "made").code == 0


@pytest.mark.parametrize("backend", UNABLE)
def test_backends_that_cannot_say_so(
    finished: Finished, call: Call, tmp_path: Path, backend: str
) -> None:
    told = call("merge", finished(backend), 0, 1, "-o", "new")
    assert told.code == 2 and f"{backend} cannot be merged or dropped" in told.err
    assert not (tmp_path / "new").exists()


def test_a_place_that_is_taken_stays_as_it_is(finished: Finished, call: Call) -> None:
    told = call("drop", finished("hlda-variational"), 1, "-o", finished("lda-gibbs"))
    assert told.code == 2 and "is there already" in told.err


@pytest.mark.parametrize("backend", ["hlda-variational", "nhdp-variational", "hdp-pcvb0"])
def test_documents_below_are_those_of_the_page(finished: Finished, backend: str) -> None:
    """A document goes below the child with the largest share, or along its best path."""
    run = RunDir(finished(backend))
    roots = run.tree.children(ROOT).tolist()
    below = [documents_below(run, root) for root in roots]
    assert sorted(np.concatenate(below).tolist()) == list(range(run.theta.shape[0]))
    if run.paths is not None:
        for node in run.tree.shown.tolist():
            assert len(documents_below(run, node)) == run.tree.n_docs[node]


def test_the_documents_of_a_node_are_fitted_alone(
    finished: Finished, call: Call, tmp_path: Path
) -> None:
    parent = RunDir(finished("hlda-variational"))
    node = int(parent.tree.children(0)[0])
    docs = documents_below(parent, node)
    told = call("refit", parent.path, node, "-o", "alone", "--holdout", "none", "-q")
    assert (told.code, told.out) == (0, "alone\n")
    run = RunDir(tmp_path / "alone")
    counts = read_original(parent).train.counts[docs].toarray()
    own = read_original(run).train
    columns = [parent.vocab.index(word) for word in run.vocab]
    assert (own.counts.toarray() == counts[:, columns]).all()
    assert own.n_tokens == counts.sum() and run.manifest["made_by"] == f"refit {node}"
    numbers = [str(parent.split.train_docs[doc] + 1) for doc in docs]
    assert [record["name"] for record in hiertopics.docs(run)] == numbers
    again = call("refit", parent.path, node, "-o", "alone", "--holdout", "none", "--iterations", 9)
    assert again.code == 0 and RunDir(tmp_path / "alone").manifest["iterations"] == 9
    other = call("refit", parent.path, node, "-o", "flat", "-b", "hdp-pcvb0", "--iterations", 2,
                 "-s", "model.truncation=3", "-q")  # fmt: skip
    assert other.code == 0 and RunDir(tmp_path / "flat").split.kind == "docs"


def test_only_words_are_refitted(finished: Finished, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rows of numbers"):
        hiertopics.refit(finished("hca-variational"), 0, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_groups_keep_their_weights(tiny_corpus: Corpus, fit_tiny: Call, tmp_path: Path) -> None:
    members = sparse.csr_array(np.eye(3, dtype=bool)[np.arange(tiny_corpus.n_docs) % 3])
    tags = Tags(members, ("ann", "bob", "cat"))
    write_corpus(replace(tiny_corpus, groups=tags), tmp_path / "t.ldac")
    fit_tiny(tmp_path / "run", "chdp-variational", corpus=tmp_path / "t.ldac")
    tree = RunDir(tmp_path / "run").tree
    made = hiertopics.merge(tmp_path / "run", pair(tree), tmp_path / "merged")
    groups = made.run.tree.extra["group_theta"]
    assert np.allclose(groups.sum(axis=1), 1.0) and groups.shape[1] == tree.n_nodes - 1
    assert hiertopics.topics(made.run, by="group")


def test_a_refit_that_was_refused_leaves_nothing(
    finished: Callable[..., Path], copied: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError):
        hiertopics.refit(finished(), 0, tmp_path / "x", overrides=["model.eta=-1"])
    assert not (tmp_path / "x").exists()
    other = copied("lda-gibbs")
    with pytest.raises(ConfigError, match="another config"):
        hiertopics.refit(finished(), 0, other)
    assert not (other / "corpus").exists()


def test_nodes_of_different_parents_are_left_to_edit(
    copied: Callable[..., Path], call: Call, tmp_path: Path
) -> None:
    run = copied("hlda-variational")
    tree = RunDir(run).tree
    inner = [node for node in tree.shown.tolist() if tree.parent[node] == 0]
    pair = [int(tree.children(node)[0]) for node in inner if len(tree.children(node))][:2]
    told = call("merge", run, *pair, "-o", "new")
    assert told.code == 2 and "; 'edit' can, with this line in edits.yaml: " in told.err
    (run / "edits.yaml").write_text(told.err.partition("edits.yaml: ")[2])
    assert call("edit", run, "-o", "new").code == 0
    assert "'edit' can" not in call("merge", run, 0, 1, "-o", "newer").err
