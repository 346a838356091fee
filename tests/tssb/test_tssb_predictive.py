"""Documents drawn from a fitted tree (T11), the row outside, and the closed form of the urn."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from stepping import advance, at, begin, corpus_of
from tree_cases import PRIOR, at_root, urn

from hiertopics.base.arrays import F64, I32
from hiertopics.contract.model import Settings, Summary
from hiertopics.corpus.data.tree import Tree
from hiertopics.families.tssb import text
from hiertopics.families.tssb.layout import StickNodes
from hiertopics.families.tssb.stick_kernels import count, log_stops
from hiertopics.settings.config import build

ROWS = np.random.default_rng(3).poisson(1.5, (25, 6))
CORPUS = corpus_of(ROWS)
ONE: Any = text.one


def fitted(n_topics: int, **inference: Any) -> tuple[Summary, Settings]:
    """Return the summary of a short fit."""
    layer = {"model": {"n_topics": n_topics}, "inference": {"start_sweeps": 5, **inference}}
    built = build(
        [("test", {"backend": "tssb-mcmc", **layer})],
        model_type=ONE.Model,
        inference_type=ONE.Inference,
    )
    settings = Settings(built.model, built.inference)
    state, data = begin(ONE, CORPUS, settings)
    state = advance(ONE, state, data, settings, 7)
    return ONE.summarise(state, data, settings, at(0)), settings


def drawn(n_topics: int, n_samples: int) -> tuple[Summary, list[Any]]:
    summary, settings = fitted(n_topics)
    rng = np.random.default_rng(2)
    return summary, list(ONE.predictive(summary.tree, n_samples, settings, rng))


def test_one_topic_is_the_smoothed_multinomial() -> None:
    """T11: with K = 1 every document drawn has the words of the corpus, eta added to each."""
    summary, blocks = drawn(1, 500)
    counts = ROWS.sum(axis=0) + 0.1
    for block in blocks:
        expected = np.tile(counts / counts.sum(), (len(block.weights), 1))
        assert block.mixtures @ block.rows == pytest.approx(expected, rel=1e-12)
    assert summary.tree.phi == pytest.approx(
        np.tile(counts / counts.sum(), (summary.tree.n_nodes, 1)), rel=2.0**-15
    )


@pytest.mark.slow
def test_rounded_rows_are_distributions_near_the_exact_ones() -> None:
    exact = np.random.default_rng(0).dirichlet(np.full(2000, 0.05), 40)
    rows = text.rounded(exact)
    assert rows.sum(axis=1) == pytest.approx(1, abs=1e-14)
    others = np.delete(np.arange(2000), exact.argmax(axis=1)[0])
    assert rows[0, others] == pytest.approx(exact[0, others], rel=2.0**-16)
    assert rows == pytest.approx(exact, rel=1e-3)
    mantissas = np.frexp(rows[0, others])[0]
    assert (mantissas * 2**16 == np.rint(mantissas * 2**16)).all()


def test_as_many_topics_as_nodes_stay_topics() -> None:
    """Only arrays by node get the row outside."""
    settings = Settings(ONE.Model(n_topics=5), ONE.Inference(start="root", start_sweeps=1))
    data = ONE.prepare(CORPUS, settings)
    for seed in range(200):
        state = ONE.init(data, settings, at(0, seed=seed))
        state, info = ONE.step(state, data, settings, at(1, seed=seed))
        if info.n_nodes == 5:
            tree = ONE.summarise(state, data, settings, at(0)).tree
            assert tree.extra["topics"].shape == (5, 6)
            assert tree.extra["shares"].shape == (6, 5)
            return
    pytest.fail("no tree of five nodes")


def test_documents_drawn_are_distributions_of_the_weight_asked_for() -> None:
    summary, blocks = drawn(3, 5_000)
    assert sum(block.weights.sum() for block in blocks) == 5_000
    for block in blocks:
        assert len(block.weights) <= 1000
        assert (block.mixtures @ block.rows).sum(axis=1) == pytest.approx(1, abs=1e-12)
    whole_tree = np.exp(summary.tree.extra["log_mass"]).sum()
    assert whole_tree == pytest.approx(1, abs=1e-12)


def test_documents_drawn_average_to_the_rows_of_the_tree() -> None:
    """The mean of a new node's shares is its parent's: the row outside is made of those."""
    summary, blocks = drawn(3, 40_000)
    expected = np.exp(summary.tree.extra["log_mass"]) @ summary.tree.extra["shares"]
    total = sum(block.weights @ block.mixtures for block in blocks) / 40_000
    squares = sum(block.weights @ block.mixtures**2 for block in blocks) / 40_000
    error = np.sqrt((squares - total**2) / 40_000)
    assert (np.abs(total - expected) < 4.5 * error).all()


def squares_of_newcomers(tree: Tree) -> F64:
    """Return the mean of a new node's squared shares, for new nodes below each row [n, K].

    Of Dirichlet(kappa m) it is (kappa m^2 + m)/(kappa + 1), and the mean stays m from level to
    level; a document stops at a new node of depth d with chance 1/(1 + alpha(d)).
    """
    (alpha0, decay, _, max_depth), kappa = tree.extra["process"], float(tree.extra["kappa"][0])
    mean = tree.extra["shares"][tree.shown]
    total = np.zeros_like(mean)
    for row, depth in enumerate(tree.depth[tree.shown]):
        squares, reached = mean[row] ** 2, 1.0
        while reached > 1e-9:
            depth += 1
            squares = (kappa * squares + mean[row]) / (kappa + 1.0)
            stops = 1.0 if depth >= max_depth else 1.0 / (1.0 + alpha0 * decay**depth)
            total[row] += reached * stops * squares
            reached *= 1.0 - stops
    return total


@pytest.mark.parametrize("max_depth", [64, 2])
def test_documents_drawn_are_as_varied_as_the_levels_that_they_go_down(max_depth: int) -> None:
    """Second moments of shares, which depth and the law of new nodes move, unlike the means."""
    summary, settings = fitted(3, burn_in=0)
    process, kappa = np.array([4.0, 0.25, 1.0, max_depth]), np.array([2.0])
    extra = {**summary.tree.extra, "process": process, "kappa": kappa}
    tree, n_samples = replace(summary.tree, extra=extra), 60_000
    assert tree.depth[tree.shown].max() > 0
    mean, newborn = tree.extra["shares"][tree.shown], squares_of_newcomers(tree)
    own, below = np.exp(extra["log_mass"][tree.shown]), extra["below"][tree.shown]
    assert own.sum() + below.sum() == pytest.approx(1, abs=1e-9)
    blocks = list(ONE.predictive(tree, n_samples, settings, np.random.default_rng(5)))
    found = sum(block.weights @ block.mixtures**2 for block in blocks) / n_samples
    fourth = sum(block.weights @ block.mixtures**4 for block in blocks) / n_samples
    error = np.sqrt((fourth - found**2) / n_samples)
    expected = own @ mean**2 + below @ newborn
    assert (np.abs(found - expected) < 4.0 * error).all(), (found - expected) / error


def test_a_document_at_an_inner_node_counts_at_its_ancestors() -> None:
    tree, theta = (lambda summary: (summary.tree, summary.theta))(fitted(3)[0])
    node = theta.indices
    passing = np.zeros(tree.n_nodes, np.int64)
    for here in node.tolist():
        while here >= 0:
            passing[here] += 1
            here = int(tree.parent[here])
    assert tree.n_docs.tolist() == passing.tolist()
    lengths = ROWS.sum(axis=1)
    assert tree.n_tokens.tolist() == np.bincount(node, lengths, tree.n_nodes).tolist()


@pytest.mark.parametrize("start", ["sequential", "root", "prior"])
def test_each_start_makes_a_sound_tree(start: str) -> None:
    summary, _ = fitted(3, start=start)
    assert summary.tree.n_tokens.sum() == ROWS.sum()


def closed_form(nodes: StickNodes) -> float:
    """Return the log chance of a partition with its tree (theory/tssb 1.2)."""
    total, gamma = log_stops(nodes, PRIOR), PRIOR.gamma
    for node in range(int(nodes.size[0])):
        sizes = nodes.n_sub[: nodes.size[0]][nodes.parent[: nodes.size[0]] == node]
        total += len(sizes) * math.log(gamma) + math.lgamma(gamma)
        total += sum(map(math.lgamma, sizes)) - math.lgamma(gamma + sizes.sum())
    return float(total)


def tree_of(state: tuple[tuple[int, ...], ...]) -> StickNodes:
    """Return the tree of data at these seats, counted."""
    names = sorted({seat[:depth] for seat in state for depth in range(len(seat) + 1)})
    nodes = at_root(len(state), 64).nodes
    nodes.size[0] = len(names)
    for place, name in enumerate(names):
        nodes.parent[place] = names.index(name[:-1]) if name else -1
        nodes.depth[place] = len(name)
    home: I32 = np.array([names.index(seat) for seat in state], np.int32)
    count(home, nodes)
    return nodes


def test_the_closed_form_is_the_urn_and_does_not_see_the_order_of_data() -> None:
    """T2 and T8: each of the 894 ways to seat three data; its value knows counts alone."""
    for chance, state in urn(3, PRIOR):
        assert math.exp(closed_form(tree_of(state))) == pytest.approx(chance, rel=1e-12)
        assert closed_form(tree_of(state[::-1])) == pytest.approx(closed_form(tree_of(state)))
