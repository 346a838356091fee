"""The joint-distribution test of hdp-gibbs, partially collapsed, with bursty documents.

As in ``partial_geweke``, words are drawn anew before the step and not after it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import joint
import laid_tables
import numpy as np
from joint import Outcome, Story
from stepping import SERIAL, at, begin, corpus_of, settings_of

from hiertopics.contract.chains import chains
from hiertopics.contract.engine import Each, as_given
from hiertopics.families.flat import seats, sticks
from hiertopics.families.flat.bursts import Repeats, more_than
from hiertopics.families.hdp import bursty_partial
from hiertopics.families.hdp.block_layout import Blocks, Piece, lay_block, made_piece

LENGTHS = np.array([7, 5, 3, 1, 0])
DOC_PTR = np.concatenate([[0], np.cumsum(LENGTHS)])
N_WORDS, N_TOPICS = 3, 3
STATISTICS = (
    *("alpha", "gamma", "word_mass", "discount", "log concentration", "their product"),
    *("first weight", "tables", "tables squared", "n_dk squared", "n_k squared", "n_wk squared"),
    *("c squared", "c t", "pairs of several tables", "log word mass times topics squared"),
    "log joint",
)


def joint_test(prior: str, *, n_replicates: int, n_rounds: int, seed: int = 0) -> Outcome:
    """Run the replicates under prior AS or AA."""
    settings = settings_of(
        bursty_partial.one,
        truncation=N_TOPICS,
        prior=prior,
        hyper_start=0,
        start="random",
        bursts="document",
        burst_start=0,
        collapse="partial",
    )
    full = corpus_of([np.bincount(np.arange(n) % N_WORDS, minlength=N_WORDS) for n in LENGTHS])
    state, data = begin(bursty_partial.one, full, settings)
    piece = data.pieces[0]
    assert isinstance(piece, Piece)
    piece = piece._replace(
        word=np.zeros(N_WORDS, np.int32),
        n_pairs=np.zeros(N_WORDS, np.int32),
        doc=np.zeros(DOC_PTR[-1], np.uint16),
        n_tokens=np.zeros(DOC_PTR[-1], np.uint8),
    )
    repeats = Repeats(np.arange(1, 8), more_than(np.bincount(LENGTHS)), 0, 0.1)
    data = data._replace(pieces=(piece,), repeats=repeats)
    states = Each([state.local.state_of(0)])
    state.local = SERIAL.place(made_piece, data.pieces, as_given, states)
    words = np.zeros(DOC_PTR[-1], np.int32)

    def step(state: Any, data: Any, settings: Any, context: Any) -> Any:
        draw_words(state, data, words, context.rng("words of the test"))
        return bursty_partial.step(state, data, settings, context)

    story = Story(
        chains(replace(bursty_partial.one, step=step)),
        state,
        data,
        settings,
        names=STATISTICS,
        begin=lambda state, rng: draw_from_prior(state, data, words, prior, rng),
        words=lambda state, rng: None,
        measure=lambda state: measure(state, data, words, settings),
        exponential_names=("alpha", "gamma", "word_mass", "concentration", "log discount"),
        exponentials=exponentials,
    )
    return joint.joint_test(story, n_replicates=n_replicates, n_rounds=n_rounds, seed=seed)


def draw_from_prior(
    state: Any, data: Blocks, words: Any, prior: str, rng: np.random.Generator
) -> None:
    """Draw everything from the model."""
    state.alpha, state.gamma, state.word_mass = rng.exponential(size=3)
    state.burst_discount, state.burst_concentration = seats.draw_process_from_prior(rng)
    state.log_rest = -rng.exponential(size=N_TOPICS - 1) / state.gamma
    state.pi = sticks.weights_from_fractions(-np.expm1(state.log_rest))
    state.order = np.arange(N_TOPICS)
    if prior == "AA":
        state.tau = rng.dirichlet(np.ones(N_WORDS))
    sizes = laid_tables.seated(LENGTHS, state.process, rng)
    topic_prior = np.maximum(state.alpha * state.pi, 1e-300)
    lay(state, data, words, laid_tables.with_topics(sizes, topic_prior, rng), rng)
    for topic in range(N_TOPICS):
        shape = state.n_wk[:, topic] + state.word_mass * state.tau
        data.table[:, topic] = rng.dirichlet(np.maximum(shape, 1e-12))


def draw_words(state: Any, data: Blocks, words: Any, rng: np.random.Generator) -> None:
    """Draw sizes of tables given their numbers, and all words given topics; lay them out."""
    tables = laid_tables.unlaid(words, state.z, DOC_PTR, state.burst_discount, rng)
    lay(state, data, words, tables, rng)


def lay(
    state: Any, data: Blocks, words: Any, docs: laid_tables.Documents, rng: np.random.Generator
) -> None:
    """Write tables to slots, counts and the layout."""
    z, n_wk = np.zeros(len(words), np.int32), np.zeros((N_WORDS, N_TOPICS), np.int32)
    laid_tables.lay(docs, state.word_mass * state.tau, words, z, n_wk, rng)
    state.z[:] = z
    state.n_wk[:] = n_wk
    state.n_k[:] = n_wk.sum(axis=0)
    table = np.zeros((len(LENGTHS), N_WORDS), np.int32)
    np.add.at(table, (np.repeat(np.arange(len(LENGTHS)), LENGTHS), words), 1)
    of_docs, of_words = np.nonzero(table)
    bounds = np.searchsorted(of_docs, np.arange(len(LENGTHS) + 1)).astype(np.int64)
    laid: Any = lay_block(bounds, of_words.astype(np.int32), table[of_docs, of_words], N_WORDS)
    piece = data.pieces[0]
    assert isinstance(piece, Piece)
    columns: Any = (piece.word, piece.n_pairs, piece.doc, piece.n_tokens)
    for column, part in zip(columns, laid, strict=True):
        column[: part.size] = part
    piece.block_entry[1], piece.block_pair[1] = len(laid[0]), len(laid[2])


def measure(state: Any, data: Blocks, words: Any, settings: Any) -> list[float]:
    """Return the statistics, in the order of their names."""
    doc, there = np.repeat(np.arange(len(LENGTHS)), LENGTHS), state.z >= 0
    pair = doc * N_WORDS + words
    c, t = np.bincount(pair), np.bincount(pair, there)
    n_dk = np.zeros((len(LENGTHS), N_TOPICS))
    np.add.at(n_dk, (doc[there], state.z[there]), 1)
    topics = data.table[:, :N_TOPICS].astype(np.float64)
    of_topics = float(((topics / topics.sum(axis=0)) ** 2).sum())
    log_b = float(np.log(state.burst_concentration))
    log_joint = bursty_partial.objective(state, data, settings, at(0))
    return [
        state.alpha,
        state.gamma,
        state.word_mass,
        state.burst_discount,
        log_b,
        state.burst_discount * log_b,
        state.pi[state.order[0]],
        float(there.sum()),
        float((n_dk.sum(axis=1) ** 2).sum()),
        float((n_dk**2).sum()),
        float((state.n_k**2).sum()),
        float((state.n_wk**2).sum()),
        float((c**2).sum()),
        float((c * t).sum()),
        float((t > 1).sum()),
        float(np.log(state.word_mass) * of_topics),
        float(np.clip(log_joint, -100.0, 100.0)),
    ]


def exponentials(state: Any) -> list[float]:
    """Return what is Exp(1) under the prior."""
    rate = vars(seats)["BURST_PRIOR"].rate  # tests replace it in that module
    of_process = (rate * state.burst_concentration, -float(np.log(state.burst_discount)))
    return [state.alpha, state.gamma, state.word_mass, *of_process]
