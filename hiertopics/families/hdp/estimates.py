"""What is told of the estimates of every variational HDP method."""

from __future__ import annotations

from typing import NamedTuple

from hiertopics.families.flat import kernels
from hiertopics.families.flat.estimates import State as State
from hiertopics.families.flat.estimates import start as start
from hiertopics.families.flat.layout import Data
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
    return common.summarise(_fitted(state))


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the mean log predictive probability of a training token (no bound: it may fall)."""
    fitted = _fitted(state)
    dtype = fitted.n_dk.dtype
    theta = document_weights(fitted.n_dk, fitted.doc_prior).astype(dtype)
    phi = common.word_probabilities(fitted).astype(dtype)

    def of_shard(shard: int) -> float:
        return kernels.block_log_likelihood(data.cells, shard, theta, phi)

    parts = context.map(of_shard, range(data.cells.n_shards))
    return float(sum(parts) / max(int(data.doc_lengths.sum()), 1))


def _fitted(state: State) -> common.Fitted:
    return common.Fitted(
        state.n_dk, state.n_wk, state.n_k, state.alpha * state.pi, state.word_mass * state.tau
    )
