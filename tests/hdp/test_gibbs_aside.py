"""Documents that hdp-gibbs puts aside to learn its bursts: in no count, then like all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hdp_cases import random_corpus
from stepping import advance, at, begin, corpus_of, settings_of

import hiertopics as ht
from hiertopics.contract.engine import Workers
from hiertopics.contract.states import to_arrays
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat.seat_kernels import EMPTY
from hiertopics.families.hdp import burst_learning, bursty_gibbs, gibbs_aside
from hiertopics.families.hdp.gibbs_aside import DRAWN, HELD, LEARNING, HeldTopics
from hiertopics.fitting import driver
from hiertopics.fitting.loop import Stop
from hiertopics.numeric.pitman_yor import PitmanYor, mean_tables, predictive
from hiertopics.numeric.pitman_yor_kernels import LARGEST

REPEATED = random_corpus(7, n_docs=60, n_words=30, largest=6)
SETTINGS: dict[str, Any] = {
    "bursts": "document",
    "truncation": 8,
    "hyper_start": 3,
    "burst_start": 4,
    "burst_aside": 5,
    "burn_in": 20,
}
JOIN = 12
"""Iterations after which documents join: 0.6 of burn_in."""


def started(**keys: Any) -> tuple[Any, Any, Any]:
    settings = settings_of(bursty_gibbs.one, **{**SETTINGS, **keys})
    state, data = begin(bursty_gibbs.one, REPEATED, settings)
    return state, data, settings


@pytest.mark.parametrize("how", ["sparse", "dense"])
@pytest.mark.parametrize("shards", [1, 3])
def test_documents_aside_have_no_table_until_they_join(how: str, shards: int) -> None:
    state, data, settings = started(sweep=how, shards=shards)
    tokens = data.doc_lengths
    before = bursty_gibbs.tables_of_documents(state)
    aside = gibbs_aside.documents_aside(before, data)
    assert len(aside) == 5 and (tokens[aside] >= burst_learning.SHORTEST).all()
    for iteration in range(1, 21):
        state = advance(bursty_gibbs.one, state, data, settings, 1, start=iteration - 1)
        tables = bursty_gibbs.tables_of_documents(state)
        joined = iteration > JOIN
        assert (tables[aside] > 0).all() if joined else (tables[aside] == 0).all()
        assert state.burst_stage == (HELD if joined else LEARNING)
        assert bursty_gibbs.flaw(state, data, settings) is None
        assert np.isfinite(bursty_gibbs.objective(state, data, settings, at(0)))


def test_the_process_is_learned_at_times_and_then_held() -> None:
    state, data, settings = started(burst_process=PitmanYor(0.5, 77.0))
    found = []
    for iteration in range(1, 31):
        state = advance(bursty_gibbs.one, state, data, settings, 1, start=iteration - 1)
        found.append(state.process)
    assert set(found[:4]) == {PitmanYor(0.5, 77.0)}
    assert len(set(found[4:JOIN])) == 1 and found[4] != found[0]
    assert len(set(found[JOIN:])) == 1


@pytest.mark.parametrize(
    "keys",
    [{"burst_aside": 0}, {"burn_in": 6}, {"burst_start": 12}],
    ids=["not wanted", "too short a burn-in", "tables come too late"],
)
def test_without_documents_aside_the_process_is_drawn(keys: dict[str, Any]) -> None:
    state, data, settings = started(**keys)
    assert state.burst_stage == DRAWN
    assert (bursty_gibbs.tables_of_documents(state) > 0).all()
    first = advance(bursty_gibbs.one, state, data, settings, 15).process
    state, data, settings = started(**keys)
    second = advance(bursty_gibbs.one, state, data, settings, 25).process
    assert first != second


def test_a_corpus_without_repeats_puts_nothing_aside() -> None:
    corpus = random_corpus(5, n_docs=40, n_words=30)
    settings = settings_of(bursty_gibbs.one, **SETTINGS)
    state, data = begin(bursty_gibbs.one, corpus, settings)
    assert bursty_gibbs.tables_of_documents(state).sum() == corpus.n_tokens


def test_documents_too_short_to_be_parted_are_not_put_aside() -> None:
    """Titles of six tokens whose words repeat: discount and concentration are drawn."""
    rows = np.zeros((40, 12), int)
    rows[np.arange(40), np.arange(40) % 12] = 4
    rows[np.arange(40), (np.arange(40) + 5) % 12] = 2
    settings = settings_of(bursty_gibbs.one, **SETTINGS)
    state, data = begin(bursty_gibbs.one, corpus_of(rows.tolist()), settings)
    assert (data.doc_lengths < burst_learning.SHORTEST).all()
    assert state.burst_stage == DRAWN
    state = advance(bursty_gibbs.one, state, data, settings, 15)
    assert (bursty_gibbs.tables_of_documents(state) > 0).all()


def two_topics(n_docs: int, process: PitmanYor, seed: int) -> tuple[Corpus, np.ndarray]:
    """Return bursty documents of two known topics of 60 words, and these topics [2, 60]."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(60, 0.3), 2)
    rows = []
    for _ in range(n_docs):
        mixture = rng.dirichlet([1.0, 1.0]) @ phi
        sizes: list[int] = []
        words: list[int] = []
        for n in range(80):
            opens = process.concentration + process.discount * len(sizes)
            if rng.random() * (process.concentration + n) < opens:
                sizes.append(1)
                words.append(int(rng.choice(60, p=mixture)))
            else:
                weights = np.array(sizes) - process.discount
                sizes[int(rng.choice(len(sizes), p=weights / weights.sum()))] += 1
        rows.append(np.bincount(np.repeat(words, sizes), minlength=60).tolist())
    return corpus_of(rows), phi


