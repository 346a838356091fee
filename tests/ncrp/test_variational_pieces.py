"""A corpus in pieces, in memory and in files: what they answer together is what the whole says."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stepping import SERIAL, at, corpus_of
from variational_cases import MODES, family, planted, settings_of, slot_chances

from hiertopics.contract.engine import Engine
from hiertopics.contract.model import Settings
from hiertopics.contract.states import to_arrays
from hiertopics.corpus.formats.shards import write_bags
from hiertopics.families.ncrp.variational import (
    backend as variational,
    growing,
    splits,
    state as states,
)
from hiertopics.families.ncrp.variational.draft import draft_of
from hiertopics.families.ncrp.variational.state import Data, State
from hiertopics.testing.processes import Processes

CORPUS, _, _ = planted(3, 60)
SHARDS = 4
CLOSE: Any = {"rel": 1e-4, "abs": 1e-5}


def begun(mode: str, shards: int, engine: Engine = SERIAL) -> tuple[State, Data, Settings]:
    """Return a state after two sweeps, its tree too large."""
    keys = {"mode": mode, "moves": "none", "start_leaves": 12, "eta": 0.3}
    settings = settings_of(shards=shards, start_sweeps=0, **keys)
    data = variational.prepare(CORPUS, settings)
    state: Any = family(settings).init(data, settings, at(0, workers=engine))
    for iteration in (1, 2):
        state, _ = variational.step(state, data, settings, at(iteration, workers=engine))
    return state, data, settings


@pytest.fixture(params=MODES)
def both(request: pytest.FixtureRequest) -> list[tuple[State, Data, Settings]]:
    """Return the same state in one piece and in several."""
    return [begun(request.param, shards) for shards in (1, SHARDS)]


@pytest.mark.parametrize("level", [1, 2])
def test_splits_in_pieces_are_those_of_the_whole(
    both: list[tuple[State, Data, Settings]], level: int
) -> None:
    made = [splits.split_level(state, data, level, 100, at(5)) for state, data, _ in both]
    compare(made)


def test_joins_in_pieces_are_those_of_the_whole(both: list[tuple[State, Data, Settings]]) -> None:
    compare([splits.join_level(state, data, 1) for state, data, _ in both])


def compare(made: list[tuple[State, int]]) -> None:
    (whole, n_whole), (parts, n_parts) = made
    assert n_whole == n_parts > 0
    assert np.array_equal(parts.parent, whole.parent)
    assert parts.lam == pytest.approx(whole.lam, **CLOSE)
    assert parts.tau == pytest.approx(whole.tau, **CLOSE)
    assert parts.stick_a == pytest.approx(whole.stick_a, **CLOSE)
    assert parts.stick_b == pytest.approx(whole.stick_b, **CLOSE)
    assert slot_chances(parts) == pytest.approx(slot_chances(whole), rel=1e-3, abs=1e-4)


def test_drafts_in_pieces_are_those_of_the_whole(
    both: list[tuple[State, Data, Settings]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents are weighed some at a time, and their pieces are left as they were."""
    monkeypatch.setattr(states, "CELLS", 7 * both[0][0].n_nodes)
    before = [to_arrays(copy.deepcopy(state)) for state, _, _ in both]
    whole, parts = (draft_of(state) for state, _, _ in both)
    assert parts.mass == pytest.approx(whole.mass, **CLOSE)
    assert parts.words == pytest.approx(whole.words, rel=1e-3, abs=1e-4)
    pairs = [(node, node + 1) for node in whole.alive(2)[:-1].tolist()]
    assert parts.entropy_lost(pairs) == pytest.approx(whole.entropy_lost(pairs), rel=1e-3)
    assert parts.products(2) == pytest.approx(whole.products(2), rel=1e-3)
    for (state, _, _), arrays in zip(both, before, strict=True):
        after = to_arrays(state)
        assert all(np.array_equal(after[name], array) for name, array in arrays.items())


