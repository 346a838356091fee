"""What a fit writes is made of its last draw or estimate: of its hyperparameters, by value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hiertopics.base.arrays import F64
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.tree import NODE, Tree
from hiertopics.families.chdp.base_kernels import base_rows
from hiertopics.families.chdp.gibbs_state import weights_of as drawn_weights
from hiertopics.families.chdp.variational import weights_of as mean_weights
from hiertopics.testing.bench import bench_of
from hiertopics.testing.corpora import varied

LAST = "inference.summarise=last"


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Return a corpus whose documents differ in length and groups."""
    return varied()


def fitted(name: str, corpus: Corpus, *overrides: str, iterations: int = 8) -> tuple[Any, ...]:
    """Return state (of one chain), data, model settings, tree and theta of a fit."""
    bench = bench_of((name, *overrides))
    data, state = bench.fit(corpus, iterations)
    summary = bench.summary_of(state, data)
    now = state.now[0] if bench.module.sampler else state
    return now, data, bench.settings.model, summary.tree, summary.theta.toarray()


def shares(rows: Any) -> F64:
    return np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float64)


def live(n_k: Any) -> Any:
    """Return topics with a token, largest first."""
    order = np.argsort(-n_k, kind="stable")
    return order[n_k[order] >= 1]


def is_written(tree: Tree, theta: F64, topics: Any, phi: Any, weights: Any, **close: Any) -> None:
    """Compare the rows of topics [T, n_words] and weights [n_docs, T]."""
    n_live = int((tree.kind == NODE).sum())
    assert n_live == len(topics) > 1
    np.testing.assert_allclose(tree.phi[:n_live], shares(phi)[topics], **close)
    np.testing.assert_allclose(theta[:, :n_live], shares(weights)[:, topics], **close)


@pytest.mark.parametrize("prior", ["symmetric", "asymmetric"])
def test_lda_gibbs(corpus: Corpus, prior: str) -> None:
    keys = (f"model.prior={prior}", "model.n_topics=6", "inference.hyper_start=0", LAST)
    state, data, model, tree, theta = fitted("lda-gibbs", corpus, *keys)
    assert state.eta != model.eta and (np.ptp(state.alpha) > 0) == (prior == "asymmetric")
    alpha = np.broadcast_to(state.alpha, 6)
    n_dk = np.zeros((corpus.n_docs, 6))
    np.add.at(n_dk, (np.repeat(np.arange(corpus.n_docs), data.doc_lengths), state.z), 1)
    topics, n_wk = live(state.n_k[:6]), state.n_wk[:, :6]
    is_written(tree, theta, topics, n_wk.T + state.eta, n_dk + alpha, rtol=1e-10)
    np.testing.assert_allclose(tree.extra["doc_prior"][: len(topics)], alpha[topics])


@pytest.mark.parametrize("name", ["hdp-pcvb0", "hdp-cvb0", "hdp-pcvb", "hdp-cvb"])
@pytest.mark.parametrize("prior", ["AS", "AA"])
def test_variational_hdp(corpus: Corpus, name: str, prior: str) -> None:
    keys = (f"model.prior={prior}", "model.truncation=6", "inference.hyper_start=2")
    state, _, model, tree, theta = fitted(name, corpus, *keys)
    word_prior, doc_prior = state.word_mass * state.tau, state.alpha * state.pi
    assert abs(word_prior.mean() / model.eta - 1) > 1e-3
    assert abs(state.alpha / model.alpha - 1) > 1e-3
    topics = live(state.n_k)
    phi, weights = state.n_wk.T + word_prior, state.n_dk + doc_prior
    is_written(tree, theta, topics, phi, weights, rtol=2e-4, atol=1e-7)
    np.testing.assert_allclose(tree.extra["doc_prior"][: len(topics)], doc_prior[topics], rtol=1e-6)


@pytest.mark.parametrize(
    "how", [(), ("model.cooperation=maximization",), ("model.weights=learned",)]
)
def test_chdp_gibbs(corpus: Corpus, how: tuple[str, ...]) -> None:
    keys = (*how, "model.truncation=6", "inference.hyper_start=0", LAST)
    state, data, model, tree, theta = fitted("chdp-gibbs", corpus, *keys)
    assert state.eta != model.eta and state.alpha_doc != model.alpha_doc
    weights = drawn_weights(state, data, model)
    if not model.maximization:  # their mean given the tables of this draw
        group = state.n_group_tables + state.alpha_group * np.exp(state.log_pi_0)
        weights = weights._replace(group=shares(group))
    base = state.alpha_doc * base_rows(data.parents, weights)
    topics = live(state.n_k)
    is_written(tree, theta, topics, state.n_wk.T + state.eta, state.n_dk + base, rtol=1e-9)
    assert tree.extra["alpha_doc"] == [state.alpha_doc]
    pi = np.exp(state.log_pi_0)[topics] / np.exp(state.log_pi_0).sum()
    np.testing.assert_allclose(tree.extra["corpus_theta"][: len(topics)], pi, rtol=1e-9)


