"""The international restaurant process: groups and corpus integrated out (theory/chdp 3).

Exact under superposition. Under maximization the urn takes the largest of the groups' predictive
means and leaves the rest out, as published: an approximation (theory/chdp 3.4), ``irp_max_plugin``.

It is ``chdp-gibbs`` under ``inference.sampler: irp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32
from hiertopics.base.axes import Axes
from hiertopics.contract.model import Context, Summary, without
from hiertopics.families.chdp.base_kernels import Weights
from hiertopics.families.chdp.config import ConcentrationFlags, GibbsSettings as Settings, Model
from hiertopics.families.chdp.gibbs_state import (
    ChdpDraw,
    DocumentState,
    Info,
    begin,
    info_of,
    log_chances_of,
    sampler,
    summarise as summary_of,
)
from hiertopics.families.chdp.layout import Data, of_other_groups
from hiertopics.families.flat.concentrations import CONCENTRATION_PRIOR, draw_concentration
from hiertopics.families.flat.token_kernels import TokenTopics, count_tokens
from hiertopics.families.flat.tokens import draw_eta
from hiertopics.papers import chdp_irp_kernels as kernels
from hiertopics.papers.chdp_irp_kernels import NOBODY, Options, TableUrn, TokenSeats

PLUG_IN = (
    "irp_max_plugin: the published sampler of maximization is an approximation (its urn is not "
    "exchangeable); inference.sampler=exact is not"
)


@dataclass(kw_only=True)
class State(ChdpDraw):
    """A draw and its seating, which tells the weights of corpus and groups.

    z, n_dk, share: as in ``DocumentState``; a restaurant is not cut into pieces. seat: int32
    [n_tokens], the table of each token, numbered within its document. table_option: int32
    [n_tokens], the option of table t of document d at d's first token + t, -1 where there is none.
    option_group (n_groups for what documents without parents are served) and option_topic: int32
    [n_options].
    """

    z: Annotated[I32, Axes("n_tokens", below="truncation")]
    n_dk: Annotated[I32, Axes("n_docs", "truncation", least=0)]
    share: Annotated[F64, Axes("n_links", least=0, maybe_empty=True)]
    seat: Annotated[I32, Axes("n_tokens", below="n_tokens")]
    table_option: Annotated[I32, Axes("n_tokens", below="n_options", least=-1)]
    option_group: Annotated[I32, Axes("n_options", below="n_groups+1")]
    option_topic: Annotated[I32, Axes("n_options", below="truncation")]

    @property
    def documents(self) -> DocumentState:
        """The per-document state of all documents."""
        return DocumentState(self.z, self.n_dk, self.share)

    @property
    def tables(self) -> TokenTopics:
        """The arrays that a sweep moves."""
        return TokenTopics(self.z, self.n_dk, self.n_wk, self.n_k)

    def log_chances(self, data: Data, weights: Weights) -> float:
        """Return ``log_chances_of`` all documents."""
        return log_chances_of(self.documents, data.parents, weights, self.alpha_doc)


class SeatLayout(NamedTuple):
    """A state's seats and options, laid out for the kernels."""

    seats: TokenSeats
    options: Options


def init(data: Data, settings: Settings, context: Context) -> State:
    """Return uniformly random topics, one table for each topic of a document."""
    state = unseated(data, settings.model, context.rng("init"))
    seating, urn = unpack(state, data), _urn(state, data, settings.model)
    kernels.seat_at_random(data.cells, state.z, *seating, urn, context.rng("seats"))
    pack(state, seating)
    return state


def unseated(data: Data, model: Model, rng: np.random.Generator) -> State:
    """Return the start of both samplers: a draw in which no token sits."""
    documents, begun = begin(data, model, rng)
    nothing = np.empty(0, dtype=np.int32)
    return State(
        **begun,
        **documents._asdict(),
        seat=np.zeros_like(documents.z),
        table_option=np.full_like(documents.z, NOBODY),
        option_group=nothing,
        option_topic=nothing,
    )


