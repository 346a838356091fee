"""The joint-distribution test of hdp-gibbs, partially collapsed.

Words are drawn anew given z, topics integrated out, and a document's tokens are then sorted by word
again, as the layout has them; their topics follow. That comes before the step and not after it:
words that fit z and the word mass would hide that these two do not fit each other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import joint
import numpy as np
from hdp_geweke import LENGTHS, N_TOPICS, N_WORDS, STATISTICS, exponentials
from joint import Outcome, Story
from stepping import SERIAL, at, begin, corpus_of, settings_of

from hiertopics.base.arrays import I32, I64, U8, U16
from hiertopics.contract.chains import chains
from hiertopics.contract.engine import Each, as_given
from hiertopics.families.flat import sticks
from hiertopics.families.hdp import partial
from hiertopics.families.hdp.block_layout import Blocks, Piece, lay_block, made_piece
from hiertopics.numeric.jit import kernel

DOC_PTR = np.concatenate([[0], np.cumsum(LENGTHS)])
FURTHER = ("topics squared", "log word mass times topics squared", "log alpha times n_dk squared")
"""The second sees topics that were drawn under another word mass than the state's."""


def joint_test(prior: str, *, n_replicates: int, n_rounds: int, seed: int = 0) -> Outcome:
    """Run the replicates under prior AS or AA."""
    keys = {"truncation": N_TOPICS, "prior": prior, "hyper_start": 0, "start": "random"}
    settings = settings_of(partial.backend, **keys)
    # A corpus whose layout has room for any words: each token is a pair of its own.
    full = corpus_of([np.bincount(np.arange(n) % N_WORDS, minlength=N_WORDS) for n in LENGTHS])
    state, data = begin(partial, full, settings)
    piece = data.pieces[0]
    piece = piece._replace(
        word=np.zeros(N_WORDS, np.int32),
        n_pairs=np.zeros(N_WORDS, np.int32),
        doc=np.zeros(DOC_PTR[-1], np.uint16),
        n_tokens=np.zeros(DOC_PTR[-1], np.uint8),
    )
    data = data._replace(pieces=(piece,))
    states = Each([state.local.state_of(0)])
    state.local = SERIAL.place(made_piece, data.pieces, as_given, states)

    def step(state: Any, data: Any, settings: Any, context: Any) -> Any:
        draw_words(state, data, context.rng("words of the test"))
        return partial.step(state, data, settings, context)

    story = Story(
        chains(replace(partial.one, step=step)),
        state,
        data,
        settings,
        names=(*STATISTICS, *FURTHER),
        begin=lambda state, rng: draw_from_prior(state, data, prior, rng),
        words=lambda state, rng: None,
        measure=lambda state: measure(state, data, settings),
        exponential_names=("alpha", "gamma", "word_mass", "stick"),
        exponentials=exponentials,
    )
    return joint.joint_test(story, n_replicates=n_replicates, n_rounds=n_rounds, seed=seed)


def draw_from_prior(state: Any, data: Blocks, prior: str, rng: np.random.Generator) -> None:
    """Draw everything from the model with Gamma(1, 1) priors on the concentrations."""
    state.alpha, state.gamma, state.word_mass = rng.exponential(size=3)
    # v ~ Beta(1, gamma), so that 1 - v is a uniform number to the power 1 / gamma.
    state.log_rest = -rng.exponential(size=N_TOPICS - 1) / state.gamma
    state.pi = sticks.weights_from_fractions(-np.expm1(state.log_rest))
    state.order = np.arange(N_TOPICS)
    if prior == "AA":
        state.tau = rng.dirichlet(np.ones(N_WORDS))
    z = np.zeros(DOC_PTR[-1], np.int32)
    n_dk = np.zeros((len(LENGTHS), N_TOPICS), np.int32)
    joint.draw_topics(DOC_PTR, np.tile(state.alpha * state.pi, (len(LENGTHS), 1)), z, n_dk, rng)
    state.z[:] = z
    state.n_k[:] = n_dk.sum(axis=0)
    draw_words(state, data, rng)
    for topic in range(N_TOPICS):
        shape = state.n_wk[:, topic] + state.word_mass * state.tau
        data.table[:, topic] = rng.dirichlet(np.maximum(shape, 1e-12))


def draw_words(state: Any, data: Blocks, rng: np.random.Generator) -> None:
    """Draw all words given their topics and lay them out."""
    words = np.zeros(len(state.z), np.int32)
    joint.draw_words(state.z.astype(np.int64), state.word_mass * state.tau, words, state.n_wk, rng)
    piece = data.pieces[0]
    assert isinstance(piece, Piece)
    lay_words(
        DOC_PTR,
        words,
        state.z,
        piece.word,
        piece.n_pairs,
        piece.doc,
        piece.n_tokens,
        piece.block_entry,
        piece.block_pair,
    )


@kernel()
def lay_words(
    doc_ptr: I64,
    drawn: I32,
    z: U16,
    word: I32,
    n_pairs: I32,
    doc_of: U16,
    n_tokens: U8,
    block_entry: I64,
    block_pair: I64,
) -> None:
    """Sort the tokens of each document by word and lay them out as one block."""
    ones = np.ones(len(drawn), np.int32)
    for doc in range(len(doc_ptr) - 1):
        for token in range(doc_ptr[doc] + 1, doc_ptr[doc + 1]):
            place = token
            while place > doc_ptr[doc] and drawn[place - 1] > drawn[place]:
                drawn[place - 1], drawn[place] = drawn[place], drawn[place - 1]
                z[place - 1], z[place] = z[place], z[place - 1]
                place -= 1
    words, pairs, docs, tokens = lay_block(doc_ptr, drawn, ones, N_WORDS)
    block_entry[1], block_pair[1] = len(words), len(docs)
    word[: len(words)] = words
    n_pairs[: len(words)] = pairs
    doc_of[: len(docs)] = docs
    n_tokens[: len(docs)] = tokens


def measure(state: Any, data: Blocks, settings: Any) -> list[float]:
    """Return the statistics, in the order of their names."""
    n_dk = np.zeros((len(LENGTHS), N_TOPICS), np.int64)
    np.add.at(n_dk, (np.repeat(np.arange(len(LENGTHS)), LENGTHS), state.z), 1)
    by_topic = state.n_wk.sum(axis=0)
    found = [
        state.alpha,
        state.gamma,
        state.word_mass,
        state.pi[state.order[0]],
        float((state.pi**2).sum()),
        float(np.exp(state.log_rest[-1])),
        float((by_topic > 0).sum()),
        float((n_dk**2).sum()),
        float((by_topic**2).sum()),
        float((state.n_wk**2).sum()),
        float((state.tau**2).sum()),
        # Clipped, because log(1 - v) has no mean under the prior.
        float(np.clip(partial.objective(state, data, settings, at(0)), -100.0, 100.0)),
    ]
    topics = data.table[:, :N_TOPICS].astype(np.float64)
    of_topics = float(((topics / topics.sum(axis=0)) ** 2).sum())
    further = (of_topics, np.log(state.word_mass) * of_topics, np.log(state.alpha) * found[7])
    return [*found, *map(float, further)]
