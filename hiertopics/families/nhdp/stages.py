"""Progress reports of a start that has several stages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from hiertopics.contract.model import Context

PERCENT = 100


def stages(context: Context, work: Sequence[float]) -> list[Context]:
    """Return a context for each stage. Reports to it become percent of the whole start.

    work: of each stage, in one unit. A stage reports how many of how many of its parts are done.
    """
    before = [0.0, *accumulate(work)]

    def stage(number: int) -> Context:
        def report(done: int, total: int) -> None:
            whole = before[number] + work[number] * done / total
            context.report(int(PERCENT * whole / before[-1]), PERCENT)

        return replace(context, report=report)

    return [stage(number) for number in range(len(work))]


def side_by_side(context: Context, work: Sequence[float]) -> list[Callable[[int, int], None]]:
    """Return a report function for each part of a stage whose parts run on several threads.

    work: of each part, in one unit. Reports become percent of the stage.
    """
    done, lock = [0.0] * len(work), threading.Lock()

    def part(number: int) -> Callable[[int, int], None]:
        def report(n_done: int, total: int) -> None:
            with lock:
                done[number] = work[number] * n_done / total
                context.report(int(PERCENT * sum(done) / sum(work)), PERCENT)

        return report

    return [part(number) for number in range(len(work))]
