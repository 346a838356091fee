"""nhdp-gibbs with bursty documents: laws, twins, limits, the joint distribution (bursts 9.2)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from bursty_tree_geweke import FEW_TOKENS, joint_test
from bursty_tree_twin import SMALL, TreeTwin, by_lists, down_the_tree, seated_one_by_one
from naive_nhdp import T5, Naive
from nhdp_cases import mixing_of, naive_of, random_mixing
from nights import by_night, daily
from scipy import sparse
from seats_twin import MISTAKES, State
from stepping import advance, at, begin, corpus_of, fitted, same_arrays, settings_of
from test_nhdp_lists import prior_of

import hiertopics as ht
from hiertopics.base.arrays import F64
from hiertopics.base.errors import UsageError
from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Sizes
from hiertopics.contract.states import to_arrays
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat import seat_kernels, seats
from hiertopics.families.flat.layout import Cells, lay_out
from hiertopics.families.flat.seat_kernels import EMPTY, DocumentProcess, count_tables
from hiertopics.families.flat.sweep_kernels import list_words_that_grow, write_words
from hiertopics.families.flat.token_kernels import TokenTopics
from hiertopics.families.nhdp import (
    bursty_gibbs,
    bursty_gibbs_kernels,
    gibbs,
    gibbs_kernels,
    list_kernels as lists,
    sampler_kernels,
)
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.sampler_kernels import sweep_block, sweep_block_by_lists
from hiertopics.families.nhdp.simulate import draw_hyperparameters, simulate
from hiertopics.fitting import driver
from hiertopics.fitting.loop import Stop
from hiertopics.numeric.lanes import LANES
from hiertopics.numeric.pitman_yor import PitmanYor, log_stirling
from hiertopics.numeric.pitman_yor_kernels import LARGEST
from hiertopics.runs.newdocs import infer_theta
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.cache import Trial, bursty_chances

PROCESS, ETA = (0.4, 1.5), 0.5

# --- The law


def twin_of(docs: Any, mistake: str = "right", *, flat: bool = False) -> TreeTwin:
    return TreeTwin(docs, SMALL, ETA, 3, PROCESS, MISTAKES[mistake], flat=flat)


def law_of(twin: TreeTwin, states: list[State]) -> tuple[F64, float]:
    """Return the posterior of all states, and the log evidence."""
    logs = np.array([twin.log_joint(state) for state in states])
    evidence = float(np.logaddexp.reduce(logs))
    return np.asarray(np.exp(logs - evidence)), evidence


def test_the_posterior_is_that_of_tokens_that_sit_down_one_by_one() -> None:
    """336 states of one document, against all seatings of its tokens, without Stirling numbers."""
    twin = twin_of([[(0, 3), (1, 1)]])
    states = twin.states()
    law, evidence = law_of(twin, states)
    found = seated_one_by_one((0, 0, 0, 1), SMALL, ETA, 3, PROCESS)
    assert len(states) == 336
    assert evidence == pytest.approx(math.log(sum(found.values())), abs=1e-12)
    assert evidence == pytest.approx(-4.145058, abs=1e-6)
    for t in (1, 2, 3):
        share = law[[len(state[0]) == t for state in states]].sum()
        assert share == pytest.approx(found[t] / sum(found.values()), abs=1e-12)


def after_a_sweep(law: F64, twin: TreeTwin, states: list[State], *, pair_by_pair: bool) -> F64:
    for step in twin.steps(states, pair_by_pair=pair_by_pair):
        law = law @ step
    return law


@pytest.mark.slow
@pytest.mark.parametrize("pair_by_pair", [True, *by_night(False)])
def test_a_sweep_keeps_the_posterior_of_two_documents(pair_by_pair: bool) -> None:
    twin = twin_of([[(0, 3)], [(0, 2)]])
    states = twin.states()
    law, _ = law_of(twin, states)
    found = after_a_sweep(law, twin, states, pair_by_pair=pair_by_pair)
    assert np.abs(found - law).max() < 1e-12


ONE = [[(0, 3), (1, 1)]]
WRONG = [name for name in MISTAKES if name not in ("right", "p not divided", "any table goes")]


@pytest.mark.parametrize("mistake", daily([*WRONG, "divided"], "b for b + a T", "divided"))
def test_each_mistake_ends_in_another_law(mistake: str) -> None:
    """By far more than a sweep of the right kernels is allowed to differ from the posterior."""
    right = twin_of(ONE)
    states = right.states()
    law, _ = law_of(right, states)
    flat = mistake == "divided"
    wrong = twin_of(ONE, "right" if flat else mistake, flat=flat)
    moved = law
    for _ in range(3):
        moved = after_a_sweep(moved, wrong, states, pair_by_pair=True)
    first = [len(state[0]) == 1 for state in states]
    assert abs(moved[first].sum() - law[first].sum()) > 8e-3


def test_a_table_that_goes_from_any_place_changes_the_law() -> None:
    """By little, as of flat topics: a chain of draws would not tell."""
    right, wrong = twin_of(ONE), twin_of(ONE, "any table goes")
    states = right.states()
    law, _ = law_of(right, states)
    moved = after_a_sweep(law, wrong, states, pair_by_pair=True)
    assert 1e-7 < np.abs(moved - law).max() < 1e-2


@numba.njit
def sample(
    sweep: Any,
    cells: Cells,
    tables: TokenTopics,
    parameters: Any,
    how: DocumentProcess,
    n_sweeps: int,
    rng: Any,
) -> Any:
    """Count how often the first pair has each number of tables, and its first one each node."""
    first, nodes = np.zeros(4), np.zeros(tables.n_dk.shape[1])
    for _ in range(n_sweeps):
        sweep(cells, 0, 0, tables, parameters, rng, how, rng)
        n = 0
        for slot in range(3):
            n += tables.z[slot] >= 0
        first[n] += 1
        nodes[tables.z[0]] += 1
    return first / n_sweeps, nodes / n_sweeps


@pytest.mark.slow
@pytest.mark.parametrize("sweep", [sweep_block_by_lists, *by_night(sweep_block)])
def test_the_kernel_visits_what_the_posterior_says(sweep: Any) -> None:
    docs = [[(0, 3)], [(0, 2)]]
    twin = twin_of(docs)
    states = twin.states()
    law, _ = law_of(twin, states)
    cells, tables = begun(corpus_of([[3, 0, 0], [2, 0, 0]]), 4)
    how, rng = seats_at(PROCESS), np.random.default_rng(3)
    prior = prior_of(mixing_of(SMALL), ETA, 3)
    first, nodes = sample(sweep, cells, tables, prior, how, 200_000, rng)
    wanted = [law[[len(s[0]) == t for s in states]].sum() for t in (1, 2, 3)]
    np.testing.assert_allclose(first[1:], wanted, atol=8e-3)
    wanted = [law[[s[0][0] == node for s in states]].sum() for node in range(4)]
    np.testing.assert_allclose(nodes, wanted, atol=8e-3)


# --- The kernels against the twin


def begun(corpus: Any, n_nodes: int) -> tuple[Cells, TokenTopics]:
    """Return a table for each token, nodes at random."""
    cells = lay_out(corpus, 1, np.float64, tokens=True).cells
    z = np.random.default_rng(1).integers(n_nodes, size=len(cells.word), dtype=np.int32)
    n_dk = np.zeros((corpus.n_docs, n_nodes), np.int32)
    n_wk = np.zeros((corpus.n_words, n_nodes), np.int32)
    count_tables(cells, z, n_dk, n_wk)
    return cells, TokenTopics(z, n_dk, n_wk, n_wk.sum(axis=0, dtype=np.int64))


def seats_at(process: tuple[float, float], counts: Any = (1, 2, 3)) -> DocumentProcess:
    return DocumentProcess(*process, log_stirling(counts, process[0]))


ROWS = [[(0, 7), (2, 1), (3, 5)], [(1, 4), (2, 3)], [(0, 2), (3, 6)]]
ROWS_CORPUS = corpus_of([[7, 0, 1, 5], [0, 4, 3, 0], [2, 0, 0, 6]])
ALONE = Naive((-1,), (1.0,), (0.0,), (1.0,), (0.0,))


def rows_of(z: Any) -> State:
    """Return the rows of pairs, of slots."""
    ends = np.cumsum([c for doc in ROWS for _, c in doc])[:-1]
    return tuple(tuple(k for k in part.tolist() if k != EMPTY) for part in np.split(z, ends))


def relisted(own: list[int], before: F64, after: F64) -> None:
    """Move a word's list on: what is gone makes place for the last, what is new comes last."""
    for node in np.flatnonzero((before > 0) & (after == 0)).tolist():
        own[own.index(node)] = own[-1]
        own.pop()
    own += np.flatnonzero((before == 0) & (after > 0)).tolist()


