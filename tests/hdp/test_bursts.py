"""Bursty documents: tables in place of tokens in the zero-order HDP (theory/bursts 6, 7)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bursts_twin import MISTAKES, Twin
from hdp_cases import random_corpus
from stepping import advance, at, begin, corpus_of, settings_of, twins

from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Sizes
from hiertopics.contract.states import to_arrays
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat import burst_kernels
from hiertopics.families.flat.burst_kernels import TableRule
from hiertopics.families.flat.kernels import ExpectedCounts, PseudoCounts
from hiertopics.families.flat.layout import lay_out
from hiertopics.families.hdp import burst_learning, bursty, few, few_kernels, variational as hdp
from hiertopics.families.hdp.simulate import simulate
from hiertopics.numeric.pitman_yor import PitmanYor, marginal, mean_tables, search
from hiertopics.numeric.streams import new_key

WHOLE = {"responsibilities": "all"}
FEW = {"responsibilities": "few"}
KINDS = [
    (backend, kept) for backend in (hdp.bursty_cvb0, hdp.bursty_pcvb0) for kept in (WHOLE, FEW)
]

HELD = [[(0, 4), (1, 1), (2, 2)]]
PHI = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]).T.copy()
ALPHA = np.array([0.7, 0.4])
TRAINED = [[(0, 3), (1, 1)], [(1, 2), (2, 1)]]
FIRST = np.array([0.9, 0.2, 0.3, 0.8])


def fold(rule: str, n_sweeps: int) -> Twin:
    resp = PHI[[word for word, _ in HELD[0]]] * ALPHA
    resp /= resp.sum(axis=1, keepdims=True)
    twin = Twin(HELD, resp, ALPHA, (0.5, 1.5), MISTAKES[rule], phi=PHI)
    for _ in range(n_sweeps):
        twin.sweep()
    return twin


def train(rule: str, n_sweeps: int, concentration: float = 1.5) -> Twin:
    resp = np.stack([FIRST, 1 - FIRST], axis=1)
    process = (0.4, concentration)
    twin = Twin(TRAINED, resp, ALPHA, process, MISTAKES[rule], eta=0.5, n_words=3)
    for _ in range(n_sweeps):
        twin.sweep()
    return twin


@pytest.mark.parametrize("kernel", twins(burst_kernels.fold_in))
@pytest.mark.parametrize("n_sweeps", [1, 400])
def test_a_fold_in_is_that_of_the_definition(kernel: Any, n_sweeps: int) -> None:
    words, counts = np.arange(3, dtype=np.int32), np.array([4.0, 1.0, 2.0])
    seating = TableRule(mean_tables(counts, 0.5), 1.5)
    resp, tables = kernel(words, counts, PHI, ALPHA, seating, n_sweeps, 1e-13, 0)
    twin = fold("right", n_sweeps)
    np.testing.assert_allclose(resp, twin.resp, atol=2e-6)
    np.testing.assert_allclose(tables, twin.tables, atol=2e-6)
    wanted = {1: [2.843171, 1, 1.662740], 400: [2.676036, 1, 1.623165]}[n_sweeps]
    np.testing.assert_allclose(tables, wanted, atol=2e-6)


def test_a_fold_in_predicts_the_next_word() -> None:
    chances = fold("right", 400).predictive(0, 3)
    np.testing.assert_allclose(chances, [0.528390, 0.205280, 0.266330], atol=1e-6)
    assert chances.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("mistake", "tables"),
    [
        ("a T forgotten", [1.915218, 1.421364]),
        ("b not used", [2.517103, 1.583493]),
        ("no discount in S", [2.311971, 1.432322]),
        ("other words' tables alone", [2.434026]),
        ("the whole pair out", [2.244547]),
        ("nothing out", [2.725474]),
        ("not divided", [3.782423]),
    ],
)
def test_each_mistake_of_a_fold_in_ends_elsewhere(mistake: str, tables: list[float]) -> None:
    found = fold(mistake, 400).tables[[0, 2]][: len(tables)]
    np.testing.assert_allclose(found, tables, atol=2e-6)


@pytest.mark.parametrize(
    ("mistake", "chance"), [("tokens in n_dk", 0.537463), ("t stays c", 0.508446)]
)
def test_each_mistake_of_counts_predicts_otherwise(mistake: str, chance: float) -> None:
    assert fold(mistake, 400).predictive(0, 3)[0] == pytest.approx(chance, abs=2e-6)


@pytest.mark.parametrize(
    ("mistake", "tables"),
    [
        ("tokens in n_wk", 1.901047),
        ("a T forgotten", 1.470966),
        ("b not used", 1.500920),
        ("no discount in S", 1.493863),
        ("other words' tables alone", 1.586946),
    ],
)
def test_each_mistake_of_a_sweep_ends_elsewhere(mistake: str, tables: float) -> None:
    assert train(mistake, 400).tables[0] == pytest.approx(tables, abs=2e-5)


def counted(resp: Any, tables: Any, cells: Any) -> ExpectedCounts:
    n_dk, n_wk = np.zeros((2, 2)), np.zeros((3, 2))
    for pair, (doc, word) in enumerate(zip([0, 0, 1, 1], cells.word, strict=True)):
        n_dk[doc] += tables[pair] * resp[pair]
        n_wk[word] += tables[pair] * resp[pair]
    return ExpectedCounts(resp, n_dk, n_wk, np.zeros((2, 0)), np.zeros((3, 0)))


def trained(
    n_sweeps: int, concentration: float, *, kernel: Any = None
) -> tuple[Any, Any, ExpectedCounts]:
    """Return q(z = 1), the tables of pairs, and the counts after sweeps of the compiled kernel."""
    cells = lay_out(corpus_of([[3, 1, 0], [0, 2, 1]]), 1, np.float64).cells
    resp, tables = np.stack([FIRST, 1 - FIRST], axis=1), cells.tokens.copy()
    moved = counted(resp, tables, cells)
    n_k = moved.n_dk.sum(axis=0)
    prior = PseudoCounts(ALPHA, np.full(3, 0.5), 1.5)
    seating = TableRule(mean_tables([3, 2], 0.4), concentration)
    sweep = kernel or burst_kernels.sweep_block
    for _ in range(n_sweeps):
        assert sweep(cells, 0, 0, moved, tables, n_k, prior, seating) == -1
        np.testing.assert_allclose(moved.n_dk.sum(axis=1), [tables[:2].sum(), tables[2:].sum()])
    np.testing.assert_allclose(n_k, moved.n_wk.sum(axis=0))
    return resp[:, 0], tables, moved


SWEPT = [*twins(burst_kernels.sweep_block), burst_kernels.sweep_block_in_fixed_order]


@pytest.mark.parametrize("kernel", SWEPT)
def test_a_sweep_is_that_of_the_definition(kernel: Any) -> None:
    q, tables, _ = trained(1, 1.5, kernel=kernel)
    np.testing.assert_allclose(tables, [2.006452, 1, 1.593740, 1], atol=2e-6)
    np.testing.assert_allclose(q, [0.841324, 0.589140, 0.433780, 0.428136], atol=2e-6)


def test_sweeps_end_where_the_definition_does() -> None:
    q, tables, _ = trained(400, 1.5)
    np.testing.assert_allclose(tables, [1.658815, 1, 1.556987, 1], atol=2e-6)
    np.testing.assert_allclose(q, [0.613118, 0.634750, 0.619736, 0.558183], atol=2e-6)
    np.testing.assert_allclose(train("right", 400).tables, tables, atol=2e-6)
    chances = train("right", 400).predictive(0, 3)
    np.testing.assert_allclose(chances, [0.575707, 0.311877, 0.112417], atol=1e-6)


def test_without_bursts_sweeps_end_where_the_plain_ones_do() -> None:
    q, tables, _ = trained(400, 1e9)
    np.testing.assert_allclose(tables, [3, 1, 2, 1], atol=1e-6)
    np.testing.assert_allclose(q, [0.907213, 0.699687, 0.332933, 0.324830], atol=2e-6)


def test_a_few_entries_are_swept_alike() -> None:
    """Two topics, both above the grain: nothing is left to chance."""
    cells = lay_out(corpus_of([[3, 1, 0], [0, 2, 1]]), 1).cells
    share = np.zeros((4, 16), np.float32)
    share[:, 0], share[:, 1] = FIRST, 1 - FIRST
    topic = np.zeros((4, 16), np.uint16)
    topic[:, 1] = 1
    tables = cells.tokens.copy()
    whole = counted(share[:, :2].copy(), tables, cells)
    n_dk, n_wk = whole.n_dk.astype(np.float32), whole.n_wk.astype(np.float32)
    empty = (np.zeros((2, 0), np.float32), np.zeros((3, 0), np.float32))
    moved = few_kernels.EntryCounts(topic, share, n_dk, n_wk, *empty)
    prior = PseudoCounts(ALPHA.astype(np.float32), np.full(3, 0.5, np.float32), 1.5)
    noise = np.full(few.N_NOISE + 16, 0.5, np.float32)
    thinning = few_kernels.Thinning(1e-9, noise, new_key(np.random.default_rng(0)))
    seating = TableRule(mean_tables([3, 2], 0.4), 1.5)
    n_k = whole.n_dk.sum(axis=0)
    for _ in range(200):
        found = few_kernels.sweep_block(cells, 0, 0, moved, n_k, prior, thinning, tables, seating)
        assert found == -1
    np.testing.assert_allclose(tables, [1.658815, 1, 1.556987, 1], atol=1e-4)


TWICE = [[(0, 3), (1, 5), (2, 4)]]
TWICE_RESP = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])


def test_later_pairs_see_the_tables_that_earlier_ones_have_grown_to() -> None:
    """A document of three words that stand there several times, visited once, topics of plenty."""
    cells = lay_out(corpus_of([[3, 5, 4]]), 1, np.float64).cells
    resp, tables = TWICE_RESP.copy(), cells.tokens.copy()
    n_dk = (tables @ resp)[None]
    moved = ExpectedCounts(resp, n_dk, tables[:, None] * resp, np.zeros((1, 0)), np.zeros((3, 0)))
    prior = PseudoCounts(ALPHA, np.full(3, 0.5), 1.5)
    seating = TableRule(mean_tables([3, 4, 5], 0.4), 1.5)
    n_k = n_dk.sum(axis=0)
    assert burst_kernels.sweep_block(cells, 0, 0, moved, tables, n_k, prior, seating) == -1
    process = (0.4, 1.5)
    twin = Twin(TWICE, TWICE_RESP, ALPHA, process, MISTAKES["right"], eta=0.5, n_words=3)
    twin.sweep()
    np.testing.assert_allclose(tables, twin.tables, atol=2e-6)
    np.testing.assert_allclose(resp, twin.resp, atol=2e-6)


def test_a_few_entries_keep_the_counts_of_their_tables() -> None:
    """After two sweeps the counts of the topics are the tables that the pairs have of them."""
    cells = lay_out(corpus_of([[3, 5, 4]]), 1).cells
    share, topic = np.zeros((3, 16), np.float32), np.zeros((3, 16), np.uint16)
    share[:, :2], topic[:, 1] = TWICE_RESP, 1
    tables = cells.tokens.copy()
    n_dk = (tables @ TWICE_RESP)[None].astype(np.float32)
    n_wk = (tables[:, None] * TWICE_RESP).astype(np.float32)
    empty = (np.zeros((1, 0), np.float32), np.zeros((3, 0), np.float32))
    moved = few_kernels.EntryCounts(topic, share, n_dk, n_wk, *empty)
    prior = PseudoCounts(ALPHA.astype(np.float32), np.full(3, 0.5, np.float32), 1.5)
    noise = np.full(few.N_NOISE + 16, 0.5, np.float32)
    thinning = few_kernels.Thinning(1e-9, noise, new_key(np.random.default_rng(0)))
    seating = TableRule(mean_tables([3, 4, 5], 0.4), 1.5)
    n_k = n_dk.sum(axis=0, dtype=np.float64)
    for _ in range(2):
        found = few_kernels.sweep_block(cells, 0, 0, moved, n_k, prior, thinning, tables, seating)
        assert found == -1
    wanted = np.zeros((3, 2))
    for pair in range(3):
        np.add.at(wanted[pair], topic[pair], tables[pair] * share[pair])
    np.testing.assert_allclose(n_wk, wanted, atol=1e-5)
    np.testing.assert_allclose(n_dk[0], wanted.sum(axis=0), atol=1e-5)


@pytest.mark.parametrize(
    ("discount", "at_ten", "zero", "mode"),
    [(0.0, 1.300631, 22.573251, 23.996426), (0.5, -0.164066, 7.642769, 9.049940)],
)
def test_b_is_the_mode_given_tables(
    discount: float, at_ten: float, zero: float, mode: float
) -> None:
    tables, lengths = np.array([12.0, 30.0, 7.0]), np.array([20.0, 55.0, 7.0])
    slope = burst_learning.slope_of
    assert slope(10.0, tables, lengths, discount) == pytest.approx(at_ten, abs=1e-6)
    assert slope(zero, tables, lengths, discount) == pytest.approx(0.0, abs=1e-6)
    found = burst_learning.mode_of_concentration(tables, lengths, discount)
    assert found == pytest.approx(mode, rel=1e-6)


def test_b_stays_within_its_bounds() -> None:
    one, many = np.ones(5), np.full(5, 40.0)
    assert burst_learning.mode_of_concentration(one, many, 0.5) < 0.1
    least = burst_learning.mode_of_concentration(np.ones(400), np.full(400, 4000.0), 0.0)
    assert burst_learning.LOWEST <= least < 0.01
    found = burst_learning.mode_of_concentration(np.full(4000, 900.0), np.full(4000, 900.0), 0.5)
    assert found <= burst_learning.HIGHEST


@pytest.mark.parametrize("whole", [1, 2, 5])
@pytest.mark.parametrize("rest", [0.0, 0.25, 0.9])
def test_chances_of_being_seen_have_real_exponents(whole: int, rest: float) -> None:
    row = np.array([0.0, 1e-9, 1e-4, 0.03, 1 / 16, 0.07, 0.4, 0.999, 1.0])
    once = np.empty_like(row)
    burst_kernels.at_least_once(row, whole, rest, once)
    with np.errstate(divide="ignore"):
        wanted = -np.expm1((whole + rest) * np.log1p(-row))
    np.testing.assert_allclose(once, wanted, rtol=2e-7, atol=1e-15)


def fit(backend: Any, corpus: Corpus, n_iterations: int, **keys: Any) -> tuple[Any, Any]:
    settings = settings_of(backend, **{"truncation": 8, "hyper_start": 3, **keys})
    chosen = backend.choose_variant(corpus, settings)
    state, data = begin(chosen, corpus, settings)
    return advance(chosen, state, data, settings, n_iterations), data


SHORT: dict[str, Any] = {
    "bursts": "document",
    "iterations": 20,
    "burst_start": 4,
    "burst_aside": 5,
    "hyper_every": 4,
}


def short(backend: Any, **keys: Any) -> dict[str, Any]:
    """Return the settings of a short fit in which every stage comes."""
    found = {**SHORT, **keys}
    if backend is hdp.bursty_pcvb0:
        del found["hyper_every"]
    return found


REPEATED = random_corpus(7, n_docs=60, n_words=30, largest=6)


@pytest.mark.parametrize(("backend", "kept"), KINDS)
def test_a_corpus_without_repeats_ends_in_the_plain_fit(backend: Any, kept: dict[str, Any]) -> None:
    corpus = random_corpus(5, n_docs=40, n_words=30)
    plain_backend = hdp.pcvb0 if backend is hdp.bursty_pcvb0 else hdp.cvb0
    keys = short(backend, **kept)
    found, _ = fit(backend, corpus, 20, **keys)
    settings = settings_of(plain_backend, truncation=8, hyper_start=3, **keys)
    of_size = {
        ("all", True): hdp.all_pcvb0,
        ("few", True): hdp.few_pcvb0,
        ("all", False): hdp.all_cvb0,
        ("few", False): hdp.few_cvb0,
    }[(kept["responsibilities"], plain_backend is hdp.pcvb0)]
    state, data = begin(of_size, corpus, settings)
    plain = to_arrays(advance(of_size, state, data, settings, 20))
    arrays = to_arrays(found)
    assert {name: array.tobytes() for name, array in plain.items()} == {
        name: arrays[name].tobytes() for name in plain
    }


@pytest.mark.parametrize("kept", [WHOLE, FEW])
def test_a_large_b_ends_in_the_plain_fit(
    kept: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(burst_learning, "is_due", lambda iteration, plan: False)
    keys = {**SHORT, **kept, "burst_aside": 0, "burst_process": PitmanYor(0.5, 1e15)}
    found, _ = fit(hdp.bursty_cvb0, REPEATED, 12, **keys)
    assert found.burst_stage == bursty.LEARNING
    plain = hdp.few_cvb0 if kept is FEW else hdp.all_cvb0
    settings = settings_of(hdp.cvb0, truncation=8, hyper_start=3, hyper_every=4, **kept)
    state, data = begin(plain, REPEATED, settings)
    state = advance(plain, state, data, settings, 12)
    np.testing.assert_allclose(found.n_wk, state.n_wk, rtol=1e-6, atol=1e-5)
    assert found.alpha == pytest.approx(state.alpha, rel=1e-6)


@pytest.mark.parametrize(("backend", "kept"), KINDS)
def test_counts_are_tables_after_each_sweep(backend: Any, kept: dict[str, Any]) -> None:
    settings = settings_of(backend, truncation=8, hyper_start=3, **short(backend, **kept))
    chosen = backend.choose_variant(REPEATED, settings)
    state, data = begin(chosen, REPEATED, settings)
    aside = []
    for iteration in range(1, 21):
        state = advance(chosen, state, data, settings, 1, start=iteration - 1)
        tables = bursty.tables_of_documents(state)
        aside.append(int((tables == 0).sum()))
        np.testing.assert_allclose(state.n_dk.sum(axis=1), tables, rtol=1e-4)
        assert (tables <= data.doc_lengths * (1 + 1e-6)).all()
        np.testing.assert_allclose(state.n_k.sum(), tables.sum(), rtol=1e-4)
    assert aside == [5] * 12 + [0] * 8
    assert tables.sum() < 0.9 * data.doc_lengths.sum()
    assert state.burst_concentration != 100.0


@pytest.mark.parametrize(("backend", "kept"), KINDS)
def test_workers_change_no_bit(backend: Any, kept: dict[str, Any]) -> None:
    keys = {"truncation": 8, "hyper_start": 3, "shards": 3, **short(backend, **kept)}
    found = []
    for n_workers in (1, 2):
        with Workers(n_workers) as workers:
            settings = settings_of(backend, **keys)
            chosen = backend.choose_variant(REPEATED, settings)
            state, data = begin(chosen, REPEATED, settings, workers=workers)
            state = advance(chosen, state, data, settings, 16, workers=workers)
            found.append([array.tobytes() for array in to_arrays(state).values()])
    assert found[0] == found[1]


@pytest.mark.slow
def test_b_of_simulated_documents_is_found_again() -> None:
    """200 documents of 100 tokens, whose mixtures are known, under a = .5, b = 50."""
    keys = {
        "truncation": 6,
        "eta": 0.05,
        "bursts": "document",
        "burst_process": PitmanYor(0.5, 50.0),
    }
    settings = settings_of(hdp.bursty_cvb0, **keys)
    corpus, truth = simulate(settings, Sizes(200, 300, 100), at(0))
    counts, mixtures = corpus.counts, truth["theta"] @ truth["phi"]
    doc = np.repeat(np.arange(200), np.diff(counts.indptr))
    found = marginal(counts.indptr, counts.data, mixtures[doc, counts.indices], 0.5)
    assert counts.nnz < 0.9 * counts.sum()
    best = search(lambda discount: lambda b: float(found.log_likelihoods(b).sum()), (0.5,))
    assert best.process.concentration == pytest.approx(50.0, rel=0.2)


def test_documents_aside_are_split_once() -> None:
    data = lay_out(REPEATED, 1)
    own = slice(data.cells.cuts[3, 0], data.cells.cuts[3, -1])
    words, counts = data.cells.word[own], data.cells.tokens[own].astype(np.int64)
    first, again = (burst_learning.parted(words, counts, 3, at(n)) for n in (1, 9))
    np.testing.assert_array_equal(first.seen, again.seen)
    np.testing.assert_array_equal(first.seen + first.kept_back, counts)
    assert first.kept_back.sum() == round(0.2 * counts.sum())
    docs = burst_learning.choose_aside(data, 5, at(1))
    assert (data.doc_lengths[docs] >= burst_learning.SHORTEST).all()
