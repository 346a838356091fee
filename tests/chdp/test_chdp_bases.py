"""Links, bases and the urn of new tables: what documents hang from.

Source: theory/chdp 0, 3.2, 8.1-8.3.
"""

from __future__ import annotations

import numpy as np
import pytest
from chdp_cases import COOPERATIONS, advance, begin, settings_of, simulated, with_parents
from naive_chdp import Urn as NaiveUrn, base
from scipy import sparse
from stepping import at

from hiertopics.contract.model import Sizes
from hiertopics.corpus.data.corpus import Tags
from hiertopics.families.chdp import gibbs
from hiertopics.families.chdp.base_kernels import Weights, base_row, base_rows
from hiertopics.families.chdp.layout import link_parents
from hiertopics.papers import chdp_irp as irp
from hiertopics.papers.chdp_irp_kernels import (
    Options,
    TableUrn,
    add_option,
    join_option,
    new_table_row,
)

PARENTS = [[0, 2], [], [3], [0, 2, 3], [2]]
RNG = np.random.default_rng(4)
PI, PI_0 = RNG.dirichlet(np.ones(6), 3), RNG.dirichlet(np.ones(6))


def test_links_and_their_transpose_leave_out_groups_without_documents() -> None:
    members = np.zeros((5, 5), dtype=bool)
    for doc, groups in enumerate(PARENTS):
        members[doc, groups] = True
    parents, columns = link_parents(Tags(sparse.csr_array(members), tuple("abcde")), 5)
    assert columns.tolist() == [0, 2, 3]
    ends = parents.ptr.tolist()
    rows = [columns[parents.group[ends[d] : ends[d + 1]]].tolist() for d in range(5)]
    assert rows == PARENTS
    for group in range(3):
        mine = slice(*parents.group_ptr[group : group + 2])
        assert parents.doc[mine].tolist() == np.flatnonzero(members[:, columns[group]]).tolist()
        assert (parents.group[parents.link[mine]] == group).all()
    assert parents.uniform().tolist() == pytest.approx([0.5, 0.5, 1, 1 / 3, 1 / 3, 1 / 3, 1])


def test_without_groups_no_document_has_a_parent() -> None:
    parents, columns = link_parents(None, 3)
    assert parents.ptr.tolist() == [0, 0, 0, 0] and parents.n_groups == len(columns) == 0


@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_bases_are_those_of_the_definition(cooperation: str) -> None:
    data = gibbs.one.prepare(with_parents(np.ones((5, 2)), PARENTS, 4), settings_of())
    share = RNG.random(len(data.parents.group))
    weights = Weights(PI, PI_0, share, cooperation == "maximization")
    own = {0: 0, 2: 1, 3: 2}
    for doc, row in enumerate(base_rows(data.parents, weights)):
        mine = share[slice(*data.parents.ptr[doc : doc + 2])]
        if len(mine) == 1:
            mine = np.ones(1)  # a single parent has all there is
        groups = [own[group] for group in PARENTS[doc]]
        expected = base(groups, PI, PI_0, mine, weights.maximization)
        np.testing.assert_allclose(row, expected, rtol=1e-13)


def test_a_single_parent_gives_both_cooperations_the_same_bits() -> None:
    data = gibbs.one.prepare(with_parents(np.ones((4, 2)), [[0], [2], [1], [0]], 3), settings_of())
    rows = [
        base_rows(data.parents, Weights(PI, PI_0, data.parents.uniform(), mode))
        for mode in (False, True)
    ]
    assert rows[0].tobytes() == rows[1].tobytes()


@pytest.mark.slow
def test_bases_of_maximization_lie_between_their_bounds() -> None:
    """8.2: b sums to 1, 1 <= Z <= m, and max / m <= b <= max."""
    data = gibbs.one.prepare(with_parents(np.ones((5, 2)), PARENTS, 4), settings_of())
    weights, row = Weights(PI, PI_0, data.parents.uniform(), True), np.empty(6)
    for doc in (0, 3):
        groups = data.parents.group[slice(*data.parents.ptr[doc : doc + 2])]
        z, largest = base_row(doc, data.parents, weights, row), PI[groups].max(axis=0)
        assert row.sum() == pytest.approx(1, abs=1e-14)
        assert 1 < z < len(groups)
        assert (row <= largest).all() and (row >= largest / len(groups)).all()


def empty_options(n_groups: int, n_topics: int) -> Options:
    """Return room for 50 options."""
    corpus = with_parents(np.full((1, 1), 50), [range(n_groups)], n_groups)
    settings = settings_of(sampler="irp", truncation=n_topics)
    data = gibbs.one.prepare(corpus, settings)
    unseated = irp.unseated(data, settings.model, np.random.default_rng(0))
    return irp.unpack(unseated, data).options


