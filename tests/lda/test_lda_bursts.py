"""lda-gibbs where documents are bursty: twins, limits, the joint distribution (theory/bursts 9)."""

from __future__ import annotations

from typing import Any

import joint
import laid_tables
import numpy as np
import pytest
from joint import Outcome, Story
from lda_cases import settings_of
from nights import by_night
from seats_twin import State, Twin, as_numbered
from stepping import advance, at, begin, corpus_of, same_arrays

from hiertopics.families.flat import seats
from hiertopics.families.flat.bursts import Repeats, more_than
from hiertopics.families.flat.seat_kernels import EMPTY, DocumentProcess
from hiertopics.families.lda import bursty_gibbs, bursty_kernels, gibbs, hyperparameters
from hiertopics.families.lda.gibbs_kernels import PaddedTopics
from hiertopics.numeric.pitman_yor import PitmanYor, log_stirling
from hiertopics.numeric.priors import GammaPrior

ROWS = [[(0, 7), (2, 1), (3, 5)], [(1, 4), (2, 3)], [(0, 2), (3, 6)]]
ROWS_CORPUS = corpus_of([[7, 0, 1, 5], [0, 4, 3, 0], [2, 0, 0, 6]])
BURSTY: dict[str, Any] = {"bursts": "document", "n_topics": 5, "burst_start": 3, "hyper_start": 3}
PLAIN = {"n_topics": 5, "hyper_start": 3}


def repeated(seed: int = 7, most: float = 0.8) -> Any:
    """Return documents that repeat words."""
    return corpus_of(np.random.default_rng(seed).poisson(most, (40, 30)))


def rows_of(z: Any) -> State:
    ends = np.cumsum([c for doc in ROWS for _, c in doc])[:-1]
    return tuple(tuple(k for k in part.tolist() if k != EMPTY) for part in np.split(z, ends))


def test_tables_come_and_go_as_the_plain_twin_says() -> None:
    """The same numbers draw the same tables, document by document, for some visits."""
    settings = settings_of(**{**BURSTY, "n_topics": 3})
    state, data = begin(bursty_gibbs.one, ROWS_CORPUS, settings)
    alpha = np.array([0.4, 0.9, 0.2])
    twin = Twin(ROWS, alpha, 0.3, 4, (0.3, 6.0))
    how = DocumentProcess(0.3, 6.0, log_stirling(range(1, 8), 0.3))
    ours, same = np.random.default_rng(8), np.random.default_rng(8)
    rows, seen = rows_of(state.z), set()
    for _ in range(12):
        counts = PaddedTopics(state.z, state.n_wk, state.n_k)
        bursty_kernels.seat_documents(data.cells, counts, alpha, 0.3, how, ours)
        for pair in [i for i, (_, _, c) in enumerate(twin.pairs) if c > 1]:
            after = twin.seat(rows, pair, same.random(3).tolist(), as_numbered)
            seen.add(len(after[pair]) - len(rows[pair]))
            rows = after
        assert rows_of(state.z) == rows
        assert bursty_gibbs.flaw(state, data, settings) is None
    assert seen == {-1, 0, 1}


@pytest.mark.parametrize("sweep", ["dense", "sparse"])
@pytest.mark.parametrize("prior", ["symmetric", "asymmetric"])
def test_a_corpus_without_repeats_ends_in_the_plain_draw(sweep: str, prior: str) -> None:
    corpus = corpus_of(np.random.default_rng(3).random((30, 25)) < 0.4)
    more = {"sweep": sweep, "prior": prior}
    found, plain = (fit(one, corpus, 12, **keys, **more) for one, keys in PAIRS)
    same_arrays(found, plain)


PAIRS: list[tuple[Any, dict[str, Any]]] = [(bursty_gibbs.one, BURSTY), (gibbs.one, PLAIN)]


@pytest.mark.parametrize("sweep", ["dense", "sparse"])
def test_a_large_b_ends_in_the_plain_draw(sweep: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "EVERY", 1000)
    found = fit(
        bursty_gibbs.one, repeated(), 12, **BURSTY, burst_process=PitmanYor(0.5, 1e15), sweep=sweep
    )
    same_arrays(found, fit(gibbs.one, repeated(), 12, **PLAIN, sweep=sweep))


def fit(backend: Any, corpus: Any, n_iterations: int, **keys: Any) -> Any:
    settings = settings_of(**keys)
    state, data = begin(backend, corpus, settings)
    return advance(backend, state, data, settings, n_iterations)


@pytest.mark.parametrize("sweep", ["dense", "sparse"])
def test_counts_are_tables_after_each_sweep(sweep: str) -> None:
    settings = settings_of(**BURSTY, sweep=sweep)
    corpus = repeated(most=2.0)
    state, data = begin(bursty_gibbs.one, corpus, settings)
    for iteration in range(1, 21):
        state = advance(bursty_gibbs.one, state, data, settings, 1, start=iteration - 1)
        assert bursty_gibbs.flaw(state, data, settings) is None
        assert (state.n_k.sum() == corpus.n_tokens) == (iteration <= 3)
    assert (state.burst_discount, state.burst_concentration) != (0.5, 100.0)
    shown = bursty_gibbs.one.summarise(state, data, settings, at(20))
    assert shown.tree.extra["bursts"].tolist() == list(state.process)
    np.testing.assert_allclose(shown.theta.sum(axis=1), 1.0)


