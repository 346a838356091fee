"""What ``--cluster`` says: processes that begin, and in one line each what is of no use."""

from __future__ import annotations

import asyncio
import gc
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from distributed import Client, Security
from distributed.client import AllExit
from distributed.core import rpc
from scipy import sparse

from hiertopics.base.errors import UsageError
from hiertopics.contract.cluster import coordinator, joining
from hiertopics.contract.cluster.coordinator import Cluster
from hiertopics.contract.cluster.joining import cluster
from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.corpus.formats.shards import write_bags
from hiertopics.fitting.driver import fit


@pytest.mark.parametrize("told", [True, False])
def test_a_result_that_nobody_heard_of_is_no_traceback(
    told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    joining.leave_out_lost_results()

    async def ends() -> None:
        raise ValueError if told else AllExit

    loop = asyncio.new_event_loop()
    loop.create_task(ends())
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    gc.collect()
    assert [record.name for record in caplog.records] == ["asyncio"] * told


def test_a_folder_that_a_worker_does_not_see_is_named(tmp_path: Path) -> None:
    class Other:
        def nthreads(self, **options: Any) -> dict[str, int]:
            return {}

        def run(self, function: Any, files: Any) -> dict[str, dict[str, str]]:
            return {"tcp://a:1": function(files), "tcp://b:1": self.seen}

        seen: ClassVar[dict[str, str]] = {}

    file = tmp_path / "shards.json"
    file.write_text("{}")
    engine = Cluster(Other())
    with pytest.raises(UsageError, match=f"tcp://b:1 sees none where {file} is"):
        engine.require_seen(file)
    Other.seen = {str(file): "of something else"}
    with pytest.raises(UsageError, match=f"tcp://b:1 sees another one where {file} is"):
        engine.require_seen(file)


@pytest.mark.slow
def test_a_run_that_workers_do_not_see_leaves_no_folder(
    tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = sparse.csr_array(np.ones((8, 5), np.int32))
    write_bags(Corpus(counts, default_vocab(5)), tmp_path / "a.shards")
    seen = Cluster.require_seen

    def unseen(engine: Cluster, *files: Path) -> None:
        if files[0].name == ".lock":
            raise UsageError("the worker sees none")
        seen(engine, *files)

    monkeypatch.setattr(Cluster, "require_seen", unseen)
    settings = ("inference.collapse=partial", "inference.shards=2")
    for _ in range(2):
        with pytest.raises(UsageError, match="sees none"):
            fit(
                tmp_path / "a.shards",
                run=tmp_path / "runs" / "a",
                backend="hdp-gibbs",
                overrides=settings,
                cluster=client.scheduler.address,
            )
        assert not (tmp_path / "runs" / "a").exists()


@pytest.mark.parametrize(
    ("settings", "backend", "said"),
    [
        ({}, "hdp-cvb0", "inference.shards is 1"),
        ({"inference.shards": 4}, "lda-gibbs", "does not run on a cluster"),
        ({"inference.shards": 2, "inference.chains": 2}, "hdp-gibbs", "must be fewer"),
    ],
)
def test_settings_with_nothing_to_share_out_are_refused(
    settings: dict[str, Any], backend: str, said: str, tiny_file: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=said):
        fit(tiny_file, run=tmp_path / "r", backend=backend, overrides=settings, cluster="local:2")
    assert not (tmp_path / "r").exists()


def test_processes_that_do_not_start_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those that a script begins without asking whether it is the main one."""

    def refuse(**options: Any) -> None:
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr("distributed.LocalCluster", refuse)
    with pytest.raises(UsageError, match="did not start .*if __name__"), cluster("local:2"):
        pass


@pytest.mark.parametrize("where", ["local:", "local:0", "local:two", "local:-1"])
def test_a_number_of_processes_is_asked_for(where: str) -> None:
    with pytest.raises(UsageError, match="expected local:N"), cluster(where):
        pass


def test_a_scheduler_file_that_is_missing_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "scheduler.json"
    with pytest.raises(UsageError, match="there is no file"), cluster(f"scheduler-file:{missing}"):
        pass


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]"])
def test_a_scheduler_file_without_an_address_is_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(text)
    with (
        pytest.raises(UsageError, match=r"scheduler\.json tells no address"),
        cluster(f"scheduler-file:{file}"),
    ):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "why"),
    [(b"", "none within"), (b"HTTP/1.1 400 Bad Request\r\n\r\n", "another server does")],
)
def test_a_server_that_is_no_scheduler_is_named(
    answer: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask's client would wait for the first without end, and take the second's words for sizes."""
    monkeypatch.setattr(joining, "ANSWER_WITHIN", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def serve() -> None:
            with suppress(OSError):
                while True:
                    held.append(server.accept()[0])
                    held[-1].sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        said = f"no Dask scheduler answers there .{why}"
        with pytest.raises(UsageError, match=said) as caught, cluster(address):
            pass
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_an_address_without_tls_settings_and_one_of_a_worker(client: Client) -> None:
    with pytest.raises(UsageError, match="TLS"), cluster("tls://127.0.0.1:1"):
        pass
    worker_address = min(client.nthreads())
    with pytest.raises(UsageError, match="it is a Worker"), cluster(worker_address):
        pass


def test_a_worker_without_hiertopics_is_told_of_in_one_line() -> None:
    class Lacking:
        def run(self, function: Any) -> None:
            raise Exception("ModuleNotFoundError(\"No module named 'hiertopics'\")")

    with pytest.raises(UsageError, match="lacks a package.*No module named 'hiertopics'"):
        coordinator.check_agreement(Lacking())


@pytest.mark.slow
def test_an_address_where_nothing_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "ANSWER_WITHIN", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(UsageError, match="no Dask scheduler answers"), cluster(address):
        pass


def test_a_worker_with_other_results_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        def run(self, function: Any) -> dict[str, dict[str, str]]:
            return {"tcp://a:1": {**function(), "numpy": "1.0"}}

    with pytest.raises(UsageError, match="tcp://a:1 has numpy 1.0, this process has"):
        coordinator.check_agreement(Other())


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(UsageError, match=r"pip install 'hiertopics\[cluster\]'"),
        cluster("local:2"),
    ):
        pass


def test_without_certificates_no_processes_are_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with (
        pytest.raises(UsageError, match=r"cryptography; .*pip install 'hiertopics\[cluster\]'"),
        cluster("local:2"),
    ):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["no certificate", "another certificate"])
def test_others_on_this_machine_do_not_reach_local_processes(kind: str) -> None:
    """Dask executes what it is sent, and every user can reach a port of 127.0.0.1."""
    other = Security.temporary()
    with cluster("local:1") as engine:
        workers = engine._client.scheduler_info()["workers"].items()
        nannies = [worker["nanny"] for _, worker in workers]
        for address in (engine._client.scheduler.address, *dict(workers), *nannies):
            number = address.rpartition(":")[2]
            plain = kind == "no certificate"
            reached = f"{'tcp' if plain else 'tls'}://127.0.0.1:{number}"
            told = {} if plain else other.get_connection_args("client")
            with pytest.raises(OSError):
                asyncio.run(_greet(reached, told))


async def _greet(address: str, options: dict[str, Any]) -> None:
    """Ask a process of Dask for what everybody may ask."""
    async with rpc(address, connection_args=options, timeout=5) as there:
        await there.identity()


def test_nothing_else_imports_dask() -> None:
    code = (
        "import sys, hiertopics, hiertopics.cli.fit, hiertopics.fitting.driver\n"
        "print([name for name in sys.modules if name.startswith(('dask', 'distributed'))])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