@pytest.mark.parametrize("maximization", [False, True])
def test_chances_of_a_new_table_are_those_of_the_urn_and_sum_to_one(maximization: bool) -> None:
    """8.2, with tables added one after another; topics are numbered as they come."""
    authors = [[0, 1], [0], [0, 1, 2], [1, 2]]
    data = gibbs.one.prepare(with_parents(np.ones((4, 1)), authors, 3), settings_of())
    urn = TableUrn(data.parents, data.parents.uniform(), maximization, 1.3, 0.8)
    options, naive = empty_options(3, 9), NaiveUrn(1.3, 0.8)
    served, row, rng = np.empty(9), np.empty(9), np.random.default_rng(1)
    slots: dict[tuple[int, int], int] = {}
    for turn in range(40):
        doc = turn % 4
        new_table_row(doc, options, urn, served, row)
        expected = naive.row(authors[doc], maximization)
        n_known = len(expected) - 1
        assert row.sum() == pytest.approx(1, abs=1e-12)
        assert row[n_known] == pytest.approx(expected[None], abs=1e-14)
        for topic in range(n_known):
            assert row[topic] == pytest.approx(expected[topic], abs=1e-14)
        author = int(rng.choice(authors[doc]))
        known = [key for key in naive.tables if key[0] == author]
        if known and rng.random() < 0.6:
            key = known[rng.integers(len(known))]
            topic = naive.topic_of[key]
        else:
            key, topic = (author, len(known)), int(rng.integers(min(n_known + 1, 8)))
            slots[key] = add_option(options, author, topic)
        join_option(options, slots[key])
        naive.seat(authors[doc], *key, topic)


def test_superposition_seats_tables_in_any_order_with_the_same_chance() -> None:
    """8.3: the chance of a seating does not depend on the order of its tables."""
    rng = np.random.default_rng(2)
    tables = [
        ([0, 1], 0, 0, 0), ([0], 0, 0, 0), ([1, 2], 1, 0, 1), ([0, 1, 2], 2, 0, 0),
        ([0, 1], 0, 1, 1), ([2], 2, 0, 0), ([1], 1, 1, 0), ([0, 2], 2, 1, 2),
    ]  # fmt: skip
    logs = []
    for _ in range(30):
        urn = NaiveUrn(1.3, 0.8)
        order = rng.permutation(len(tables))
        logs.append(sum(np.log(urn.seat(*tables[place])) for place in order))
    np.testing.assert_allclose(logs, logs[0], atol=1e-10)


def test_the_plug_in_urn_of_maximization_is_not_exchangeable() -> None:
    """8.3: a table by authors 1 and 2, one by author 1 alone; 0.625 or 0.600, by their order."""
    both_first = []
    for author in (0, 1):  # a tie: either serves the first table
        urn = NaiveUrn(1.0, 1.0)
        urn.seat([0, 1], author, 0, 0)
        both_first.append(urn.row([0], True)[0])
    urn = NaiveUrn(1.0, 1.0)
    urn.seat([0], 0, 0, 0)
    assert np.mean(both_first) == pytest.approx(0.625, abs=1e-12)
    assert urn.row([0, 1], True)[0] == pytest.approx(0.600, abs=1e-12)


def test_restaurants_with_one_parent_each_are_equal_chains() -> None:
    """8.1: the tie rule draws nothing where there is nothing to choose."""
    corpus, _ = simulated(Sizes(12, 20, 15), truncation=4)
    corpus = with_parents(corpus.counts.toarray(), [[doc % 3] for doc in range(12)], 3)
    ends = []
    for cooperation in COOPERATIONS:
        settings = settings_of(cooperation=cooperation, sampler="irp", truncation=8, hyper_start=2)
        state, data = begin(corpus, settings)
        ends.append(advance(state, data, settings, 8))
    assert ends[0].z.tobytes() == ends[1].z.tobytes()
    assert ends[0].table_option.tobytes() == ends[1].table_option.tobytes()
    assert ends[0].alpha_group == ends[1].alpha_group


def test_seats_options_and_counts_agree_after_sweeps_of_the_restaurant() -> None:
    corpus, _ = simulated(Sizes(20, 30, 25), truncation=6)
    settings = settings_of(sampler="irp", truncation=10, hyper_start=0)
    state, data = begin(corpus, settings)
    state = advance(state, data, settings, 6)
    doc = np.repeat(np.arange(20), data.doc_lengths)
    option = state.table_option[data.cells.cuts[doc, 0] + state.seat]
    assert (state.option_topic[option] == state.z).all()
    for token, parent in enumerate(state.option_group[option]):
        assert parent in data.parents.group[slice(*data.parents.ptr[doc[token] : doc[token] + 2])]
    n_dk = np.zeros_like(state.n_dk)
    np.add.at(n_dk, (doc, state.z), 1)
    assert (n_dk == state.n_dk).all()
    taken = len({(d, s) for d, s in zip(doc.tolist(), state.seat.tolist(), strict=True)})
    assert taken == (state.table_option >= 0).sum() == state.n_tables.sum()
    assert state.n_group_tables.sum() == taken


def test_the_published_sampler_of_maximization_says_what_it_is() -> None:
    corpus, _ = simulated(Sizes(6, 10, 8), truncation=3)
    for cooperation in COOPERATIONS:
        settings = settings_of(cooperation=cooperation, sampler="irp", truncation=3)
        state, data = begin(corpus, settings)
        notes = " ".join(irp.summarise(state, data, settings, at(0)).notes)
        assert ("irp_max_plugin" in notes) == (cooperation == "maximization")


def test_a_restaurant_cannot_be_cut_into_shards() -> None:
    with pytest.raises(ValueError, match="shards must be 1 for sampler irp"):
        gibbs.one.Inference(sampler="irp", shards=2)  # type: ignore[call-arg]


def test_mixing_weights_cannot_be_learned_where_they_do_not_enter() -> None:
    with pytest.raises(ValueError, match="weights learned needs cooperation superposition"):
        gibbs.one.Model(weights="learned", cooperation="maximization")
