"""The paper's variational method for superposition: a mean field over sticks (theory/chdp 5.1).

Tokens sit at tables of their document, tables take an option of one of its groups, options have
a topic; all three are indicators of their own in q, beside Beta sticks at all three levels and
Dirichlet topics. Sticks and topics are kept at their best given the indicators, so that the
indicators and the concentrations are the whole state, and no step lowers the bound.

    theory/chdp 5.1       here
    Y, X, C               resp [n_pairs, tables], option [n_links, tables, options],
                          dish [n_groups, options, T]
    R of a document       orphan [n_orphans, tables, T] where it has no parents
    rho_ao, nu            broken by ``kernels.break_sticks``

It is ``chdp-variational`` under ``inference.method: sticks``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from scipy.special import digamma, entr, gammaln

from hiertopics.base.arrays import F64, I64
from hiertopics.base.axes import POSITIVE, Axes
from hiertopics.base.stretches import ends_of, rows_of
from hiertopics.contract.engine import Each, Pieces, as_given, cut, joined, stacked
from hiertopics.contract.model import Backend, Context, Sharded, Summary, always, without
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.chdp import layout, summary as common
from hiertopics.families.chdp.base_kernels import Weights
from hiertopics.families.chdp.config import (
    ChdpVariationalInference as Inference,
    Model as Model,
    VariationalSettings as Settings,
    refuse_misfits,
)
from hiertopics.families.chdp.layout import (
    Data,
    Parents,
    Piece,
    build_piece,
    lay_out,
    of_other_groups,
    parent_tags,
    parts_of,
)
from hiertopics.families.chdp.simulate import simulate as simulate
from hiertopics.families.chdp.summary import infer as infer
from hiertopics.families.chdp.variational import Info as Info
from hiertopics.families.flat.concentrations import CONCENTRATION_PRIOR, step_concentration
from hiertopics.families.flat.layout import BlockInput, take_turns
from hiertopics.families.flat.summary import merge_extra, topic_counts
from hiertopics.papers import chdp_stick_kernels as kernels

SPREAD = 2.0
"""Standard deviation of the log weights that indicators begin with; even ones never move."""

SMALLEST = 1e-300


class Local(NamedTuple):
    """Per-document state of a piece: indicators, and expected tokens by topic.

    resp: [n_pairs, tables], chances of tables. option: [n_links, tables, options]. orphan:
    [n_orphans, tables, T]. n_dk: [n_docs, T].
    """

    resp: Annotated[F64, Axes("n_pairs", "tables", least=0)]
    option: Annotated[F64, Axes("n_links", "tables", "options", least=0)]
    orphan: Annotated[F64, Axes("n_orphans", "tables", "truncation", least=0)]
    n_dk: Annotated[F64, Axes("n_docs", "truncation")]


@dataclass
class State:
    """The indicators, their counts, and the concentrations; all arrays are float64.

    local: those of documents, in pieces. dish: [n_groups, options, T]. n_wk [n_words, T], n_k [T]:
    expected tokens by topic. n_tables: [T], expected tables. share: [n_links] where mixing weights
    are learned, else [0]. pi: [T], E[pi_0k]. word_mass: eta times the vocabulary's size.
    """

    local: Pieces[Piece, Local]
    dish: Annotated[F64, Axes("n_groups", "options", "truncation", least=0)]
    n_wk: Annotated[F64, Axes("n_words", "truncation")]
    n_k: Annotated[F64, Axes("truncation")]
    n_tables: Annotated[F64, Axes("truncation")]
    share: Annotated[F64, Axes("n_links", least=0, maybe_empty=True)]
    pi: Annotated[F64, Axes("truncation", least=0)]
    alpha_doc: Annotated[float, Axes(least=POSITIVE)]
    alpha_group: Annotated[float, Axes(least=POSITIVE)]
    gamma: Annotated[float, Axes(least=POSITIVE)]
    word_mass: Annotated[float, Axes(least=POSITIVE)]

    @property
    def n_topics(self) -> int:
        """The truncation T."""
        return len(self.n_k)

    @property
    def resp(self) -> F64:
        """The chances of tables of all documents; of a single piece not a copy."""
        return joined(self.local, "resp")

    @property
    def option(self) -> F64:
        """The chances of options of all documents; of a single piece not a copy."""
        return joined(self.local, "option")

    @property
    def orphan(self) -> F64:
        """The chances of topics of documents without parents; of a single piece not a copy."""
        return joined(self.local, "orphan")

    @property
    def n_dk(self) -> F64:
        """The counts of all documents [n_docs, T]; of a single piece not a copy."""
        return joined(self.local, "n_dk")


class LevelSticks(NamedTuple):
    """The sticks of one level, best for given counts; ``kernels.break_sticks``.

    logs, means: E[log weight] and E[weight], as counts. bound: their part of the bound. taken: the
    sum of E[log(1 - stick)] over ``number`` sticks.
    """

    logs: F64
    means: F64
    bound: float
    taken: float
    number: int


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in pairs, its documents linked to their parents.

    Raises ConfigError where method and cooperation do not fit.
    """
    refuse_misfits(settings.model, settings.inference)
    return lay_out(corpus, settings.model.parents, settings.inference.shards, np.float64)


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return random indicators and the start values of the config."""
    model, inference = settings.model, settings.inference
    n_topics, n_tables, n_options = model.truncation, inference.tables, inference.options
    rng, parents, n_docs = context.rng("init"), data.parents, data.n_docs
    n_links, n_orphans = len(parents.group), int(parents.orphaned.sum())
    owner = rows_of(parents.ptr)
    option = np.exp(SPREAD * rng.standard_normal((n_links, n_tables, n_options)))
    total = np.zeros((n_docs, n_tables))
    np.add.at(total, owner, option.sum(axis=2))
    documents = {
        "resp": _chances(rng, len(data.cells.word), n_tables),
        "option": option / total[owner, :, None],
        "n_dk": np.zeros((n_docs, n_topics)),
    }
    dish = _chances(rng, parents.n_groups, n_options, n_topics)
    documents["orphan"] = _chances(rng, n_orphans, n_tables, n_topics)
    states = Each(cut(Local, documents, bounds(data)))
    state = State(
        local=context.place(build_piece, parts_of(data), as_given, states),
        dish=dish,
        n_wk=np.zeros((data.n_words, n_topics)),
        n_k=np.zeros(n_topics),
        n_tables=np.zeros(n_topics),
        share=parents.uniform() if model.weights == "learned" else np.empty(0),
        pi=np.full(n_topics, 1.0 / n_topics),
        alpha_doc=model.alpha_doc,
        alpha_group=model.alpha_group,
        gamma=model.gamma,
        word_mass=model.eta * data.n_words,
    )
    _count(state, data)
    return state


def bounds(data: Data) -> dict[str, I64]:
    """Return the bounds of pieces in arrays by document, pair, link or orphan."""
    docs, parents = data.cells.doc_bounds, data.parents
    orphans = ends_of(parents.orphaned)
    return {**layout.bounds(data), "option": parents.ptr[docs], "orphan": orphans[docs]}


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return how a saved state disagrees with the corpus; see ``Backend``."""
    return of_other_groups(len(state.dish), data)


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Refit seats, options and dishes, each given all else; after the hold concentrations too."""
    logs = _logs(state, data)
    shares = np.split(logs.share, data.parents.ptr[data.cells.doc_bounds[1:-1]])
    asked = [SeatInput(logs._replace(share=own), state.dish, state.alpha_doc) for own in shares]
    found = stacked(state.local.step(_seat, Each(asked)))
    _choose(state, data, logs.topic, found, context)
    _count(state, data)
    if len(state.share):
        state.share = data.parents.shares_of(state.option.sum(axis=(1, 2)) + SMALLEST)
    if context.iteration > settings.inference.hyper_start:
        _fit_concentrations(state, data, settings.inference.hold)
    state.pi = _break_corpus(state).means
    n_topics, n_topics_tables, n_topics_99, _ = topic_counts(state.n_k, state.n_tables)
    concentrations = (state.alpha_doc, state.alpha_group, state.gamma)
    eta = state.word_mass / data.n_words
    return state, Info(n_topics, n_topics_tables, n_topics_99, *concentrations, eta, drift=0.0)


class SeatInput(NamedTuple):
    """Input for the seats of a piece's documents; expected logs of the piece's own links alone."""

    logs: kernels.Logs
    dish: F64
    alpha_doc: float


def _seat(piece: Piece, local: Local, seat_input: SeatInput) -> tuple[Local, F64]:
    """Refit seats and options; answer with what tables' words say of topics [n_docs, tables, T]."""
    seating = _seating(piece.parents, local, seat_input.dish)
    found = np.zeros((piece.n_docs, local.resp.shape[1], seat_input.dish.shape[2]))
    kernels.seat_documents(
        piece.cells, piece.parents, seating, seat_input.logs, seat_input.alpha_doc, found
    )
    return local, found


