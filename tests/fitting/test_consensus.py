"""``consensus``: a run of the branches that most of several runs have."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiertopics.corpus.data.matching import Marks
from hiertopics.corpus.data.tree import NODE, Tree
from hiertopics.fitting.consensus import Fit, joined, kept_nodes
from hiertopics.runs.rundir import RunDir

Fitter = Callable[..., Any]
Call = Callable[..., Any]
N_DOCS, N_WORDS = 40, 80


def planted(parent: list[int], kinds: list[int], seed: int = 0) -> Fit:
    """Return a tree whose nodes are of these kinds: ten words and ten documents of their own.

    Nodes of one kind are the same in all trees; kind -1 is noise that no other tree has.
    """
    rng = np.random.default_rng(seed)
    n_nodes = len(parent)
    words, docs = np.zeros((n_nodes, N_WORDS), bool), np.zeros((n_nodes, N_DOCS), bool)
    for node, kind in enumerate(kinds):
        noise = rng.choice(N_WORDS, 10, False), rng.choice(N_DOCS, 10, False)
        own = np.arange(10 * kind, 10 * kind + 10)
        words[node, own if kind >= 0 else noise[0]] = True
        docs[node, own % N_DOCS if kind >= 0 else noise[1]] = True
    phi = rng.dirichlet(np.ones(N_WORDS), n_nodes)
    tokens = rng.integers(1, 9, n_nodes).astype(float)
    tree = Tree(
        phi=phi,
        parent=np.array(parent, np.int32),
        kind=np.full(n_nodes, NODE, np.int8),
        weight=tokens / tokens.sum(),
        n_docs=np.ones(n_nodes, np.int64),
        n_tokens=tokens,
    )
    return Fit(tree, rng.dirichlet(np.ones(n_nodes), N_DOCS), Marks(tree.depth, words, docs))


FULL = planted([-1, 0, 0, 1, 1, 2], [7, 0, 1, 2, 3, 4], 1)
"""Two branches, of two leaves and of one."""

PART = planted([-1, 0, 0, 2, 2], [7, 1, 0, 2, 3], 2)
"""The same without a leaf of the second branch, in another order."""

OTHER = planted([-1, 0, 0, 1], [7, 0, 6, 3], 3)
"""The first branch and one leaf of it; the second branch is another one."""


def kinds_of(fits: list[Fit], members: list[tuple[int, int]]) -> set[int]:
    """Return the kinds of the nodes that one of the consensus stands for."""
    return {int(np.flatnonzero(fits[one].marks.words[node])[0]) // 10 for one, node in members}


def test_a_branch_that_most_have_is_kept_and_one_that_a_single_run_has_is_not() -> None:
    fits = [FULL, PART, OTHER]
    nodes = kept_nodes(fits)
    kinds = [kinds_of(fits, node.members) for node in nodes]
    assert kinds == [{7}, {0}, {1}, {2}, {3}]
    assert [len(node.members) for node in nodes] == [3, 3, 2, 2, 3]
    assert [node.parent for node in nodes] == [-1, 0, 0, 1, 1]


def test_half_of_the_runs_are_not_most() -> None:
    """Kinds 1 and 2 are in two of four runs, kinds 0 and 3 in all."""
    fits = [FULL, PART, OTHER, planted([-1, 0, 0, 1], [7, 0, 5, 3], 4)]
    assert [kinds_of(fits, node.members) for node in kept_nodes(fits)] == [{7}, {0}, {3}]
    assert {1} in [kinds_of(fits[:3], node.members) for node in kept_nodes(fits[:3])]


def test_theta_is_the_mean_of_the_runs_that_have_a_node() -> None:
    tree, theta = joined([FULL, PART, OTHER])
    kinds = [[7, 0, 1, 2, 3, 4], [7, 1, 0, 2, 3], [7, 0, 6, 3]]
    wanted = np.zeros_like(theta)
    for node, kind in enumerate([7, 0, 1, 2, 3, 4]):
        rows = [
            fit.theta[:, own.index(kind)]
            for fit, own in zip([FULL, PART, OTHER], kinds, strict=True)
            if kind in own and (kind != 4 or fit is FULL)
        ]
        wanted[:, node] = np.mean(rows, axis=0)
    np.testing.assert_allclose(theta, wanted / wanted.sum(axis=1, keepdims=True))
    tokens = [FULL.tree.n_tokens[3], PART.tree.n_tokens[3]]
    assert tree.n_tokens[3] == pytest.approx(np.mean(tokens))


def test_the_place_of_a_node_is_what_most_runs_say() -> None:
    moved = planted([-1, 0, 0, 1, 1], [7, 0, 1, 2, 4], 4)
    nodes = kept_nodes([moved, FULL, FULL])
    place = {kinds_of([moved, FULL, FULL], node.members).pop(): node.parent for node in nodes}
    assert place[4] == [kinds_of([moved, FULL, FULL], node.members) for node in nodes].index({1})


def test_topics_are_means_by_tokens_and_leaves_of_the_first_hang_where_they_were() -> None:
    tree, theta = joined([FULL, PART, OTHER])
    assert tree.parent.tolist() == [-1, 0, 0, 1, 1, 2]
    tokens = FULL.tree.n_tokens[2], PART.tree.n_tokens[1]
    mean = (tokens[0] * FULL.tree.phi[2] + tokens[1] * PART.tree.phi[1]) / sum(tokens)
    np.testing.assert_allclose(tree.phi[2], mean)
    np.testing.assert_allclose(tree.phi[5], FULL.tree.phi[5])  # the leaf that no other run has
    np.testing.assert_allclose(theta.sum(axis=1), 1)


def test_the_order_of_the_others_changes_no_bit() -> None:
    one, other = joined([FULL, PART, OTHER]), joined([FULL, OTHER, PART])
    assert one[0].parent.tolist() == other[0].parent.tolist()
    np.testing.assert_allclose(one[0].phi, other[0].phi, rtol=1e-12)


@pytest.fixture(scope="module")
def seeds(fit_tiny: Fitter, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return runs of five seeds."""
    folder = tmp_path_factory.mktemp("seeds")
    for seed in range(5):
        fit_tiny(folder / str(seed), "nhdp-variational", 6, seed=seed)
    return [folder / str(seed) for seed in range(5)]


