"""Loops of the stick-breaking mean field of the cooperative HDP (theory/chdp 5.1).

Names: T tables of a document, O options of a group, K topics. seat [n_pairs, T], option
[n_links, T, O], dish [n_groups, O, K] and orphan [n_orphans, T, K] are the chances of a token's
table, of a table's option, of an option's topic, and of a table's topic in a document without
parents. No sum is reassociated: the bound is tested to its last digits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import I32, I64, Floats
from hiertopics.families.chdp.layout import Parents
from hiertopics.families.flat.layout import Cells
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import digamma

Array = Floats


class SeatChances(NamedTuple):
    """The chances that are fitted, as in the module's text; orphan_at int64 [n_docs]: the row of
    ``orphan`` that a document without parents has.
    """

    seat: Array
    option: Array
    dish: Array
    orphan: Array
    orphan_at: I64


class Logs(NamedTuple):
    """Expected logs: word [n_words, K] of phi, topic [K] of the corpus's weights, option
    [n_groups, O] of groups' weights of options, share [n_links] of the mixing weights.
    """

    word: Array
    topic: Array
    option: Array
    share: Array


@kernel()
def break_sticks(
    counts: Array, concentration: float, logs: Array, order: I64, means: Array
) -> tuple[float, float]:
    """Fit the sticks of one unit to its expected counts [n]; write E[log weight] and E[weight].

    The last stick takes the rest; places are taken in the best of all orders, which is
    written too. Return the unit's part of the bound, and the sum of E[log(1 - stick)].
    """
    bound = _order(counts, concentration, order)
    after, taken, rest, left, n = counts.sum(), 0.0, 0.0, 1.0, len(counts)
    for place in range(n):
        here = order[place]
        after = max(after - counts[here], 0.0)
        if place == n - 1:
            logs[here], means[here] = rest, left
            break
        a, b = 1.0 + counts[here], concentration + after
        both = digamma(a + b)
        logs[here] = rest + digamma(a) - both
        means[here] = left * a / (a + b)
        taken += digamma(b) - both
        rest += digamma(b) - both
        left *= b / (a + b)
    return bound, taken


@kernel()
def _order(counts: Array, concentration: float, order: I64) -> float:
    """Write the best order of the sticks; return the logarithm of their evidence under it.

    With N_j the counts from place j on, the evidence is a^(n-1) prod_j Gamma(1 + count_j)
    / (Gamma(1 + last) prod_{1 < j < n} (a + N_j)) Gamma(a + last) / Gamma(1 + a + N_1): given who
    is last, the others stand best by size. Above a = 1 the smallest need not be the best last one.
    """
    n = len(counts)
    order[0] = 0
    if n == 1:
        return 0.0
    by_size = np.argsort(-counts, kind="mergesort")
    best, last = -np.inf, n - 1
    for candidate in range(n):
        if concentration <= 1.0 and candidate < n - 1:
            continue
        size = counts[by_size[candidate]]
        found = math.lgamma(concentration + size) - math.lgamma(1.0 + size)
        tail = size
        for place in range(n - 1, 0, -1):
            if place != candidate:
                tail += counts[by_size[place]]
                if place > (1 if candidate == 0 else 0):
                    found -= math.log(concentration + tail)
        if found > best:
            best, last = found, candidate
    at = 0
    for place in range(n):
        if place != last:
            order[at] = by_size[place]
            at += 1
    order[n - 1] = by_size[last]
    total = 0.0
    for count in counts:
        best += math.lgamma(1.0 + count)
        total += count
    return best + (n - 1) * math.log(concentration) - math.lgamma(1.0 + concentration + total)


@kernel()
def seat_documents(
    cells: Cells, parents: Parents, seating: SeatChances, logs: Logs, alpha_doc: float, found: Array
) -> None:
    """Refit seats, then options, of all documents.

    found [n_docs, T, K]: overwritten by the expected log probability of a table's words under
    each topic, given the new seats.
    """
    n_docs, n_tables, n_topics = found.shape
    topics = np.empty((n_tables, n_topics))
    by_topic = np.empty((n_topics, n_tables))
    log_size, means, scores = np.empty(n_tables), np.empty(n_tables), np.empty(n_tables)
    sizes, order = np.empty(n_tables), np.empty(n_tables, np.int64)
    for doc in range(n_docs):
        start, stop = cells.cuts[doc, 0], cells.cuts[doc, -1]
        words, tokens = cells.word[start:stop], cells.tokens[start:stop]
        seat = seating.seat[start:stop]
        table_sizes(tokens, seat, sizes)
        break_sticks(sizes, alpha_doc, log_size, order, means)
        topics_of_tables(doc, parents, seating, topics)
        by_topic[:] = topics.T
        seat_tokens(words, seat, by_topic, logs.word, log_size, scores)
        judge_tables(words, tokens, seat, logs.word, found[doc])
        if parents.ptr[doc] == parents.ptr[doc + 1]:
            own = seating.orphan[seating.orphan_at[doc]]
            for table in range(n_tables):
                for topic in range(n_topics):
                    own[table, topic] = logs.topic[topic] + found[doc, table, topic]
                soften(own[table])
        else:
            choose_options(doc, parents, seating, logs, found[doc])


@kernel()
def table_sizes(tokens: Floats, seat: Array, sizes: Array) -> None:
    """Write the expected tokens of each table of a document to ``sizes`` [T]."""
    sizes[:] = 0.0
    for pair in range(len(tokens)):
        for table in range(len(sizes)):
            sizes[table] += tokens[pair] * seat[pair, table]


@kernel()
def topics_of_tables(doc: int, parents: Parents, seating: SeatChances, topics: Array) -> None:
    """Write the chances of topics at each table of a document to ``topics`` [T, K]."""
    first, last = parents.ptr[doc], parents.ptr[doc + 1]
    if first == last:
        topics[:] = seating.orphan[seating.orphan_at[doc]]
        return
    topics[:] = 0.0
    for link in range(first, last):
        dishes = seating.dish[parents.group[link]]
        for table in range(len(topics)):
            for option in range(len(dishes)):
                chance = seating.option[link, table, option]
                for topic in range(topics.shape[1]):
                    topics[table, topic] += chance * dishes[option, topic]


@kernel()
def seat_tokens(
    words: I32, seat: Array, by_topic: Array, log_word: Array, log_size: Array, scores: Array
) -> None:
    """Refit the seats of a document's pairs; by_topic [K, T]: chances of each table's topic."""
    for pair in range(len(words)):
        word_row = log_word[words[pair]]
        scores[:] = log_size
        for topic in range(len(word_row)):
            for table in range(len(scores)):
                scores[table] += by_topic[topic, table] * word_row[topic]
        soften(scores)
        seat[pair] = scores


@kernel()
def judge_tables(words: I32, tokens: Floats, seat: Array, log_word: Array, found: Array) -> None:
    """Write sum_n Y_nt E[log phi_k,w] of a document's tables to ``found`` [T, K]."""
    found[:] = 0.0
    for pair in range(len(words)):
        word_row = log_word[words[pair]]
        for table in range(len(found)):
            weight = tokens[pair] * seat[pair, table]
            for topic in range(len(word_row)):
                found[table, topic] += weight * word_row[topic]


