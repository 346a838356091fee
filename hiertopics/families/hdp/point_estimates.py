"""What the practical methods share (pcvb0, pcvb): sticks and concentrations as point estimates.

Table counts are replaced by the probability that a document, or a word, uses a topic at all,
after which every update has a closed form (spec pcvb0 sections 2 to 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import DTypeLike, NDArray

from hiertopics.families.hdp import hyper, variational
from hiertopics.families.hdp import summary as common
from hiertopics.families.hdp.config import VariationalInference
from hiertopics.families.hdp.kernels import Prior
from hiertopics.families.hdp.layout import Data
from hiertopics.families.hdp.sticks import best_gamma, fit_sticks, mean_weights
from hiertopics.families.hdp.variational import Info
from hiertopics.model import Settings, Summary


class Inference(VariationalInference, frozen=True, kw_only=True):
    """The schedule."""

    hyper_steps: Annotated[
        int, Meta(ge=1, description="Steps of alpha and eta per iteration once they are learned.")
    ] = 1


@dataclass
class PointEstimates:
    """What is estimated besides q(z).

    n_tables: float64 [T], expected number of documents that use each topic. pi: float64 [T].
    tau: float64 [n_words]. word_mass: eta times the vocabulary's size.
    """

    n_tables: NDArray[np.float64]
    pi: NDArray[np.float64]
    tau: NDArray[np.float64]
    alpha: float
    gamma: float
    word_mass: float


@dataclass
class State(PointEstimates, variational.Responsibilities):
    """The responsibilities and the point estimates."""


class Stats(NamedTuple):
    """What the global step needs of the local one; closed under addition of shards.

    doc_tables [T]: sum over documents of E[I(n_dk >= 1)]. word_tables [n_words]: sum over
    topics of E[I(n_kw >= 1)].
    """

    doc_tables: NDArray[np.float64]
    word_tables: NDArray[np.float64]


def start(data: Data, settings: Settings) -> dict[str, Any]:
    """Return the fields of ``PointEstimates`` at the config's start values (spec 3.5)."""
    model = settings.model
    return {
        "n_tables": np.zeros(model.truncation),
        "pi": np.full(model.truncation, 1.0 / model.truncation),
        "tau": np.full(data.n_words, 1.0 / data.n_words),
        "alpha": model.alpha,
        "gamma": model.gamma,
        "word_mass": model.eta * data.n_words,
    }


def gather(seen_dk: NDArray[np.floating], seen_wk: NDArray[np.floating]) -> Stats:
    """Return what the global step needs of the indicators that a sweep noted (26, 32)."""
    return Stats(
        seen_dk.sum(axis=0, dtype=np.float64),
        seen_wk.sum(axis=1).astype(np.float64),
    )


def global_step(state: State, stats: Stats, data: Data, settings: Settings) -> None:
    """Refit the sticks (24-28), then alpha (29), gamma (33), eta (30) and tau (31)."""
    state.n_tables = stats.doc_tables
    sticks = fit_sticks(state.n_tables, state.gamma, reorder=settings.inference.reorder_sticks)
    state.pi = mean_weights(sticks)
    for _ in range(settings.inference.hyper_steps):
        state.alpha = hyper.step_concentration(
            state.alpha, state.n_tables.sum(), data.lengths, data.n_with
        )
        state.word_mass = hyper.step_concentration(
            state.word_mass, stats.word_tables.sum(), state.n_k
        )
    if state.n_topics > 1:
        state.gamma = best_gamma(sticks)
    if settings.model.prior == "AA":
        state.tau = hyper.word_shape(stats.word_tables)


def prior_of(state: State, dtype: DTypeLike) -> Prior:
    """Return the pseudo-counts of q(z)'s update."""
    return Prior(
        (state.alpha * state.pi).astype(dtype),
        (state.word_mass * state.tau).astype(dtype),
        state.word_mass,
    )


def info_of(state: State, data: Data, drift: float) -> Info:
    """Return the columns of metrics.jsonl."""
    counts = common.topic_counts(state.n_k, state.n_tables)
    return Info(*counts, state.alpha, state.gamma, state.word_mass / data.n_words, drift)


def summarise(state: State, data: Data, settings: Settings) -> Summary:
    """Return the live topics as roots, largest first, and theta of the training documents."""
    return common.summarise(_fitted(state))


def objective(state: State, data: Data, settings: Settings) -> float:
    """Return the mean log predictive probability of a training token (no bound: it may fall)."""
    return variational.log_likelihood_per_token(data, _fitted(state))


def _fitted(state: State) -> common.Fitted:
    doc_prior, word_prior, _ = prior_of(state, np.float64)
    return common.Fitted(state.n_dk, state.n_wk, state.n_k, doc_prior, word_prior)
