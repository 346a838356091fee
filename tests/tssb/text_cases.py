"""The text sampler over tiny corpora as one compiled loop, and what it must reproduce."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from hiertopics.families.ncrp.layout import Words
from hiertopics.families.tssb import share_kernels, stick_kernels, topic_kernels
from hiertopics.families.tssb.assign_kernels import assign
from hiertopics.families.tssb.find_kernels import find, lay_out, reveal
from hiertopics.families.tssb.layout import (
    NONE,
    Nodes,
    Places,
    Process,
    make_nodes,
    make_places,
)
from hiertopics.families.tssb.share_kernels import Dirichlet
from hiertopics.families.tssb.topic_kernels import Topics
from hiertopics.families.tssb.urn_kernels import resettle

CAPACITY = 512
LENGTHS = (2, 3, 2)
ETA, N_TOPICS, N_WORDS = 0.7, 2, 2
PROCESS = Process(1.5, 0.6, 1.2, 3)
KAPPA = (0.4, 4.0)
STATISTICS = (
    "kappa",
    "kappa^2",
    "theta_root^2",
    "theta_1^2",
    "theta_1",
    "1 and 2 at one node",
    "depth of 1",
    "1 at root",
    "z_11 = z_12",
    "z_11 = z_21",
    "w_11 = w_12",
    "w_11 = w_21",
    "both of the latter",
    "nodes in use",
    "greatest depth",
)
FROM_THE_SPEC = {
    "kappa": 2.202,
    "1 and 2 at one node": 0.316,
    "depth of 1": 0.986,
    "1 at root": 0.399,
    "z_11 = z_12": 0.718,
    "w_11 = w_12": 0.650,
    "w_11 = w_21": 0.633,
    "greatest depth": 1.671,
    "nodes in use": 2.236,
}
NO_MISTAKE, STALE_TABLES, NO_SELF, ROOT_TOTAL, WRONG_URN, SELF_TWICE = range(6)


class Text(NamedTuple):
    """Tokens by document and place: words and topics [3, 3]; what the kernels see of them."""

    word: NDArray[np.int64]
    z: NDArray[np.int64]
    home: NDArray[np.int32]
    nodes: Nodes
    places: Places


def empty_text(capacity: int = CAPACITY) -> Text:
    nodes = make_nodes(capacity, N_TOPICS)
    nodes.size[0], nodes.parent[0], nodes.known[0] = 1, NONE, True
    word = np.zeros((3, 3), np.int64)
    return Text(word, word.copy(), np.zeros(3, np.int32), nodes, make_places(capacity))


@numba.njit
def as_tokens(text: Text) -> Any:
    """Return words by document and word id, their topics and counts."""
    pair_ptr, token_ptr = np.zeros(4, np.int64), np.zeros(7, np.int64)
    word, z = np.zeros(6, np.int32), np.zeros(7, np.int16)
    n_pairs = n_tokens = 0
    for doc in range(3):
        for w in range(N_WORDS):
            before = n_tokens
            for place in range(LENGTHS[doc]):
                if text.word[doc, place] == w:
                    z[n_tokens] = text.z[doc, place]
                    n_tokens += 1
            if n_tokens > before:
                word[n_pairs] = w
                n_pairs += 1
                token_ptr[n_pairs] = n_tokens
        pair_ptr[doc + 1] = n_pairs
    words = Words(pair_ptr, word, token_ptr)
    topics = Topics(
        z,
        np.zeros((3, N_TOPICS), np.int32),
        np.zeros((N_WORDS, N_TOPICS), np.int32),
        np.zeros(N_TOPICS, np.int64),
    )
    topic_kernels.count_topics(words, topics)
    return words, topics


@numba.njit
def from_tokens(text: Text, topics: Topics) -> None:
    """Write the topics of tokens back to their places."""
    token = 0
    for doc in range(3):
        for w in range(N_WORDS):
            for place in range(LENGTHS[doc]):
                if text.word[doc, place] == w:
                    text.z[doc, place] = topics.z[token]
                    token += 1


@numba.njit
def draw_words(text: Text, rng: Any) -> None:
    """Draw all words given their topics, the topics' own words integrated out."""
    n_kw = np.full((N_TOPICS, N_WORDS), ETA)
    for doc in range(3):
        for place in range(LENGTHS[doc]):
            row = n_kw[text.z[doc, place]]
            text.word[doc, place] = rng.random() * row.sum() >= row[0]
            row[text.word[doc, place]] += 1.0


