"""Steps: conserved quantities, dependencies, and complete checkpoints."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiertopics.base import files
from hiertopics.base.room import Room
from hiertopics.contract.engine import Engine, Workers
from hiertopics.contract.states import leaves, to_arrays
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.shards import write_bags
from hiertopics.runs.checkpoints import StateOrigin, load_checkpoint, save_checkpoint
from hiertopics.runs.rundir import RunDir
from hiertopics.testing.bench import Bench, bits, of_those
from hiertopics.testing.corpora import corpus_of
from hiertopics.testing.processes import Processes

CLOSE: dict[str, Any] = {"rel": 1e-4, "abs": 1e-4}


COUNTS = ("n_dk", "n_wk", "n_k", "n_w")
"""Tables of tokens: by documents, by words, in all, and of words that all share one topic."""
COUNTLESS = ("hca-variational", "tssb-mcmc", "hlda-variational")
"""Backends whose states have no such tables."""
NEVER_NEGATIVE = ("resp", "chances", "share", "word_mass", "lam", "stick_a", "noise_a")


def tables_of(state: Any, wanted: Callable[[str], bool]) -> dict[str, Any]:
    """Return the tables of a state, not of a best draw, under the names that are wanted."""
    named = ((place.split("."), value) for place, value in leaves(state))
    return {place[-1]: value for place, value in named if place[0] != "best" and wanted(place[-1])}


def walk(bench: Bench, corpus: Corpus, iterations: int = 6) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (data, state, info) at the start, with no info, and after each iteration."""
    data, state = bench.start(corpus)
    yield data, state, None
    for iteration in range(1, iterations + 1):
        state, info = bench.step(state, data, iteration)
        yield data, state, info


@of_those(lambda bench: bench.counts_tokens)
def test_no_token_is_lost_or_made(bench: Bench, corpus: Corpus) -> None:
    for data, state, _ in walk(bench, corpus):
        summary = bench.summary_of(state, data)
        assert summary.tree.n_tokens.sum() == pytest.approx(bench.seen(corpus).n_tokens, **CLOSE)


@of_those(lambda bench: bench.name not in COUNTLESS and bench.counts_tokens)
def test_count_tables_add_up_to_documents_words_and_tokens(bench: Bench, corpus: Corpus) -> None:
    by_doc = corpus.doc_lengths
    by_word = np.asarray(corpus.counts.sum(axis=0)).ravel()
    for _, state, _ in walk(bench, corpus):
        tables = tables_of(state, COUNTS.__contains__)
        if not tables:
            pytest.skip("a state that counts no tokens")
        assert tables.keys() in ({"n_w"}, {"n_wk", "n_k"}, {"n_dk", "n_wk", "n_k"})
        if "n_w" in tables:
            assert tables["n_w"] == pytest.approx(by_word, **CLOSE)
            continue
        assert tables["n_wk"].sum(axis=1) == pytest.approx(by_word, **CLOSE)
        assert tables["n_wk"].sum(axis=0) == pytest.approx(tables["n_k"], **CLOSE)
        assert tables["n_k"].sum() == pytest.approx(corpus.n_tokens, **CLOSE)
        if "n_dk" in tables:
            assert tables["n_dk"].sum(axis=1) == pytest.approx(by_doc, **CLOSE)
            assert tables["n_dk"].sum(axis=0) == pytest.approx(tables["n_k"], **CLOSE)


def test_no_count_is_negative(bench: Bench, corpus: Corpus) -> None:
    for _, state, _ in walk(bench, corpus, 20):
        tables = tables_of(state, lambda name: name.startswith("n_") or name in NEVER_NEGATIVE)
        if not tables:
            pytest.skip("a state without tables of counts")
        for name, table in tables.items():
            assert np.min(table, initial=0) >= -1e-4, name


def test_info_is_plain_finite_numbers(bench: Bench, corpus: Corpus) -> None:
    infos = [info for _, _, info in walk(bench, corpus) if info is not None]
    assert len(infos) == 6
    for info in infos:
        assert isinstance(info, bench.module.Info)
        written = json.loads(files.to_json(info._asdict()))
        for name, value in info._asdict().items():
            assert isinstance(value, int | float | np.number), name
            assert math.isfinite(value), name
            assert isinstance(written[name], int | float) and written[name] == value, name