def flaw(state: State, data: Data, settings: Settings) -> str | None:
    """Return how a saved draw disagrees with the corpus; see ``Backend``."""
    if len(state.share) not in (0, len(data.parents.group)):
        return f"{len(state.share)} shares, but the corpus has {len(data.parents.group)} links"
    n_dk, n_wk = np.zeros_like(state.n_dk), np.zeros_like(state.n_wk)
    count_tokens(data.cells, state.z, n_dk, n_wk)
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    counts = ((n_dk, state.n_dk), (n_wk, state.n_wk), (n_k, state.n_k))
    if not all(np.array_equal(*pair) for pair in counts):
        return "n_dk, n_wk and n_k do not count the tokens"
    return of_other_groups(len(state.log_pi), data) or _misseated(state, data)


def _misseated(state: State, data: Data) -> str | None:
    """Return the error in seats, or None: each token sits at a table of its document and topic."""
    lengths, first = data.doc_lengths, data.cells.cuts[:, 0]
    if (state.seat >= np.repeat(lengths, lengths)).any():
        return "seat names a table beyond those of a document"
    table = np.repeat(first, lengths) + state.seat
    option = state.table_option[table]
    if (option == NOBODY).any() or (state.option_topic[option] != state.z).any():
        return "a token does not sit at a table of its topic"
    taken = np.zeros(len(state.seat), np.bool_)
    taken[table] = True
    if (state.table_option[~taken] != NOBODY).any():
        return "a table at which nobody sits serves something"
    if len(np.unique(option)) != len(state.option_topic):
        return "an option is served at no table"
    return None


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Reseat all tokens, tables and options; after the hold redraw concentrations too."""
    inference = settings.inference
    moved = sweep(state, data, settings.model, context.rng("sweep"))
    if context.iteration > inference.hyper_start:
        draw_concentrations(state, data, inference.sampled, context.rng("weights"))
        if inference.sampled.eta:
            state.eta = draw_eta(state.n_wk, state.n_k, state.eta, context.rng("words"))
    return state, info_of(state, moved)


def summarise(state: State, data: Data, settings: Settings, context: Context) -> Summary:
    """Return the exact sampler's summary of this draw; warn if it is an approximation."""
    summary = summary_of(state, data, settings, context)
    if not settings.model.maximization:
        return summary
    return summary.noting(PLUG_IN)


def sweep(state: State, data: Data, model: Model, rng: np.random.Generator) -> int:
    """Reseat all tokens, tables and options; return how many tokens the first step moved."""
    seating, urn = unpack(state, data), _urn(state, data, model)
    common = (data.cells, state.tables, *seating, urn)
    moved = kernels.sweep_tokens(*common, state.alpha_doc, state.eta, rng)
    kernels.sweep_tables(*common, state.eta, rng)
    owner = np.repeat(np.arange(data.n_docs, dtype=np.int32), data.doc_lengths)
    first_token = np.repeat(data.cells.cuts[:, 0], data.doc_lengths)
    option_of = state.table_option[first_token + state.seat]
    kernels.sweep_options(
        owner,
        data.cells.word,
        option_of,
        state.tables,
        seating.options,
        state.gamma,
        state.eta,
        rng,
    )
    pack(state, seating)
    return int(moved)


def draw_concentrations(
    state: State, data: Data, sampled: ConcentrationFlags, rng: np.random.Generator
) -> None:
    """Draw alpha_doc, alpha_group and gamma given the seating (step 4)."""
    options = unpack(state, data).options
    n_groups = data.parents.n_groups
    if sampled.alpha_doc:
        n_tables = int((state.table_option != NOBODY).sum())
        state.alpha_doc = draw_concentration(
            state.alpha_doc, n_tables, data.doc_lengths, CONCENTRATION_PRIOR, rng
        )
    if sampled.alpha_group:
        n_options = int((state.option_group < n_groups).sum())
        sizes = options.group_tables
        state.alpha_group = draw_concentration(
            state.alpha_group, n_options, sizes, CONCENTRATION_PRIOR, rng
        )
    if sampled.gamma:
        n_topics = int((options.by_topic > 0).sum())
        all_options = np.array([len(state.option_topic)])
        state.gamma = draw_concentration(
            state.gamma, n_topics, all_options, CONCENTRATION_PRIOR, rng
        )


