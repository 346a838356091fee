"""Every contract test runs over every backend of the registry, and over its variants."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from backend_bench import ALL, HARD, Bench, bench_of, varied
from processes import Processes

from hiertopics.data.corpus import Corpus


@pytest.fixture(params=ALL, ids=" ".join)
def bench(request: pytest.FixtureRequest) -> Bench:
    """Return each backend of the registry in turn."""
    return bench_of(request.param)


@pytest.fixture(params=[pytest.param(corpus, id=name) for name, corpus in HARD.items()])
def hard_corpus(request: pytest.FixtureRequest) -> Corpus:
    """Return each corpus that is unlike any other in turn."""
    corpus: Corpus = request.param
    return corpus


@pytest.fixture(scope="session")
def processes() -> Iterator[Processes]:
    """Return an engine whose pieces live in other processes."""
    with Processes() as engine:
        yield engine


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    """Return a corpus whose documents differ in length and whose words differ in frequency."""
    return varied()
