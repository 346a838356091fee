"""What a long command says on stderr: phases, what is compiled, how long the rest takes."""

from __future__ import annotations

import gc
import importlib
import io
import re
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import TypingError

from hiertopics.base import progress
from hiertopics.base.compiling import tell_of_compiling, told_of_compiling
from hiertopics.base.errors import UsageError
from hiertopics.base.progress import Estimate, Progress, format_rest, watched
from hiertopics.cli import main
from hiertopics.fitting.job import FitResult
from hiertopics.numeric.jit import RARELY, kernel


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_a_phase_that_counts_is_shown_with_its_share() -> None:
    with redirect_stderr(io.StringIO()) as said, Progress(shown=True).phase("starting") as report:
        report(1, 4)
        report(3, 4)
    assert said.getvalue().startswith("\rstarting:") and "3/4" in said.getvalue()


@pytest.mark.parametrize(("shown", "n_reports"), [(True, 0), (False, 2)])
def test_a_phase_is_silent_without_reports_or_where_quiet(shown: bool, n_reports: int) -> None:
    with redirect_stderr(io.StringIO()) as said:
        display = Progress(shown=shown)
        with display.phase("starting") as report:
            for done in range(n_reports):
                report(done + 1, n_reports)
        assert said.getvalue() == ""


def test_on_a_terminal_a_phase_that_only_lasts_leaves_no_line() -> None:
    with redirect_stderr(Terminal()) as said, Progress(shown=True).phase("reading"):
        assert said.getvalue().startswith("\rreading")
    assert said.getvalue().split("\r")[-2].strip() == "" and "\n" not in said.getvalue()


@pytest.mark.parametrize(
    ("words", "module", "name", "phase"),
    [
        (["infer", "RUN", "new.ldac", "-o", "new.csv"], "runs.newdocs", "infer", "placing"),
        (["eval", "RUN", "--heldout"], "scoring.evaluation", "evaluate", "scoring"),
    ],
)
def test_commands_that_do_not_count_say_on_a_terminal_what_they_wait_for(
    words: list[str],
    module: str,
    name: str,
    phase: str,
    finished: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compiles(*given: object, **options: object) -> None:
        tell_of_compiling(True)
        time.sleep(4 * progress.TICK)
        tell_of_compiling(False)
        raise UsageError("that is all")

    monkeypatch.setattr(importlib.import_module(f"hiertopics.{module}"), name, compiles)
    run = str(finished("hdp-cvb0"))
    for stream, told in ((Terminal(), True), (io.StringIO(), False)):
        with redirect_stderr(stream), pytest.raises(SystemExit):
            main([run if word == "RUN" else word for word in words])
        assert (f"{phase}: compiling, once" in stream.getvalue()) is told
        assert "that is all" in stream.getvalue()


def test_where_stderr_is_a_file_compiling_is_said_once_on_a_line() -> None:
    display = Progress(shown=True, compiling=9)
    with redirect_stderr(io.StringIO()) as said, display.phase("starting"):
        for begins in (True, False, True, False):
            tell_of_compiling(begins)
    assert said.getvalue() == "compiling, once, about 9 s\n"
    assert 0 < display.compiling_seconds < 60


def test_on_a_terminal_a_spinner_turns_while_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "TICK", 0.001)
    with redirect_stderr(Terminal()) as said, Progress(shown=True).phase("sweeping"):
        tell_of_compiling(True)
        until = time.monotonic() + 20
        while sum(f"{frame} sweeping" in said.getvalue() for frame in progress.FRAMES) < 3:
            assert time.monotonic() < until
            time.sleep(0.001)
        tell_of_compiling(False)
    assert "sweeping: compiling, once" in said.getvalue()


def test_a_kernel_tells_when_it_is_compiled_and_not_when_it_is_there() -> None:
    @kernel()
    def inner(x: float) -> float:
        return x + 1

    @kernel()
    def outer(x: float) -> float:
        return inner(x) * 2

    told: list[bool] = []
    with told_of_compiling(told.append):
        assert outer(1.0) == outer(np.float64(1)) == 4
    assert told == [True, False]


def test_garbage_is_collected_rarely_while_compiling_and_as_before_afterwards() -> None:
    @kernel()
    def inner(x: float) -> float:
        return x - 1

    @kernel()
    def outer(x: float) -> float:  # what calls another local kernel is never found compiled
        return inner(x) * 3

    before, seen = gc.get_threshold(), []
    with told_of_compiling(lambda begins: seen.append(gc.get_threshold())):
        assert outer(2.0) == 3
    assert seen == [RARELY, before]
    with pytest.raises(TypingError):
        kernel()(lambda x: x.nothing)(1.0)
    assert gc.get_threshold() == before


def test_the_rest_is_estimated_without_what_compiling_took(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    display, found = Progress(shown=True), []
    with redirect_stderr(io.StringIO()) as said:
        estimate = Estimate(display)
        for left, seconds in ((30, 47.0), (29, 7.0), (28, 7.0), (27, 7.0)):
            now[0] += seconds
            display.compiling_seconds = 40.0
            found.append(estimate.left(left))
    assert found == [None, None, pytest.approx(7 * 28), pytest.approx(7 * 27)]
    assert said.getvalue() == "about 3m20s for 28 more iterations at most\n"


def test_a_short_fit_is_not_estimated_on_a_line_of_its_own() -> None:
    with redirect_stderr(io.StringIO()) as said:
        estimate = Estimate(Progress(shown=True))
        rests = [estimate.left(left) for left in (5, 4, 3, 2, 1, 0)]
    assert rests[-1] is None and rests[2] is not None and said.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.2, "1s"), (47.4, "47s"), (196, "3m20s"), (1234, "21m"), (13900, "3h52m"), (4e5, "4d15h")],
)
def test_what_nobody_knows_exactly_is_rounded(seconds: float, told: str) -> None:
    assert format_rest(seconds) == told


def test_what_lasts_says_in_a_file_that_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "WAITS", (0.05, 600.0))
    with redirect_stderr(io.StringIO()) as said:
        with watched("placing"):
            time.sleep(0.3)
        with watched("reading"):
            pass
        with watched("placing") as report:
            report(256, 1024)
            time.sleep(0.3)
    assert said.getvalue() == "placing: 0s so far\nplacing: 0s so far, 25% done\n"


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_the_last_step_of_a_start_is_said(
    stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not counted, and took a third of a start that stood at 99%."""
    monkeypatch.setattr(progress, "WAITS", (0.05, 600.0))
    with redirect_stderr(stream()) as said:
        with Progress(shown=True).phase("starting", waits_at_end=True) as report:
            for done in (0, 50, 98, 99):
                report(done, 100)
            time.sleep(0.3)
        with Progress(shown=True).phase("starting") as report:
            report(99, 100)
    assert said.getvalue().count("starting: the last step") == 1 or stream is Terminal
    assert "starting: the last step" in said.getvalue()


def test_the_finished_bar_shows_the_figures_of_the_last_iteration(
    fit_tiny: Callable[..., FitResult], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their last record may be of an iteration long before the end."""
    fitted = fit_tiny(tmp_path / "run", iterations=3, quiet=False)
    recorded = fitted.run.metrics()
    assert [row["iteration"] for row in recorded] == [2, 3]
    shown = re.findall(r"3/3 \[.*objective ([^,\]]+)", capsys.readouterr().err)
    assert shown and float(shown[-1]) == float(f"{recorded[-1]['objective']:.5g}")
    assert shown[-1] != f"{recorded[0]['objective']:.5g}"
