"""Several starts, of which the most probable goes on; and the best draw after the burn-in.

The first ``restarts * restart_iterations`` iterations are tries of equal length, each from a new
sequential start. The one with the highest mean log joint over its second half goes on from where
it ended (C. Wang, D. Blei, NIPS 2009, keep the best of 200 trajectories).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hiertopics.families.flat.token_layout import Data
from hiertopics.families.ncrp.sampler.chains import recounted
from hiertopics.families.ncrp.sampler.state import Draw, Walk


def begins(schedule: Any, iteration: int) -> bool:
    """Return whether ``iteration`` is the first of a try other than the first try."""
    place, step = divmod(iteration - 1, schedule.restart_iterations)
    return 0 < place < schedule.restarts and step == 0


def remember(walk: Walk, data: Data, score: float, schedule: Any, iteration: int) -> Walk:
    """Return the walk after an iteration whose draw has the log probability ``score``.

    It takes notice of the try, of a best draw after ``burn_in``, and goes over to the best try
    at the end of the last.
    """
    place, step = divmod(iteration - 1, schedule.restart_iterations)
    if schedule.restarts > 1 and place < schedule.restarts:
        return _after_try(walk, data, score, schedule, place, step)
    if iteration > schedule.burn_in and score > walk.best.log_joint:
        return walk._replace(best=_drawn(walk, score))
    return walk


def _after_try(walk: Walk, data: Data, score: float, schedule: Any, place: int, step: int) -> Walk:
    first, last = schedule.restart_iterations // 2, schedule.restart_iterations - 1
    if step >= first:
        walk = walk._replace(try_sum=walk.try_sum + score)
    if step < last:
        return walk
    mean = walk.try_sum / (last + 1 - first)
    walk = walk._replace(try_sum=0.0)
    if mean > walk.best_try:
        walk = walk._replace(best_try=mean, best=_drawn(walk, -np.inf))
    if place < schedule.restarts - 1:
        return walk
    chain = recounted(data, walk.best.slot, walk.best.level)
    return walk._replace(chain=chain, prior=walk.best.prior)


def _drawn(walk: Walk, log_joint: float) -> Draw:
    slot = walk.chain.path - walk.chain.first[:-1].astype(np.int32)
    return Draw(slot, walk.chain.level.copy(), walk.prior, log_joint)