def given_of(phi: np.ndarray, process: PitmanYor) -> HeldTopics:
    """Return topics that are as good as known."""
    counts = np.round(1e8 * phi.T).astype(np.int32)
    n_k = counts.sum(axis=0, dtype=np.float64) + 60e-9
    return HeldTopics(counts, n_k, np.full(60, 1e-9), np.ones(2), process)


def documents_of(data: Any) -> tuple[Any, Any]:
    """Return the numbers of all documents, and words and tokens of each."""
    docs = np.arange(data.n_docs)
    return docs, [gibbs_aside.pairs_of(data, doc) for doc in docs.tolist()]


def learned(given: HeldTopics, data: Any) -> PitmanYor:
    """Return what all documents ask for under given topics."""
    return gibbs_aside.learn(given, *documents_of(data), at(0))


def test_a_planted_process_is_learned() -> None:
    """Under known topics: what is found predicts hardly worse than the truth."""
    truth = PitmanYor(0.4, 8.0)
    corpus, phi = two_topics(150, truth, seed=3)
    settings = settings_of(bursty_gibbs.one, **{**SETTINGS, "truncation": 2})
    data = bursty_gibbs.prepare(corpus, settings)
    found = learned(given_of(phi, PitmanYor(0.5, 100.0)), data)
    assert 0.2 <= found.discount <= 0.6
    assert 4.0 < found.concentration < 16.0
    plain, _ = two_topics(150, PitmanYor(0.0, 1e9), seed=4)
    data = bursty_gibbs.prepare(plain, settings)
    _, phi = two_topics(0, truth, seed=4)
    none = learned(given_of(phi, PitmanYor(0.5, 100.0)), data)
    assert none.concentration > 300.0 or none.discount > 0.9


def test_documents_join_with_the_topics_that_place_them() -> None:
    """Words of one topic alone bring tables of that topic; each token has one, up to a bound."""
    phi = np.zeros((2, 60))
    phi[0, :30], phi[1, 30:] = 1 / 30, 1 / 30
    rows = np.zeros((2, 60), int)
    rows[0, :10], rows[1, 40:44] = 3, (1, 2, 3, LARGEST + 7)
    settings = settings_of(bursty_gibbs.one, **{**SETTINGS, "truncation": 2})
    data = bursty_gibbs.prepare(corpus_of(rows.tolist()), settings)
    given = given_of(phi, PitmanYor(0.5, 10.0))
    first, second = gibbs_aside.seats_for(given, *documents_of(data), at(0))
    assert first.topics.tolist() == 30 * [0]
    assert first.words.tolist() == np.repeat(np.arange(10), 3).tolist()
    assert (second.topics[second.topics != EMPTY] == 1).all()
    assert (second.topics == EMPTY).sum() == 7
    assert (second.words[second.topics == EMPTY] == 43).all()


