"""The generative story of tree-structured stick breaking (theory/tssb 1 to 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hiertopics.families.tssb import binary_story, text_story
from hiertopics.families.tssb.config import ends, process_bounds
from hiertopics.families.tssb.layout import Process
from hiertopics.model import NONE_DRAWN, Context, Hyperparameters, Settings, Sizes


def simulate(
    settings: Settings, sizes: Sizes, context: Context, drawn: Hyperparameters = NONE_DRAWN
) -> tuple[Any, Mapping[str, Any]]:
    """Draw data under the config's values, the middles of ranges, sticks integrated out.

    drawn: alpha0, decay, gamma, kappa and variance [P] where they are not those.
    """
    model = settings.model
    between = middle(model)
    alpha0, decay, gamma = (float(drawn.get(name, getattr(between, name))) for name in PROCESS)
    process = Process(alpha0, decay, gamma, model.max_depth)
    return STORIES[model.likelihood](model, sizes, process, context.rng("simulate"), drawn)


def draw_hyperparameters(settings: Settings, sizes: Sizes, context: Context) -> Hyperparameters:
    """Draw from their uniform priors what the config gives ranges for.

    That is alpha0, decay, gamma, and kappa for text, variance [n_words] for rows of 0 and 1.
    """
    model, rng = settings.model, context.rng("hyperparameters")
    of_nodes = {"text": ("kappa", ()), "binary": ("variance", (sizes.n_words,))}
    shapes = {**dict.fromkeys(PROCESS, ()), **dict([of_nodes[model.likelihood]])}
    drawn = {}
    for name, shape in shapes.items():
        low, high = ends(getattr(model, name))
        if low < high:
            drawn[name] = np.asarray(rng.uniform(low, high, shape))
    return drawn


PROCESS = ("alpha0", "decay", "gamma")
STORIES: dict[str, Callable[..., tuple[Any, Mapping[str, Any]]]] = {
    "text": text_story.simulate,
    "binary": binary_story.simulate,
}


def middle(model: Any) -> Process:
    """Return the process at the middle of its ranges."""
    alpha0, decay, gamma = (sum(ends) / 2 for ends in process_bounds(model))
    return Process(alpha0, decay, gamma, model.max_depth)
