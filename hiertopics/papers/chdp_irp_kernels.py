"""The international restaurant process: its seating, and sweeps of it (theory/chdp 3).

Tokens sit at tables of their document, tables choose an option of one of its parents, options
serve a topic. A document without parents is served from the corpus: each of its tables has an
option of its own under the number ``n_groups``, which no other table ever chooses.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.families.chdp.layout import Parents
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.sweep_kernels import BLOCK, draw_in_blocks, weigh
from hiertopics.families.flat.token_kernels import TokenTopics
from hiertopics.numeric.jit import kernel

NOBODY = -1


class Options(NamedTuple):
    """All options and their counts; slots of options without a table are free.

    group, topic, n_tables: int32 [n_slots]. after, before: int32 [n_slots], the neighbours in the
    list of a group's options, which opens with head int32 [n_groups + 1]. free: int32 [n_slots],
    a stack of free slots, whose height is size[0]. by_group: int32 [n_groups, T], tables of a
    group with a topic; group_tables: int64 [n_groups]. by_topic: int64 [T], options with a topic;
    size[1] is their number.
    """

    group: I32
    topic: I32
    n_tables: I32
    after: I32
    before: I32
    head: I32
    free: I32
    size: I64
    by_group: I32
    group_tables: I64
    by_topic: I64


class TableUrn(NamedTuple):
    """Input of draws of new tables: links, shares of links [n_links], and concentrations."""

    parents: Parents
    share: F64
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
def global_row(options: Options, gamma: float, row: F64) -> None:
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
def new_table_row(doc: int, options: Options, urn: TableUrn, served: F64, row: F64) -> float:
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
    doc: int, topic: int, served: float, options: Options, urn: TableUrn, rng: np.random.Generator
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
    doc: int, topic: int, served: float, options: Options, urn: TableUrn, rng: np.random.Generator
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


FACTORS = 12
"""Factors that are multiplied before a logarithm is taken; their product cannot underflow."""


class TokenSeats(NamedTuple):
    """The seats of tokens: seat and table_option int32 [n_tokens], as in ``State``."""

    seat: I32
    table_option: I32


@kernel()
def seat_at_random(
    cells: Cells,
    z: I32,
    seats: TokenSeats,
    options: Options,
    urn: TableUrn,
    rng: np.random.Generator,
) -> None:
    """Seat all tokens of a document and topic at one table, with a random parent's option.

    z: int32 [n_tokens].
    """
    n_topics = len(options.by_topic)
    seats.table_option[:] = NOBODY
    for doc in range(len(cells.cuts)):
        start, stop = cells.cuts[doc, 0], cells.cuts[doc, -1]
        table_of = np.full(n_topics, NOBODY)
        n_tables = 0
        for token in range(start, stop):
            topic = z[token]
            if table_of[topic] == NOBODY:
                table_of[topic] = n_tables
                n_tables += 1
                slot = seat_table(doc, topic, 1.0 / n_topics, options, urn, rng)
                seats.table_option[start + table_of[topic]] = slot
            seats.seat[token] = table_of[topic]


@kernel()
def sweep_tokens(
    cells: Cells,
    tables: TokenTopics,
    seats: TokenSeats,
    options: Options,
    urn: TableUrn,
    alpha_doc: float,
    eta: float,
    rng: np.random.Generator,
) -> int:
    """Reseat each token given all others (step 1); return how many changed topic.

    The topic is drawn first, then a table that has it or a new one: the same law as one draw.
    """
    z, n_dk, n_wk, n_k = tables
    n_topics = len(n_k)
    word_total = eta * len(n_wk)
    inverse = 1.0 / (n_k + word_total)
    served, row = np.empty(n_topics), np.empty(n_topics)
    scaled, scratch = np.empty(n_topics), np.empty(n_topics)
    ends = np.empty((n_topics + BLOCK - 1) // BLOCK)
    moved = 0
    for doc in range(len(n_dk)):
        start, stop = cells.cuts[doc, 0], cells.cuts[doc, -1]
        option_of = seats.table_option[start:stop]
        n_seated = np.zeros(stop - start, np.int64)
        n_tables = 0
        for token in range(start, stop):
            n_seated[seats.seat[token]] += 1
            n_tables = max(n_tables, seats.seat[token] + 1)
        changed = True
        for token in range(start, stop):
            word_row = n_wk[cells.word[token]]
            old = z[token]
            table = seats.seat[token]
            # The token leaves its topic and its table; an empty table gives its option back.
            n_dk[doc, old] -= 1
            word_row[old] -= 1
            n_k[old] -= 1
            inverse[old] = 1.0 / (n_k[old] + word_total)
            n_seated[table] -= 1
            if n_seated[table] == 0:
                leave_option(options, option_of[table])
                option_of[table] = NOBODY
                changed = True

            # The weights of a new table change only where a table came or went in this document.
            if changed:
                new_table_row(doc, options, urn, served, row)
                for topic in range(n_topics):
                    scaled[topic] = (n_dk[doc, topic] + alpha_doc * row[topic]) * inverse[topic]
                changed = False
            scaled[old] = (n_dk[doc, old] + alpha_doc * row[old]) * inverse[old]
            weigh(scaled, word_row, eta, scratch)
            new = draw_in_blocks(scratch, ends, rng.random())

            # Given its topic, the token joins a table of this topic by its customers, or a new one.
            target = rng.random() * (n_dk[doc, new] + alpha_doc * row[new])
            table, vacant = NOBODY, n_tables
            for candidate in range(n_tables):
                # The lowest empty table is the new one, so that numbers stay small.
                if n_seated[candidate] == 0:
                    vacant = min(vacant, candidate)
                elif options.topic[option_of[candidate]] == new:
                    target -= n_seated[candidate]
                    if target < 0.0:
                        table = candidate
                        break
            if table == NOBODY:
                table = vacant
                n_tables = max(n_tables, table + 1)
                option_of[table] = seat_table(doc, new, served[new], options, urn, rng)
                changed = True
            seats.seat[token] = table
            n_seated[table] += 1
            n_dk[doc, new] += 1
            word_row[new] += 1
            n_k[new] += 1
            inverse[new] = 1.0 / (n_k[new] + word_total)
            scaled[new] = (n_dk[doc, new] + alpha_doc * row[new]) * inverse[new]
            z[token] = new
            moved += new != old
    return moved


@kernel()
def sweep_tables(
    cells: Cells,
    tables: TokenTopics,
    seats: TokenSeats,
    options: Options,
    urn: TableUrn,
    eta: float,
    rng: np.random.Generator,
) -> None:
    """Give each table, with all its words, a new topic and option (step 2)."""
    z, n_dk, n_wk, n_k = tables
    n_topics = len(n_k)
    served, row = np.empty(n_topics), np.empty(n_topics)
    for doc in range(len(n_dk)):
        start, stop = cells.cuts[doc, 0], cells.cuts[doc, -1]
        by_table = start + np.argsort(seats.seat[start:stop], kind="mergesort")
        first = 0
        while first < len(by_table):
            table = seats.seat[by_table[first]]
            last = first
            while last < len(by_table) and seats.seat[by_table[last]] == table:
                last += 1
            block = by_table[first:last]
            words = cells.word[block]
            old = z[block[0]]
            leave_option(options, seats.table_option[start + table])
            n_dk[doc, old] -= len(block)
            take_words(words, n_wk, n_k, old, -1)
            new_table_row(doc, options, urn, served, row)
            new = draw_topic_of_block(words, n_wk, n_k, eta, row, rng)
            take_words(words, n_wk, n_k, new, 1)
            n_dk[doc, new] += len(block)
            z[block] = new
            slot = seat_table(doc, new, served[new], options, urn, rng)
            seats.table_option[start + table] = slot
            first = last


@kernel()
def sweep_options(
    owner: I32,
    word: I32,
    option_of: I32,
    tables: TokenTopics,
    options: Options,
    gamma: float,
    eta: float,
    rng: np.random.Generator,
) -> None:
    """Give each option, with all words below it, a new topic (step 3).

    owner, word, option_of: document, word and option of each token [n_tokens].
    """
    z, n_dk, n_wk, n_k = tables
    row = np.empty(len(n_k))
    by_option = np.argsort(option_of, kind="mergesort")
    first = 0
    while first < len(by_option):
        slot = option_of[by_option[first]]
        last = first
        while last < len(by_option) and option_of[by_option[last]] == slot:
            last += 1
        block = by_option[first:last]
        words = np.sort(word[block])
        old = z[block[0]]
        options.by_topic[old] -= 1
        options.size[1] -= 1
        take_words(words, n_wk, n_k, old, -1)
        global_row(options, gamma, row)
        new = draw_topic_of_block(words, n_wk, n_k, eta, row, rng)
        take_words(words, n_wk, n_k, new, 1)
        options.by_topic[new] += 1
        options.size[1] += 1
        options.topic[slot] = new
        group = options.group[slot]
        if group < len(options.group_tables):
            options.by_group[group, old] -= options.n_tables[slot]
            options.by_group[group, new] += options.n_tables[slot]
        for token in block:
            n_dk[owner[token], old] -= 1
            n_dk[owner[token], new] += 1
            z[token] = new
        first = last


@kernel()
def take_words(words: I32, n_wk: I32, n_k: I64, topic: int, sign: int) -> None:
    """Add a block of words to a topic (sign 1) or take it away (-1).

    words: [n]. n_wk: int32 [n_words, n_topics]. n_k: int64 [n_topics].
    """
    for word in words:
        n_wk[word, topic] += sign
    n_k[topic] += sign * len(words)


@kernel()
def draw_topic_of_block(
    words: I32, n_wk: I32, n_k: I64, eta: float, row: F64, rng: np.random.Generator
) -> int:
    """Return a topic drawn in proportion to row [T] times the chance of all words together.

    words: the block's tokens, ascending; they are counted in no topic.
    """
    n_topics = len(n_k)
    word_total = eta * len(n_wk)
    log_weights, product = np.zeros(n_topics), np.ones(n_topics)
    same = 0
    for place in range(len(words)):
        same = same + 1 if place > 0 and words[place] == words[place - 1] else 0
        word_row = n_wk[words[place]]
        for topic in range(n_topics):
            product[topic] *= (word_row[topic] + eta + same) / (n_k[topic] + word_total + place)
        if place % FACTORS == FACTORS - 1 or place == len(words) - 1:
            for topic in range(n_topics):
                log_weights[topic] += math.log(product[topic])
                product[topic] = 1.0
    for topic in range(n_topics):
        log_weights[topic] += math.log(row[topic]) if row[topic] > 0.0 else -np.inf
    largest = log_weights.max()
    total = 0.0
    for topic in range(n_topics):
        product[topic] = math.exp(log_weights[topic] - largest)
        total += product[topic]
    target = rng.random() * total
    chosen = 0
    while chosen < n_topics - 1 and product[chosen] <= target:
        target -= product[chosen]
        chosen += 1
    while product[chosen] <= 0.0 and chosen > 0:
        chosen -= 1
    return chosen
