"""The sampler's sweep that costs a token the nodes of its document and word (theory/nhdp 5.1).

The chance of node i, a child of p, is proportional to (n_iw + eta) share_i factor_p, where

    share_i  = (s_i + mass_i) stay_i / (n_i + eta_total)       changes with the tokens at or below i
    factor_p = product of (s_q + mass_q) go_q over the nodes q from p up, the root left out

and both are relative to the ``go`` of the root, which takes the share of its own from them. So a
family, the children of a node, has one factor, and a token that comes or goes changes the shares
of its path, and the factors of families below the first node where paths part.

The sum over all nodes is in two parts: of the nodes that the word has, a short list, and eta times
the sum of share_i factor_p, of which each family keeps the sum of its shares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F32, F64, I32, I64, U32
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.sweep_kernels import (
    last_place,
    list_words,
    place_of,
    words_of_block,
    write_words,
)
from hiertopics.families.flat.token_kernels import Tables
from hiertopics.families.nhdp.gibbs_kernels import Prior
from hiertopics.numeric.jit import REASSOCIATE, kernel
from hiertopics.numeric.lanes import LANES
from hiertopics.numeric.simd_draws import gather_products, pick_place, sum_list


class Families(NamedTuple):
    """Families of a tree, those below a node behind its own; the root is in that of its children.

    member: uint32 [K], the family that a node is in. own, until: int64 [K]; the families at and
    below a node are ``own[p] .. until[p]``, none of a leaf. above: int64 [F], the family that the
    parent of a family is in. begin, end: int64 [F]; its nodes are ``begin[f] .. end[f]``.
    """

    member: U32
    own: I64
    until: I64
    above: I64
    begin: I64
    end: I64


class Mixture(NamedTuple):
    """How a document mixes the nodes.

    passing: float64 [K], tokens at and below each node. share: float32 [K]. local: float64 [F], the
    part of a family's factor that is its parent's. factor: float32 [F], filled up with 0 to whole
    vectors. weight: float64, likewise, the sum of a family's shares.
    """

    passing: F64
    share: F32
    local: F64
    factor: F32
    weight: F64


@kernel()
def families_of(parent: I32, first: I64) -> Families:
    """Return the families of a tree, nodes breadth first."""
    n_nodes = len(parent)
    n_below = np.zeros(n_nodes, np.int64)
    for node in range(n_nodes - 1, -1, -1):
        if node == 0 or first[node] < first[node + 1]:
            n_below[node] += 1
        if node > 0:
            n_below[parent[node]] += n_below[node]
    member, own = np.zeros(n_nodes, np.uint32), np.zeros(n_nodes, np.int64)
    above = np.zeros(n_below[0], np.int64)
    begin, end = np.zeros_like(above), np.zeros_like(above)
    for node in range(n_nodes):
        if n_below[node] == 0:
            continue
        here = own[node]
        above[here], begin[here], end[here] = member[node], first[node], first[node + 1]
        behind = here + 1
        for child in range(first[node], first[node + 1]):
            member[child], own[child] = here, behind
            behind += n_below[child]
    begin[0] = 0
    return Families(member, own, own + n_below, above, begin, end)


@kernel()
def sweep_block_by_lists(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: Tables,
    prior: Prior,
    rng: np.random.Generator,
) -> int:
    """Do as ``gibbs_kernels.sweep_block`` does, by the lists of nodes that words have."""
    n_k = tables.n_k
    first_word, last_word = words_of_block(cells, doc_shard, word_shard)
    inverse = np.empty(len(n_k))
    inverse[:] = 1.0 / (n_k + prior.eta_total)
    lists = list_words(tables.n_wk, first_word, last_word)
    start, length, nodes, times = lists
    member, own, until, above, begin, end = families_of(prior.parent, prior.first)
    passing, share, local, factor, weight = mixture_of(len(n_k), len(above))
    room = (len(n_k) + LANES - 1) // LANES * LANES
    chances, sums = np.zeros(room, np.float32), np.zeros(room, np.float32)
    before = np.zeros(LANES + 1, np.float32)
    moved = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        begins, ends = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if begins == ends:
            continue
        moved += sweep_document(
            tables.z[begins:ends], cells.word[begins:ends], tables.n_dk[doc], n_k,
            prior.parent, prior.first, prior.mass, prior.concentration,
            prior.stop_a, prior.stop_b, prior.eta, prior.eta_total,
            member, own, until, above, begin, end, inverse, start, length, nodes, times,
            passing, share, local, factor, weight, chances, sums, before, rng,
        )  # fmt: skip
    write_words(lists, first_word, last_word, tables.n_wk)
    return moved


@kernel()
def mixture_of(n_nodes: int, n_families: int) -> Mixture:
    """Return memory for the mixture of a document."""
    room = (n_families + LANES - 1) // LANES * LANES
    return Mixture(
        np.zeros(n_nodes),
        np.zeros(n_nodes, np.float32),
        np.zeros(n_families),
        np.zeros(room, np.float32),
        np.zeros(room),
    )


# Arrays come one by one: taken from a tuple they would cost counted references per token.


@kernel(fastmath=REASSOCIATE)
def sweep_document(
    z: I32,
    words: I32,
    doc_row: I32,
    n_k: I64,
    parent: I32,
    first: I64,
    mass: F64,
    concentration: F64,
    stop_a: F64,
    stop_b: F64,
    eta: float,
    eta_total: float,
    member: U32,
    own: I64,
    until: I64,
    above: I64,
    begin: I64,
    end: I64,
    inverse: F64,
    start: I64,
    length: I64,
    nodes: U32,
    times: F32,
    passing: F64,
    share: F32,
    local: F64,
    factor: F32,
    weight: F64,
    chances: F32,
    sums: F32,
    before: F32,
    rng: np.random.Generator,
) -> int:
    """Redraw the tokens of one document; return how many moved.

    parent to eta_total: ``Prior``. member to end: ``Families``. inverse [K]: 1 / (n_k + eta_total),
    kept up to date. start to times: the lists of words, kept up to date in place of n_wk. passing
    to weight: ``Mixture``. chances, sums, before: scratch of the draw from a list.
    """
    one, none = np.float32(1.0), np.float32(0.0)
    new = np.int64(z[0])
    doc_row[new] -= 1
    n_k[new] -= 1
    inverse[new] = 1.0 / (n_k[new] + eta_total)
    begin_document(
        doc_row, first, mass, concentration, stop_a, stop_b, own, above, begin, end,
        inverse, passing, share, local, factor, weight,
    )  # fmt: skip
    moved, last_word, at_first, n, same = 0, np.int64(-1), np.int64(0), np.int64(0), False
    total = 0.0
    for family in range(len(weight)):
        total += np.float64(factor[family]) * weight[family]
    of_all = eta * total
    for token in range(len(z)):
        word, old = np.int64(words[token]), np.int64(z[token])
        # The counts lack one token, the one that is drawn: the last one comes back as it goes.
        if new != old:
            same = False
            doc_row[new] += 1
            n_k[new] += 1
            inverse[new] = 1.0 / (n_k[new] + eta_total)
            doc_row[old] -= 1
            n_k[old] -= 1
            inverse[old] = 1.0 / (n_k[old] + eta_total)
            # Nodes are breadth first: of two the one with the larger number is not above the other.
            into, out, below_into, below_out, up = new, old, np.int64(-1), np.int64(-1), True
            while up:
                if into > out:
                    node, into, below_into = into, np.int64(parent[into]), into
                    passing[node] += 1.0
                elif out > into:
                    node, out, below_out = out, np.int64(parent[out]), out
                    passing[node] -= 1.0
                else:
                    node, up = into, False
                    if node != new and node != old:
                        break
                    if node > 0:
                        below_into, below_out = node, np.int64(-1)
                if first[node] == first[node + 1]:
                    stay = passing[node] + mass[node]
                elif node > 0:
                    go, stay = go_and_stay(
                        doc_row[node], passing[node], mass[node], concentration[node],
                        stop_a[node], stop_b[node],
                    )  # fmt: skip
                    local[own[node]] = go
                else:
                    stay = stay_at_root(
                        doc_row[0], passing[0], concentration[0], stop_a[0], stop_b[0]
                    )
                now = np.float32(stay * inverse[node])
                weight[member[node]] += np.float64(now) - np.float64(share[node])
                share[node] = now
            if below_into >= 0:
                for family in range(own[below_into], until[below_into]):
                    factor[family] = np.float32(factor[above[family]] * local[family])
            if below_out >= 0:
                for family in range(own[below_out], until[below_out]):
                    factor[family] = np.float32(factor[above[family]] * local[family])
            total = 0.0
            for family in range(len(weight)):
                total += np.float64(factor[family]) * weight[family]
            of_all = eta * total
        if word != last_word:
            at_first, n, last_word, same = start[word], length[word], word, False
        if not same:
            gather_products(share, factor, member, nodes, at_first, n, chances)
        place = place_of(nodes, at_first, n, old)
        left = times[at_first + place] - one
        own_weight = chances[place] * left
        of_list = np.float64(sum_list(chances, times, at_first, n, place, own_weight, sums, before))
        target = rng.random() * (of_list + of_all)
        if target < of_list:
            at = np.int64(pick_place(sums, before, n, np.float32(target)))
            if at >= n or not (own_weight if at == place else chances[at] * times[at_first + at]):
                at = np.int64(last_place(chances, times, at_first, n, place, own_weight))
            new = np.int64(nodes[at_first + at])
        else:
            target = (target - of_list) / eta
            new = np.int64(find_node(target, share, factor, weight, begin, end))
        same = True
        if new == old:
            continue
        same = False
        times[at_first + place] = left
        # A node that lost its last token of the word gives its place to the last one of the list.
        if left == none:
            n -= 1
            nodes[at_first + place], times[at_first + place] = (
                nodes[at_first + n],
                times[at_first + n],
            )
            times[at_first + n] = none
        place = place_of(nodes, at_first, n, new)
        if place == n:
            nodes[at_first + n] = new
            n += 1
        times[at_first + place] += one
        length[word] = n
        z[token] = new
        moved += 1
    doc_row[new] += 1
    n_k[new] += 1
    inverse[new] = 1.0 / (n_k[new] + eta_total)
    return moved


@kernel(fastmath=REASSOCIATE)
def go_and_stay(
    stopped: float, passing: float, mass: float, concentration: float, stop_a: float, stop_b: float
) -> tuple[float, float]:
    """Return what an inner node but the root passes on to its children, and keeps."""
    gone = passing - stopped
    customers = gone + concentration
    reached = (passing + mass) / ((stop_a + stop_b + passing) * customers)
    return reached * (stop_b + gone), reached * (stop_a + stopped) * customers


@kernel(fastmath=REASSOCIATE)
def stay_at_root(
    stopped: float, passing: float, concentration: float, stop_a: float, stop_b: float
) -> float:
    """Return what the root keeps over what each of its children's shares is multiplied by."""
    gone = passing - stopped
    return (stop_a + stopped) * (gone + concentration) / (stop_b + gone)


