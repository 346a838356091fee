"""split of edits.yaml: a leaf that mixes two subjects becomes a branch of two topics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import hiertopics
from hiertopics.base.errors import UsageError
from hiertopics.contract.model import Summary
from hiertopics.corpus.data.tree import Tree
from hiertopics.families.nhdp.summary import merge_extra
from hiertopics.fitting.splitting import LeafTopics, below_leaf, divided, same_nodes, tokens_at
from hiertopics.runs.edits import EDITS, Edit, named, read_edits, write_edits
from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]
Copied = Callable[..., Path]


def leaf_of(tree: Tree) -> int:
    """Return the leaf with most tokens."""
    leaves = np.setdiff1d(tree.shown, tree.parent)
    return int(leaves[tree.n_tokens[leaves].argmax()])


def wanted(path: Path, node: int, into: int) -> Path:
    run = RunDir(path)
    write_edits(run, [Edit("split", (named(run.tree, run.vocab, node),), into=into)])
    return path


def two_subjects(seed: int = 0) -> tuple[sparse.csr_array, np.ndarray]:
    """Return documents of two subjects with ten words each, and the subject of each document."""
    rng = np.random.default_rng(seed)
    subject = rng.integers(0, 2, 60)
    counts = np.zeros((60, 20))
    for doc, which in enumerate(subject):
        for word in rng.integers(0, 10, 12):
            counts[doc, 10 * which + word] += 1
    return sparse.csr_array(counts), subject


def test_planted_subjects_are_told_apart() -> None:
    tokens, subject = two_subjects()
    found = divided(tokens, 2)
    assert np.allclose(found.phi.sum(axis=1), 1) and np.allclose(found.theta.sum(axis=1), 1)
    best = found.theta.argmax(axis=1)
    right = (best == subject).mean()
    assert max(right, 1 - right) == 1.0
    first = found.phi[:, :10].sum(axis=1)
    assert sorted(np.round(first).tolist()) == [0.0, 1.0]


def test_the_same_tokens_are_divided_the_same_way() -> None:
    tokens, _ = two_subjects()
    one, other = divided(tokens, 3), divided(tokens, 3)
    assert one.phi.tobytes() == other.phi.tobytes()


def test_too_few_documents_are_refused() -> None:
    tokens, _ = two_subjects()
    with pytest.raises(UsageError, match="1 documents have .* too few for 2 topics"):
        divided(sparse.csr_array(tokens[:1]), 2)


def tiny() -> Summary:
    parent = np.array([-1, 0, 0, 1, 1], np.int32)
    phi = np.array([[0.25] * 4, [0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4], [0.7, 0.1, 0.1, 0.1],
                    [0.1, 0.7, 0.1, 0.1]])  # fmt: skip
    theta = np.array([[0.1, 0.2, 0.3, 0.4, 0.0], [0.2, 0.2, 0.2, 0.2, 0.2]])
    extra = {
        "share": np.array([1, 0.6, 0.4, 0.5, 0.5]),
        "concentration": np.array([1.0, 2, 0, 0, 0]),
        "stop": np.array([[1.0, 4], [1, 5], [1, 0], [1, 0], [1, 0]]),
    }
    zeros = np.zeros(5, np.int64)
    tokens = np.array([3.0, 4, 5, 6, 2])
    tree = Tree(phi, parent, zeros.astype(np.int8), tokens / 20, zeros, tokens, extra)
    return Summary(tree, sparse.csr_array(theta))


def test_tokens_at_a_node_are_those_of_bayes_rule() -> None:
    summary = tiny()
    counts = sparse.csr_array(np.array([[2, 0, 1, 0], [0, 3, 0, 1]], np.int32))
    theta, phi = summary.theta.toarray(), summary.tree.phi
    for node in range(5):
        found = tokens_at(summary, node, counts).toarray()
        for doc in range(2):
            for word in range(4):
                chances = theta[doc] * phi[:, word]
                expected = counts.toarray()[doc, word] * chances[node] / chances.sum()
                assert found[doc, word] == pytest.approx(expected if expected >= 1e-3 else 0.0)


@pytest.mark.parametrize("leaf", [2, 3, 4])
def test_topics_stand_below_the_leaf_and_have_its_tokens(leaf: int) -> None:
    summary = tiny()
    rng = np.random.default_rng(leaf)
    found = LeafTopics(rng.dirichlet(np.ones(4), 3), rng.dirichlet(np.ones(3), 2))
    after, numbers = below_leaf(summary, leaf, found, merge_extra)
    tree, old = after.tree, summary.tree
    new = numbers[leaf]
    children = np.sort(tree.children(new))
    assert len(children) == 3 and tree.n_nodes == 8
    assert (np.diff(tree.depth) >= 0).all(), "nodes stand breadth first"
    assert np.allclose(tree.phi[children], found.phi)
    assert tree.n_tokens[new] == 0 and tree.n_tokens[children].sum() == old.n_tokens[leaf]
    assert np.allclose(after.theta.toarray()[:, children],
                       summary.theta.toarray()[:, [leaf]] * found.theta)  # fmt: skip
    assert (after.theta.toarray()[:, new] == 0).all()
    for node, now in numbers.items():
        if node != leaf:
            assert np.array_equal(tree.phi[now], old.phi[node])
            assert np.array_equal(after.theta.toarray()[:, now], summary.theta.toarray()[:, node])
        above = int(old.parent[node])
        assert tree.parent[now] == (-1 if above < 0 else numbers[above])
    assert tree.extra["concentration"][new] > 0 and tree.extra["stop"][new, 1] > 0
    assert np.allclose(after.theta.sum(axis=1), 1)


def test_nodes_that_were_left_out_are_told_from_those_that_stay() -> None:
    before = tiny().tree
    kept = [0, 1, 2, 4]
    parent = np.array([-1, 0, 0, 1], np.int32)
    zeros = np.zeros(4, np.int64)
    after = Tree(before.phi[kept], parent, zeros.astype(np.int8), np.full(4, 0.25), zeros,
                 np.ones(4))  # fmt: skip
    assert same_nodes(before, after) == {0: 0, 1: 1, 2: 2, 4: 3}


def test_a_leaf_is_split_in_a_run_of_its_own(copied: Copied, call: Call, tmp_path: Path) -> None:
    path = copied("nhdp-variational")
    node = leaf_of(RunDir(path).tree)
    sealed = {one: one.read_bytes() for one in path.rglob("*") if one.is_file()}
    wanted(path, node, 2)
    assert call("edit", path, "-o", tmp_path / "a").code == 0
    assert call("edit", path, "-o", tmp_path / "b", "--workers", 2).code == 0
    a, b = RunDir(tmp_path / "a"), RunDir(tmp_path / "b")
    assert a.file("model.npz").read_bytes() == b.file("model.npz").read_bytes()
    assert a.manifest["made_by"] == f"edit split {node} into 2"
    assert all(one.read_bytes() == text for one, text in sealed.items() if one.name != EDITS)
    assert np.isfinite(hiertopics.evaluate(a)["perplexity"])
    made = hiertopics.edit(path, tmp_path / "c")
    assert len(made.run.tree.children(made.numbers[node])) <= 2
    assert call("show-tree", tmp_path / "a").code == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("split:\n- {node: 1 a}\n", r":2: expected an entry as {node: 12 json xml, into: 2}"),
        (
            "split:\n- {node: 1 a, into: 1}\n",
            ":2: expected a number of topics from 2 to 100, got 1",
        ),
        ("split:\n- {node: 1 a, into: two}\n", ":2: expected a number of topics from 2 to 100"),
        ("split:\n- {node: 1 a, into: true}\n", ":2: expected a number of topics from 2 to 100"),
        ("divide:\n- 1\n", ":1: expected merge, move or split"),
    ],
)
def test_a_mistake_in_a_split_is_told_with_its_line(
    copied: Copied, call: Call, tmp_path: Path, text: str, says: str
) -> None:
    path = copied("nhdp-variational")
    (path / EDITS).write_text(text)
    done = call("edit", path, "-o", tmp_path / "new")
    assert done.code != 0 and says in done.err and not (tmp_path / "new").exists()


def test_an_inner_node_and_other_backends_are_refused(
    copied: Copied, call: Call, tmp_path: Path
) -> None:
    path = copied("nhdp-variational")
    tree = RunDir(path).tree
    inner = next(node for node in tree.shown.tolist() if len(tree.children(node)))
    done = call("edit", wanted(path, inner, 2), "-o", tmp_path / "new")
    assert done.code != 0 and "only a leaf can be split" in done.err
    flat = copied("hdp-pcvb0")
    done = call("edit", wanted(flat, 0, 2), "-o", tmp_path / "new")
    assert done.code != 0 and "can be split: hdp-pcvb0 cannot fit topics on a tree" in done.err
    assert not (tmp_path / "new").exists()


def test_a_split_into_too_many_topics_is_named(copied: Copied, call: Call, tmp_path: Path) -> None:
    path = copied("nhdp-variational")
    node = leaf_of(RunDir(path).tree)
    done = call("edit", wanted(path, node, 100), "-o", tmp_path / "new")
    assert done.code == 2 and len(done.err.splitlines()) == 1
    assert f"split {node} into 100: " in done.err and "too few for 100 topics" in done.err
    assert not (tmp_path / "new").exists()


def test_edits_are_written_as_they_are_read(copied: Copied) -> None:
    path = wanted(copied("nhdp-variational"), 1, 3)
    (one,) = read_edits(path / EDITS)
    assert (one.kind, one.into, str(one)) == ("split", 3, "split 1 into 3")
