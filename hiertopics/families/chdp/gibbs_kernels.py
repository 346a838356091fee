"""Loops of the Gibbs sampler of the cooperative HDP (theory/chdp 4.1, 4.2 and 7).

Tokens, tables, their split over parents, options; topic weights in logs, where none underflows.
"""

from __future__ import annotations

import math

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.families.chdp.base_kernels import Weights, base_row
from hiertopics.families.chdp.layout import Parents
from hiertopics.families.flat.layout import Cells
from hiertopics.families.flat.sweep_kernels import (
    BLOCK,
    list_words,
    scratch_of,
    sweep_document,
    sweep_document_by_lists,
    words_of_block,
    write_words,
)
from hiertopics.families.flat.token_kernels import Tables, draw_n_tables
from hiertopics.numeric.jit import kernel


@kernel()
def sweep_block(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: Tables,
    parents: Parents,
    weights: Weights,
    alpha_doc: float,
    eta: float,
    word_total: float,
    rng: np.random.Generator,
) -> int:
    """Redraw the topic of each token of a block given all others; return how many moved.

    P(z = k) is proportional to (n_dk + alpha_doc b_dk)(n_wk + eta)/(n_k + n_words eta) without
    the token itself. word_total: n_words eta, of all words. n_k is moved too: pass the block's own
    copy.
    """
    n_k = tables.n_k
    n_topics = len(n_k)
    word_prior = np.full(len(tables.n_wk), eta)
    inverse = np.empty(n_topics)
    inverse[:] = 1.0 / (n_k + word_total)
    prior = np.empty(n_topics)
    scaled = np.empty(n_topics)
    scratch = np.empty(n_topics)
    ends = np.empty((n_topics + BLOCK - 1) // BLOCK)
    moved = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        start, stop = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if start == stop:
            continue
        base_row(doc, parents, weights, prior)
        prior *= alpha_doc
        doc_row = tables.n_dk[doc]
        for topic in range(n_topics):
            scaled[topic] = (doc_row[topic] + prior[topic]) * inverse[topic]
        z, words = tables.z[start:stop], cells.word[start:stop]
        moved += sweep_document(
            z, words, tables.n_wk, doc_row, n_k, prior, inverse, scaled, scratch, ends,
            word_prior, word_total, rng,
        )  # fmt: skip
    return moved


@kernel()
def sweep_block_by_lists(
    cells: Cells,
    doc_shard: int,
    word_shard: int,
    tables: Tables,
    parents: Parents,
    weights: Weights,
    alpha_doc: float,
    eta: float,
    word_total: float,
    rng: np.random.Generator,
) -> int:
    """Do as ``sweep_block`` does, at the cost of a token's word's topics (theory/hdp 6.7)."""
    n_k = tables.n_k
    first_word, last_word = words_of_block(cells, doc_shard, word_shard)
    word_prior = np.full(len(tables.n_wk), eta)
    inverse = np.empty(len(n_k))
    inverse[:] = 1.0 / (n_k + word_total)
    prior = np.empty(len(n_k))
    lists = list_words(tables.n_wk, first_word, last_word)
    start, length, topics, times = lists
    scaled, chances, sums, before, ends = scratch_of(len(n_k))
    moved = 0
    for doc in range(cells.doc_bounds[doc_shard], cells.doc_bounds[doc_shard + 1]):
        first, last = cells.cuts[doc, word_shard], cells.cuts[doc, word_shard + 1]
        if first == last:
            continue
        base_row(doc, parents, weights, prior)
        prior *= alpha_doc
        z, words = tables.z[first:last], cells.word[first:last]
        moved += sweep_document_by_lists(
            z, words, tables.n_dk[doc], n_k, prior, word_prior, word_total, inverse,
            start, length, topics, times, scaled, chances, sums, before, ends, rng,
        )  # fmt: skip
    write_words(lists, first_word, last_word, tables.n_wk)
    return moved


@kernel()
def seat_tokens(
    n_dk: I32,
    alpha_doc: float,
    parents: Parents,
    weights: Weights,
    m_dk: I32,
    totals: F64,
    rng: np.random.Generator,
) -> None:
    """Draw the tables m_dk [n_docs, T] of all documents; write their Z to ``totals`` [n_docs]."""
    base = np.empty(n_dk.shape[1])
    for doc in range(len(n_dk)):
        totals[doc] = base_row(doc, parents, weights, base)
        for topic in range(len(base)):
            m_dk[doc, topic] = draw_n_tables(n_dk[doc, topic], alpha_doc * base[topic], rng)


@kernel()
def split_tables(
    m_dk: I32,
    parents: Parents,
    weights: Weights,
    n_group_tables: I32,
    by_link: I64,
    rng: np.random.Generator,
) -> None:
    """Give each table to a parent in proportion to lambda_da pi_ak; add up tables by parent.

    n_group_tables [n_groups, T] and by_link [n_links] are added to; tables of documents without
    parents go nowhere.
    """
    for doc in range(len(m_dk)):
        first, last = parents.ptr[doc], parents.ptr[doc + 1]
        if first == last:
            continue
        for topic in range(m_dk.shape[1]):
            if m_dk[doc, topic] == 0:
                continue
            total = 0.0
            for link in range(first, last):
                total += weights.share[link] * weights.group[parents.group[link], topic]
            for _ in range(m_dk[doc, topic]):
                target = rng.random() * total
                chosen = first
                while chosen < last - 1:
                    target -= weights.share[chosen] * weights.group[parents.group[chosen], topic]
                    if target < 0.0:
                        break
                    chosen += 1
                n_group_tables[parents.group[chosen], topic] += 1
                by_link[chosen] += 1


@kernel()
def draw_options(n_group_tables: I32, prior: F64, by_topic: I64, rng: np.random.Generator) -> None:
    """Add the options that the tables of each group make to ``by_topic`` [T].

    prior [T]: alpha_group pi_0, floored.
    """
    for group in range(n_group_tables.shape[0]):
        for topic in range(n_group_tables.shape[1]):
            by_topic[topic] += draw_n_tables(n_group_tables[group, topic], prior[topic], rng)


SMALLEST = 1e-6
"""Floor of alpha_group pi_0k wherever it stands (theory/chdp 4)."""


@kernel()
def log_weights(sticks: F64) -> F64:
    """Return log pi_0 [T] of logit sticks [T - 1]."""
    log_pi = np.empty(len(sticks) + 1)
    rest = 0.0
    for place in range(len(sticks)):
        log_pi[place] = rest + log_sigmoid(sticks[place])
        rest += log_sigmoid(-sticks[place])
    log_pi[-1] = rest
    return log_pi


@kernel()
def log_sigmoid(x: float) -> float:
    """Return -log(1 + exp(-x)) without overflow."""
    if x >= 0.0:
        return -math.log1p(math.exp(-x))
    return x - math.log1p(math.exp(x))


@kernel()
def draw_log_gamma(shape: float, rng: np.random.Generator) -> float:
    """Return the log of a Gamma(shape, 1) number, also where the number itself underflows."""
    if shape >= 1.0:
        return math.log(rng.standard_gamma(shape))
    boosted = math.log(rng.standard_gamma(shape + 1.0))
    return boosted + math.log(1.0 - rng.random()) / shape


@kernel()
def draw_group_weights(
    n_group_tables: I32, prior: F64, log_pi: F64, rng: np.random.Generator
) -> None:
    """Overwrite each row of ``log_pi`` [n_groups, T] by the log of a Dir(prior + tables) draw."""
    for group in range(log_pi.shape[0]):
        row = log_pi[group]
        for topic in range(len(row)):
            row[topic] = draw_log_gamma(prior[topic] + n_group_tables[group, topic], rng)
        normalise(row)


@kernel()
def normalise(log_row: F64) -> None:
    """Subtract the log of the sum of exponentials from a row, in place."""
    largest = log_row.max()
    total = 0.0
    for value in log_row:
        total += math.exp(value - largest)
    log_row -= largest + math.log(total)


@kernel()
def draw_sticks(counts: I64, gamma: float, sticks: F64, rng: np.random.Generator) -> None:
    """Overwrite the logit sticks [T - 1] by draws of Beta(1 + counts, gamma + tail)."""
    after = counts.sum()
    for place in range(len(sticks)):
        after -= counts[place]
        taken = draw_log_gamma(1.0 + counts[place], rng)
        sticks[place] = taken - draw_log_gamma(gamma + after, rng)
