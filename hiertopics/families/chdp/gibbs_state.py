"""Shared draws of both Gibbs samplers of the cooperative HDP, their reports and backends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.contract import Backend, Chains, Context, Migration, Sharded, Summary
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.chdp import summary as common
from hiertopics.families.chdp.base_kernels import Weights, base_rows
from hiertopics.families.chdp.config import (
    ChdpGibbsInference as Inference,
    GibbsSettings as Settings,
    Model,
)
from hiertopics.families.chdp.gibbs_kernels import log_weights
from hiertopics.families.chdp.layout import Data, Parents, lay_out, parent_tags
from hiertopics.families.chdp.simulate import draw_hyperparameters, simulate
from hiertopics.families.chdp.summary import infer
from hiertopics.families.flat.summary import notes_on_shards, topic_counts
from hiertopics.families.flat.token_kernels import count_tokens
from hiertopics.families.flat.tokens import in_chains
from hiertopics.numeric.mixtures import log_rising

SMALLEST = 1e-300


class DocumentState(NamedTuple):
    """Per-document state: topics of tokens, their counts, and learned mixing weights.

    z: int32 [n_tokens]. n_dk: int32 [n_docs, T]. share: float64 [n_links] where mixing weights are
    learned, else [0].
    """

    z: I32
    n_dk: I32
    share: F64


@dataclass(kw_only=True)
class ChdpDraw(ABC):
    """One draw. Groups are those with a training document; T is the truncation.

    n_wk int32 [n_words, T], n_k int64 [T]: counts. log_pi_0: float64 [T]. log_pi: float64
    [n_groups, T]. n_tables: int64 [T]. n_group_tables: int32 [n_groups, T], tables split over
    parents; 0 where a sampler splits none.
    """

    n_wk: Annotated[I32, Axes("n_words", "truncation", least=0)]
    n_k: Annotated[I64, Axes("truncation", least=0)]
    log_pi_0: Annotated[F64, Axes("truncation", finite=False)]
    log_pi: Annotated[F64, Axes("n_groups", "truncation", finite=False)]
    n_tables: Annotated[I64, Axes("truncation", least=0)]
    n_group_tables: Annotated[I32, Axes("n_groups", "truncation", least=0)]
    alpha_doc: Annotated[float, Axes(least=POSITIVE)]
    alpha_group: Annotated[float, Axes(least=POSITIVE)]
    gamma: Annotated[float, Axes(least=POSITIVE)]
    eta: Annotated[float, Axes(least=POSITIVE)]

    @property
    @abstractmethod
    def documents(self) -> DocumentState:
        """The per-document state of all documents."""

    @abstractmethod
    def log_chances(self, data: Data, weights: Weights) -> float:
        """Return ``log_chances_of`` all documents."""


DrawT = TypeVar("DrawT", bound=ChdpDraw)


class Info(NamedTuple):
    """Columns of metrics.jsonl; the topic counts are explained in ``TopicCounts``."""

    n_topics: int
    n_topics_tables: int
    n_topics_99: int
    alpha_doc: float
    alpha_group: float
    gamma: float
    eta: float
    moved: int


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in tokens, its documents linked to their parents."""
    return lay_out(
        corpus, settings.model.parents, settings.inference.shards, np.float64, tokens=True
    )


def even_sticks(n_topics: int) -> F64:
    """Return the logits of sticks that give topics the same weight, float64 [n_topics - 1]."""
    return np.asarray(-np.log(np.arange(n_topics - 1, 0, -1.0)))


def begin(
    data: Data, model: Model, rng: np.random.Generator
) -> tuple[DocumentState, dict[str, Any]]:
    """Return uniformly random topics, even weights and the start values of the config.

    The second are the fields of a ``ChdpDraw``.
    """
    n_topics, n_groups = model.truncation, data.parents.n_groups
    z = rng.integers(n_topics, size=len(data.cells.word), dtype=np.int32)
    n_dk = np.zeros((data.n_docs, n_topics), dtype=np.int32)
    n_wk = np.zeros((data.n_words, n_topics), dtype=np.int32)
    count_tokens(data.cells, z, n_dk, n_wk)
    log_pi_0 = log_weights(even_sticks(n_topics))
    share = data.parents.uniform() if model.weights == "learned" else np.empty(0)
    return DocumentState(z, n_dk, share), {
        "n_wk": n_wk,
        "n_k": n_dk.sum(axis=0, dtype=np.int64),
        "log_pi_0": log_pi_0,
        "log_pi": np.tile(log_pi_0, (n_groups, 1)),
        "n_tables": np.zeros(n_topics, dtype=np.int64),
        "n_group_tables": np.zeros((n_groups, n_topics), dtype=np.int32),
        "alpha_doc": model.alpha_doc,
        "alpha_group": model.alpha_group,
        "gamma": model.gamma,
        "eta": model.eta,
    }


