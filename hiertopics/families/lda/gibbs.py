"""lda-gibbs: collapsed Gibbs sampling of latent Dirichlet allocation, a baseline.

A fixed number of topics; document weights and topics are integrated out. A sweep redraws every
token's topic; alpha, one or one for each topic, and eta can be drawn too.

T. Griffiths, M. Steyvers: Finding scientific topics, PNAS 2004 (theory/tssb 6).

    paper              here
    alpha, beta        alpha, eta
    n_i^(d), n_i^(w)   n_dk, n_wk
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.base.stretches import ends_of
from hiertopics.contract import (
    NONE_DRAWN,
    Backend,
    Chains,
    Components,
    Context,
    Hyperparameters,
    Sizes,
    Summary,
    value_of,
)
from hiertopics.corpus.data import Corpus, Tree, default_vocab
from hiertopics.families.flat.drawing import draw_words
from hiertopics.families.flat.prediction import EXTRA, FoldIn, infer
from hiertopics.families.flat.summary import (
    by_size,
    notes_on_idle_shards,
    summary_by_node,
    summary_bytes,
)
from hiertopics.families.flat.tokens import in_chains
from hiertopics.families.lda import gibbs_kernels as kernels, hyperparameters
from hiertopics.families.lda.config import Inference, Model, Settings, start_alpha
from hiertopics.families.lda.gibbs_kernels import LdaPseudoCounts, PaddedTopics, Tokens
from hiertopics.families.lda.hyperparameters import draw_alpha_from_prior, draw_eta_from_prior
from hiertopics.numeric.lanes import padded

BLOCK = 1024
"""Documents that are drawn at once."""


@dataclass
class State:
    """One draw.

    z: int32 [n_tokens]. n_wk int32 [n_words, P], n_k int64 [P]: counts, zero from n_topics to P,
    the next multiple of 16. alpha: float64 [n_topics] where the prior is asymmetric.
    """

    z: Annotated[I32, Axes("n_tokens", below="n_topics")]
    n_wk: Annotated[I32, Axes("n_words", "n_columns", least=0)]
    n_k: Annotated[I64, Axes("n_columns", least=0)]
    alpha: Annotated[float | F64, Axes("n_topics", least=POSITIVE)]
    eta: Annotated[float, Axes(least=POSITIVE)]


class Info(NamedTuple):
    """Columns of metrics.jsonl. n_topics: with a token. alpha: the mean of all topics'. moved:
    tokens whose topic changed.
    """

    n_topics: int
    alpha: float
    eta: float
    moved: int


class Data(NamedTuple):
    """A corpus laid out in tokens. doc_lengths: int64 [n_docs]."""

    tokens: Tokens
    doc_lengths: I64
    n_words: int


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in tokens."""
    counts = corpus.counts
    word = np.repeat(counts.indices, counts.data).astype(np.int32)
    doc_ptr = ends_of(corpus.doc_lengths)
    return Data(Tokens(doc_ptr, word), corpus.doc_lengths, corpus.n_words)


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return uniformly random topics and the priors of the config."""
    model = settings.model
    z = context.rng("init").integers(model.n_topics, size=len(data.tokens.word), dtype=np.int32)
    n_wk = np.zeros((data.n_words, padded(model.n_topics)), dtype=np.int32)
    kernels.count_words(data.tokens.word, z, n_wk)
    alpha: float | F64 = start_alpha(model)
    if model.prior == "asymmetric":
        alpha = np.full(model.n_topics, alpha)
    return State(z, n_wk, n_wk.sum(axis=0, dtype=np.int64), alpha, model.eta)


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw all topics; after the hold draw alpha and eta too, if asked to."""
    inference, n_topics = settings.inference, settings.model.n_topics
    tables = PaddedTopics(state.z, state.n_wk, state.n_k)
    pseudo_counts = LdaPseudoCounts(n_topics, state.alpha, state.eta)
    redraw = kernels.sweep if inference.sweep == "dense" else kernels.sweep_by_lists
    moved = redraw(data.tokens, tables, pseudo_counts, context.rng("sweep"))
    waits = context.iteration <= inference.hyper_start
    if "alpha" not in inference.hold and not waits:
        n_dk = _document_counts(state, data, n_topics)
        rng = context.rng("alpha")
        if isinstance(state.alpha, np.ndarray):
            state.alpha = hyperparameters.draw_alphas(n_dk, state.alpha, rng)
        else:
            state.alpha = hyperparameters.draw_alpha(n_dk, state.alpha, rng)
    if "eta" not in inference.hold and not waits:
        n_kw = state.n_wk[:, :n_topics].T
        state.eta = hyperparameters.draw_eta(n_kw, state.eta, context.rng("eta"))
    mean_alpha = float(np.mean(state.alpha))
    return state, Info(int((state.n_k > 0).sum()), mean_alpha, state.eta, moved)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return this draw's topics with a token as roots, largest first, and theta.

    Topics without a token all have the flat distribution over words, so that one row outside with
    the sum of their priors loses nothing. The tree keeps ``doc_prior`` [n_nodes], the pseudo-count
    alpha of each row in a document.
    """
    n_topics = settings.model.n_topics
    n_dk, n_wk = _document_counts(state, data, n_topics), state.n_wk[:, :n_topics]
    topics = by_size(n_wk.sum(axis=0, dtype=np.int64))
    phi = n_wk[:, topics.live].T + state.eta
    prior = np.broadcast_to(state.alpha, len(topics.n_k))
    doc_prior = prior[topics.live]
    theta = np.asarray(n_dk[:, topics.live] + doc_prior, dtype=np.float64)
    if len(topics.dropped):
        phi = np.vstack([phi, np.ones(len(n_wk))])
        prior_of_empty = prior[topics.dropped].sum()
        theta = np.column_stack([theta, np.full(len(n_dk), prior_of_empty)])
        doc_prior = np.append(doc_prior, prior_of_empty)
    theta /= theta.sum(axis=1, keepdims=True)
    rows = np.asarray(phi / phi.sum(axis=1, keepdims=True), dtype=np.float64)
    summary = summary_by_node(topics, rows, theta, n_dk, {"doc_prior": doc_prior})
    return summary.noting(*notes_on_idle_shards(settings.inference.shards, "tokens"))


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return how a saved draw disagrees with the corpus; see ``Backend``."""
    n_wk = np.zeros((data.n_words, padded(settings.model.n_topics)), dtype=np.int32)
    kernels.count_words(data.tokens.word, state.z, n_wk)
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    if not np.array_equal(n_wk, state.n_wk) or not np.array_equal(n_k, state.n_k):
        return "n_wk and n_k do not count the tokens"
    return None


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the log joint of words and topics given alpha and eta, from the topics alone."""
    n_topics = settings.model.n_topics
    n_dk = _document_counts(state, data, n_topics)
    n_wk = np.zeros((data.n_words, n_topics), dtype=np.int32)
    kernels.count_words(data.tokens.word, state.z, n_wk)
    if isinstance(state.alpha, np.ndarray):
        columns = hyperparameters.tallies_of_columns(n_dk)
        by_doc = hyperparameters.log_evidence_of_columns(columns, state.alpha)
    else:
        by_doc = hyperparameters.log_evidence(hyperparameters.tally(n_dk), state.alpha)
    return by_doc + hyperparameters.log_evidence(hyperparameters.tally(n_wk.T), state.eta)


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of tokens, of both tables of counts and of the summary."""
    n_columns = padded(settings.model.n_topics)
    counts = 4 * n_columns * (corpus.n_docs + corpus.n_words)
    return 8 * corpus.n_tokens + counts + summary_bytes(corpus, n_columns)


