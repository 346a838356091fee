"""Every contract test runs over one backend, or over all of hiertopics' own and their variants."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hiertopics.corpus.data.corpus import Corpus
from hiertopics.testing.bench import ALL, Bench, Case, bench_of
from hiertopics.testing.chosen import cases_of
from hiertopics.testing.corpora import HARD, varied
from hiertopics.testing.processes import Processes


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make each test once for each case: a backend, and maybe a setting of it."""
    for name, promising in (("bench", False), ("promising", True)):
        if name in metafunc.fixturenames:
            cases = cases_of(metafunc.config, promising=promising)
            if metafunc.definition.get_closest_marker("as_users_do") and cases == ALL:
                cases = [("multinomial",)]
            for mark in metafunc.definition.iter_markers("of_those"):
                cases = [case for case in cases if mark.args[0](bench_of(case))]
            metafunc.parametrize(name, cases, indirect=True, ids=" ".join)


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Bench:
    """Return each backend in turn."""
    case: Case = request.param
    return bench_of(case)


@pytest.fixture
def promising(request: pytest.FixtureRequest) -> Bench:
    """Return each backend in turn, under settings that promise a bound as well."""
    case: Case = request.param
    return bench_of(case)


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
