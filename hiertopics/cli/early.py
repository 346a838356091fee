"""What a signal does to a fit that has not begun: the process ends at once, resumable."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

RESUMABLE = 75
NAMES = ("SIGINT", "SIGTERM", "SIGUSR1")


@contextmanager
def resumable() -> Iterator[None]:
    """Exit with ``RESUMABLE`` at a signal, until the fit itself watches for them.

    Nothing of a run is written until then. No exception is raised, because an import or a reader
    might take it for a failure of its own. Outside the main thread signals are left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    previous = {number: signal.signal(number, _leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _leave(number: int, _: FrameType | None) -> None:
    name = signal.Signals(number).name
    message = f"hiertopics: stopped by {name}; the same command begins or continues the fit\n"
    with suppress(OSError):
        os.write(2, message.encode())
    os._exit(RESUMABLE)
