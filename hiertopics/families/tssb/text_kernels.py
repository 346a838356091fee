"""The text model: sweeps over topics of tokens, and topic shares of nodes (theory/tssb 3).

Topics of words are summed out. A node's shares are Dirichlet(kappa theta_parent). Given the topics
of tokens, those of a whole tree are drawn as in a hierarchical Dirichlet process: tables upwards,
shares downwards.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from hiertopics.base.arrays import F32, F64, I16, I32, I64, Bools, Floats
from hiertopics.base.axes import Axes
from hiertopics.families.flat.token_layout import TokenRanges
from hiertopics.families.tssb.assign_kernels import concentration, log_gamma_draw
from hiertopics.families.tssb.layout import BEAR, FOUND, MARGINAL, Memo, Process, StickNodes
from hiertopics.numeric.jit import REASSOCIATE, kernel
from hiertopics.numeric.slices import Bracket, is_open, narrowed, within


class TopicAssignments(NamedTuple):
    """Topic of each token and the counts: z [n_tokens], n_dk [D, K], n_wk [V, K], n_k [K]."""

    z: Annotated[I16, Axes("n_tokens", below="n_topics")]
    n_dk: Annotated[I32, Axes("n_docs", "n_topics", least=0, maybe_empty=True)]
    n_wk: Annotated[I32, Axes("n_words", "n_topics", least=0, maybe_empty=True)]
    n_k: Annotated[I64, Axes("n_topics", least=0, maybe_empty=True)]


@kernel(fastmath=REASSOCIATE)
def weigh(base: F32, row: I32, inverse: F32, eta: np.float32, weight: F32) -> float:
    """Fill ``weight`` with base (row + eta) inverse; return its sum; rows: [n_topics]."""
    total = np.float32(0.0)
    for topic in range(len(weight)):
        weight[topic] = base[topic] * (np.float32(row[topic]) + eta) * inverse[topic]
    # A loop that writes to no array: one that does may split its sum or not (``REASSOCIATE``).
    for topic in range(len(weight)):
        total += weight[topic]
    return float(total)


@kernel()
def pick(weight: F32, total: float, rng: np.random.Generator) -> int:
    """Return a topic in proportion to its weight, never one whose weight is zero.

    weight: float32 [n_topics]; total: its sum.
    """
    target = rng.random() * total
    chosen, last = 0, len(weight) - 1
    while target >= weight[chosen] and chosen < last:
        target -= weight[chosen]
        chosen += 1
    while weight[chosen] <= 0.0:  # rounding carried the target beyond the end
        chosen -= 1
    return chosen


@kernel()
def sweep(
    words: TokenRanges,
    topics: TopicAssignments,
    base: F32,
    row_of: I32,
    mixing: Bools,
    eta: float,
    rng: np.random.Generator,
) -> int:
    """Redraw the topic of each token given all others; return how many moved.

    P(topic) is proportional to base (n_wk + eta)/(n_k + V eta) without the token. base: float32
    [., K], of which row_of names each document's row: weights of its node; or, for documents that
    are ``mixing``, prior pseudo-counts that the document's own counts are added to.
    """
    z, n_dk, n_wk, n_k = topics
    n_topics = n_dk.shape[1]
    word_mass = n_wk.shape[0] * eta
    pseudo = np.float32(eta)
    inverse, weight = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    local = np.empty(n_topics, np.float32)
    for topic in range(n_topics):
        inverse[topic] = 1.0 / (n_k[topic] + word_mass)
    moved = 0
    for doc in range(len(row_of)):
        own_counts = mixing[doc]
        for topic in range(n_topics):
            own = n_dk[doc, topic] if own_counts else 0
            local[topic] = base[row_of[doc], topic] + np.float32(own)
        for pair in range(words.pair_ptr[doc], words.pair_ptr[doc + 1]):
            row = n_wk[words.word[pair]]
            for token in range(words.token_ptr[pair], words.token_ptr[pair + 1]):
                old = z[token]
                row[old] -= 1
                n_k[old] -= 1
                inverse[old] = 1.0 / (n_k[old] + word_mass)
                if own_counts:
                    local[old] -= np.float32(1.0)
                new = pick(weight, weigh(local, row, inverse, pseudo, weight), rng)
                row[new] += 1
                n_k[new] += 1
                inverse[new] = 1.0 / (n_k[new] + word_mass)
                if own_counts:
                    local[new] += np.float32(1.0)
                if new != old:
                    z[token] = new
                    n_dk[doc, old] -= 1
                    n_dk[doc, new] += 1
                    moved += 1
    return moved


@kernel()
def count_topics(words: TokenRanges, topics: TopicAssignments) -> None:
    """Count every token by its topic into the empty tables."""
    z, n_dk, n_wk, n_k = topics
    for doc in range(len(n_dk)):
        for pair in range(words.pair_ptr[doc], words.pair_ptr[doc + 1]):
            for token in range(words.token_ptr[pair], words.token_ptr[pair + 1]):
                n_dk[doc, z[token]] += 1
                n_wk[words.word[pair], z[token]] += 1
                n_k[z[token]] += 1


SMALLEST = 1e-280


class Dirichlet(NamedTuple):
    """The law of a child's topic weights: Dirichlet(kappa theta_parent)."""

    kappa: float


