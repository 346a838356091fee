"""What the joint-distribution tests of the samplers share.

A replicate draws everything from the model; then it alternates the sampler's step with fresh words
given the topics. Both leave the joint distribution as it is, so that after any number of rounds
the state is still a draw from the prior. Replicates are independent: the difference of a statistic
between the end and the start of a replicate has mean zero, and its z score needs no estimate of
autocorrelation (Geweke, JASA 2004, with many starts).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy import stats


class Outcome(NamedTuple):
    """Z scores of the statistics, and p values of marginals that are known to be Exp(1)."""

    z_scores: dict[str, float]
    p_values: dict[str, float]

    @property
    def largest_z(self) -> float:
        """The largest z score in size."""
        return max(abs(z) for z in self.z_scores.values())

    @property
    def smallest_p(self) -> float:
        """The smallest p value."""
        return min(self.p_values.values())


class Story(NamedTuple):
    """A model and its sampler. begin: draw all from the prior. round: step, then fresh words.

    measure: the statistics, in the order of names. exponentials: what is Exp(1) under the prior.
    """

    names: Sequence[str]
    begin: Callable[[], None]
    round: Callable[[], None]
    measure: Callable[[], Sequence[float]]
    exponential_names: Sequence[str] = ()
    exponentials: Callable[[], Sequence[float]] = tuple


def joint_test(story: Story, *, n_replicates: int, n_rounds: int) -> Outcome:
    """Run the replicates."""
    before, after = (np.zeros((n_replicates, len(story.names))) for _ in range(2))
    final = np.zeros((n_replicates, len(story.exponential_names)))
    for replicate in range(n_replicates):
        story.begin()
        before[replicate] = story.measure()
        for _ in range(n_rounds):
            story.round()
        after[replicate] = story.measure()
        final[replicate] = story.exponentials()
    change = after - before
    error = change.std(axis=0) / np.sqrt(n_replicates)
    z_scores = change.mean(axis=0) / np.where(error > 0, error, np.inf)
    p_values = [float(stats.kstest(values, "expon").pvalue) for values in final.T]
    return Outcome(
        dict(zip(story.names, z_scores.tolist(), strict=True)),
        dict(zip(story.exponential_names, p_values, strict=True)),
    )


@numba.njit(cache=True)
def draw_topics(
    starts: NDArray[np.int64],
    prior: NDArray[np.float64],
    z: NDArray[np.int32],
    n_dk: NDArray[np.int32],
    rng: Any,
) -> None:
    """Draw all topics, documents' weights integrated out. starts: [n_docs + 1]; prior: its rows."""
    n_dk[:] = 0
    for doc in range(len(starts) - 1):
        for token in range(starts[doc], starts[doc + 1]):
            z[token] = draw(n_dk[doc] + prior[doc], rng)
            n_dk[doc, z[token]] += 1


@numba.njit(cache=True)
def draw_words(
    z: NDArray[np.int32],
    prior: NDArray[np.float64],
    words: NDArray[np.int32],
    n_wk: NDArray[np.int32],
    rng: Any,
) -> None:
    """Draw all words given their topics, topics' word distributions integrated out."""
    n_wk[:] = 0
    for token in range(len(z)):
        words[token] = draw(n_wk[: len(prior), z[token]] + prior, rng)
        n_wk[words[token], z[token]] += 1


@numba.njit(cache=True)
def draw(weights: NDArray[np.float64], rng: Any) -> int:
    """Return an index with a chance in proportion to its weight."""
    target = rng.random() * weights.sum()
    chosen = 0
    while target >= weights[chosen] and chosen < len(weights) - 1:
        target -= weights[chosen]
        chosen += 1
    return chosen
