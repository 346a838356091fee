"""A watch over the heartbeats of workers and scheduler; it names those that stop answering."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

LOOK_EVERY = 2.0
"""Seconds between two looks at which workers are there, and alive."""

SILENT_LOOKS = 5
"""Looks without a sign of life after which somebody is silent: ten seconds. Looks are counted, not
seconds: where this process itself stood still, no look was made."""

SCHEDULER = "scheduler"


class Sign(NamedTuple):
    """The last sign of life of a worker or of the scheduler.

    beat: the heartbeat, None where Dask has paused the worker. heard: when it was first seen, in
    seconds of this process's clock. looks: made since. told: seconds of silence that were told
    last, 0 where none were.
    """

    beat: float | None
    heard: float
    looks: int = 0
    told: float = 0.0


class Watch:
    """Reports workers that have stopped answering, again after each doubling of the time.

    beats: the last heartbeat of each worker by its address, None of a paused one; raises
    TimeoutError where the scheduler does not answer. tell: takes a line. A context manager: a
    thread looks every ``LOOK_EVERY`` seconds until it is left.
    """

    def __init__(
        self, beats: Callable[[], Mapping[str, float | None]], tell: Callable[[str], None]
    ):
        self._beats, self._tell = beats, tell
        self._signs: dict[str, Sign] = {}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look_on, name="watch", daemon=True)

    def look(self, now: float) -> None:
        """Look once, at a time in seconds of the caller's clock."""
        try:
            beats = self._beats()
        except TimeoutError:
            before = self._signs.get(SCHEDULER, Sign(now, now))
            self._hear(SCHEDULER, before.beat, now)
            return
        except OSError:  # who is gone the fit itself notices
            return
        beats = {SCHEDULER: now, **beats}
        self._signs = {name: sign for name, sign in self._signs.items() if name in beats}
        for name, beat in beats.items():
            self._hear(name, beat, now)

    def _hear(self, name: str, beat: float | None, now: float) -> None:
        before = self._signs.get(name)
        who = f"the cluster's {SCHEDULER}" if name == SCHEDULER else f"the worker {name}"
        if before is None or beat != before.beat:
            self._signs[name] = Sign(beat, now)
            if before is not None and before.told:
                self._tell(f"{who} {'answers' if before.beat is not None else 'works'} again")
            return
        sign = before._replace(looks=before.looks + 1)
        silent = now - sign.heard
        if sign.looks >= SILENT_LOOKS and silent >= 2 * sign.told:
            what = f"has not answered for {silent:.0f} seconds"
            if beat is None:
                what = f"Dask has paused for {silent:.0f} seconds, as it lacks memory"
            self._tell(f"waiting for {who}, which {what}")
            sign = sign._replace(told=silent)
        self._signs[name] = sign

    def _look_on(self) -> None:
        while not self._end.wait(LOOK_EVERY):
            with suppress(Exception):  # of a client that is being closed
                self.look(time.monotonic())

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self._thread.join(2 * LOOK_EVERY)