@kernel()
def draw_log_dirichlet(shape: F64, value: Floats, rng: np.random.Generator) -> None:
    """Draw the logs of Dirichlet weights, ``value`` [n]; no weight is ever zero; shape: [n]."""
    high = -np.inf
    for topic in range(len(value)):
        value[topic] = log_gamma_draw(max(shape[topic], SMALLEST), rng)
        high = max(high, value[topic])
    total = 0.0
    for topic in range(len(value)):
        total += math.exp(value[topic] - high)
    high += math.log(total)
    for topic in range(len(value)):
        value[topic] -= high


@kernel()
def bear_dirichlet(
    law: Dirichlet, parent: Floats, value: Floats, rng: np.random.Generator
) -> float:
    """Draw a node's log topic weights [n_topics] given its parent's; no offset."""
    draw_log_dirichlet(law.kappa * np.exp(parent), value, rng)
    return 0.0


@kernel()
def marginal_dirichlet(
    law: Dirichlet, features: I32, parent: int, nodes: StickNodes, memo: Memo
) -> float:
    """Return the log chance of topic counts [n_topics], the shares of their node summed out."""
    total, n_tokens = 0.0, 0
    for topic in range(len(features)):
        if features[topic] > 0:
            mass = max(law.kappa * math.exp(nodes.value[parent, topic]), SMALLEST)
            total += math.lgamma(mass + features[topic]) - math.lgamma(mass)
            n_tokens += features[topic]
    return total + math.lgamma(law.kappa) - math.lgamma(law.kappa + n_tokens)


@kernel()
def found_dirichlet(
    law: Dirichlet,
    features: I32,
    parent: int,
    node: int,
    nodes: StickNodes,
    memo: Memo,
    rng: np.random.Generator,
) -> float:
    """Draw the log shares of the node that a document with these topic counts founds.

    features: int32 [n_topics].
    """
    mass = law.kappa * np.exp(nodes.value[parent]) + features
    draw_log_dirichlet(mass, nodes.value[node], rng)
    return 0.0


BEAR[Dirichlet] = bear_dirichlet
MARGINAL[Dirichlet] = marginal_dirichlet
FOUND[Dirichlet] = found_dirichlet


@kernel()
def token_base(nodes: StickNodes, kappa: float) -> tuple[F32, Bools]:
    """Return the rows that a sweep of topics takes as base, by node, and which are ``mixing``.

    float32 [n_nodes, n_topics] and bool [n_nodes]. A node that is one document's alone has its
    shares summed out: its row is that of its prior, kappa times the shares of its parent. These
    shares are void until they are drawn again.
    """
    n = nodes.size[0]
    base = np.empty((n, nodes.value.shape[1]), np.float32)
    alone = np.zeros(n, np.bool_)
    for node in range(n):
        alone[node] = node > 0 and nodes.n_sub[node] == 1 and nodes.n_at[node] == 1
        source, scale = (nodes.parent[node], kappa) if alone[node] else (node, 1.0)
        for topic in range(base.shape[1]):
            base[node, topic] = scale * math.exp(nodes.value[source, topic])
    return base, alone


@kernel()
def count_tables(n_tokens: int, mass: float, rng: np.random.Generator) -> int:
    """Return the sum over j < n_tokens of Bernoulli(mass/(mass + j)) draws.

    From j = 2^i on, candidates come with the chance at 2^i, by skips of geometric length, and are
    kept in proportion to their own: the law is exact and the cost a logarithm of n_tokens.
    """
    if n_tokens == 0:
        return 0
    tables, begin = 1, 1
    while begin < n_tokens:
        end = min(2 * begin, n_tokens)
        log_miss = math.log1p(-mass / (mass + begin))
        place = float(begin)
        while True:
            place += np.floor(-rng.standard_exponential() / log_miss)
            if place >= end:
                break
            if rng.random() * (mass + place) < mass + begin:
                tables += 1
            place += 1.0
        begin = end
    return tables


