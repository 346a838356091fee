"""Finding nodes: sums of sticks, order, room, and likelihoods looked up or worked out (T1, T12)."""

from __future__ import annotations

import numpy as np
import pytest

from hiertopics.base.arrays import I32
from hiertopics.families.tssb import assign_kernels, stick_kernels, trees
from hiertopics.families.tssb.layout import (
    FULL,
    NONE,
    Process,
    StickNodes,
    StickPlaces,
    make_nodes,
    make_places,
    places_with_room,
    with_room,
)
from hiertopics.families.tssb.summary import masses_below
from hiertopics.families.tssb.text_kernels import Dirichlet
from hiertopics.families.tssb.trees import plant

WIDE = Process(2.0, 0.9, 60.0, 64)
LAW = Dirichlet(2.0)


def bare_root(capacity: int, process: Process) -> tuple[StickNodes, StickPlaces]:
    """Return a tree of a root without data."""
    nodes, places = make_nodes(capacity, 2), make_places(capacity)
    nodes.size[0], nodes.parent[0], nodes.known[0] = 1, NONE, True
    assign_kernels.break_nu(0, nodes, process, np.random.default_rng(9))
    assign_kernels.lay_out(nodes, places)
    return nodes, places


def explored(
    n_finds: int, process: Process = WIDE
) -> tuple[StickNodes, StickPlaces, list[int], list[float]]:
    """Return a tree that grew where random numbers fell, the nodes they fell on, the numbers."""
    nodes, places = bare_root(200_000, process)
    rng = np.random.default_rng(4)
    points = rng.random(n_finds).tolist()
    found = [assign_kernels.find(u, 1, nodes, places, process, rng) for u in points]
    assert FULL not in found
    return nodes, places, found, points


def positions(nodes: StickNodes) -> list[tuple[int, ...]]:
    """Return each node as the tuple of positions on its path."""
    names: list[tuple[int, ...]] = [()]
    n_children = [0] * int(nodes.size[0])
    for node in range(1, int(nodes.size[0])):
        parent = int(nodes.parent[node])
        names.append((*names[parent], n_children[parent]))
        n_children[parent] += 1
    return names


def test_masses_and_remainders_add_up_to_one() -> None:
    """T1: over trees that grew by random calls."""
    for seed in range(20):
        process = Process(1.0 + seed, 0.3 + 0.03 * seed, 0.5 + seed / 4, 12)
        nodes, places = bare_root(100_000, process)
        rng = np.random.default_rng(seed)
        for u in rng.random(60):
            assign_kernels.find(u, 1, nodes, places, process, rng)
        n = int(nodes.size[0])
        own = np.exp(stick_kernels.log_masses(nodes))
        assert own.sum() + places.rest[:n].sum() == pytest.approx(1, abs=1e-12)
        assert own == pytest.approx((places.mid - places.left)[:n], abs=1e-12)


def test_masses_of_nodes_with_data_and_below_add_up_to_one() -> None:
    nodes, home = plant(
        np.zeros((40, 2), np.int32), np.log([0.5, 0.5]), 0.0, "prior", WIDE, LAW,
        np.random.default_rng(2),
    )  # fmt: skip
    nodes = trees.reordered(nodes, home, WIDE, np.random.default_rng(3))
    stick_kernels.draw_sticks(nodes, WIDE, np.random.default_rng(4), True)
    used = nodes.n_sub[: nodes.size[0]] > 0
    assert not used.all()
    own = np.exp(stick_kernels.log_masses(nodes))[used].sum()
    assert own + masses_below(nodes)[used].sum() == pytest.approx(1, abs=1e-12)


def test_the_order_of_left_ends_is_that_of_position_tuples() -> None:
    """T12: an ancestor precedes what is below it; positions are compared as numbers."""
    nodes, places, _, _ = explored(3_000)
    names = positions(nodes)
    n = len(names)
    assert max(max(name, default=0) for name in names) > 300
    rng = np.random.default_rng(0)
    pairs = rng.integers(n, size=(10_000, 2)).tolist()
    pairs += [(int(nodes.parent[node]), node) for node in rng.integers(1, n, size=500)]
    wide = places.mid[:n] - places.left[:n] > 1e-13
    compared = 0
    for first, second in pairs:
        if first != second and wide[first] and wide[second]:
            assert (names[first] < names[second]) == (places.left[first] < places.left[second])
            compared += 1
    assert compared > 3_000


