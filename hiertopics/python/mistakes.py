"""Arguments that ``fit`` has not, and what sets them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from inspect import signature
from typing import Any

from hiertopics.settings.config import DataConfig
from hiertopics.settings.layers import LEVELS, SIZES

OTHERS = {"random_state": "seed", "n_jobs": "workers", "max_iter": "iterations", "output": "run"}
"""Arguments by what other packages call them."""


def unknown_argument(function: Any, given: Mapping[str, Any]) -> str:
    """Return a line on the first argument that ``fit`` does not take, with what does the same."""
    name, value = next(iter(given.items()))
    told = _meant(name, value, signature(function).parameters)
    return f"{function.__name__} takes no {name!r}: {told}"


def _meant(name: str, value: Any, known: Iterable[str]) -> str:
    if name in SIZES:
        return f"overrides={{'model.truncation': {value!r}}} sets the largest number of topics"
    if name in LEVELS:
        return "overrides={'model.branches': [8, 30]} sets the nodes of each level of a tree"
    if name in {field.rstrip("_") for field in DataConfig.__struct_fields__}:
        return f"data={{{name!r}: {value!r}}} sets it"
    if name in OTHERS:
        return f"it is {OTHERS[name]}"
    near = get_close_matches(name, [*known], n=1)
    return f"did you mean {near[0]!r}?" if near else "settings go into overrides={'model.eta': 0.1}"
