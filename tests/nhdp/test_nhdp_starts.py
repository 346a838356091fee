"""The start, and what is written at the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nhdp_cases import random_mixing, resp_of
from stepping import advance, at, corpus_of, settings_of

from hiertopics.base.room import Room
from hiertopics.contract.states import to_arrays
from hiertopics.corpus.data.regrouping import joined
from hiertopics.corpus.data.tree import Tree
from hiertopics.families.flat.layout import counts_of, lay_out
from hiertopics.families.flat.variational import IN_FIXED_ORDER
from hiertopics.families.hdp import posteriors
from hiertopics.families.hdp.few import FEW, MOST_ENTRIES
from hiertopics.families.hdp.variational import cvb0
from hiertopics.families.nhdp import (
    dividing,
    document_kernels,
    documents,
    first_topics,
    starts,
    variational,
)
from hiertopics.families.nhdp.config import StopPrior, sized
from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.mixing import Mixing, below
from hiertopics.families.nhdp.shapes import ArrangedTopics
from hiertopics.families.nhdp.summary import (
    NhdpSummaryInput,
    Pruning,
    WordCounts,
    merge_extra,
    mixing_of,
    pruning,
    summarise,
    weigh,
)
from hiertopics.settings import history

RNG = np.random.default_rng(0)
TEXT = corpus_of(RNG.poisson(0.8, (20, 15)))


def test_a_drawn_start_is_a_fit_of_hdp_cvb0_of_the_same_seed() -> None:
    keys: dict[str, Any] = {"truncation": 6, "start_iterations": 25, "start": "random"}
    settings = settings_of(variational, **keys)
    data = lay_out(TEXT, 1, np.float64)
    found = first_topics.flat_topics(data, settings, at(0, seed=3), np.float64)
    flat = settings_of(cvb0, truncation=6)
    init: Any = cvb0.init
    state = init(data, flat, at(0, seed=3), np.float64)
    assert isinstance(state, posteriors.State)
    for iteration in range(1, 26):
        now = at(iteration, seed=3)
        posteriors.step(state, data, flat, now, IN_FIXED_ORDER, posteriors.IN_FIXED_ORDER)
    assert found.n_k.tolist() == state.n_k[state.n_k >= 1].tolist()


WIDE = corpus_of(np.random.default_rng(1).poisson(0.3, (40, 400)))
"""40 documents and words enough for 100 topics."""


@pytest.mark.parametrize(
    ("keys", "most"),
    [
        ({}, 20),
        ({"truncation": 30}, 30),
        ({"seeds": {f"name {n}": [f"w{n}"] for n in range(25)}}, 26),
    ],
)
def test_a_tree_has_half_as_many_leaves_as_documents_unless_told(
    keys: dict[str, Any], most: int
) -> None:
    """Whether found in clusters of words or drawn; names of seed words have leaves all the same."""
    for start in ("groups", "random"):
        told = settings_of(variational, start_iterations=0, start=start, trials=0, **keys)
        state = starts.init(variational.prepare(WIDE, told), told, at(0))
        assert len(state.mixing.shape.leaves) == most


def test_the_number_of_leaves_is_that_of_the_documents_trained_on() -> None:
    free = settings_of(variational)
    found = [sized(free, n_docs).model.truncation for n_docs in (1, 2, 999, 1000, 10**6)]
    assert found == [1, 1, 499, 500, 500]
    told = settings_of(variational, truncation=700)
    assert sized(told, 10) is told
    few, many = (corpus_of(np.ones((n, 10))) for n in (40, 1000))
    for corpus, n in ((few, 20), (many, 500)):
        same = settings_of(variational, truncation=n)
        assert variational.memory(corpus, free) == variational.memory(corpus, same)


@pytest.mark.parametrize("backend", ["nhdp-variational", "nhdp-gibbs"])
def test_runs_of_earlier_versions_keep_their_number_of_leaves(backend: str) -> None:
    """One that is given stays what it is."""
    meant = history.left_out({}, backend, 2)["model"]
    assert isinstance(meant, dict) and meant["truncation"] == 500
    meant = history.left_out({"model": {"truncation": 60}}, backend, 2)["model"]
    assert isinstance(meant, dict) and "truncation" not in meant


def test_topics_are_divided_as_the_page_says() -> None:
    """6.3, pair by pair; topic 4 is an inner node's own and lends nothing."""
    data = lay_out(TEXT, 3, np.float64)
    shape = shape_of(np.array([-1, 0, 0, 1, 1, 1]))
    arranged = ArrangedTopics(shape, np.array([3, 2, 4, 5, 1]), np.zeros(6, int))
    flat = first_topics.FlatTopics(
        RNG.dirichlet(np.ones(5), 20), RNG.dirichlet(np.ones(15), 5), np.array([9.0, 5, 3, 2, 7])
    )
    rho = 0.7
    settings = settings_of(variational, inner_share=rho, least=0)
    state = dividing.begin(flat, arranged, data, settings, at(0), np.float64)
    resp = resp_of(state, data)
    logs = {0: [0, 1, 2, 3, 4], 1: [0, 2, 3, 4]}
    h = {}
    for node, topics in logs.items():
        mean = flat.n_k[topics] @ np.log(flat.phi[topics] + 1e-7) / flat.n_k[topics].sum()
        h[node] = np.exp(mean) / np.exp(mean).sum()
    above = {3: (0, 1), 2: (0,), 4: (0, 1), 5: (0, 1)}
    starts_at = data.cells.cuts[:, 0]
    for pair, word in enumerate(data.cells.word):
        doc = int(np.searchsorted(starts_at, pair, side="right")) - 1
        q = flat.theta[doc] * flat.phi[:, word]
        q /= q.sum()
        expected = np.zeros(6)
        for topic, node in enumerate(arranged.node):
            if node == 1:
                expected[1] += q[topic]
                continue
            shared = {p: rho * h[p][word] / len(above[node]) for p in above[node]}
            own = (1 - rho) * flat.phi[topic, word]
            total = own + sum(shared.values())
            expected[node] += q[topic] * own / total
            for p, part in shared.items():
                expected[p] += q[topic] * part / total
        assert resp[pair] == pytest.approx(expected, abs=1e-10)


