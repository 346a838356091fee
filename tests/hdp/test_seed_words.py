"""Seed words: tokens of a topic outside documents (theory/hdp 6.8)."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import joint
import numpy as np
import pytest
from hdp_cases import begin, pairs_of, random_corpus
from hdp_geweke import (
    LENGTHS as GEWEKE_LENGTHS,
    N_TOPICS,
    STATISTICS,
    draw_from_prior,
    exponentials,
    measure,
)
from joint import Outcome, Story
from naive import grouped, pair_sweep, second_order_sweep, seen
from nights import by_night
from scipy.special import digamma, gammaln
from stepping import advance, at, corpus_of, docs_of, settings_of

from hiertopics.base.arrays import F64, I64, Ints
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.seedwords import Seeds
from hiertopics.families.flat.prediction import infer
from hiertopics.families.hdp import few, gibbs, partial, point_estimates, posteriors
from hiertopics.families.hdp.variational import cvb0, few_cvb0, few_pcvb0, pcvb0
from hiertopics.papers.hdp_second_order_backends import cvb, pcvb

CORPUS = corpus_of([[2, 1, 0], [0, 1, 1], [1, 0, 2]])
SEEDS = {"first": ["w1"], "second": ["w0", "w2"]}
WEIGHT = 2
OF_TOPICS = np.array([[0, WEIGHT, 0], [WEIGHT, 0, WEIGHT], [0, 0, 0]])
ALPHA, ETA, PI = 1.3, 0.4, np.array([0.5, 0.3, 0.2])
N_SWEEPS, N_BATCHES = 20_000, 50
KEYS: dict[str, Any] = {"truncation": 3, "seeds": SEEDS, "seed_weight": WEIGHT}
DENSE = [pcvb0, cvb0, pcvb, cvb]
ALL = [*DENSE, few_pcvb0, few_cvb0]


def log_joint(states: Ints) -> F64:
    """Return log p(words, seed words, z) of states [n, 8], pi, alpha and eta given."""
    docs = docs_of(CORPUS)
    doc = np.repeat(np.arange(len(docs)), [len(words) for words in docs])
    word = np.concatenate(docs)
    z = np.eye(3)[states]
    n_dk = np.stack([z[:, doc == d].sum(axis=1) for d in range(len(docs))], axis=1)
    n_kw = np.stack([z[:, word == v].sum(axis=1) for v in range(3)], axis=2) + OF_TOPICS
    mass = ALPHA * PI
    lengths = n_dk.sum(axis=2)
    found = (gammaln(mass + n_dk) - gammaln(mass)).sum(axis=(1, 2))
    found -= (gammaln(ALPHA + lengths) - gammaln(ALPHA)).sum(axis=1)
    found += (gammaln(ETA + n_kw) - gammaln(ETA)).sum(axis=(1, 2))
    found -= (gammaln(3 * ETA + n_kw.sum(axis=2)) - gammaln(3 * ETA)).sum(axis=1)
    return np.asarray(found)


def statistics(z: Ints) -> F64:
    """Return who has which topic, and which tokens have the same, of states [n, 8]."""
    first, second = np.triu_indices(z.shape[1], 1)
    topics = (z[:, :, None] == np.arange(3)).reshape(len(z), -1)
    return np.concatenate([topics, z[:, first] == z[:, second]], axis=1).astype(np.float64)


def expected() -> F64:
    states = np.array(np.meshgrid(*[range(3)] * 8, indexing="ij")).reshape(8, -1).T
    chances = np.exp(log_joint(states))
    return np.asarray(chances @ statistics(states) / chances.sum())


def started(sampler: ModuleType, **keys: Any) -> tuple[Any, Any, Any]:
    settings = settings_of(sampler.backend, **KEYS, hyper_start=10**9, start="random", **keys)
    data = sampler.prepare(CORPUS, settings)
    state = sampler.init(data, settings, at(0, seed=1))
    state.alpha, state.pi, state.word_mass = ALPHA, PI, 3 * ETA
    return state, data, settings


def z_scores(sampler: ModuleType, n_sweeps: int = N_SWEEPS, **keys: Any) -> F64:
    """Return how far the means of a run through ``step`` are from the enumerated ones."""
    state, data, settings = started(sampler, **keys)
    visited = []
    for iteration in range(1, n_sweeps + 1):
        sampler.step(state, data, settings, at(iteration, seed=1))
        visited.append(state.z.copy())
    found = statistics(np.array(visited)).reshape(N_BATCHES, n_sweeps // N_BATCHES, -1)
    means = found.mean(axis=1)
    error = means.std(axis=0, ddof=1) / np.sqrt(N_BATCHES)
    return np.asarray((means.mean(axis=0) - expected()) / error)


CASES: list[Any] = [
    (gibbs, {"sweep": "sparse"}),
    *by_night((gibbs, {"sweep": "dense"})),
    (partial, {}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("sampler", "keys"), CASES)
def test_tokens_have_their_topics_as_often_as_the_posterior_says(
    sampler: ModuleType, keys: dict[str, Any]
) -> None:
    found = z_scores(sampler, **keys)
    assert np.abs(found).max() < 4.2, found
    assert np.sqrt((found**2).mean()) < 1.4, found


def no_totals(self: Seeds, n_topics: int, topics: Any = None) -> I64:
    """Forget seed words in the denominators."""
    return np.zeros(n_topics, np.int64)


def no_counts(self: Seeds, n_wk: Any, topics: Any = None) -> None:
    """Forget seed words in the counts."""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(
    ("sampler", "name", "wrong"),
    [(gibbs, "totals", no_totals), (gibbs, "add_to", no_counts), (partial, "add_to", no_counts)],
)
def test_samplers_that_forget_seed_words_are_rejected(
    sampler: ModuleType, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Seeds, name, wrong)
    assert np.abs(z_scores(sampler, N_SWEEPS // 2)).max() > 6.0


@pytest.mark.parametrize("sampler", [gibbs, partial])
def test_the_objective_is_the_log_joint_of_words_and_seed_words(
    sampler: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, data, settings = started(sampler)
    sampler.step(state, data, settings, at(1))
    sticks = gibbs.log_sticks(state.log_rest, state.gamma)
    exact = log_joint(state.z[None, :])[0] + sticks
    assert sampler.objective(state, data, settings, at(1)) == pytest.approx(exact, abs=1e-9)
    monkeypatch.setattr(Seeds, "totals", no_totals)
    assert abs(sampler.objective(state, data, settings, at(1)) - exact) > 0.5


def joint_test(prior: str, n_replicates: int) -> Outcome:
    """Run the joint test of hdp-gibbs with seed words that are drawn anew as all words are."""
    settings = settings_of(gibbs, truncation=N_TOPICS, prior=prior, hyper_start=0)
    template = corpus_of([[length, 0, 0, 0] for length in GEWEKE_LENGTHS])
    state, data = begin(gibbs, template, settings)
    name = np.array([0, 0, 0, 0, 1, 1])
    data = data._replace(seeds=Seeds(("a", "b"), np.zeros(6, np.int64), name, 1))

    def draw_words(state: Any, rng: np.random.Generator) -> None:
        topics = np.concatenate([state.z, state.seeded[name]]).astype(np.int32)
        words = np.zeros(len(topics), np.int32)
        state.n_wk[:] = 0
        joint.draw_words(topics, state.word_mass * state.tau, words, state.n_wk, rng)
        data.cells.word[:] = words[: len(state.z)]

    def start(state: Any, rng: np.random.Generator) -> None:
        draw_from_prior(state, data, prior, rng)
        state.seeded = np.array([0, 1])
        draw_words(state, rng)

    story = Story(
        gibbs.backend,
        state,
        data,
        settings,
        names=STATISTICS,
        begin=start,
        words=draw_words,
        measure=lambda state: measure(state, data, settings),
        exponential_names=("alpha", "gamma", "word_mass", "stick"),
        exponentials=exponentials,
    )
    return joint.joint_test(story, n_replicates=n_replicates, n_rounds=10)


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["AS", *by_night("AA")])
def test_prior_draws_stay_prior_draws(prior: str) -> None:
    """The word mass is learned from seed words, too, and their topics go along the sticks."""
    outcome = joint_test(prior, 600)
    assert outcome.largest_z < 4.0, outcome
    assert outcome.smallest_p > 1e-3, outcome


@pytest.mark.nightly
@pytest.mark.slow
def test_the_joint_test_sees_forgotten_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Seeds, "totals", no_totals)
    assert joint_test("AS", 400).largest_z > 6.0


def seeded_keys(corpus: Corpus) -> dict[str, Any]:
    words = corpus.vocab
    seeds = {"a": [words[0], words[3]], "b": [words[3]]}
    return {"truncation": 4, "seeds": seeds, "seed_weight": 3}


def with_seeds(corpus: Corpus, backend: Any, settings: Any, dtype: Any = np.float64) -> Any:
    """Return a first state and data, in float64, of a backend that lays out in float32."""
    data = backend.prepare(corpus, settings)
    cells = data.cells._replace(tokens=data.cells.tokens.astype(dtype))
    data = data._replace(cells=cells)
    return backend.init(data, settings, at(0), dtype=dtype), data


def as_documents(corpus: Corpus, data: Any, n_topics: int) -> tuple[Any, F64]:
    """Return the pairs and, behind them, those of seeds, each a document; and q of these."""
    pairs, seeds = pairs_of(corpus), data.seeds
    doc = np.concatenate([pairs.doc, corpus.n_docs + np.arange(len(seeds.word))])
    count = np.concatenate([pairs.count, np.full(len(seeds.word), float(seeds.weight))])
    held = np.eye(n_topics)[seeds.name]
    return pairs._replace(doc=doc, word=np.concatenate([pairs.word, seeds.word]), count=count), held


SWEEPS: dict[Any, Callable[..., F64]] = {
    pcvb0: pair_sweep,
    cvb0: pair_sweep,
    pcvb: second_order_sweep,
    cvb: second_order_sweep,
}


@pytest.mark.parametrize("backend", DENSE)
@pytest.mark.parametrize("forgotten", [False, True])
def test_a_sweep_sees_seeds_as_documents_that_are_held(
    backend: Any, forgotten: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = random_corpus(3, n_docs=8, n_words=9, largest=4)
    settings = settings_of(backend, **seeded_keys(corpus), hyper_start=100)
    state, data = with_seeds(corpus, backend, settings)
    pairs, held = as_documents(corpus, data, 4)
    estimated = point_estimates if backend in (pcvb0, pcvb) else posteriors
    keywords = () if estimated is point_estimates else (settings,)
    if forgotten:
        monkeypatch.setattr(Seeds, "totals", no_totals)
    q = np.concatenate([state.resp, held])
    for iteration in range(11):  # past a recount
        prior = estimated.prior_of(state, *keywords)
        q = SWEEPS[backend](pairs, q, prior.doc, prior.word, word_total=prior.word_total)
        q[-len(held) :] = held
        advance(backend, state, data, settings, 1, start=iteration)
    close = np.allclose(state.resp, q[: -len(held)], rtol=1e-8, atol=1e-10)
    assert close is not forgotten
    np.testing.assert_allclose(
        state.n_wk.sum(axis=0),
        state.n_k
        + Seeds.totals(data.seeds, 4) * (not forgotten)
        + np.array([6, 3, 0, 0]) * forgotten,
        rtol=1e-9,
    )


def test_the_word_mass_is_learned_from_seeds_too() -> None:
    """hdp-pcvb0: one step of the fixed point, a seed has a table for certain."""
    corpus = random_corpus(3, n_docs=8, n_words=9, largest=4)
    settings = settings_of(pcvb0, **seeded_keys(corpus), hyper_start=0)
    state, data = with_seeds(corpus, pcvb0, settings)
    before = state.word_mass
    advance(pcvb0, state, data, settings, 1)
    pairs, held = as_documents(corpus, data, 4)
    q = np.concatenate([state.resp, held])
    n_k = grouped(pairs, q, np.zeros(len(q), np.int64), 1)[0]
    growth = (digamma(n_k + before) - digamma(before)).sum()
    tables = seen(pairs, q, pairs.word, corpus.n_words).sum()
    assert state.word_mass == pytest.approx(tables / growth, rel=1e-9)


def test_few_entries_see_seeds_as_all_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grain below every share: the twin over pairs agrees, before and after a recount."""
    monkeypatch.setattr(few, "GRAIN", 1e-12)
    corpus = random_corpus(3, n_docs=12, n_words=15, largest=11)
    settings = settings_of(few_cvb0, **seeded_keys(corpus), hyper_start=3)
    data = few_cvb0.prepare(corpus, settings)
    state = advance(few_cvb0, few_cvb0.init(data, settings, at(0)), data, settings, 4)
    pairs, held = as_documents(corpus, data, 4)

    def rows() -> F64:
        local = state.local.state_of(0)
        q = np.zeros((len(local.share), 4))
        np.add.at(q, (np.arange(len(q))[:, None], local.topic), local.share)
        return q

    for iteration in range(5, 12):
        prior = posteriors.prior_of(state, settings)
        masses = (prior.doc.astype(np.float64), prior.word.astype(np.float64))
        q = np.concatenate([rows(), held])
        wanted = pair_sweep(pairs, q, *masses, word_total=prior.word_total)[: -len(held)]
        state = advance(few_cvb0, state, data, settings, 1, start=iteration - 1)
        np.testing.assert_allclose(rows(), wanted, rtol=5e-4, atol=1e-5)
    totals = state.n_k + data.seeds.totals(4)
    np.testing.assert_allclose(state.n_wk.sum(axis=0), totals, rtol=1e-5)


