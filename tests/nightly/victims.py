"""Commands of hiertopics in processes that are to be killed, at a moment of one's choice.

A forked victim runs the command line in a copy of a process that has imported and compiled
everything: the same code, a second cheaper. A fresh one is what a shell would start.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from faults import meeting

from hiertopics.cli import main

POLL_SECONDS = 0.0003
LAST = 40


CHANGES = {
    "os.rename": "rename",
    "os.remove": "remove",
    "os.mkdir": "mkdir",
    "os.rmdir": "rmdir",
    "os.link": "link",
    "os.truncate": "truncate",
}
"""Events of Python's audit hook that change the file system, and what they are called here."""


class Countdown:
    """Counts the calls that change files; the n-th one the process does not survive.

    below: the folder whose files count. last: that number; 0: it survives all of them.
    """

    def __init__(self, below: Path, last: int = 0) -> None:
        self.kinds: list[str] = []
        self.below, self.last = str(below), last

    def meet(self, kind: str) -> None:
        """Count a write or a sync; all else comes from the audit hook."""
        if kind in ("write", "sync"):
            self._count(kind)

    def hear(self, event: str, details: tuple[Any, ...]) -> None:
        """Count an event of the audit hook, before it is done."""
        if event == "open":
            path, _, flags = details
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if writes and self._concerns(path):
                self._count("open")
        elif event in CHANGES and self._concerns(details[0]):
            self._count(CHANGES[event])

    def _concerns(self, path: Any) -> bool:
        """Tell whether a path lies below the folder; relative ones come from a folder there."""
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        name = os.fsdecode(path)
        return not os.path.isabs(name) or name.startswith(self.below)

    def _count(self, kind: str) -> None:
        self.kinds.append(kind)
        if len(self.kinds) == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


class Victim:
    """A running command; its streams go to the files out and err of a folder."""

    def __init__(self, pid: int, said: Path, process: subprocess.Popen[bytes] | None) -> None:
        self.pid, self.said, self._process = pid, said, process
        self.began = time.monotonic()
        self._code: int | None = None

    @property
    def seconds(self) -> float:
        """The time since it was started."""
        return time.monotonic() - self.began

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while it runs."""
        if self._code is None:
            if self._process is not None:
                self._code = self._process.poll()
            else:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def wait(self, seconds: float = 120.0) -> int:
        """Return the exit code; raises TimeoutError, having killed it, after ``seconds``."""
        self.until(lambda: False, seconds)
        code = self.poll()
        if code is None:
            self.send(signal.SIGKILL)
            while self.poll() is None:
                time.sleep(POLL_SECONDS)
            raise TimeoutError(f"still running after {seconds:.0f} s")
        return code

    def until(self, reached: Callable[[], bool], seconds: float = 120.0) -> None:
        """Wait until it has ended, something is reached, or ``seconds`` have passed."""
        end = time.monotonic() + seconds
        while self.poll() is None and not reached() and time.monotonic() < end:
            time.sleep(POLL_SECONDS)

    @property
    def out(self) -> str:
        """What it wrote to stdout."""
        return (self.said / "out").read_text(encoding="utf-8", errors="replace")

    @property
    def err(self) -> str:
        """What it wrote to stderr."""
        return (self.said / "err").read_text(encoding="utf-8", errors="replace")


def fresh(words: Sequence[str], said: Path, **options: Any) -> Victim:
    """Start a command as a shell would, by its interpreter.

    options: of ``subprocess.Popen``: what differs from this process for it.
    """
    said.mkdir(parents=True, exist_ok=True)
    with open(said / "out", "wb") as out, open(said / "err", "wb") as err:
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
        command = [sys.executable, "-m", "hiertopics", *words]
        process: subprocess.Popen[bytes] = subprocess.Popen(command, **(streams | options))
    return Victim(process.pid, said, process)


def forked(
    words: Sequence[str],
    said: Path,
    below: Path,
    last: int | None = None,
    within: AbstractContextManager[object] | None = None,
) -> Victim:
    """Start a command in a copy of this process.

    last: it dies of its n-th call that changes a file below ``below``; 0: it lives, and writes
    their kinds to the file calls beside its streams; None: nothing is counted. within: what the
    copy enters before it runs the command.
    """
    said.mkdir(parents=True, exist_ok=True)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            with within or nullcontext():
                code = _live(words, said, below, last)
        except BaseException:
            traceback.print_exc()
        finally:
            with suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    return Victim(pid, said, None)


def _live(words: Sequence[str], said: Path, below: Path, last: int | None) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, name in ((0, None), (1, "out"), (2, "err")):
        path = os.devnull if name is None else said / name
        flags = os.O_RDONLY if name is None else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(path, flags, 0o644), number)
    sys.argv = ["hiertopics", *words]
    with _counting(said, below, last):
        try:
            main(list(words))
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


@contextmanager
def _counting(said: Path, below: Path, last: int | None) -> Iterator[None]:
    if last is None:
        yield
        return
    countdown = Countdown(below, last)
    sys.addaudithook(countdown.hear)  # for the rest of this process, which is a copy
    with meeting(countdown, below):
        yield
    countdown.last = 0
    (said / "calls").write_text(" ".join(countdown.kinds), encoding="utf-8")


class Calls(NamedTuple):
    """The calls with which a command changes files, in order: open, write, sync, and CHANGES."""

    kinds: tuple[str, ...]

    @classmethod
    def of(cls, said: Path) -> Calls:
        """Return those of a forked command that was counted and has ended."""
        return cls(tuple((said / "calls").read_text(encoding="utf-8").split()))

    def between_renames(self, number: int) -> bool:
        """Whether who dies of the call has renamed one of several files, and not the next."""
        return number > 1 and self.kinds[number - 2 : number] == ("rename", "rename")

    def choose(self, chance: random.Random) -> int:
        """Choose a call to die of: any, one of the last, or one between two renames."""
        numbers = range(1, len(self.kinds) + 1)
        between = [number for number in numbers if self.between_renames(number)]
        return chance.choice(chance.choice([numbers, numbers[-LAST:], between or numbers]))
