"""Tables of bursty documents in the sampler of the HDP: laws, twins, limits (theory/bursts 9)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from hdp_cases import random_corpus
from seats_twin import MISTAKES, State, Twin, as_numbered, stationary
from stepping import advance, at, begin, corpus_of, fitted, same_arrays, settings_of

from hiertopics.base.arrays import F64
from hiertopics.contract.engine import Workers
from hiertopics.contract.states import to_arrays
from hiertopics.families.flat import seat_kernels, seats
from hiertopics.families.flat.bursts import Repeats, more_than
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Cells, lay_out
from hiertopics.families.flat.sampler_kernels import sweep_block, sweep_block_by_lists
from hiertopics.families.flat.seat_kernels import EMPTY, DocumentProcess, count_tables
from hiertopics.families.flat.sweep_kernels import list_words_that_grow, scratch_of, write_words
from hiertopics.families.flat.token_kernels import TokenTopics
from hiertopics.families.hdp import bursty_gibbs, gibbs
from hiertopics.numeric.lanes import LANES
from hiertopics.numeric.pitman_yor import PitmanYor, log_stirling
from hiertopics.numeric.pitman_yor_kernels import LARGEST

DOCS = [[(0, 3), (1, 1)], [(1, 2), (2, 1)]]
CORPUS = corpus_of([[3, 1, 0], [0, 2, 1]])
ALPHA, ETA, PROCESS = np.array([0.7, 0.4]), 0.5, (0.4, 1.5)
PRIOR = PseudoCounts(ALPHA, np.full(3, ETA), 3 * ETA)


def twin_of(mistake: str = "right") -> Twin:
    return Twin(DOCS, ALPHA, ETA, 3, PROCESS, MISTAKES[mistake])


@pytest.fixture(scope="module")
def states() -> list[State]:
    return twin_of().states()


@pytest.fixture(scope="module")
def law(states: list[State]) -> F64:
    twin = twin_of()
    logs = np.array([twin.log_joint(state) for state in states])
    return np.asarray(np.exp(logs - np.logaddexp.reduce(logs)))


def test_the_posterior_is_that_of_the_definition(states: list[State], law: F64) -> None:
    """336 states: evidence, tables and topics that two other programs have found."""
    twin = twin_of()
    logs = np.array([twin.log_joint(state) for state in states])
    assert len(states) == 336
    assert np.logaddexp.reduce(logs) == pytest.approx(-8.283094, abs=1e-6)
    of_first = [law[[len(s[0]) == t for s in states]].sum() for t in (1, 2, 3)]
    np.testing.assert_allclose(of_first, [0.317438, 0.418134, 0.264428], atol=1e-6)
    means = [law @ [twin.n_tables(s, doc) for s in states] for doc in (0, 1)]
    np.testing.assert_allclose(means, [2.946990, 2.607591], atol=1e-6)
    topics = [law[[s[pair][0] == 0 for s in states]].sum() for pair in range(4)]
    np.testing.assert_allclose(topics, [0.576589, 0.627808, 0.614815, 0.574619], atol=1e-6)


def test_one_state_has_the_odds_of_the_definition() -> None:
    twin, state = twin_of(), ((0, 0), (0,), (1, 0), (1,))
    assert twin.log_joint(state) == pytest.approx(-13.373470, abs=1e-6)
    q = twin.weights(state, 0)
    assert q.sum() / (3 + ALPHA.sum()) == pytest.approx(0.424137, abs=1e-6)
    assert q[0] / q.sum() == pytest.approx(0.967140, abs=1e-6)
    assert twin.comes(state, 0) == pytest.approx(0.636205, abs=1e-6)
    assert twin.goes(state, 0, 1) == pytest.approx(0.751027, abs=1e-6)


@pytest.mark.parametrize("pair_by_pair", [True, False])
def test_a_sweep_keeps_the_posterior(pair_by_pair: bool, states: list[State], law: F64) -> None:
    matrix = twin_of().matrix(states, pair_by_pair=pair_by_pair)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    assert np.abs(law @ matrix - law).max() < 1e-12


@pytest.mark.parametrize(
    ("mistake", "first", "mean"),
    [
        ("b for b + a T", 0.460262, 2.680669),
        ("1 for b", 0.388883, 2.819387),
        ("go with a T", 0.284571, 2.992237),
        ("go with its table left in", 0.256696, 3.030937),
        ("no discount in S", 0.404611, 2.759989),
        ("times t + 1", 0.274587, 3.088119),
        ("direction forced at the ends", 0.223842, 2.962620),
        ("p not divided", 0.065427, 3.606709),
        ("any table goes", 0.317356, None),
    ],
)
def test_each_mistake_ends_in_another_law(
    mistake: str, first: float, mean: float | None, states: list[State]
) -> None:
    found = stationary(twin_of(mistake).matrix(states, pair_by_pair=True))
    assert found[[len(s[0]) == 1 for s in states]].sum() == pytest.approx(first, abs=2e-6)
    if mean is not None:
        tables = [twin_of().n_tables(s, 0) for s in states]
        assert found @ tables == pytest.approx(mean, abs=2e-6)


class Swept(NamedTuple):
    """What many sweeps of a kernel have seen: tables of pairs, and first topics, by state."""

    first: F64
    tables: F64
    topics: F64


@numba.njit
def sample(
    sweep: Any,
    cells: Cells,
    tables: TokenTopics,
    prior: PseudoCounts,
    seats: DocumentProcess,
    n_sweeps: int,
    rng: Any,
) -> Any:
    """Count how often the first pair has each number of tables, and sum what else there is."""
    first, opened, topics = np.zeros(4), np.zeros(2), np.zeros(4)
    starts = np.array([0, 3, 4, 6])
    for _ in range(n_sweeps):
        sweep(cells, 0, 0, tables, prior, rng, seats, False, rng)
        n = 0
        for slot in range(3):
            n += tables.z[slot] >= 0
        first[n] += 1
        opened += tables.n_dk.sum(axis=1)
        for pair in range(4):
            topics[pair] += tables.z[starts[pair]] == 0
    return first / n_sweeps, opened / n_sweeps, topics / n_sweeps


def begun(corpus: Any = CORPUS, n_topics: int = 2) -> tuple[Cells, TokenTopics]:
    """Return a table for each token, topics at random."""
    cells = lay_out(corpus, 1, np.float64, tokens=True).cells
    z = np.random.default_rng(1).integers(n_topics, size=len(cells.word), dtype=np.int32)
    n_dk = np.zeros((corpus.n_docs, n_topics), np.int32)
    n_wk = np.zeros((corpus.n_words, n_topics), np.int32)
    count_tables(cells, z, n_dk, n_wk)
    return cells, TokenTopics(z, n_dk, n_wk, n_wk.sum(axis=0, dtype=np.int64))


def seats_at(process: tuple[float, float], counts: Any = (1, 2, 3)) -> DocumentProcess:
    return DocumentProcess(*process, log_stirling(counts, process[0]))


@pytest.mark.slow
@pytest.mark.parametrize("sweep", [sweep_block, sweep_block_by_lists])
def test_the_kernel_visits_what_the_posterior_says(sweep: Any) -> None:
    """A million sweeps; a mistake moves the first of these chances by .03 and more."""
    cells, tables = begun()
    rng = np.random.default_rng(3)
    first, opened, topics = sample(sweep, cells, tables, PRIOR, seats_at(PROCESS), 1_000_000, rng)
    np.testing.assert_allclose(first[1:], [0.317438, 0.418134, 0.264428], atol=4e-3)
    np.testing.assert_allclose(opened, [2.946990, 2.607591], atol=6e-3)
    np.testing.assert_allclose(topics, [0.576589, 0.627808, 0.614815, 0.574619], atol=6e-3)


ROWS = [[(0, 7), (2, 1), (3, 5)], [(1, 4), (2, 3)], [(0, 2), (3, 6)]]
ROWS_CORPUS = corpus_of([[7, 0, 1, 5], [0, 4, 3, 0], [2, 0, 0, 6]])


def rows_of(z: Any, rows: Any = ROWS) -> State:
    """Return the rows of pairs, of slots."""
    ends = np.cumsum([c for doc in rows for _, c in doc])[:-1]
    return tuple(tuple(k for k in part.tolist() if k != EMPTY) for part in np.split(z, ends))


def by_lists(listed: dict[int, list[int]]) -> Any:
    """Return the order in which a number looks among topics: a word's, lane by lane, then all."""

    def order(twin: Twin, state: State, pair: int) -> tuple[list[int], F64]:
        doc, word, _ = twin.pairs[pair]
        topics = listed[word]
        places = [p for lane in range(LANES) for p in range(lane, len(topics), LANES)]
        shares = (twin.counts(state, doc=doc) + twin.alpha) / (
            twin.counts(state) + twin.n_words * twin.eta
        )
        of_list = [twin.counts(state, word=word)[topics[p]] * shares[topics[p]] for p in places]
        everywhere = range(len(twin.alpha))
        weights = np.concatenate([of_list, twin.eta * shares])
        return [*(topics[p] for p in places), *everywhere], weights

    return order