@kernel()
def choose_options(
    doc: int, parents: Parents, seating: SeatChances, logs: Logs, found: Array
) -> None:
    """Refit the options of a document's tables, over all options of all its parents.

    found: [n_tables, n_topics].
    """
    first, last = parents.ptr[doc], parents.ptr[doc + 1]
    n_options = seating.option.shape[2]
    scores = np.empty((last - first) * n_options)
    for table in range(len(found)):
        for link in range(first, last):
            group = parents.group[link]
            for option in range(n_options):
                score = logs.share[link] + logs.option[group, option]
                for topic in range(found.shape[1]):
                    score += seating.dish[group, option, topic] * found[table, topic]
                scores[(link - first) * n_options + option] = score
        soften(scores)
        for link in range(first, last):
            begin = (link - first) * n_options
            seating.option[link, table] = scores[begin : begin + n_options]


@kernel()
def choose_dishes(
    first: int, dish: Array, parents: Parents, option: Array, log_topic: Array, found: Array
) -> None:
    """Refit the topics of the options of the groups from ``first`` on: dish [n, O, K]."""
    for row in range(len(dish)):
        group = first + row
        for place in range(dish.shape[1]):
            scores = dish[row, place]
            scores[:] = log_topic
            for at in range(parents.group_ptr[group], parents.group_ptr[group + 1]):
                doc, link = parents.doc[at], parents.link[at]
                for table in range(found.shape[1]):
                    chance = option[link, table, place]
                    for topic in range(len(scores)):
                        scores[topic] += chance * found[doc, table, topic]
            soften(scores)