@pytest.mark.parametrize("by_list", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_nodes", [1, 5, 40])
@pytest.mark.parametrize("compiled", [True, False])
def test_tables_come_and_go_as_the_plain_twin_says(
    by_list: bool, n_nodes: int, compiled: bool
) -> None:
    """The same numbers draw the same tables, document by document, for some visits."""
    cells, tables = begun(ROWS_CORPUS, n_nodes)
    few = {1: mixing_of(ALONE), 5: mixing_of(T5)}
    mixing = few.get(n_nodes) or random_mixing(np.random.default_rng(4), n_nodes)
    twin = TreeTwin(ROWS, naive_of(mixing), 0.3, 4, (0.3, 6.0))
    how = seats_at((0.3, 6.0), range(1, 8))
    ours, same = np.random.default_rng(8), np.random.default_rng(8)
    state, seen = rows_of(tables.z), set()
    for _ in range(60 if compiled else 4):
        for doc in range(3):
            listed = {w: np.flatnonzero(tables.n_wk[w]).tolist() for w in range(4)}
            visit(cells, tables, mixing, how, doc, ours, by_list=by_list, compiled=compiled)
            order = by_lists(listed) if by_list else down_the_tree
            for pair in [i for i, (d, _, c) in enumerate(twin.pairs) if d == doc and c > 1]:
                word = twin.pairs[pair][1]
                before = twin.counts(state, word=word)
                after = twin.seat(state, pair, same.random(3).tolist(), order)
                seen.add(len(after[pair]) - len(state[pair]))
                state = after
                relisted(listed[word], before, twin.counts(state, word=word))
            assert rows_of(tables.z) == state
            require_counted(cells, tables)
    assert seen == {-1, 0, 1}


def visit(
    cells: Cells, tables: TokenTopics, mixing: Mixing, how: DocumentProcess, doc: int, rng: Any,
    *, by_list: bool, compiled: bool,
) -> None:  # fmt: skip
    """Let tables of a document come or go, as a sweep does."""
    prior = prior_of(mixing, 0.3, 4)
    start, stop = cells.cuts[doc]
    z, words, row = tables.z[start:stop], cells.word[start:stop], tables.n_dk[doc]
    n_nodes = len(row)
    dense: Any = bursty_gibbs_kernels.seat_document
    listing: Any = bursty_gibbs_kernels.seat_document_by_lists
    if not by_list:
        passing, stay, go, total = np.zeros((4, n_nodes))
        inverse = gibbs_kernels.inverse_sizes(tables.n_k, prior.eta_total)
        gibbs_kernels.begin_chances(row, passing, prior, stay, go)
        (dense if compiled else dense.py_func)(
            z, words, row, tables.n_wk, tables.n_k, inverse, passing, prior, stay, go, total,
            how, rng,
        )  # fmt: skip
        return
    growth = np.zeros(4, np.int64)
    np.add.at(growth, cells.word[tables.z == EMPTY], 1)
    made = list_words_that_grow(tables.n_wk, 0, 4, growth)
    families = lists.families_of(prior.parent, prior.first)
    nodes = lists.nodes_of(tables.n_k, prior)
    room = (n_nodes + LANES - 1) // LANES * LANES
    (listing if compiled else listing.py_func)(
        z, words, row, prior.eta, prior.eta_total, *families, *made, nodes,
        *lists.mixture_of(n_nodes, len(families.above)), np.zeros(room, np.float32),
        np.zeros(room, np.float32), np.zeros(LANES + 1, np.float32), how, rng,
    )  # fmt: skip
    tables.n_k[:] = nodes[:, lists.TOKENS].astype(np.int64)
    write_words(made, 0, 4, tables.n_wk)


def require_counted(cells: Cells, tables: TokenTopics) -> None:
    n_dk, n_wk = np.zeros_like(tables.n_dk), np.zeros_like(tables.n_wk)
    count_tables(cells, tables.z, n_dk, n_wk)
    np.testing.assert_array_equal(n_dk, tables.n_dk)
    np.testing.assert_array_equal(n_wk, tables.n_wk)
    np.testing.assert_array_equal(n_wk.sum(axis=0), tables.n_k)
    assert seat_kernels.are_rows(cells, tables.z, False)


# --- The joint distribution

sweep_lists: Any = sampler_kernels.sweep_block_by_lists


@pytest.mark.slow
@pytest.mark.parametrize("way", ["sparse", *by_night("dense")])
def test_prior_draws_stay_prior_draws(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the backend's own step: process, shares, stops, eta, tables, nodes and words."""
    monkeypatch.setattr(seats, "BURST_PRIOR", FEW_TOKENS)
    outcome = joint_test(n_replicates=600, n_rounds=8, way=way)
    assert outcome.largest_z < 4.0, outcome
    assert outcome.smallest_p > 1e-3, outcome


def without_tables(*arguments: Any) -> int:
    """Sweep with b in place of b + a T."""
    *others, rng, how, other = arguments
    return int(sweep_lists(*others, rng, how._replace(discount=0.0), other))


GEWEKE_MUTANTS = {"b for b + a T": without_tables}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("wrong", GEWEKE_MUTANTS.values(), ids=GEWEKE_MUTANTS)
def test_wrong_sweeps_are_rejected(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "BURST_PRIOR", FEW_TOKENS)
    monkeypatch.setattr(sampler_kernels, "sweep_block_by_lists", wrong)
    outcome = joint_test(n_replicates=400, n_rounds=8)
    assert outcome.largest_z > 6.0, outcome


# --- Limits, bytes, files

PLAIN: dict[str, Any] = {
    "truncation": 8,
    "start": "words",
    "start_iterations": 20,
    "burst_start": 4,
    "burst_aside": 5,
    "variational_sweeps": 4,
    "trials": 2,
}
BURSTY = {**PLAIN, "bursts": "document"}


def repeated(seed: int = 7) -> Any:
    rng = np.random.default_rng(seed)
    return corpus_of(rng.poisson(0.8, (60, 30)) * rng.integers(1, 6, (60, 30)))


def once() -> Any:
    return corpus_of((np.random.default_rng(5).random((60, 40)) < 0.4).astype(int))


@pytest.mark.parametrize("how", ["sparse", "dense"])
@pytest.mark.parametrize("shards", [1, 3])
def test_a_corpus_without_repeats_ends_in_the_plain_draw(how: str, shards: int) -> None:
    more = {"sweep": how, "shards": shards}
    found, _, _ = fitted(bursty_gibbs.one, once(), 8, **BURSTY, **more)
    plain, _, _ = fitted(gibbs.one, once(), 8, **PLAIN, **more)
    same_arrays(found, plain)


@pytest.mark.parametrize("how", ["sparse", "dense"])
def test_a_large_b_ends_in_the_plain_draw(how: str) -> None:
    """Both samplers begin with the same nodes, and each token has its own table."""
    corpus = repeated()
    settings = settings_of(gibbs.one, **PLAIN, sweep=how)
    plain, data = begin(gibbs.one, corpus, settings)
    bursty = bursty_gibbs.prepare(corpus, settings_of(bursty_gibbs.one, **BURSTY, sweep=how))
    same = gibbs.with_nodes(
        plain.z.copy(), plain.mixing, plain.eta, data.tokens, at(0), count_tables,
        bursty_gibbs.Local,
    )  # fmt: skip
    found = bursty_gibbs.State(**vars(same), burst_discount=0.5, burst_concentration=1e15)
    plain = advance(gibbs.one, plain, data, settings, 10)
    found = advance(bursty_gibbs.one, found, bursty, settings, 10)
    same_arrays(found, plain)


@pytest.mark.parametrize("how", ["sparse", "dense"])
@pytest.mark.parametrize("shards", [1, 3])
def test_counts_are_tables_after_each_sweep(how: str, shards: int) -> None:
    keys = {**BURSTY, "burst_aside": 0, "sweep": how, "shards": shards}
    settings = settings_of(bursty_gibbs.one, **keys)
    corpus = repeated()
    state, data = begin(bursty_gibbs.one, corpus, settings)
    process = state.process
    for iteration in range(1, 11):
        state = advance(bursty_gibbs.one, state, data, settings, 1, start=iteration - 1)
        assert bursty_gibbs.flaw(state, data, settings) is None
        assert state.n_k.sum() < 0.9 * corpus.n_tokens
        assert np.isfinite(bursty_gibbs.objective(state, data, settings, at(0)))
        assert (state.process == process) == (iteration < seats.EVERY)


def test_what_the_start_has_learned_is_held() -> None:
    settings = settings_of(bursty_gibbs.one, **{**BURSTY, "burst_aside": 6})
    state, data = begin(bursty_gibbs.one, repeated(), settings)
    learned = state.process
    assert learned.discount == 0.5 and learned.concentration != 100.0
    state = advance(bursty_gibbs.one, state, data, settings, 12)
    assert state.process == learned


def test_the_start_gives_pairs_as_many_tables_as_nhdp_variational() -> None:
    """On average; each pair one table at least, and no more than tokens or slots can hold."""
    settings = settings_of(bursty_gibbs.one, **BURSTY)
    data = bursty_gibbs.prepare(repeated(), settings)
    begun = gibbs.variational_start(data, settings, at(0))
    means = begun.local.state_of(0).pair_tables
    drawn = []
    for seed in range(200):
        z = gibbs.draw_nodes(begun, data, at(0, seed=seed), bursty_gibbs._seated_pairs)
        ends = np.cumsum(data.pairs.cells.tokens).astype(int)[:-1]
        drawn.append([int((part >= 0).sum()) for part in np.split(z, ends)])
        assert seat_kernels.are_rows(data.tokens.cells, z, False)
    assert (means != np.rint(means)).any()
    np.testing.assert_allclose(np.mean(drawn, axis=0), means, atol=0.2)
    assert np.mean(drawn) == pytest.approx(means.mean(), abs=0.01)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda state: state.z.__setitem__(0, EMPTY), "first slots"),
        (lambda state: state.n_dk.__setitem__((0, 0), state.n_dk[0, 0] + 1), "n_dk"),
        (lambda state: state.n_wk.__setitem__((0, 0), state.n_wk[0, 0] + 1), "n_wk"),
    ],
)
def test_a_spoilt_draw_is_noticed(spoil: Any, said: str) -> None:
    state, data, settings = fitted(bursty_gibbs.one, repeated(), 3, **BURSTY)
    assert bursty_gibbs.flaw(state, data, settings) is None
    spoil(state)
    assert said in str(bursty_gibbs.flaw(state, data, settings))


