"""Seed words of hlda-gibbs: a document that is held on a path of its own (theory/ncrp 5.1)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from gibbs_cases import hyper_of, levels_of, paths_of
from naive_gibbs import posterior, relabelled
from ncrp_geweke import joint_test
from nights import by_night
from partial_cases import one_generator
from stepping import at, corpus_of, docs_of, settings_of

from hiertopics.base.arrays import Bools
from hiertopics.contract.model import Sizes
from hiertopics.contract.registry import load
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.seedwords import Seeds
from hiertopics.families.flat.token_layout import Data, lay_out
from hiertopics.families.ncrp.sampler import backend as gibbs, chain_kernels, chains, partial
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Hyperparameters

FLAT = corpus_of([[1, 1], [0, 2]])
FLAT_PRIOR = Hyperparameters(np.array([1.2, 0.9]), 0.8, 0.4)
DEEP = corpus_of([[2, 0], [0, 1]])
DEEP_PRIOR = Hyperparameters(np.array([0.8, 1.2, 0.6]), 0.7, 0.5)
N_SWEEPS = 20_000


def seeds_of(words: list[int], names: list[int], weight: int = 1) -> Seeds:
    """Return seed words, the name of each by number."""
    named = tuple(f"name {number}" for number in sorted(set(names)))
    return Seeds(named, np.array(words, np.int64), np.array(names, np.int64), weight)


ONE, TWO = seeds_of([1], [0], 2), seeds_of([0, 1], [0, 1], 1)


def exact(corpus: Corpus, prior: Hyperparameters, seeds: Seeds) -> dict[Any, float]:
    """Return the posterior of documents and names as documents, given where names are.

    By the list of all trees and levels: each name on a path of its own, its tokens at level 1.
    """
    n_names = len(seeds.names)
    held = [np.repeat(seeds.word[seeds.name == name], seeds.weight) for name in range(n_names)]
    docs = [*map(np.ndarray.tolist, held), *docs_of(corpus)]
    found: dict[Any, float] = {}
    for (paths, levels), chance in posterior(docs, hyper_of(prior, corpus.n_words)).chances.items():
        alone = len({path[0] for path in paths[:n_names]}) == n_names
        if alone and all(level == 1 for own in levels[:n_names] for level in own):
            found[paths, levels[n_names:]] = chance
    total = sum(found.values())
    return {key: chance / total for key, chance in found.items()}


def begun(corpus: Corpus, prior: Hyperparameters, seeds: Seeds) -> tuple[Data, Chain]:
    data = lay_out(corpus)._replace(seeds=seeds)
    return data, chains.sequential(data, prior, np.random.default_rng(0))


def distance(corpus: Corpus, prior: Hyperparameters, seeds: Seeds, moves: str) -> float:
    """Return the total variation between visits of a run and the posterior."""
    n_sweeps = N_SWEEPS if corpus is FLAT else 4 * N_SWEEPS  # by the number of states
    data, chain = begun(corpus, prior, seeds)
    rng, shards = np.random.default_rng(5), one_generator(11)
    missing: dict[Any, float] = defaultdict(float, exact(corpus, prior, seeds))
    paths = np.empty((n_sweeps, *chain.path.shape), np.int32)
    levels = np.empty((n_sweeps, data.n_tokens), np.int8)
    for turn in range(n_sweeps):
        if moves == "partial":
            chain = partial.sweep(data, chain, prior, shards)
        else:
            chain = chains.sweep(data, chain, prior, rng)
        if moves == "all":
            chain = chains.graft(data, chains.leap(data, chain, prior, rng), prior, rng)
        paths[turn], levels[turn] = chains.slots(chain), chain.level
    held = np.outer(np.arange(len(seeds.names)), np.arange(len(prior.level)) > 0)
    rows = np.concatenate([paths.reshape(n_sweeps, -1), levels], axis=1)
    for row, times in zip(*np.unique(rows, axis=0, return_counts=True), strict=True):
        path = np.vstack([held, row[: paths[0].size].reshape(paths[0].shape)])
        own = map(tuple, levels_of(corpus, row[paths[0].size :]))
        missing[relabelled(paths_of(path)), tuple(own)] -= times / n_sweeps
    return sum(map(abs, missing.values())) / 2


CASES = {
    "sweeps, one name": (FLAT, FLAT_PRIOR, ONE, "sweep"),
    "sweeps, two names": (FLAT, FLAT_PRIOR, TWO, "sweep"),
    "all moves, three levels": (DEEP, DEEP_PRIOR, ONE, "all"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_state_is_visited_as_often_as_the_posterior_says(case: Any) -> None:
    assert distance(*case) < 0.035


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [(FLAT, FLAT_PRIOR, TWO, "partial"), (DEEP, DEEP_PRIOR, ONE, "partial")]
)
def test_side_by_side_too(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each day the joint test below has names and shards."""
    monkeypatch.setattr(partial, "SEATED", 0.1)
    assert distance(*case) < 0.035