def test_finding_is_monotone() -> None:
    """T12: a larger number falls on the same node or a later one."""
    nodes, _, found, points = explored(2_000)
    names = positions(nodes)
    in_order = [names[found[place]] for place in np.argsort(points)]
    assert in_order == sorted(in_order)


@pytest.mark.slow
def test_a_number_is_found_again_in_the_tree_at_rest() -> None:
    """Binary search over a packed tree gives what growing it gave."""
    nodes, _, found, points = explored(400)
    home = np.array(found, np.int32)
    stick_kernels.count(home, nodes)
    names = positions(nodes)
    expected = [names[node] for node in found]
    packed = trees.cull(nodes, home)
    places = make_places(len(packed.parent))
    assign_kernels.lay_out(packed, places)
    rng, n = np.random.default_rng(1), int(packed.size[0])
    again = [assign_kernels.find(u, n, packed, places, WIDE, rng) for u in points]
    assert again == home.tolist()
    assert [positions(packed)[node] for node in again] == expected


def test_parameters_of_empty_nodes_do_not_outlive_a_cull() -> None:
    """Their parents' parameters will change: they must be drawn again when a datum looks."""
    nodes = make_nodes(64, 2)
    nodes.size[0] = 4
    nodes.parent[:4], nodes.depth[:4] = [NONE, 0, 0, 0], [0, 1, 1, 1]
    nodes.known[:4], nodes.value[:4] = True, np.log([0.3, 0.7])
    home = np.array([0, 2], np.int32)
    stick_kernels.count(home, nodes)
    culled = trees.cull(nodes, home)
    assert culled.size[0] == 3
    assert culled.known[:3].tolist() == [True, False, True]
    assert culled.value[1].tolist() == [0.0, 0.0]
    assert home.tolist() == [0, 2]


def test_want_of_room_changes_nothing() -> None:
    """The same tree grows in arrays that are too small and made larger on the way."""
    nodes, places, found, points = explored(60)
    small, spots = bare_root(64, WIDE)
    rng = np.random.default_rng(4)
    rng.random(60)
    grown = 0
    for u, node in zip(points, found, strict=True):
        while (here := assign_kernels.find(u, 1, small, spots, WIDE, rng)) == FULL:
            small = with_room(small, 2 * len(small.parent))
            spots = places_with_room(spots, len(small.parent))
            grown += 1
        assert here == node
    assert grown > 1
    n = int(nodes.size[0])
    assert small.log_psi[:n].tolist() == nodes.log_psi[:n].tolist()


def passes(tabled: bool, spare: int, monkeypatch: pytest.MonkeyPatch) -> I32:
    """Return the nodes of data after passes over a tree."""
    monkeypatch.setattr(trees, "GROWTH", spare)
    monkeypatch.setattr(trees, "BLOCK", 50)
    rng = np.random.default_rng(5)
    features = rng.integers(0, 4, size=(170, 4)).astype(np.int32)
    process = Process(3.0, 0.5, 4.0, 64)
    root = np.log(np.full(4, 0.25))
    nodes, home = plant(features, root, 0.0, "sequential", process, LAW, rng)
    for _ in range(6):
        nodes, _ = trees.assign(features, home, nodes, process, LAW, rng, tabled=tabled)
        stick_kernels.draw_sticks(nodes, process, rng, True)
    assert len(set(home.tolist())) > 5
    return home


def test_likelihoods_of_a_block_at_once_give_the_same_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert passes(True, 2, monkeypatch).tolist() == passes(False, 2, monkeypatch).tolist()


def test_room_for_a_pass_changes_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    assert passes(False, 2, monkeypatch).tolist() == passes(False, 40, monkeypatch).tolist()