def relisted(listed: dict[int, list[int]], word: int, before: F64, after: F64) -> None:
    """Move a word's list on: what is gone makes place for the last, what is new comes last."""
    own = listed[word]
    for topic in np.flatnonzero((before > 0) & (after == 0)).tolist():
        own[own.index(topic)] = own[-1]
        own.pop()
    own += np.flatnonzero((before == 0) & (after > 0)).tolist()


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("n_topics", [3, 40])
@pytest.mark.parametrize("compiled", [True, False])
def test_tables_come_and_go_as_the_plain_twin_says(
    lists: bool, n_topics: int, compiled: bool
) -> None:
    """The same numbers draw the same tables, document by document, for some visits."""
    cells, tables = begun(ROWS_CORPUS, n_topics)
    rng = np.random.default_rng(4)
    alpha = rng.gamma(0.5, size=n_topics) + 0.01
    twin = Twin(ROWS, alpha, 0.3, 4, (0.3, 6.0))
    prior = PseudoCounts(alpha, np.full(4, 0.3), 1.2)
    how = seats_at((0.3, 6.0), range(1, 8))
    ours, same = np.random.default_rng(8), np.random.default_rng(8)
    state, seen = rows_of(tables.z), set()
    for _ in range(150 if compiled else 4):
        for doc in range(3):
            listed = {w: np.flatnonzero(tables.n_wk[w]).tolist() for w in range(4)}
            _visit(cells, tables, prior, how, doc, ours, lists=lists, compiled=compiled)
            order = by_lists(listed) if lists else as_numbered
            for pair in [i for i, (d, _, c) in enumerate(twin.pairs) if d == doc and c > 1]:
                word = twin.pairs[pair][1]
                before = twin.counts(state, word=word)
                after = twin.seat(state, pair, same.random(3).tolist(), order)
                seen.add(len(after[pair]) - len(state[pair]))
                state = after
                relisted(listed, word, before, twin.counts(state, word=word))
            assert rows_of(tables.z) == state
            _require_counted(cells, tables)
    assert seen == {-1, 0, 1}


