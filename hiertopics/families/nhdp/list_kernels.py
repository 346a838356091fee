"""The sampler's sweep that costs a token the nodes of its document and word (theory/nhdp 5.1).

The chance of node i, a child of p, is proportional to (n_iw + eta) share_i factor_p, where

    share_i  = (s_i + mass_i) stay_i / (n_i + eta_total)       changes with the tokens at or below i
    factor_p = product of (s_q + mass_q) go_q over the nodes q from p up, the root left out

and both are relative to the ``go`` of the root, which takes the share of its own from them. So a
family, the children of a node, has one factor, and a token that comes or goes changes the shares
of its path, and the factors of families below the first node where paths part.

The sum over all nodes has two parts. The first is over the nodes that the word has, a short list.
The second is eta times the sum of share_i factor_p; for it each family keeps the sum of its shares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F32, F64, I32, I64, U32
from hiertopics.families.flat.sweep_kernels import (
    last_place,
    place_of,
)
from hiertopics.families.nhdp.gibbs_kernels import NodeParameters
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.lanes import LANES
from hiertopics.numeric.simd_draws import Int, gather_products, pick_place, sum_list, sum_products

PASSING, STOPPED, TOKENS, INVERSE, MASS, CONCENTRATION, STOP_A, STOP_B = range(8)
"""Columns of the table of nodes, float64 [K, 8], whose rows are lines of the cache.

PASSING: tokens of the document at and below the node. STOPPED: tokens of the document at the node.
TOKENS: tokens of all documents there. INVERSE: 1 / (TOKENS + eta_total). The rest as in
``NodeParameters``.
"""

DEPTH, MEMBER, OWN, UNTIL = range(4)
"""Columns of the table of links, uint32 [K, 4].

