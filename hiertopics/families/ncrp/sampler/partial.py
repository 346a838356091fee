"""hlda-gibbs, partially collapsed: topics are drawn, then documents move side by side.

In the spirit of J. Chen, J. Zhu, J. Lu, S. Liu (Scalable training of hierarchical topic models,
VLDB 2018), but exact. A sweep draws a random order of the documents, then does two Gibbs steps.

1. The earliest documents, a share SEATED of all, redraw path and levels one after the other with
   everything integrated out, as in the collapsed sweep. Here branches are born and die.
2. Given all paths and levels, topics and branch weights are drawn and held: at each node
   phi ~ Dirichlet(eta + n_w), and the weights of its children j with m_j documents, and of what
   is outside them, ~ Dirichlet(m_1, .., m_J, gamma). Then each later document draws theta given
   its levels, and path and levels together given theta, phi and weights. It may take the paths
   whose first document, in the order, comes before it; a path's first document keeps its path.

Why step 2 leaves the posterior as it is. Its choices change neither which paths there are nor
which document is the first on each, hence no document's choices: the step is a draw from the
conditional distribution on a set of states that is the same before and after. Within the set all
paths have documents, and there prod_j weight_j^(m_j - 1) weight_outside^(gamma - 1) has the
nested CRP as its marginal, so that given the weights documents are independent. What is drawn is
forgotten after the sweep: the state is that of the collapsed sampler.

Documents of step 2 are dealt out to shards, whose number changes the random numbers but not
the distribution.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F32, F64, I8, I32, I64
from hiertopics.contract import Context, stacked
from hiertopics.corpus.data.seedwords import NONE, Seeds
from hiertopics.families.flat.token_layout import Data, PieceDocuments, part_of
from hiertopics.families.ncrp.config import GibbsSettings as Settings
from hiertopics.families.ncrp.sampler import backend as collapsed, chain_kernels, partial_kernels
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Hyperparameters
from hiertopics.families.ncrp.sampler.chains import hold, is_held, visit
from hiertopics.families.ncrp.sampler.partial_kernels import PathTopics, draw_masses
from hiertopics.numeric.streams import ahead

SEATED = 0.3
"""Share of the documents that a sweep redraws with topics integrated out."""


class Shards(NamedTuple):
    """How the work of a sweep is dealt out: number of shards, and the context of the chain."""

    n_shards: int
    context: Context

    def parts(self, length: int, purpose: str) -> list[tuple[slice, np.random.Generator]]:
        """Return each shard of ``length`` items, with its own generator."""
        bounds = (np.arange(self.n_shards + 1) * length // self.n_shards).tolist()
        return [
            (slice(first, last), self.context.rng(purpose, shard))
            for shard, (first, last) in enumerate(pairwise(bounds))
        ]


def sweep(data: Data, chain: Chain, hyper: Hyperparameters, shards: Shards) -> Chain:
    """Redraw path and levels of each document; in place unless columns run out."""
    if data.n_docs == 0:
        return chain
    order = shards.context.rng("order").permutation(data.n_docs)
    n_seated = math.ceil(SEATED * data.n_docs)
    chain = visit(data, chain, hyper, order[:n_seated], shards.context.rng("sweep"))
    place = np.argsort(order)
    topics = draw_topics(chain, hyper, place, shards, data.seeds)
    redraw(data, chain, hyper, topics, np.sort(order[n_seated:]), place, shards)
    recount(data, chain)
    return chain


def draw_topics(
    chain: Chain, hyper: Hyperparameters, place: I64, shards: Shards, seeds: Seeds = NONE
) -> PathTopics:
    """Draw topics and branch weights given all paths and levels.

    place: int64 [n_docs], each document's place in the order. Those that names are come first.
    """
    n_words, rng = len(chain.n_wk), shards.context.rng("topics")
    path = list_paths(chain)
    first = np.where(is_held(seeds, chain), -1, len(place))
    np.minimum.at(first, chain.path[:, -1], place)
    log_weight = draw_log_weights(chain, hyper.gamma, rng)[path].sum(axis=1)
    node = np.flatnonzero(chain.visits > 0)
    key = int(rng.integers(2**63))
    drawn = shards.context.deal(
        _draw_masses,
        [
            TopicDrawInput(chain.n_wk[part], node, hyper.eta, key, part.start, own)
            for part, own in shards.parts(n_words, "words")
        ],
    )
    scale = (1.0 / np.sum([total for _, total in drawn], axis=0)).astype(np.float32)
    row = np.searchsorted(node, path.T)
    laid = shards.context.deal(_lay, [(mass, scale, row) for mass, _ in drawn])
    root, below = (stacked(rows) for rows in zip(*laid, strict=True))
    return PathTopics(path, first[path[:, -1]], log_weight, root, below)


class TopicDrawInput(NamedTuple):
    """Input of the draw of topics for some words. first: the number of the first word."""

    n_wk: I32
    node: I64
    eta: float
    key: int
    first: int
    rng: np.random.Generator


def _draw_masses(words: TopicDrawInput) -> tuple[F32, F64]:
    """Return masses [n_words, K], and their sums by node."""
    n_words, n_nodes = len(words.n_wk), len(words.node)
    mass = np.empty((n_words, n_nodes), np.float32)
    key = ahead(words.key, words.first * n_nodes)
    total = draw_masses(0, n_words, words.n_wk, words.node, words.eta, key, mass, words.rng)
    return mass, total


def _lay(message: tuple[F32, F32, I64]) -> tuple[F32, F32]:
    """Return the chances of some words at the root and below, of masses, their scale and nodes."""
    mass, scale, row = message
    n_words, (n_levels, n_paths) = len(mass), row.shape
    nothing = np.empty((n_paths, 0), np.int32), np.empty(0, np.int64), np.empty(0)
    topics = PathTopics(
        *nothing,
        np.empty(n_words, np.float32),
        np.empty((n_words, n_levels - 1, n_paths), np.float32),
    )
    partial_kernels.lay_topics(0, n_words, mass, scale, row, topics)
    return topics.root, topics.below


def list_paths(chain: Chain) -> I32:
    """Return the path to each leaf that has documents, int32 [P, L], ascending."""
    n_levels = chain.path.shape[1]
    leaf = chain.first[-2] + np.flatnonzero(chain.visits[chain.first[-2] :] > 0)
    path = np.empty((len(leaf), n_levels), np.int32)
    path[:, -1] = leaf
    for level in range(n_levels - 1, 0, -1):
        path[:, level - 1] = chain.parent[path[:, level]]
    return path


def draw_log_weights(chain: Chain, gamma: float, rng: np.random.Generator) -> F64:
    """Draw the log weight of each column among its siblings, 0 for the root, float64 [C]."""
    below = chain.visits > 0
    below[0] = False
    node = np.flatnonzero(below)
    weight = rng.standard_gamma(chain.visits[node])
    total = rng.standard_gamma(gamma, chain.first[-2])
    np.add.at(total, chain.parent[node], weight)
    log_weight = np.zeros(len(chain.visits))
    log_weight[node] = np.log(weight / total[chain.parent[node]])
    return log_weight


def redraw(
    data: Data,
    chain: Chain,
    hyper: Hyperparameters,
    topics: PathTopics,
    docs: I64,
    place: I64,
    shards: Shards,
) -> None:
    """Redraw path and levels of ``docs`` given topics; the tables of counts stay as they were."""
    number = np.searchsorted(topics.path[:, -1], chain.path[docs, -1])
    parts = shards.parts(len(docs), "documents")
    messages = []
    for part, rng in parts:
        own = docs[part]
        of_own = (chain.n_dl[own], place[own], number[part])
        messages.append(RedrawnDocuments(part_of(data, own), *of_own, hyper, topics, rng))
    for (part, _), (path, level) in zip(parts, shards.context.deal(_redraw, messages), strict=True):
        chain.path[docs[part]] = path
        partial_kernels.put_levels(docs[part], data.words, level, chain.level)


class RedrawnDocuments(NamedTuple):
    """Documents to be redrawn: n_dl [n, L]; places in the order and rows in ``topics`` [n]."""

    part: PieceDocuments
    n_dl: I32
    place: I64
    number: I64
    prior: Hyperparameters
    topics: PathTopics
    rng: np.random.Generator


def _redraw(documents: RedrawnDocuments) -> tuple[I32, I8]:
    """Return the new paths and levels of documents; they are drawn some documents at a time."""
    part, n_dl, place, number, prior, topics, rng = documents
    none, nowhere = np.empty(0, np.int32), np.empty(0, np.int64)
    path, level = topics.path[number], part.room.growing(np.int8)
    for inside, words in part.blocks():
        drawn = np.empty(words.token_ptr[-1], np.int8)
        tables = (none.reshape(0, 0), nowhere, none, none, nowhere)
        chain = Chain(path[inside], drawn, n_dl[inside], *tables)
        docs = np.arange(len(chain.path))
        rest = (place[inside], number[inside], words, chain, prior, topics, rng)
        partial_kernels.redraw(docs, *rest)
        level.append(drawn)
    return path, level.done()


def recount(data: Data, chain: Chain) -> None:
    """Bring the tables of counts in line with paths and levels."""
    chain.n_wk[:] = 0
    chain.n_dl[:] = 0
    chain_kernels.count_all(chain.path, chain.level, *data.words, chain.n_wk, chain.n_dl)
    chain.n_k[:] = chain.n_wk.sum(axis=0)
    chain.visits[:] = np.bincount(chain.path.ravel(), minlength=len(chain.visits))
    hold(data.seeds, chain)


def side_by_side(
    data: Data, chain: Chain, hyper: Hyperparameters, settings: Settings, context: Context
) -> Chain:
    """Redraw documents as the module says."""
    return sweep(data, chain, hyper, Shards(settings.inference.shards, context))


def held_by_sweep(settings: Settings) -> int:
    """Return the bytes of each word and node of topics by node and by path.

    Those of shards are there twice when they are put together.
    """
    times = 1 if settings.inference.shards == 1 else 2
    return int(4 * times * settings.model.depth)


one, backend = collapsed.sampler(side_by_side, held_by_sweep, remote_tasks=True)
