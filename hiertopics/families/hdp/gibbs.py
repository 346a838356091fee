"""hdp-gibbs: collapsed Gibbs sampling of the truncated HDP topic model (direct assignment).

Topic weights come from truncated sticks; document weights and topics are integrated out. Each
sweep redraws every token's topic, then tables, sticks and concentrations, all exactly. What
``inference.collapse: partial`` does instead stands in ``partial``.

Y. W. Teh, M. Jordan, M. Beal, D. Blei: Hierarchical Dirichlet processes, JASA 2006; truncated as
in I. Sato, K. Kurihara, H. Nakagawa, KDD 2012, section 3 (theory/hdp 6).

    paper              here
    alpha0, gamma0     alpha, gamma
    beta0 tau_v        word_mass * tau, word_mass = eta V
    m_dk, t_kv         tables per document and topic, per topic and word
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.contract import (
    Arrays,
    Backend,
    Chains,
    Context,
    Each,
    Pieces,
    Settings as SettingsOf,
    Summary,
    joined,
)
from hiertopics.corpus.data import Corpus, Seeds, seeds_in
from hiertopics.families.flat import config
from hiertopics.families.flat.bursts import (
    ASIDE,
    FORMER_PROCESS,
    PROCESS,
    START,
    Bursts,
    BurstStart,
    DrawnProcess,
    SampledAside,
)
from hiertopics.families.flat.concentrations import (
    CONCENTRATION_PRIOR,
    draw_by_sticks,
    draw_concentration,
)
from hiertopics.families.flat.config import Hold, HyperStart, ReorderSticks, Sweep, Truncation
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Data, Piece, dealt, lay_out, sharded
from hiertopics.families.flat.prediction import EXTRA, infer as infer
from hiertopics.families.flat.sticks import log_remainders, redraw_order, weights_from_fractions
from hiertopics.families.flat.summary import notes_on_shards, summary_bytes, topic_counts
from hiertopics.families.flat.token_kernels import count_tokens
from hiertopics.families.flat.tokens import (
    PieceTopics,
    TokenSweepInput,
    Visit,
    in_chains,
    miscounted,
    renumber,
    sweep,
    sweep_block,
)
from hiertopics.families.flat.variational import prior_of_blocks
from hiertopics.families.hdp import gibbs_kernels as kernels, summary as common
from hiertopics.families.hdp.simulate import (
    draw_hyperparameters as draw_hyperparameters,
    simulate as simulate,
)
from hiertopics.numeric.mixtures import log_rising
from hiertopics.numeric.priors import GammaPrior
from hiertopics.settings.config import UNOFFERED, Iterations, SamplerConfig
from hiertopics.settings.former import Former

SMALLEST_REST = 1e-300


class Model(config.Model, frozen=True, kw_only=True):
    """Start values of learned parameters, the number of topics, and bursts."""

    truncation: Truncation = 1000
    bursts: Bursts = "none"
    burst_process: DrawnProcess = PROCESS


class Inference(SamplerConfig, frozen=True, kw_only=True):
    """The schedule."""

    former: ClassVar[Former] = {"inference.start": {"uniform": "random"}, **FORMER_PROCESS}

    iterations: Iterations = 500
    hyper_start: HyperStart = 15
    hold: Hold = ()
    sweep: Sweep = "sparse"
    reorder_sticks: ReorderSticks = True
    collapse: Annotated[
        Literal["full", "partial"],
        Meta(
            description="full: topics are integrated out; partial: topics are drawn at each "
            "iteration. With partial the cost of a token grows with the topics of its document, "
            "not with all topics, and shards do not change the result.",
            extra_json_schema=UNOFFERED,
        ),
    ] = "full"
    burst_start: BurstStart = START
    burst_aside: SampledAside = ASIDE
    start: Annotated[
        Literal["variational", "random"],
        Meta(
            description="First topics of tokens of hdp-gibbs:partial. variational: from a short "
            "run of hdp-cvb0, with its concentrations (hyper_start then has no effect); random: "
            "at random, as hdp-gibbs always starts."
        ),
    ] = "variational"


Settings = SettingsOf[Model, Inference]


class Local(NamedTuple):
    """Per-document state of a piece: z int32 [n_tokens], n_dk int32 [n_docs, T]."""

    z: Annotated[I32, Axes("n_tokens", below="truncation")]
    n_dk: Annotated[I32, Axes("n_docs", "truncation", least=0)]


@dataclass(kw_only=True)
class Draw:
    """One draw, of full or partial collapse.

    local: topics of tokens, in pieces. n_wk int32 [n_words, T], n_k int64 [T]: counts, of which
    the first has seed words, too. n_tables:
    int64 [T]. log_rest: float64 [T - 1], log(1 - v) of the sticks. pi: float64 [T]. tau: float64
    [n_words].
    """

    local: Pieces[Any, Any]
    n_wk: Annotated[I32, Axes("n_words", "truncation", least=0)]
    n_k: Annotated[I64, Axes("truncation", least=0)]
    n_tables: Annotated[I64, Axes("truncation", least=0)]
    log_rest: Annotated[F64, Axes("truncation-1", finite=False)]
    pi: Annotated[F64, Axes("truncation", least=0)]
    tau: Annotated[F64, Axes("n_words", least=0)]
    alpha: Annotated[float, Axes(least=POSITIVE)]
    gamma: Annotated[float, Axes(least=POSITIVE)]
    word_mass: Annotated[float, Axes(least=POSITIVE)]

    @property
    def z(self) -> I32:
        """The topics of all tokens [n_tokens]; of a single piece not a copy."""
        return joined(self.local, "z")


@dataclass(kw_only=True)
class State(PieceTopics, Draw):
    """A draw whose pieces have counts of documents, too.

    seeded: int64, the topic of each name of seed words.
    """

    seeded: Annotated[I64, Axes("n_seeded", below="truncation")]


class Info(NamedTuple):
    """Columns of metrics.jsonl; the topic counts are explained in ``TopicCounts``.

    moved: tokens whose topic changed.
    """

    n_topics: int
    n_topics_tables: int
    n_topics_99: int
    n_topics_entropy: float
    alpha: float
    gamma: float
    eta: float
    moved: int


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in tokens."""
    laid_out = lay_out(corpus, settings.inference.shards, np.float64, tokens=True)
    return laid_out._replace(seeds=seeds_in(settings.model, corpus.vocab))


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return uniformly random topics, those of names for seed words, and the config's values."""
    n_topics = settings.model.truncation
    z = begin_topics(data.cells.word, n_topics, data.seeds, context.rng("init"))
    n_dk = np.zeros((data.n_docs, n_topics), dtype=np.int32)
    n_wk = np.zeros((data.n_words, n_topics), dtype=np.int32)
    count_tokens(data.cells, z, n_dk, n_wk)
    return begun(dealt(data, context, Local, z=z, n_dk=n_dk), n_wk, data.seeds, settings.model)


