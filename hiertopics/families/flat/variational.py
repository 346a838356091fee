"""What the collapsed variational HDP methods share: their tables, sweep and recount."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hiertopics.data.corpus import Corpus
from hiertopics.errors import NumericalError
from hiertopics.families.flat import kernels, moments
from hiertopics.families.flat.kernels import Prior, Tables
from hiertopics.families.flat.layout import Data, lay_out, rounds
from hiertopics.model import Context, Settings

RECOUNT_EVERY = 10
MAX_DRIFT = 1e-3


@dataclass
class Responsibilities:
    """q(z) and the expected counts that follow from it; the base of every variational state.

    resp [n_pairs, T], n_dk [n_docs, T], n_wk [n_words, T]: float32 in use. n_k: float64 [T].
    """

    resp: NDArray[np.floating]
    n_dk: NDArray[np.floating]
    n_wk: NDArray[np.floating]
    n_k: NDArray[np.float64]

    @property
    def n_topics(self) -> int:
        """The truncation T."""
        return len(self.n_k)


def prepare(corpus: Corpus, settings: Settings) -> Data:
    """Lay the corpus out in pairs."""
    return lay_out(corpus, settings.inference.shards)


def start(
    data: Data, n_topics: int, context: Context, dtype: DTypeLike = np.float32
) -> Responsibilities:
    """Return q proportional to 0.1 + u, u uniform on [0, 1] (theory/hdp 3.5), and its counts."""
    resp = np.empty((len(data.cells.word), n_topics), dtype)
    context.rng("init").random(dtype=resp.dtype.type, out=resp)
    resp += 0.1
    resp /= resp.sum(axis=1, keepdims=True)
    state = Responsibilities(
        resp,
        np.zeros((data.n_docs, n_topics), dtype),
        np.zeros((data.n_words, n_topics), dtype),
        np.zeros(n_topics),
    )
    recount(state, data, context)
    return state


def sweep(
    state: Responsibilities, data: Data, prior: Prior, context: Context, *, indicators: bool
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Visit every pair once, block by block; return the indicator tables seen_dk and seen_wk.

    Without ``indicators`` these have no columns. Raises NumericalError naming the document.
    """
    n_topics = state.n_topics if indicators else 0
    seen_dk = np.zeros((data.n_docs, n_topics), state.n_dk.dtype)
    seen_wk = np.zeros((data.n_words, n_topics), state.n_wk.dtype)
    tables = Tables(state.resp, state.n_dk, state.n_wk, seen_dk, seen_wk)

    def visit(block: tuple[int, int]) -> NDArray[np.float64]:
        n_k = state.n_k.copy()
        bad_doc = kernels.sweep_block(data.cells, *block, tables, n_k, prior)
        if bad_doc >= 0:
            raise NumericalError(f"the topic weights of document {bad_doc} are not finite")
        return n_k - state.n_k

    for blocks in rounds(data.cells.n_shards):
        for moved in context.map(visit, blocks):
            state.n_k += moved
    return seen_dk, seen_wk


def recount_now_and_then(state: Responsibilities, data: Data, context: Context) -> float:
    """Recount at every tenth iteration, so that a resumed run does it at the same ones."""
    return recount(state, data, context) if recount_is_due(context) else 0.0


def recount_is_due(context: Context) -> bool:
    """Tell whether this iteration ends with a recount."""
    return context.iteration % RECOUNT_EVERY == 0


def recount(state: Responsibilities, data: Data, context: Context) -> float:
    """Rebuild the counts from q(z); return the largest relative drift of n_k that this undid.

    float32 counts that are only ever moved drift (theory/hdp 9.3). Raises NumericalError above
    ``MAX_DRIFT`` of the tokens.
    """
    state.n_dk[:] = 0
    state.n_wk[:] = 0
    empty = np.zeros((0, 0), state.n_dk.dtype)
    tables = Tables(state.resp, state.n_dk, state.n_wk, empty, empty)
    for blocks in rounds(data.cells.n_shards):
        context.map(lambda block: kernels.recount_block(data.cells, *block, tables), blocks)
    before = state.n_k.copy()
    state.n_k[:] = state.n_dk.sum(axis=0, dtype=np.float64)
    n_tokens = max(float(data.doc_lengths.sum()), 1.0)
    drift = float(np.abs(state.n_k - before).max(initial=0.0) / n_tokens)
    if before.any() and drift > MAX_DRIFT:
        raise NumericalError(f"the topic counts drifted by {drift:.1e} of the tokens")
    return drift


def spread(
    state: Responsibilities, data: Data, context: Context
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Return Var[n_dk] [n_docs, T] and Var[n_wk] [n_words, T] under q(z)."""
    var_dk, var_wk = np.zeros_like(state.n_dk), np.zeros_like(state.n_wk)

    def of_block(block: tuple[int, int]) -> None:
        moments.spread_block(data.cells, *block, state.resp, var_dk, var_wk)

    for blocks in rounds(data.cells.n_shards):
        context.map(of_block, blocks)
    return var_dk, var_wk


def memory(corpus: Corpus, settings: Settings) -> int:
    """Return the bytes of responsibilities, counts and indicators in float32."""
    n_topics = int(settings.model.truncation)
    return 4 * n_topics * (corpus.n_pairs + 2 * corpus.n_docs + 2 * corpus.n_words)
