"""Where own nodes stand in vectors, and the tree above topics."""

from __future__ import annotations

import numpy as np
import pytest
from nhdp_cases import random_parent

from hiertopics.families.nhdp.lane_kernels import lay_out, most_columns, room_for_places
from hiertopics.families.nhdp.layout import LANES, shape_of
from hiertopics.families.nhdp.shapes import (
    BRANCHES,
    BROAD,
    MANY,
    Usage,
    arrange,
    find,
    labels_at,
    nested,
    numbered,
    ward,
)


@pytest.mark.parametrize("seed", range(30))
def test_every_own_node_has_a_column_and_every_lane_one_parent(seed: int) -> None:
    """Of documents that have all nodes, and of some that have a part of them."""
    rng = np.random.default_rng(seed)
    shape = shape_of(random_parent(rng, int(rng.integers(2, 90))))
    ancestry, places = shape.ancestry, room_for_places(shape.n_nodes)
    for share in (1.0, 0.3, 0.0):
        own = {0}
        for node in np.flatnonzero(rng.random(shape.n_nodes) <= share).tolist():
            while node > 0:
                own.add(node)
                node = shape.parent[node]
        nodes = np.array(sorted(own), np.int32)
        sizes = lay_out(nodes, ancestry, places)
        column = places.column[: len(nodes)].astype(int)
        assert len(set(column.tolist())) == len(nodes)
        assert column.max() < sizes.n_columns <= most_columns(shape.n_nodes)
        inner = nodes[ancestry.inner[nodes]]
        assert column[ancestry.inner[nodes]].tolist() == list(range(len(inner)))
        depth = places.group_depth[: sizes.n_groups]
        starts, groups = places.group_start[: sizes.n_groups], np.arange(sizes.n_groups)
        assert starts.tolist() == (sizes.n_above + LANES * (np.cumsum(depth) - depth)).tolist()
        rows = np.repeat(groups, depth)
        for node, at in zip(nodes, column, strict=True):
            if not ancestry.inner[node]:
                row, lane = divmod(at - sizes.n_above, LANES)
                assert inner[places.lane_parent[rows[row] * LANES + lane]] == shape.parent[node]
        above = places.above[: len(nodes)][ancestry.inner[nodes]]
        assert (inner[above[1:]] == shape.parent[inner[1:]]).all()
        branching = []
        for place, node in enumerate(inner):
            children = slice(int(places.inner_first[place]), int(places.inner_first[place + 1]))
            expected = [child for child in inner if shape.parent[child] == node]
            assert inner[children].tolist() == expected
            branching += [place] * bool(expected)
        assert places.branching[: sizes.n_branching].tolist() == branching


def rows_of(centres: list[list[float]]) -> np.ndarray:
    rows = np.array(centres, float) ** 2
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def test_wards_heights_of_points_that_are_equally_far_are_equal() -> None:
    """Which makes a gap between heights a sign of a cluster."""
    merges = ward(np.eye(9))
    assert merges[:, 2] == pytest.approx(np.sqrt(2))


def alone(n_topics: int, n_tokens: float = 1e4) -> Usage:
    """Return usage in which every document has a topic to itself."""
    return Usage(np.eye(n_topics), np.full(n_topics, n_tokens / n_topics))


def test_cuts_within_cuts_and_no_only_child() -> None:
    features = rows_of([[8, 1, 0, 0], [8, 0, 1, 0], [0, 0, 8, 1], [0, 1, 8, 0], [0, 0, 0, 9]])
    arranged = arrange(ward(features), [3])
    assert arranged.shape.parent.tolist() == [-1, 0, 0, 0, 1, 1, 2, 2]
    assert arranged.node.tolist() == [4, 5, 6, 7, 3]
    assert arranged.members[1].tolist() == [True, True, False, False, False]
    assert arrange(ward(features), [1, 5, 9]).shape.parent.tolist() == [-1, *[0] * 5]


def test_a_chain_is_one_node() -> None:
    levels = [np.array([0, 0, 1]), np.array([0, 0, 1])]
    assert numbered(nested(levels, 3)).shape.parent.tolist() == [-1, 0, 0, 1, 1]


def test_a_single_topic_is_a_child_of_the_root() -> None:
    merges = ward(np.ones((1, 4)) / 4)
    for arranged in (arrange(merges, [12]), find(merges, alone(1))):
        assert arranged.shape.parent.tolist() == [-1, 0]


def test_labels_undo_the_last_merges() -> None:
    merges = ward(np.random.default_rng(0).dirichlet(np.ones(5), 12))
    for n_clusters in range(1, 13):
        assert len(set(labels_at(merges, n_clusters).tolist())) == n_clusters
    coarse, fine = labels_at(merges, 3), labels_at(merges, 7)
    assert len({*zip(fine.tolist(), coarse.tolist(), strict=True)}) == 7