def test_state_holds_arrays_numbers_and_strings_only(bench: Bench, corpus: Corpus) -> None:
    for _, state, _ in walk(bench, corpus):
        one = state.now[0] if hasattr(state, "now") else state
        if bench.module.pieces is not None:
            scratch = bench.module.pieces.Local._field_defaults
            assert all(getattr(one.local.state_of(0), name) is None for name in scratch)
        for name, value in leaves(state):
            if isinstance(value, np.ndarray):
                # An array without dimensions would come back from a checkpoint as a number.
                assert value.dtype.kind in "biufU" and value.ndim, name
            else:
                assert isinstance(value, int | float | str | np.number), name


def test_same_seed_same_bits(bench: Bench, corpus: Corpus) -> None:
    assert bits(bench.fit(corpus, seed=1)[1]) == bits(bench.fit(corpus, seed=1)[1])


@of_those(lambda bench: bench.tells_documents_apart)
def test_other_seed_other_bits(bench: Bench, corpus: Corpus) -> None:
    assert bits(bench.fit(corpus, seed=1)[1]) != bits(bench.fit(corpus, seed=2)[1])


def test_input_corpus_is_not_changed(bench: Bench, corpus: Corpus) -> None:
    counts = corpus.counts
    before = [array.tobytes() for array in (counts.data, counts.indices, counts.indptr)]
    summary = bench.summarise(corpus)
    bench.infer(summary, corpus)
    assert [a.tobytes() for a in (counts.data, counts.indices, counts.indptr)] == before


def test_reading_a_state_does_not_change_it(bench: Bench, corpus: Corpus) -> None:
    data, state = bench.fit(corpus)
    before = bits(state)
    bench.objective(state, data)
    bench.summary_of(state, data)
    assert bits(state) == before


def ends(bench: Bench, corpus: Corpus, engine: Engine) -> tuple[object, ...]:
    """Return the final bytes of a fit, and its messages."""
    data, state = bench.fit(corpus, engine=engine)
    summary = bench.summary_of(state, data, engine)
    told = (summary.theta.data.tobytes(), summary.tree.phi.tobytes())
    return bits(state), bench.objective(state, data, engine), *told


@of_those(lambda bench: bench.module.out_of_core)
def test_shards_end_in_the_bytes_of_the_corpus(
    bench: Bench, corpus: Corpus, tmp_path: Path
) -> None:
    shelf = write_bags(corpus, tmp_path / "a.shards").shelf
    in_files: Any = replace(shelf, room=Room(tmp_path))
    for several in (1, 3):
        other = bench.having(f"inference.shards={several}")
        assert ends(other, in_files, Workers()) == ends(other, corpus, Workers())


@pytest.mark.slow
@pytest.mark.parametrize("shards", [1, 3])
def test_workers_change_no_bit(
    bench: Bench, corpus: Corpus, processes: Processes, shards: int
) -> None:
    """On one thread, on some, and in two processes between which all that crosses is pickled."""
    sharded = bench.having(f"inference.shards={min(shards, bench.most_shards)}")
    told = []
    for workers in (1, 2, 4):
        with Workers(workers) as engine:
            told.append(ends(sharded, corpus, engine))
    told.append(ends(sharded, corpus, processes))
    assert told[0] == told[1] == told[2] == told[3]


@pytest.mark.slow
@of_those(lambda bench: bench.most_shards > 1 and bench.counts_tokens)
def test_shards_conserve_tokens(bench: Bench, corpus: Corpus) -> None:
    for shards in (2, 3, 40):
        summary = bench.having(f"inference.shards={shards}").summarise(corpus)
        assert summary.tree.n_tokens.sum() == pytest.approx(bench.seen(corpus).n_tokens, **CLOSE)


def test_an_iteration_can_be_replayed_alone(bench: Bench, corpus: Corpus) -> None:
    """All that iteration 5 needs is the state after 4 and the number 5: nothing is carried."""
    _, kept = bench.fit(corpus, 4)
    data, state = bench.fit(corpus, 5)
    fresh = bench.prepare(corpus)
    assert bits(bench.step(kept, fresh, 5)[0]) == bits(state)


@of_those(lambda bench: bench.module.sampler)
def test_two_iterations_draw_differently(bench: Bench, corpus: Corpus) -> None:
    """A sampler that took the same generator at each iteration would repeat itself."""
    data, state = bench.fit(corpus, 4)
    fifth = bench.step(copy.deepcopy(state), data, 5)[0]
    assert bits(bench.step(state, data, 6)[0]) != bits(fifth)


