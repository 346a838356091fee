"""Seed words: a branch's asymmetric prior, from the start to new documents (theory/nhdp 2.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import joint
import numpy as np
import pytest
from joint import Outcome, Story
from naive_nhdp import T5, assignments, counts
from nhdp_cases import mixing_of, naive_of, random_mixing, random_resp, resp_of, state_of, swept
from nhdp_geweke import (
    EXPONENTIAL,
    LEARNED,
    LENGTHS,
    N_WORDS,
    STATISTICS,
    draw_nodes,
    draw_shared,
    exponentials,
    learned,
    measure,
)
from numpy.typing import NDArray
from scipy.special import gammaln
from stepping import advance, at, corpus_of, settings_of

from hiertopics.base.arrays import F64, I64
from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Sizes
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.seedwords import Seeds
from hiertopics.families.flat.layout import Data, lay_out
from hiertopics.families.nhdp import (
    flat_starts,
    gibbs,
    shape_trials,
    starts,
    summary as common,
    variational,
)
from hiertopics.families.nhdp.hanging import ScoredTree
from hiertopics.families.nhdp.prediction import infer
from hiertopics.families.nhdp.shape_trials import counted, log_words, merge, pairs_of
from hiertopics.families.nhdp.shapes import Usage, arrange, find, find_within, ward

ETA = 0.5
N_SWEEPS = 12_000
BACKENDS = [variational, gibbs]


def seeds_of(n_words_of: list[int], words: list[int], weight: int = 2) -> Seeds:
    """Return seed words of so many each, one name behind the other."""
    names = tuple(f"name {number}" for number in range(len(n_words_of)))
    name = np.repeat(np.arange(len(names)), n_words_of)
    return Seeds(names, np.array(words, np.int64), name, weight)


TINY = seeds_of([1, 2], [1, 0, 2])
OF_NODES = np.zeros((5, 3))
OF_NODES[1, 1] = OF_NODES[2, [0, 2]] = 2


def no_totals(self: Seeds, n_topics: int, topics: Any = None) -> I64:
    """Forget seed words in the denominators."""
    return np.zeros(n_topics, np.int64)


def no_counts(self: Seeds, n_wk: Any, topics: Any = None) -> None:
    """Forget seed words in the counts."""


def one_lower(self: Seeds) -> I64:
    """Take a topic's number for that of its branch."""
    return self.first_topics


WRONG: dict[str, tuple[str, Any]] = {
    "no totals": ("totals", no_totals),
    "no counts": ("add_to", no_counts),
    "the node before": ("branches", property(one_lower)),
}


def log_joint(z: tuple[int, ...], words: list[int], chance_of: dict[Any, float]) -> float:
    """Return log p(w, seed words, z) of two documents of three tokens."""
    n_iw = OF_NODES.copy()
    np.add.at(n_iw, (list(z), words), 1)
    topics = (gammaln(ETA + n_iw) - gammaln(ETA)).sum()
    topics -= (gammaln(3 * ETA + n_iw.sum(axis=1)) - gammaln(3 * ETA)).sum()
    return float(topics + chance_of[z[:3]] + chance_of[z[3:]])


def two_documents() -> tuple[Any, gibbs.Data]:
    """Return the state of all tokens at the root, under seed words, and its data."""
    cells = lay_out(corpus_of([[2, 1, 0], [0, 1, 2]]), 1, np.float64, tokens=True)
    data = gibbs.Data(cells, cells._replace(seeds=TINY))
    return gibbs.with_nodes(np.zeros(6, np.int32), mixing_of(T5), ETA, data.tokens, at(0)), data


def exact() -> F64:
    """Return the chances of all 15,625 assignments."""
    chance_of = {z: T5.log_chance(counts(z, 5)) for z in assignments(3, 5)}
    logs = [log_joint(z, [0, 0, 1, 1, 2, 2], chance_of) for z in assignments(6, 5)]
    chances = np.exp(np.array(logs) - max(logs))
    return np.asarray(chances / chances.sum())


