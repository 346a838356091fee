"""Corpora, states and fits for the tests of the variational tree."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import stepping
from naive_variational import Q
from numpy.typing import ArrayLike
from stepping import at, corpus_of

from hiertopics.base.arrays import F64, I64
from hiertopics.contract import registry
from hiertopics.contract.model import AnyBackend, Settings
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.ncrp.variational import backend as variational, starts
from hiertopics.families.ncrp.variational.slot_kernels import DocumentPairs
from hiertopics.families.ncrp.variational.state import (
    Data,
    SlotProbabilities,
    State,
    lay_out,
    local_pass,
    place,
    refit,
)
from hiertopics.papers import ncrp_meanfield as meanfield

MODES = ("meanfield", "structured")
TREE = (-1, 0, 0, 0, 1, 1, 3)
"""Depth 3, the second child of the root without children."""

settings_of = partial(stepping.settings_of, variational)


def varied(seed: int = 4, n_docs: int = 6, n_words: int = 5) -> Corpus:
    """Return documents of very unequal lengths, one empty, one word many times in one of them."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(np.outer(np.linspace(0.3, 4, n_docs), rng.gamma(0.7, size=n_words)))
    counts[2] = 0
    counts[3, 1] = 40
    return corpus_of(counts)


def data_of(counts: ArrayLike, n_shards: int = 1) -> Data:
    """Return a dense count matrix laid out."""
    return lay_out(corpus_of(counts), n_shards)


def state_of(q: Q, n_shards: int = 1) -> State:
    """Return the package's state of naive factors; the rest of q is where it is best."""
    kind, n_nodes = (State if q.structured else meanfield.State), len(q.parent)
    state = kind(
        local=place(kind, data_of(q.counts, n_shards), at(0), q.tau.copy(), np.ones(n_nodes)),
        parent=np.array(q.parent, dtype=np.int32),
        stick_a=q.a.copy(),
        stick_b=q.b.copy(),
        lam=np.ascontiguousarray(q.lam.T),
        level_prior=q.prior.copy(),
        gamma=q.gamma,
        eta=q.eta,
        n_outside=0.0,
    )
    return replace(state, local=state.in_slots(q.chances.copy()))


def family(settings: Settings) -> AnyBackend:
    """Return the backend of these settings."""
    return registry.load("hlda-variational", inference=settings.inference)


def exact_sweep(state: State, rounds: int = 1) -> None:
    """Do one sweep with float64 tables."""
    refit(state, local_pass(state, rounds, dtype=np.float64))


def fitted(corpus: Corpus, settings: Settings, seed: int, iterations: int) -> tuple[State, Data]:
    """Return the state after ``init`` and some steps."""
    state, data = stepping.begin(family(settings), corpus, settings, seed=seed)
    return stepping.advance(variational, state, data, settings, iterations, seed=seed), data


def bound(state: State, data: Data) -> float:
    """Return the evidence lower bound."""
    return variational.objective(state, data, settings_of(), at(0))


def planted(seed: int, n_docs: int, level_prior: Any = (5.0, 5.0, 5.0)) -> tuple[Corpus, I64, I64]:
    """Return the planted tree of T10: counts, each document's (branch, leaf), tokens by level.

    1 root, 3 children with 2 leaves each; topics live on blocks of 12, 8 and 4 words of 60.
    """
    rng = np.random.default_rng(seed)
    topics, first = [], 0
    for size in (12, *[8] * 3, *[4] * 6):
        topic = np.full(60, 0.01)
        topic[first : first + size] += 1.0
        topics.append(topic / topic.sum())
        first += size
    leaf = rng.integers(6, size=n_docs)
    branch = np.column_stack([leaf // 2, leaf])
    by_level = np.zeros((n_docs, 60, 3), dtype=np.int64)
    for doc in range(n_docs):
        tokens = rng.multinomial(60, rng.dirichlet(level_prior))
        nodes = (0, 1 + branch[doc, 0], 4 + leaf[doc])
        for level, node in enumerate(nodes):
            by_level[doc, :, level] = rng.multinomial(tokens[level], topics[node])
    return corpus_of(by_level.sum(axis=2)), branch, by_level


def adjusted_rand(first: ArrayLike, second: ArrayLike) -> float:
    """Return the adjusted Rand index of two labellings."""
    table = np.zeros((100, 100))
    np.add.at(table, (np.asarray(first), np.asarray(second)), 1)

    def pairs(x: np.ndarray) -> float:
        return float((x * (x - 1) / 2).sum())

    together, total = pairs(table), pairs(table.sum(keepdims=True))
    rows, columns = pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = rows * columns / total
    return (together - expected) / ((rows + columns) / 2 - expected)


def best_leaves(state: State, data: Data) -> I64:
    """Return the most probable slot of each document."""
    return state.best_slots()


def slot_chances(state: State) -> F64:
    """Return q of slots of all documents, [n_docs, n_nodes]."""
    return np.concatenate(state.local.ask(_chances, state.weighing()))


def _chances(piece: DocumentPairs, local: Any, weighing: SlotProbabilities) -> F64:
    return np.concatenate(list(weighing.blocks(piece, local)))


def seated(branch: I64, by_level: I64, data: Data, settings: Settings) -> State:
    """Return the state of documents on paths [n_docs, depth - 1], their tokens [n_docs, n_words,
    depth] on levels.
    """
    doc = np.repeat(np.arange(data.n_docs), np.diff(data.cells.ptr))
    levels = by_level[doc, data.cells.word].astype(np.int32)
    tree, kind = starts.from_assignment(branch, levels, data, settings), family(settings).State
    return starts.state_of(cast("type[State]", kind), tree, data, settings, at(0))