def begin_topics(word: I32, n_topics: int, seeds: Seeds, rng: np.random.Generator) -> I32:
    """Return random topics of tokens whose words are these, those of names for seed words.

    int32 [n_tokens]; word: int32 [n_tokens].
    """
    z = rng.integers(n_topics, size=len(word), dtype=np.int32)
    for tokens, topics in seeds.homes(word):
        z[tokens] = np.resize(topics, len(tokens))
    return z


def begun(local: Pieces[Any, Any], n_wk: I32, seeds: Seeds, model: Model) -> State:
    """Return a draw of topics of tokens, whose counts are n_wk, and the config's values.

    n_wk: int32 [n_words, n_topics]; seed words are added to it.
    """
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    seeds.add_to(n_wk)
    return State(
        local=local, n_wk=n_wk, n_k=n_k, seeded=seeds.first_topics, **first_values(len(n_wk), model)
    )


def first_values(n_words: int, model: Model) -> dict[str, Any]:
    """Return the fields of a ``Draw`` that no token tells: even sticks and the config's values."""
    fractions = 1.0 / np.arange(model.truncation, 1, -1)
    return {
        "n_tables": np.zeros(model.truncation, dtype=np.int64),
        "log_rest": np.log1p(-fractions),
        "pi": weights_from_fractions(fractions),
        "tau": np.full(n_words, 1.0 / n_words),
        "alpha": model.alpha,
        "gamma": model.gamma,
        "word_mass": model.eta * n_words,
    }


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Redraw all topics; after the hold redraw tables, sticks and concentrations too."""
    moved = redraw(state, data, settings, context)
    counts = topic_counts(state.n_k, state.n_tables)
    eta = state.word_mass / data.n_words
    return state, Info(*counts, state.alpha, state.gamma, eta, moved)


def redraw(
    state: State, data: Data, settings: Settings, context: Context, visit: Visit = sweep_block
) -> int:
    """Do an iteration; return how many tokens moved. visit: the task that sweeps a block."""
    moved = redraw_topics(state, data, settings, context, visit)
    redraw_hyperparameters(state, data, settings, context)
    return moved


def redraw_hyperparameters(state: State, data: Data, settings: Settings, context: Context) -> None:
    """Draw tables, sticks and concentrations given topics, after the hold."""
    if context.iteration > settings.inference.hyper_start:
        reorder, hold = settings.inference.reorder_sticks, settings.inference.hold
        _draw_document_side(state, data, context, reorder=reorder, hold=hold)
        _draw_word_side(state, data, settings, context.rng("words"))


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return this draw's live topics as roots, largest first, and theta of the documents."""
    priors = (state.alpha * state.pi, state.word_mass * state.tau)
    names = data.seeds.by_topic(state.seeded)
    fitted = common.HdpSummaryInput(state.local, state.n_wk, state.n_k, *priors, names=names)
    return common.summarise(fitted, data.n_docs).noting(*notes_on_shards(settings.inference.shards))


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return how a saved draw disagrees with the corpus; see ``Backend``."""
    if len(state.seeded) != len(data.seeds.names):
        return f"seeded has {len(state.seeded)} topics, not {len(data.seeds.names)}"
    return miscounted(state, data.n_words, data.seeds, state.seeded)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the log joint of words, topics and sticks given the concentrations (equation 17).

    Seed words are among the words.
    """
    topic_mass, word_mass = state.alpha * state.pi, state.word_mass * state.tau
    log_joint = 0.0
    for documents in state.local.ask(_log_documents, topic_mass):
        log_joint += documents
    log_joint -= float(log_rising(topic_mass.sum(), data.doc_lengths).sum())
    log_joint += _log_counts(state.n_wk.T, word_mass)
    log_joint -= float(log_rising(word_mass.sum(), _sizes(state, data)).sum())
    return log_joint + log_sticks(state.log_rest, state.gamma)


