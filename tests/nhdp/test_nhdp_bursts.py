"""Bursty documents on a tree: tables in place of tokens (theory/bursts 8)."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from bursty_naive import MISTAKES, Twin
from naive_nhdp import DOCUMENT, PHI, T5, expected_stops, expected_tables
from nhdp_cases import mixing_of, n_di_of, random_mixing, random_resp, resp_of, state_of, tiny_tree
from stepping import advance, at, begin, corpus_of, settings_of
from test_nhdp_sweep import ETA, naive_of, own_nodes, some_corpus

from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Sizes
from hiertopics.contract.states import to_arrays
from hiertopics.families.flat.burst_kernels import TableRule
from hiertopics.families.flat.bursts import BurstPlan
from hiertopics.families.flat.layout import Data, counts_of, lay_out
from hiertopics.families.hdp import burst_learning
from hiertopics.families.hdp.bursty import tables_of_documents, tables_of_pairs
from hiertopics.families.nhdp import (
    document_kernels,
    documents,
    first_topics,
    flat_starts,
    learning,
    variational as nhdp,
)
from hiertopics.families.nhdp.layout import BurstyLocal
from hiertopics.families.nhdp.prediction import NOT_SEATED, fold_in
from hiertopics.families.nhdp.simulate import simulate
from hiertopics.families.nhdp.state import BurstyState, recount, sweep
from hiertopics.families.nhdp.sweep_kernels import share_elsewhere
from hiertopics.numeric.pitman_yor import PitmanYor, mean_tables
from hiertopics.numeric.pitman_yor_kernels import seat

PROCESS = (0.4, 1.5)
N = np.array([2.1, 1.2, 0.4, 2.8, 1.0])
R = np.array([0.3, 0.2, 0.1, 0.25, 0.15])


def planned(data: Data, process: tuple[float, float] = PROCESS) -> Data:
    """Return data of bursty documents, whose tables are refitted at once."""
    means = mean_tables(data.cells.tokens, process[0])
    return data._replace(bursts=BurstPlan(means, process[1], 0, 0, 0, 0.01, None))


def bursty_state(mixing: Any, data: Data, r: Any, least: float = 0.0) -> BurstyState:
    """Return the state of these responsibilities and a table for each token."""
    plain = state_of(mixing, data._replace(bursts=None), r, least=least)

    def seated(piece: Any, local: Any, _: None) -> Any:
        tables = piece.cells.tokens.astype(r.dtype)
        return BurstyLocal(**local._asdict(), pair_tables=tables), None

    plain.local.step(seated, None)
    assert data.bursts is not None
    return BurstyState(**vars(plain), burst_concentration=data.bursts.concentration)


def test_the_chance_of_a_word_needs_no_divisor() -> None:
    """T6."""
    left = T5.without_token(N, T5.at_or_below(N), R)
    theta = T5.theta(*left)
    assert theta == pytest.approx([0.270588, 0.183842, 0.085966, 0.341757, 0.117847], abs=1e-6)
    assert theta @ PHI[:, 0] == pytest.approx(0.408150, abs=1e-6)
    assert T5.theta(N, T5.at_or_below(N)) @ PHI[:, 0] == pytest.approx(0.411321, abs=1e-6)


@pytest.mark.parametrize(("n_nodes", "least"), [(2, 0.0), (5, 0.0), (30, 0.0), (40, 1.0)])
def test_a_sweep_equals_its_slow_twin(n_nodes: int, least: float) -> None:
    rng = np.random.default_rng(n_nodes)
    mixing, data = random_mixing(rng, n_nodes), planned(some_corpus(n_nodes))
    r: Any = random_resp(rng, len(data.cells.word), n_nodes)
    state = bursty_state(mixing, data, r, least)
    own = own_nodes(mixing, data, r, least) if least else None
    r = resp_of(state, data)
    twin = Twin(naive_of(mixing), data, r, PROCESS, MISTAKES["right"], eta=ETA, own=own)
    for _ in range(3):
        sweep(state, data, ETA)
        twin.sweep()
        np.testing.assert_allclose(tables_of_pairs(state), twin.tables, atol=2e-5)
        np.testing.assert_allclose(resp_of(state, data), twin.r, atol=2e-5)
    moved = [table.copy() for table in (n_di_of(state), state.n_wk, state.n_k)]
    recount(state, data)
    for before, after in zip(moved, (n_di_of(state), state.n_wk, state.n_k), strict=True):
        np.testing.assert_allclose(before, after, atol=1e-10)
    assert twin.tables.sum() < 0.8 * data.cells.tokens.sum()


@pytest.mark.parametrize("mistake", [name for name in MISTAKES if name != "right"])
def test_each_mistake_of_a_sweep_ends_elsewhere(mistake: str) -> None:
    """By far more than the twin of the kernel is allowed to differ."""
    rng = np.random.default_rng(40)
    mixing, data = random_mixing(rng, 40), some_corpus(40, n_docs=4)
    r: Any = random_resp(rng, len(data.cells.word), 40)
    own = own_nodes(mixing, data, r, 1.0)
    found = []
    for rule in (MISTAKES["right"], MISTAKES[mistake]):
        twin = Twin(naive_of(mixing), data, r, PROCESS, rule, eta=ETA, own=own)
        for _ in range(2):
            twin.sweep()
        found.append(twin.tables)
    assert np.abs(found[0] - found[1]).max() > 5e-3


def test_what_a_document_has_elsewhere_is_what_theta_lacks() -> None:
    rng = np.random.default_rng(3)
    mixing, data = random_mixing(rng, 40), some_corpus(3)
    r = random_resp(rng, len(data.cells.word), 40)
    state, own = state_of(mixing, data, r, least=1.0), own_nodes(mixing, data, r, 1.0)
    rates, local = mixing.rates(ETA, data.n_words, np.float64), state.local.state_of(0)
    for doc in (0, 5):
        entries = slice(local.first_node[doc], local.first_node[doc + 1])
        nodes, n = local.node[entries], n_di_of(state)[doc]
        place = np.zeros(40, np.uint32)
        inner = nodes[mixing.shape.ancestry.inner[nodes]]
        place[inner] = np.arange(len(inner))
        above = place[np.maximum(mixing.shape.parent[nodes], 0)]
        going = naive_of(mixing).at_or_below(n)[inner] - n[inner]
        found = share_elsewhere(
            n[nodes],
            nodes.astype(np.uint32),
            above,
            place,
            mixing.shape.ancestry.inner,
            going,
            rates,
        )
        assert found == pytest.approx(1.0 - mixing.weights(n[None])[0, own[doc]].sum(), abs=1e-12)


@pytest.mark.parametrize("n_sweeps", [1, 2, 60])
def test_a_fold_in_equals_its_slow_twin(n_sweeps: int) -> None:
    data = lay_out(corpus_of([[4, 1, 2]]), 1, np.float64)
    mixing = mixing_of(T5)
    theta = mixing.weights(np.zeros((1, 5)))[0]
    start = PHI.T * theta
    start /= start.sum(axis=1, keepdims=True)
    twin = Twin(T5, data, start, PROCESS, MISTAKES["right"], phi=PHI)
    for _ in range(n_sweeps):
        twin.sweep()
    seating = TableRule(mean_tables([4, 2], PROCESS[0]), PROCESS[1])
    n, tables = document_kernels.fold_in(
        np.arange(3, dtype=np.int32), np.array([4.0, 1.0, 2.0]), PHI.T.copy(), mixing.shape.first,
        mixing.mass, *mixing[2:], theta, n_sweeps, 1e-12, seating, 0,
    )  # fmt: skip
    np.testing.assert_allclose(tables, twin.tables, atol=2e-6)
    np.testing.assert_allclose(n, twin.counts_of(0), atol=2e-6)


def test_a_fold_in_that_refits_no_tables_is_the_plain_one() -> None:
    counts = corpus_of([list(DOCUMENT), [0, 0, 0], [1, 1, 1]]).counts
    mixing, phi = mixing_of(T5), PHI.T.copy()
    plain, tables = fold_in(mixing, phi, counts, at(0))
    np.testing.assert_array_equal(tables, counts.data)
    held = TableRule(mean_tables([1, 2], 0.4), 1e15)
    np.testing.assert_allclose(fold_in(mixing, phi, counts, at(0), held)[0], plain, atol=1e-6)
    assert not NOT_SEATED.refit


def test_a_placed_document_has_a_table_for_each_of_its_words_at_least() -> None:
    tree = tiny_tree()
    tree = replace(tree, extra={**tree.extra, "bursts": np.array(PROCESS)})
    corpus = corpus_of([[4, 1, 2], [0, 0, 0]])
    placed = nhdp.bursty.infer(tree, corpus, settings_of(nhdp.bursty), at(0))
    assert placed.tables is not None
    found = placed.tables.toarray()
    assert (found[0] >= 1).all() and found[0].sum() < 6 and not found[1].any()
    assert placed.theta.sum(axis=1) == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("seed", [1, 2])
def test_shares_are_learned_from_real_numbers_of_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mixing, data = random_mixing(rng, 9), planned(some_corpus(seed, n_docs=5))
    state = bursty_state(mixing, data, random_resp(rng, len(data.cells.word), 9))
    sweep(state, data, ETA)
    recount(state, data)
    sums, tree = learning.gather(state, data), naive_of(mixing)
    tables, growth, stops = np.zeros(9), np.zeros(9), np.zeros((3, 9))
    r, times = resp_of(state, data).astype(np.float64), tables_of_pairs(state).astype(np.float64)
    assert (times != np.rint(times)).any()
    for cuts in data.cells.cuts:
        if cuts[0] < cuts[-1]:
            its_r, its_times = r[cuts[0] : cuts[-1]], times[cuts[0] : cuts[-1]]
            its_tables, its_growth = expected_tables(tree, its_r, its_times)
            tables, growth = tables + its_tables, growth + its_growth
            stops += expected_stops(tree, its_r, its_times)
    np.testing.assert_allclose(sums.tables, tables, atol=1e-9)
    np.testing.assert_allclose(sums.growth, growth, atol=1e-9)
    np.testing.assert_allclose([sums.stops, sums.goes, sums.visits], stops, atol=1e-9)


SHORT: dict[str, Any] = {
    "truncation": 8,
    "bursts": "document",
    "start_iterations": 20,
    "burst_start": 4,
    "burst_aside": 5,
    "hyper_every": 3,
    "trials": 2,
}
STARTS: list[dict[str, Any]] = [
    {"start": "words"},
    {"start": "words", "responsibilities": "few", "branches": [3]},
    {"start": "groups", "truncation": 220},
    {"start": "random", "branches": [3]},
]


def repeated(seed: int, n_docs: int = 60, n_words: int = 30, largest: int = 6) -> Any:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.8, (n_docs, n_words)) * rng.integers(1, largest, (n_docs, n_words))
    return corpus_of(counts)


def once(n_words: int) -> Any:
    rng = np.random.default_rng(5)
    return corpus_of((rng.random((60, n_words)) < 16 / n_words).astype(int))


def fitted(backend: Any, corpus: Any, n_iterations: int = 6, **keys: Any) -> tuple[Any, Any]:
    settings = settings_of(backend, **keys)
    state, data = begin(backend, corpus, settings)
    return advance(backend, state, data, settings, n_iterations), data


def same_but_for_bursts(found: Any, plain: Any) -> bool:
    arrays, wanted = to_arrays(found), to_arrays(plain)
    return all(arrays[name].tobytes() == wanted[name].tobytes() for name in wanted)


@pytest.mark.parametrize("keys", STARTS)
def test_without_repeats_the_fit_is_the_plain_one_to_the_byte(keys: dict[str, Any]) -> None:
    corpus = once(900 if keys.get("truncation") else 40)
    keys = {**SHORT, **keys}
    found, _ = fitted(nhdp.bursty, corpus, **keys)
    plain, _ = fitted(nhdp.backend, corpus, **{**keys, "bursts": "none"})
    assert same_but_for_bursts(found, plain)


def test_with_a_large_concentration_the_fit_is_the_plain_one_to_the_byte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(burst_learning, "is_due", lambda iteration, plan: False)
    keys = {**SHORT, "burst_aside": 0, "burst_process": PitmanYor(0.5, 1e15)}
    found, data = fitted(nhdp.bursty, repeated(7), **keys)
    plain, _ = fitted(nhdp.backend, repeated(7), **{**keys, "bursts": "none"})
    np.testing.assert_array_equal(tables_of_documents(found), data.doc_lengths)
    assert same_but_for_bursts(found, plain)


@pytest.mark.parametrize("keys", STARTS[:2])
def test_counts_are_tables_and_b_is_learned(keys: dict[str, Any]) -> None:
    state, data = fitted(nhdp.bursty, repeated(7), **{**SHORT, **keys})
    tables = tables_of_documents(state)
    np.testing.assert_allclose(n_di_of(state).sum(axis=1), tables, rtol=1e-4)
    np.testing.assert_allclose(state.n_wk.sum(), tables.sum(), rtol=1e-4)
    there = data.doc_lengths > 0
    assert (tables[there] > 0).all() and (tables <= data.doc_lengths * (1 + 1e-6)).all()
    assert tables.sum() < 0.9 * data.doc_lengths.sum()
    assert state.burst_concentration != 100.0


def test_topics_within_branches_do_not_see_documents_that_are_aside() -> None:
    settings = settings_of(nhdp.bursty, **SHORT)
    data = nhdp.prepare(repeated(7), settings)
    branch = np.arange(len(data.cells.word)) % 3
    seen = first_topics.seen_in_parts(branch, data, at(0))
    aside = burst_learning.choose_aside(data, 5, at(0))
    assert len(aside) == 5
    doc = np.repeat(np.arange(data.n_docs), data.cells.cuts[:, -1] - data.cells.cuts[:, 0])
    np.testing.assert_array_equal(seen == first_topics.ASIDE, np.isin(doc, aside))
    np.testing.assert_array_equal(seen[seen >= 0], branch[seen >= 0])


def test_a_tree_begins_with_topics_of_branches_alone_at_the_learned_concentration() -> None:
    """Documents that were put aside are among them; what sweeps across branches move is not."""
    settings = settings_of(nhdp.bursty, **SHORT)
    data = nhdp.prepare(repeated(7), settings)
    branch = np.arange(len(data.cells.word)) % 3
    found, home = first_topics.topics_within(branch, data, settings, at(0), np.float64)
    together, _ = first_topics.topics_together(branch, data, settings, at(0), np.float64)
    assert found.concentration == together.concentration != 100.0
    learned = documents.at_concentration(data, found.concentration)
    assert data.bursts is not None and data.bursts.start > 0 and learned.bursts is not None
    learned = learned._replace(bursts=learned.bursts._replace(start=0))
    n_iterations = settings.inference.start_iterations
    alone, its_home = first_topics.topics_apart(
        branch, n_iterations, learned, settings, at(0), np.float64
    )
    np.testing.assert_array_equal(home, its_home)
    np.testing.assert_array_equal(found.theta[:], alone.theta[:])
    np.testing.assert_array_equal(found.phi[:], alone.phi[:])
    assert found.tables is not None and alone.tables is not None
    np.testing.assert_array_equal(found.tables, alone.tables)
    assert (found.tables < data.cells.tokens).any()


def test_a_part_of_documents_has_its_part_of_the_concentration() -> None:
    """Half of one document and all of another: by tokens two thirds."""
    settings = settings_of(nhdp.bursty, **SHORT)
    data = nhdp.prepare(corpus_of([[2, 2, 2, 2], [4, 4, 0, 0]]), settings)
    counts = counts_of(data)
    parts = flat_starts.parts(np.array([0, 0, 1, 1, 0, 0]), counts)
    plan = first_topics.plan_inside(data.bursts, parts[0], counts)
    assert plan is not None and data.bursts is not None
    assert plan.concentration == pytest.approx(100.0 * (4 * 0.5 + 8 * 1.0) / 12)
    assert plan.every is None and plan.n_aside == 0


def test_workers_change_no_bit() -> None:
    found = []
    for n_workers in (1, 2):
        with Workers(n_workers) as workers:
            settings = settings_of(nhdp.bursty, shards=3, **SHORT)
            state, data = begin(nhdp.bursty, repeated(7), settings, workers=workers)
            state = advance(nhdp.bursty, state, data, settings, 4, workers=workers)
            found.append([array.tobytes() for array in to_arrays(state).values()])
    assert found[0] == found[1]


def test_simulated_documents_repeat_their_words() -> None:
    sizes = Sizes(30, 200, 60)
    settings = settings_of(
        nhdp.bursty, bursts="document", burst_process=PitmanYor(0.5, 5.0), truncation=6
    )
    bursty, _ = simulate(settings, sizes, at(0))
    plain, _ = simulate(settings_of(nhdp.bursty, truncation=6), sizes, at(0))
    assert (bursty.doc_lengths == 60).all()
    assert bursty.n_pairs < 0.8 * plain.n_pairs


def test_a_fold_in_keeps_tables_for_as_many_sweeps_as_it_is_told() -> None:
    mixing, counts = mixing_of(T5), np.array([4.0, 1.0, 2.0])
    theta = mixing.weights(np.zeros((1, 5)))[0]
    seating = TableRule(mean_tables([4, 2], PROCESS[0]), PROCESS[1])
    for n_sweeps, are_kept in ((3, True), (4, False)):
        _, tables = document_kernels.fold_in(
            np.arange(3, dtype=np.int32), counts, PHI.T.copy(), mixing.shape.first,
            mixing.mass, *mixing[2:], theta, n_sweeps, 1e-12, seating, 3,
        )  # fmt: skip
        assert (tables == counts).all() == are_kept


def test_documents_are_seated_one_by_one_and_no_others() -> None:
    data = planned(some_corpus(3))
    assert data.bursts is not None
    cuts, tokens = data.cells.cuts, data.cells.tokens
    chances = np.random.default_rng(1).uniform(0.05, 0.6, len(tokens))
    tables = np.full(len(tokens), -1.0)
    first, last = 2, 5
    pairs = slice(cuts[first, 0], cuts[last - 1, -1])
    piece: Any = SimpleNamespace(cells=data.cells)
    seating = TableRule(data.bursts.means, 3.0)
    documents.seat_documents(piece, first, last, chances[pairs], seating, tables)
    wanted = np.full(len(tokens), -1.0)
    for doc in range(first, last):
        own = slice(cuts[doc, 0], cuts[doc, -1])
        ends = np.array([0, own.stop - own.start])
        counts = tokens[own].astype(np.int32)
        wanted[own] = seat(ends, counts, chances[own], data.bursts.means, 3.0)
    np.testing.assert_allclose(tables, wanted)
    assert (tables[pairs] < tokens[pairs]).any() and (tables[pairs] >= 1 - 1e-9).all()
