"""The partially collapsed sweep: topics are drawn, then documents move side by side.

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
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.token_layout import Data
from hiertopics.families.ncrp.sampler import joint_kernels, partial_kernels
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Prior
from hiertopics.families.ncrp.sampler.chains import visit
from hiertopics.families.ncrp.sampler.gamma_kernels import draw_masses
from hiertopics.families.ncrp.sampler.partial_kernels import Topics
from hiertopics.model import Context

Result = TypeVar("Result")

SEATED = 0.3
"""Share of the documents that a sweep redraws with topics integrated out."""


class Shards(NamedTuple):
    """How the work of a sweep of one chain is dealt out: number of shards, which chain, context.

    A single shard leaves the workers alone, so that they may spread chains instead.
    """

    n_shards: int
    chain: int
    context: Context

    def rng(self, purpose: str, *key: int) -> np.random.Generator:
        """Return the generator of this chain and iteration for ``purpose``."""
        return self.context.rng(purpose, self.chain, *key)

    def map(
        self, function: Callable[[slice, np.random.Generator], Result], length: int, purpose: str
    ) -> list[Result]:
        """Apply ``function`` to each shard of ``length`` things, with a generator of its own."""
        bounds = np.arange(self.n_shards + 1) * length // self.n_shards

        def apply(shard: int) -> Result:
            part = slice(int(bounds[shard]), int(bounds[shard + 1]))
            return function(part, self.rng(purpose, shard))

        if self.n_shards == 1:
            return [apply(0)]
        return self.context.map(apply, range(self.n_shards))


def sweep(data: Data, chain: Chain, prior: Prior, shards: Shards) -> Chain:
    """Redraw path and levels of each document; in place unless columns run out."""
    if data.n_docs == 0:
        return chain
    order = shards.rng("order").permutation(data.n_docs)
    n_seated = math.ceil(SEATED * data.n_docs)
    chain = visit(data, chain, prior, order[:n_seated], shards.rng("sweep"))
    place = np.argsort(order)
    topics = draw_topics(chain, prior, place, shards)
    redraw(data, chain, prior, topics, np.sort(order[n_seated:]), place, shards)
    recount(data, chain)
    return chain


def draw_topics(chain: Chain, prior: Prior, place: NDArray[np.int64], shards: Shards) -> Topics:
    """Draw topics and branch weights given all paths and levels.

    place: int64 [n_docs], each document's place in the order.
    """
    n_words, rng = len(chain.n_wk), shards.rng("topics")
    path = list_paths(chain)
    first = np.full(len(chain.visits), len(place))
    np.minimum.at(first, chain.path[:, -1], place)
    topics = Topics(
        path,
        first[path[:, -1]],
        draw_log_weights(chain, prior.gamma, rng)[path].sum(axis=1),
        np.empty(n_words, np.float32),
        np.empty((n_words, path.shape[1] - 1, len(path)), np.float32),
    )
    node = np.flatnonzero(chain.visits > 0)
    mass = np.empty((n_words, len(node)), np.float32)
    key = np.uint64(rng.integers(2**63))

    def draw(part: slice, rng: np.random.Generator) -> NDArray[np.float64]:
        return draw_masses(part.start, part.stop, chain.n_wk, node, prior.eta, key, mass, rng)

    scale = (1.0 / np.sum(shards.map(draw, n_words, "words"), axis=0)).astype(np.float32)
    row = np.searchsorted(node, path.T)

    def lay(part: slice, _: np.random.Generator) -> None:
        partial_kernels.lay_topics(part.start, part.stop, mass, scale, row, topics)

    shards.map(lay, n_words, "words")
    return topics


def list_paths(chain: Chain) -> NDArray[np.int32]:
    """Return the path to each leaf that has documents, int32 [P, L], ascending."""
    n_levels = chain.path.shape[1]
    leaf = chain.first[-2] + np.flatnonzero(chain.visits[chain.first[-2] :] > 0)
    path = np.empty((len(leaf), n_levels), np.int32)
    path[:, -1] = leaf
    for level in range(n_levels - 1, 0, -1):
        path[:, level - 1] = chain.parent[path[:, level]]
    return path


def draw_log_weights(chain: Chain, gamma: float, rng: np.random.Generator) -> NDArray[np.float64]:
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
    prior: Prior,
    topics: Topics,
    docs: NDArray[np.int64],
    place: NDArray[np.int64],
    shards: Shards,
) -> None:
    """Redraw path and levels of ``docs`` given topics; the tables of counts stay as they were."""
    number = np.searchsorted(topics.path[:, -1], chain.path[:, -1])

    def draw(part: slice, rng: np.random.Generator) -> None:
        partial_kernels.redraw(docs[part], place, number, data.words, chain, prior, topics, rng)

    shards.map(draw, len(docs), "documents")


def recount(data: Data, chain: Chain) -> None:
    """Bring the tables of counts in line with paths and levels."""
    chain.n_wk[:] = 0
    chain.n_dl[:] = 0
    joint_kernels.count_all(chain.path, chain.level, *data.words, chain.n_wk, chain.n_dl)
    chain.n_k[:] = chain.n_wk.sum(axis=0)
    chain.visits[:] = np.bincount(chain.path.ravel(), minlength=len(chain.visits))