def test_a_start_says_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    settings = settings_of(variational, truncation=4, start_iterations=6)
    context = at(0)
    object.__setattr__(context, "report", lambda done, total: told.append((done, total)))
    starts.init(lay_out(TEXT, 1), settings, context)
    assert told == [(done, 6) for done in range(6)]


def test_nodes_without_a_token_are_one_with_their_parents() -> None:
    """6.5: no token is lost, shares of siblings sum to 1, a parent without children is a leaf."""
    mixing = random_mixing(np.random.default_rng(3), 16)
    shape = mixing.shape
    n = np.abs(RNG.normal(3, 1, (7, 16)))
    dead = [*range(*shape.children(int(shape.inner[-1])).indices(16)), int(shape.leaves[0])]
    n[:, dead] = 0.01
    words = RNG.dirichlet(np.ones(5), 16).T * n.sum(axis=0)
    left = pruning(mixing, n.sum(axis=0))
    n_di, n_wi = left.gather(n), left.gather(words)
    assert left.mixing.shape.n_nodes == 16 - len(set(dead))
    assert n_di.sum(axis=1) == pytest.approx(n.sum(axis=1))
    assert n_wi.sum() == pytest.approx(words.sum())
    passed = below(left.mixing.shape, n_di.sum(axis=0))
    assert (passed >= 1).all()
    kept = np.setdiff1d(np.arange(16), dead)
    assert passed == pytest.approx(below(shape, n.sum(axis=0))[kept])
    for node in left.mixing.shape.inner:
        assert left.mixing.share[left.mixing.shape.children(int(node))].sum() == pytest.approx(1)
    leaves = left.mixing.shape.leaves
    assert (left.mixing.concentration[leaves] == 0).all()
    assert (left.mixing.stop_b[leaves] == 0).all() and (left.mixing.stop_a[leaves] == 1).all()
    assert left.mixing.weights(n_di).sum(axis=1) == pytest.approx(1)


def test_what_is_written() -> None:
    mixing = random_mixing(np.random.default_rng(4), 7)
    n = RNG.poisson(3.0, (5, 7)).astype(float) + 1
    n[2] = 0
    words = RNG.dirichlet(np.ones(6), 7).T * n.sum(axis=0)
    summary = summarise(NhdpSummaryInput(mixing, n, lambda: WordCounts(words, 0.2)))
    tree, theta = summary.tree, summary.theta.toarray()
    assert tree.phi == pytest.approx(((words + 0.2) / (words + 0.2).sum(axis=0)).T)
    assert tree.n_tokens == pytest.approx(n.sum(axis=0))
    assert theta == pytest.approx(mixing.weights(n))
    enough = theta * np.maximum(n.sum(axis=1), 1)[:, None] >= 1
    enough[2] = False
    assert tree.n_docs.tolist() == enough.sum(axis=0).tolist()
    for one, other in zip(mixing_of(tree)[1:], mixing[1:], strict=True):
        assert one == pytest.approx(other)


