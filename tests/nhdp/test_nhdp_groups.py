"""The start that finds few branches by factorisations and groups them (theory/nhdp 6.1)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processors import without_avx512
from scipy import sparse
from stepping import at, corpus_of, settings_of

from hiertopics.base.arrays import I64
from hiertopics.contract.engine import Workers
from hiertopics.corpus.corpora.conversion import convert
from hiertopics.corpus.data import seedwords
from hiertopics.corpus.data.seedwords import Seeds
from hiertopics.families.flat.layout import lay_out
from hiertopics.families.nhdp import (
    branching,
    dividing,
    first_topics,
    flat_starts,
    shapes,
    starts,
    variational,
)
from hiertopics.families.nhdp.config import StopPrior
from hiertopics.families.nhdp.shapes import (
    BRANCH,
    FAMILY,
    GROUP,
    Node,
    arrange_grouped,
    at_least,
    find_grouped,
    leaf,
)
from hiertopics.families.nhdp.state import State
from hiertopics.fitting import driver

AREAS, EACH, WORDS = 3, 2, 10
SUBJECTS = AREAS * EACH
N_WORDS = WORDS * (SUBJECTS + AREAS)


def planted() -> sparse.csr_array:
    """Return documents of six subjects in three areas; each has words of its own."""
    rng = np.random.default_rng(0)
    chance = np.full((SUBJECTS, N_WORDS), 0.1 / N_WORDS)
    for subject in range(SUBJECTS):
        chance[subject, subject * WORDS : (subject + 1) * WORDS] += 0.6 / WORDS
        area = SUBJECTS + subject // EACH
        chance[subject, area * WORDS : (area + 1) * WORDS] += 0.3 / WORDS
    rows = [rng.multinomial(40, chance[doc % SUBJECTS]) for doc in range(20 * SUBJECTS)]
    return sparse.csr_array(np.array(rows, float))


def weakly_planted(seed: int) -> sparse.csr_array:
    """Return documents of SUBJECTS subjects, half of whose words say nothing of the subject."""
    rng = np.random.default_rng(seed)
    chance = 0.5 * rng.dirichlet(np.full(60, 0.5), SUBJECTS) + 0.5 / 60
    rows = [rng.multinomial(15, chance[doc // 2 % SUBJECTS]) for doc in range(40 * SUBJECTS)]
    return sparse.csr_array(np.array(rows, float))


COUNTS = planted()
PAIR_DOC = np.repeat(np.arange(COUNTS.shape[0]), np.diff(COUNTS.indptr))


def test_branches_are_subjects() -> None:
    """Of all factorisations together; each subject's own words are in its branch."""
    branch = branching.branches_of(COUNTS, SUBJECTS, seedwords.NONE).probable()
    own = COUNTS.indices // WORDS == PAIR_DOC % SUBJECTS
    found = [np.bincount(branch[own & (s == PAIR_DOC % SUBJECTS)]) for s in range(SUBJECTS)]
    assert len({int(row.argmax()) for row in found}) == SUBJECTS
    assert all(row.max() > 0.95 * row.sum() for row in found)


def pairs_by_hand(pairs: branching.PairBranches, smoothing: float, power: int) -> list[int]:
    """Return the branch of the largest theta^power phi of each pair, documents one by one."""
    found = []
    for row in pairs.counts.toarray():
        tokens, phi = row[row > 0], pairs.phi[:, row > 0]
        theta = np.full((len(phi), 1), 1 / len(phi))
        for _ in range(pairs.rounds):
            q = theta * phi / (theta * phi).sum(axis=0)
            n = (q @ tokens)[:, None] + smoothing
            theta = n / n.sum()
        found += (theta**power * phi).argmax(axis=0).tolist()
    return found