def _choose(
    state: State, data: Data, log_topic: kernels.Array, found: F64, context: Context
) -> None:
    """Refit the topics of all options, so many groups at a time as there are pieces."""
    at = np.linspace(0, data.parents.n_groups, state.local.n_pieces + 1).astype(np.int64)
    given = (data.parents, state.option, log_topic, found)
    parts = zip(at[:-1].tolist(), np.split(state.dish, at[1:-1]), strict=True)
    state.dish = stacked(context.map(_dishes, [(first, dish, *given) for first, dish in parts]))


def _dishes(message: tuple[int, F64, Parents, F64, kernels.Array, F64]) -> F64:
    kernels.choose_dishes(*message)
    return message[1]


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the live topics as roots, theta of the documents, and the groups' mean weights."""
    eta, weights = state.word_mass / data.n_words, weights_of(state, data)
    counts = (state.n_dk, state.n_wk, state.n_k)
    return common.summarise(common.ChdpSummaryInput(*counts, weights, state.alpha_doc, eta), data)


def objective(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Return the lower bound of the log evidence, with the concentrations' Gamma(1, 1) priors."""
    concentrations = np.array([state.alpha_doc, state.alpha_group, state.gamma])
    total = CONCENTRATION_PRIOR.log_density_of_all(concentrations)
    total += _word_evidence(state, state.word_mass)
    total += _break_documents(state, data)[0].bound
    total += _break_groups(state, data).bound + _break_corpus(state).bound
    option = state.option
    total += float(entr(state.resp).sum(axis=1) @ data.cells.tokens)
    total += float(sum(entr(part).sum() for part in (option, state.dish, state.orphan)))
    share = data.parents.shares(state.share)
    return total + float(np.log(np.maximum(share, SMALLEST)) @ option.sum(axis=(1, 2)))


def weights_of(state: State, data: Data) -> Weights:
    """Return E[pi_a] = sum_o E[rho_ao] C_ao, the mean weights of the corpus, and the shares."""
    group = np.einsum("ao,aok->ak", _break_groups(state, data).means, state.dish)
    share = data.parents.shares(state.share)
    return Weights(group, state.pi, share, maximization=False)


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of indicators and counts."""
    n_topics, inference = int(settings.model.truncation), settings.inference
    n_tables, n_options = inference.tables, inference.options
    tags = parent_tags(corpus, settings.model.parents)
    n_groups, n_links = (0, 0) if tags is None else (len(tags.names), int(tags.members.nnz))
    seats = n_tables * (corpus.n_pairs + n_links * n_options + 2 * corpus.n_docs * n_topics)
    dishes = n_topics * (n_groups * n_options + corpus.n_docs + 2 * corpus.n_words)
    return 8 * (seats + dishes)


def _chances(rng: np.random.Generator, *shape: int) -> F64:
    weights = np.exp(SPREAD * rng.standard_normal(shape))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _seating(parents: Parents, local: Local | State, dish: F64) -> kernels.SeatChances:
    at = np.cumsum(parents.orphaned, dtype=np.int64) - 1
    return kernels.SeatChances(local.resp, local.option, dish, local.orphan, at)


def _logs(state: State, data: Data) -> kernels.Logs:
    eta = state.word_mass / data.n_words
    word = digamma(state.n_wk + eta) - digamma(state.n_k + state.word_mass)
    share = data.parents.shares(state.share)
    return kernels.Logs(
        word,
        _break_corpus(state).logs,
        _break_groups(state, data).logs,
        np.log(np.maximum(share, SMALLEST)),
    )


def _count(state: State, data: Data) -> None:
    """Count expected tokens by topic anew."""
    state.n_wk[:] = 0.0
    for turn in range(state.local.n_pieces):
        tables, words = (state.n_wk,), data.laid.word_bounds
        take_turns(state.local, _count_block, turn, tables, words, lambda *block: state.dish)
    state.n_k = state.n_dk.sum(axis=0)


def _count_block(
    piece: Piece, local: Local, block: BlockInput
) -> tuple[Local, tuple[tuple[F64, ...], None]]:
    if block.turn == 0:
        local.n_dk[:] = 0.0
    seating, tables = _seating(piece.parents, local, block.given), (local.n_dk, *block.rows)
    kernels.count_words(piece.blocks, 0, block.number, piece.parents, seating, *tables)
    return local, (block.rows, None)


def _break_documents(state: State, data: Data) -> tuple[LevelSticks, F64]:
    """Return the sticks of documents, without their logs and means, and the tables by topic [T]."""
    used, nothing = np.zeros(state.n_topics), np.empty(0)
    seating = _seating(data.parents, state, state.dish)
    found = kernels.document_sticks(data.cells, data.parents, seating, state.alpha_doc, used)
    return LevelSticks(nothing, nothing, *found), used


def _break_groups(state: State, data: Data) -> LevelSticks:
    counts = np.zeros(state.dish.shape[:2])
    np.add.at(counts, data.parents.group, state.option.sum(axis=1))
    logs, means = np.empty_like(counts), np.empty_like(counts)
    found = kernels.group_sticks(counts, state.alpha_group, logs, means)
    return LevelSticks(logs, means, *found, counts.size - len(counts))


def _break_corpus(state: State) -> LevelSticks:
    counts = state.dish.sum(axis=(0, 1)) + state.orphan.sum(axis=(0, 1))
    logs, means = np.empty_like(counts), np.empty_like(counts)
    order = np.empty(len(counts), dtype=np.int64)
    found = kernels.break_sticks(counts, state.gamma, logs, order, means)
    return LevelSticks(logs, means, *found, len(counts) - 1)


def _fit_concentrations(state: State, data: Data, hold: tuple[str, ...]) -> None:
    """Move each concentration to its best given the sticks; that of words only if this gains."""
    documents, state.n_tables = _break_documents(state, data)
    state.alpha_doc = _best(state.alpha_doc, documents)
    if "alpha_group" not in hold:
        state.alpha_group = _best(state.alpha_group, _break_groups(state, data))
    state.gamma = _best(state.gamma, _break_corpus(state))
    eta = state.word_mass / len(state.n_wk)
    tables = eta * float((digamma(state.n_wk + eta) - digamma(eta)).sum())
    moved = step_concentration(state.word_mass, tables, state.n_k)
    if _word_evidence(state, moved) > _word_evidence(state, state.word_mass):
        state.word_mass = moved


def _best(value: float, sticks: LevelSticks) -> float:
    """Return the mode of a concentration given its sticks under the Gamma prior."""
    if not sticks.number:
        return value
    return CONCENTRATION_PRIOR.posterior(sticks.number, -sticks.taken).mode


def _word_evidence(state: State, word_mass: float) -> float:
    eta, n_topics = word_mass / len(state.n_wk), state.n_topics
    used = gammaln(eta + state.n_wk).sum() - n_topics * len(state.n_wk) * gammaln(eta)
    return float(used + n_topics * gammaln(word_mass) - gammaln(word_mass + state.n_k).sum())


backend: Backend[Corpus, Data, State, Settings] = Backend(
    Model=Model,
    Inference=Inference,
    State=State,
    Info=Info,
    objective_name="lower bound of the log evidence",
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=infer,
    extra=common.EXTRA,
    objective=objective,
    simulate=simulate,
    memory=memory,
    merge_extra=merge_extra,
    monotone=always,
    migrate_state=without("n_group_tables", "kappa"),
    pieces=Sharded(Local=Local, parts=parts_of, build=build_piece, bounds=bounds),
    flaw=flaw,
)