def test_what_no_document_has_counts_at_the_nearest_node_that_is_stored() -> None:
    """On a tree of three levels below the root, whose branches the documents have in part."""
    parent = np.array([-1, 0, 0, 1, 1, 2, 3, 3, 5])
    drawn = random_mixing(np.random.default_rng(0), 9)
    shape = shape_of(parent)
    leaf = shape.n_children == 0
    rows = ((0.0, drawn.concentration + 1), (1.0, drawn.stop_a + 1), (0.0, drawn.stop_b + 1))
    mixing = Mixing(
        shape,
        np.array([1.0, 0.6, 0.4, 0.7, 0.3, 1.0, 0.5, 0.5, 1.0]),
        *(np.where(leaf, at_leaf, row) for at_leaf, row in rows),
    )
    n = np.zeros((6, 9))  # the last document is empty
    n[0, 7], n[1, 4], n[2, 0], n[3, [2, 6]], n[4, 8] = 3, 2, 4, 1, 5
    found = weigh([n[:2], n[2:]], Pruning(mixing, np.arange(9)), Room())
    whole = mixing.weights(n)
    assert whole.shape == (6, 9) and (whole > 0).all()
    theta = np.zeros((6, 9))
    theta[np.repeat(np.arange(6), found.theta.lengths), found.theta.columns] = found.theta.values
    stored = below(shape, n) > 0
    stored[:, 0] = True
    wanted = np.zeros((6, 9))
    for doc, node in np.ndindex(6, 9):
        at = node
        while not stored[doc, at]:
            at = int(parent[at])
        wanted[doc, at] += whole[doc, node]
    assert theta == pytest.approx(wanted)
    assert theta.sum(axis=1) == pytest.approx(1)


def test_large_theta_is_stored_where_a_document_has_tokens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows sum to 1; what is at and below a node that is stored is what it was."""
    settings = settings_of(variational, truncation=6, start_iterations=20, least=1.0)
    data = lay_out(TEXT, 3)
    state = starts.init(data, settings, at(0))
    whole = variational.summarise(state, data, settings, at(0))
    monkeypatch.setattr("hiertopics.families.nhdp.summary.MOST_ENTRIES", 0)
    part = variational.summarise(state, data, settings, at(0))
    assert part.tree.phi == pytest.approx(whole.tree.phi)
    assert (part.tree.n_docs == whole.tree.n_docs).all()
    shape = shape_of(part.tree.parent)
    sums = [below(shape, summary.theta.toarray()) for summary in (part, whole)]
    stored = part.theta.toarray() > 0
    assert 0.2 < stored.mean() < 0.9
    assert sums[0][:, 0] == pytest.approx(1)
    assert sums[0][stored] == pytest.approx(sums[1][stored])


@pytest.mark.slow
def test_documents_that_the_flat_topics_did_not_see_are_folded_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """6.1: rounds of their theta, topics held, one token of the corpus's shares in each."""
    phi, share = RNG.dirichlet(np.ones(15), 4), RNG.dirichlet(np.ones(4))
    data = lay_out(TEXT, 1, np.float64)
    found = document_kernels.fold(data.cells, 3, 20, np.ascontiguousarray(phi.T), share, 7)
    for doc in range(3, 20):
        counts, theta = TEXT.counts.toarray()[doc], share
        for _ in range(7):
            q = theta[:, None] * phi
            n = (q / q.sum(axis=0)) @ counts
            theta = (n + share) / (counts.sum() + 1)
        assert found[doc - 3] == pytest.approx(theta, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("n_shards", [1, 3])
def test_flat_topics_see_as_many_documents_as_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch, n_shards: int
) -> None:
    settings = settings_of(variational, truncation=5, start_iterations=4)
    data = lay_out(TEXT, n_shards)
    assert starts.sampled(data, settings, at(0)) is data
    monkeypatch.setattr(starts, "ROOM", 5 * 60)
    sample = starts.sampled(data, settings, at(0))
    assert 1 < sample.n_docs < 10 and len(sample.cells.word) <= 60
    rows, all_rows = counts_of(sample).toarray(), TEXT.counts.toarray()
    assert all((all_rows == row).all(axis=1).any() for row in rows)
    assert (sample.doc_lengths == rows.sum(axis=1)).all()
    edges = sample.cells.cuts[:, 1:-1] - sample.cells.cuts[:, :1]
    for doc, (row, inside) in enumerate(zip(rows, edges, strict=True)):
        words = np.flatnonzero(row)
        assert inside.tolist() == np.searchsorted(words, data.word_bounds[1:-1]).tolist(), doc
    state = starts.init(data, settings, at(0))
    assert state.n_k.sum() == pytest.approx(TEXT.n_tokens, rel=1e-5)