def test_sharp_pairs_are_those_of_squared_shares() -> None:
    """Shares are smoothed by a token of each branch; one of both alone gives other pairs."""
    pairs = branching.branches_of(weakly_planted(0), SUBJECTS, seedwords.NONE)
    assert pairs.sharp().tolist() == pairs_by_hand(pairs, 1.0, 2)
    assert pairs.probable().tolist() == pairs_by_hand(pairs, branching.PRIOR, 1)
    others = [(1.0, 1), (branching.PRIOR, 2), (1 / SUBJECTS, 2), (branching.PRIOR, 1)]
    assert all(pairs.sharp().tolist() != pairs_by_hand(pairs, *other) for other in others)


def test_sharp_pairs_divide_a_document_among_fewer_branches() -> None:
    """Than pairs that are as smooth, but not sharp."""
    pairs = branching.branches_of(weakly_planted(0), SUBJECTS, seedwords.NONE)
    doc = np.repeat(np.arange(pairs.counts.shape[0]), np.diff(pairs.counts.indptr))

    def parts(branch: list[int]) -> int:
        return len(set(zip(doc.tolist(), branch, strict=True)))

    assert parts(pairs.sharp().tolist()) < 0.9 * parts(pairs_by_hand(pairs, 1.0, 1))


@pytest.mark.parametrize("least", [16, 15], ids=["short", "long"])
def test_branches_are_linked_by_probable_pairs_and_filled_by_sharp_ones(
    few: None, monkeypatch: pytest.MonkeyPatch, least: int
) -> None:
    """The topics of long documents know of probable pairs alone."""
    weak, seen = weakly_planted(1), {}
    pairs = branching.branches_of(weak, SUBJECTS, seedwords.NONE)
    probable, sharp = pairs.probable().tolist(), pairs.sharp().tolist()
    assert probable != sharp

    class Links(branching.BranchLinks):
        def __init__(self, counts: Any, branch: I64, *rest: Any) -> None:
            seen["linked"] = branch.tolist()
            super().__init__(counts, branch, *rest)

    monkeypatch.setattr(branching, "BranchLinks", Links)
    for name in ("topics_within", "topics_across"):
        find = getattr(starts, name)

        def noted(branch: I64, *rest: Any, name: str = name, find: Any = find) -> Any:
            seen[name] = branch.tolist()
            return find(branch, *rest)

        monkeypatch.setattr(starts, name, noted)
    monkeypatch.setattr(starts, "LONG", least)
    settings = settings_of(variational, truncation=12, start_iterations=4, trials=0)
    data = lay_out(corpus_of(weak.toarray().astype(int)), 1)
    starts.grouped(SUBJECTS, data, settings, at(0), np.float64)
    filled = {"topics_within": sharp} if least > 15 else {"topics_across": probable}
    assert seen == {"linked": probable, **filled}


def test_subsamples_leave_out_each_document_once() -> None:
    """Each tenth document, and none twice; a single document has no subsample."""
    rows = [branching.subsamples(COUNTS[:n_docs], branching.WHOLE) for n_docs in (1, 4, 25)]
    some = [list(found) for found in rows]
    assert [len(found) for found in some] == [0, 4, branching.EVERY]
    for n_docs, found in zip((4, 25), some[1:], strict=True):
        whole = COUNTS[:n_docs].toarray()
        left_out = [whole.sum(axis=0) - part.toarray().sum(axis=0) for part in found]
        assert (sum(left_out) == whole.sum(axis=0)).all()
        assert {part.shape[0] for part in found} <= {n_docs - 3, n_docs - 2, n_docs - 1}
    first = some[2][0].toarray()
    assert (first == np.delete(COUNTS[:25].toarray(), [0, 10, 20], axis=0)).all()