def planted_corpus() -> Corpus:
    """Return documents of three topics of five words each."""
    rng = np.random.default_rng(5)
    rows = np.zeros((60, 15), np.int64)
    for doc, row in enumerate(rows):
        row[5 * (doc % 3) : 5 * (doc % 3) + 5] = rng.multinomial(30, np.full(5, 0.2))
    return corpus_of(rows)


NAMES = {"third": ["w12", "w14"], "first": ["w0", "w1"]}


@pytest.mark.parametrize("backend", [*ALL, gibbs, partial])
def test_planted_topics_get_their_names(backend: Any) -> None:
    corpus = planted_corpus()
    settings = settings_of(
        getattr(backend, "backend", backend),
        truncation=8,
        seeds=NAMES,
        hyper_start=10,
    )
    data = backend.prepare(corpus, settings)
    state = backend.init(data, settings, at(0))
    state = advance(backend, state, data, settings, 60)
    summary = backend.summarise(state, data, settings, at(60))
    node = {name: node for node, name in summary.names.items()}
    assert set(node) == {"third", "first"}
    for name, place in (("third", 2), ("first", 0)):
        own = corpus.doc_lengths[place::3].sum()
        assert summary.tree.n_tokens[node[name]] == pytest.approx(own, rel=0.1)
        assert summary.theta.toarray()[place::3, node[name]].mean() > 0.9
    assert summary.tree.n_tokens.sum() == pytest.approx(corpus.n_tokens, rel=1e-5)
    new = corpus_of(np.eye(15, dtype=np.int64)[[12, 0]] * 5)
    theta = infer(summary.tree, new, settings, at(0)).theta.toarray()
    assert theta[0, node["third"]] > 0.6 and theta[1, node["first"]] > 0.6


