"""Who has stopped answering is told, sparingly, and that somebody answers again."""

from __future__ import annotations

from collections.abc import Mapping

from hiertopics.contract.cluster.watch import LOOK_EVERY, SILENT_LOOKS, Watch

A, B = "tcp://a:1", "tcp://b:1"


class Cluster:
    """Heartbeats that a test sets, and looks at them."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.now = 100.0
        self.found: Mapping[str, float | None] | OSError = {}
        self.watch = Watch(self.beats, self.said.append)

    def beats(self) -> Mapping[str, float | None]:
        if isinstance(self.found, OSError):
            raise self.found
        return self.found

    def look(self, found: Mapping[str, float | None] | OSError, times: int = 1) -> list[str]:
        """Look at the same heartbeats a few times; return the lines that were told of that."""
        self.found, before = found, len(self.said)
        for _ in range(times):
            self.now += LOOK_EVERY
            self.watch.look(self.now)
        return self.said[before:]


def silent(who: str, seconds: float) -> str:
    return f"waiting for {who}, which has not answered for {seconds:.0f} seconds"


def test_a_silent_worker_is_told_of_ever_more_rarely() -> None:
    cluster = Cluster()
    assert cluster.look({A: 1, B: 1}, SILENT_LOOKS) == []
    assert cluster.look({A: 2, B: 1}) == [silent(f"the worker {B}", SILENT_LOOKS * LOOK_EVERY)]
    told = [line for beat in range(3, 103) for line in cluster.look({A: beat, B: 1})]
    assert told == [silent(f"the worker {B}", 10 * 2**n) for n in (1, 2, 3, 4)]
    assert cluster.look({A: 103, B: 2}) == [f"the worker {B} answers again"]
    assert cluster.look({A: 103, B: 2}, SILENT_LOOKS - 1) == []


def test_time_without_a_look_is_not_silence() -> None:
    """As where this process itself was stopped, or held up by what runs beside."""
    cluster = Cluster()
    assert cluster.look({A: 1}, 2) == []
    cluster.now += 1000
    assert cluster.look({A: 1}) == cluster.look({A: 2}) == []


def test_a_paused_worker_is_told_of_though_its_heart_beats() -> None:
    cluster = Cluster()
    assert cluster.look({A: 1}) == cluster.look({A: None}, SILENT_LOOKS) == []
    assert cluster.look({A: None}) == [
        f"waiting for the worker {A}, which Dask has paused for 10 seconds, as it lacks memory"
    ]
    assert cluster.look({A: 9}) == [f"the worker {A} works again"]


def test_a_worker_that_is_gone_is_forgotten() -> None:
    cluster = Cluster()
    assert len(cluster.look({A: 1}, SILENT_LOOKS + 1)) == 1
    assert (
        cluster.look({}, 2 * SILENT_LOOKS) == cluster.look(OSError()) == cluster.look({A: 2}) == []
    )


def test_a_silent_scheduler_is_told_of() -> None:
    cluster = Cluster()
    cluster.look({A: 1})
    told = cluster.look(TimeoutError(), SILENT_LOOKS)
    assert told == [silent("the cluster's scheduler", SILENT_LOOKS * LOOK_EVERY)]
    assert cluster.look({A: 2}) == ["the cluster's scheduler answers again"]