@kernel()
def seat_tables(nodes: StickNodes, counts: I64, kappa: float, rng: np.random.Generator) -> I64:
    """Draw the tables of each node, deepest first, and add them to its parent's counts.

    counts: int64 [n, K], topics of the tokens at each node, changed to those that its weights
    see, tables of its children included. Returns the tables of each node, int64 [n].
    """
    n = nodes.size[0]
    tables = np.zeros(n, np.int64)
    for node in range(n - 1, 0, -1):
        if nodes.n_sub[node] == 0:
            continue
        parent = nodes.parent[node]
        for topic in range(counts.shape[1]):
            mass = max(kappa * math.exp(nodes.value[parent, topic]), SMALLEST)
            seated = count_tables(counts[node, topic], mass, rng)
            counts[parent, topic] += seated
            tables[node] += seated
    return tables


@kernel()
def draw_weights(
    nodes: StickNodes, counts: I64, kappa: float, root_mass: float, rng: np.random.Generator
) -> None:
    """Draw the log topic weights of each node with data at or below it, parents first.

    counts: as ``seat_tables`` leaves them. root_mass: prior pseudo-count of a topic at the root.
    """
    for node in range(nodes.size[0]):
        if nodes.n_sub[node] == 0 and node > 0:
            continue
        shape = counts[node].astype(np.float64)
        if node == 0:
            shape += root_mass
        else:
            shape += kappa * np.exp(nodes.value[nodes.parent[node]])
        draw_log_dirichlet(shape, nodes.value[node], rng)


@kernel()
def draw_shares(
    nodes: StickNodes,
    counts: I64,
    kappa: float,
    bounds: tuple[float, float],
    root_share: float,
    rng: np.random.Generator,
) -> float:
    """Draw tables upwards, kappa given them, then shares downwards (theory/tssb 3.2); return kappa.

    counts: int64 [n, K], topics of the tokens at each node; overwritten. bounds: where kappa is
    uniform; equal bounds: it is fixed. root_share: pseudo-count of a topic at the root over kappa.
    """
    tables = seat_tables(nodes, counts, kappa, rng)
    kappa = draw_kappa(kappa, bounds, root_share, counts, tables, rng)
    draw_weights(nodes, counts, kappa, kappa * root_share, rng)
    return kappa


@kernel()
def draw_kappa(
    kappa: float,
    bounds: tuple[float, float],
    root_share: float,
    counts: I64,
    tables: I64,
    rng: np.random.Generator,
) -> float:
    """Draw kappa by slice sampling; the bracket is its bounds, shrunk to the present value.

    counts: int64 [n_nodes, n_topics]. tables: int64, as ``seat_tables`` leaves them.
    """
    bracket = Bracket(*bounds)
    if bracket.low == bracket.high:
        return bracket.low
    totals = counts.sum(axis=1)
    floor = log_tables(kappa, root_share, counts[0], totals, tables) - rng.standard_exponential()
    while is_open(bracket):
        place = within(bracket, rng)
        if log_tables(place, root_share, counts[0], totals, tables) > floor:
            return place
        bracket = narrowed(bracket, place, kappa)
    return kappa


@kernel()
def log_tables(kappa: float, root_share: float, root: I64, totals: I64, tables: I64) -> float:
    """Return the log density of kappa given tables, shares integrated out (theory/tssb 3.4).

    root: int64 [K], the root's counts. totals, tables: int64 [n], the root's own not looked at.
    """
    mass, n_topics = kappa * root_share, len(root)
    total = math.lgamma(n_topics * mass) - math.lgamma(n_topics * mass + root.sum())
    for topic in range(n_topics):
        total += math.lgamma(mass + root[topic]) - math.lgamma(mass)
    for node in range(1, len(totals)):
        if totals[node] > 0:
            total += tables[node] * math.log(kappa)
            total += math.lgamma(kappa) - math.lgamma(kappa + totals[node])
    return total


@kernel()
def draw_newcomers(
    shares: F64, depth: I32, kappa: float, process: Process, rng: np.random.Generator
) -> None:
    """Turn shares of nodes [n, K] into those of new nodes at which data below them stop.

    depth: int32 [n], of the nodes. A new node at depth d is where a datum stops with the chance
    1/(1 + alpha(d)) that its stick has on average.
    """
    value = np.empty(shares.shape[1])
    for place in range(len(shares)):
        level, row = depth[place], shares[place]
        while True:
            level += 1
            draw_log_dirichlet(kappa * row, value, rng)
            row[:] = np.exp(value)
            if level >= process.max_depth:
                break
            if rng.random() * (1.0 + concentration(process, level)) < 1.0:
                break