def _document_counts(state: State, data: Data, n_topics: int) -> I32:
    """Return n_dk [n_docs, n_topics], which no sweep needs as a whole."""
    n_dk = np.zeros((len(data.doc_lengths), n_topics), dtype=np.int32)
    kernels.count_topics(data.tokens.doc_ptr, state.z, n_dk)
    return n_dk


def predictive(
    tree: Tree, n_samples: int, settings: Settings, rng: np.random.Generator
) -> Iterator[Components]:
    """Yield ``n_samples`` draws of theta ~ Dir(alpha, ..., alpha), each of weight 1.

    A gamma number of a tiny shape may be 0 for every topic; the largest prior then has it all.
    """
    prior = tree.extra["doc_prior"]
    for start in range(0, n_samples, BLOCK):
        theta = rng.standard_gamma(prior, (min(BLOCK, n_samples - start), len(prior)))
        theta[theta.sum(axis=1) == 0, prior.argmax()] = 1.0
        yield Components(np.ones(len(theta)), theta / theta.sum(axis=1, keepdims=True))


def simulate(
    settings: Settings, sizes: Sizes, context: Context, drawn: Hyperparameters = NONE_DRAWN
) -> tuple[Corpus, dict[str, NDArray[Any]]]:
    """Draw a corpus under the config's priors; truth: theta [n_docs, K], phi [K, n_words].

    drawn: alpha, one or one for each topic, and eta where they are not the config's. With
    ``model.bursts`` each document draws its words around its mixture (theory/bursts 1).
    """
    model = settings.model
    rng = context.rng("simulate")
    alpha = np.full(model.n_topics, drawn.get("alpha", start_alpha(model)))
    theta = rng.dirichlet(alpha, sizes.n_docs)
    phi = rng.dirichlet(np.full(sizes.n_words, value_of("eta", model, drawn)), model.n_topics)
    words = draw_words(theta, phi, sizes.doc_length, model, rng, drawn)
    corpus = Corpus(words, default_vocab(sizes.n_words))
    return corpus, {"theta": theta, "phi": phi}


def draw_hyperparameters(settings: Settings, sizes: Sizes, context: Context) -> Hyperparameters:
    """Draw alpha and eta from their priors, each if a fit would draw it."""
    rng = context.rng("hyperparameters")
    drawn = {}
    if "alpha" not in settings.inference.hold:
        drawn["alpha"] = draw_alpha_from_prior(settings.model, rng)
    if "eta" not in settings.inference.hold:
        drawn["eta"] = np.asarray(draw_eta_from_prior(rng))
    return drawn


one: Backend[Corpus, Data, State, Settings] = Backend(
    Model=Model,
    Inference=Inference,
    State=State,
    Info=Info,
    objective_name="log joint probability",
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=partial(infer, how=FoldIn(sweeps=100, from_prior=False)),
    extra=EXTRA,
    objective=objective,
    simulate=simulate,
    memory=memory,
    from_counts=True,
    predictive=predictive,
    draw_hyperparameters=draw_hyperparameters,
    flaw=flaw,
)
backend: Backend[Corpus, Data, Chains[State], Settings] = in_chains(one)