def test_workers_change_no_bit() -> None:
    found = []
    for n_workers in (1, 2):
        with Workers(n_workers) as workers:
            keys = {**BURSTY, "burst_aside": 0, "shards": 3}
            settings = settings_of(bursty_gibbs.one, **keys)
            state, data = begin(bursty_gibbs.one, repeated(), settings, workers=workers)
            state = advance(bursty_gibbs.one, state, data, settings, 7, workers=workers)
            found.append([array.tobytes() for array in to_arrays(state).values()])
    assert found[0] == found[1]


def test_pairs_of_very_many_tokens_have_tables_up_to_a_bound() -> None:
    corpus = corpus_of([[LARGEST + 9, 2], [3, 1]])
    keys = {**BURSTY, "burst_process": PitmanYor(0.5, 1e6), "burst_aside": 0, "start": "random"}
    state, data, settings = fitted(bursty_gibbs.one, corpus, 2, **keys)
    assert 100 < state.n_dk[0].sum() <= LARGEST + 2
    assert bursty_gibbs.flaw(state, data, settings) is None


def test_the_log_joint_is_that_of_the_twin() -> None:
    """Differences of two states, and of two processes, are the same."""
    settings = settings_of(bursty_gibbs.one, **BURSTY)
    data = bursty_gibbs.prepare(corpus_of([[3, 1, 0], [0, 2, 1]]), settings)
    docs, starts = [[(0, 3), (1, 1)], [(1, 2), (2, 1)]], (0, 3, 4, 6)
    twin = twin_of(docs)
    found, wanted = [], []
    for rows in (((0,), (1,), (3, 1), (2,)), ((0, 1, 1), (3,), (1,), (1,))):
        z = np.full(7, EMPTY, np.int32)
        for start, row in zip(starts, rows, strict=True):
            z[start : start + len(row)] = row
        plain = gibbs.with_nodes(
            z, mixing_of(SMALL), ETA, data.tokens, at(0), count_tables, bursty_gibbs.Local
        )
        state = bursty_gibbs.State(**vars(plain), burst_discount=0.4, burst_concentration=1.5)
        found.append(bursty_gibbs.objective(state, data, settings, at(0)))
        wanted.append(twin.log_joint(rows))
    assert found[0] - found[1] == pytest.approx(wanted[0] - wanted[1], abs=1e-9)