def test_a_spoilt_draw_is_noticed() -> None:
    settings = settings_of(**BURSTY)
    state, data = begin(bursty_gibbs.one, repeated(), settings)
    state.n_k[0] += 1
    assert "count the tokens" in str(bursty_gibbs.flaw(state, data, settings))
    state.z[0] = EMPTY
    assert "first slots" in str(bursty_gibbs.flaw(state, data, settings))


# --- The joint distribution

LENGTHS = np.array([6, 4, 3, 1, 0])
N_WORDS, N_TOPICS = 3, 3
TOTAL = (0.1, 2.0)
NAMES = (
    *("log alpha", "log eta", "discount", "log concentration", "tables", "tables squared"),
    *("n_dk squared", "n_wk squared", "n_k squared", "c squared", "c t", "joint"),
)


def joint_test(n_replicates: int, sweep: str) -> Outcome:
    """Run the replicates of eight rounds."""
    bursty = {"bursts": "document", "burst_start": 0}
    settings = settings_of(n_topics=N_TOPICS, sweep=sweep, hyper_start=0, hold=(), **bursty)
    state, data = begin(bursty_gibbs.one, corpus_of([[n, 0, 0] for n in LENGTHS]), settings)
    repeats = Repeats(np.arange(1, 7), more_than(np.bincount(LENGTHS)), 0, 0.1)
    data = data._replace(repeats=repeats)
    story = Story(
        bursty_gibbs.backend,
        state,
        data,
        settings,
        names=NAMES,
        begin=lambda state, rng: draw_from_prior(state, data, rng),
        words=lambda state, rng: draw_words(state, data, rng),
        measure=lambda state: measure(state, data, settings),
    )
    return joint.joint_test(story, n_replicates=n_replicates, n_rounds=8)


def draw_from_prior(state: Any, data: Any, rng: np.random.Generator) -> None:
    """Draw everything from the model, alpha and concentration under narrower priors."""
    state.alpha = rng.uniform(*TOTAL) / N_TOPICS
    state.eta = max(rng.exponential(), hyperparameters.LOWEST_ETA)
    state.burst_discount, state.burst_concentration = seats.draw_process_from_prior(rng)
    sizes = laid_tables.seated(LENGTHS, state.process, rng)
    lay(state, data, laid_tables.with_topics(sizes, np.full(N_TOPICS, state.alpha), rng), rng)


def draw_words(state: Any, data: Any, rng: np.random.Generator) -> None:
    """Draw sizes of tables given their numbers, and all words given topics."""
    slots = (data.tokens.word, state.z, data.tokens.doc_ptr)
    lay(state, data, laid_tables.unlaid(*slots, state.burst_discount, rng), rng)


def lay(state: Any, data: Any, docs: laid_tables.Documents, rng: np.random.Generator) -> None:
    prior = np.full(N_WORDS, state.eta)
    laid_tables.lay(docs, prior, data.tokens.word, state.z, state.n_wk, rng)
    state.n_k[:] = state.n_wk.sum(axis=0)


def measure(state: Any, data: Any, settings: Any) -> list[float]:
    """Return the statistics in the order of their names."""
    doc = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    pair, there = doc * N_WORDS + data.tokens.word, state.z >= 0
    c, t = np.bincount(pair), np.bincount(pair, there)
    n_dk = np.zeros((len(LENGTHS), N_TOPICS))
    np.add.at(n_dk, (doc[there], state.z[there]), 1)
    return [
        float(np.log(state.alpha)),
        float(np.log(state.eta)),
        state.burst_discount,
        float(np.log(state.burst_concentration)),
        float(there.sum()),
        float((n_dk.sum(axis=1) ** 2).sum()),
        float((n_dk**2).sum()),
        float((state.n_wk**2).sum()),
        float((state.n_k**2).sum()),
        float((c**2).sum()),
        float((c * t).sum()),
        float(np.clip(bursty_gibbs.objective(state, data, settings, at(0)), -100.0, 100.0)),
    ]


@pytest.fixture
def narrow_priors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the package draw alpha and concentration under the narrower priors, too."""
    monkeypatch.setattr(hyperparameters, "LOWEST_TOTAL", TOTAL[0])
    monkeypatch.setattr(hyperparameters, "HIGHEST_TOTAL", TOTAL[1])
    monkeypatch.setattr(seats, "BURST_PRIOR", GammaPrior(1.0, 0.3))


@pytest.mark.slow
@pytest.mark.usefixtures("narrow_priors")
@pytest.mark.parametrize("sweep", [*by_night("dense"), "sparse"])
def test_prior_draws_stay_prior_draws(sweep: str) -> None:
    outcome = joint_test(800, sweep)
    assert outcome.largest_z < 4.0, outcome


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.usefixtures("narrow_priors")
@pytest.mark.parametrize("wrong", [{"discount": 0.0}, {"concentration": 1.0}])
def test_mutants_are_rejected(wrong: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: with one number of the process wrong, fewer replicates reject it."""
    right: Any = bursty_kernels.seat_documents

    def seat(*given: Any) -> None:
        *others, how, rng = given
        right(*others, how._replace(**wrong), rng)

    monkeypatch.setattr(bursty_kernels, "seat_documents", seat)
    outcome = joint_test(500, "dense")
    assert outcome.largest_z > 6.0, outcome