@numba.njit
def draw_all(text: Text, rng: Any) -> float:
    """Draw a corpus and all else from the model; return kappa."""
    nodes, kappa = text.nodes, KAPPA[0] + (KAPPA[1] - KAPPA[0]) * rng.random()
    nodes.size[0] = 1
    nodes.n_at[0] = nodes.n_sub[0] = 0
    stick_kernels.draw_sticks(nodes, PROCESS, rng, True)
    share_kernels.draw_log_dirichlet(np.full(N_TOPICS, kappa), nodes.value[0], rng)
    lay_out(nodes, text.places)
    for doc in range(3):
        node = find(rng.random(), 1, nodes, text.places, PROCESS, rng)
        assert node >= 0
        reveal(node, nodes, Dirichlet(kappa), rng)
        text.home[doc] = node
        for place in range(LENGTHS[doc]):
            text.z[doc, place] = rng.random() >= math.exp(nodes.value[node, 0])
    draw_words(text, rng)
    stick_kernels.count(text.home, nodes)
    return kappa


@numba.njit
def sweep(text: Text, kappa: float, mistake: int, rng: Any) -> Any:
    """Do an iteration of the sampler; return the tree and kappa."""
    nodes, home = text.nodes, text.home
    words, topics = as_tokens(text)
    lay_out(nodes, text.places)
    pending, table = np.full(4, np.nan), np.empty((3, 0))
    done = assign(
        topics.n_dk,
        table,
        home,
        0,
        pending,
        nodes.size[0],
        nodes,
        text.places,
        PROCESS,
        Dirichlet(kappa),
        rng,
    )
    assert done == 3
    stick_kernels.count(home, nodes)
    begin, children = stick_kernels.hull(nodes)
    nodes = stick_kernels.repack(nodes, home, begin, children, len(nodes.parent))
    if rng.random() < 0.5:  # else nodes without data stay where they are
        urn = Process(1.5, 0.6, 3.0 if mistake == WRONG_URN else 1.2, 3)
        resettle(topics.n_dk, home, nodes, urn, Dirichlet(kappa), rng)
        begin, children = stick_kernels.partition(nodes)
        nodes = stick_kernels.repack(nodes, home, begin, children, len(nodes.parent))
        stick_kernels.draw_sticks(nodes, PROCESS, rng, False)
        begin, children = stick_kernels.reorder(nodes, PROCESS, rng)
        nodes = stick_kernels.repack(nodes, home, begin, children, len(nodes.parent))
    if mistake == NO_SELF:
        flat, mixing = np.ones((1, 2), np.float32), np.zeros(3, np.bool_)
        topic_kernels.sweep(words, topics, flat, home * 0, mixing, ETA, rng)
    else:
        base, alone = share_kernels.token_base(nodes, kappa)
        if mistake == SELF_TWICE:
            base = np.exp(nodes.value).astype(np.float32)
        topic_kernels.sweep(words, topics, base, home, alone[home], ETA, rng)
    from_tokens(text, topics)
    counts = np.zeros((nodes.size[0], N_TOPICS), np.int64)
    for doc in range(3):
        counts[home[doc]] += topics.n_dk[doc]
    if mistake == STALE_TABLES:
        tables = share_kernels.seat_tables(nodes, counts, kappa, rng)
        share_kernels.draw_weights(nodes, counts, kappa, kappa, rng)
        kappa = share_kernels.draw_kappa(kappa, KAPPA, 1.0, counts, 0 * tables, rng)
    else:
        share = 0.5 if mistake == ROOT_TOTAL else 1.0
        kappa = share_kernels.draw_shares(nodes, counts, kappa, KAPPA, share, rng)
    stick_kernels.draw_sticks(nodes, PROCESS, rng, True)
    begin, children = stick_kernels.reorder(nodes, PROCESS, rng)
    nodes = stick_kernels.repack(nodes, home, begin, children, len(nodes.parent))
    stick_kernels.draw_sticks(nodes, PROCESS, rng, True)
    return nodes, kappa