def test_simulated_documents_repeat_their_words() -> None:
    sizes = Sizes(30, 200, 60)
    keys = {"bursts": "document", "truncation": 6}
    settings = settings_of(bursty_gibbs.one, **keys, burst_process=PitmanYor(0.5, 1e6))
    drawn = dict(draw_hyperparameters(settings, sizes, at(0)))
    assert 0 < drawn["burst_discount"] < 1 and drawn["burst_concentration"] > 0
    close, _ = simulate(settings, sizes, at(0))
    few = {"burst_discount": np.asarray(0.1), "burst_concentration": np.asarray(2.0)}
    far, _ = simulate(settings, sizes, at(0), few)
    assert (far.doc_lengths == 60).all()
    assert far.n_pairs < 0.5 * close.n_pairs
    plain = settings_of(bursty_gibbs.one, truncation=6)
    assert "burst_discount" not in draw_hyperparameters(plain, sizes, at(0))


def lda_c(path: Path, corpus: Any) -> Path:
    rows = [[f"{w}:{n}" for w, n in enumerate(row) if n] for row in corpus.counts.toarray()]
    path.write_text("".join(f"{' '.join([str(len(row)), *row])}\n" for row in rows))
    return path


WAYS: dict[str, dict[str, Any]] = {
    "drawn": {"inference.burst_aside": 0},
    "held": {"inference.burst_aside": 6},
    "shards": {"inference.burst_aside": 0, "inference.shards": 3, "inference.sweep": "dense"},
    "chains": {"inference.chains": 2, "inference.summarise": "map"},
    "seeds": {"model.seeds": {"one": ["w0", "w1"]}, "inference.burst_aside": 0},
}
RUN: dict[str, Any] = {
    "model.bursts": "document",
    "model.truncation": 8,
    "inference.start": "words",
    "inference.start_iterations": 20,
    "inference.variational_sweeps": 3,
    "inference.burst_start": 4,
    "inference.burn_in": 4,
    "inference.keep_every": 4,
    "inference.trials": 0,
}