def _sizes(state: State, data: Data) -> I64:
    """Return the tokens of each topic [T], seed words among them."""
    return state.n_k + data.seeds.totals(len(state.n_k), state.seeded)


def _log_documents(piece: Piece, local: Local, topic_mass: F64) -> float:
    return _log_counts(local.n_dk, topic_mass)


def _log_counts(counts: I32, prior: F64) -> float:
    used = counts > 0
    columns = np.broadcast_to(prior, counts.shape)
    return float(log_rising(columns[used], counts[used]).sum())


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of tokens, counts and the summary."""
    n_topics = settings.model.truncation
    counts = 4 * n_topics * (corpus.n_docs + corpus.n_words)
    return 16 * corpus.n_tokens + counts + summary_bytes(corpus, n_topics)


def redraw_topics(
    state: State,
    data: Data,
    settings: Settings,
    context: Context,
    visit: Visit = sweep_block,
    seating: Callable[..., tuple[Any, ...]] | None = None,
) -> int:
    """Do a sweep; return how many tokens moved. seating: as in ``TokenSweepInput``, by block."""
    dense = settings.inference.sweep == "dense"
    pseudo_counts = PseudoCounts(
        state.alpha * state.pi, state.word_mass * state.tau, state.word_mass
    )
    priors = prior_of_blocks(pseudo_counts, data)
    seeded = data.seeds.totals(len(state.n_k), state.seeded)

    def given(*block: int) -> TokenSweepInput:
        of_tables = () if seating is None else seating(*block)
        rng = context.rng("sweep", *block)
        return TokenSweepInput(state.n_k + seeded, priors(*block), dense, rng, of_tables)

    return sweep(state, data.word_bounds, visit, given)


def _draw_document_side(
    state: State,
    data: Data,
    context: Context,
    *,
    reorder: bool = False,
    hold: Collection[str] = (),
) -> None:
    """Draw tables, sticks, maybe whose they are, alpha and gamma (theory/hdp 6, steps 2 to 5).

    The tables of each piece with random numbers of its own; what follows goes on with the first's.
    """
    topic_mass = state.alpha * state.pi
    keys = [(), *((piece,) for piece in range(1, state.local.n_pieces))]
    messages = [(topic_mass, context.rng("documents", *key)) for key in keys]
    answers = state.local.ask(_tables, Each(messages))
    state.n_tables = np.sum([tables for tables, _ in answers], axis=0)
    rng = answers[0][1]
    n_tables = int(state.n_tables.sum())
    if "alpha" not in hold:
        state.alpha = draw_concentration(
            state.alpha, n_tables, data.doc_lengths, CONCENTRATION_PRIOR, rng
        )
    state.log_rest, state.pi = draw_sticks(state.n_tables, state.gamma, rng)
    gamma = state.gamma if "gamma" in hold else CONCENTRATION_PRIOR
    if reorder:
        _reorder(state, gamma, rng)
    if "gamma" not in hold:
        state.gamma = draw_by_sticks(state.log_rest, CONCENTRATION_PRIOR, rng)


def _reorder(state: State, gamma: GammaPrior | float, rng: np.random.Generator) -> None:
    """Redraw which topic has which stick (theory/hdp 6.1). gamma: as of ``redraw_places``."""
    order, log_rest = redraw_places(state.log_rest, gamma, rng)
    if order is None:
        return
    renumber(state, order)
    state.seeded = np.argsort(order)[state.seeded]
    state.n_tables = state.n_tables[order]
    state.pi = state.pi[order]
    state.log_rest = log_rest


def draw_sticks(n_tables: I64, gamma: float, rng: np.random.Generator) -> tuple[F64, F64]:
    """Draw log(1 - v) [T - 1] and pi [T] given the tables of topics along the sticks [T].

    The remainder 1 - v is drawn, not v: its logarithm keeps its digits where v is near 1.
    """
    after = n_tables[::-1].cumsum()[::-1] - n_tables
    rest = rng.beta(gamma + after[:-1], 1.0 + n_tables[:-1])
    return np.log(np.maximum(rest, SMALLEST_REST)), weights_from_fractions(1.0 - rest)


def redraw_places(
    log_rest: F64, gamma: GammaPrior | float, rng: np.random.Generator
) -> tuple[I64 | None, F64]:
    """Return the topic at each place along the sticks [T], and the new log(1 - v) [T - 1].

    gamma: its value where it is held, or its prior, over which it is integrated out (theory/hdp
    6.1). None where all stay.
    """
    with np.errstate(divide="ignore"):
        log_pi = np.append(np.log(-np.expm1(log_rest)), 0.0)
    log_pi[1:] += log_rest.cumsum()
    order = redraw_order(log_pi, gamma, rng)
    if (order == np.arange(len(order))).all():
        return None, log_rest
    return order, np.diff(log_remainders(log_pi[order]))


def log_sticks(log_rest: F64, gamma: float) -> float:
    """Return the log density of sticks v, of log(1 - v) [T - 1]."""
    return float(len(log_rest) * math.log(gamma) + (gamma - 1) * log_rest.sum())


def _tables(
    piece: Piece, local: Local, message: tuple[F64, np.random.Generator]
) -> tuple[I64, np.random.Generator]:
    """Draw the tables of a piece [T]; answer with the generator as well."""
    topic_mass, rng = message
    n_docs, n_topics = local.n_dk.shape
    by_doc, by_topic = np.zeros(n_docs, dtype=np.int64), np.zeros(n_topics, dtype=np.int64)
    kernels.draw_tables(local.n_dk, np.ones(n_docs), topic_mass, by_doc, by_topic, rng)
    return by_topic, rng


def _draw_word_side(state: State, data: Data, settings: Settings, rng: np.random.Generator) -> None:
    """Draw tables of words, the word mass and, for AA, the word shape (step 6)."""
    symmetry, learns = settings.model.prior, "eta" not in settings.inference.hold
    if not learns and symmetry != "AA":
        return
    n_words = len(state.tau)
    by_word = np.zeros(n_words, dtype=np.int64)
    by_topic = np.zeros(len(state.pi), dtype=np.int64)
    ones = np.ones(len(state.pi))
    kernels.draw_tables(state.n_wk, state.word_mass * state.tau, ones, by_word, by_topic, rng)
    draw_word_prior(state, by_word, _sizes(state, data), settings, rng)


def draw_word_prior(
    state: Draw, by_word: I64, sizes: I64, settings: Settings, rng: np.random.Generator
) -> None:
    """Draw the word mass and, for AA, the word shape, given the tables of words.

    by_word: int64 [n_words], the tables of each word. sizes: int64 [T], tokens of each topic.
    """
    if "eta" not in settings.inference.hold:
        state.word_mass = draw_concentration(
            state.word_mass, int(by_word.sum()), sizes, CONCENTRATION_PRIOR, rng
        )
    if settings.model.prior == "AA":
        state.tau = rng.dirichlet(1.0 + by_word)


def migrate_state(arrays: Arrays, settings: Settings) -> Arrays:
    """Return the arrays of a draw; those from before there were seed words had none."""
    return {"seeded": np.empty(0, np.int64), **arrays}


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
    infer=infer,
    extra=EXTRA,
    objective=objective,
    simulate=simulate,
    memory=memory,
    from_counts=True,
    pieces=sharded(Local),
    draw_hyperparameters=draw_hyperparameters,
    migrate_state=migrate_state,
    flaw=flaw,
)
backend: Backend[Corpus, Data, Chains[State], Settings] = in_chains(one)