def test_topics_of_a_joining_document_are_drawn_by_their_chances() -> None:
    phi = np.tile(np.full(60, 1 / 60), (2, 1))
    rows = np.ones((400, 60), int)
    settings = settings_of(bursty_gibbs.one, **{**SETTINGS, "truncation": 2})
    data = bursty_gibbs.prepare(corpus_of(rows.tolist()), settings)
    given = given_of(phi, PitmanYor(0.5, 10.0))._replace(doc=np.array([3.0, 1.0]))
    joining = gibbs_aside.seats_for(given, *documents_of(data), at(0))
    share = np.mean([(each.topics == 0).mean() for each in joining])
    assert share == pytest.approx(0.75, abs=4 * np.sqrt(0.75 * 0.25 / 24000))


def test_the_likelihood_is_that_of_the_predictive() -> None:
    """Against (5) with one document whose tables are known: each seen word was seen once."""
    part = burst_learning.AsideDocument(np.arange(4, dtype=np.int32), np.array([1, 1, 0, 1]),
                                 np.array([2, 0, 1, 0]))  # fmt: skip
    chances = np.array([0.4, 0.3, 0.2, 0.1])
    means = mean_tables(np.array([1]), 0.3)
    found = burst_learning.likelihood([part], [chances])(means)(7.0)
    process = PitmanYor(0.3, 7.0)
    again = predictive(process, 0.4, 1.0, 1.0, 3.0, 3.0)
    new = predictive(process, 0.2, 0.0, 0.0, 3.0, 3.0)
    assert found == pytest.approx(float(2 * np.log(again) + np.log(new)))


def test_workers_change_no_bit() -> None:
    found = []
    for n_workers in (1, 2):
        with Workers(n_workers) as workers:
            settings = settings_of(bursty_gibbs.one, **SETTINGS, shards=3)
            state, data = begin(bursty_gibbs.one, REPEATED, settings, workers=workers)
            state = advance(bursty_gibbs.one, state, data, settings, 16, workers=workers)
            found.append([array.tobytes() for array in to_arrays(state).values()])
    assert found[0] == found[1]


def test_a_spoilt_draw_with_documents_aside_is_noticed() -> None:
    state, data, settings = started()
    state = advance(bursty_gibbs.one, state, data, settings, 3)
    state.burst_stage = HELD
    assert "first slots" in str(bursty_gibbs.flaw(state, data, settings))


def test_a_stage_that_no_document_bears_out_is_noticed() -> None:
    state, data, settings = started(burst_aside=0)
    state.burst_stage = LEARNING
    assert "burst_stage" in str(bursty_gibbs.flaw(state, data, settings))


def test_draws_from_before_there_were_documents_aside_go_on() -> None:
    state, _, settings = started(burst_aside=0)
    arrays = to_arrays(state)
    del arrays["burst_stage"]
    assert bursty_gibbs.migrate_state(arrays, settings)["burst_stage"] == DRAWN


def lda_c(path: Path, corpus: Corpus) -> Path:
    rows = [[f"{w}:{n}" for w, n in enumerate(row) if n] for row in corpus.counts.toarray()]
    path.write_text("".join(f"{' '.join([str(len(row)), *row])}\n" for row in rows))
    return path


def test_a_run_that_stops_at_any_stage_ends_in_the_same_bytes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    corpus = lda_c(tmp_path / "repeated.ldac", REPEATED)
    keys = {
        "model.bursts": "document",
        "model.truncation": 8,
        "inference.hyper_start": 3,
        "inference.burst_start": 4,
        "inference.burst_aside": 5,
        "inference.burn_in": 20,
    }

    def fit(run: Path, **more: Any) -> None:
        how: dict[str, Any] = {"backend": "hdp-gibbs", "overrides": keys, "iterations": 24}
        driver.fit(corpus, run=run, **how, **more)

    fit(tmp_path / "whole")
    for stop in (2, 8, 15):
        run = tmp_path / f"stopped{stop}"

        def until(event: Any, stop: int = stop) -> Any:
            return Stop("test", False) if event.iteration == stop else None

        capfd.readouterr()
        fit(run, callbacks=[until], quiet=False)
        notes = capfd.readouterr().err
        assert ("5 documents were still put aside" in notes) == (stop <= JOIN)
        fit(run)
        for name in ("model.npz", "theta.npz"):
            assert (run / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), stop
    assert ht.evaluate(tmp_path / "whole")["perplexity"] < REPEATED.n_words