@kernel()
def begin_document(
    doc_row: I32,
    first: I64,
    mass: F64,
    concentration: F64,
    stop_a: F64,
    stop_b: F64,
    own: I64,
    above: I64,
    begin: I64,
    end: I64,
    inverse: F64,
    passing: F64,
    share: F32,
    local: F64,
    factor: F32,
    weight: F64,
) -> None:
    """Write the mixture of a document's counts."""
    n_nodes = len(doc_row)
    for node in range(n_nodes - 1, -1, -1):
        below = np.float64(doc_row[node])
        for child in range(first[node], first[node + 1]):
            below += passing[child]
        passing[node] = below
        if first[node] == first[node + 1]:
            stay = below + mass[node]
        elif node > 0:
            go, stay = go_and_stay(
                doc_row[node], below, mass[node], concentration[node], stop_a[node], stop_b[node]
            )
            local[own[node]] = go
        else:
            stay = stay_at_root(doc_row[0], below, concentration[0], stop_a[0], stop_b[0])
        share[node] = np.float32(stay * inverse[node])
    factor[0] = 1.0
    for family in range(len(begin)):
        total = 0.0
        for node in range(begin[family], end[family]):
            total += np.float64(share[node])
        weight[family] = total
        if family > 0:
            factor[family] = np.float32(factor[above[family]] * local[family])


@kernel()
def find_node(target: float, share: F32, factor: F32, weight: F64, begin: I64, end: I64) -> int:
    """Return the node at which the sum of share times factor passes ``target``, by families."""
    family, last = 0, len(begin) - 1
    while family < last and target >= np.float64(factor[family]) * weight[family]:
        target -= np.float64(factor[family]) * weight[family]
        family += 1
    target /= np.float64(factor[family])
    node, last = begin[family], end[family] - 1
    while node < last and target >= np.float64(share[node]):
        target -= np.float64(share[node])
        node += 1
    # Rounding may lead past the last node of positive weight; none of zero weight is drawn.
    while node > 0 and not share[node] > 0.0:
        node -= 1
    return node