DEPTH: of the node, the root's 0. MEMBER: the family that the node is in. ``OWN .. UNTIL``: the
families at and below the node; a leaf has none.
"""


class Families(NamedTuple):
    """Families of a tree, those below a node behind its own; the root is in that of its children.

    links: uint32 [K, 4], see ``DEPTH``. paths: uint32 [K, depth of the tree + 1], the node at each
    depth on the path to a node. member: uint32 [K], the family that a node is in. head: uint32 [F],
    the parent of a family; above: the family that it is in. begin, end: uint32 [F]; its nodes are
    ``begin[f] .. end[f]``. Numbers that may be negative would cost a test at each use.
    """

    links: U32
    paths: U32
    member: U32
    head: U32
    above: U32
    begin: U32
    end: U32


class Mixture(NamedTuple):
    """The shares of the nodes in a document.

    share: float32 [K]. local: float32 [F], the part of a family's factor that is its parent's.
    factor: float32, filled up with 0 to whole vectors. exact: float64 [F], the sum of a family's
    shares. weight: float32, the same filled up.
    """

    share: F32
    local: F32
    factor: F32
    exact: F64
    weight: F32


@kernel()
def families_of(parent: I32, first: I64) -> Families:
    """Return the families of a tree, nodes breadth first.

    parent: int32 [n_nodes]. first: int64 [n_nodes + 1], the first child of each node.
    """
    n_nodes = len(parent)
    n_below, depth = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    for node in range(1, n_nodes):
        depth[node] = depth[parent[node]] + 1
    for node in range(n_nodes - 1, -1, -1):
        if node == 0 or first[node] < first[node + 1]:
            n_below[node] += 1
        if node > 0:
            n_below[parent[node]] += n_below[node]
    member, links = np.zeros(n_nodes, np.uint32), np.zeros((n_nodes, 4), np.uint32)
    paths = np.zeros((n_nodes, depth[-1] + 1), np.uint32)
    above = np.zeros(n_below[0], np.uint32)
    head, begin, end = np.zeros_like(above), np.zeros_like(above), np.zeros_like(above)
    for node in range(n_nodes):
        if node > 0:
            paths[node] = paths[parent[node]]
            paths[node, depth[node]] = node
        own = np.int64(links[node, OWN])
        links[node, DEPTH], links[node, UNTIL] = depth[node], own + n_below[node]
        if n_below[node] == 0:
            continue
        head[own], above[own] = node, member[node]
        begin[own], end[own] = first[node], first[node + 1]
        behind = own + 1
        for child in range(first[node], first[node + 1]):
            member[child] = links[child, MEMBER] = own
            links[child, OWN] = behind
            behind += n_below[child]
    begin[0] = 0
    return Families(links, paths, member, head, above, begin, end)


@kernel()
def nodes_of(n_k: I64, parameters: NodeParameters) -> F64:
    """Return the table of nodes before there is a document; see ``PASSING``.

    float64 [n_nodes, 8]. n_k: int64 [n_nodes].
    """
    nodes = np.zeros((len(n_k), 8))
    for node in range(len(n_k)):
        nodes[node, TOKENS] = n_k[node]
        nodes[node, INVERSE] = 1.0 / (n_k[node] + parameters.eta_total)
        nodes[node, MASS] = parameters.mass[node]
        nodes[node, CONCENTRATION] = parameters.concentration[node]
        nodes[node, STOP_A], nodes[node, STOP_B] = parameters.stop_a[node], parameters.stop_b[node]
    if len(n_k) == 1:
        # A root without children has some weight, whatever that is.
        nodes[0, CONCENTRATION] = nodes[0, STOP_B] = 1.0
    return nodes


@kernel()
def mixture_of(n_nodes: int, n_families: int) -> Mixture:
    """Return memory for the mixture of a document."""
    room = (n_families + LANES - 1) // LANES * LANES
    return Mixture(
        np.zeros(n_nodes, np.float32),
        np.zeros(n_families, np.float32),
        np.zeros(room, np.float32),
        np.zeros(n_families),
        np.zeros(room, np.float32),
    )


# Arrays come one by one: taken from a tuple they would cost counted references per token.


@kernel()
def redraw_document(
    z: I32,
    words: I32,
    doc_row: I32,
    eta: float,
    eta_total: float,
    links: U32,
    paths: U32,
    member: U32,
    head: U32,
    above: U32,
    begin: U32,
    end: U32,
    start: I64,
    length: I64,
    entries: U32,
    times: F32,
    nodes: F64,
    share: F32,
    local: F32,
    factor: F32,
    exact: F64,
    weight: F32,
    chances: F32,
    sums: F32,
    before: F32,
    rng: np.random.Generator,
) -> int:
    """Redraw the tokens of one document; return how many moved.

    links to end: ``Families``. start to times: the lists of words, kept up to date in place of
    n_wk. nodes: see ``PASSING``; all tokens in, before and after. share to weight: ``Mixture``.
    chances, sums, before: scratch of a draw from a list.
    """
    one, none = np.float32(1.0), np.float32(0.0)
    new = np.int64(z[0])
    nodes[new, TOKENS] -= 1.0
    nodes[new, INVERSE] = 1.0 / (nodes[new, TOKENS] + eta_total)
    begin_document(
        doc_row, new, head, above, begin, end, nodes, share, local, factor, exact, weight
    )
    of_all = -one
    moved, last_word, at_first, n, same = 0, np.int64(-1), np.int64(0), np.int64(0), False
    for token in range(len(z)):
        word, old = np.int64(words[token]), np.int64(z[token])
        # The counts lack one token, the one that is drawn: the last one comes back as it goes.
        if new != old:
            same, of_all = False, -one
            nodes[new, STOPPED] += 1.0
            nodes[new, TOKENS] += 1.0
            nodes[new, INVERSE] = 1.0 / (nodes[new, TOKENS] + eta_total)
            nodes[old, STOPPED] -= 1.0
            nodes[old, TOKENS] -= 1.0
            nodes[old, INVERSE] = 1.0 / (nodes[old, TOKENS] + eta_total)
            into, out = np.int64(links[new, DEPTH]), np.int64(links[old, DEPTH])
            meet, both = np.int64(0), min(into, out)
            while meet < both and paths[new, meet + 1] == paths[old, meet + 1]:
                meet += 1
            # Both paths below the node where they meet, and that node where a token stops at it.
            # Of two of its children, whose family adds up both, the larger number comes first.
            path, bottom, then, bottom_then, change = new, into, old, out, 1.0
            if out > meet and (into == meet or paths[old, meet + 1] > paths[new, meet + 1]):
                path, bottom, then, bottom_then, change = old, out, new, into, -1.0
            top, at_meeting = meet + 1, into == meet or out == meet
            for turn in range(3 if at_meeting else 2):
                for level in range(bottom, top - 1, -1):
                    node = np.int64(paths[path, level])
                    nodes[node, PASSING] += change
                    own = np.int64(links[node, OWN])
                    leaf = own == np.int64(links[node, UNTIL])
                    go, stay = go_and_stay_at(
                        node, leaf, nodes[node, STOPPED], nodes[node, PASSING], nodes[node, MASS],
                        nodes[node, CONCENTRATION], nodes[node, STOP_A], nodes[node, STOP_B],
                    )  # fmt: skip
                    if not leaf:
                        local[own] = np.float32(go)
                    now = np.float32(stay * nodes[node, INVERSE])
                    family = np.int64(links[node, MEMBER])
                    exact[family] += np.float64(now) - np.float64(share[node])
                    weight[family], share[node] = np.float32(exact[family]), now
                if turn == 0:
                    path, bottom, change = then, bottom_then, -change
                else:
                    bottom, top, change = meet, meet, 0.0
            if at_meeting and meet > 0:
                node = np.int64(paths[new, meet])
                for below in range(np.int64(links[node, OWN]), np.int64(links[node, UNTIL])):
                    factor[below] = factor[above[below]] * local[below]
            else:
                if into > meet:
                    node = np.int64(paths[new, meet + 1])
                    for below in range(np.int64(links[node, OWN]), np.int64(links[node, UNTIL])):
                        factor[below] = factor[above[below]] * local[below]
                if out > meet:
                    node = np.int64(paths[old, meet + 1])
                    for below in range(np.int64(links[node, OWN]), np.int64(links[node, UNTIL])):
                        factor[below] = factor[above[below]] * local[below]
        if word != last_word:
            at_first, n, last_word, same = start[word], length[word], word, False
        if not same:
            gather_products(share, factor, member, entries, at_first, n, chances)
        place = place_of(entries, at_first, n, old)
        left = times[at_first + place] - one
        own_weight = chances[place] * left
        of_list = np.float64(sum_list(chances, times, at_first, n, place, own_weight, sums, before))
        # Last, as it waits until all factors are in the cache.
        if of_all < none:
            of_all = np.float32(eta) * sum_products(factor, weight)
        target = rng.random() * (of_list + np.float64(of_all))
        if target < of_list:
            at = np.int64(pick_place(sums, before, n, np.float32(target)))
            if at >= n or not (own_weight if at == place else chances[at] * times[at_first + at]):
                at = np.int64(last_place(chances, times, at_first, n, place, own_weight))
            new = np.int64(entries[at_first + at])
        else:
            at, target = np.int64(-1), (target - of_list) / eta
            new = np.int64(find_node(target, share, factor, weight, begin, end))
        same = new == old
        if same:
            continue
        doc_row[old] -= 1
        doc_row[new] += 1
        z[token] = new
        moved += 1
        times[at_first + place] = left
        # A node that lost its last token of the word gives its place to the last one of the list.
        if left == none:
            n -= 1
            entries[at_first + place] = entries[at_first + n]
            times[at_first + place], times[at_first + n] = times[at_first + n], none
            if at == n:
                at = np.int64(place)
        place = at if at >= 0 else place_of(entries, at_first, n, new)
        if place == n:
            entries[at_first + n] = new
            n += 1
        times[at_first + place] += one
        length[word] = n
    nodes[new, TOKENS] += 1.0
    nodes[new, INVERSE] = 1.0 / (nodes[new, TOKENS] + eta_total)
    return moved


@kernel()
def go_and_stay_at(
    node: Int,
    leaf: bool,
    stopped: float,
    passing: float,
    mass: float,
    concentration: float,
    stop_a: float,
    stop_b: float,
) -> tuple[float, float]:
    """Return the factor that a node gives to its children, 1 without one, and its own share.

    The share lacks what depends on the tokens of all documents there.
    """
    if leaf:
        return 1.0, passing + mass
    if node > 0:
        return go_and_stay(stopped, passing, mass, concentration, stop_a, stop_b)
    return 1.0, stay_at_root(stopped, passing, concentration, stop_a, stop_b)


@kernel()
def go_and_stay(
    stopped: float, passing: float, mass: float, concentration: float, stop_a: float, stop_b: float
) -> tuple[float, float]:
    """Return the factor that an inner node gives to its children, and its own share.

    The root is no such node.
    """
    gone = passing - stopped
    customers = gone + concentration
    reached = (passing + mass) / ((stop_a + stop_b + passing) * customers)
    return reached * (stop_b + gone), reached * (stop_a + stopped) * customers


@kernel()
def stay_at_root(
    stopped: float, passing: float, concentration: float, stop_a: float, stop_b: float
) -> float:
    """Return the share of the root, divided by the factor that all other nodes have in common."""
    gone = passing - stopped
    return (stop_a + stopped) * (gone + concentration) / (stop_b + gone)


@kernel()
def begin_document(
    doc_row: I32,
    out: Int,
    head: U32,
    above: U32,
    begin: U32,
    end: U32,
    nodes: F64,
    share: F32,
    local: F32,
    factor: F32,
    exact: F64,
    weight: F32,
) -> None:
    """Write the mixture of a document's counts, less a token at ``out``; below 0: less none."""
    # As if all were leaves, without a branch; then those that are none.
    for node in range(len(doc_row)):
        stopped = np.float64(doc_row[node])
        nodes[node, STOPPED] = nodes[node, PASSING] = stopped
        share[node] = np.float32((stopped + nodes[node, MASS]) * nodes[node, INVERSE])
    if out >= 0:
        stopped = np.float64(doc_row[out]) - 1.0
        nodes[out, STOPPED] = nodes[out, PASSING] = stopped
        share[out] = np.float32((stopped + nodes[out, MASS]) * nodes[out, INVERSE])
    for family in range(len(head) - 1, -1, -1):
        parent = np.int64(head[family])
        passing = nodes[parent, STOPPED]
        first = np.int64(begin[family]) if family > 0 else np.int64(1)
        for child in range(first, np.int64(end[family])):
            passing += nodes[child, PASSING]
        nodes[parent, PASSING] = passing
        go, stay = go_and_stay_at(
            parent, False, nodes[parent, STOPPED], passing, nodes[parent, MASS],
            nodes[parent, CONCENTRATION], nodes[parent, STOP_A], nodes[parent, STOP_B],
        )  # fmt: skip
        local[family], share[parent] = np.float32(go), np.float32(stay * nodes[parent, INVERSE])
    factor[0] = 1.0
    for family in range(len(begin)):
        total = 0.0
        for node in range(np.int64(begin[family]), np.int64(end[family])):
            total += np.float64(share[node])
        exact[family], weight[family] = total, np.float32(total)
        if family > 0:
            factor[family] = factor[above[family]] * local[family]


@kernel()
def find_node(target: float, share: F32, factor: F32, weight: F32, begin: U32, end: U32) -> int:
    """Return the node at which the sum of share times factor passes ``target``, by families.

    share: [n_nodes]. factor, weight, begin, end: [n_families].
    """
    family, last = 0, len(begin) - 1
    while family < last and target >= np.float64(factor[family] * weight[family]):
        target -= np.float64(factor[family] * weight[family])
        family += 1
    target /= np.float64(factor[family])
    node, final = np.int64(begin[family]), np.int64(end[family]) - 1
    while node < final and target >= np.float64(share[node]):
        target -= np.float64(share[node])
        node += 1
    # Rounding may lead past the last node of positive weight; none of zero weight is drawn.
    while node > 0 and not share[node] > 0.0:
        node -= 1
    return int(node)
