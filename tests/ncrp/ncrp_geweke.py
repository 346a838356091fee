"""The joint-distribution test of hlda-gibbs, through its own ``step``."""

from __future__ import annotations

from typing import Any

import joint
import numpy as np
from joint import Outcome, Story
from stepping import at, begin, corpus_of, settings_of

from hiertopics.base.arrays import F64
from hiertopics.contract.model import Settings
from hiertopics.contract.registry import load
from hiertopics.corpus.data.seedwords import NONE, Seeds
from hiertopics.families.flat.token_layout import Data
from hiertopics.families.ncrp.sampler import backend as gibbs, chains, hyperparameters
from hiertopics.families.ncrp.sampler.chain_kernels import Hyperparameters
from hiertopics.families.ncrp.sampler.chains import recounted
from hiertopics.families.nested.simulate import draw_tree

LENGTHS = (6, 5, 4, 4, 1, 0)
N_WORDS, DEPTH = 3, 3
LEVEL_MEAN = 10.0
"""Of each entry of the level prior, which is exponential."""

STATISTICS = (
    "log gamma",
    "log eta",
    "log of the first level's prior",
    "log of the last level's prior",
    "gamma by inner nodes",
    "eta by pairs of words",
    "leaves",
    "nodes of the second level",
    "1 and 2 on one path",
    "1 and 2 at one node of the second level",
    "visits squared",
    "n_dl squared",
    "n_dl of the last level",
    "n_wk squared",
    "n_k squared",
    "n_wk squared of leaves",
    "log joint",
)


def joint_test(
    *, n_replicates: int, n_rounds: int = 6, seed: int = 0, seeds: Seeds = NONE, **keys: Any
) -> Outcome:
    """Run the replicates under settings; all hyperparameters are drawn, and so are seed words."""
    settings = settings_of(gibbs, depth=DEPTH, start="sequential", burn_in=0, hold=(), **keys)
    state, _ = begin(gibbs, corpus_of([[length, 0, 0] for length in LENGTHS]), settings)
    data = joint.room_for_words(LENGTHS, N_WORDS)._replace(seeds=seeds)
    backend: Any = load("hlda-gibbs", inference=settings.inference)
    story = Story(
        backend,
        state,
        data,
        settings,
        names=STATISTICS,
        begin=lambda state, rng: draw_from_prior(state, data, rng),
        words=lambda state, rng: draw_words(state, data, rng),
        measure=lambda state: measure(state, data, settings),
        exponential_names=("gamma", "eta", "first level's prior", "last level's prior"),
        exponentials=exponentials,
    )
    return joint.joint_test(story, n_replicates=n_replicates, n_rounds=n_rounds, seed=seed)


def draw_from_prior(state: Any, data: Data, rng: np.random.Generator) -> None:
    """Draw everything from the model."""
    gamma, eta = np.maximum(rng.exponential(size=2), hyperparameters.LOWEST).tolist()
    prior = Hyperparameters(rng.exponential(LEVEL_MEAN, DEPTH), gamma, eta)
    n_held = len(data.seeds.names)
    _, path = draw_tree(len(LENGTHS), DEPTH, prior.gamma, rng, n_held)
    slot = np.stack([np.unique(nodes, return_inverse=True)[1] for nodes in path.T], axis=1)
    # Those that are held come first at their level, and have its first slots.
    held = (path > 0) & (path <= n_held * (DEPTH - 1))
    slot[:, 1:] += n_held
    slot[held] = (path[held] - 1) % max(n_held, 1)
    weights = rng.dirichlet(prior.level, len(LENGTHS))
    level = np.concatenate(
        [
            rng.choice(DEPTH, size=length, p=weight)
            for length, weight in zip(LENGTHS, weights, strict=True)
        ]
    ).astype(np.int8)
    # Any words will do: they are drawn next.
    joint.lay_words(np.array(LENGTHS), np.zeros(len(level), np.int32), level, N_WORDS, data.words)
    chain = recounted(data, slot.astype(np.int32), level)
    vars(state).update(vars(chains.begin(chain, prior)))
    draw_words(state, data, rng)


def draw_words(state: Any, data: Data, rng: np.random.Generator) -> None:
    """Draw all words given paths and levels, nodes' topics integrated out."""
    doc = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    chain = state.chain
    node = np.append(chain.path[doc, chain.level], chain.first[1] + data.seeds.name)
    words = np.empty(len(node), np.int32)
    joint.draw_words(
        node.astype(np.int32), np.full(N_WORDS, state.prior.eta), words, chain.n_wk, rng
    )
    data.seeds.word[:] = words[data.n_tokens :]
    words = words[: data.n_tokens]
    joint.lay_words(np.array(LENGTHS), words, chain.level, N_WORDS, data.words)


def measure(state: Any, data: Data, settings: Settings) -> list[float]:
    """Return the statistics, in the order of their names."""
    level, gamma, eta = state.prior
    chain = state.chain
    first, path, visits = chain.first, chain.path, chain.visits
    squares = (chain.n_wk.astype(float) ** 2).sum(axis=0)
    n_leaves = float((visits[first[2] :] > 0).sum())
    n_second = float((visits[first[1] : first[2]] > 0).sum())
    return [
        float(np.log(gamma)),
        float(np.log(eta)),
        float(np.log(level[0])),
        float(np.log(level[2])),
        float(np.log(gamma)) * (n_second + n_leaves),
        float(np.log(eta)) * float(squares.sum()),
        n_leaves,
        n_second,
        float(path[0, 2] == path[1, 2]),
        float(path[0, 1] == path[1, 1]),
        float((visits.astype(float) ** 2).sum()),
        float((chain.n_dl.astype(float) ** 2).sum()),
        float(chain.n_dl[:, 2].sum()),
        float(squares.sum()),
        float((chain.n_k.astype(float) ** 2).sum()),
        float(squares[first[2] :].sum()),
        gibbs.objective(state, data, settings, at(0)),
    ]


def exponentials(state: Any) -> F64:
    """Return what is Exp(1) under the prior."""
    level = state.prior.level / LEVEL_MEAN
    return np.array([state.prior.gamma, state.prior.eta, level[0], level[2]])