def weights_of(draw: ChdpDraw, data: Data, model: Model) -> Weights:
    """Return the topic weights of groups and corpus as they are drawn, and the shares of links."""
    return group_weights(draw, model).with_shares(data.parents, draw.documents.share)


def group_weights(draw: ChdpDraw, model: Model) -> Weights:
    """Return the topic weights of groups and corpus as they are drawn; no shares."""
    return Weights(np.exp(draw.log_pi), np.exp(draw.log_pi_0), np.empty(0), model.maximization)


def info_of(draw: ChdpDraw, moved: int) -> Info:
    """Return the columns of metrics.jsonl; moved: tokens that changed their topic."""
    n_topics, n_topics_tables, n_topics_99, _ = topic_counts(draw.n_k, draw.n_tables)
    concentrations = (draw.alpha_doc, draw.alpha_group, draw.gamma, draw.eta)
    return Info(n_topics, n_topics_tables, n_topics_99, *concentrations, moved)


def summarise(state: ChdpDraw, data: Data, settings: Settings, context: Context) -> Summary:
    """Return this draw's live topics as roots, theta of the documents, and the groups' weights.

    Under superposition the weights are their mean given the tables of this draw.
    """
    weights = weights_of(state, data, settings.model)
    if not settings.model.maximization:
        weights = weights._replace(group=_mean_of_groups(state))
    counts = (state.documents.n_dk, state.n_wk, state.n_k)
    summary = common.summarise(
        common.ChdpSummaryInput(*counts, weights, state.alpha_doc, state.eta), data
    )
    return summary.noting(*notes_on_shards(settings.inference.shards))


def objective(state: ChdpDraw, data: Data, settings: Settings, context: Context) -> float:
    """Return the log probability of words and topics given the groups' weights."""
    log_joint = state.log_chances(data, group_weights(state, settings.model))
    log_joint -= float(log_rising(state.alpha_doc, data.doc_lengths).sum())
    log_joint += float(log_rising(state.eta, state.n_wk[state.n_wk > 0]).sum())
    return log_joint - float(log_rising(state.eta * data.n_words, state.n_k).sum())


def log_chances_of(
    documents: DocumentState, parents: Parents, weights: Weights, alpha_doc: float
) -> float:
    """Return the topics' part of the log joint of documents, without the part of lengths."""
    n_dk = documents.n_dk
    base = base_rows(parents, weights.with_shares(parents, documents.share))
    prior = np.maximum(alpha_doc * base, SMALLEST)
    used = n_dk > 0
    return float(log_rising(prior[used], n_dk[used]).sum())


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of tokens, counts, and tables and weights of groups."""
    n_topics = settings.model.truncation
    tags = parent_tags(corpus, settings.model.parents)
    n_groups = 0 if tags is None else len(tags.names)
    counts = 8 * corpus.n_docs + 4 * corpus.n_words + 20 * n_groups
    return 16 * corpus.n_tokens + n_topics * (counts + 24)


def _mean_of_groups(state: ChdpDraw) -> F64:
    """Return E[pi_a] given the tables of each group [n_groups, T]."""
    weights = state.n_group_tables + state.alpha_group * np.exp(state.log_pi_0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def sampler(
    kind: type[DrawT],
    init: Callable[[Data, Settings, Context], DrawT],
    step: Callable[[DrawT, Data, Settings, Context], tuple[DrawT, Info]],
    *,
    migrate_state: Migration,
    flaw: Callable[[DrawT, Data, Settings], str | None],
    pieces: Sharded[Data] | None = None,
    summarise: Callable[[DrawT, Data, Settings, Context], Summary] = summarise,
) -> tuple[Backend[Corpus, Data, DrawT, Settings], Backend[Corpus, Data, Chains[DrawT], Settings]]:
    """Return the sampler that makes and moves such draws, for one chain and for several."""
    one = Backend(
        Model=Model,
        Inference=Inference,
        State=kind,
        Info=Info,
        objective_name="log probability of words and topics given the groups' weights",
        prepare=prepare,
        init=init,
        step=step,
        summarise=summarise,
        infer=infer,
        extra=common.EXTRA,
        objective=objective,
        simulate=simulate,
        memory=memory,
        from_counts=True,
        draw_hyperparameters=draw_hyperparameters,
        migrate_state=migrate_state,
        pieces=pieces,
        flaw=flaw,
    )
    return one, in_chains(one)