@pytest.mark.slow
def test_a_consensus_is_a_run_like_any_other(
    seeds: list[Path], call: Call, tiny_file: Path, tmp_path: Path
) -> None:
    done = call("consensus", *seeds, "-o", "made")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "made" and "are in most of the runs" in done.err
    manifest = json.loads((tmp_path / "made" / "manifest.json").read_text())
    assert [parent["run"] for parent in manifest["parents"]] == ["0", "1", "2", "3", "4"]
    assert manifest["made_by"] == "consensus" and manifest["status"] == "done"
    nodes = json.loads((tmp_path / "made" / "tree.json").read_text())
    assert nodes["others"] == 5 and nodes["nodes"][0]["support"] == 5
    for words in (
        ("show-tree", "made"),
        ("topics", "made"),
        ("eval", "made", "--heldout"),
        ("infer", "made", tiny_file, "-o", "theta.npz"),
        ("report", "made", "-o", "page.html"),
        ("export", "made", "-o", "tree.csv"),
        ("compare", "made", seeds[0]),
        ("agree", "made", *seeds),
    ):
        outcome = call(*words)
        assert outcome.code == 0, outcome.err
    refused = call("fit", tiny_file, "-c", "made/config.yaml", "-o", "made", "--iterations", 99)
    assert refused.code == 2 and len(refused.err.splitlines()) == 1
    assert "was made by consensus" in refused.err


def test_the_same_runs_give_the_same_bytes_in_any_order_after_the_first(
    seeds: list[Path], call: Call, tmp_path: Path
) -> None:
    assert call("consensus", *seeds, "-o", "one").code == 0
    turned = [seeds[0], *seeds[:0:-1]]
    assert call("consensus", *turned, "-o", "other", "--workers", 2, "--json").code == 0
    for name in ("model.npz", "theta.npz", "tree.json", "topics.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_a_disk_that_refuses_leaves_no_run_and_the_command_given_again_makes_it(
    seeds: list[Path], call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, reached, n_refused = os.replace, 0, 0

    def refuse(source: str, target: str) -> None:
        nonlocal reached
        if (reached := reached - 1) < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    for n in count(0, 3):
        reached = n
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", refuse)
            done = call("consensus", *seeds[:2], "-o", "made")
        if done.code == 0:
            break
        n_refused += 1
        assert done.code == 1 and len(done.err.splitlines()) == 1, done.err
        assert call("show-tree", "made").code == 2
    assert n_refused > 1
    assert call("show-tree", "made").code == 0


def test_sampled_trees_have_a_consensus_too(fit_tiny: Fitter, call: Call, tmp_path: Path) -> None:
    for seed in range(2):
        fit_tiny(tmp_path / str(seed), "nhdp-gibbs", 4, seed=seed)
    assert call("consensus", 0, 1, "-o", "made").code == 0
    assert call("eval", "made", "--heldout").code == 0
    assert RunDir(tmp_path / "made").n_draws == 0


def test_what_has_no_consensus_is_refused_in_one_line(
    seeds: list[Path], finished: Callable[..., Path], call: Call, tmp_path: Path
) -> None:
    paths = shutil.copytree(finished("hlda-variational"), tmp_path / "copy")
    for words, said in (
        ((seeds[0],), "two runs"),
        ((seeds[0], seeds[0]), "given twice"),
        ((seeds[0], finished("nhdp-gibbs")), "same backend"),
        ((seeds[0], finished("nhdp-variational", "tokens:0.2@0")), "same split"),
        ((finished("hdp-pcvb0"), finished("hdp-cvb0")), "no tree of words"),
        ((finished("hlda-variational"), paths), "consensus is for nhdp-variational, nhdp-gibbs"),
    ):
        done = call("consensus", *words, "-o", "made")
        assert done.code == 2 and said in done.err and len(done.err.splitlines()) == 1, done.err
        assert not (tmp_path / "made").exists()
    done = call("consensus", *seeds[:2], "-o", seeds[2])
    assert done.code == 2 and "is a run already" in done.err
    assert call("consensus", *seeds[:2]).code == 2


def test_stopping_weighs_at_a_node_what_it_does_at_those_with_children_that_it_stands_for() -> None:
    """The second branch is a leaf of one run, and the inner node of the two others."""
    stops = [np.array([[number, node] for node in range(6)], float) for number in range(3)]
    fits = []
    for fit, rows in zip([FULL, FULL, PART], stops, strict=True):
        tree = replace(fit.tree, extra={"stop": rows[: fit.tree.n_nodes]})
        fits.append(fit._replace(tree=tree))
    tree, _ = joined(fits, ["stop"])
    assert tree.parent.tolist() == [-1, 0, 0, 1, 1, 2]
    tokens = FULL.tree.n_tokens
    assert tree.extra["stop"][2] == pytest.approx([0.5, 2])  # node 1 of PART is a leaf
    branch = np.average([0, 1, 2], weights=[tokens[1], tokens[1], PART.tree.n_tokens[2]])
    assert tree.extra["stop"][1, 0] == pytest.approx(branch)
