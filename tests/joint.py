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
from numpy.typing import ArrayLike
from scipy import stats
from stepping import at

from hiertopics.base.arrays import F64, I32, I64, Ints
from hiertopics.contract.chains import Chains, begin
from hiertopics.contract.model import Backend, Settings
from hiertopics.families.flat.token_layout import Data, TokenRanges
from hiertopics.numeric.jit import kernel


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
    """A model, and the sampler of it, whose only chain goes on from ``state``.

    begin: draw all from the prior into a state. words: draw all words given the topics. measure:
    the statistics, in the order of names. exponentials: what is Exp(1) under the prior.
    """

    backend: Backend[Any, Any, Chains[Any]]
    state: Any
    data: Any
    settings: Settings
    names: Sequence[str]
    begin: Callable[[Any, np.random.Generator], None]
    words: Callable[[Any, np.random.Generator], None]
    measure: Callable[[Any], Sequence[float]]
    exponential_names: Sequence[str] = ()
    exponentials: Callable[[Any], ArrayLike] = lambda state: ()


def joint_test(story: Story, *, n_replicates: int, n_rounds: int, seed: int = 0) -> Outcome:
    """Run the replicates, through the sampler's own ``step``."""
    before, after = (np.zeros((n_replicates, len(story.names))) for _ in range(2))
    final = np.zeros((n_replicates, len(story.exponential_names)))
    chains, rng = begin([story.state]), np.random.default_rng(seed)
    for replicate in range(n_replicates):
        (state,) = chains.now
        story.begin(state, rng)
        before[replicate] = story.measure(state)
        for round_ in range(1, n_rounds + 1):
            context = at(replicate * n_rounds + round_, seed=seed)
            chains, _ = story.backend.step(chains, story.data, story.settings, context)
            (state,) = chains.now
            story.words(state, rng)
        after[replicate] = story.measure(state)
        final[replicate] = story.exponentials(state)
    change = after - before
    error = change.std(axis=0) / np.sqrt(n_replicates)
    z_scores = change.mean(axis=0) / np.where(error > 0, error, np.inf)
    p_values = [float(stats.kstest(values, "expon").pvalue) for values in final.T]
    return Outcome(
        dict(zip(story.names, z_scores.tolist(), strict=True)),
        dict(zip(story.exponential_names, p_values, strict=True)),
    )


def draw_topics(
    starts: Ints,
    prior: F64,
    z: I32,
    n_dk: I32,
    rng: np.random.Generator,
) -> None:
    """Draw all topics, documents' weights integrated out. starts: [n_docs + 1]; prior: its rows."""
    doc = np.repeat(np.arange(len(n_dk), dtype=np.int32), np.diff(starts))
    _draw_from_urns(doc, prior, z, n_dk, rng)


def draw_words(
    z: Ints,
    prior: F64,
    words: I32,
    n_wk: I32,
    rng: np.random.Generator,
) -> None:
    """Draw all words given their topics, topics' word distributions integrated out."""
    n_kw = n_wk[: len(prior)].T
    _draw_from_urns(z, np.tile(prior, (len(n_kw), 1)), words, n_kw, rng)


def room_for_words(lengths: Sequence[int], n_words: int) -> Data:
    """Return a corpus in tokens that ``lay_words`` fills; documents have these lengths."""
    n_docs, n_tokens = len(lengths), sum(lengths)
    pointers = np.zeros(n_docs + 1, np.int64), np.zeros(n_tokens + 1, np.int64)
    words = TokenRanges(pointers[0], np.zeros(n_tokens, np.int32), pointers[1])
    return Data(words, n_docs, n_words, n_tokens)


@kernel()  # whose cache outlives a move of the types that it names
def lay_words(
    lengths: I64,
    drawn: I32,
    label: Ints,
    n_words: int,
    words: TokenRanges,
) -> None:
    """Lay the words that were drawn for tokens out in pairs; labels of tokens follow.

    drawn: int32 [n_tokens], and label likewise, document by document.
    """
    moved = np.empty_like(label)
    start = token = pair = 0
    for doc in range(len(lengths)):
        words.pair_ptr[doc] = pair
        for word in range(n_words):
            first = token
            for place in range(start, start + lengths[doc]):
                if drawn[place] == word:
                    moved[token] = label[place]
                    token += 1
            if token > first:
                words.word[pair], words.token_ptr[pair] = word, first
                pair += 1
        start += lengths[doc]
    words.pair_ptr[len(lengths)] = pair
    words.token_ptr[pair:] = token
    label[:] = moved


@numba.njit(cache=True)
def _draw_from_urns(
    urn: Ints,
    prior: F64,
    drawn: I32,
    counts: I32,
    rng: Any,
) -> None:
    """Draw once for each token from its urn, a row of ``prior`` to which draws are added."""
    counts[:] = 0
    for token in range(len(urn)):
        row = urn[token]
        drawn[token] = draw(counts[row] + prior[row], rng)
        counts[row, drawn[token]] += 1


@numba.njit(cache=True)
def draw(weights: F64, rng: Any) -> int:
    """Return an index with a chance in proportion to its weight."""
    target = rng.random() * weights.sum()
    chosen = 0
    while target >= weights[chosen] and chosen < len(weights) - 1:
        target -= weights[chosen]
        chosen += 1
    return chosen
