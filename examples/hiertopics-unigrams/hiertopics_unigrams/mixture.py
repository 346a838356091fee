"""Mixture of unigrams: each document has one topic. MAP estimation by EM.

Generative story: shares ~ Dirichlet(1 + alpha), phi_k ~ Dirichlet(1 + eta); for each document a
topic k ~ shares, and each of its words ~ phi_k. Source: Nigam, McCallum, Thrun and Mitchell (2000),
"Text classification from labeled and unlabeled documents using EM", section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, logsumexp

from hiertopics.base.arrays import F64
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.contract.model import (
    Backend,
    Context,
    Posterior,
    Settings as AnySettings,
    Sizes,
    Summary,
    always,
)
from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.corpus.data.tree import NODE, ROOT, Tree
from hiertopics.settings.config import InferenceConfig, Iterations


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of ``model``."""

    n_topics: Annotated[int, Meta(ge=1, description="Number of topics.")] = 20
    alpha: Annotated[float, Meta(gt=0, description="Pseudo-count of documents per topic.")] = 1.0
    eta: Annotated[float, Meta(gt=0, description="Pseudo-count of each word per topic.")] = 0.1


class Inference(InferenceConfig, frozen=True, kw_only=True):
    """Keys of ``inference``."""

    iterations: Iterations = 50


Settings = AnySettings[Model, Inference]


class Data(NamedTuple):
    """The training documents: counts, float64 CSR [n_docs, n_words]."""

    counts: sparse.csr_array


@dataclass
class State:
    """Estimates, rows sum to 1. shares: float64 [n_topics]; phi: float64 [n_topics, n_words]."""

    shares: Annotated[F64, Axes("n_topics", least=POSITIVE)]
    phi: Annotated[F64, Axes("n_topics", "n_words", least=POSITIVE)]


class Info(NamedTuple):
    """Columns of metrics.jsonl: topics with a document of their own, by expected counts."""

    n_used: int


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Return the counts as floats."""
    return Data(sparse.csr_array(corpus.counts, dtype=np.float64))


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return the estimates from documents that are dealt to topics at random."""
    n_topics = settings.model.n_topics
    dealt = context.rng("start").dirichlet(np.ones(n_topics), data.counts.shape[0])
    return _estimated(data, dealt, settings)


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Do an E step and an M step (equations 5 and 6 of the paper)."""
    chances = _responsibilities(state.shares, state.phi, data.counts)
    n_used = int((chances.sum(axis=0) >= 1).sum())
    return _estimated(data, chances, settings), Info(n_used)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the topics as roots; theta of a document is the posterior over its one topic."""
    theta = _responsibilities(state.shares, state.phi, data.counts)
    n_tokens = theta.T @ data.counts.sum(axis=1)
    total = n_tokens.sum()
    tree = Tree(
        phi=state.phi,
        parent=np.full(len(state.shares), ROOT, dtype=np.int32),
        kind=np.full(len(state.shares), NODE, dtype=np.int8),
        weight=n_tokens / total if total else state.shares,
        n_docs=(theta > 0.5).sum(axis=0).astype(np.int64),
        n_tokens=n_tokens,
        extra={"shares": state.shares},
    )
    return Summary(tree, sparse.csr_array(theta))


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return the posterior over the topic of each new document."""
    counts = sparse.csr_array(corpus.counts, dtype=np.float64)
    return Posterior(sparse.csr_array(_responsibilities(tree.extra["shares"], tree.phi, counts)))


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the log posterior density of the estimates, which EM never lowers."""
    model = settings.model
    likelihood = logsumexp(_log_joint(state.shares, state.phi, data.counts), axis=1).sum()
    priors = model.alpha * np.log(state.shares).sum() + model.eta * np.log(state.phi).sum()
    return float(likelihood + priors + _log_norm(state, model))


def simulate(
    settings: Settings, sizes: Sizes, context: Context
) -> tuple[Corpus, Mapping[str, NDArray[Any]]]:
    """Draw a corpus; truth: phi [n_topics, n_words] and the topic of each document."""
    model, rng = settings.model, context.rng("simulate")
    shares = rng.dirichlet(np.full(model.n_topics, 1 + model.alpha))
    phi = rng.dirichlet(np.full(sizes.n_words, 1 + model.eta), model.n_topics)
    topic = rng.choice(model.n_topics, sizes.n_docs, p=shares)
    counts = rng.multinomial(sizes.doc_length, phi[topic]).astype(np.int32)
    truth = {"phi": phi, "topic": topic}
    return Corpus(sparse.csr_array(counts), default_vocab(sizes.n_words)), truth


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of phi, of the responsibilities and of the counts."""
    n_topics = settings.model.n_topics
    return 8 * n_topics * (corpus.n_words + 2 * corpus.n_docs) + 12 * corpus.n_pairs


def _log_joint(shares: F64, phi: F64, counts: sparse.csr_array) -> F64:
    """Return log p(topic, words) of each document, float64 [n_docs, n_topics]."""
    joint: F64 = counts @ np.log(phi.T) + np.log(shares)
    return joint


def _responsibilities(shares: F64, phi: F64, counts: sparse.csr_array) -> F64:
    """Return p(topic | words) of each document, float64 [n_docs, n_topics]; rows sum to 1."""
    joint = _log_joint(shares, phi, counts)
    chances: F64 = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)


def _estimated(data: Data, chances: F64, settings: Settings) -> State:
    """Return the modes of the posteriors, given the topics of documents as chances."""
    shares = chances.sum(axis=0) + settings.model.alpha
    phi = (data.counts.T @ chances).T + settings.model.eta
    return State(shares / shares.sum(), np.ascontiguousarray(phi / phi.sum(axis=1, keepdims=True)))


def _log_norm(state: State, model: Model) -> float:
    n_topics, n_words = state.phi.shape
    of_phi = gammaln(n_words * (1 + model.eta)) - n_words * gammaln(1 + model.eta)
    of_shares = gammaln(n_topics * (1 + model.alpha)) - n_topics * gammaln(1 + model.alpha)
    return float(n_topics * of_phi + of_shares)


backend: Backend[Corpus, Data, State, Settings] = Backend(
    Model=Model,
    Inference=Inference,
    State=State,
    Info=Info,
    objective_name="log posterior density",
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=infer,
    objective=objective,
    simulate=simulate,
    memory=memory,
    monotone=always,
)
