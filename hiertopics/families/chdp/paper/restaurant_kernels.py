"""The seating of the international restaurant process (theory/chdp 3.1, 3.2).

Tokens sit at tables of their document, tables choose an option of one of its parents, options
serve a topic. A document without parents is served from the corpus: each of its tables has an
option of its own under the number ``n_groups``, which no other table ever chooses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.chdp.layout import Parents
from hiertopics.numeric.jit import kernel

NOBODY = -1


class Options(NamedTuple):
    """All options and what is counted of them; slots of options without a table are free.

    group, topic, n_tables: int32 [n_slots]. after, before: int32 [n_slots], the neighbours in the
    list of a group's options, which opens with head int32 [n_groups + 1]. free: int32 [n_slots],
    a stack of free slots, whose height is size[0]. by_group: int32 [n_groups, T], tables of a
    group with a topic; group_tables: int64 [n_groups]. by_topic: int64 [T], options with a topic;
    size[1] is their number.
    """

    group: NDArray[np.int32]
    topic: NDArray[np.int32]
    n_tables: NDArray[np.int32]
    after: NDArray[np.int32]
    before: NDArray[np.int32]
    head: NDArray[np.int32]
    free: NDArray[np.int32]
    size: NDArray[np.int64]
    by_group: NDArray[np.int32]
    group_tables: NDArray[np.int64]
    by_topic: NDArray[np.int64]


class Urn(NamedTuple):
    """What new tables are drawn by: links, shares of links [n_links], and concentrations."""

    parents: Parents
    share: NDArray[np.float64]
    maximization: bool
    alpha_group: float
    gamma: float


@kernel()
def add_option(options: Options, group: int, topic: int) -> int:
    """Open an option without a table; return its slot."""
    options.size[0] -= 1
    slot = options.free[options.size[0]]
    options.group[slot] = group
    options.topic[slot] = topic
    options.n_tables[slot] = 0
    first = options.head[group]
    options.after[slot] = first
    options.before[slot] = NOBODY
    if first != NOBODY:
        options.before[first] = slot
    options.head[group] = slot
    options.by_topic[topic] += 1
    options.size[1] += 1
    return slot


@kernel()
def join_option(options: Options, slot: int) -> None:
    """Add a table to an option."""
    options.n_tables[slot] += 1
    group = options.group[slot]
    if group < len(options.group_tables):
        options.by_group[group, options.topic[slot]] += 1
        options.group_tables[group] += 1


@kernel()
def leave_option(options: Options, slot: int) -> None:
    """Take a table off an option; close the option with its last table."""
    group, topic = options.group[slot], options.topic[slot]
    options.n_tables[slot] -= 1
    if group < len(options.group_tables):
        options.by_group[group, topic] -= 1
        options.group_tables[group] -= 1
    if options.n_tables[slot] > 0:
        return
    after, before = options.after[slot], options.before[slot]
    if before == NOBODY:
        options.head[group] = after
    else:
        options.after[before] = after
    if after != NOBODY:
        options.before[after] = before
    options.by_topic[topic] -= 1
    options.size[1] -= 1
    options.free[options.size[0]] = slot
    options.size[0] += 1


@kernel()
def new_topic(options: Options) -> int:
    """Return the first topic without an option, -1 where the truncation has none left."""
    for topic in range(len(options.by_topic)):
        if options.by_topic[topic] == 0:
            return topic
    return NOBODY


@kernel()
def global_row(options: Options, gamma: float, row: NDArray[np.float64]) -> None:
    """Write the chances of a new option's topic to ``row`` [T].

    The first topic without an option stands for a new one; the others without have 0.
    """
    total = options.size[1] + gamma
    for topic in range(len(row)):
        row[topic] = options.by_topic[topic] / total
    fresh = new_topic(options)
    if fresh != NOBODY:
        row[fresh] = gamma / total


@kernel()
def new_table_row(
    doc: int,
    options: Options,
    urn: Urn,
    served: NDArray[np.float64],
    row: NDArray[np.float64],
) -> float:
    """Write the chances of the topic of a document's next table to ``row`` [T] (theory/chdp 3.2).

    Under maximization this is the plug-in urn. served [T] takes what ``global_row`` gives.
    Returns Z (1 for other documents than those with several parents under maximization).
    """
    global_row(options, urn.gamma, served)
    parents = urn.parents
    first, last = parents.ptr[doc], parents.ptr[doc + 1]
    if first == last:
        row[:] = served
        return 1.0
    row[:] = 0.0
    single = last == first + 1
    for link in range(first, last):
        group = parents.group[link]
        total = options.group_tables[group] + urn.alpha_group
        for topic in range(len(row)):
            chance = options.by_group[group, topic] + urn.alpha_group * served[topic]
            chance /= total
            if urn.maximization:
                row[topic] = max(row[topic], chance)
            elif single:
                row[topic] = chance
            else:
                row[topic] += urn.share[link] * chance
    if single or not urn.maximization:
        return 1.0
    z = row.sum()
    row /= z
    return z


@kernel()
def choose_parent(
    doc: int,
    topic: int,
    served: float,
    options: Options,
    urn: Urn,
    rng: np.random.Generator,
) -> int:
    """Return the group that serves a new table of a topic; draws nothing for a single parent.

    served: the chance of the topic for a new option. Under maximization the largest chance
    wins, and ties are broken at random.
    """
    parents = urn.parents
    first, last = parents.ptr[doc], parents.ptr[doc + 1]
    if first == last:
        return len(options.group_tables)
    if last == first + 1:
        return parents.group[first]
    chances = np.empty(last - first)
    for link in range(first, last):
        group = parents.group[link]
        chance = options.by_group[group, topic] + urn.alpha_group * served
        chances[link - first] = chance / (options.group_tables[group] + urn.alpha_group)
    if urn.maximization:
        best = chances.max()
        n_best = (chances == best).sum()
        turn = rng.integers(0, n_best) if n_best > 1 else 0
        for place in range(len(chances)):
            if chances[place] == best:
                if turn == 0:
                    return parents.group[first + place]
                turn -= 1
    chances *= urn.share[first:last]
    target = rng.random() * chances.sum()
    place = 0
    while place < len(chances) - 1 and chances[place] <= target:
        target -= chances[place]
        place += 1
    return parents.group[first + place]


@kernel()
def seat_table(
    doc: int,
    topic: int,
    served: float,
    options: Options,
    urn: Urn,
    rng: np.random.Generator,
) -> int:
    """Choose an option for a new table of a topic and add the table to it; return the slot."""
    group = choose_parent(doc, topic, served, options, urn, rng)
    slot = NOBODY
    if group < len(options.group_tables) and options.by_group[group, topic] > 0:
        mass = options.by_group[group, topic] + urn.alpha_group * served
        target = rng.random() * mass
        candidate = options.head[group]
        while candidate != NOBODY:
            if options.topic[candidate] == topic:
                target -= options.n_tables[candidate]
                if target < 0.0:
                    slot = candidate
                    break
            candidate = options.after[candidate]
    if slot == NOBODY:
        slot = add_option(options, group, topic)
    join_option(options, slot)
    return slot
