"""The generative story of tree-structured stick breaking (spec tssb sections 1 to 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hiertopics.families.tssb import binary_story, text_story
from hiertopics.families.tssb.config import process_bounds
from hiertopics.families.tssb.layout import Process
from hiertopics.model import Context, Settings, Sizes


def simulate(settings: Settings, sizes: Sizes, context: Context) -> tuple[Any, Mapping[str, Any]]:
    """Draw data under the config's values, the middles of ranges, sticks integrated out."""
    model = settings.model
    return STORIES[model.likelihood](model, sizes, middle(model), context.rng("simulate"))


STORIES: dict[str, Callable[..., tuple[Any, Mapping[str, Any]]]] = {
    "text": text_story.simulate,
    "binary": binary_story.simulate,
}


def middle(model: Any) -> Process:
    """Return the process at the middle of its ranges."""
    alpha0, decay, gamma = (sum(ends) / 2 for ends in process_bounds(model))
    return Process(alpha0, decay, gamma, model.max_depth)