@numba.njit
def measure(text: Text, kappa: float, out: Any) -> None:
    nodes, home, z, word = text.nodes, text.home, text.z, text.word
    root, first = math.exp(nodes.value[0, 0]), math.exp(nodes.value[home[0], 0])
    depths = nodes.depth[home]
    out[0], out[1], out[2], out[3], out[4] = kappa, kappa * kappa, root * root, first**2, first
    out[5], out[6], out[7] = home[0] == home[1], depths[0], home[0] == 0
    out[8], out[9] = z[0, 0] == z[0, 1], z[0, 0] == z[1, 0]
    out[10], out[11] = word[0, 0] == word[0, 1], word[0, 0] == word[1, 0]
    out[12] = out[9] * out[11]
    out[13] = len(set(home))
    out[14] = depths.max()


@numba.njit
def forwards(text: Text, n_draws: int, rng: Any) -> NDArray[np.float64]:
    found = np.empty((n_draws, 15))
    for place in range(n_draws):
        kappa = draw_all(text, rng)
        measure(text, kappa, found[place])
    return found


@numba.njit
def chained(text: Text, n_sweeps: int, mistake: int, rng: Any) -> NDArray[np.float64]:
    found = np.empty((n_sweeps, 15))
    kappa = draw_all(text, rng)
    nodes = text.nodes
    for place in range(n_sweeps):
        nodes, kappa = sweep(
            Text(text.word, text.z, text.home, nodes, text.places), kappa, mistake, rng
        )
        now = Text(text.word, text.z, text.home, nodes, text.places)
        draw_words(now, rng)
        measure(now, kappa, found[place])
    return found


@numba.njit
def share_draws(
    parents: Any, counts: Any, bounds: Any, n_sweeps: int, nodes: Nodes, rng: Any
) -> NDArray[np.float64]:
    """Return kappa, first shares of nodes 0 and 1 and their product by update of a fixed tree."""
    n = len(parents)
    nodes.size[0] = n
    nodes.parent[:n] = parents
    nodes.n_sub[:n] = 1
    nodes.value[:n] = math.log(0.5)
    found, kappa = np.empty((n_sweeps, 4)), 0.5 * (bounds[0] + bounds[1])
    for place in range(n_sweeps):
        kappa = share_kernels.draw_shares(nodes, counts.copy(), kappa, bounds, 1.0, rng)
        root, child = math.exp(nodes.value[0, 0]), math.exp(nodes.value[1, 0])
        found[place] = kappa, root, child, root * child
    return found


def stirling(n: int) -> list[int]:
    """Return unsigned Stirling numbers of the first kind of n."""
    row = [1]
    for m in range(n):
        row = [m * a + b for a, b in zip([*row, 0], [0, *row], strict=True)]
    return row


def exact_shares(kappa: float) -> tuple[float, float, float, float]:
    """Return evidence and means of theta_01, theta_11 and their product (T6) by listing tables."""
    own = {0: (1, 3), 1: (4, 0), 2: (0, 2), 3: (2, 2)}
    total = mean_0 = mean_1 = product = 0.0

    def options(counts: tuple[int, int]) -> list[tuple[tuple[int, int], float]]:
        tables = [[(t, float(s)) for t, s in enumerate(stirling(m)) if s] for m in counts]
        scale = math.exp(math.lgamma(kappa) - math.lgamma(kappa + sum(counts)))
        return [
            ((a, b), scale * wa * wb * kappa ** (a + b))
            for (a, wa), (b, wb) in itertools.product(*tables)
        ]

    for t_2, w_2 in options(own[2]):
        m_1 = (own[1][0] + t_2[0], own[1][1] + t_2[1])
        for (t_1, w_1), (t_3, w_3) in itertools.product(options(m_1), options(own[3])):
            root = tuple(own[0][k] + t_1[k] + t_3[k] for k in range(2))
            log_root = sum(math.lgamma(kappa + m) - math.lgamma(kappa) for m in root)
            log_root += math.lgamma(2 * kappa) - math.lgamma(2 * kappa + sum(root))
            weight = w_1 * w_2 * w_3 * math.exp(log_root)
            mass = 2 * kappa + sum(root)
            theta_0 = (kappa + root[0]) / mass
            square = theta_0 * (kappa + root[0] + 1) / (mass + 1)
            total += weight
            mean_0 += weight * theta_0
            mean_1 += weight * (kappa * theta_0 + m_1[0]) / (kappa + sum(m_1))
            product += weight * (kappa * square + m_1[0] * theta_0) / (kappa + sum(m_1))
    return total, mean_0 / total, mean_1 / total, product / total
