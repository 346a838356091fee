"""The joint-distribution test of chdp-gibbs: draws from the prior stay draws from the prior.

A replicate draws concentrations, weights, topics and words from the model; then it alternates
the sampler's step with fresh words given the topics. Replicates are independent: the difference
of a statistic between the end and the start of a replicate has mean zero, and its z score needs
no estimate of autocorrelation (Geweke, JASA 2004, with many starts; spec chdp 8.6).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from chdp_cases import at, begin, settings_of, with_parents
from numpy.typing import NDArray
from scipy import stats

from hiertopics.backends.chdp import gibbs, irp
from hiertopics.backends.chdp import maximum_kernels as maximum
from hiertopics.backends.chdp.base_kernels import base_rows
from hiertopics.backends.chdp.gibbs_state import State, weights_of
from hiertopics.backends.chdp.layout import Data
from hiertopics.backends.chdp.restaurant_kernels import new_table_row, seat_table
from hiertopics.backends.chdp.table_kernels import draw_group_weights

LENGTHS = (6, 4, 3, 1, 0)
PARENTS = [[0, 1], [0], [], [1], [0, 1]]
N_WORDS = 4
CONCENTRATIONS = ("alpha_doc", "alpha_group", "gamma", "word mass")
STATISTICS = (
    *CONCENTRATIONS,
    *(f"log {name}" for name in CONCENTRATIONS),
    "largest weight of group 0",
    "affinity of groups",
    "largest base of document 0",
    "largest corpus weight",
    "share of link 0 squared",
    "words 0 and 1 equal",
    "words 0 and 3 equal",
    "topics 0 and 1 equal",
    "topics 0 and 7 equal",
    "topics in use",
)


class Outcome(NamedTuple):
    """Z scores of the statistics, and p values of concentrations, known to be Exp(1)."""

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


def joint_test(*, n_replicates: int, n_rounds: int, seed: int = 0, **keys: Any) -> Outcome:
    """Run the replicates under settings."""
    # A restaurant needs a slot for as many topics as there are tokens: the urn knows no truncation.
    n_topics = sum(LENGTHS) if keys.get("sampler") == "irp" else 3
    settings = settings_of(truncation=n_topics, hyper_start=0, **keys)
    rows = [[length, 0, 0, 0] for length in LENGTHS]
    state, data = begin(with_parents(rows, PARENTS, 2), settings)
    rng = np.random.default_rng(seed)
    before, after = (np.zeros((n_replicates, len(STATISTICS))) for _ in range(2))
    iteration = 0
    for replicate in range(n_replicates):
        draw_from_prior(state, data, settings, rng)
        before[replicate] = measure(state, data, settings)
        for _ in range(n_rounds):
            iteration += 1
            state, _ = gibbs.step(state, data, settings, at(iteration, seed=seed))
            _draw_words(state.z, state.eta, data.cells.word, state.n_wk, rng)
        after[replicate] = measure(state, data, settings)
    change = after - before
    error = change.std(axis=0) / np.sqrt(n_replicates)
    z_scores = change.mean(axis=0) / np.where(error > 0, error, np.inf)
    p_values = [stats.kstest(values, "expon").pvalue for values in after[:, :4].T]
    return Outcome(
        dict(zip(STATISTICS, z_scores.tolist(), strict=True)),
        dict(zip(CONCENTRATIONS, map(float, p_values), strict=True)),
    )


def draw_from_prior(state: State, data: Data, settings: Any, rng: np.random.Generator) -> None:
    """Draw everything from the model with Gamma(1, 1) priors on the concentrations."""
    state.alpha_doc, state.alpha_group, state.gamma, word_mass = rng.exponential(size=4)
    state.eta = word_mass / N_WORDS
    state.n_dk[:] = 0
    if settings.inference.sampler == "irp":
        _seat_from_prior(state, data, settings, rng)
    else:
        # 1 - v is a uniform number to the power 1 / gamma; its logit is log v - log(1 - v).
        log_rest = np.log(rng.random(len(state.sticks))) / state.gamma
        state.sticks[:] = np.log(-np.expm1(log_rest)) - log_rest
        state.log_pi_0 = maximum.log_weights(state.sticks)
        prior = np.maximum(state.alpha_group * np.exp(state.log_pi_0), maximum.SMALLEST)
        draw_group_weights(np.zeros(state.log_pi.shape, np.int32), prior, state.log_pi, rng)
        if len(state.share):
            share = rng.exponential(size=len(state.share))
            owner = np.repeat(np.arange(data.n_docs), np.diff(data.parents.ptr))
            state.share = share / np.bincount(owner, share, minlength=data.n_docs)[owner]
        bases = base_rows(data.parents, weights_of(state, data, settings.model))
        _draw_topics(data.cells.cuts, state.alpha_doc * bases, state.z, state.n_dk, rng)
    state.n_k[:] = state.n_dk.sum(axis=0)
    _draw_words(state.z, state.eta, data.cells.word, state.n_wk, rng)


def _seat_from_prior(state: State, data: Data, settings: Any, rng: np.random.Generator) -> None:
    state.table_option = np.full_like(state.z, -1)
    state.option_group = state.option_topic = np.empty(0, dtype=np.int32)
    seating = irp.unpack(state, data)
    urn = irp._urn(state, data, settings.model)
    cuts = data.cells.cuts
    _seat(cuts, state.alpha_doc, state.z, state.n_dk, *seating.seats, seating.options, urn, rng)
    irp.pack(state, seating)


def measure(state: State, data: Data, settings: Any) -> list[float]:
    """Return the statistics, in the order of their names."""
    weights = weights_of(state, data, settings.model)
    values = np.array([state.alpha_doc, state.alpha_group, state.gamma, state.eta * N_WORDS])
    word, z = data.cells.word, state.z
    return [
        *values,
        *np.log(values),
        float(weights.group[0].max()),
        float(weights.group[0] @ weights.group[1]),
        float(base_rows(data.parents, weights)[0].max()),
        float(weights.corpus.max()),
        float(state.share[0] ** 2) if len(state.share) else 0.0,
        float(word[0] == word[1]),
        float(word[0] == word[3]),
        float(z[0] == z[1]),
        float(z[0] == z[7]),
        float((state.n_k > 0).sum()),
    ]


@numba.njit
def _draw_topics(
    cuts: NDArray[np.int64],
    prior: NDArray[np.float64],
    z: NDArray[np.int32],
    n_dk: NDArray[np.int32],
    rng: Any,
) -> None:
    for doc in range(len(cuts)):
        for token in range(cuts[doc, 0], cuts[doc, -1]):
            z[token] = _draw(n_dk[doc] + prior[doc], rng)
            n_dk[doc, z[token]] += 1


@numba.njit
def _seat(
    cuts: Any, alpha: float, z: Any, n_dk: Any, seat: Any, table_option: Any, options: Any,
    urn: Any, rng: Any,
) -> None:  # fmt: skip
    """Seat tokens one after another as the urns say, words unseen."""
    n_topics = n_dk.shape[1]
    served, row = np.empty(n_topics), np.empty(n_topics)
    for doc in range(len(cuts)):
        start, stop = cuts[doc, 0], cuts[doc, -1]
        n_seated = np.zeros(stop - start + 1)
        n_tables = 0
        for token in range(start, stop):
            weights = n_seated[: n_tables + 1].copy()
            weights[n_tables] = alpha
            table = _draw(weights, rng)
            if table == n_tables:
                new_table_row(doc, options, urn, served, row)
                topic = _draw(row, rng)
                slot = seat_table(doc, topic, served[topic], options, urn, rng)
                table_option[start + table] = slot
                n_tables += 1
            n_seated[table] += 1
            seat[token] = table
            z[token] = options.topic[table_option[start + table]]
            n_dk[doc, z[token]] += 1


@numba.njit
def _draw_words(
    z: NDArray[np.int32], eta: float, words: NDArray[np.int32], n_wk: NDArray[np.int32], rng: Any
) -> None:
    n_wk[:] = 0
    for token in range(len(z)):
        words[token] = _draw(n_wk[:, z[token]] + eta, rng)
        n_wk[words[token], z[token]] += 1


@numba.njit
def _draw(weights: NDArray[np.float64], rng: Any) -> int:
    target = rng.random() * weights.sum()
    chosen = 0
    while target >= weights[chosen] and chosen < len(weights) - 1:
        target -= weights[chosen]
        chosen += 1
    return chosen
