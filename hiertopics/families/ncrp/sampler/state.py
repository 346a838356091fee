"""The sampler's state, what is kept of a draw, and starts of which the most probable goes on.

The first ``restarts * restart_iterations`` iterations are tries of equal length, each from a new
sequential start. The one with the highest mean log joint over its second half goes on from where
it ended (C. Wang, D. Blei, NIPS 2009, keep the best of 200 trajectories).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.chains import Chains
from hiertopics.families.flat.token_layout import Data
from hiertopics.families.ncrp.config import GibbsInference
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Prior
from hiertopics.families.ncrp.sampler.chains import recounted
from hiertopics.states import Arrays

COUNTED = ("n_dl", "n_wk", "n_k", "parent", "visits")
"""What follows from paths and levels."""


class Tries(NamedTuple):
    """Where the leading try ended: path as slots, level and prior; none yet: without documents.

    best: its mean log joint, -inf: none yet. total: that of the try at hand, summed so far.
    """

    slot: NDArray[np.int32]
    level: NDArray[np.int8]
    prior: Prior
    best: float = -np.inf
    total: float = 0.0


@dataclass
class State:
    """One draw: paths, levels and their counts, and the hyperparameters; the tries before it."""

    chain: Chain
    prior: Prior
    tries: Tries


def begin(chain: Chain, prior: Prior, tries: Tries | None = None) -> State:
    """Return the state of a chain; ``tries``: those before, none where it is the first."""
    return State(chain, prior, tries or Tries(chain.path[:0], chain.level[:0], prior))


def keep(state: State) -> State:
    """Return paths, levels and hyperparameters, all counts left out."""
    chain = state.chain
    counts = {name: getattr(chain, name)[:0].copy() for name in COUNTED}
    kept = chain._replace(path=chain.path.copy(), level=chain.level.copy(), **counts)
    return begin(kept, state.prior)


def revive(kept: State, data: Data) -> State:
    """Return the state that was kept, everything counted afresh."""
    return begin(recounted(data, slots(kept.chain), kept.chain.level), kept.prior)


def slots(chain: Chain) -> NDArray[np.int32]:
    """Return paths [n_docs, L], columns counted from the first of their level.

    That stays when levels get wider.
    """
    return chain.path - chain.first[:-1].astype(np.int32)


def begins(schedule: GibbsInference, iteration: int) -> bool:
    """Return whether ``iteration`` is the first of a try other than the first try."""
    place, step = divmod(iteration - 1, schedule.restart_iterations)
    return 0 < place < schedule.restarts and step == 0


def tried(
    state: State, data: Data, score: float, schedule: GibbsInference, iteration: int
) -> State:
    """Return the state after an iteration whose draw has the log probability ``score``.

    The best try goes on at the end of the last one.
    """
    place, step = divmod(iteration - 1, schedule.restart_iterations)
    if schedule.restarts == 1 or place >= schedule.restarts:
        return state
    tries, first = state.tries, schedule.restart_iterations // 2
    if step >= first:
        tries = tries._replace(total=tries.total + score)
    if step == schedule.restart_iterations - 1:
        mean = tries.total / (schedule.restart_iterations - first)
        tries = tries._replace(total=0.0)
        if mean > tries.best:
            tries = Tries(slots(state.chain), state.chain.level.copy(), state.prior, mean)
        if place == schedule.restarts - 1:
            return begin(recounted(data, tries.slot, tries.level), tries.prior)
    return begin(state.chain, state.prior, tries)


def before(arrays: Arrays, settings: object) -> Chains[State]:
    """Return the chains of a checkpoint that held them one after the other along the first axis.

    There the leading try was where the best draw is, whose log joint was then -inf.
    """
    n_chains = len(arrays["gamma"])
    parts = {name: np.split(array, n_chains) for name, array in arrays.items() if name != "first"}

    def prior(prefix: str, chain: int) -> Prior:
        level, gamma, eta = (
            parts[prefix + name][chain][0] for name in ("level_prior", "gamma", "eta")
        )
        return Prior(level, float(gamma), float(eta))

    now, best = [], []
    for number in range(n_chains):
        counts = {name: parts[name][number] for name in Chain._fields[:-1]}
        chain, slot = Chain(**counts, first=arrays["first"]), parts["best_slot"][number]
        level, drawn = parts["best_level"][number], prior("best_", number)
        numbers = (float(parts[name][number][0]) for name in ("best_try", "try_sum"))
        now.append(State(chain, prior("", number), Tries(slot, level, drawn, *numbers)))
        relative = chain._replace(path=slot, level=level, first=np.zeros_like(chain.first))
        best.append(keep(State(relative, drawn, now[-1].tries)))
    scores = np.array(arrays["best_log_joint"])
    return Chains(now, best if np.isfinite(scores).all() else [], scores)
