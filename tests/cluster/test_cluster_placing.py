"""New documents placed and scored in processes of a Dask cluster: the bytes of one process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crews import ITERATIONS, Crew, die_at_the_next_order, fitted, home_of, load_of, seen_in
from distributed import Client
from scipy import sparse
from tiny import small_settings

from hiertopics.base.errors import UsageError
from hiertopics.contract.cluster import coordinator
from hiertopics.contract.cluster.coordinator import Cluster, WorkersLost
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.shards import write_bags
from hiertopics.fitting.driver import fit
from hiertopics.runs import placing as where_placed
from hiertopics.runs.newdocs import infer
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.evaluation import evaluate

PLACED = (
    "hdp-gibbs",
    "nhdp-variational",
    "hlda-gibbs",
    "hlda-variational",
    "chdp-variational",
    "tssb-mcmc",
    "hca-variational",
)
"""A backend for each way to place new documents."""


@pytest.fixture(scope="module", params=PLACED)
def placing(
    request: pytest.FixtureRequest,
    file_for: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> RunDir:
    """Return a run with documents put aside; a sampler's keeps three draws."""
    kept = ("inference.burn_in=2", "inference.keep_every=2")
    draws = kept if request.param in ("hdp-gibbs", "hlda-gibbs", "tssb-mcmc") else ()
    return fit(
        file_for(request.param),
        run=tmp_path_factory.mktemp("placing") / request.param,
        backend=request.param,
        overrides=(*small_settings(request.param), *draws),
        iterations=ITERATIONS,
        holdout="docs:0.4@0",
    ).run


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_a_cluster_places_documents_with_the_same_bytes(
    placing: RunDir, suffix: str, tmp_path: Path, client: Client
) -> None:
    places: dict[str, dict[str, Any]] = {
        "here": {"workers": 2},
        "there": {"cluster": client.scheduler.address},
    }
    for name, place in places.items():
        infer(placing, placing.experiment.data.corpus, tmp_path / f"{name}{suffix}", **place)
    found = [(tmp_path / f"{name}{suffix}").read_bytes() for name in places]
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("average", [False, True])
def test_a_cluster_scores_with_the_same_bytes(
    placing: RunDir, average: bool, client: Client
) -> None:
    if average and not placing.n_draws:
        with pytest.raises(UsageError, match="kept no draws|has no meaning"):
            evaluate(placing, average=True, cluster=client.scheduler.address)
        return
    kept: list[Any] = []
    for place in ({"workers": 2}, {"cluster": client.scheduler.address}):
        record = evaluate(placing, average=average, **place)
        files = sorted((placing.path / "eval").glob("*.npz"))
        kept.append((record, [file.read_bytes() for file in files]))
        for file in files:
            file.unlink()
    assert kept[0] == kept[1] and kept[0][1]


@pytest.mark.slow
def test_shards_are_placed_on_a_cluster_block_by_block(
    tiny_file: Path, tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fitted(tiny_file, tmp_path / "run", "hdp-cvb0").run
    rows = np.random.default_rng(0).poisson(1.0, (40, len(run.vocab)))
    write_bags(Corpus(sparse.csr_array(rows), run.vocab), tmp_path / "a.shards")
    monkeypatch.setattr(where_placed, "MOST_PAIRS", 100)
    here = infer(run, tmp_path / "a.shards", tmp_path / "here.npz")
    there = infer(
        run, tmp_path / "a.shards", tmp_path / "there.npz", cluster=client.scheduler.address
    )
    assert here.unknown_tokens == there.unknown_tokens == 0
    assert (tmp_path / "here.npz").read_bytes() == (tmp_path / "there.npz").read_bytes()


@pytest.mark.slow
def test_a_tree_that_was_fitted_further_is_read_anew(
    tiny_file: Path, tmp_path: Path, client: Client
) -> None:
    run = tmp_path / "run"
    for iterations in (2, 6):
        fit(
            tiny_file,
            run=run,
            backend="hdp-cvb0",
            overrides=small_settings("hdp-cvb0"),
            iterations=iterations,
        )
        infer(run, tiny_file, tmp_path / "here.npz")
        infer(run, tiny_file, tmp_path / "there.npz", cluster=client.scheduler.address)
        assert (tmp_path / "here.npz").read_bytes() == (tmp_path / "there.npz").read_bytes()


@pytest.mark.slow
def test_documents_are_placed_though_a_worker_dies(
    tiny_file: Path, tmp_path: Path, client: Client, crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fitted(tiny_file, tmp_path / "run", "hdp-cvb0").run
    infer(run, tiny_file, tmp_path / "here.npz")
    deal = Cluster.deal
    killed: list[subprocess.Popen[bytes]] = []

    def dying(engine: Cluster, task: Any, messages: Any) -> Any:
        if not killed:
            loads = client.run(load_of)
            address = max(loads)
            client.run(die_at_the_next_order, workers=[address])
            killed.append(crew.replace(loads[address][1]))
        return deal(engine, task, messages)

    monkeypatch.setattr(Cluster, "deal", dying)
    infer(run, tiny_file, tmp_path / "there.npz", cluster=client.scheduler.address)
    assert [victim.wait(60) for victim in killed] == [1]
    assert (tmp_path / "here.npz").read_bytes() == (tmp_path / "there.npz").read_bytes()


def test_messages_of_a_lost_worker_are_dealt_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = [WorkersLost("gone"), WorkersLost("gone"), [(7, 7)]]

    def deal(*others: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, WorkersLost):
            raise answer
        return answer

    class Empty:
        def nthreads(self, **options: Any) -> dict[str, int]:
            return {}

    monkeypatch.setattr(Cluster, "recovered", lambda *others: True)
    monkeypatch.setattr(Cluster, "deal", deal)
    assert Cluster(Empty()).dealt(home_of, [1]) == [(7, 7)] and not answers


def test_without_any_worker_the_placing_ends_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Empty:
        def nthreads(self, **options: Any) -> dict[str, int]:
            return {}

    monkeypatch.setattr(Cluster, "recovered", lambda *others: False)
    with pytest.raises(WorkersLost, match="has no workers, and no worker came; the same command"):
        Cluster(Empty()).dealt(home_of, [1])


@pytest.mark.slow
def test_a_run_that_workers_do_not_see_places_nothing(
    tiny_file: Path, tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fitted(tiny_file, tmp_path / "run", "hdp-cvb0").run
    monkeypatch.setattr(coordinator, "look", partial(seen_in, os.getpid()))
    with pytest.raises(UsageError, match="sees none where .*manifest.json is"):
        infer(run, tiny_file, tmp_path / "new.npz", cluster=client.scheduler.address)
    assert not (tmp_path / "new.npz").exists()