@pytest.mark.slow
@pytest.mark.parametrize("way", daily(WAYS, "drawn", "held"))
def test_a_run_that_stops_ends_in_the_same_bytes(tmp_path: Path, way: str) -> None:
    corpus = lda_c(tmp_path / "repeated.ldac", repeated())
    overrides = {**RUN, **WAYS[way]}
    how: dict[str, Any] = {"backend": "nhdp-gibbs", "overrides": overrides, "iterations": 12}
    driver.fit(corpus, run=tmp_path / "whole", **how)

    def until(event: Any) -> Any:
        return Stop("test", False) if event.iteration == 7 else None

    driver.fit(corpus, run=tmp_path / "stopped", callbacks=[until], **how)
    driver.fit(corpus, run=tmp_path / "stopped", **how)
    for name in ("model.npz", "theta.npz"):
        found, whole = ((tmp_path / run / name).read_bytes() for run in ("stopped", "whole"))
        assert found == whole, name


def test_a_run_scores_by_the_process_of_each_draw(tmp_path: Path) -> None:
    """Draws have a and b of their own; a placed document's distribution sums to 1 under each."""
    corpus = repeated()
    overrides = {**RUN, **WAYS["drawn"], "data.holdout": "docs:0.2@0"}
    path, run = lda_c(tmp_path / "repeated.ldac", corpus), tmp_path / "run"
    driver.fit(path, run=run, backend="nhdp-gibbs", overrides=overrides, iterations=20)
    made = RunDir.open(run)
    processes = {tuple(tree.extra["bursts"].tolist()) for tree, _ in made.draws()}
    assert len(processes) > 1
    one, mean = (ht.evaluate(run, average=average) for average in (False, True))
    assert one["perplexity"] != mean["perplexity"]
    assert "perplexity_of_new_words" in one
    placed = infer_theta(made, Corpus(corpus.counts[:4], made.vocab))
    assert placed.tables is not None
    every = sparse.csr_array(np.ones((4, 30), np.int32))
    mixture = np.asarray(placed.theta @ made.tree.phi).ravel()
    process = PitmanYor(*made.tree.extra["bursts"].tolist())
    trial = Trial(corpus.counts[:4], np.empty(0), every, mixture)
    chances = bursty_chances(process, trial, placed.tables.data).reshape(4, 30)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)
    last = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    assert (last["burst_discount"], last["burst_concentration"]) == tuple(process)
    assert "times as likely to come again" in (run / "log.txt").read_text()


def test_what_cannot_be_is_refused_in_one_line(tmp_path: Path) -> None:
    path, run = lda_c(tmp_path / "repeated.ldac", repeated()), tmp_path / "run"
    overrides = {"model.bursts": "document", "data.holdout": "links:0.2@0"}
    with pytest.raises(UsageError, match="not for a graph"):
        driver.fit(path, run=run, backend="nhdp-gibbs", overrides=overrides, iterations=2)
    assert not run.exists()


def test_a_refit_on_the_tree_keeps_the_process_of_the_draw(tmp_path: Path) -> None:
    """Its tables are those of the drawn discount, not of the config's."""
    corpus = repeated()
    state, data, settings = fitted(bursty_gibbs.one, corpus, 12, **{**BURSTY, "burst_aside": 0})
    found = bursty_gibbs.summarise(state, data, settings, at(12))
    again = bursty_gibbs.refit_on_tree(found.tree, found.theta, corpus, settings, at(0))
    assert again.tree.extra["bursts"].tolist() == pytest.approx(list(state.process))
    assert state.burst_discount != 0.5