def two_levels(sizes: list[int]) -> np.ndarray:
    """Return topics in clusters: alike within, unlike between."""
    n_topics = sum(sizes)
    rows: list[np.ndarray] = []
    for cluster, size in enumerate(sizes):
        for _ in range(size):
            row = np.zeros(n_topics + len(sizes))
            row[len(rows)] = 0.45
            row[n_topics + cluster] = 0.55
            rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("sizes", [[4, 4, 4], [2, 5, 3, 7], [3, 3]])
def test_gaps_tell_clusters_and_their_number(sizes: list[int]) -> None:
    arranged = find(ward(two_levels(sizes)), alone(sum(sizes)))
    expected = [-1, *[0] * len(sizes)]
    for cluster, size in enumerate(sizes):
        expected += [cluster + 1] * size
    assert arranged.shape.parent.tolist() == expected


def test_where_there_is_no_gap_there_is_no_cluster() -> None:
    shape = find(ward(np.eye(BROAD)), alone(BROAD)).shape
    assert shape.parent.tolist() == [-1, *[0] * BROAD]


@pytest.mark.parametrize(("n_tokens", "depth"), [(5e4, 2), (5e5, 3)])
def test_broad_families_are_cut_by_the_size_of_the_corpus(n_tokens: float, depth: int) -> None:
    rng = np.random.default_rng(1)
    shape = find(ward(rng.dirichlet(np.ones(60), 200)), alone(200, n_tokens)).shape
    assert shape.depth.max() == depth
    assert shape.n_children[0] <= BROAD
    assert len(shape.leaves) == 200


def test_topics_that_were_found_twice_count_once() -> None:
    """Twenty topics, each three times, are no broad family."""
    rng = np.random.default_rng(2)
    rows = np.repeat(np.eye(20, 25), 3, axis=0) + 0.01 * rng.random((60, 25))
    shape = find(ward(rows / rows.sum(axis=1, keepdims=True)), alone(60)).shape
    assert shape.parent.tolist() == [-1, *[0] * 60]


def branches(sizes: list[int], usage: Usage) -> list[int]:
    """Return the topics below each child of the root, where clusters of these sizes are found."""
    arranged = find(ward(two_levels(sizes)), usage)
    return arranged.members[arranged.shape.children(0)].sum(axis=1).tolist()


def shared(sizes: list[int], *, n_docs: int = 40) -> Usage:
    """Return usage in which all documents have the same half of the first cluster's topics.

    They have the rest of one cluster after the other.
    """
    theta = np.zeros((n_docs, sum(sizes)))
    theta[:, : sizes[0]] = 0.5 / sizes[0]
    starts = np.cumsum(sizes)
    for doc in range(n_docs):
        other = 1 + doc % (len(sizes) - 1)
        theta[doc, starts[other - 1] : starts[other]] = 0.5 / sizes[other]
    return Usage(theta, 1e4 * theta.mean(axis=0))


def test_a_branch_that_most_documents_use_is_cut_until_none_is() -> None:
    """The others stay; what it is cut into is no branch of general words, or of few topics."""
    sizes = [MANY + 5, 12, 11, 12]
    found = branches(sizes, shared(sizes))
    assert found[-3:] == [12, 11, 12]
    assert len(found) > 4 and sum(found) == sum(sizes)
    assert max(found) <= MANY


def test_a_broad_branch_with_documents_of_its_own_stays() -> None:
    sizes = [MANY + 5, 12, 11, 12]
    usage = shared(sizes)
    theta = usage.theta.copy()
    theta[4:, : sizes[0]] = 0
    assert branches(sizes, usage._replace(theta=theta)) == sizes


def test_a_branch_of_hardly_a_token_stays() -> None:
    sizes = [MANY + 5, 12, 11, 12]
    usage = shared(sizes)
    n_k = usage.n_k.copy()
    n_k[: sizes[0]] = 1.0
    assert branches(sizes, usage._replace(n_k=n_k)) == sizes


def test_a_branch_of_few_topics_may_be_in_most_documents() -> None:
    """As in a tree of four branches, whatever is planted there."""
    sizes = [MANY, 12, 11, 12]
    assert branches(sizes, shared(sizes)) == sizes


def test_among_many_branches_none_of_few_topics_is_in_most_documents() -> None:
    """One branch fewer, and it stays."""
    few, other = MANY - 9, [3] * (BRANCHES - 1)
    sizes = [few, *other]
    found = branches(sizes, shared(sizes, n_docs=80))
    assert found[-len(other) :] == other
    assert len(found) > len(sizes) and sum(found) == sum(sizes)
    fewer = sizes[:-1]
    assert branches(fewer, shared(fewer, n_docs=80)) == fewer
