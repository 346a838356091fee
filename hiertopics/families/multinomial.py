"""multinomial: one distribution over words for all documents, the simplest baseline.

p(w) = (n_w + smoothing) / (N + V smoothing), the mean of the posterior under Dir(smoothing, ...,
smoothing); with a smoothing of 1 Laplace's rule, as in R. Adams, Z. Ghahramani, M. Jordan, NIPS
2010 (theory/tssb 6). A tree of one node; the only iteration has nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

from hiertopics.base.arrays import I64
from hiertopics.base.axes import Axes
from hiertopics.contract.model import (
    Backend,
    Components,
    Context,
    Posterior,
    Settings as SettingsOf,
    Sizes,
    Summary,
)
from hiertopics.corpus.data import NODE, ROOT, Corpus, Tree, default_vocab
from hiertopics.settings.config import UNOFFERED, IdleShards, IdleTolerance, InferenceConfig


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The prior."""

    smoothing: Annotated[
        float, Meta(gt=0, description="Pseudo-count of each word; 1: Laplace's rule.")
    ] = 1.0


class Inference(InferenceConfig, frozen=True, kw_only=True):
    """The schedule: one iteration is enough."""

    iterations: Annotated[
        int,
        Meta(
            ge=0,
            description="Total number of iterations. One iteration is enough.",
            extra_json_schema=UNOFFERED,
        ),
    ] = 1
    tolerance: IdleTolerance = 0.0
    shards: IdleShards = 1


Settings = SettingsOf[Model, Inference]


@dataclass
class State:
    """n_w: int64 [n_words], training tokens of each word."""

    n_w: Annotated[I64, Axes("n_words", least=0)]


class Info(NamedTuple):
    """Columns of metrics.jsonl: how many words have a token."""

    n_words: int


class Data(NamedTuple):
    """The counts of words: n_w int64 [n_words]."""

    n_docs: int
    n_w: I64


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Count the words."""
    return Data(corpus.n_docs, np.asarray(corpus.counts.sum(axis=0, dtype=np.int64)).ravel())


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return the counts."""
    return State(data.n_w.copy())


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Do nothing."""
    return state, Info(int((state.n_w > 0).sum()))


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the one node; every document sits there."""
    n_tokens = float(state.n_w.sum())
    chances = state.n_w + settings.model.smoothing
    tree = Tree(
        phi=(chances / chances.sum())[None, :],
        parent=np.array([ROOT], dtype=np.int32),
        kind=np.array([NODE], dtype=np.int8),
        weight=np.ones(1),
        n_docs=np.array([data.n_docs], dtype=np.int64),
        n_tokens=np.array([n_tokens]),
    )
    return Summary(tree, _at_the_node(data.n_docs))


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return how a saved state disagrees with the corpus; see ``Backend``."""
    return None if np.array_equal(state.n_w, data.n_w) else "n_w does not count the tokens"


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return the posterior: every document sits at the one node."""
    return Posterior(_at_the_node(corpus.n_docs))


def predictive(
    tree: Tree, n_samples: int, settings: Settings, rng: np.random.Generator
) -> Iterator[Components]:
    """Yield the one node, which stands for every document that could be drawn."""
    yield Components(np.array([float(n_samples)]), np.ones((1, 1)))


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the log chance of all training words in their order, their distribution unknown."""
    smoothing = settings.model.smoothing
    mass = smoothing * len(state.n_w)
    by_word = (gammaln(state.n_w + smoothing) - gammaln(smoothing)).sum()
    return float(by_word + gammaln(mass) - gammaln(mass + state.n_w.sum()))


def simulate(
    settings: Settings, sizes: Sizes, context: Context
) -> tuple[Corpus, dict[str, NDArray[Any]]]:
    """Draw a distribution from its prior and a corpus from it; truth: phi [1, n_words]."""
    rng = context.rng("simulate")
    phi = rng.dirichlet(np.full(sizes.n_words, settings.model.smoothing))
    counts = rng.multinomial(sizes.doc_length, phi, sizes.n_docs).astype(np.int32)
    return Corpus(sparse.csr_array(counts), default_vocab(sizes.n_words)), {"phi": phi[None, :]}


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of the counts and of the distribution."""
    return 16 * corpus.n_words


def _at_the_node(n_docs: int) -> sparse.csr_array:
    return sparse.csr_array(np.ones((n_docs, 1)))


backend: Backend[Corpus, Data, State, Settings] = Backend(
    Model=Model,
    Inference=Inference,
    State=State,
    Info=Info,
    objective_name="log marginal likelihood",
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=infer,
    objective=objective,
    simulate=simulate,
    memory=memory,
    from_counts=True,
    predictive=predictive,
    flaw=flaw,
)