@pytest.mark.parametrize("seed", range(3))
def test_subsamples_make_branches_come_back(seed: int) -> None:
    """Branches of the halves of a corpus are nearer to each other than without subsamples."""
    weak = weakly_planted(seed)
    halves = [sparse.csr_array(weak[first::2]) for first in (0, 1)]

    def affinity(n_subsamples: int) -> float:
        effort = branching.WHOLE._replace(subsamples=n_subsamples)
        topics = [branching.branch_topics(half, SUBJECTS, effort=effort) for half in halves]
        return float((np.sqrt(topics[0]) @ np.sqrt(topics[1]).T).max(axis=1).mean())

    assert affinity(branching.EVERY) > affinity(0) + 0.05


def test_groups_are_areas() -> None:
    """Subjects of one area share documents' words, and stand together."""
    linked = branching.BranchLinks(COUNTS, PAIR_DOC % SUBJECTS)
    group = linked.groups()
    assert len(np.unique(group)) == round(SUBJECTS**0.5) + 1 == AREAS
    assert all(len(set(group[first : first + EACH].tolist())) == 1 for first in (0, 2, 4))


LINE = np.array([0.0, 1.0, 10.0, 11.0, 13.0, 40.0, 41.0, 60.0])[:, None]
PAIRS = np.array([0, 0, 1, 1, 1, 2, 2, 3])
"""The groups of the places on a line."""


def test_a_large_group_is_divided_where_the_linkage_joined_it_last() -> None:
    """More than 1.5 times the mean: 0.4 of four groups, but not 0.36; not the next, of 0.25."""
    share = np.array([0.12, 0.12, 0.1, 0.15, 0.15, 0.12, 0.13, 0.11])
    found = branching.divided(PAIRS, LINE, share)
    assert found.tolist() == [0, 0, 1, 1, 4, 2, 2, 3]
    assert PAIRS.tolist() == [0, 0, 1, 1, 1, 2, 2, 3]
    less = np.array([0.14, 0.14, 0.1, 0.13, 0.13, 0.12, 0.13, 0.11])
    assert branching.divided(PAIRS, LINE, less).tolist() == PAIRS.tolist()