def with_two_seats(seeds: Seeds, chain: Chain) -> None:
    """Count each name as two documents of the tree."""
    right_hold(seeds, chain)
    for first in chain.first[1:-1]:
        chain.visits[first + seeds.first_topics] += 1


def without_totals(seeds: Seeds, chain: Chain) -> None:
    right_hold(seeds, chain)
    chain.n_k[:] -= seeds.totals(len(chain.n_k), chain.first[1] + seeds.first_topics)


def nothing_held(seeds: Seeds, chain: Chain) -> Bools:
    return np.zeros(len(chain.visits), bool)


right_hold = chains.hold


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "name", "wrong", "case"),
    [
        (chains, "hold", with_two_seats, CASES["sweeps, two names"]),
        (chains, "hold", without_totals, CASES["sweeps, one name"]),
        *by_night((chains, "is_held", nothing_held, CASES["all moves, three levels"])),
    ],
    ids=["seats", "totals", "grafts"],
)
def test_wrong_samplers_are_told_apart(
    where: Any, name: str, wrong: Any, case: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, wrong)
    assert distance(*case) > 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys",
    [{"leap_every": 2, "graft_every": 1}, {"collapse": "partial", "shards": 2, "graft_every": 2}],
    ids=["full", "partial"],
)
def test_prior_draws_stay_prior_draws(keys: dict[str, Any]) -> None:
    """Seed words are drawn anew as all words are, and gamma and eta are learned from them too."""
    outcome = joint_test(n_replicates=300, seed=1, seeds=seeds_of([0, 0, 0], [0, 0, 1]), **keys)
    assert outcome.largest_z < 4.0, outcome
    assert outcome.smallest_p > 1e-3, outcome


@pytest.mark.nightly
@pytest.mark.slow
def test_the_joint_test_sees_forgotten_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "hold", without_totals)
    seeds = seeds_of([0, 0, 0], [0, 0, 1], 2)
    assert joint_test(n_replicates=300, seed=1, seeds=seeds, leap_every=0).largest_z > 5.0


WORDS = 24


def planted() -> Corpus:
    """Return documents of one of four subjects of five words each, two of which share four more."""
    rng, rows = np.random.default_rng(2), np.zeros((80, WORDS), np.int64)
    for doc, row in enumerate(rows):
        row += np.bincount(5 * (doc % 4) + rng.integers(0, 5, 14), minlength=WORDS)
        row += np.bincount(20 + rng.integers(0, 4, 6), minlength=WORDS)
    return corpus_of(rows)


NAMES = {"third": ["w10", "w11"], "first": ["w0", "w1"]}


def fitted(corpus: Corpus, n_iterations: int = 30, **keys: Any) -> tuple[Any, Any, Any, Any]:
    settings = settings_of(gibbs.backend, seeds=NAMES, seed_weight=2, **keys)
    backend: Any = load("hlda-gibbs", inference=settings.inference)
    data = backend.prepare(corpus, settings)
    state = backend.init(data, settings, at(0))
    for iteration in range(1, n_iterations + 1):
        state, _ = backend.step(state, data, settings, at(iteration))
    return state.now[0], data, settings, backend.summarise(state, data, settings, at(n_iterations))


STARTS: list[dict[str, Any]] = [
    {},
    {"collapse": "partial"},
    {"eta": 0.05, "depth": 2},
    {"hold": ("level_prior",)},
]


