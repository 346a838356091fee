"""hdp-gibbs, partially collapsed, with bursty documents: laws, twins, limits (bursts 9.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bursts_twin import stirling
from bursty_partial_geweke import joint_test
from hdp_cases import random_corpus
from nights import by_night, daily
from numpy.typing import NDArray
from seats_twin import MISTAKES, State, Twin
from stepping import SERIAL, advance, at, begin, corpus_of, fitted, settings_of

import hiertopics as ht
from hiertopics.base.arrays import F64
from hiertopics.contract.engine import Each, Workers, as_given, cut, joined
from hiertopics.contract.states import to_arrays
from hiertopics.families.flat import seats
from hiertopics.families.flat.bursts import repeats_of, repeats_of_blocks
from hiertopics.families.flat.seat_kernels import EMPTY, DocumentProcess
from hiertopics.families.hdp import (
    block_layout,
    blocks,
    bursty_block_kernels,
    bursty_blocks,
    bursty_gibbs,
    bursty_partial,
    gibbs_aside,
    partial,
)
from hiertopics.families.hdp.block_kernels import BlockSweepInput
from hiertopics.families.hdp.block_layout import Blocks, lay_out
from hiertopics.families.hdp.bursty_block_kernels import TableInput
from hiertopics.families.hdp.gibbs_aside import DRAWN, HELD, LEARNING
from hiertopics.fitting import driver
from hiertopics.fitting.loop import Stop
from hiertopics.numeric.lanes import LANES
from hiertopics.numeric.pitman_yor import PitmanYor, log_stirling
from hiertopics.numeric.pitman_yor_kernels import LARGEST
from hiertopics.numeric.priors import GammaPrior
from hiertopics.numeric.streams import uniform
from hiertopics.runs.rundir import RunDir
from hiertopics.testing.processes import Processes

# --- The law of a document whose topics are held

PHI = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
ALPHA, PROCESS = np.array([0.7, 0.4]), (0.5, 1.5)
DOCS = [[(0, 4), (1, 1), (2, 2)]]


class Held(Twin):
    """As ``Twin``, topics held: a table of word w has the weight of PHI."""

    def log_joint(self, state: State) -> float:
        a, b = self.discount, self.concentration
        total = self.log_mixture(self.counts(state))
        tables, tokens = self.n_tables(state, 0), sum(c for _, _, c in self.pairs)
        total += sum(np.log(b + a * i) for i in range(tables))
        total -= sum(np.log(b + i) for i in range(tokens))
        for (_, word, count), row in zip(self.pairs, state, strict=True):
            total += np.log(stirling(count, a)[len(row) - 1])
            total += sum(np.log(PHI[topic, word]) for topic in row)
        return float(total)

    def weights(self, state: State, pair: int) -> F64:
        return np.asarray(self.shares(self.counts(state)) * PHI[:, self.pairs[pair][1]])


def held_twin(mistake: str = "right") -> Held:
    return Held(DOCS, ALPHA, 0.0, 3, PROCESS, MISTAKES[mistake])


@pytest.fixture(scope="module")
def law() -> tuple[list[State], F64]:
    twin = held_twin()
    states = twin.states()
    logs = np.array([twin.log_joint(state) for state in states])
    evidence = np.logaddexp.reduce(logs)
    assert evidence == pytest.approx(-8.200568, abs=1e-6)
    return states, np.exp(logs - evidence)


def test_the_posterior_is_that_of_the_definition(law: tuple[list[State], F64]) -> None:
    """T3: tables, and the mean share of the first topic, that two other programs have found."""
    states, chances = law
    means = [chances @ [len(state[pair]) for state in states] for pair in range(3)]
    np.testing.assert_allclose(means, [2.711696, 1.0, 1.621381], atol=1e-6)
    twin = held_twin()
    shares = np.array([twin.shares(twin.counts(state)) for state in states])
    shares /= shares.sum(axis=1, keepdims=True)
    assert chances @ shares[:, 0] == pytest.approx(0.689252, abs=1e-6)


def after_a_sweep(twin: Held, states: list[State], law: F64) -> F64:
    for step in twin.steps(states, pair_by_pair=True):
        law = law @ step
    return law


def test_a_sweep_keeps_the_posterior(law: tuple[list[State], F64]) -> None:
    """A pair steps as soon as its topics are redrawn, as the kernel visits pairs."""
    states, chances = law
    found = after_a_sweep(held_twin(), states, chances)
    assert np.abs(found - chances).max() < 1e-12


WRONG = [name for name in MISTAKES if name not in ("right", "any table goes")]


@pytest.mark.parametrize("mistake", daily(WRONG, "b for b + a T", "p not divided"))
def test_each_mistake_ends_in_another_law(mistake: str, law: tuple[list[State], F64]) -> None:
    states, chances = law
    moved = chances
    for _ in range(3):
        moved = after_a_sweep(held_twin(mistake), states, moved)
    tables = np.array([len(state[0]) for state in states])
    assert abs(moved @ tables - chances @ tables) > 8e-3


# --- The kernel

KEYS = (np.uint64(0x0123456789ABCDEF), np.uint64(0xFEDCBA9876543210))


def placed(data: Blocks, z: NDArray[Any], workers: Any = SERIAL) -> Any:
    """Return the pieces with the topics of their slots."""
    states = cut(bursty_blocks.Local, {"z": z}, data.bounds)
    return workers.place(block_layout.made_piece, data.pieces, as_given, Each(states))


def held_input(data: Blocks, phi: F64, prior: F64) -> BlockSweepInput:
    """Return topics [n_words, T] as kernels take them, in two factors, and the prior."""
    n_topics = len(prior)
    scale = np.zeros(data.table.shape[1], np.float32)
    scale[:n_topics] = np.linspace(0.5, 2.0, n_topics)
    data.table[:, :n_topics] = 4.0 * phi / scale[:n_topics]
    return blocks.hold(data.table, scale, prior, at(3))._replace(key=KEYS[0])


def table_input(process: tuple[float, float], counts: Any, *, held: bool = False) -> TableInput:
    """Return the rule of tables, for topics that are four times too large."""
    how = DocumentProcess(*process, log_stirling(counts, process[0]))
    return TableInput(how, held, 0.25, KEYS[1])


def test_the_kernel_visits_what_the_posterior_says(law: tuple[list[State], F64]) -> None:
    """Case T3 of the theory: many equal documents, each with its own random numbers."""
    n_docs, states_law = 4000, law
    corpus = corpus_of(np.tile([4, 1, 2], (n_docs, 1)))
    data = lay_out(corpus, 2)
    local = placed(data, np.zeros(corpus.n_tokens, np.int16))
    held, how = held_input(data, PHI.T, ALPHA), table_input(PROCESS, [1, 2, 4])
    for sweep in range(12):
        keys = [np.uint64(int(key) + 7919 * sweep) for key in KEYS]
        message = (held._replace(key=keys[0]), how._replace(key=keys[1]), 2)
        local.step(bursty_blocks.sweep_piece, message)
    z = joined(local, "z").reshape(n_docs, 7)
    opened = (z >= 0)[:, [0, 1, 2, 3]].sum(axis=1), (z[:, 5:] >= 0).sum(axis=1)
    states, chances = states_law
    for found, pair in zip(opened, (0, 2), strict=True):
        tables = np.array([len(state[pair]) for state in states])
        mean = chances @ tables
        error = np.sqrt((chances @ tables**2 - mean**2) / n_docs)
        assert found.mean() == pytest.approx(mean, abs=4 * error)
    first = chances[[state[0][0] == 0 for state in states]].sum()
    assert (z[:, 0] == 0).mean() == pytest.approx(first, abs=4 * np.sqrt(0.25 / n_docs))


def order_of(n: int) -> list[int]:
    """Return the order in which entries are added up: lane by lane."""
    return [place for lane in range(LANES) for place in range(lane, n, LANES)]


class SlowDocument:
    """One document redrawn with dense weights, its slots from number ``first`` on."""

    def __init__(
        self, counts: Any, z: Any, first: int, topics: tuple[F64, F64], process: Any, keys: Any
    ) -> None:
        self.counts, self.first, self.keys = counts, first, keys
        self.phi, self.prior = topics
        self.discount, self.concentration = process
        self.z = [int(topic) for topic in z]
        self.used = list(dict.fromkeys(topic for topic in self.z if topic >= 0))

    def n(self, topic: int) -> int:
        return self.z.count(topic)

    def weigh(self, word: int) -> tuple[list[int], F64]:
        """Return topics in the order in which a number looks among them, and weights."""
        listed = [self.used[place] for place in order_of(len(self.used))]
        every = order_of(len(self.prior))
        of_list = [self.phi[word, topic] * self.n(topic) for topic in listed]
        return [*listed, *every], np.array([*of_list, *(self.phi[word] * self.prior)[every]])

    def draw(self, word: int, number: float) -> int:
        topics, weights = self.weigh(word)
        edges = np.cumsum(weights)
        at_edge = np.searchsorted(edges, number * edges[-1], side="right")
        return topics[min(int(at_edge), len(topics) - 1)]

    def put(self, slot: int, topic: int) -> None:
        """Change a slot; a topic that is gone gives its place in the list to the last one."""
        old, self.z[slot] = self.z[slot], topic
        if old >= 0 and self.n(old) == 0 and old in self.used:
            self.used[self.used.index(old)] = self.used[-1]
            self.used.pop()
        if topic >= 0 and topic not in self.used:
            self.used.append(topic)

    def redraw(self, slot: int, word: int) -> None:
        old = self.z[slot]
        self.z[slot] = EMPTY
        new = self.draw(word, uniform(self.keys[0], self.first + slot))
        self.z[slot] = old
        if new != old:
            self.put(slot, new)

    def odds(self, word: int, count: int, tables: int, seen: int) -> float:
        """Return by what the joint grows with a further table, ``seen`` in the document."""
        s = stirling(count, self.discount)
        p = self.weigh(word)[1].sum() / (seen + self.prior.sum())
        return float(s[tables] / s[tables - 1] * (self.concentration + self.discount * seen) * p)

    def seat(self, slot: int, word: int, count: int) -> None:
        """Let a table of a word come or go, whose first slot this is."""
        direction, chance, where = (
            uniform(self.keys[1], 3 * (self.first + slot) + i) for i in range(3)
        )
        tables = sum(topic >= 0 for topic in self.z[slot : slot + count])
        seen = sum(topic >= 0 for topic in self.z)
        if direction < 0.5:
            if tables < count and chance < self.odds(word, count, tables, seen):
                self.put(slot + tables, self.draw(word, where))
        elif tables > 1:
            last = slot + tables - 1
            topic, self.z[last] = self.z[last], EMPTY
            goes = chance < 1.0 / self.odds(word, count, tables - 1, seen - 1)
            self.z[last] = topic
            if goes:
                self.put(last, EMPTY)

    def sweep(self) -> list[int]:
        slot = 0
        for word, count in enumerate(self.counts):
            tables = sum(topic >= 0 for topic in self.z[slot : slot + count])
            for at_slot in range(slot, slot + tables):
                self.redraw(at_slot, word)
            if count > 1:
                self.seat(slot, word, count)
            slot += count
        return self.z


@pytest.mark.parametrize("n_topics", [1, 3, 40])
def test_a_sweep_equals_the_dense_one_document_by_document(n_topics: int) -> None:
    """The same uniforms choose the same topics and tables; float32 tells hardly any draw apart."""
    rng = np.random.default_rng(n_topics)
    corpus = random_corpus(n_topics, n_docs=150, n_words=12, density=0.3, largest=6)
    phi = rng.dirichlet(np.full(12, 0.3), n_topics).T
    phi[:, 0] += 1e-3
    prior, process = rng.gamma(0.3, size=n_topics) + 0.01, (0.5, 6.0)
    z = rng.integers(n_topics, size=corpus.n_tokens).astype(np.int16)
    data = lay_out(corpus, n_topics)
    held, how = held_input(data, phi, prior), table_input(process, range(1, 8))
    came, went, n_far = 0, 0, 0
    for sweep in range(6):
        local, keys = placed(data, z.copy()), [np.uint64(int(key) + 7919 * sweep) for key in KEYS]
        message = (held._replace(key=keys[0]), how._replace(key=keys[1]), n_topics)
        local.step(bursty_blocks.sweep_piece, message)
        after = joined(local, "z")
        first = 0
        for row in corpus.counts.toarray():
            own = slice(first, first + int(row.sum()))
            twin = SlowDocument(row.tolist(), z[own], first, (phi, prior), process, keys)
            n_far += twin.sweep() != after[own].tolist()
            first = own.stop
        came, went = came + int(((z < 0) & (after >= 0)).sum()), went + int((after < 0).sum())
        z = after.copy()
    # A draw at an edge of float32 spoils the rest of its document.
    assert n_far <= 2
    assert came > 20 and went > 100


BLOCKS_CORPUS = random_corpus(5, n_docs=30, n_words=20, density=0.7, largest=6)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("block_bytes", [1, 3000, 10**6])
@pytest.mark.parametrize("n_pieces", [1, 4])
def test_blocks_pieces_and_workers_change_no_byte(
    n_pieces: int, block_bytes: int, workers: int
) -> None:
    rng = np.random.default_rng(2)
    phi, prior = rng.dirichlet(np.full(20, 0.3), 6).T, np.full(6, 0.2)
    z = rng.integers(6, size=BLOCKS_CORPUS.n_tokens).astype(np.int16)
    how, found = table_input((0.3, 6.0), range(1, 8)), []
    for layout in ((1, 10**6), (n_pieces, block_bytes)):
        data = lay_out(BLOCKS_CORPUS, 6, *layout)
        with Workers(workers) as pool:
            local = placed(data, z.copy(), pool)
            local.step(bursty_blocks.sweep_piece, (held_input(data, phi, prior), how, 6))
            found.append(joined(local, "z"))
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("n_pieces", [1, 3])
def test_what_a_sweep_says_is_what_counting_says(n_pieces: int) -> None:
    """Changes of n_wk and counts of n_dk, with pairs that are laid out as several."""
    rng = np.random.default_rng(3)
    counts = rng.poisson(1.0, (9, 20))
    counts[4, 7:9] = [700, 300]
    corpus = corpus_of(counts)
    data = lay_out(corpus, 4, n_pieces, 600)
    z = rng.integers(4, size=corpus.n_tokens).astype(np.int16)
    local = placed(data, z)
    n_wk: Any = sum(local.ask(blocks.count_words, (20, 4)))
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    held = held_input(data, np.full((20, 4), 0.05), np.full(4, 0.1))
    how = table_input((0.2, 2.0), np.unique(counts[counts > 0]))
    for sweep in range(6):
        message = (held, how._replace(key=np.uint64(sweep)), 4)
        result = blocks.add_results(local.step(bursty_blocks.sweep_piece, message), n_wk, n_k)
        after = joined(local, "z")
        there = after >= 0
        doc = np.repeat(np.arange(9), corpus.doc_lengths)[there]
        word = np.repeat(np.tile(np.arange(20), 9), counts.ravel())[there]
        wanted_wk, wanted_dk = np.zeros((20, 4), int), np.zeros((9, 4), int)
        np.add.at(wanted_wk, (word, after[there]), 1)
        np.add.at(wanted_dk, (doc, after[there]), 1)
        np.testing.assert_array_equal(n_wk, wanted_wk)
        np.testing.assert_array_equal(n_k, wanted_wk.sum(axis=0))
        topics, sizes = np.nonzero(result.histogram)
        cells = np.repeat(np.stack([topics, sizes], axis=1), result.histogram[topics, sizes], 0)
        listed = sorted(map(tuple, np.concatenate([cells, result.large]).tolist()))
        wanted = [(k, wanted_dk[d, k]) for d, k in zip(*np.nonzero(wanted_dk), strict=True)]
        assert listed == sorted((int(k), int(n)) for k, n in wanted)
        np.testing.assert_array_equal(
            bursty_blocks.tables_of_documents(local), wanted_dk.sum(axis=1)
        )
        assert bursty_blocks.misseated(local, aside=False) is None
        found = bursty_blocks.seated(local, how.seats.stirling)
        assert found.n_tables == there.sum() and found.pairs.sum() == (counts > 0).sum()
        table = np.bincount((doc * 20 + word).astype(int), minlength=180).reshape(9, 20)
        at_pair = how.seats.stirling.starts[how.seats.stirling.row[700]] + table[4, 7] - 1
        assert found.pairs[at_pair] == 1
    assert there.sum() < corpus.n_tokens


def test_repeats_of_blocks_are_those_of_the_corpus() -> None:
    corpus = random_corpus(7, n_docs=60, n_words=30, largest=6)
    parts = [corpus.counts[:20], corpus.counts[20:21], corpus.counts[21:]]
    found = repeats_of_blocks(parts, corpus.doc_lengths, 4)
    wanted = repeats_of(corpus.counts.indices, corpus.counts.data, corpus.doc_lengths, 4)
    np.testing.assert_array_equal(found.counts, wanted.counts)
    np.testing.assert_array_equal(found.longer, wanted.longer)
    assert found.chance == pytest.approx(wanted.chance) and found.start == 4


# --- The sampler

T4 = corpus_of([[3, 1, 0], [0, 2, 1]])


@pytest.mark.nightly
@pytest.mark.slow
def test_tables_and_topics_are_as_often_as_the_posterior_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """T4 through ``step``, all but topics and tables held: 336 states.

    Each day T3 above has the kernel, and the joint test below has ``step``.
    """
    twin = Twin([[(0, 3), (1, 1)], [(1, 2), (2, 1)]], ALPHA, 0.5, 3, (0.4, 1.5))
    states = twin.states()
    logs = np.array([twin.log_joint(state) for state in states])
    law = np.exp(logs - np.logaddexp.reduce(logs))

    def statistics(state: State) -> list[float]:
        first = [float(len(state[0]) == t) for t in (1, 2, 3)]
        return [*first, float(len(state[2]) == 2), *(float(row[0] == 0) for row in state)]

    wanted = law @ np.array([statistics(state) for state in states])
    assert wanted[:4] == pytest.approx([0.317438, 0.418134, 0.264428, 0.607591], abs=1e-6)
    monkeypatch.setattr(seats, "EVERY", 10**9)
    keys = {"truncation": 2, "hyper_start": 10**9, "start": "random", "bursts": "document"}
    process = {"burst_process": PitmanYor(0.4, 1.5), "burst_start": 0}
    settings = settings_of(bursty_partial.one, **keys, **process)
    state, data = begin(bursty_partial.one, T4, settings)
    state.alpha, state.pi, state.word_mass = 1.1, ALPHA / 1.1, 1.5
    rows = []
    for iteration in range(1, 20_001):
        bursty_partial.step(state, data, settings, at(iteration, seed=1))
        parts = np.split(joined(state.local, "z"), [3, 4, 6])
        rows.append(statistics(tuple(tuple(k for k in p.tolist() if k >= 0) for p in parts)))
    found = np.array(rows).reshape(50, -1, len(wanted)).mean(axis=1)
    z_scores = (found.mean(axis=0) - wanted) / (found.std(axis=0, ddof=1) / np.sqrt(50))
    assert np.abs(z_scores).max() < 4.2, z_scores


FEW_TOKENS = GammaPrior(1.0, 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["AS", *by_night("AA")])
def test_prior_draws_stay_prior_draws(prior: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "BURST_PRIOR", FEW_TOKENS)
    outcome = joint_test(prior, n_replicates=600, n_rounds=10)
    assert outcome.largest_z < 4.0, outcome
    assert outcome.smallest_p > 1e-3, outcome


sweep_block: Any = bursty_block_kernels.sweep_block


def without_tables(*arguments: Any) -> int:
    """Sweep with b in place of b + a T."""
    *before, how, n_topics, lists, tables, scratch, output = arguments
    how = how._replace(seats=how.seats._replace(discount=0.0))
    return int(sweep_block(*before, how, n_topics, lists, tables, scratch, output))


def without_unit(*arguments: Any) -> int:
    """Sweep under topics that do not sum to 1."""
    *before, how, n_topics, lists, tables, scratch, output = arguments
    how = how._replace(unit=1.0)
    return int(sweep_block(*before, how, n_topics, lists, tables, scratch, output))


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("wrong", [without_tables, without_unit])
def test_wrong_sweeps_are_rejected(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "BURST_PRIOR", FEW_TOKENS)
    monkeypatch.setattr(bursty_block_kernels, "sweep_block", wrong)
    assert joint_test("AS", n_replicates=400, n_rounds=10).largest_z > 6.0


def spied(name: str, function: Any, seen: list[tuple[str, bool]]) -> Any:
    """Return a function that also notes its name, and whether z is another one afterwards."""

    def spy(state: Any, *others: Any, **keys: Any) -> Any:
        before = joined(state.local, "z").tobytes()
        result = function(state, *others, **keys)
        seen.append((name, joined(state.local, "z").tobytes() != before))
        return result

    return spy


def test_tables_move_only_in_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """6.2: between the word side and the draw of topics nothing changes z."""
    seen: list[tuple[str, bool]] = []
    names = ["_draw_word_side", "_draw_topics", "_sweep", "_draw_document_side"]
    for name in names:
        function = getattr(partial, name)
        monkeypatch.setattr(partial, name, spied(name, function, seen))
    state, data, settings = fitted(bursty_partial.one, REPEATED, 0, **BURSTY)
    for iteration in range(5, 9):
        bursty_partial.step(state, data, settings, at(iteration))
    assert [name for name, _ in seen] == 4 * names
    assert [moved for _, moved in seen] == 4 * [False, False, True, False]


# --- Limits, bytes, files

REPEATED = random_corpus(7, n_docs=60, n_words=30, largest=6)
SHORT: dict[str, Any] = {
    "truncation": 8,
    "hyper_start": 3,
    "burst_start": 4,
    "burst_aside": 0,
    "start": "random",
    "collapse": "partial",
}
BURSTY = {**SHORT, "bursts": "document"}


def same_arrays(found: Any, plain: Any) -> None:
    """Require that all arrays of a plain draw are in a bursty one, number by number."""
    arrays, others = to_arrays(found), to_arrays(plain)
    for name, array in others.items():
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)


@pytest.mark.parametrize("start", ["uniform", "variational"])
@pytest.mark.parametrize("shards", [1, 3])
def test_a_corpus_without_repeats_ends_in_the_plain_draw(start: str, shards: int) -> None:
    corpus = random_corpus(5, n_docs=40, n_words=30)
    more = {"start": start, "shards": shards}
    found, _, _ = fitted(bursty_partial.one, corpus, 12, **{**BURSTY, **more})
    plain, _, _ = fitted(partial.one, corpus, 12, **{**SHORT, **more})
    same_arrays(found, plain)


def test_a_large_b_ends_in_the_plain_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "EVERY", 1000)
    found, _, _ = fitted(
        bursty_partial.one, REPEATED, 12, **BURSTY, burst_process=PitmanYor(0.5, 1e15)
    )
    plain, _, _ = fitted(partial.one, REPEATED, 12, **SHORT)
    same_arrays(found, plain)


@pytest.mark.parametrize("shards", [1, 3])
def test_counts_are_tables_after_each_sweep(shards: int) -> None:
    settings = settings_of(bursty_partial.one, **BURSTY, shards=shards)
    state, data = begin(bursty_partial.one, REPEATED, settings)
    for iteration in range(1, 16):
        state = advance(bursty_partial.one, state, data, settings, 1, start=iteration - 1)
        assert bursty_partial.flaw(state, data, settings) is None
        assert (state.n_k.sum() == REPEATED.n_tokens) == (iteration <= 4)
        assert np.isfinite(bursty_partial.objective(state, data, settings, at(0)))
    assert state.n_k.sum() < 0.9 * REPEATED.n_tokens
    assert (state.burst_discount, state.burst_concentration) != (0.5, 100.0)


def test_shards_workers_and_processes_change_no_bit() -> None:
    found = []
    for n_shards, engine in ((1, Workers(1)), (3, Workers(1)), (4, Workers(2)), (3, Processes())):
        with engine as workers:
            settings = settings_of(bursty_partial.one, **BURSTY, shards=n_shards)
            state, data = begin(bursty_partial.one, REPEATED, settings, workers=workers)
            state = advance(bursty_partial.one, state, data, settings, 12, workers=workers)
            z = joined(state.local, "z").tobytes()
            plain = {k: v.tobytes() for k, v in to_arrays(state).items() if not k.endswith("z")}
            found.append((z, plain))
    assert all(one == found[0] for one in found[1:])


def test_the_log_joint_is_that_of_full_collapse() -> None:
    """Both samplers get the same topics of tables and the same parameters."""
    state, data, settings = fitted(bursty_partial.one, REPEATED, 8, **BURSTY)
    other_settings = settings_of(bursty_gibbs.one, **{**BURSTY, "collapse": "full"})
    other, laid = begin(bursty_gibbs.one, REPEATED, other_settings)
    other.z[:] = joined(state.local, "z")
    other.n_dk[:] = 0
    there = other.z >= 0
    doc = np.repeat(np.arange(REPEATED.n_docs), REPEATED.doc_lengths)
    np.add.at(other.n_dk, (doc[there], other.z[there]), 1)
    for name in ("n_wk", "n_k", "log_rest", "pi", "tau", "alpha", "gamma", "word_mass"):
        setattr(other, name, getattr(state, name))
    other.burst_discount, other.burst_concentration = state.process
    assert bursty_gibbs.flaw(other, laid, other_settings) is None
    wanted = bursty_gibbs.objective(other, laid, other_settings, at(0))
    assert bursty_partial.objective(state, data, settings, at(0)) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda state: state.z.__setitem__(0, EMPTY), "first slots"),
        (lambda state: state.n_wk.__setitem__((0, 0), state.n_wk[0, 0] + 1), "n_wk"),
        (lambda state: setattr(state, "burst_stage", LEARNING), "burst_stage"),
        (lambda state: setattr(state, "burst_stage", 7), "no stage"),
    ],
)
def test_a_spoilt_draw_is_noticed(spoil: Any, said: str) -> None:
    state, data, settings = fitted(bursty_partial.one, REPEATED, 8, **BURSTY)
    assert bursty_partial.flaw(state, data, settings) is None
    spoil(state)
    assert said in str(bursty_partial.flaw(state, data, settings))


def test_pairs_of_very_many_tokens_have_tables_up_to_a_bound() -> None:
    corpus = corpus_of([[LARGEST + 9, 2], [3, 1]])
    state, data, settings = fitted(bursty_partial.one, corpus, 3, **{**BURSTY, "burst_start": 0})
    assert 1000 < (joined(state.local, "z")[: LARGEST + 11] >= 0).sum() <= LARGEST + 2
    assert bursty_partial.flaw(state, data, settings) is None


ASIDE = {**BURSTY, "burst_aside": 5, "burn_in": 20}
JOIN = 12
"""Iterations after which documents join: 0.6 of burn_in."""


@pytest.mark.parametrize("start", ["uniform", "variational"])
@pytest.mark.parametrize("shards", [1, 3])
def test_documents_aside_have_no_table_until_they_join(start: str, shards: int) -> None:
    settings = settings_of(bursty_partial.one, **{**ASIDE, "start": start, "shards": shards})
    state, data = begin(bursty_partial.one, REPEATED, settings)
    tables = bursty_blocks.tables_of_documents(state.local)
    aside = gibbs_aside.documents_aside(tables, data)
    assert len(aside) == 5
    processes = []
    for iteration in range(1, 21):
        state = advance(bursty_partial.one, state, data, settings, 1, start=iteration - 1)
        tables = bursty_blocks.tables_of_documents(state.local)
        own = tables[aside]
        assert (own > 0).all() if iteration > JOIN else (own == 0).all()
        assert state.burst_stage == (HELD if iteration > JOIN else LEARNING)
        assert bursty_partial.flaw(state, data, settings) is None
        assert np.isfinite(bursty_partial.objective(state, data, settings, at(0)))
        processes.append(state.process)
    assert len(set(processes[:4])) == 1 and processes[4] != processes[3]
    assert len(set(processes[JOIN:])) == 1


def test_shards_change_no_bit_where_documents_are_aside() -> None:
    found = []
    for shards in (1, 3):
        state, _, _ = fitted(bursty_partial.one, REPEATED, 16, **ASIDE, shards=shards)
        found.append((joined(state.local, "z").tobytes(), state.process, state.n_wk.tobytes()))
    assert found[0] == found[1]


def test_the_start_does_not_see_documents_that_are_aside() -> None:
    data = bursty_partial.prepare(REPEATED, settings_of(bursty_partial.one, **ASIDE))
    unseen = np.array([3, 11, 40])
    whole = partial._sample(data, 10**9, np.random.default_rng(0))
    some = partial._sample(data, 10**9, np.random.default_rng(0), unseen)
    assert whole.n_docs == 60 and some.n_docs == 57
    kept = np.setdiff1d(np.arange(60), unseen)
    assert (some.counts.toarray() == REPEATED.counts.toarray()[kept]).all()


def lda_c(path: Path, corpus: Any) -> Path:
    rows = [[f"{w}:{n}" for w, n in enumerate(row) if n] for row in corpus.counts.toarray()]
    path.write_text("".join(f"{' '.join([str(len(row)), *row])}\n" for row in rows))
    return path


RUN: dict[str, Any] = {
    "model.bursts": "document",
    "inference.collapse": "partial",
    "model.truncation": 8,
    "inference.hyper_start": 3,
    "inference.burst_start": 4,
    "inference.burn_in": 8,
    "inference.keep_every": 4,
}
WAYS: dict[str, dict[str, Any]] = {
    "drawn": {"inference.burst_aside": 0},
    "aside": {"inference.burst_aside": 5, "inference.burn_in": 15},
    "shards": {"inference.shards": 3, "inference.start": "uniform"},
    "chains": {"inference.chains": 2, "inference.summarise": "map"},
    "seeds": {"model.seeds": {"one": ["w0", "w1"]}},
}


@pytest.mark.parametrize("way", daily(WAYS, "drawn", "aside"))
def test_a_run_that_stops_ends_in_the_same_bytes(tmp_path: Path, way: str) -> None:
    corpus = lda_c(tmp_path / "repeated.ldac", REPEATED)
    overrides = {**RUN, **WAYS[way]}
    how: dict[str, Any] = {"backend": "hdp-gibbs", "overrides": overrides, "iterations": 16}
    driver.fit(corpus, run=tmp_path / "whole", **how)
    for stop in (3, 7, 12):
        run = tmp_path / f"stopped{stop}"

        def until(event: Any, stop: int = stop) -> Any:
            return Stop("test", False) if event.iteration == stop else None

        driver.fit(corpus, run=run, callbacks=[until], **how)
        driver.fit(corpus, run=run, **how)
        for name in ("model.npz", "theta.npz"):
            assert (run / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert ht.evaluate(tmp_path / "whole")["perplexity"] < REPEATED.n_words


def test_a_run_goes_on_with_further_documents(tmp_path: Path) -> None:
    """These begin with a table for each token; discount and concentration go on from the draw."""
    first = lda_c(tmp_path / "first.ldac", corpus_of(REPEATED.counts.toarray()[:40]))
    more = lda_c(tmp_path / "more.ldac", corpus_of(REPEATED.counts.toarray()[40:]))
    how = {**RUN, **WAYS["drawn"]}
    driver.fit(first, run=tmp_path / "run", backend="hdp-gibbs", overrides=how, iterations=16)
    run = RunDir.open(tmp_path / "run")
    before = run.tree.extra["bursts"].tolist()
    ht.update(tmp_path / "run", more, tmp_path / "updated", iterations=2)
    updated = RunDir.open(tmp_path / "updated")
    assert updated.theta.shape[0] > run.theta.shape[0] + 10
    assert updated.tree.extra["bursts"].tolist() == before


def test_the_plain_stage_is_the_default_of_a_state() -> None:
    state, _, _ = fitted(bursty_partial.one, REPEATED, 0, **BURSTY)
    assert state.burst_stage == DRAWN