@kernel()
def count_words(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    parents: Parents,
    seating: SeatChances,
    n_dk: Array,
    n_wk: Array,
) -> None:
    """Add a block's expected tokens by topic to n_dk and n_wk, which the caller has set to 0.

    n_dk: [n_docs, n_topics]. n_wk: [n_words, n_topics].
    """
    n_tables, n_topics = seating.seat.shape[1], n_dk.shape[1]
    topics, row = np.empty((n_tables, n_topics)), np.empty(n_topics)
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        topics_of_tables(doc, parents, seating, topics)
        for pair in range(start, stop):
            row[:] = 0.0
            for table in range(n_tables):
                weight = cells.tokens[pair] * seating.seat[pair, table]
                for topic in range(n_topics):
                    row[topic] += weight * topics[table, topic]
            n_dk[doc] += row
            n_wk[cells.word[pair]] += row


@kernel()
def document_sticks(
    cells: Cells, parents: Parents, seating: SeatChances, alpha_doc: float, used: Array
) -> tuple[float, float, int]:
    """Return the documents' part of the bound, their sum of E[log(1 - stick)] and their sticks.

    used [K]: expected tables by topic, a table counting up to 1 token, are added to it. Documents
    without words have no say.
    """
    n_tables = seating.seat.shape[1]
    logs, means, sizes = np.empty(n_tables), np.empty(n_tables), np.empty(n_tables)
    order, topics = np.empty(n_tables, np.int64), np.empty((n_tables, len(used)))
    bound, taken, n_sticks = 0.0, 0.0, 0
    for doc in range(len(cells.cuts)):
        start, stop = cells.cuts[doc, 0], cells.cuts[doc, -1]
        if start == stop:
            continue
        table_sizes(cells.tokens[start:stop], seating.seat[start:stop], sizes)
        part, rest = break_sticks(sizes, alpha_doc, logs, order, means)
        bound += part
        taken += rest
        n_sticks += n_tables - 1
        topics_of_tables(doc, parents, seating, topics)
        for table in range(n_tables):
            for topic in range(len(used)):
                used[topic] += min(sizes[table], 1.0) * topics[table, topic]
    return bound, taken, n_sticks


@kernel()
def group_sticks(
    counts: Array, alpha_group: float, logs: Array, means: Array
) -> tuple[float, float]:
    """Break the sticks of all groups: counts, logs and means [n_groups, O] as ``break_sticks``."""
    order = np.empty(counts.shape[1], np.int64)
    bound, taken = 0.0, 0.0
    for group in range(len(counts)):
        part, rest = break_sticks(counts[group], alpha_group, logs[group], order, means[group])
        bound += part
        taken += rest
    return bound, taken


@kernel()
def soften(scores: Array) -> None:
    """Turn log weights [n] into chances, in place."""
    largest, total = scores.max(), 0.0
    for place in range(len(scores)):
        scores[place] = math.exp(scores[place] - largest)
        total += scores[place]
    scores /= total
