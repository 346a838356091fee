"""What the tests of the Python side share: a quick fit of the tiny corpus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hiertopics as ht
from hiertopics.python.run import Run

QUICK: dict[str, Any] = {
    "backend": "hdp-pcvb0",
    "overrides": {"model.truncation": 5, "output.record_every": 2, "inference.hyper_start": 2},
    "iterations": 8,
    "holdout": "docs:0.2@0",
}


@pytest.fixture(scope="session")
def fit_quick(tiny_file: Path) -> Callable[..., Run]:
    """Return a function that fits the tiny corpus, or another one, with few iterations."""

    def fit(corpus: Any = tiny_file, **others: Any) -> Run:
        return ht.fit(corpus, **{**QUICK, **others})

    return fit


@pytest.fixture(scope="module")
def quick(fit_quick: Callable[..., Run]) -> Run:
    """Return a run of the tiny corpus; do not go on with it."""
    return fit_quick()
