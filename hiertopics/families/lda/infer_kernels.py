"""The loop of inference on new documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hiertopics.numeric.jit import kernel


@kernel()
def expected_counts(
    words: NDArray[np.int32],
    times: NDArray[np.int32],
    phi: NDArray[np.float64],
    prior: NDArray[np.float64],
    n_sweeps: int,
    tolerance: float,
) -> NDArray[np.float64]:
    """Return the expected topic counts [K] of one document, topics held fixed.

    words, times [n_pairs]; phi [n_words, K] (word-major); prior [K]. Each pair's shares of the
    topics are refitted to phi (counts of the other pairs + its other tokens + prior), in turn,
    until no share moves by ``tolerance`` or ``n_sweeps`` are done.
    """
    n_topics = len(prior)
    shares = np.zeros((len(words), n_topics))
    expected = np.zeros(n_topics)
    weights = np.empty(n_topics)
    for _ in range(n_sweeps):
        largest = 0.0
        for pair in range(len(words)):
            word_row, row, count = phi[words[pair]], shares[pair], float(times[pair])
            total = 0.0
            for topic in range(n_topics):
                others = max(expected[topic] - row[topic], 0.0)
                weights[topic] = word_row[topic] * (others + prior[topic])
                total += weights[topic]
            scale = 1.0 / total
            for topic in range(n_topics):
                moved = weights[topic] * scale - row[topic]
                row[topic] += moved
                expected[topic] += count * moved
                largest = max(largest, abs(moved))
        if largest < tolerance:
            break
    return expected