def _visit(
    cells: Cells, tables: TokenTopics, prior: PseudoCounts, how: DocumentProcess, doc: int,
    rng: Any, *, lists: bool, compiled: bool,
) -> None:  # fmt: skip
    start, stop = cells.cuts[doc]
    z, words, row = tables.z[start:stop], cells.word[start:stop], tables.n_dk[doc]
    inverse = 1.0 / (tables.n_k + prior.word_total)
    scaled = (row + prior.doc) * inverse
    dense: Any = seat_kernels.seat_document
    listing: Any = seat_kernels.seat_document_by_lists
    if not lists:
        (dense if compiled else dense.py_func)(
            z, words, tables.n_wk, row, tables.n_k, prior.doc, inverse, scaled,
            np.empty(len(row)), np.empty((len(row) + 31) // 32), prior.word, prior.word_total,
            how, rng,
        )  # fmt: skip
        return
    growth = np.zeros(len(tables.n_wk), np.int64)
    np.add.at(growth, cells.word[tables.z == EMPTY], 1)
    made = list_words_that_grow(tables.n_wk, 0, len(tables.n_wk), growth)
    scratch = scratch_of(len(row))
    scratch.scaled[:] = scaled
    (listing if compiled else listing.py_func)(
        z, words, row, tables.n_k, prior.doc, prior.word, prior.word_total, inverse, *made,
        *scratch, how, rng,
    )  # fmt: skip
    write_words(made, 0, len(tables.n_wk), tables.n_wk)


def _require_counted(cells: Cells, tables: TokenTopics) -> None:
    n_dk, n_wk = np.zeros_like(tables.n_dk), np.zeros_like(tables.n_wk)
    count_tables(cells, tables.z, n_dk, n_wk)
    np.testing.assert_array_equal(n_dk, tables.n_dk)
    np.testing.assert_array_equal(n_wk, tables.n_wk)
    np.testing.assert_array_equal(n_wk.sum(axis=0), tables.n_k)
    assert seat_kernels.are_rows(cells, tables.z, False)


REPEATED = random_corpus(7, n_docs=60, n_words=30, largest=6)
SHORT: dict[str, Any] = {"truncation": 8, "hyper_start": 3, "burst_start": 4, "burst_aside": 0}
BURSTY = {**SHORT, "bursts": "document"}


@pytest.mark.parametrize("how", ["sparse", "dense"])
@pytest.mark.parametrize("shards", [1, 3])
def test_a_corpus_without_repeats_ends_in_the_plain_draw(how: str, shards: int) -> None:
    corpus = random_corpus(5, n_docs=40, n_words=30)
    more = {"sweep": how, "shards": shards}
    found, _, _ = fitted(bursty_gibbs.one, corpus, 20, **BURSTY, **more)
    plain, _, _ = fitted(gibbs.one, corpus, 20, **SHORT, **more)
    same_arrays(found, plain)


@pytest.mark.parametrize("how", ["sparse", "dense"])
def test_a_large_b_ends_in_the_plain_draw(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "EVERY", 1000)
    keys = {**BURSTY, "burst_process": PitmanYor(0.5, 1e15), "sweep": how}
    found, _, _ = fitted(bursty_gibbs.one, REPEATED, 12, **keys)
    plain, _, _ = fitted(gibbs.one, REPEATED, 12, **SHORT, sweep=how)
    same_arrays(found, plain)


@pytest.mark.parametrize("how", ["sparse", "dense"])
@pytest.mark.parametrize("shards", [1, 3])
def test_counts_are_tables_after_each_sweep(how: str, shards: int) -> None:
    settings = settings_of(bursty_gibbs.one, **BURSTY, sweep=how, shards=shards)
    state, data = begin(bursty_gibbs.one, REPEATED, settings)
    tokens = int(REPEATED.doc_lengths.sum())
    for iteration in range(1, 21):
        state = advance(bursty_gibbs.one, state, data, settings, 1, start=iteration - 1)
        assert bursty_gibbs.flaw(state, data, settings) is None
        assert (state.n_k.sum() == tokens) == (iteration <= 4)
        assert np.isfinite(bursty_gibbs.objective(state, data, settings, at(0)))
    assert state.n_k.sum() < 0.9 * tokens
    assert (state.burst_discount, state.burst_concentration) != (0.5, 100.0)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda state: state.z.__setitem__(0, EMPTY), "first slots"),
        (lambda state: state.n_dk.__setitem__((0, 0), state.n_dk[0, 0] + 1), "n_dk"),
        (lambda state: state.n_wk.__setitem__((0, 0), state.n_wk[0, 0] + 1), "n_wk"),
    ],
)
def test_a_spoilt_draw_is_noticed(spoil: Any, said: str) -> None:
    state, data, settings = fitted(bursty_gibbs.one, REPEATED, 8, **BURSTY)
    spoil(state)
    assert said in str(bursty_gibbs.flaw(state, data, settings))


