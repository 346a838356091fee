"""Progress reports of a start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from stepping import at, corpus_of, settings_of

from hiertopics.contract.engine import Workers
from hiertopics.families.nhdp import branching, flat_starts, stages, starts, variational as nhdp
from hiertopics.families.nhdp.stages import PERCENT, side_by_side

SHORT: dict[str, Any] = {"truncation": 12, "start_iterations": 100, "trials": 0}
LONG_DOCUMENTS = 20
"""Times that words repeat, so that topics are found in the whole corpus."""


def words_of(n_docs: int, times: int) -> Any:
    """Return documents of four subjects; times: how often each word of one comes again."""
    rng = np.random.default_rng(0)
    chance = np.kron(np.eye(4), np.full(15, 1 / 15)) + 0.002
    chance /= chance.sum(axis=1, keepdims=True)
    counts = [rng.multinomial(30, chance[doc % 4]) * times for doc in range(n_docs)]
    return corpus_of(np.array(counts))


def reports_of(times: int = 1, workers: int = 1, **keys: Any) -> list[tuple[int, int]]:
    """Return all reports of a start on a small corpus: how many of how many parts are done."""
    backend = nhdp.bursty if keys.get("bursts") else nhdp.backend
    settings = settings_of(backend, **{**SHORT, **keys})
    reported: list[tuple[int, int]] = []

    def report(done: int, total: int) -> None:
        reported.append((done, total))

    with Workers(workers) as engine:
        data = backend.prepare(words_of(60, times), settings)
        starts.init(data, settings, replace(at(0, workers=engine), report=report))
    return reported


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"workers": 2},
        {"start": "branches"},
        {"bursts": "document", "burst_aside": 4},
        {"times": LONG_DOCUMENTS},
    ],
    ids=["groups", "threads", "branches", "bursts", "long-documents"],
)
def test_a_start_reports_its_percent_of_work(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports rise from 0 to nearly 100 in many steps: they give the remaining time."""
    monkeypatch.setattr(flat_starts, "FEWEST_TOPICS", 12)
    reported = reports_of(**case)
    done = [percent for percent, _ in reported]
    assert {total for _, total in reported} == {PERCENT}
    assert done[0] == 0 and done == sorted(done)
    assert done[-1] >= 90 and len(set(done)) >= 15


def test_rare_words_are_work_of_factorisations() -> None:
    """The bar stood at 12% for most of the start of a corpus of 150,000 words."""
    pairs = np.ones(2000), (np.arange(2000) % 40, np.arange(2000) % 50)
    few = sparse.csr_array(pairs, shape=(40, 50))
    many = sparse.csr_array(pairs, shape=(40, 5000))
    work = branching.WHOLE.multiplications(20, many) / branching.WHOLE.multiplications(20, few)
    assert work > 5
    assert branching.WHOLE.multiplications(20, few) > branching.FASTER * branching.WHOLE.work(20)


def test_the_work_of_stages_adds_up() -> None:
    reported: list[tuple[int, int]] = []
    context = replace(at(0), report=lambda done, total: reported.append((done, total)))
    first, second = stages.stages(context, [1.0, 3.0])
    first.report(1, 2)
    within, _ = stages.stages(second, [2.0, 1.0])
    within.report(5, 10)
    assert reported == [(12, PERCENT), (25 + 24, PERCENT)]  # a third of 75, whole percents within


def test_parts_side_by_side_count_by_their_work() -> None:
    reported: list[int] = []
    context = replace(at(0), report=lambda done, total: reported.append(done))
    small, large = side_by_side(context, [1.0, 4.0])
    large(1, 2)
    small(1, 1)
    large(2, 2)
    assert reported == [40, 60, 100]