def test_new_documents_are_placed_by_seed_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word that few documents have belongs to its name's topic; forgotten it would not."""
    counts = planted_corpus().counts.toarray()
    counts = np.hstack([counts, np.zeros((60, 1), np.int64)])
    counts[0, 15] = 1
    corpus = corpus_of(counts)
    settings = settings_of(gibbs.backend, truncation=4, seeds={"other": ["w15", "w5"]})

    def theta() -> float:
        data = gibbs.prepare(corpus, settings)
        state = advance(gibbs, gibbs.init(data, settings, at(0)), data, settings, 60)
        summary = gibbs.summarise(state, data, settings, at(60))
        new = corpus_of(np.eye(16, dtype=np.int64)[[15]] * 6)
        found = infer(summary.tree, new, settings, at(0)).theta.toarray()[0]
        (node,) = summary.names
        return float(found[node])

    assert theta() > 0.6
    monkeypatch.setattr(Seeds, "add_to", no_counts)
    monkeypatch.setattr(Seeds, "totals", no_totals)
    assert theta() < 0.5


def test_a_name_whose_topic_nobody_has_is_told() -> None:
    corpus = corpus_of([[9, 9, 0], [8, 9, 0], [9, 7, 1]])
    for backend in (partial, cvb0):
        extra = {"start": "random"} if backend is partial else {}
        settings = settings_of(
            getattr(backend, "backend", backend),
            truncation=4,
            seeds={"mine": ["w0", "w1"], "void": ["w2"]},
            seed_weight=5000,
            **extra,
        )
        data = backend.prepare(corpus, settings)
        state = advance(backend, backend.init(data, settings, at(0)), data, settings, 30)
        summary = backend.summarise(state, data, settings, at(30))
        if "void" in summary.names.values():
            continue
        assert any("void" in note and "no token" in note for note in summary.notes)
        chances = summary.theta.toarray() @ summary.tree.phi
        np.testing.assert_allclose(chances.sum(axis=1), 1.0)
        return
    raise AssertionError("no backend left the topic empty")


@pytest.mark.parametrize("backend", [gibbs, few_cvb0, few_pcvb0, cvb0])
def test_shards_have_seeds_once(backend: Any) -> None:
    corpus = random_corpus(5, n_docs=25, n_words=30, largest=6)
    keys = seeded_keys(corpus)
    settings = settings_of(getattr(backend, "backend", backend), **keys, hyper_start=3, shards=3)
    data = backend.prepare(corpus, settings)
    state = advance(backend, backend.init(data, settings, at(0)), data, settings, 12)
    topics = getattr(state, "seeded", None)
    totals = state.n_k + data.seeds.totals(4, topics)
    np.testing.assert_allclose(state.n_wk.sum(axis=0), totals, rtol=1e-4)
    assert state.n_k.sum() == pytest.approx(corpus.n_tokens, rel=1e-5)