def test_documents_that_are_drawn_are_rows_of_the_table_of_all(
    both: list[tuple[State, Data, Settings]], monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = np.array([0, 6, 7, 8, 20, 41, 59])
    for state, data, _ in both:
        table = slot_chances(state)
        with monkeypatch.context() as patched:
            patched.setattr(states, "CELLS", 7 * state.n_nodes)
            rows, mass = growing._drawn(state, data, docs)
        assert np.array_equal(rows, table[docs])
        assert mass == pytest.approx(table.sum(axis=0))


def test_a_summary_of_pieces_is_that_of_the_whole(
    both: list[tuple[State, Data, Settings]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "CELLS", 7 * both[0][0].n_nodes)
    whole, parts = (
        variational.summarise(state, data, settings, at(2)) for state, data, settings in both
    )
    assert whole.paths is not None and parts.paths is not None
    assert parts.paths.log_prob == pytest.approx(whole.paths.log_prob, rel=1e-3, abs=1e-4)
    # Nodes of the same mass may have other numbers.
    words = [summary.theta @ summary.tree.phi for summary in (parts, whole)]
    assert words[0] == pytest.approx(words[1], rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_pieces_elsewhere_sweep_as_pieces_here(mode: str) -> None:
    """What an iteration changes is kept where the pieces live, and a question changes nothing."""
    here, _, _ = begun(mode, SHARDS)
    with Processes() as engine:
        there, data, _ = begun(mode, SHARDS, engine)
        made, _ = splits.split_level(there, data, 2, 100, at(5))
        same, _ = splits.split_level(here, data, 2, 100, at(5))
        assert there.tau.tobytes() == here.tau.tobytes()
        assert there.lam.tobytes() == here.lam.tobytes()
        assert made.tau.tobytes() == same.tau.tobytes()


def test_a_corpus_in_files_is_laid_out_as_one_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some documents at a time; a part that travels reads its own."""
    monkeypatch.setattr("hiertopics.corpus.data.shelf.BLOCK_PAIRS", 200)
    shelf = write_bags(CORPUS, tmp_path / "a.shards").shelf
    assert len(list(shelf.blocks())) > 3
    whole, filed = (states.lay_out(corpus, SHARDS) for corpus in (CORPUS, shelf))
    for name in ("shard_bounds", "doc_lengths", "n_with", "word_counts"):
        assert np.array_equal(getattr(filed, name), getattr(whole, name)), name
    counts = CORPUS.counts
    assert np.array_equal(whole.n_with, (counts > 0).sum(axis=0))
    assert np.array_equal(whole.word_counts, counts.sum(axis=0))
    parts = [states.parts_of(data) for data in (whole, filed)]
    first = 0
    for part, other in zip(*parts, strict=True):
        own: Any = states.build_piece(part)
        for known in (other, pickle.loads(pickle.dumps(other)), pickle.loads(pickle.dumps(part))):
            again: Any = states.build_piece(known)
            assert all(np.array_equal(*both) for both in zip(again, own, strict=True))
        n_docs = len(own.ptr) - 1
        rows = states.counts_of(own, CORPUS.n_words)
        assert (rows != counts[first : first + n_docs]).nnz == 0
        first += n_docs
    assert first == CORPUS.n_docs


@pytest.mark.parametrize("shards", [1, SHARDS])
def test_further_documents_begin_with_the_mean_of_the_level_prior(shards: int) -> None:
    """Those that were there keep their level weights, and new words have the pseudo-count."""
    state, _, settings = begun("structured", shards)
    counts = np.zeros((75, 63), int)
    counts[:60, :60] = CORPUS.counts.toarray()
    counts[60:] = np.random.default_rng(2).poisson(np.linspace(0.1, 1.0, 15)[:, None], (15, 63))
    more: Any = variational.prepare(corpus_of(counts), settings)
    on = variational.extend_state(to_arrays(state), more, settings, at(0))
    assert np.array_equal(on.tau[:60], state.tau)
    share = state.level_prior / state.level_prior.sum()
    assert on.tau[60:] == pytest.approx(
        state.level_prior + np.outer(counts[60:].sum(axis=1), share)
    )
    assert np.array_equal(on.lam[:60], state.lam) and (on.lam[60:] == np.float32(0.3)).all()
