"""The start that finds branches first and topics within them (theory/nhdp 6.1)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from stepping import at, corpus_of, settings_of

from hiertopics.contract.engine import Workers
from hiertopics.corpus.data import in_memory, seedwords
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.families.flat.layout import lay_out
from hiertopics.families.nhdp import flat_starts, starts, variational
from hiertopics.families.nhdp.shapes import find_within
from hiertopics.families.nhdp.stages import PERCENT

SAMPLE = Path(__file__).parents[2] / "data-samples" / "docstrings.ldac"
RNG = np.random.default_rng(0)
SUBJECTS, WORDS = 4, 12
OWN = np.kron(np.eye(SUBJECTS), np.ones(WORDS)) / WORDS
TEXT = RNG.multinomial(40, 0.9 * np.repeat(OWN, 12, axis=0) + 0.1 / OWN.shape[1])
"""Documents of four subjects of twelve words each."""


def test_few_words_have_no_branches_to_be_found_first() -> None:
    fewest = 4 * flat_starts.FEWEST_TOPICS
    for leaves in (60, 200, 500):
        told = settings_of(variational, truncation=leaves)
        assert starts.number_first(fewest - 1, 3000, told) == 0
    assert starts.number_first(fewest, 3000, settings_of(variational)) == 11
    assert [flat_starts.number_of_branches(n) for n in (200, 300, 500)] == [11, 13, 16]


def test_few_leaves_have_few_branches() -> None:
    """Whether somebody tells their number or it is that of few documents."""
    leaves = (20, 30, 60, 100, 150, 199)
    told = [settings_of(variational, truncation=n) for n in leaves]
    assert [starts.number_first(3000, 3000, one) for one in told] == [4, 5, 6, 8, 10, 11]
    free = settings_of(variational)
    assert [starts.number_first(3000, 2 * n, free) for n in leaves] == [4, 5, 6, 8, 10, 11]


def test_a_tree_of_few_leaves_has_few_branches_below_its_root() -> None:
    """As a larger one has; clusters of words have 19 of 24 topics there."""
    texts = in_memory(read_corpus(SAMPLE)).select(np.arange(300))
    settings = settings_of(variational, truncation=24, start_iterations=5, trials=0)
    shape = starts.init(lay_out(texts, 1), settings, at(0)).mixing.shape
    assert 2 <= (shape.parent == 0).sum() <= 4
    assert len(shape.parent) > 20


def test_few_documents_have_few_branches() -> None:
    """Documents lower their number and do not forbid them; a number that is told stays."""
    free, told = settings_of(variational), settings_of(variational, truncation=500)
    found = [starts.number_first(3000, n_docs, free) for n_docs in (3000, 1000, 600, 200, 20)]
    assert found == [16, 16, 13, 8, 3]
    assert starts.number_first(3000, 200, told) == 16


def test_every_token_is_in_one_part() -> None:
    counts = sparse.csr_array(TEXT.astype(float))
    branch = RNG.integers(0, 3, counts.nnz) * 2
    parts, whole = flat_starts.parts(branch, counts), np.zeros(TEXT.shape)
    assert len(parts) == 3
    for name, part in zip((0, 2, 4), parts, strict=True):
        whole[np.ix_(part.docs, part.words)] += part.counts.toarray()
        assert part.counts.sum() == counts.data[branch == name].sum()
        assert (part.counts.sum(axis=0) > 0).all() and (part.counts.sum(axis=1) > 0).all()
        assert part.data.doc_lengths.sum() == part.counts.sum()
    assert np.array_equal(whole, TEXT)


def test_topics_of_parts_stay_in_their_documents_and_words() -> None:
    counts = sparse.csr_array(np.array([[2.0, 1, 0], [0, 0, 3]]))
    parts = flat_starts.parts(np.array([0, 0, 1]), counts)
    found = [(np.array([[0.25, 0.75]]), np.array([[1.0, 0], [0, 1]])), (np.ones((1, 1)),) * 2]
    within = flat_starts.joined(parts, found, counts, seedwords.NONE)
    assert within.branch.tolist() == [0, 0, 1]
    assert within.theta[:] == pytest.approx(np.array([[0.25, 0.75, 0], [0, 0, 1]]), abs=1e-3)
    assert within.phi[:] == pytest.approx(np.eye(3), abs=1e-5)


def test_the_best_topic_of_a_pair() -> None:
    theta, phi = RNG.random((2, 5)), RNG.random((3, 5))
    word = np.array([0, 2, 1])
    best = flat_starts.topic_of_pairs(np.array([[0, 1], [1, 3]]), word, theta, phi)
    docs = np.array([0, 1, 1])
    assert best.tolist() == (theta[docs] * phi[word]).argmax(axis=1).tolist()


def test_a_branch_has_its_own_topics_below_it() -> None:
    """And broad ones are cut; a branch of a single topic is that topic."""
    branch = np.array([5, 3, 5, 3, 9, *[7] * 30])
    arranged = find_within(branch, RNG.dirichlet(np.full(40, 0.1), len(branch)))
    children = arranged.members[arranged.shape.children(0)]
    assert sorted(row.sum() for row in children) == [1, 2, 2, 30]
    assert all(len(set(branch[row].tolist())) == 1 for row in children)
    assert arranged.shape.depth.max() >= 3


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find four branches of eight topics."""
    monkeypatch.setattr(flat_starts, "FEWEST_TOPICS", 8)
    monkeypatch.setattr(flat_starts, "POWER", np.log(SUBJECTS) / np.log(8))