def test_flat_topics_of_large_corpora_keep_few_entries() -> None:
    large, many = MOST_ENTRIES, 300
    auto, few, every = (
        settings_of(variational, responsibilities=kept).inference for kept in ("auto", "few", "all")
    )
    assert first_topics.order_of(many, large, auto, bursty=False) is FEW
    assert first_topics.order_of(many, large // many, auto, bursty=False) is IN_FIXED_ORDER
    assert (
        first_topics.order_of(2, 2, few, bursty=False) is FEW
        and first_topics.order_of(many, large, every, bursty=False) is IN_FIXED_ORDER
    )


@pytest.mark.parametrize("start", ["words", "branches"])
def test_few_entries_are_the_same_for_every_seed(start: str) -> None:
    settings = settings_of(
        variational, truncation=6, start_iterations=20, start=start, responsibilities="few"
    )
    data = lay_out(TEXT, 2)
    one, other = (starts.init(data, settings, at(0, seed=seed)) for seed in (0, 1))
    assert one.n_wk.tobytes() == other.n_wk.tobytes()
    assert one.parent.tolist() == other.parent.tolist()


def test_entries_of_rows_that_are_known_are_these_on_average() -> None:
    """Their counts are those of the entries, and all are within what chance allows."""
    q = RNG.dirichlet(np.full(40, 0.2)).astype(np.float32)
    corpus = corpus_of(np.ones((400, 10)))
    data = lay_out(corpus, 2)
    rows = [np.tile(q, (4000, 1))] * 2
    begun = FEW.begun(data, _some_rows, rows, 40, at(0), np.float32)
    assert begun.n_k.sum() == pytest.approx(4000)
    assert begun.n_wk.sum(axis=0) == pytest.approx(begun.n_k, rel=1e-5)
    spread = np.sqrt(q / 16 / 4000)
    assert (np.abs(begun.n_k / 4000 - q) < 5 * spread + 2e-3).all()
    n_entries = (begun.local.state_of(1).share > 0).sum(axis=1)
    assert 1 <= n_entries.min() < n_entries.max() <= 16


def _some_rows(piece: Any, rows: Any, first: int, last: int) -> Any:
    return rows[piece.cells.cuts[first, 0] : piece.cells.cuts[last - 1, -1]]


def test_learned_stop_weights_and_a_flat_start_are_options() -> None:
    settings = settings_of(
        variational, truncation=5, start_iterations=5, hold=(), branches=[], hyper_every=1
    )
    data = lay_out(TEXT, 1)
    state = starts.init(data, settings, at(0))
    state, _ = variational.step(state, data, settings, at(1))
    assert (state.stop_a[0], state.stop_b[0]) != (1.0, 1.0)


def test_an_update_goes_on_with_what_the_documents_shared() -> None:
    """Shares, concentrations and unequal weights of stopping and going on, node by node."""
    settings = settings_of(
        variational, truncation=6, start_iterations=20, stop_prior=StopPrior(stop=3.0)
    )
    data = lay_out(TEXT, 2)
    state = advance(variational, starts.init(data, settings, at(0)), data, settings, 3)
    inner = state.mixing.shape.inner
    assert (np.abs(state.stop_a - state.stop_b)[inner] > 0.5).all()
    again = documents.extend_state(to_arrays(state), data, settings, at(0))
    assert (again.parent == state.parent).all()
    for name in ("share", "concentration", "stop_a", "stop_b"):
        np.testing.assert_array_equal(getattr(again, name), getattr(state, name), name)


def test_merged_inner_nodes_have_means_by_what_is_at_and_below_them() -> None:
    """Branch 1 is two levels deep and branch 2 one; most of 1 is below its own words."""
    parent = np.array([-1, 0, 0, 1, 2, 3], np.int32)
    weight = np.array([0.1, 0.05, 0.3, 0.1, 0.25, 0.2])
    concentration = np.array([1.0, 2.0, 5.0, 0.7, 0.0, 0.0])
    stop = np.array([[1.5, 0.5], [3.0, 1.0], [1.0, 4.0], [2.0, 0.6], [1.0, 0.0], [1.0, 0.0]])
    share = np.array([1.0, 0.3, 0.7, 1.0, 1.0, 1.0])
    tree = Tree(
        phi=np.full((6, 2), 0.5),
        parent=parent,
        kind=np.zeros(6, np.int8),
        weight=weight,
        n_docs=np.ones(6, np.int64),
        n_tokens=100 * weight,
        extra={"share": share, "concentration": concentration, "stop": stop, "eta": np.ones(1)},
    )
    found = merge_extra(tree, joined(tree, [1, 2]))
    part = np.array([0.35, 0.55]) / 0.9  # at and below each, of both
    new = joined(tree, [1, 2]).into[1]
    assert found["share"][new] == pytest.approx(1)
    assert found["concentration"][new] == pytest.approx(part @ [2.0, 5.0])
    assert found["stop"][new] == pytest.approx(part @ stop[[1, 2]])
    three = joined(tree, [1, 2]).into[3]
    assert found["concentration"][three] == 0.7
    below_it = [joined(tree, [1, 2]).into[node] for node in (3, 4)]
    assert found["share"][below_it] == pytest.approx([0.3, 0.7])
