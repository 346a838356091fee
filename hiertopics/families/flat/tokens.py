"""Topics of tokens: shared code of the samplers of flat topics (theory/hdp 6).

A state has topics of tokens in pieces, ``local`` with z and n_dk, and the counts of words and
topics, which all pieces move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from hiertopics.base.arrays import I32, I64
from hiertopics.contract import Backend, Context, PerChain, Pieces, joined
from hiertopics.contract.chains import Chains, SettingsT, chains
from hiertopics.corpus.data.seedwords import NONE, Seeds
from hiertopics.families.flat import sampler_kernels, token_kernels as kernels
from hiertopics.families.flat.concentrations import CONCENTRATION_PRIOR, draw_concentration
from hiertopics.families.flat.layout import BlockInput, take_turns
from hiertopics.families.flat.summary import LIVE_TOKENS, merge_extra
from hiertopics.families.flat.token_kernels import TokenTopics

SeenT = TypeVar("SeenT")
DataT = TypeVar("DataT")


class FlatDraw(Protocol):
    """A draw of flat topics: n_k int64 [T], the tokens of each."""

    n_k: I64


class DrawInPieces(FlatDraw, Protocol):
    """A draw in pieces; n_wk: int32 [n_words, T]."""

    local: Pieces[Any, Any]
    n_wk: I32


DrawT = TypeVar("DrawT", bound=FlatDraw)
Recounted = Callable[[Any, Any, tuple[int, int]], tuple[bool, I32]]
Swept = tuple[Any, tuple[tuple[I32, ...], tuple[int, I64]]]
Visit = Callable[[Any, Any, BlockInput], Swept]


class PieceTopics:
    """Topics of tokens, or of tables, and counts of documents, which pieces keep."""

    local: Pieces[Any, Any]

    @property
    def z(self) -> I32:
        """The topics of all tokens [n_tokens]; of a single piece not a copy."""
        return joined(self.local, "z")

    @property
    def n_dk(self) -> I32:
        """The counts of all documents [n_docs, T]; of a single piece not a copy."""
        return joined(self.local, "n_dk")


class TokenSweepInput(NamedTuple):
    """Input of a block's sweep.

    n_k: int64 [T], totals of topics. prior: what the kernel takes of the priors. dense: whether
    each token looks at all topics. seating: what the kernel takes of tables, of bursty documents.
    """

    n_k: I64
    prior: Any
    dense: bool
    rng: np.random.Generator
    seating: tuple[Any, ...] = ()


def sweep(
    state: DrawInPieces, word_bounds: I64, visit: Visit, given: Callable[[int, int], Any]
) -> int:
    """Redraw the topics of all tokens, block by block; return how many moved.

    visit: a task that answers with the tokens that moved in a block and the change of the topic
    totals. given: what block (piece, word range) takes besides rows of n_wk.
    """
    total = 0
    for turn in range(state.local.n_pieces):
        answers = take_turns(state.local, visit, turn, (state.n_wk,), word_bounds, given)
        for moved, change in answers:
            total += moved
            state.n_k += change
    return total


def sweep_block(piece: Any, local: Any, block: BlockInput, prior: Any = None) -> Swept:
    """Sweep a block of flat topics. prior: of the piece; None: that of ``TokenSweepInput``."""
    dense = block.given.dense
    visit = sampler_kernels.sweep_block if dense else sampler_kernels.sweep_block_by_lists
    return swept_by(visit, piece, local, block, block.given.prior if prior is None else prior)


def swept_by(
    visit: Callable[..., int], piece: Any, local: Any, block: BlockInput, prior: Any
) -> Swept:
    """Sweep a block by a kernel; answer with the tokens that moved and the change of the totals."""
    (n_wk,), given = block.rows, block.given
    n_k = given.n_k.copy()
    tables = TokenTopics(local.z, local.n_dk, n_wk, n_k)
    moved = visit(piece.blocks, 0, block.number, tables, prior, given.rng, *given.seating)
    return local, (block.rows, (moved, n_k - given.n_k))


def draw_eta(n_wk: I32, n_k: I64, eta: float, rng: np.random.Generator) -> float:
    """Draw eta; the prior is on its total n_words eta, the concentration of a topic's words.

    n_wk: int32 [n_words, n_topics]. n_k: int64 [n_topics], tokens of each topic.
    """
    n_words = len(n_wk)
    n_tables = kernels.count_tables(n_wk, eta, rng)
    total = draw_concentration(eta * n_words, n_tables, n_k, CONCENTRATION_PRIOR, rng)
    return total / n_words


def miscounted(
    state: DrawInPieces,
    n_words: int,
    seeds: Seeds = NONE,
    topics: I64 | None = None,
    recounted: Recounted | None = None,
) -> str | None:
    """Return which counts of a draw are not those of its tokens, None where all are.

    seeds: tokens besides, in n_wk alone; topics: int64 [n_names], those of their names. recounted:
    the task of a piece that tells whether its n_dk is that of z, and its n_wk; None: every token
    has a topic.
    """
    n_wk = np.zeros((n_words, len(state.n_k)), np.int32)
    for same, part in state.local.ask(recounted or _recounted, n_wk.shape):
        if not same:
            return "n_dk does not count the tokens of its documents"
        n_wk += part
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    seeds.add_to(n_wk, topics)
    if not np.array_equal(n_wk, state.n_wk) or not np.array_equal(n_k, state.n_k):
        return "n_wk and n_k do not count the tokens"
    return None


def _recounted(piece: Any, local: Any, shape: tuple[int, int]) -> tuple[bool, I32]:
    return recounted_by(kernels.count_tokens, piece, local, shape)


def recounted_by(
    count: Callable[..., None], piece: Any, local: Any, shape: tuple[int, int]
) -> tuple[bool, I32]:
    """Tell whether n_dk of a piece equals the ``count`` of its z; return n_wk of that shape."""
    n_dk, n_wk = np.zeros((piece.n_docs, shape[1]), np.int32), np.zeros(shape, np.int32)
    count(piece.cells, local.z, n_dk, n_wk)
    return np.array_equal(n_dk, local.n_dk), n_wk


def renumber(state: DrawInPieces, order: I64) -> None:
    """Give topic ``order[k]`` the number k in all tokens and counts, in place."""
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order))
    state.local.step(_renumber, (number, order))
    kernels.take_columns(state.n_wk, order)
    state.n_k = state.n_k[order]


def _renumber(piece: Any, local: Any, given: tuple[I32, I64]) -> tuple[Any, None]:
    number, order = given
    kernels.renumber_tokens(local.z, number)
    kernels.take_columns(local.n_dk, order)
    return local, None


def in_chains(
    one: Backend[SeenT, DataT, DrawT, SettingsT],
) -> Backend[SeenT, DataT, Chains[DrawT], SettingsT]:
    """Return a one-chain sampler for several chains, compared by objective and used topics."""

    def per_chain(state: DrawT, data: DataT, settings: SettingsT, context: Context) -> PerChain:
        n_topics = int((state.n_k >= LIVE_TOKENS).sum())
        log_joint = one.objective(state, data, settings, context)
        return PerChain({"objective": [log_joint], "n_topics": [n_topics]})

    return chains(replace(one, per_chain=per_chain, merge_extra=merge_extra))
