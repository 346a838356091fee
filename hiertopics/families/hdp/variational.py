"""Collapsed variational Bayes for the HDP topic model: one function makes four backends.

Topics with shares drawn from one stick-breaking weight vector, document weights drawn around
it; topic proportions and topics are integrated out, and each (document, word) pair keeps its
responsibilities q(z). Two choices are apart:

What is estimated besides q(z). ``hdp-pcvb0`` and ``hdp-pcvb`` refit concentrations and sticks as
point estimates, from the probability that a document, or a word, uses a topic at all, so nothing
has to be set (``point_estimates``). ``hdp-cvb0`` and ``hdp-cvb`` put Gamma(1, 1) priors on the
concentrations; auxiliary variables (table counts) make the rest conjugate, so that concentrations,
sticks and word shape have whole posteriors, whose geometric means enter the update of q(z)
(``flat.posteriors``).

How q(z) sees the counts. To order zero by their means (pcvb0: equation 35 of Sato et al., cvb0:
19), or to order two by their variances too (pcvb: 34, cvb: 18; ``second_order``). The second order
moves faster at first and usually ends worse; it is here to be compared.

I. Sato, K. Kurihara, H. Nakagawa: Practical collapsed variational Bayes inference for hierarchical
Dirichlet process, KDD 2012 (theory/hdp 5.1). Y. W. Teh, K. Kurihara, M. Welling: Collapsed
variational inference for HDP, NIPS 2007; its denominators are E[beta0] here, as the derivation
gives (theory/hdp 5.2), and the printed G[beta0] is an option.

    paper                    here
    alpha0, gamma0           alpha, gamma
    beta0 tau_v              eta V tau_v: ``word_mass`` is beta0 = eta V
    E[pi_k]                  pi
    G[.] = exp E[log .]      ``_geo``, of whole posteriors
    q(z), E[n_dk], ..        resp, n_dk, n_wk, n_k
    V[n_dk], V[n_kv], V[n_k] var_dk, var_wk, var_k
    E[I(n_dk >= 1)]          seen_dk;  its sum over documents: n_tables
    s_dk, t_kv               tables per document and topic, per topic and word
    T                        truncation
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from msgspec import Meta
from numpy.typing import DTypeLike

from hiertopics.base.arrays import F64, Floats
from hiertopics.contract import Arrays, Backend, Context, Settings, Summary
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat import kernels, variational
from hiertopics.families.flat.bursts import (
    ASIDE,
    FORMER_PROCESS,
    PROCESS,
    START,
    BurstAside,
    BurstProcess,
    Bursts,
    BurstStart,
)
from hiertopics.families.flat.config import (
    FlatVariationalInference,
    Model,
    ModelSettings,
    PointInference,
    PosteriorInference,
)
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Data, Piece, sharded
from hiertopics.families.flat.prediction import EXTRA, infer
from hiertopics.families.flat.summary import document_weights, merge_extra, topic_counts
from hiertopics.families.flat.variational import (
    ZERO,
    Responsibilities,
    SweepVariant,
    prepare as prepare,
)
from hiertopics.families.hdp import (
    beginnings,
    bursts,
    bursty,
    estimates,
    few_bursty,
    point_estimates,
    posteriors,
    summary as common,
)
from hiertopics.families.hdp.beginnings import Begin, fields_of, with_all, with_few
from hiertopics.families.hdp.few import FEW, are_many
from hiertopics.families.hdp.simulate import simulate
from hiertopics.settings.config import UNOFFERED
from hiertopics.settings.former import Former

CELLS = 1 << 18
"""Entries of theta that are made at a time."""

StateT = TypeVar("StateT", bound=estimates.State)
FittedT = TypeVar("FittedT", contravariant=True)
InferenceT = TypeVar("InferenceT", bound=FlatVariationalInference)


class Estimates(NamedTuple, Generic[FittedT, InferenceT]):
    """Estimates besides q(z), and their schedule.

    start(begun, data, settings): the fields of a state. step(state, data, settings, context,
    order): one iteration; returns the drift undone.
    """

    Inference: type[InferenceT]
    start: Callable[[Responsibilities, Data, ModelSettings], dict[str, Any]]
    step: Callable[[FittedT, Data, Settings[Model, InferenceT], Context, SweepVariant], float]


ResponsibilityStorage = Annotated[
    Literal["auto", "few", "all"],
    Meta(
        description="Storage of responsibilities. few: few entries per pair of document and word, "
        "small ones sampled, in memory that does not grow with the truncation; all: 4 bytes for "
        "each pair and topic; auto: all up to a gibibyte, else few.",
        extra_json_schema=UNOFFERED,
    ),
]


Start = Annotated[
    Literal["random", "gibbs"],
    Meta(
        description="First responsibilities. random: all topics nearly equal; gibbs: those of "
        "hdp-gibbs after start_sweeps sweeps, with its concentrations (hyper_start then has no "
        "effect). On long documents, gibbs finds better topics and needs half of the iterations."
    ),
]

FORMER_ZERO: Former = {"inference.start": {"sampled": "gibbs"}, **FORMER_PROCESS}

StartSweeps = Annotated[
    int, Meta(ge=0, description="Number of sweeps of hdp-gibbs for start: gibbs.")
]


class ZeroModel(Model, frozen=True, kw_only=True):
    """Start values of learned parameters, and whether documents are bursty."""

    bursts: Bursts = "none"
    burst_process: BurstProcess = PROCESS


class ZeroPoints(PointInference, frozen=True, kw_only=True):
    """The schedule of hdp-pcvb0."""

    former: ClassVar[Former] = {**PointInference.former, **FORMER_ZERO}

    responsibilities: ResponsibilityStorage = "auto"
    start: Start = "random"
    start_sweeps: StartSweeps = 100
    burst_start: BurstStart = START
    burst_aside: BurstAside = ASIDE


class ZeroPosteriors(PosteriorInference, frozen=True, kw_only=True):
    """The schedule of hdp-cvb0."""

    former: ClassVar[Former] = FORMER_ZERO

    responsibilities: ResponsibilityStorage = "auto"
    start: Start = "random"
    start_sweeps: StartSweeps = 100
    burst_start: BurstStart = START
    burst_aside: BurstAside = ASIDE


POINTS = Estimates(PointInference, estimates.start, point_estimates.step)
WHOLE = Estimates(PosteriorInference, posteriors.start, posteriors.step)


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


def info_of(state: estimates.State, data: Data, drift: float) -> Info:
    """Return the columns of metrics.jsonl."""
    counts = topic_counts(state.n_k, state.n_tables)
    return Info(*counts, state.alpha, state.gamma, state.word_mass / data.n_words, drift)


def summarise(
    state: estimates.State, data: Data, settings: ModelSettings, context: Context
) -> Summary:
    """Return the live topics as roots, largest first, and theta of the training documents."""
    priors = (state.alpha * state.pi, state.word_mass * state.tau)
    fitted = common.HdpSummaryInput(
        state.local, state.n_wk, state.n_k, *priors, names=data.seeds.by_topic()
    )
    return common.summarise(fitted, data.n_docs)


def objective(
    state: estimates.State, data: Data, settings: ModelSettings, context: Context
) -> float:
    """Return the mean log predictive probability of a training token (no bound: it may fall)."""
    phi = common.word_probabilities(state.n_wk, state.word_mass * state.tau)
    given = (phi.astype(state.n_wk.dtype), state.alpha * state.pi)
    parts = state.local.ask(_log_likelihood, given)
    return float(sum(parts) / max(int(data.doc_lengths.sum()), 1))


def _log_likelihood(piece: Piece, local: variational.Local, given: tuple[Floats, F64]) -> float:
    phi, doc_prior = given
    cuts, step, total = piece.cells.cuts, max(1, CELLS // len(doc_prior)), 0.0
    for first in range(0, piece.n_docs, step):
        theta = document_weights(local.n_dk[first : first + step], doc_prior).astype(phi.dtype)
        ends = np.array([0, len(theta)])
        cells = piece.cells._replace(cuts=cuts[first : first + step], doc_bounds=ends)
        total += float(kernels.block_log_likelihood(cells, 0, theta, phi))
    return total


def collapsed(
    state_type: type[StateT],
    estimated: Estimates[StateT, InferenceT],
    variant: SweepVariant,
    of_draw: beginnings.PieceConverter | None = None,
    model: type[Model] = Model,
) -> Backend[Corpus, Data, StateT, Settings[Model, InferenceT]]:
    """Return the backend of two choices; its states have the fields that both of them fill.

    of_draw: makes what a piece keeps of a draw, where a start may be sampled. model: its settings.
    """

    def init(
        data: Data,
        settings: Settings[Model, InferenceT],
        context: Context,
        dtype: DTypeLike = np.float32,
    ) -> StateT:
        """Return random responsibilities and the start values of the config (theory/hdp 3.5).

        Those of a draw, and its own values, where the start is sampled (theory/hdp 3.8).
        """
        if of_draw is not None and beginnings.is_wanted(settings):
            begun, known = beginnings.start(data, settings, context, of_draw, dtype)
            found = beginnings.replaced(estimated.start(begun, data, settings), known)
            return state_type(**found | variant.besides(begun, data))
        begun = variant.start(data, settings.model.truncation, context, dtype)
        return state_type(**estimated.start(begun, data, settings) | variant.besides(begun, data))

    def step(
        state: StateT, data: Data, settings: Settings[Model, InferenceT], context: Context
    ) -> tuple[StateT, Info]:
        """Refit q(z) of every pair; after the hold, at some iterations, other parameters, too."""
        if of_draw is not None and beginnings.is_wanted(settings):
            # Nothing is held: the start's own sweeps stand for the iterations that hold.
            held = settings.inference.hyper_start
            context = replace(context, iteration=context.iteration + held)
        drift = estimated.step(state, data, settings, context, variant)
        return state, info_of(state, data, drift)

    def memory(corpus: Corpus, settings: Settings[Model, InferenceT]) -> int:
        """Return the bytes of responsibilities and tables, or of the start where it takes more."""
        after = variant.memory(corpus, settings)
        if of_draw is None or not beginnings.is_wanted(settings):
            return after
        return max(after, beginnings.memory(corpus, settings))

    return Backend(
        Model=model,
        Inference=estimated.Inference,
        State=state_type,
        Info=Info,
        objective_name="training log likelihood per token",
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
        out_of_core=True,
        merge_extra=merge_extra,
        pieces=sharded(variant.Local),
    )


def going_on(
    backend: Backend[Corpus, Data, StateT, Any], begin: Begin
) -> Backend[Corpus, Data, StateT, Any]:
    """Return a backend that continues with further documents, with q(z) kept by ``begin``."""

    def extend_state(
        before: Arrays, data: Data, settings: ModelSettings, context: Context
    ) -> StateT:
        """Return the state of the earlier counts, with further documents under its topics."""
        return backend.State(**fields_of(before, data, context, begin))

    return replace(backend, extend_state=extend_state)


def by_size(
    whole: Backend[Corpus, Data, StateT, Any], few: Backend[Corpus, Data, StateT, Any]
) -> Backend[Corpus, Data, StateT, Any]:
    """Return the backend that is ``whole`` of a corpus whose rows of q(z) are small, else few."""
    return _chosen_by(
        lambda n_pairs, settings: are_many(n_pairs, settings.model.truncation), whole, few
    )


def bursty_by_size(
    whole: Backend[Corpus, Data, StateT, Any], few: Backend[Corpus, Data, StateT, Any]
) -> Backend[Corpus, Data, StateT, Any]:
    """Return the backend of bursty documents that keeps q(z) as the settings say."""

    def is_few(n_pairs: int, settings: Any) -> bool:
        kept = settings.inference.responsibilities
        return kept == "few" or (kept == "auto" and are_many(n_pairs, settings.model.truncation))

    return _chosen_by(is_few, whole, few)


def _chosen_by(
    is_few: Callable[[int, Any], bool],
    whole: Backend[Corpus, Data, StateT, Any],
    few: Backend[Corpus, Data, StateT, Any],
) -> Backend[Corpus, Data, StateT, Any]:
    """Return the backend that is ``few`` if ``is_few`` of pairs and settings, else ``whole``."""

    def chosen(n_pairs: int, settings: Any) -> Backend[Corpus, Data, StateT, Any]:
        return few if is_few(n_pairs, settings) else whole

    def choose_variant(corpus: Corpus, settings: Any) -> Backend[Corpus, Data, StateT, Any]:
        return chosen(corpus.n_pairs, settings)

    def memory(corpus: Corpus, settings: Any) -> int:
        return choose_variant(corpus, settings).memory(corpus, settings)

    def extend_state(before: Arrays, data: Data, settings: Any, context: Context) -> StateT:
        going_on = chosen(len(data.cells.word), settings).extend_state
        assert going_on is not None
        return going_on(before, data, settings, context)

    return replace(whole, choose_variant=choose_variant, memory=memory, extend_state=extend_state)


of_points = POINTS._replace(Inference=ZeroPoints)
of_posteriors = WHOLE._replace(Inference=ZeroPosteriors)


def plain(
    state_type: Any,
    of: Any,
    variant: SweepVariant,
    of_draw: beginnings.PieceConverter,
    begin: Begin,
) -> Backend[Corpus, Data, Any, Any]:
    """Return a backend of order zero, which goes on with further documents."""
    return going_on(collapsed(state_type, of, variant, of_draw, ZeroModel), begin)


all_pcvb0 = plain(estimates.State, of_points, ZERO, beginnings.as_rows, with_all)
few_pcvb0 = plain(estimates.State, of_points, FEW, beginnings.as_few, with_few)
pcvb0 = by_size(all_pcvb0, few_pcvb0)
all_cvb0 = plain(posteriors.State, of_posteriors, ZERO, beginnings.as_rows, with_all)
few_cvb0 = plain(posteriors.State, of_posteriors, FEW, beginnings.as_few, with_few)
cvb0 = by_size(all_cvb0, few_cvb0)


def bursty_documents(
    state_type: Any,
    of: Any,
    prior_of: Any,
    of_draw: Any,
    variant: SweepVariant,
    changes: bursts.DocumentMoves,
) -> Backend[Corpus, Data, Any, Any]:
    """Return a backend of order zero whose documents are bursty."""
    made = collapsed(state_type, of, variant, of_draw, ZeroModel)
    return bursts.with_bursts(made, prior_of, changes)


def bursty_of(
    state_type: Any, of: Any, prior_of: Callable[[Any, Any], PseudoCounts]
) -> Backend[Corpus, Data, Any, Any]:
    """Return the backend of bursty documents with whole responsibilities or a few entries."""
    rows = (beginnings.as_bursty_rows, bursty.ZERO, bursts.ROWS)
    entries = (beginnings.as_bursty_few, few_bursty.FEW, bursts.ENTRIES)
    whole, few = (
        bursts.going_on(bursty_documents(state_type, of, prior_of, *kind), begin, kind[-1])
        for kind, begin in ((rows, with_all), (entries, with_few))
    )
    return bursty_by_size(whole, few)


bursty_pcvb0 = bursty_of(
    bursts.BurstyPointState, of_points, lambda state, settings: point_estimates.prior_of(state)
)
bursty_cvb0 = bursty_of(bursts.BurstyWholeState, of_posteriors, posteriors.prior_of)