@pytest.mark.parametrize("reached", [0, 4])
def test_checkpoint_and_step_equals_step(
    reached: int, bench: Bench, corpus: Corpus, tmp_path: Path
) -> None:
    data, state = bench.fit(corpus, reached)
    run = RunDir(tmp_path / "run")
    run.create()
    save_checkpoint(run, reached, state, "stamp")
    fitted = StateOrigin(bench.module, bench.settings, "stamp", corpus)
    found = load_checkpoint(run, fitted)
    assert found is not None and found[0] == reached
    fresh = bench.prepare(corpus)
    loaded = bench.restored(found[1], fresh)
    assert bits(loaded) == bits(state)
    after_loading = bench.step(loaded, fresh, reached + 1)
    assert bits(after_loading[0]) == bits(bench.step(state, data, reached + 1)[0])


def test_objective_is_a_finite_float(bench: Bench, hard_corpus: Corpus) -> None:
    for data, state, _ in walk(bench, hard_corpus):
        value = bench.objective(state, data)
        assert isinstance(value, float) and math.isfinite(value)


@of_those(lambda bench: bench.module.monotone(bench.settings))
def test_promised_objective_never_falls(promising: Bench, corpus: Corpus) -> None:
    """Between structural moves, which Info then reports as ``structural``."""
    bench = promising
    before, n_compared = -math.inf, -1
    for data, state, info in walk(bench, corpus, 30):
        now = bench.objective(state, data)
        if not getattr(info, "structural", 0):
            assert now >= before - 1e-9 * abs(now)
            n_compared += 1
        before = now
    assert n_compared > 1


def rows_of(
    corpus: Corpus, order: list[int], n_rows: int, lists: list[np.ndarray[Any, Any]]
) -> np.ndarray[Any, Any] | None:
    """Return where the rows of an array go if documents are put in ``order``; None: nowhere.

    Rows are known by their number: one per document, per pair, per token or per author, or as many
    as entries of the documents' lists.
    """
    assert corpus.groups is not None
    per_author = np.diff(corpus.groups.members.indptr)
    per_pair = np.diff(corpus.counts.indptr)
    ones = np.ones(corpus.n_docs, dtype=int)
    for sizes in (ones, per_pair, corpus.doc_lengths, per_author, *lists):
        if sizes.sum() == n_rows:
            ends = np.cumsum(sizes)
            return np.concatenate([np.arange(ends[d] - sizes[d], ends[d]) for d in order])
    return None


@of_those(lambda bench: bench.tells_documents_apart)
def test_objective_does_not_depend_on_the_order_of_documents(bench: Bench, corpus: Corpus) -> None:
    if bench.module.observes == "vectors":
        bench = bench.having("inference.mode=meanfield")  # else no array has a row per document
    data, state = bench.fit(corpus)
    assert corpus.groups is not None
    n_links = corpus.groups.members.nnz
    sizes = [corpus.n_docs, corpus.n_pairs, corpus.n_tokens, corpus.n_words, n_links, 5, 4]
    assert len(set(sizes)) == len(sizes)  # else a row's meaning could not be told
    order = np.random.default_rng(0).permutation(corpus.n_docs).tolist()
    arrays = to_arrays(state)
    firsts = [name for name in arrays if name.split(".")[-1].startswith("first_")]
    lists = [np.diff(arrays[name]) for name in firsts]  # where lists of documents begin
    has_rows = False
    for name, array in arrays.items():
        if name in firsts:
            arrays[name] = np.concatenate([[0], np.cumsum(np.diff(array)[order])])
            continue
        rows = rows_of(corpus, order, len(array), lists) if array.ndim else None
        if rows is not None:
            has_rows = True
            arrays[name] = np.ascontiguousarray(array[rows])
    reordered = bench.prepare(corpus.select(order))
    moved = bench.restored(arrays, reordered)
    assert (bits(moved) != bits(state)) == has_rows
    expected = bench.objective(state, data)
    assert bench.objective(moved, reordered) == pytest.approx(expected, rel=1e-5)


@of_those(lambda bench: bench.module.observes != "bits")
def test_a_longer_corpus_has_a_lower_chance(bench: Bench) -> None:
    """The objective counts a pair's tokens: twelve of one word are not one of it."""
    once, often = corpus_of([[1, 1], [1, 1]]), corpus_of([[12, 1], [1, 12]])
    values = [bench.objective(*reversed(bench.fit(corpus))) for corpus in (once, often)]
    assert values[0] != pytest.approx(values[1], rel=1e-3)