def z_scores(n_sweeps: int) -> F64:
    """Return how far visits of nodes are from the enumerated ones, in standard errors."""
    states = np.array(list(assignments(6, 5)))
    wanted = (exact()[:, None, None] * (states[:, :, None] == np.arange(5))).sum(axis=0)
    state, data = two_documents()
    found = np.zeros((n_sweeps, 6, 5))
    for iteration in range(n_sweeps):
        gibbs.sweep(state, data.tokens, at(iteration + 1))
        found[iteration, np.arange(6), state.z] = 1
    batches = found.reshape(50, -1, 6, 5).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / np.sqrt(50)
    return np.asarray((batches.mean(axis=0) - wanted) / error)


@pytest.mark.slow
def test_tokens_are_at_nodes_as_often_as_the_posterior_says() -> None:
    scores = z_scores(N_SWEEPS)
    assert np.abs(scores).max() < 4.2, scores
    assert np.sqrt((scores**2).mean()) < 1.5, scores


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("name", "wrong"), WRONG.values(), ids=WRONG)
def test_samplers_that_forget_seed_words_are_rejected(
    name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Seeds, name, wrong)
    assert np.abs(z_scores(N_SWEEPS // 2)).max() > 6


def test_the_objective_is_the_log_joint_of_words_and_seed_words() -> None:
    state, data = two_documents()
    settings = settings_of(gibbs, eta=ETA)
    for iteration in range(5):
        gibbs.sweep(state, data.tokens, at(iteration + 1))
        z = tuple(state.z.tolist())
        chance_of = {part: T5.log_chance(counts(part, 5)) for part in (z[:3], z[3:])}
        wanted = log_joint(z, [0, 0, 1, 1, 2, 2], chance_of)
        assert gibbs.objective(state, data, settings, at(0)) == pytest.approx(wanted, abs=1e-9)


def joint_test(n_replicates: int) -> Outcome:
    """Run replicates of the backend's own step; seed words are drawn anew as all words are."""
    settings = settings_of(gibbs)
    bare = gibbs.prepare(corpus_of([[length, 0, 0] for length in LENGTHS]), settings)
    # Drawn in place; of two tokens of a word the arrays may name it twice, so each has a name.
    seeds = seeds_of([1, 1], [0, 0], 1)
    data = gibbs.Data(bare.pairs, bare.tokens._replace(seeds=seeds))
    z = np.zeros(sum(LENGTHS), np.int32)
    state = gibbs.with_nodes(z, mixing_of(T5), ETA, data.tokens, at(0))

    def draw_words(state: Any, rng: np.random.Generator) -> None:
        nodes = np.concatenate([state.z, seeds.branches[seeds.name]]).astype(np.int32)
        words = np.zeros(len(nodes), np.int32)
        state.n_wk[:] = 0
        joint.draw_words(nodes, np.full(N_WORDS, state.eta), words, state.n_wk, rng)
        data.tokens.cells.word[:] = words[: len(z)]
        seeds.word[:] = words[len(z) :]

    def begin(state: Any, rng: np.random.Generator) -> None:
        draw_shared(state, rng)
        state.z[:] = draw_nodes(state.mixing, rng)
        fresh = gibbs.with_nodes(state.z, state.mixing, state.eta, data.tokens, at(0))
        state.n_dk[:] = fresh.n_dk
        state.n_k = fresh.n_k
        draw_words(state, rng)

    def all_of(state: Any) -> list[float]:
        log_joint = gibbs.objective(state, data, settings, at(0))
        return [*measure(state), *learned(state, log_joint)]

    story = Story(
        gibbs.backend,
        state,
        data,
        settings,
        names=(*STATISTICS, *LEARNED),
        begin=begin,
        words=draw_words,
        measure=all_of,
        exponential_names=EXPONENTIAL,
        exponentials=exponentials,
    )
    return joint.joint_test(story, n_replicates=n_replicates, n_rounds=8)


@pytest.mark.slow
def test_prior_draws_stay_prior_draws() -> None:
    outcome = joint_test(600)
    assert outcome.largest_z < 4.0, outcome
    assert outcome.smallest_p > 1e-3, outcome


@pytest.mark.nightly
@pytest.mark.slow
def test_the_joint_test_sees_forgotten_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Seeds, "totals", no_totals)
    assert joint_test(600).largest_z > 5.0


def some_data(n_shards: int = 1) -> Data:
    rng = np.random.default_rng(9)
    words = rng.poisson(0.9, (9, 12)) * rng.integers(1, 4, (9, 12))
    data = lay_out(corpus_of(words), n_shards, np.float64)
    return data._replace(seeds=seeds_of([2, 1], [0, 3, 3], 3))


def naive_sweep(mixing: Any, data: Data, r: F64) -> F64:
    """Visit each pair in its order; every count made anew before each, seed words among them."""
    tree, r, cells = naive_of(mixing), r.copy(), data.cells
    seeded = np.zeros((data.n_words, r.shape[1]))
    for word, name in zip(data.seeds.word, data.seeds.name, strict=True):
        seeded[word, 1 + name] += data.seeds.weight
    doc_of = np.repeat(np.arange(data.n_docs), cells.cuts[:, -1] - cells.cuts[:, 0])
    for pair, word in enumerate(cells.word):
        mine, its = doc_of == doc_of[pair], cells.word == word
        n = cells.tokens[mine] @ r[mine]
        prior = ETA + seeded
        topic = cells.tokens[its] @ r[its] - r[pair] + prior[word]
        topic /= cells.tokens @ r - r[pair] + prior.sum(axis=0)
        weights = tree.theta(*tree.without_token(n, tree.at_or_below(n), r[pair])) * topic
        r[pair] = weights / weights.sum()
    return r


@pytest.mark.parametrize("n_nodes", [5, 30])
@pytest.mark.parametrize("wrong", ["", *WRONG])
def test_the_sweep_equals_its_slow_twin(
    n_nodes: int, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if wrong:
        monkeypatch.setattr(Seeds, *WRONG[wrong])
    rng, data = np.random.default_rng(n_nodes), some_data()
    mixing = random_mixing(rng, n_nodes)
    r = random_resp(rng, len(data.cells.word), n_nodes)
    state = state_of(mixing, data, r)
    for _ in range(2):
        swept(state, data, 1, eta=ETA)
        r = naive_sweep(mixing, data, r)
    assert np.allclose(resp_of(state, data), r, rtol=0, atol=1e-11) is not bool(wrong)


def test_pieces_have_seed_words_once() -> None:
    rng, data = np.random.default_rng(0), some_data(3)
    state = state_of(random_mixing(rng, 7), data, random_resp(rng, len(data.cells.word), 7))
    swept(state, data, 2, eta=ETA)
    totals = state.n_k + [0, 6, 3, 0, 0, 0, 0]
    assert state.n_wk.sum(axis=0) == pytest.approx(totals)
    assert state.n_k.sum() == pytest.approx(data.doc_lengths.sum())


def is_below(parent: NDArray[Any], node: int, above: int) -> bool:
    while node > above:
        node = int(parent[node])
    return node == above


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("told", ["auto", [4, 9], []])
def test_each_name_is_a_child_of_the_root_with_its_topic_as_its_own(seed: int, told: Any) -> None:
    """Whatever the linkage says: here the first three topics are nearly the same."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(20, 0.2), 30)
    rows[:3] = 0.98 * rows[0] + 0.02 * rows[:3]
    merges, usage = ward(rows), Usage(np.full((5, 30), 1 / 30), np.full(30, 100.0))
    for n_named in range(4):
        tree = find(merges, usage, n_named) if told == "auto" else arrange(merges, told, n_named)
        assert tree.node[:n_named].tolist() == list(range(1, n_named + 1))
        assert (tree.shape.parent[tree.node[:n_named]] == 0).all()
        assert len(set(tree.node.tolist())) == 30
        leaves = np.setdiff1d(tree.shape.leaves, tree.node)
        assert not len(leaves) and (tree.shape.n_children[tree.shape.inner] > 0).all()
        others = np.setdiff1d(tree.shape.inner, tree.node)
        assert (tree.shape.n_children[others[1:]] > 1).all()


def test_topics_near_a_name_are_below_it() -> None:
    rows = np.kron(np.eye(3), np.ones((4, 1))) + 0.2 * np.random.default_rng(0).random((12, 3))
    rows = rows[[0, 4, *range(1, 4), *range(5, 12)]]  # the names' topics first
    rows /= rows.sum(axis=1, keepdims=True)
    for tree in (arrange(ward(rows), [3], 2), find_within(rows.argmax(axis=1), rows, 2)):
        assert tree.members[1].nonzero()[0].tolist() == [0, 2, 3, 4]
        assert tree.members[2].nonzero()[0].tolist() == [1, 5, 6, 7]


def test_trials_leave_named_branches_where_they_are() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = rng.poisson(0.5, (40, 9)).astype(float)
        n[:, 1:3] = 0.6 * n[:, 3:5]  # what would hang below others
        free, held = (ScoredTree(n, shape_trials.one_level(9), 1.0, 1.0, names) for names in (0, 2))
        for tree in (free, held):
            before = tree.total
            tree.improve()
            assert tree.total >= before
        assert held.parent[1:3].tolist() == [0, 0]
    order = shape_trials.rooted(
        shape_trials.TrialCounts(n, np.eye(9), n), 1.0, 1.0, 2
    ).words.argmax(axis=1)
    assert order[1:3].tolist() == [1, 2] and sorted(order.tolist()) == list(range(9))


def test_a_merge_gains_what_the_evidence_with_seed_words_does() -> None:
    """A node joins a named branch and takes over its prior; no named branch is ever gone."""
    rng = np.random.default_rng(6)
    data = lay_out(corpus_of(rng.integers(1, 3, (12, 6))), 1)
    data = data._replace(seeds=seeds_of([2, 1], [0, 1, 2], 4))
    pairs, parent = pairs_of(data), np.array([-1, 0, 0, 0, 1])
    q = rng.dirichlet(np.full(5, 0.4), len(pairs.doc)) + 0.2
    q /= q.sum(axis=1, keepdims=True)

    def evidence(q: F64, parent: I64) -> float:
        counts, seeded = counted(q, pairs, data), np.zeros((q.shape[1], 6))
        seeded[1, :2] = seeded[2, 2] = 4
        chance = ScoredTree(counts.n, parent, 1.0, 1.0).total
        chance += log_words(counts.words, 0.1, seeded).sum()
        return float(chance - pairs.tokens @ (q * np.log(q)).sum(axis=1))

    found = counted(q, pairs, data)
    tree = ScoredTree(found.n, parent, 1.0, 1.0, 2)
    seeded = np.zeros((5, 6))
    seeded[1, :2] = seeded[2, 2] = 4
    all_gains = shape_trials._gains(tree, found, pairs, 0.1, seeded)
    gains = {(gone, into): gain for gain, gone, into in all_gains}
    joined = np.delete(q, 3, axis=1)
    joined[:, 1] += q[:, 3]
    wanted = evidence(joined, np.array([-1, 0, 0, 1])) - evidence(q, parent)
    assert gains[3, 1] == pytest.approx(wanted)
    assert {gone for gone, _ in gains} == {3, 4}
    merged = merge(tree, found, pairs, data, 0.1)
    assert merged is not None and merged[0][1:3].tolist() == [0, 0]


def lumped() -> Corpus:
    """Return documents of four subjects of six words, and of ten words more; two share these.

    A small model takes these two for one.
    """
    rng, rows = np.random.default_rng(5), np.zeros((160, 54), np.int64)
    for subject, row in zip(SUBJECT.tolist(), rows, strict=True):
        more = np.arange(24, 34) + 10 * max(subject - 1, 0)
        row += np.bincount(6 * subject + rng.integers(0, 6, 20), minlength=54)
        row += np.bincount(rng.choice(more, 16), minlength=54)
    return corpus_of(rows)


SUBJECT = np.arange(160) % 4
NAMES = {"second": ["w6", "w8"], "first": ["w0", "w1"]}


def fitted(backend: Any, corpus: Corpus, seed: int = 0, **keys: Any) -> tuple[Any, Any, Any, Any]:
    """Return state, data, settings and summary of a fit."""
    settings = settings_of(backend, **{"start_iterations": 60, "truncation": 3, **keys})
    data = backend.prepare(corpus, settings)
    state = backend.init(data, settings, at(0, seed=seed))
    state = advance(backend, state, data, settings, 15, seed=seed)
    return state, data, settings, backend.summarise(state, data, settings, at(15, seed=seed))


def tops(summary: Any) -> I64:
    """Return the child of the root at and below which each document has most, int64 [n_docs]."""
    tree = summary.tree
    below = tree.below(summary.theta.toarray().T).T
    children = np.flatnonzero(tree.parent == 0)
    return np.asarray(children[below[:, children].argmax(axis=1)])


AS_GIVEN: dict[str, Any] = {"hold": ("eta", "stop"), "seed": 2}
"""Where eta is drawn the subjects come apart without names, else now and then: 2 of 12 seeds."""

CASES = [
    *((variational, {"start": start}) for start in ("words", "random")),
    *((gibbs, {"start": start, **AS_GIVEN}) for start in ("words", "random")),
    (variational, {"branches": [3]}),
    (variational, {"branches": [], "trials": 0}),
    (variational, {"responsibilities": "few"}),
]


@pytest.mark.parametrize(("backend", "keys"), CASES)
def test_named_branches_hold_what_a_fit_without_names_lumps_together(
    backend: Any, keys: dict[str, Any]
) -> None:
    corpus = lumped()
    plain = tops(fitted(backend, corpus, **keys)[-1])
    together = [np.bincount(plain[subject == SUBJECT]).argmax() for subject in (0, 1)]
    assert together[0] == together[1]
    named = {"seeds": NAMES, "truncation": 4, "seed_weight": 20}
    *_, summary = fitted(backend, corpus, **{**keys, **named})
    node = {name: node for node, name in summary.names.items()}
    assert node == {"second": 1, "first": 2}
    found = tops(summary)
    assert (found[SUBJECT == 0] == 2).mean() > 0.9 and (found[SUBJECT == 1] == 1).mean() > 0.9
    assert (found[SUBJECT >= 2] > 2).mean() > 0.9
    new = corpus_of(np.eye(54, dtype=np.int64)[[7, 2]] * 6)
    theta = summary.tree.below(
        infer(summary.tree, new, settings_of(backend), at(0)).theta.toarray().T
    )
    assert theta[1, 0] > 0.5 and theta[2, 1] > 0.5


def test_branches_that_are_found_first_have_names_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat_starts, "FEWEST_TOPICS", 8)
    keys: dict[str, Any] = {"start": "branches", "truncation": 9, "seeds": NAMES}
    *_, summary = fitted(variational, lumped(), **keys, seed_weight=20)
    found = tops(summary)
    assert summary.names == {1: "second", 2: "first"}
    assert (found[SUBJECT == 0] == 2).mean() > 0.9 and (found[SUBJECT == 1] == 1).mean() > 0.9


CLOSE: dict[bool, dict[str, Any]] = {False: {"abs": 1e-4}, True: {"rel": 1e-9}}
"""Counts of q(z) are kept in float32, counts of tokens exactly."""


@pytest.mark.parametrize("backend", BACKENDS)
def test_phi_has_the_prior_and_n_tokens_have_not(
    backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = lumped()
    keys: dict[str, Any] = {"seeds": NAMES, "truncation": 4, "seed_weight": 20}
    state, data, settings, summary = fitted(backend, corpus, **keys)
    tree = summary.tree
    assert summary.names == {1: "second", 2: "first"}
    assert tree.n_tokens.sum() == pytest.approx(corpus.n_tokens, rel=1e-4)
    drawn = backend is gibbs
    eta = state.eta if drawn else settings.model.eta
    assert tree.extra["eta"].tolist() == [eta]
    assert (eta != settings.model.eta) == drawn
    for node, words in ((1, [6, 8]), (2, [0, 1])):
        row = state.n_wk[:, node].astype(float) + eta
        assert tree.phi[node] == pytest.approx(row / row.sum(), **CLOSE[drawn])
        assert (state.n_wk[words, node] >= 20).all()
        size = state.n_k[node]
        assert tree.n_tokens[node] == pytest.approx(size, abs=0.01 * corpus.n_tokens)
    if backend is variational:
        monkeypatch.setattr(common, "MOST_ENTRIES", 0)
        again = backend.summarise(state, data, settings, at(15))
        assert again.tree.phi == pytest.approx(tree.phi) and again.names == summary.names


@pytest.mark.parametrize("entries", [0, 1 << 25])
def test_a_name_whose_branch_nobody_has_is_told(
    entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word of a single token under a weight that keeps all others away."""
    monkeypatch.setattr(common, "MOST_ENTRIES", entries)
    corpus = lumped()
    state, data, settings, _ = fitted(variational, corpus, seeds=NAMES, truncation=6)
    local = state.local.state_of(0)
    local.resp[:] = 0  # all tokens are at the root then
    first = local.first_node[:-1]
    for doc in range(corpus.n_docs):
        n_own = local.first_node[doc + 1] - first[doc]
        local.resp[local.first_resp[doc] : local.first_resp[doc + 1] : n_own] = 65535
    summary = variational.summarise(state, data, settings, at(15))
    assert not summary.names and summary.tree.n_nodes == 1
    for name in NAMES:
        assert (
            f"the branch of the seed words '{name}' has no token: it is left out" in summary.notes
        )
    words = np.asarray(corpus.counts.sum(axis=0)).ravel() + settings.model.eta
    assert summary.tree.phi[0] == pytest.approx(words / words.sum(), rel=1e-3)


def test_a_story_with_names_is_run_forwards() -> None:
    settings = settings_of(variational, truncation=5, seeds=NAMES, seed_weight=100_000)
    corpus, truth = variational.simulate(settings, Sizes(20, 15, 12), at(0))
    assert truth["parent"][1:3].tolist() == [0, 0]
    assert truth["phi"][1, [6, 8]].sum() > 0.99 and truth["phi"][2, [0, 1]].sum() > 0.99
    plain = settings_of(variational, truncation=5)
    assert variational.simulate(plain, Sizes(20, 15, 12), at(0))[1]["phi"][2, [0, 1]].sum() < 0.9


def test_further_documents_find_named_branches_as_they_were() -> None:
    state, _, settings, _ = fitted(variational, lumped(), seeds=NAMES, truncation=6)
    more = lumped().counts.toarray()
    longer = corpus_of(np.pad(np.vstack([more, more[:9]]), ((0, 0), (0, 3))))
    data = variational.prepare(longer, settings)
    before = {name: getattr(state, name) for name in ("n_wk", "parent", "share")}
    before |= {name: getattr(state, name) for name in ("concentration", "stop_a", "stop_b")}
    going = variational.extend_state(before, data, settings, at(0))
    totals = data.seeds.totals(len(going.n_k), data.seeds.branches)
    assert going.n_wk.sum(axis=0) == pytest.approx(going.n_k + totals, rel=1e-4)
    assert (going.n_wk[[6, 8], 1] >= 50).all() and (going.n_wk[[0, 1], 2] >= 50).all()


def test_a_consensus_has_no_names() -> None:
    corpus = lumped()
    _, _, settings, summary = fitted(variational, corpus, seeds=NAMES, truncation=6)
    again = variational.refit_on_tree(summary.tree, summary.theta, corpus, settings, at(0))
    assert not again.names
    assert "seed words are left out: no branch is that of a name" in again.notes


@pytest.mark.parametrize("start", ["words", "random", "branches"])
def test_workers_change_no_byte(start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat_starts, "FEWEST_TOPICS", 8)
    keys: dict[str, Any] = {"start": start, "start_iterations": 12, "truncation": 9, "shards": 2}
    settings = settings_of(variational, **keys, seeds=NAMES)
    data = variational.prepare(lumped(), settings)

    def end(n_workers: int) -> Any:
        with Workers(n_workers) as workers:
            state = starts.init(data, settings, at(0, workers=workers))
            return advance(variational, state, data, settings, 6, workers=workers)

    one, two = end(1), end(2)
    assert one.n_wk.tobytes() == two.n_wk.tobytes()
    assert one.share.tobytes() == two.share.tobytes()


MISTAKES: dict[str, Callable[[], Any]] = {
    "seeds names 3 topics, but truncation is 2": lambda: settings_of(
        variational, truncation=2, seeds={name: ["w0"] for name in "abc"}
    ),
    "seeds names 3 branches, but branches asks for 2 below the root": lambda: settings_of(
        gibbs, branches=[2, 9], seeds={name: ["w0"] for name in "abc"}
    ),
}


@pytest.mark.parametrize(("message", "made"), MISTAKES.items())
def test_more_names_than_branches_are_refused(message: str, made: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=message):
        made()
