"""Progress on stderr while a command works: its phase, how far it is, the time left.

On a terminal and in a notebook a line lives while a phase does; where stderr is a file, lines of
phases that count stand ten seconds apart, and the others say after ``WAITS`` that they go on.
Whoever waits for kernels that are compiled is told so, once.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain, cycle, repeat
from typing import Any

from hiertopics.base.compiling import told_of_compiling
from hiertopics.base.units import format_duration
from hiertopics.base.visible import steady

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PLAIN_FRAMES = "|/-\\"
TICK = 0.15
"""Seconds between two frames of the spinner."""

KNOWN_AFTER = 3
"""Iterations after which the rest is estimated."""

LONG = 60.0
"""Seconds of a fit above which the estimate is also said on a line of its own."""

WAITS = (5.0, 30.0, 120.0)
"""Seconds after which a phase without counts says that it goes on; then every so many more."""

NEARLY, LAST = 0.98, "the last step"
"""The counted share of a phase from which on its rest is waited for, and what that is called."""

COUNTED = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
WAITED = "{desc} {elapsed}"


class Progress:
    """The display of one command.

    shown: False: it says nothing. compiling: about how many seconds its kernels take to compile,
    where that is known.
    """

    def __init__(self, *, shown: bool, compiling: int | None = None) -> None:
        self.shown = shown
        self.compiling_seconds = 0.0
        """Seconds that compiling has taken so far."""

        self._about = "" if compiling is None else f", about {compiling} s"
        self._phase = ""
        self._bar: Any = None
        self._compiling_since: float | None = None
        self._spinner: threading.Thread | None = None
        self._told = False

    def say(self, line: str) -> None:
        """Write a line; the phase's own stays below it."""
        if self.shown:
            _bars().write(steady(line), file=sys.stderr)

    @contextmanager
    def phase(
        self, name: str, *, waits_at_end: bool = False
    ) -> Iterator[Callable[[int, int], None]]:
        """Show that a phase goes on; yield a function that tells how many of how many are done.

        waits_at_end: its last step, which is not counted, may take long.
        """
        self._phase = name
        self._open()

        with ExitStack() as rest:

            def report(done: int, total: int) -> None:
                if self._phase != name:
                    return  # its rest goes on
                if self._bar is None or self._bar.total is None:
                    self._close()
                    self._open(total=total, initial=done)
                else:
                    self._bar.update(done - self._bar.n)
                if waits_at_end and done >= NEARLY * total:
                    self._close()
                    self._phase = f"{name}: {LAST}"
                    self._open()
                    if self.shown and not _lively():
                        rest.enter_context(said_if_long(self._phase))

            try:
                with told_of_compiling(self._tell_of_compiling):
                    yield report
            finally:
                self._close()
                self._phase = ""

    def note(self, words: str) -> None:
        """Put something beside the count, at its next change."""
        if self._bar is not None and self._bar.total is not None:
            self._bar.set_postfix_str(words, refresh=False)

    def _open(self, **counted: int) -> None:
        if self.shown and (counted or _lively()):
            # What counts stays to be read; a phase that only lasts leaves no line.
            self._bar = _bars()(
                **counted,
                desc=self._phase,
                bar_format=COUNTED if counted else WAITED,
                leave=bool(counted),
                unit="it",
                file=sys.stderr,
                mininterval=TICK if _lively() else 10.0,
                dynamic_ncols=_lively(),
            )

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _tell_of_compiling(self, begins: bool) -> None:
        if begins:
            self._compiling_since = time.perf_counter()
            if self._bar is not None and _lively():
                if self._spinner is None or not self._spinner.is_alive():
                    self._spinner = threading.Thread(target=self._spin, daemon=True)
                    self._spinner.start()
            elif not self._told:
                self.say(f"compiling, once{self._about}")
                self._told = True
        elif self._compiling_since is not None:
            self.compiling_seconds += time.perf_counter() - self._compiling_since
            self._compiling_since = None

    def _spin(self) -> None:
        """Turn a spinner before the phase's line until compiling ends."""
        bar = self._bar
        for frame in cycle(_frames()):
            if self._compiling_since is None or bar is None or bar is not self._bar:
                break
            bar.set_description_str(f"{frame} {self._phase}: compiling, once{self._about}")
            time.sleep(TICK)
        if bar is not None and bar is self._bar:
            bar.set_description_str(self._phase)


def said(line: str) -> None:
    """Write a line on stderr."""
    Progress(shown=True).say(line)


def watched(name: str) -> AbstractContextManager[Callable[[int, int], None]]:
    """Show that a command goes on, and its present work: in a file only if it lasts.

    As ``Progress.phase``, it yields a function that tells how many of how many are done. Nothing is
    imported where stderr is a file.
    """
    is_lively = sys.stderr.isatty() or "ipykernel" in sys.modules
    return Progress(shown=_lively()).phase(name) if is_lively else said_if_long(name)


@contextmanager
def said_if_long(name: str) -> Iterator[Callable[[int, int], None]]:
    """Write a line on stderr after each of ``WAITS`` that something goes on.

    Yields a function that tells how many of how many are done: the line then has their share.
    """
    over, began, shares = threading.Event(), time.perf_counter(), [""]

    def report(done: int, total: int) -> None:
        shares[0] = f", {done / max(total, 1):.0%} done"

    def say() -> None:
        waits = chain(WAITS, repeat(WAITS[-1]))
        while not over.wait(next(waits)):
            spent = format_duration(round(time.perf_counter() - began))
            print(f"{steady(name)}: {spent} so far{shares[0]}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=say, daemon=True)
    thread.start()
    try:
        yield report
    finally:
        over.set()
        thread.join()


class Estimate:
    """How long the iterations take that are left: as long as those seen, compiling apart."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._began, self._compiled = time.perf_counter(), progress.compiling_seconds
        self._n_seen = 0
        self._said = False

    def left(self, n_left: int) -> float | None:
        """Count an iteration; return the seconds of ``n_left`` more, None while too few were seen.

        The first time that all of them take more than ``LONG`` that is said on a line of its own.
        """
        self._n_seen += 1
        spent = time.perf_counter() - self._began
        working = spent - (self._progress.compiling_seconds - self._compiled)
        if self._n_seen < KNOWN_AFTER or not n_left:
            return None
        left = working / self._n_seen * n_left
        if not self._said and spent + left > LONG:
            self._progress.say(f"about {format_rest(left)} for {n_left} more iterations at most")
            self._said = True
        return left


def format_rest(seconds: float) -> str:
    """Return seconds that nobody knows exactly, as ``3h50m``, ``12m`` or ``40s``."""
    step = 3600 if seconds >= 36000 else 60 if seconds >= 600 else 10 if seconds >= 60 else 1
    return format_duration(max(round(seconds / step), 1) * step)


def _bars() -> Any:
    """Return the class of progress bars, in a notebook the one made for it."""
    from tqdm.auto import tqdm  # only who waits imports it

    return tqdm


def _lively() -> bool:
    """Tell whether a line can change where it stands: on a terminal and in a notebook."""
    return sys.stderr.isatty() or any("notebook" in kind.__module__ for kind in _bars().__mro__)


def _frames() -> str:
    try:
        FRAMES.encode(getattr(sys.stderr, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return PLAIN_FRAMES
    return FRAMES