def test_links_divide_large_groups_unless_they_are_given_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Areas of a third of the tokens each are large where 0.9 times the mean is allowed."""
    monkeypatch.setattr(branching, "LARGE", 0.9)
    linked = branching.BranchLinks(COUNTS, PAIR_DOC % SUBJECTS)
    assert len(np.unique(linked.groups())) == SUBJECTS
    assert len(np.unique(linked.groups(AREAS))) == AREAS


def test_a_large_branch_is_not_divided() -> None:
    """Nor does it keep a large group beside it from being divided."""
    share = np.array([0.01, 0.01, 0.14, 0.14, 0.14, 0.01, 0.01, 0.54])
    assert branching.divided(PAIRS, LINE, share).tolist() == [0, 0, 1, 1, 4, 2, 2, 3]


@pytest.mark.parametrize(("n_inside", "n_groups"), [(2, 6), (3, 7), (6, 8)])
def test_division_ends_at_eight_groups(n_inside: int, n_groups: int) -> None:
    """Of five groups one is too large until its large branch is alone, or there are eight."""
    group = np.repeat(np.arange(5), [n_inside, 2, 2, 2, 2])
    places = np.exp2(np.arange(len(group)))[:, None]
    share = np.full(len(group), 0.05)
    share[:n_inside] = 0.2 / n_inside
    share[0] += 0.4
    found = branching.divided(group, places, share)
    assert len(np.unique(found)) == n_groups
    assert np.unique(found[group > 0]).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(("n_small", "part"), [(4, 0), (5, 1)])
def test_a_branch_of_nearly_all_of_its_group_takes_up_the_others(n_small: int, part: int) -> None:
    """With nine tenths of the tokens of the group; the branch of the other group is as it was."""
    counts = sparse.csr_array(np.array([[40 - n_small, n_small, 20]], float))
    linked = branching.BranchLinks(counts, np.arange(3))
    joined = linked.joined(np.array([7, 7, 8]))
    assert joined.tolist() == [0, part, 2]


@pytest.mark.parametrize(("nearly_all", "n_groups"), [(0.9, AREAS), (0.4, 0)])
def test_the_start_has_no_level_above_a_branch_of_nearly_all_of_its_group(
    few: None, monkeypatch: pytest.MonkeyPatch, nearly_all: float, n_groups: int
) -> None:
    """Each area has two subjects of about equal size: half of the tokens each."""
    monkeypatch.setattr(branching, "NEARLY_ALL", nearly_all)
    settings = settings_of(variational, truncation=12, start_iterations=4, trials=0)
    data = lay_out(corpus_of(COUNTS.toarray().astype(int)), 1)
    arranged = starts.grouped(SUBJECTS, data, settings, at(0), np.float64)[1]
    assert (arranged.kind == GROUP).sum() == n_groups


def test_a_branch_that_has_a_name_is_in_no_group() -> None:
    """Not even where it is of the area of others; and has its seed words to itself."""
    seeds = Seeds(("one",), np.array([0, 1]), np.array([0, 0]), 50)
    pairs = branching.branches_of(COUNTS, SUBJECTS, seeds)
    branch = pairs.probable()
    mine = np.isin(COUNTS.indices, seeds.word)
    assert (branch[mine] == 0).all() and (pairs.sharp()[mine] == 0).all()
    subject = (COUNTS.indices // WORDS == 0) & (PAIR_DOC % SUBJECTS == 0)
    assert (branch[subject] == 0).mean() > 0.9
    group = branching.BranchLinks(COUNTS, branch, 1).groups()
    assert (group[1:] != group[0]).all()


def test_noise_in_the_last_bits_moves_no_row() -> None:
    """Rows as far from each other as can be: whom they join is a matter of their order."""
    rows, rng = np.eye(12), np.random.default_rng(1)
    found = branching.clusters(rows, 5)
    assert found.tolist() == branching.clusters(rows.copy(), 5).tolist()
    for _ in range(20):
        noisy = rows + 1e-13 * rng.standard_normal(rows.shape)
        assert branching.clusters(noisy, 5).tolist() == found.tolist()


SHOW = """
import sys; sys.path[:0] = {paths!r}
from test_nhdp_groups import COUNTS, branching
print(branching.branch_topics(COUNTS, 6).tobytes().hex())
"""


@pytest.mark.slow
def test_a_processor_of_narrow_vectors_finds_the_same_branches(tmp_path: Path) -> None:
    """To the last bit, with other kernels of the linear algebra and of numpy, too."""
    narrow = {
        "NUMBA_CACHE_DIR": str(tmp_path),
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": without_avx512(),
    }
    show = SHOW.format(paths=[path for path in sys.path if path])
    command = [sys.executable, "-W", "ignore", "-c", show]
    found = subprocess.run(
        command, env=os.environ | narrow, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == branching.branch_topics(COUNTS, 6).tobytes().hex()


@pytest.mark.parametrize("n_topics", [1, 2, FAMILY, FAMILY + 1, 60, 200])
def test_no_family_within_a_branch_is_large(n_topics: int) -> None:
    features = np.random.default_rng(2).dirichlet(np.full(30, 0.1), 2 * n_topics)
    branch = np.repeat([0, 1], n_topics)
    arranged = find_grouped(branch, np.array([0, 1]), features)
    assert len(arranged.node) == 2 * n_topics
    assert arranged.shape.n_children.max() <= max(FAMILY, 2)
    assert (arranged.shape.n_children[arranged.shape.inner] != 1).all()


def test_what_is_a_branch_and_what_a_group() -> None:
    branch, group = np.repeat([0, 1, 2, 3], 3), np.array([7, 7, 2, 9])
    features = np.random.default_rng(3).dirichlet(np.full(30, 0.1), 12)
    arranged = find_grouped(branch, group, features)
    assert arranged.shape.parent[:6].tolist() == [-1, 0, 0, 0, 1, 1]
    assert arranged.kind[:6].tolist() == [0, GROUP, BRANCH, BRANCH, BRANCH, BRANCH]


def test_one_branch_leaves_no_node_alone_below_the_root() -> None:
    features = np.random.default_rng(4).dirichlet(np.full(30, 0.1), 5)
    arranged = find_grouped(np.zeros(5, int), np.array([0]), features)
    assert arranged.shape.parent.tolist() == [-1, 0, 0, 0, 0, 0]
    assert find_grouped(np.zeros(1, int), np.array([0]), features[:1]).shape.n_nodes == 2


def test_levels_to_order() -> None:
    """Groups above the branches, and families within them: no family has topics of two."""
    rng = np.random.default_rng(5)
    branch = np.repeat(np.arange(6), 10)
    features = rng.dirichlet(np.full(40, 0.1), len(branch))
    coarse = np.array([0, 0, 1, 1, 2, 2])
    arranged = arrange_grouped(branch, [coarse], features, [20])
    n_at = np.bincount(arranged.shape.depth)
    assert n_at[1] == 3 and n_at[2] == 6
    member = arranged.members
    for node in np.flatnonzero(arranged.shape.depth == 3):
        assert len(np.unique(branch[member[node]])) == 1
    assert len(arranged.shape.inner) > 1 + 3 + 6


def test_nodes_of_few_children_give_these_to_their_parents() -> None:
    def over(*topics: int) -> Node:
        return Node([leaf(topic) for topic in topics], -1)

    root = Node([over(0, 1), Node([over(2, 3, 4), over(5, 6)], -1), leaf(7)], -1)
    kept = at_least(root, 3)
    assert [child.topics for child in kept.children] == [[0], [1], [2, 3, 4, 5, 6], [7]]
    inside = kept.children[2]
    assert [child.topics for child in inside.children] == [[2, 3, 4], [5], [6]]
    assert at_least(root, 2) == root
    own = Node([Node([leaf(1)], -1, (0,)), leaf(2)], -1)
    assert at_least(own, 5) == own


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find six branches of twelve topics."""
    monkeypatch.setattr(flat_starts, "FEWEST_TOPICS", 12)
    monkeypatch.setattr(flat_starts, "POWER", np.log(SUBJECTS) / np.log(12))


