"""A scheduler with two workers, for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from crews import Crew
from distributed import Client, LocalCluster

from hiertopics.contract.cluster.coordinator import Cluster


@pytest.fixture(scope="module")
def crew() -> Iterator[Crew]:
    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=50) as local:
        opened = Crew(local.scheduler_address)
        yield opened
        opened.end()


@pytest.fixture
def client(crew: Crew) -> Iterator[Client]:
    crew.complete()
    with Client(crew.scheduler) as opened:
        opened.wait_for_workers(2, timeout=120)
        yield opened


@pytest.fixture
def engine(client: Client) -> Iterator[Cluster]:
    opened = Cluster(client)
    yield opened
    opened.close()
