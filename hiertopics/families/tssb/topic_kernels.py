"""Topics of tokens, topics of words summed out: the sweep of the text model (theory/tssb 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.token_layout import Words
from hiertopics.numeric.jit import REASSOCIATE, kernel


class Topics(NamedTuple):
    """Topic of each token and the counts: z [n_tokens], n_dk [D, K], n_wk [V, K], n_k [K]."""

    z: NDArray[np.int16]
    n_dk: NDArray[np.int32]
    n_wk: NDArray[np.int32]
    n_k: NDArray[np.int64]


@kernel(fastmath=REASSOCIATE)
def weigh(
    base: NDArray[np.float32],
    row: NDArray[np.int32],
    inverse: NDArray[np.float32],
    eta: np.float32,
    weight: NDArray[np.float32],
) -> float:
    """Fill ``weight`` with base (row + eta) inverse; return its sum."""
    total = np.float32(0.0)
    for topic in range(len(weight)):
        weight[topic] = base[topic] * (np.float32(row[topic]) + eta) * inverse[topic]
        total += weight[topic]
    return float(total)


@kernel()
def pick(weight: NDArray[np.float32], total: float, rng: np.random.Generator) -> int:
    """Return a topic in proportion to its weight, never one whose weight is zero."""
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
    words: Words,
    topics: Topics,
    base: NDArray[np.float32],
    row_of: NDArray[np.int32],
    mixing: NDArray[np.bool_],
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
def count_topics(words: Words, topics: Topics) -> None:
    """Count every token by its topic into the empty tables."""
    z, n_dk, n_wk, n_k = topics
    for doc in range(len(n_dk)):
        for pair in range(words.pair_ptr[doc], words.pair_ptr[doc + 1]):
            for token in range(words.token_ptr[pair], words.token_ptr[pair + 1]):
                n_dk[doc, z[token]] += 1
                n_wk[words.word[pair], z[token]] += 1
                n_k[z[token]] += 1
