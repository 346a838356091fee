"""Tables of bursty documents come and go below the nodes of a tree (theory/bursts 9.2)."""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import F32, F64, I32, I64, U32
from hiertopics.families.flat.seat_kernels import (
    EMPTY,
    N_STEPS,
    DocumentProcess,
    end_of_pair,
    odds_of_another,
    tables_of_pair,
)
from hiertopics.families.flat.sweep_kernels import (
    last_place,
    place_of,
)
from hiertopics.families.nhdp.gibbs_kernels import (
    NodeParameters,
    descend,
    pass_by,
    weigh,
)
from hiertopics.families.nhdp.list_kernels import (
    CONCENTRATION,
    DEPTH,
    INVERSE,
    MASS,
    MEMBER,
    OWN,
    PASSING,
    STOP_A,
    STOP_B,
    STOPPED,
    TOKENS,
    UNTIL,
    begin_document,
    find_node,
    go_and_stay_at,
    stay_at_root,
)
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.pitman_yor_kernels import LARGEST
from hiertopics.numeric.simd_draws import Int, gather_products, pick_place, sum_list, sum_products


@kernel()
def seat_document(
    z: I32,
    words: I32,
    doc_row: I32,
    n_wk: I32,
    n_k: I64,
    inverse: F64,
    passing: F64,
    parameters: NodeParameters,
    stay: F64,
    go: F64,
    total: F64,
    seats: DocumentProcess,
    rng: np.random.Generator,
) -> None:
    """Add or remove tables of one document.

    Arrays as of ``gibbs_kernels.redraw_tokens``, with slots in place of tokens.
    """
    all_tables = np.int64(0)
    for column in range(len(doc_row)):
        all_tables += doc_row[column]
    first, stop = 0, len(z)
    while first < stop:
        end = end_of_pair(words, first, stop)
        word_row, count = n_wk[words[first]], min(end - first, LARGEST)
        n_tables = np.int64(tables_of_pair(z, first, first + count))
        # A pair of one token has one table, which neither goes nor gets company. Three numbers are
        # drawn at each step, whatever becomes of it.
        for _ in range(N_STEPS if count > 1 else 0):
            direction, chance, where = rng.random(), rng.random(), rng.random()
            if direction < 0.5:
                if n_tables == count:
                    continue
                # A table that comes is weighed with all tables in.
                weigh(word_row, inverse, passing, parameters, stay, go, total)
                if chance >= odds_of_another(seats, count, n_tables, all_tables) * total[0]:
                    continue
                node = descend(where, word_row, inverse, passing, parameters, stay, go, total)
                change = np.int64(1)
                z[first + n_tables] = node
                count_table(node, 1, doc_row, word_row, n_k, inverse, parameters.eta_total)
                pass_by(node, 1.0, doc_row, passing, parameters, stay, go)
            else:
                if n_tables == 1:
                    continue
                # A table that goes is weighed without it; it comes back where the step is refused.
                node, change = int(z[first + n_tables - 1]), np.int64(-1)
                count_table(node, -1, doc_row, word_row, n_k, inverse, parameters.eta_total)
                pass_by(node, -1.0, doc_row, passing, parameters, stay, go)
                weigh(word_row, inverse, passing, parameters, stay, go, total)
                odds = odds_of_another(seats, count, n_tables - 1, all_tables - 1)
                if chance * odds * total[0] >= 1.0:
                    count_table(node, 1, doc_row, word_row, n_k, inverse, parameters.eta_total)
                    pass_by(node, 1.0, doc_row, passing, parameters, stay, go)
                    continue
                z[first + n_tables - 1] = EMPTY
            n_tables += change
            all_tables += change
        first = end


@kernel()
def count_table(
    node: int,
    change: int,
    doc_row: I32,
    word_row: I32,
    n_k: I64,
    inverse: F64,
    eta_total: float,
) -> None:
    """Add ``change`` to the tables at a node: of its document, of its word, of all.

    All rows: [n_nodes].
    """
    doc_row[node] += change
    word_row[node] += change
    n_k[node] += change
    inverse[node] = 1.0 / (n_k[node] + eta_total)


# Arrays come one by one: taken from a tuple they would cost counted references per pair.


