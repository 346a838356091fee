"""hdp-gibbs, partially collapsed: topics are drawn, so documents are independent.

The model and the posterior of ``gibbs``; document weights stay integrated out. A token costs the
topics of its document, not the truncation. One iteration, in this order (theory/hdp 6.2):

1. given z, topics integrated out: tables of words, then the word mass and, for AA, tau;
2. topics given z and the word prior;
3. each token's topic given topics, pi and alpha, and its document's other tokens;
4. given z: tables of documents, then alpha, sticks and gamma.

Between 1 and 2 nothing may look at topics or change z: step 1 leaves p(word mass, z | words) as it
is and makes the topics of the iteration before stale, step 2 draws them anew under the *new* word
mass. Topics are forgotten after the iteration.

From uniform topics exact draws of topics mix slowly: an empty cell is next to 0 in most draws, so
that a word enters a topic in bursts. So hdp-cvb0 is fitted to some documents for a short time, and
its topics are held for the first iterations, in which step 3 alone is done (theory/hdp 6.5).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import F32, F64, I32, I64
from hiertopics.base.axes import Axes
from hiertopics.contract import (
    Arrays,
    Backend,
    Chains,
    Context,
    Each,
    Pieces,
    Settings as SettingsOf,
    Shared,
    Summary,
    of_pieces,
)
from hiertopics.corpus.data import Bags, Corpus, Shelf, seeds_in
from hiertopics.families.flat.concentrations import (
    CONCENTRATION_PRIOR,
    draw_by_slice_of_sizes,
    draw_by_sticks,
)
from hiertopics.families.flat.config import PosteriorInference
from hiertopics.families.flat.prediction import EXTRA
from hiertopics.families.flat.summary import by_size, topic_counts
from hiertopics.families.flat.tokens import in_chains
from hiertopics.families.hdp import blocks, gibbs, gibbs_kernels, summary as common
from hiertopics.families.hdp.block_layout import Blocks, Piece, in_blocks, lay_out, made_piece
from hiertopics.families.hdp.blocks import Local
from hiertopics.families.hdp.gibbs import Inference, Info, Model, Settings
from hiertopics.families.hdp.gibbs_kernels import count_cells
from hiertopics.families.hdp.summary import word_probabilities
from hiertopics.families.hdp.table_kernels import SMALL, draw_table_sums
from hiertopics.families.hdp.variational import cvb0
from hiertopics.numeric.differences import caught_up
from hiertopics.numeric.mixtures import log_rising
from hiertopics.numeric.streams import new_key

BUFFERS = 36 << 20
"""Bytes that a sweep lists, or that writing a summary copies, at a time, for any corpus."""

CELLS = 1 << 18
"""Counts of words by topic whose chances are added up at a time."""

SWEEPS = 20
HELD = 5
"""Iterations that hold the start's topics."""

ROOM = 125_000_000
"""Responsibilities of the start, pairs times topics: it sees as many documents as this allows."""

LEAST_REST = 1e-12


def no_topics() -> F32:
    """Return topics of no words, float32 [0, 0]: none are held."""
    return np.zeros((0, 0), np.float32)


@dataclass(kw_only=True)
class State(gibbs.Draw):
    """A draw whose topics keep their numbers; n_tables and pi are by topic.

    order: int64 [T], topics along the sticks. topics: float32 [n_words, T], those that the first
    iterations hold; else without rows.
    """

    order: Annotated[I64, Axes("truncation", below="truncation")]
    topics: Annotated[F32, Axes("n_words", "truncation", least=0, maybe_empty=True)] = field(
        default_factory=no_topics
    )


def prepare(corpus: Bags, settings: Settings) -> Blocks:
    """Lay the corpus out in blocks of documents."""
    laid_out = lay_out(corpus, settings.model.truncation, settings.inference.shards)
    return laid_out._replace(seeds=seeds_in(settings.model, corpus.vocab))