def started(shards: int = 1, seed: int = 0, **keys: object) -> object:
    keys = {"truncation": 8, "start_iterations": 20, "start": "branches", **keys}
    settings = settings_of(variational, **keys)
    with Workers(shards) as workers:
        data = lay_out(corpus_of(TEXT), shards)
        return starts.init(data, settings, at(0, seed=seed, workers=workers))


def test_subjects_are_branches(few: None) -> None:
    """Each with the tokens of its own words; without branches first the tree is another one."""
    state = started()
    tokens = np.array(
        [state.n_wk[s * WORDS : (s + 1) * WORDS].sum(axis=0) for s in range(SUBJECTS)]  # type: ignore[attr-defined]
    )
    shape = state.mixing.shape  # type: ignore[attr-defined]
    top = np.arange(shape.n_nodes)
    for node in range(1, shape.n_nodes):
        if shape.parent[node] > 0:
            top[node] = top[shape.parent[node]]
    held = np.array([[row[top == child].sum() for child in np.unique(top[1:])] for row in tokens])
    assert held.shape == (SUBJECTS, SUBJECTS)
    assert len(set(held.argmax(axis=1).tolist())) == SUBJECTS
    assert (held.max(axis=1) > 0.75 * held.sum(axis=1)).all()


def test_neither_seeds_nor_workers_make_a_difference(few: None) -> None:
    one, other = started(), started(seed=1)
    assert one.n_wk.tobytes() == other.n_wk.tobytes()  # type: ignore[attr-defined]
    alone = starts.init(
        lay_out(corpus_of(TEXT), 2),
        settings_of(variational, truncation=8, start_iterations=20, start="branches"),
        at(0),
    )
    assert alone.n_wk.tobytes() == started(shards=2).n_wk.tobytes()  # type: ignore[attr-defined]


def test_cuts_that_are_told_are_those_of_the_linkage(few: None) -> None:
    told = started(branches=[2])
    words = started(branches=[2], start="words")
    assert told.n_wk.tobytes() == words.n_wk.tobytes()  # type: ignore[attr-defined]


def test_a_start_says_how_far_it_is_in_all_its_parts(few: None) -> None:
    told: list[tuple[int, int]] = []
    settings = settings_of(variational, truncation=8, start_iterations=20, start="branches")
    context = at(0)
    object.__setattr__(context, "report", lambda done, total: told.append((done, total)))
    starts.init(lay_out(corpus_of(TEXT), 1), settings, context)
    done = [percent for percent, _ in told]
    assert {total for _, total in told} == {PERCENT}
    assert done == sorted(done) and len(set(done)) > 6 + SUBJECTS
