"""Partially collapsed sampling as a backend runs it: shards, workers, chains, what is said."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stepping
from gibbs_cases import random_chain, settings_of, varied_corpus
from stepping import at, begin
from test_tree_gibbs_kernels import assert_counts_are_recounts

from hiertopics.base.room import Room
from hiertopics.contract.chains import Chains
from hiertopics.contract.engine import Workers
from hiertopics.contract.states import from_arrays, to_arrays
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.shards import write_bags
from hiertopics.families.flat.token_layout import lay_out, part_of
from hiertopics.families.ncrp.sampler import backend as gibbs, chain_kernels, chains, partial
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Hyperparameters
from hiertopics.families.ncrp.sampler.chains import State
from hiertopics.runs.experiment import read_experiment

CORPUS = varied_corpus(n_docs=25, n_words=11)
PARTIAL = {"collapse": "partial", "gamma": 2.0}


def fitted(n: int, n_workers: int = 1, corpus: Corpus = CORPUS, **keys: Any) -> Chains[State]:
    """Return the state after ``n`` iterations."""
    settings = settings_of(**PARTIAL | keys)
    backend = sampler_of(settings.inference.collapse).backend
    with Workers(n_workers) as workers:
        state, data = begin(backend, corpus, settings, workers=workers)
        return stepping.advance(backend, state, data, settings, n, workers=workers)


def sampler_of(collapse: str) -> Any:
    """Return the module of the sampler for a setting."""
    return partial if collapse == "partial" else gibbs


def same(one: Any, other: Any) -> bool:
    """Return whether two states are equal to the last bit."""
    there = to_arrays(other)
    return all(np.array_equal(array, there[name]) for name, array in to_arrays(one).items())


def test_workers_change_no_bit_of_a_sharded_sweep() -> None:
    """Two chains, of three shards or of one each; more workers than either."""
    for shards in (3, 1):
        one = fitted(8, 1, shards=shards, chains=2)
        assert all(same(one, fitted(8, n, shards=shards, chains=2)) for n in (2, 4))


def test_shards_draw_other_numbers() -> None:
    """So that the test above compares what shards have drawn."""
    assert not same(fitted(8, shards=3), fitted(8))
    assert same(fitted(8, shards=3, collapse="full"), fitted(8, collapse="full"))


def test_every_shard_of_every_chain_has_random_numbers_of_its_own() -> None:
    found = []
    for chain in range(2):
        shards = partial.Shards(3, replace(at(1), chain=(chain,)))
        for purpose in ("words", "documents"):
            found += [rng.random() for _, rng in shards.parts(10, purpose)]
        found.append(shards.context.rng("words").random())
    assert len(set(found)) == len(found)


def test_shards_cover_everything_once() -> None:
    """As evenly as may be."""
    parts = [part for part, _ in partial.Shards(3, at(1)).parts(11, "words")]
    assert [place for part in parts for place in range(11)[part]] == list(range(11))
    assert {part.stop - part.start for part in parts} == {3, 4}


def test_more_shards_than_documents_or_words_do_no_harm() -> None:
    (state,) = fitted(5, shards=40).now
    chain = state.chain
    assert (np.unique(chain.path[:, 0]) == 0).all() and chain.n_k.sum() == CORPUS.n_tokens


def test_a_step_needs_nothing_but_the_state() -> None:
    """Topics and weights are forgotten: a state taken apart goes on as if it had not been."""
    settings = settings_of(**PARTIAL)
    data = gibbs.prepare(CORPUS, settings)
    (state,) = fitted(6).now
    copied = from_arrays(State, {name: a.copy() for name, a in to_arrays(state).items()})
    after = stepping.advance(
        partial.one, copied, gibbs.prepare(CORPUS, settings), settings, 4, start=6
    )
    assert same(stepping.advance(partial.one, state, data, settings, 4, start=6), after)


@pytest.mark.parametrize(("collapse", "n_notes"), [("full", 1), ("partial", 0)])
def test_shards_that_have_no_effect_are_reported(collapse: str, n_notes: int) -> None:
    settings = settings_of(collapse=collapse, shards=2)
    data = gibbs.prepare(CORPUS, settings)
    one = sampler_of(collapse).one
    notes = one.summarise(one.init(data, settings, at(0)), data, settings, at(0)).notes
    assert sum("shards" in note for note in notes) == n_notes


def test_the_commented_config_has_the_defaults() -> None:
    path = Path(__file__).parents[2] / "configs" / "hlda-gibbs.yaml"
    assert read_experiment({}, path) == read_experiment({"backend": "hlda-gibbs"})


def trace(collapse: str, n_sweeps: int) -> Any:
    """Return log joint and number of nodes after each sweep [n_sweeps, 2], the first ones left."""
    settings = settings_of(collapse=collapse, level_prior=[2.0, 1.0, 1.5], gamma=1.2, eta=0.4)
    data = gibbs.prepare(CORPUS, settings)
    state, rng = gibbs.init(data, settings, at(0)), np.random.default_rng(4)
    chain, prior = state.chain, state.prior
    found = np.empty((n_sweeps, 2))
    for turn in range(n_sweeps):
        chain = step(collapse, data, chain, prior, turn, rng)
        found[turn] = chain_kernels.log_joint(chain, prior), (chain.visits > 0).sum()
    return found[n_sweeps // 10 :]


def step(
    collapse: str, data: Any, chain: Chain, prior: Hyperparameters, turn: int, rng: Any
) -> Chain:
    """Return the chain after a sweep."""
    if collapse == "full":
        return chains.sweep(data, chain, prior, rng)
    return partial.sweep(data, chain, prior, partial.Shards(2, at(turn)))


@pytest.mark.nightly
@pytest.mark.slow
def test_both_sweeps_have_the_same_posterior() -> None:
    """Means of log joint and number of nodes, on a corpus too large to enumerate."""
    means, variances = [], []
    for collapse, n_sweeps in (("full", 12_000), ("partial", 6_000)):
        batches = trace(collapse, n_sweeps).reshape(30, -1, 2).mean(axis=1)
        means.append(batches.mean(axis=0))
        variances.append(batches.var(axis=0, ddof=1) / len(batches))
    scores = (means[0] - means[1]) / np.sqrt(variances[0] + variances[1])
    assert abs(scores).max() < 3.0, scores


def test_documents_read_in_files_have_the_words_of_those_in_memory(tmp_path: Path) -> None:
    """What crosses to another process is read there, or goes along."""
    shelf = replace(write_bags(CORPUS, tmp_path / "a.shards").shelf, room=Room(tmp_path))
    docs, found = np.array([3, 4, 9, 20, 24]), []
    for corpus in (CORPUS, shelf):
        part = part_of(lay_out(corpus), docs)
        for one in (part, pickle.loads(pickle.dumps(part))):
            found.append([[array.tolist() for array in words] for _, words in one.blocks()])
    assert found[0] == found[1] == found[2] == found[3]
    assert pickle.loads(pickle.dumps(part)).words is None
    (words,) = found[0]
    rows = CORPUS.counts[docs]
    assert words[1] == rows.indices.tolist()
    assert np.diff(words[2]).tolist() == rows.data.tolist()


def test_further_documents_join_a_chain_whose_own_stay(tmp_path: Path) -> None:
    """On their paths, with the levels of their tokens; all counts are recounts."""
    settings, few = settings_of(**PARTIAL), CORPUS.select(range(15))
    (state,) = fitted(6, corpus=few).now
    assert gibbs.one.extend_state is not None
    data = gibbs.prepare(CORPUS, settings)
    more = gibbs.one.extend_state(to_arrays(state), data, settings, at(0))
    own, chain = state.chain, more.chain
    np.testing.assert_array_equal(chains.slots(chain)[:15], chains.slots(own))
    np.testing.assert_array_equal(chain.level[: len(own.level)], own.level)
    assert_counts_are_recounts(data, chain)
    assert len(np.unique(chain.path[15:, -1])) > 1 and (chain.level >= 0).all()
    again = gibbs.one.extend_state(to_arrays(state), data, settings, at(0))
    assert same(more, again)


def test_tasks_depend_on_their_messages_alone() -> None:
    """What goes to a shard and comes back may be pickled: other processes give the same draws."""

    class Pickling(Workers):
        def map(self, function: Any, items: Iterable[Any]) -> list[Any]:
            crossed = pickle.loads(pickle.dumps((function, list(items))))
            return pickle.loads(pickle.dumps([crossed[0](item) for item in crossed[1]]))

    ends = []
    for workers in (Workers(), Pickling()):
        data, chain, prior = random_chain(CORPUS, 3, n_sweeps=0)
        for turn in range(3):
            shards = partial.Shards(3, at(turn, workers=workers))
            chain = partial.sweep(data, chain, prior, shards)
        ends.append((chain.path.tobytes(), chain.level.tobytes(), chain.n_wk.tobytes()))
    assert ends[0] == ends[1]