def init(data: Blocks, settings: Settings, context: Context) -> State:
    """Return uniformly random topics, and the start's other values."""
    n_topics = settings.model.truncation
    message = (new_key(context.rng("init")), n_topics)
    local = context.place(made_piece, data.pieces, blocks.begin_uniform, message)
    return begun(local, data, settings, context)


def begun(
    local: Pieces[Piece, Any],
    data: Blocks,
    settings: Settings,
    context: Context,
    unseen: I64 | None = None,
) -> State:
    """Return the state of first topics, and the start's other values.

    unseen: int64 [n], documents that a start from topics does not see.
    """
    n_topics = settings.model.truncation
    n_wk, n_k = _counted(local, data, n_topics)
    state = State(
        local=local,
        n_wk=n_wk,
        n_k=n_k,
        order=np.arange(n_topics),
        **gibbs.first_values(data.n_words, settings.model),
    )
    if settings.inference.start == "random":
        return state
    return replace(state, **from_topics(data, settings, context, unseen)._asdict())


def _counted(local: Pieces[Piece, Any], data: Blocks, n_topics: int) -> tuple[I32, I64]:
    """Return n_wk, with seed words, and n_k, without them."""
    n_wk = np.zeros((data.n_words, n_topics), np.int32)
    for counts in local.ask(blocks.begun_counts, n_wk.shape):
        n_wk += caught_up(None, counts)
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    data.seeds.add_to(n_wk)
    return n_wk, n_k


def extend_state(before: Arrays, data: Blocks, settings: Settings, context: Context) -> State:
    """Return an earlier draw with further documents, and words that have no token in it.

    The first iterations hold its topics, as those of a start, so that the tokens of the further
    documents find their places; these begin in uniformly random topics.
    """
    n_topics = settings.model.truncation
    z = data.corpus.room.growing(blocks.topic_dtype(n_topics))
    for part in of_pieces(before, "z"):
        z.append(part)
    known, key = z.done(), new_key(context.rng("continued"))
    bounds = np.minimum(data.bounds["z"], len(known))
    messages = [
        blocks.InitialTopics(known[first:last], key, n_topics) for first, last in pairwise(bounds)
    ]
    local = context.place(made_piece, data.pieces, blocks.begin_known, Each(messages))
    return continued(before, local, data, settings)


def continued(before: Arrays, local: Pieces[Piece, Any], data: Blocks, settings: Settings) -> State:
    """Return an earlier draw whose tokens, and those of further documents, have these topics."""
    n_topics, share = settings.model.truncation, len(before["tau"]) / data.n_words
    further = data.n_words - len(before["tau"])
    tau = np.append(before["tau"] * share, np.full(further, 1.0 / data.n_words))
    word_mass = float(before["word_mass"]) / share
    topics = _mean_topics(before["n_wk"], word_mass * tau)
    n_wk, n_k = _counted(local, data, n_topics)
    return State(
        local=local,
        n_wk=n_wk,
        n_k=n_k,
        **{name: before[name] for name in ("n_tables", "order", "log_rest", "pi")},
        tau=tau,
        alpha=float(before["alpha"]),
        gamma=float(before["gamma"]),
        word_mass=word_mass,
        topics=topics,
    )