@kernel()
def seat_document_by_lists(
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
    seats: DocumentProcess,
    rng: np.random.Generator,
) -> None:
    """Do as ``seat_document`` does, at the cost of the nodes of each word.

    Arrays as of ``list_kernels.redraw_document``, with slots in place of tokens. Lists have
    room for all that may come.
    """
    one, none = np.float32(1.0), np.float32(0.0)
    begin_document(doc_row, -1, head, above, begin, end, nodes, share, local, factor, exact, weight)
    all_tables = np.int64(0)
    for column in range(len(doc_row)):
        all_tables += doc_row[column]
    first, stop = 0, len(z)
    while first < stop:
        last = end_of_pair(words, first, stop)
        word, count = np.int64(words[first]), min(last - first, LARGEST)
        at_list, n = start[word], length[word]
        n_tables = np.int64(tables_of_pair(z, first, first + count))
        for _ in range(N_STEPS if count > 1 else 0):
            direction, chance, where = rng.random(), rng.random(), rng.random()
            if direction < 0.5:
                if n_tables == count:
                    continue
                # A table that comes is weighed with all tables in: nodes that the word has, and the
                # word's prior at all nodes.
                of_all = np.float64(np.float32(eta) * sum_products(factor, weight))
                gather_products(share, factor, member, entries, at_list, n, chances)
                of_list = np.float64(sum_list(chances, times, at_list, n, n, none, sums, before))
                p = (of_list + of_all) * unit_of_shares(nodes)
                if chance >= odds_of_another(seats, count, n_tables, all_tables) * p:
                    continue
                target = where * (of_list + of_all)
                if target < of_list:
                    at = np.int64(pick_place(sums, before, n, np.float32(target)))
                    if at >= n or not chances[at] * times[at_list + at]:
                        at = np.int64(last_place(chances, times, at_list, n, n, none))
                    node = np.int64(entries[at_list + at])
                else:
                    target = (target - of_list) / eta
                    node = np.int64(find_node(target, share, factor, weight, begin, end))
                move_table(
                    node,
                    1.0,
                    eta_total,
                    links,
                    paths,
                    above,
                    nodes,
                    share,
                    local,
                    factor,
                    exact,
                    weight,
                )
                z[first + n_tables] = node
                place = place_of(entries, at_list, n, node)
                if place == n:
                    entries[at_list + n] = node
                    n += 1
                times[at_list + place] += one
                change = np.int64(1)
            else:
                if n_tables == 1:
                    continue
                # A table that goes is weighed without it; it comes back where the step is refused.
                node = np.int64(z[first + n_tables - 1])
                move_table(
                    node,
                    -1.0,
                    eta_total,
                    links,
                    paths,
                    above,
                    nodes,
                    share,
                    local,
                    factor,
                    exact,
                    weight,
                )
                of_all = np.float64(np.float32(eta) * sum_products(factor, weight))
                gather_products(share, factor, member, entries, at_list, n, chances)
                place = place_of(entries, at_list, n, node)
                left = times[at_list + place] - one
                of_list = np.float64(
                    sum_list(chances, times, at_list, n, place, chances[place] * left, sums, before)
                )
                p = (of_list + of_all) * unit_of_shares(nodes)
                if chance * odds_of_another(seats, count, n_tables - 1, all_tables - 1) * p >= 1.0:
                    move_table(
                        node, 1.0, eta_total, links, paths, above, nodes, share, local, factor,
                        exact, weight,
                    )  # fmt: skip
                    continue
                z[first + n_tables - 1] = EMPTY
                times[at_list + place] = left
                # A node without a table of the word gives its place to the last one of the list.
                if left == none:
                    n -= 1
                    entries[at_list + place] = entries[at_list + n]
                    times[at_list + place], times[at_list + n] = times[at_list + n], none
                change = np.int64(-1)
            length[word] = n
            n_tables += change
            all_tables += change
            doc_row[node] += change
        first = last


@kernel()
def unit_of_shares(nodes: F64) -> float:
    """Return the factor of all nodes' chances that their shares and factors leave out.

    nodes: float64 [n_nodes, n_fields], the root first.
    """
    stopped, passing = nodes[0, STOPPED], nodes[0, PASSING]
    concentration, stop_a, stop_b = (
        nodes[0, CONCENTRATION],
        nodes[0, STOP_A],
        nodes[0, STOP_B],
    )
    if len(nodes) == 1:
        # All that reaches a root without children stops there.
        return 1.0 / stay_at_root(stopped, passing, concentration, stop_a, stop_b)
    gone = passing - stopped
    return (stop_b + gone) / ((stop_a + stop_b + passing) * (gone + concentration))


@kernel()
def move_table(
    node: Int,
    change: float,
    eta_total: float,
    links: U32,
    paths: U32,
    above: U32,
    nodes: F64,
    share: F32,
    local: F32,
    factor: F32,
    exact: F64,
    weight: F32,
) -> None:
    """Add ``change`` to the tables at a node, and bring the mixture of the document up to date."""
    nodes[node, STOPPED] += change
    nodes[node, TOKENS] += change
    nodes[node, INVERSE] = 1.0 / (nodes[node, TOKENS] + eta_total)
    depth = np.int64(links[node, DEPTH])
    for level in range(depth, -1, -1):
        at = np.int64(paths[node, level])
        nodes[at, PASSING] += change
        own = np.int64(links[at, OWN])
        leaf = own == np.int64(links[at, UNTIL])
        go, stay = go_and_stay_at(
            at, leaf, nodes[at, STOPPED], nodes[at, PASSING], nodes[at, MASS],
            nodes[at, CONCENTRATION], nodes[at, STOP_A], nodes[at, STOP_B],
        )  # fmt: skip
        if not leaf:
            local[own] = np.float32(go)
        now, family = np.float32(stay * nodes[at, INVERSE]), np.int64(links[at, MEMBER])
        exact[family] += np.float64(now) - np.float64(share[at])
        weight[family], share[at] = np.float32(exact[family]), now
    if depth > 0:
        top = np.int64(paths[node, 1])
        for below in range(np.int64(links[top, OWN]), np.int64(links[top, UNTIL])):
            factor[below] = factor[above[below]] * local[below]