def unpack(state: State, data: Data) -> SeatLayout:
    """Return the seating with everything that is counted of it."""
    n_slots, n_groups = len(state.z), data.parents.n_groups
    n_options, n_topics = len(state.option_topic), len(state.n_k)
    tables = np.bincount(state.table_option[state.table_option != NOBODY], minlength=n_options)
    group, topic = np.zeros(n_slots, dtype=np.int32), np.zeros(n_slots, dtype=np.int32)
    n_tables = np.zeros(n_slots, dtype=np.int32)
    group[:n_options], topic[:n_options] = state.option_group, state.option_topic
    n_tables[:n_options] = tables
    by_group = np.zeros((n_groups, n_topics), dtype=np.int32)
    owned = state.option_group < n_groups
    place = (state.option_group[owned], state.option_topic[owned])
    np.add.at(by_group, place, tables[owned].astype(np.int32))
    after, before, head = _link(state.option_group, n_groups, n_slots)
    options = Options(
        group,
        topic,
        n_tables,
        after,
        before,
        head,
        free=np.arange(n_slots - 1, -1, -1, dtype=np.int32),
        size=np.array([n_slots - n_options, n_options]),
        by_group=by_group,
        group_tables=by_group.sum(axis=1, dtype=np.int64),
        by_topic=np.bincount(state.option_topic, minlength=n_topics),
    )
    return SeatLayout(TokenSeats(state.seat, state.table_option), options)


def pack(state: State, seating: SeatLayout) -> None:
    """Number the options that are in use anew; keep them, and the weights that they tell."""
    options = seating.options
    taken = state.table_option != NOBODY
    used, state.table_option[taken] = np.unique(state.table_option[taken], return_inverse=True)
    state.option_group, state.option_topic = options.group[used], options.topic[used]
    state.n_group_tables = options.by_group.copy()
    tables = np.bincount(state.table_option[taken], minlength=len(used))
    by_topic = np.bincount(state.option_topic, tables, minlength=len(state.n_k))
    state.n_tables = by_topic.astype(np.int64)
    _tell_weights(state, options)


def _tell_weights(state: State, options: Options) -> None:
    """Write the predictive weights of corpus and groups; a new topic's go to the empty ones."""
    empty = options.by_topic == 0
    weights = options.by_topic.astype(np.float64)
    if empty.any():
        weights[empty] = state.gamma / empty.sum()
    weights /= weights.sum()
    groups = options.by_group + state.alpha_group * weights
    groups /= groups.sum(axis=1, keepdims=True)
    state.log_pi_0, state.log_pi = np.log(weights), np.log(groups)


def _urn(state: State, data: Data, model: Model) -> TableUrn:
    share = data.parents.shares(state.share)
    return TableUrn(data.parents, share, model.maximization, state.alpha_group, state.gamma)


def _link(group: I32, n_groups: int, n_slots: int) -> tuple[I32, I32, I32]:
    """Return the lists of each group's options: after, before [n_slots], head [n_groups + 1]."""
    after = np.full(n_slots, NOBODY, dtype=np.int32)
    before, head = after.copy(), np.full(n_groups + 1, NOBODY, dtype=np.int32)
    order = np.argsort(group, kind="stable").astype(np.int32)
    same = group[order][1:] == group[order][:-1]
    after[order[:-1][same]] = order[1:][same]
    before[order[1:][same]] = order[:-1][same]
    head[group[order][::-1]] = order[::-1]
    return after, before, head


one, backend = sampler(
    State, init, step, migrate_state=without("sticks"), summarise=summarise, flaw=flaw
)