def test_chdp_variational(corpus: Corpus) -> None:
    keys = ("model.truncation=6", "inference.hyper_start=2")
    state, data, model, tree, theta = fitted("chdp-variational", corpus, *keys)
    eta = state.word_mass / data.n_words
    assert abs(eta / model.eta - 1) > 1e-3 and abs(state.alpha_doc / model.alpha_doc - 1) > 1e-3
    base = state.alpha_doc * base_rows(data.parents, mean_weights(state, data, model))
    close: dict[str, Any] = {"rtol": 2e-4, "atol": 1e-7}
    topics = live(state.n_k)
    is_written(tree, theta, topics, state.n_wk.T + eta, state.n_dk + base, **close)
    assert tree.extra["alpha_doc"] == [state.alpha_doc]


DRAWN = tuple(f"inference.sample_{name}=true" for name in ("gamma", "eta", "level_prior"))


@pytest.mark.parametrize("how", [(), ("inference.collapse=partial",)])
def test_hlda_gibbs(corpus: Corpus, how: tuple[str, ...]) -> None:
    """Rows in any order; the masses of leaves are products of shares under the drawn gamma."""
    keys = (*how, *DRAWN, "model.depth=3", LAST)
    state, _, model, tree, theta = fitted("hlda-gibbs", corpus, *keys)
    chain, prior = state.chain, state.prior
    assert prior.eta != model.eta and prior.gamma != model.gamma
    assert tree.extra["eta"] == [prior.eta]
    np.testing.assert_array_equal(tree.extra["level_prior"], prior.level)
    nodes = np.flatnonzero(chain.visits > 0)
    phi = shares(chain.n_wk[:, nodes].T + prior.eta)
    assert len(nodes) == int((tree.kind == NODE).sum())
    gaps = np.abs(tree.phi[:-1, None] - phi).max(axis=2)
    assert gaps.min(axis=1).max() < 1e-12
    weights = shares(chain.n_dl + prior.level)
    np.testing.assert_allclose(np.sort(theta)[:, -3:], np.sort(weights), rtol=1e-10)
    leaves = nodes[nodes >= chain.first[-2]]
    masses = []
    for leaf in leaves:
        mass, node = 0.0, leaf
        while node > 0:
            above = chain.parent[node]
            mass += np.log(chain.visits[node] / (chain.visits[above] + prior.gamma))
            node = above
        masses.append(mass)
    found = tree.extra["log_mass"][:-1][tree.depth[:-1] == 2]
    np.testing.assert_allclose(np.sort(found), np.sort(masses), rtol=1e-10)


def test_hlda_variational(corpus: Corpus) -> None:
    learned = tuple(f"inference.learn_{name}=true" for name in ("gamma", "eta", "level_prior"))
    keys = (*learned, "inference.hyper_start=1")
    state, _, model, tree, _ = fitted("hlda-variational", corpus, *keys)
    assert state.eta != model.eta and state.gamma != model.gamma
    assert tree.extra["eta"] == [state.eta] and tree.extra["gamma"] == [state.gamma]
    np.testing.assert_array_equal(tree.extra["level_prior"], state.level_prior)
    lam = shares(np.asarray(state.lam, np.float64).T)
    gaps = np.abs(tree.phi[tree.kind == NODE][:, None] - lam).max(axis=2)
    assert gaps.min(axis=1).max() < 1e-6


def test_tssb_of_texts(corpus: Corpus) -> None:
    """Topics, the process and the law of shares; the shares of a node make its words."""
    state, _, model, tree, theta = fitted("tssb-mcmc", corpus, LAST)
    np.testing.assert_array_equal(tree.extra["process"], [float(x) for x in state.process])
    assert tree.extra["kappa"] == [state.law[0]]
    topics = state.topics
    rows = shares(topics.n_wk.T + model.eta)
    np.testing.assert_allclose(tree.extra["topics"], rows, rtol=1e-9)
    n_live = int((tree.kind == NODE).sum())
    made = tree.extra["shares"][:n_live] @ rows
    np.testing.assert_allclose(tree.phi[:n_live], made, rtol=1e-3)
    assert (theta.sum(axis=1) == 1).all()
    lengths = corpus.doc_lengths
    np.testing.assert_allclose(tree.n_tokens, lengths @ theta)
