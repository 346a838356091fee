"""What is told of the estimates of every variational HDP method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat import kernels, variational
from hiertopics.families.flat.estimates import State as State
from hiertopics.families.flat.estimates import start as start
from hiertopics.families.flat.layout import Data, Piece
from hiertopics.families.flat.summary import document_weights, topic_counts
from hiertopics.families.hdp import summary as common
from hiertopics.model import Context, Settings, Summary


class Info(NamedTuple):
    """Columns of metrics.jsonl; the topic counts are explained in ``TopicCounts``."""

    n_topics: int
    n_topics_tables: int
    n_topics_99: int
    n_topics_entropy: float
    alpha: float
    gamma: float
    eta: float
    drift: float


def info_of(state: State, data: Data, drift: float) -> Info:
    """Return the columns of metrics.jsonl."""
    counts = topic_counts(state.n_k, state.n_tables)
    return Info(*counts, state.alpha, state.gamma, state.word_mass / data.n_words, drift)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the live topics as roots, largest first, and theta of the training documents."""
    return common.summarise(
        common.Fitted(
            state.n_dk, state.n_wk, state.n_k, state.alpha * state.pi, state.word_mass * state.tau
        )
    )


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the mean log predictive probability of a training token (no bound: it may fall)."""
    phi = common.word_probabilities(state.n_wk, state.word_mass * state.tau)
    given = (phi.astype(state.n_wk.dtype), state.alpha * state.pi)
    parts = state.local.ask(_log_likelihood, given)
    return float(sum(parts) / max(int(data.doc_lengths.sum()), 1))


def _log_likelihood(
    piece: Piece,
    local: variational.Local,
    given: tuple[NDArray[np.floating], NDArray[np.float64]],
) -> float:
    phi, doc_prior = given
    theta = document_weights(local.n_dk, doc_prior).astype(phi.dtype)
    return float(kernels.block_log_likelihood(piece.cells, 0, theta, phi))