def started(shards: int = 1, workers: int = 1, seed: int = 0, **keys: object) -> State:
    keys = {"truncation": 12, "start_iterations": 10, "trials": 0, **keys}
    settings = settings_of(variational, **keys)
    with Workers(workers) as engine:
        data = lay_out(corpus_of(COUNTS.toarray().astype(int)), shards)
        return starts.init(data, settings, at(0, seed=seed, workers=engine))


def test_a_tree_of_areas_over_subjects(few: None) -> None:
    """The default start: three children of the root, which nobody told it."""
    assert_areas(started())


def tops(state: State) -> I64:
    """Return the child of the root that each node is at or below; 0 of the root."""
    top = np.arange(len(state.parent))
    for node in range(1, len(top)):
        if state.parent[node] > 0:
            top[node] = top[state.parent[node]]
    return top


def assert_areas(state: State) -> None:
    """Each child of the root has the words of an area, and of its subjects."""
    top = tops(state)
    assert state.mixing.shape.n_children[0] == AREAS
    words = np.arange(N_WORDS) // WORDS
    area = np.where(words < SUBJECTS, words // EACH, words - SUBJECTS)
    held = np.array(
        [
            [state.n_wk[area == one][:, top == child].sum() for child in np.unique(top[1:])]
            for one in range(AREAS)
        ]
    )
    assert len(set(held.argmax(axis=1).tolist())) == AREAS
    assert (held.max(axis=1) > 0.8 * held.sum(axis=1)).all()


def test_factorisations_have_the_passes_of_the_settings(
    few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default those of a whole effort."""
    seen, find = [], branching.branches_of

    def noted(
        counts: Any, n_branches: int, seeds: Seeds, effort: branching.Effort, report: Any
    ) -> branching.PairBranches:
        seen.append(effort.passes)
        return find(counts, n_branches, seeds, effort, report)

    monkeypatch.setattr(branching, "branches_of", noted)
    started(start_passes=7)
    started()
    assert seen == [7, branching.WHOLE.passes]


def test_stopping_at_branches_and_groups_weighs_little(few: None) -> None:
    """Of the nodes with children only those that no branch was found for keep their weight."""
    state = started(stop_prior=StopPrior(stop=2.0))
    inner = state.mixing.shape.inner
    assert state.stop_a[0] == 2.0
    assert state.stop_a[inner[1:]] == pytest.approx(2.0 * dividing.PASSING)
    assert (state.stop_b[inner] == 1.0).all()
    plain = started(stop_prior=StopPrior(stop=2.0), start="words")
    assert (plain.stop_a[plain.mixing.shape.inner] == 2.0).all()


def test_stopping_weighs_as_much_where_topics_are_fitted_anew(few: None) -> None:
    corpus = corpus_of(COUNTS.toarray().astype(int))
    settings = settings_of(variational, truncation=12, iterations=2)
    data, context = variational.prepare(corpus, settings), at(0)
    summary = variational.summarise(started(truncation=12), data, settings, context)
    tree, theta = summary.tree, summary.theta
    again = variational.refit_on_tree(tree, theta, corpus, settings, context).tree
    stops = [dict(zip(one.depth, one.extra["stop"][:, 0], strict=True)) for one in (tree, again)]
    assert stops[0] == stops[1]
    assert stops[1][1] == dividing.PASSING


def test_neither_seeds_nor_workers_make_a_difference(few: None) -> None:
    one = started(shards=2)
    for other in (started(shards=2, seed=1), started(shards=2, workers=2)):
        assert one.n_wk.tobytes() == other.n_wk.tobytes()
        assert one.parent.tobytes() == other.parent.tobytes()


def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make documents of 40 tokens count as long ones."""
    monkeypatch.setattr(starts, "LONG", 40)


def test_topics_of_long_documents_are_those_of_the_whole_corpus(
    few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of documents of 40 tokens and more: the same topics as without branches, in these."""
    found = []

    def grouped(branch: np.ndarray, *rest: Any) -> shapes.ArrangedTopics:
        found.append(branch)
        return find_grouped(branch, *rest)

    monkeypatch.setattr(starts, "find_grouped", grouped)
    settings = settings_of(variational, truncation=12, start_iterations=10, trials=0)
    data = lay_out(corpus_of(COUNTS.toarray().astype(int)), 1)
    topics = []
    for least in (41, 40):
        monkeypatch.setattr(starts, "LONG", least)
        topics.append(starts.grouped(SUBJECTS, data, settings, at(0), np.float64)[0])
    alone = first_topics.flat_topics(data, settings, at(0), np.float64)
    assert np.array_equal(topics[1].phi[:], alone.phi)
    assert topics[0].phi.shape != alone.phi.shape or (topics[0].phi[:] != alone.phi).any()
    branch = branching.branches_of(COUNTS, SUBJECTS, seedwords.NONE).probable()
    assert found[1].tolist() == branching.homes(COUNTS, branch, alone.theta, alone.phi).tolist()


def test_topics_of_short_documents_know_their_own_branch_alone(few: None) -> None:
    """As many tokens as the branch, its words, and no part in a document without it."""
    settings = settings_of(variational, truncation=12, start_iterations=10)
    data = lay_out(corpus_of(COUNTS.toarray().astype(int)), 1)
    branch = np.where(COUNTS.indices < 30, 0, 1)
    found, home = first_topics.topics_within(branch, data, settings, at(0), np.float64)
    for part in (0, 1):
        tokens, own = float(COUNTS.data[branch == part].sum()), home == part
        assert own.any() and found.n_k[own].sum() == pytest.approx(tokens, rel=1e-5)
        assert found.phi[:][np.ix_(own, np.unique(COUNTS.indices[branch != part]))].max() < 1e-5
        outside = np.setdiff1d(np.arange(COUNTS.shape[0]), COUNTS[:, _words(part)].nonzero()[0])
        assert found.theta[:][np.ix_(outside, own)].max(initial=0.0) < 1e-3


def _words(part: int) -> slice:
    return slice(0, 30) if part == 0 else slice(30, None)


@pytest.mark.parametrize("names", [{}, {"one": ["w0"], "two": ["w50"]}], ids=["none", "two"])
def test_topics_of_all_branches_are_swept_together_for_names_alone(
    few: None, monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]]
) -> None:
    """All iterations are for the topics within branches where nobody learns across them."""
    done: list[int] = []
    whole = first_topics.fit_flat

    def counting(begun: Any, data: Any, n_iterations: int, *rest: Any) -> Any:
        done.append(n_iterations)
        return whole(begun, data, n_iterations, *rest)

    monkeypatch.setattr(first_topics, "fit_flat", counting)
    settings = settings_of(variational, truncation=12, start_iterations=20, seeds=names or None)
    data = variational.prepare(corpus_of(COUNTS.toarray().astype(int)), settings)
    branch = np.where(COUNTS.indices < 30, 0, 1)
    first_topics.topics_within(branch, data, settings, at(0), np.float64)
    assert done == ([10, 10, 3] if names else [20, 20])


def test_an_empty_document_makes_no_document_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.ones((6, 8), int)
    rows[3:] = 0
    data = lay_out(corpus_of(rows), 1)
    for least, expected in ((8, True), (9, False)):
        monkeypatch.setattr(starts, "LONG", least)
        assert starts.are_long(data.doc_lengths) is expected


def test_a_topic_is_in_the_branch_that_has_most_of_its_tokens() -> None:
    """By tokens, not by pairs; of branches that have as many, in the first."""
    counts = sparse.csr_array(np.array([[1.0, 1.0, 3.0], [2.0, 2.0, 0.0]]))
    theta, phi = np.eye(2), np.full((2, 3), 1 / 3)
    branch = np.array([0, 0, 1, 1, 0])
    assert branching.homes(counts, branch, theta, phi).tolist() == [1, 0]


def test_long_documents_have_a_tree_of_areas_over_subjects(
    few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    long(monkeypatch)
    assert_areas(started())


def test_a_name_has_a_branch_of_its_own_among_long_documents(
    few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child of the root, with the words of its subject below it."""
    long(monkeypatch)
    words = [f"w{WORDS * 2}", f"w{WORDS * 2 + 1}"]
    settings = settings_of(
        variational, truncation=12, start_iterations=10, trials=0, seeds={"one": words}
    )
    data = variational.prepare(corpus_of(COUNTS.toarray().astype(int)), settings)
    state = starts.init(data, settings, at(0))
    subject = np.arange(2 * WORDS, 3 * WORDS)
    top = tops(state)
    held = [state.n_wk[subject][:, top == child].sum() for child in np.unique(top[1:])]
    assert state.parent[1] == 0 and int(np.argmax(held)) == 0
    assert held[0] > 0.8 * sum(held)


def test_the_topic_of_a_name_is_in_the_branch_of_the_name() -> None:
    """Even where its words were in another."""
    settings = settings_of(
        variational, truncation=12, start_iterations=4, seeds={"one": ["w0"], "two": ["w50"]}
    )
    data = variational.prepare(corpus_of(COUNTS.toarray().astype(int)), settings)
    elsewhere = np.full(COUNTS.nnz, 3)
    found = first_topics.topics_across(elsewhere, data, settings, at(0), np.float64)[1]
    assert found.tolist() == [0, 1, *[3] * (len(found) - 2)]


def test_a_sample_of_the_documents_decides(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "ROOM", COUNTS.nnz * 12 // 2)
    state = started()
    assert state.mixing.shape.n_children[0] == AREAS
    assert state.n_k.sum() == pytest.approx(COUNTS.sum(), rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("entries", "least"), [("all", 41), ("few", 41), ("few", 40)])
def test_shards_and_a_fit_that_goes_on_end_in_the_same_bytes(
    few: None, tmp_path: Path, entries: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever workers; with seed words and several ranges of short documents, or of long ones."""
    monkeypatch.setattr(starts, "LONG", least)
    monkeypatch.setattr("hiertopics.corpus.data.shelf.BLOCK_PAIRS", 16)
    lines = []
    for row in COUNTS.toarray().astype(int):
        words = np.flatnonzero(row)
        cells = " ".join(f"{word}:{row[word]}" for word in words)
        lines.append(f"{len(words)} {cells}\n")
    (tmp_path / "a.ldac").write_text("".join(lines))
    (tmp_path / "a.vocab").write_text("".join(f"w{word}\n" for word in range(N_WORDS)))
    (tmp_path / "seeds.yaml").write_text("one: [w0, w1]\n")
    convert(tmp_path / "a.ldac", tmp_path / "a.shards")

    def made(corpus: str, name: str, iterations: int, workers: int = 1) -> dict[str, bytes]:
        run = driver.fit(
            tmp_path / corpus,
            run=tmp_path / name,
            backend="nhdp-variational",
            iterations=iterations,
            workers=workers,
            overrides=[
                "model.truncation=12",
                "inference.start_iterations=10",
                "inference.shards=2",
                f"inference.responsibilities={entries}",
                f"model.seeds={tmp_path / 'seeds.yaml'}",
                "output.checkpoint_seconds=0",
            ],
        ).run
        assert run.tree.parent[1] == 0
        names = ("model.npz", "theta.npz", "tree.json")
        return {name: (run.path / name).read_bytes() for name in names}

    whole = made("a.ldac", "whole", 4)
    assert made("a.ldac", "threads", 4, workers=2) == whole
    made("a.shards", "shards", 2)
    assert made("a.shards", "shards", 4) == whole


def test_levels_that_are_told(few: None) -> None:
    """The level nearest to the number of branches is that of the branches."""
    assert starts.branch_level([6, 30], 16) == 30
    assert starts.branch_level([12, 70], 16) == 12
    for told in ([2, 6], [6], [3]):
        shape = started(branches=told).mixing.shape
        assert shape.n_children[0] == told[0]
    shape = started(branches=[2, 6]).mixing.shape
    assert (shape.depth == 2).sum() >= 5


def test_few_topics_begin_as_clusters_of_words() -> None:
    """Below the number of topics at which branches are found first, told levels or not."""
    for told in ("auto", [3]):
        assert started(branches=told).n_wk.tobytes() == (
            started(branches=told, start="words").n_wk.tobytes()
        )


@pytest.mark.parametrize("text", ["alike", "empty", "two"])
def test_poor_corpora_have_a_tree(few: None, text: str) -> None:
    """Documents that are all alike, that have no words but one, or fewer than branches."""
    rows = np.ones((30, 60), int)
    if text == "empty":
        rows[1:] = 0
    if text == "two":
        rows = COUNTS.toarray()[:2].astype(int)
    settings = settings_of(variational, truncation=12, start_iterations=4, trials=0)
    state = starts.init(lay_out(corpus_of(rows), 1), settings, at(0))
    assert state.mixing.shape.n_nodes >= 2
    # q(z) is kept in 16 bits.
    assert state.n_k.sum() == pytest.approx(rows.sum(), rel=1e-4)


def test_families_are_cut_on_a_grid() -> None:
    points = np.sqrt(np.random.default_rng(6).dirichlet(np.full(20, 0.2), 30))
    merges = shapes.ward_on_grid(points)
    noisy = shapes.ward_on_grid(points + 1e-14)
    assert np.array_equal(merges, noisy)