def _mean_topics(n_wk: I32, word_prior: F64) -> F32:
    """Return E[topics] given counts of the first words, float32 [n_words, T]."""
    topics = np.empty((len(word_prior), n_wk.shape[1]), np.float32)
    total = n_wk.sum(axis=0, dtype=np.int64) + word_prior.sum()
    topics[:] = word_prior[:, None] / total
    step = max(1, CELLS // n_wk.shape[1])
    for start in range(0, len(n_wk), step):
        counted = n_wk[start : start + step]
        prior = word_prior[start : start + len(counted), None]
        topics[start : start + len(counted)] = (counted + prior) / total
    return topics


def step(state: State, data: Blocks, settings: Settings, context: Context) -> tuple[State, Info]:
    """Do one iteration."""
    return state, iterate(state, data, settings, context, PLAIN)


class Sweep(NamedTuple):
    """Functions of a sweep. drawn, given: as of ``blocks``. task: sweeps a piece.

    sized: the data as concentrations see them.
    """

    drawn: Callable[..., Shared]
    given: Callable[..., Shared]
    task: Callable[..., Any]
    sized: Callable[[Any, Blocks], Blocks]


PLAIN = Sweep(blocks.drawn, blocks.given, blocks.sweep_piece, lambda state, data: data)


def iterate(state: State, data: Blocks, settings: Settings, context: Context, way: Sweep) -> Info:
    """Do one iteration in place; return its columns of metrics.jsonl."""
    inference = settings.inference
    fixed = len(state.topics) > 0
    waits = inference.start == "random" and context.iteration <= inference.hyper_start
    held = fixed or waits
    if not held:
        _draw_word_side(state, data, settings, context.rng("words"))
    choose = _hold_topics if fixed else _draw_topics
    result = _sweep(state, choose(state, data, context, way), way)
    if not held:
        seen, rng = way.sized(state, data), context.rng("documents")
        reorder, hold = inference.reorder_sticks, inference.hold
        _draw_document_side(state, seen, result, rng, reorder=reorder, hold=hold)
    counts = topic_counts(state.n_k, state.n_tables)
    eta = state.word_mass / data.n_words
    return Info(*counts, state.alpha, state.gamma, eta, result.moved)


def summarise(state: State, data: Blocks, settings: Settings, context: Context) -> Summary:
    """Return this draw's live topics as roots, largest first, and theta of the documents."""
    doc_prior, word_prior = state.alpha * state.pi, state.word_mass * state.tau
    plan = common.planned(by_size(state.n_k), doc_prior, data.n_docs)
    parts = state.local.ask(blocks.weigh_documents, (plan, len(state.pi)))
    names = data.seeds.by_topic()
    if set(names) & set(plan.topics.dropped.tolist()):
        # Not all that no document has are alike.
        summary = common.summarise_counts(parts, plan, state.n_wk, word_prior)
    else:
        summary = common.summarise_tokens(parts, plan, state.n_wk, word_prior, data.corpus.room)
    return common.named(summary, plan, names)


def flaw(state: State, data: Blocks, settings: Settings) -> str | None:
    """Return how a saved draw disagrees with the corpus; see ``Backend``."""
    if not np.array_equal(np.sort(state.order), np.arange(len(state.order))):
        return "order does not name each topic once"
    n_wk, n_k = _counted(state.local, data, len(state.n_k))
    if not np.array_equal(n_wk, state.n_wk) or not np.array_equal(n_k, state.n_k):
        return "n_wk and n_k do not count the tokens"
    return None


def objective(state: State, data: Blocks, settings: Settings, context: Context) -> float:
    """Return the log joint of words, topics and sticks given the concentrations (equation 17).

    Seed words are among the words.
    """
    topic_mass, word_mass = state.alpha * state.pi, state.word_mass * state.tau
    log_joint = -float((data.n_with * log_rising(topic_mass.sum(), data.lengths)).sum())
    for histogram, large in state.local.ask(blocks.count_cells, len(state.pi)):
        topic, count = np.nonzero(histogram)
        by_count = log_rising(topic_mass[topic], count)
        log_joint += float((histogram[topic, count] * by_count).sum())
        log_joint += float(log_rising(topic_mass[large[:, 0]], large[:, 1]).sum())
    step = max(1, CELLS // len(state.pi))
    for start in range(0, data.n_words, step):
        n_wk, mass = state.n_wk[start : start + step], word_mass[start : start + step]
        word, topic = np.nonzero(n_wk)
        log_joint += float(log_rising(mass[word], n_wk[word, topic]).sum())
    log_joint -= float(log_rising(word_mass.sum(), _sizes(state, data)).sum())
    return log_joint + gibbs.log_sticks(state.log_rest, state.gamma)


def memory(corpus: Bags, settings: Settings) -> int:
    """Return the bytes of counts and topics, and of the largest other arrays: a sweep's changes,
    the summary or the start. Tokens of a corpus in files are in files, too.
    """
    n_topics = settings.model.truncation
    n_cells = n_topics * corpus.n_words
    tokens = 0 if isinstance(corpus, Shelf) else 4 * corpus.n_tokens + 4 * corpus.n_pairs
    changes = min(4 * n_cells, 24 * corpus.n_tokens) + min(24 * corpus.n_tokens, BUFFERS)
    # Of what sweeps took some stays with the allocator, in pieces.
    summary = 12 * n_cells + min(16 * n_cells, BUFFERS)
    start = 0
    if settings.inference.start == "variational":
        n_pairs = min(ROOM // n_topics, corpus.n_pairs)
        n_docs = min(n_pairs, corpus.n_docs)
        start = 4 * n_topics * n_pairs + 4 * n_topics * n_docs + 24 * n_cells
    largest = max(settings.inference.shards * changes, summary, start)
    return 8 * n_cells + tokens + largest


def _hold_topics(state: State, data: Blocks, context: Context, way: Sweep) -> Shared:
    """Take the start's topics; let go of them in the last iteration."""
    topics = state.topics
    if context.iteration >= HELD:
        state.topics = no_topics()
    return way.given(topics, state.alpha * state.pi, _table_of(data, context), context)


def _draw_topics(state: State, data: Blocks, context: Context, way: Sweep) -> Shared:
    """Say how topics are drawn, given the counts as they are."""
    counts: dict[str, NDArray[Any]] = {"n_wk": state.n_wk, "tau": state.tau}
    table = _table_of(data, context)
    return way.drawn(state.word_mass, state.alpha * state.pi, counts, table, context)


def _table_of(data: Blocks, context: Context) -> F32:
    """Return the table for the topics of this chain; chains may be swept at the same time."""
    return np.zeros_like(data.table) if context.chain else data.table


def _sweep(state: State, topics: Shared, way: Sweep) -> blocks.SweepChanges:
    packed = partial(blocks.packed, n_cells=state.n_wk.size)
    results = state.local.step(way.task, topics, packed)
    return blocks.add_results(results, state.n_wk, state.n_k)


def _draw_document_side(
    state: State,
    data: Blocks,
    result: blocks.SweepChanges,
    rng: np.random.Generator,
    *,
    reorder: bool = False,
    hold: Collection[str] = (),
) -> None:
    """Draw tables, alpha, sticks, maybe whose they are, and gamma (theory/hdp 6, steps 2 to 5)."""
    topic_mass = state.alpha * state.pi
    state.n_tables = draw_table_sums(result.histogram, result.large, topic_mass, rng)
    n_tables = int(state.n_tables.sum())
    if "alpha" not in hold:
        state.alpha = draw_by_slice_of_sizes(
            state.alpha, n_tables, data.lengths, data.n_with, CONCENTRATION_PRIOR, rng
        )
    along = state.n_tables[state.order]
    state.pi = np.empty(len(along))
    state.log_rest, state.pi[state.order] = gibbs.draw_sticks(along, state.gamma, rng)
    if reorder:
        gamma = state.gamma if "gamma" in hold else CONCENTRATION_PRIOR
        order, state.log_rest = gibbs.redraw_places(state.log_rest, gamma, rng)
        state.order = state.order if order is None else state.order[order]
    if "gamma" not in hold:
        state.gamma = draw_by_sticks(state.log_rest, CONCENTRATION_PRIOR, rng)


def _sizes(state: State, data: Blocks) -> I64:
    """Return the tokens of each topic [T], seed words among them."""
    return state.n_k + data.seeds.totals(len(state.n_k))


def _draw_word_side(
    state: State, data: Blocks, settings: Settings, rng: np.random.Generator
) -> None:
    """Draw tables of words, the word mass and, for AA, the word shape (theory/hdp 6, step 6)."""
    symmetry, learns = settings.model.prior, "eta" not in settings.inference.hold
    if not learns and symmetry != "AA":
        return
    if symmetry == "AA":
        by_word, by_topic = np.zeros(len(state.tau), np.int64), np.zeros(len(state.pi), np.int64)
        ones = np.ones(len(state.pi))
        word_prior = state.word_mass * state.tau
        gibbs_kernels.draw_tables(state.n_wk, word_prior, ones, by_word, by_topic, rng)
    else:
        histogram = np.zeros((1, SMALL), np.int64)
        large = count_cells(state.n_wk, histogram)
        eta = np.array([state.word_mass / len(state.tau)])
        by_word = draw_table_sums(histogram, large, eta, rng)
    gibbs.draw_word_prior(state, by_word, _sizes(state, data), settings, rng)


class InitialValues(NamedTuple):
    """The values of a start, in fields of the state."""

    order: I64
    n_tables: I64
    log_rest: F64
    pi: F64
    tau: F64
    alpha: float
    gamma: float
    word_mass: float
    topics: F32


def from_topics(
    data: Blocks, settings: Settings, context: Context, unseen: I64 | None = None
) -> InitialValues:
    """Return the result of a short run, with its largest topics on the first sticks.

    Topics are numbered along the sticks; with seed words, whose topics have numbers, as in the run.
    unseen: int64 [n], documents that have no part in the run.
    """
    corpus = _sample(data, ROOM // settings.model.truncation, context.rng("sample"), unseen)
    schedule = SettingsOf(settings.model, PosteriorInference(hold=settings.inference.hold))
    laid_out = cvb0.prepare(corpus, schedule)
    # One piece, whose tables would only travel to another process and back.
    here = context.workers.here
    found = cvb0.init(laid_out, schedule, replace(context, workers=here))
    for sweep in range(1, SWEEPS + 1):
        at = Context(context.seed, sweep, here)
        found, _ = cvb0.step(found, laid_out, schedule, at)
        context.report(sweep, SWEEPS)
    along = np.argsort(-found.pi, kind="stable")
    by_number = np.arange(len(along))
    number, order = (by_number, along) if data.seeds.names else (along, by_number)
    pi = found.pi[along] / found.pi.sum()
    rest = np.concatenate([[1.0], np.maximum(1.0 - np.cumsum(pi[:-1]), LEAST_REST)])
    topics = word_probabilities(found.n_wk, found.word_mass * found.tau)
    return InitialValues(
        order,
        np.rint(found.n_tables[number]).astype(np.int64),
        np.minimum(np.diff(np.log(rest)), 0.0),
        found.pi[number] / found.pi.sum(),
        found.tau,
        found.alpha,
        found.gamma,
        found.word_mass,
        topics[:, number].astype(np.float32),
    )


def _sample(
    data: Blocks, n_pairs: int, rng: np.random.Generator, unseen: I64 | None = None
) -> Corpus:
    """Return random documents of at most so many pairs, at least one, in order; none unseen."""
    order = rng.permutation(data.n_docs)
    if unseen is not None:
        order = order[~np.isin(order, unseen)]
    sizes = np.cumsum(data.corpus.doc_pairs[order])
    chosen = np.sort(order[: max(1, int(np.searchsorted(sizes, n_pairs, side="right")))])
    return Corpus(data.corpus.counts_of(chosen), data.corpus.vocab)


one: Backend[Corpus, Blocks, State, Settings] = Backend(
    Model=Model,
    Inference=Inference,
    State=State,
    Info=Info,
    objective_name="log joint probability",
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=gibbs.infer,
    extra=EXTRA,
    objective=objective,
    simulate=gibbs.simulate,
    memory=memory,
    from_counts=True,
    out_of_core=True,
    flaw=flaw,
    pieces=in_blocks(Local),
    draw_hyperparameters=gibbs.draw_hyperparameters,
    extend_state=extend_state,
)
backend: Backend[Corpus, Blocks, Chains[State], Settings] = in_chains(one)