def test_workers_change_no_bit() -> None:
    found = []
    for n_workers in (1, 2):
        with Workers(n_workers) as workers:
            settings = settings_of(bursty_gibbs.one, **BURSTY, shards=3)
            state, data = begin(bursty_gibbs.one, REPEATED, settings, workers=workers)
            state = advance(bursty_gibbs.one, state, data, settings, 16, workers=workers)
            found.append([array.tobytes() for array in to_arrays(state).values()])
    assert found[0] == found[1]


def test_pairs_of_very_many_tokens_have_tables_up_to_a_bound() -> None:
    corpus = corpus_of([[LARGEST + 9, 2], [3, 1]])
    state, data, settings = fitted(bursty_gibbs.one, corpus, 3, **{**BURSTY, "burst_start": 0})
    assert state.n_dk[0].sum() <= LARGEST + 2
    assert bursty_gibbs.flaw(state, data, settings) is None


def test_the_log_joint_is_that_of_all_states() -> None:
    """Against (1) of the twin: the difference of two states is the same."""
    keys = {**BURSTY, "truncation": 2, "burst_start": 0, "alpha": 1.1, "eta": 0.5}
    settings = settings_of(bursty_gibbs.one, **keys, burst_process=PitmanYor(0.4, 1.5))
    state, data = begin(bursty_gibbs.one, CORPUS, settings)
    state.pi = ALPHA / ALPHA.sum()
    found, wanted = [], []
    for rows in (((0,), (1,), (0, 1), (0,)), ((0, 1, 1), (1,), (1,), (1,))):
        state.z[:] = EMPTY
        for start, row in zip((0, 3, 4, 6), rows, strict=True):
            state.z[start : start + len(row)] = row
        state.n_dk[:], state.n_wk[:] = 0, 0
        count_tables(data.cells, state.z, state.n_dk, state.n_wk)
        state.n_k[:] = state.n_wk.sum(axis=0)
        found.append(bursty_gibbs.objective(state, data, settings, at(0)))
        wanted.append(twin_of().log_joint(rows))
    assert found[0] - found[1] == pytest.approx(wanted[0] - wanted[1], abs=1e-9)