@pytest.mark.parametrize("keys", STARTS)
def test_named_branches_hold_their_documents(keys: dict[str, Any]) -> None:
    corpus = planted()
    state, data, settings, summary = fitted(corpus, **keys)
    node = {name: node for node, name in summary.names.items()}
    assert set(node) == {"third", "first"}
    tree = summary.tree
    assert all(tree.parent[place] == 0 for place in node.values())
    paths = summary.paths.node
    for name, subject in (("third", 2), ("first", 0)):
        own = (paths == node[name]).any(axis=1)
        assert own[subject::4].mean() > 0.9 and own.mean() < 0.35
    assert tree.n_tokens.sum() == pytest.approx(corpus.n_tokens)
    words = corpus.counts.toarray()
    for place in node.values():
        assert tree.n_docs[place] == (paths == place).any(axis=1).sum()
        assert tree.n_tokens[place] <= words[(paths == place).any(axis=1)].sum()
    joint = chain_kernels.log_joint(state.chain, state.prior)
    assert gibbs.objective(state, data, settings, at(0)) == pytest.approx(joint, abs=1e-6)


def test_phi_has_the_prior() -> None:
    state, data, _, summary = fitted(planted(), summarise="last")
    chain, eta = state.chain, state.prior.eta
    for number, name in enumerate(data.seeds.names):
        (node,) = (node for node, called in summary.names.items() if called == name)
        row = chain.n_wk[:, chain.first[1] + number] + eta
        assert summary.tree.phi[node] == pytest.approx(row / row.sum())
        assert row[data.seeds.word[data.seeds.name == number]].min() >= 2
        size = chain.n_k[chain.first[1] + number] - 4
        assert summary.tree.n_tokens[node] == size


def test_counts_made_anew_are_those_that_were_moved() -> None:
    """Over a widening of columns and all moves; names keep their columns."""
    rng = np.random.default_rng(3)
    data = lay_out(planted())._replace(seeds=seeds_of([0, 10], [0, 1], 3))
    prior = Hyperparameters(np.ones(3), 40.0, 0.1)
    chain = chains.sequential(data, prior, rng)
    for _ in range(3):
        chain = chains.graft(
            data, chains.leap(data, chains.sweep(data, chain, prior, rng), prior, rng), prior, rng
        )
    assert np.diff(chain.first)[2] > chains.LINE
    again = chains.recounted(data, chains.slots(chain), chain.level)
    for one, other in zip(
        paths_of(chains.slots(chain)), paths_of(chains.slots(again)), strict=True
    ):
        assert one == other
    for number in range(2):
        for level in (1, 2):
            place = chain.first[level] + number, again.first[level] + number
            assert chain.visits[place[0]] == again.visits[place[1]] > 0
            assert (chain.n_wk[:, place[0]] == again.n_wk[:, place[1]]).all()
            assert chain.n_k[place[0]] == again.n_k[place[1]]
            above = chain.first[level - 1] + number * (level > 1)
            assert chain.parent[place[0]] == above
    assert chain.visits[0] == data.n_docs + 2 == chains.n_documents(data.seeds, chain)[0] + 2


def test_a_name_whose_branch_nobody_takes_is_told() -> None:
    corpus = corpus_of(np.hstack([np.full((6, 2), 9), np.eye(6, 1, dtype=np.int64)]))
    settings = settings_of(gibbs.backend, seeds={"void": ["w2"]}, seed_weight=100_000, gamma=0.01)
    data = gibbs.one.prepare(corpus, settings)
    slot = np.tile(np.array([0, 1, 1], np.int32), (6, 1))
    chain = chains.recounted(data, slot, np.zeros(corpus.n_tokens, np.int8))
    state = chains.begin(chain, gibbs.prior_of(settings.model))
    summary = gibbs.one.summarise(state, data, settings, at(0))
    assert not summary.names
    assert "the branch of the seed words 'void' has no token: it is left out" in summary.notes
    assert summary.tree.phi.sum(axis=1) == pytest.approx(1)
    mass = summary.tree.extra["log_mass"][:-1]
    assert np.exp(mass).sum() == pytest.approx(1)


def test_a_story_with_names_is_run_forwards() -> None:
    keys: dict[str, Any] = {"seeds": NAMES, "seed_weight": 100_000}
    settings = settings_of(gibbs.backend, **keys)
    _, truth = gibbs.simulate(settings, Sizes(30, 15, 12), at(0))
    assert truth["parent"][1:5].tolist() == [0, 0, 1, 2] and truth["depth"].max() == 2
    assert truth["phi"][1, [10, 11]].sum() > 0.99 and truth["phi"][2, [0, 1]].sum() > 0.99