def test_the_chance_of_seatings_is_that_of_the_definition() -> None:
    """l(10) of three documents without S, as for the variational fit; S in another test."""
    docs = np.bincount([12, 30, 7])
    longer = more_than(np.bincount([20, 55, 7]))
    repeats = Repeats(np.array([1]), longer, 0, 0.1)
    found = seats.TableHistograms(np.zeros(1, np.int64), docs)
    for discount, wanted in ((0.0, -155.864947), (0.5, -136.755812)):
        process = PitmanYor(discount, 10.0)
        stirling = log_stirling([1], discount)
        chance = seats.log_chance(process, found, repeats, stirling)
        assert chance == pytest.approx(wanted, abs=1e-6)


def seated_by_hand(rng: np.random.Generator, process: PitmanYor, n_docs: int) -> Any:
    """Return counts of tokens and tables of words of documents of 100 tokens, 40 words even."""
    counts: list[int] = []
    tables: list[int] = []
    opened = []
    for _ in range(n_docs):
        sizes: list[int] = []
        words: list[int] = []
        for token in range(100):
            opens = process.concentration + process.discount * len(sizes)
            if rng.random() * (process.concentration + token) < opens:
                words.append(int(rng.integers(40)))
                sizes.append(1)
            else:
                shares = np.array(sizes) - process.discount
                sizes[int(rng.choice(len(sizes), p=shares / shares.sum()))] += 1
        for word in set(words):
            counts.append(sum(s for s, w in zip(sizes, words, strict=True) if w == word))
            tables.append(words.count(word))
        opened.append(len(sizes))
    return np.array(counts), np.array(tables), np.array(opened)


@pytest.mark.slow
@pytest.mark.parametrize("process", [PitmanYor(0.5, 50.0), PitmanYor(0.2, 10.0)])
def test_numbers_of_the_process_are_found_again(process: PitmanYor) -> None:
    """Given all tables of 200 documents the mean of the draws is near what they were made by."""
    rng = np.random.default_rng(11)
    counts, tables, opened = seated_by_hand(rng, process, 200)
    repeats = Repeats(np.unique(counts), more_than(np.bincount(np.full(200, 100))), 0, 0.1)
    log_s = log_stirling(repeats.counts, 0.5)
    pairs = np.zeros(len(log_s.values), np.int64)
    np.add.at(pairs, log_s.starts[log_s.row[counts]] + tables - 1, 1)
    found = seats.TableHistograms(pairs, np.bincount(opened))
    now, draws = PitmanYor(0.9, 1000.0), []
    for _ in range(300):
        now = seats.draw_process(now, found, repeats, rng)
        draws.append(now)
    a, b = np.mean(draws[100:], axis=0)
    assert a == pytest.approx(process.discount, abs=0.1)
    assert b == pytest.approx(process.concentration, rel=0.25)
