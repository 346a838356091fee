"""Which support a run keeps: the better-founded one; and how much a few resamples can say."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hiertopics.corpus.data.support import Transfer
from hiertopics.fitting import support as module
from hiertopics.fitting.resampling import TreeComparison, headed
from hiertopics.fitting.support import against, support
from hiertopics.runs.artifacts import write_beside
from hiertopics.runs.rundir import OUTLINES, RunDir
from hiertopics.views.showing import show_tree

Copied = Callable[..., Path]
Call = Callable[..., Any]
FOUND = (0.9, 0.5, 0.7, 0.6, 0.8)
"""Support of every node by the first resample, the second one, and so on."""


@pytest.fixture
def unfitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have resamples say what ``FOUND`` does, without a fit."""

    def told(*args: Any) -> TreeComparison:
        basis, number = args[1], args[4]
        n_nodes = len(basis.shares.parent)
        found = Transfer(np.full(n_nodes, FOUND[number % len(FOUND)]), np.zeros(n_nodes))
        return TreeComparison(found, None)

    monkeypatch.setattr(module, "_resample", told)


@pytest.fixture
def run(copied: Copied, unfitted: None) -> Path:
    """Return a run of eight iterations whose resamples are not fitted; it has no support yet."""
    path = copied("hlda-variational")
    assert RunDir(path).manifest["iterations"] == 8 and not (path / "support.json").exists()
    return path


@pytest.fixture
def outlined(run: Path) -> Path:
    """Return the same run with the quick estimate of a fit."""
    opened = RunDir(run)
    record = {
        **headed(3, opened.seals(["model.npz"])["model.npz"], {}),
        OUTLINES: True,
        "note": "The 2 branches have a mean support of 0.47 by documents (3 quick resamples)",
        "nodes": [],
    }
    write_beside(opened, "support.json", lambda _: json.dumps(record))
    return run


def asked(run: Path, resamples: int, **how: Any) -> tuple[dict[str, Any], str]:
    """Return the record of ``support``, and the lines that it said."""
    lines: list[str] = []
    record = support(run, resamples, say=lines.append, **how)
    return record, "\n".join(lines)


def kept(run: Path) -> dict[str, Any]:
    """Return the support that the run has."""
    record: dict[str, Any] = json.loads((run / "support.json").read_text())
    return record


def test_two_resamples_of_one_iteration_do_not_replace_the_estimate_of_the_fit(
    outlined: Path, call: Call
) -> None:
    before = (outlined / "support.json").read_bytes()
    done = call("support", outlined, "--resamples", 2, "--iterations", 1)
    assert done.code == 0
    assert "a fit to a resample needs 8 iterations, and these have 1" in done.err
    assert "2 resamples are too few to tell; at least 3 give an interval" in done.err
    assert "keeps the support of 3 quick resamples" in done.err and "--replace" in done.err
    assert (outlined / "support.json").read_bytes() == before
    assert RunDir(outlined).broken_seal() is None
    assert call("support", outlined, "--resamples", 2, "--iterations", 1, "--replace").code == 0
    assert (kept(outlined)["resamples"], kept(outlined)["iterations"]) == (2, 1)
    assert RunDir(outlined).broken_seal() is None


@pytest.mark.parametrize(
    ("first", "second", "replaced"),
    [
        ((5, 8), (3, 8), False),  # fewer resamples
        ((3, 8), (5, 8), True),
        ((3, 8), (3, 8), True),  # the same again
        ((3, 9), (3, 8), False),  # fewer iterations
        ((3, 8), (3, 9), True),
        ((3, 8), (5, 7), False),  # too few iterations, however many resamples
        ((5, 7), (3, 8), True),
        ((2, 8), (3, 7), False),
        ((2, 7), (3, 7), True),
    ],
    ids=str,
)
def test_the_better_founded_support_stays(
    run: Path, first: tuple[int, int], second: tuple[int, int], replaced: bool
) -> None:
    def has(record: dict[str, Any]) -> tuple[int, int]:
        return record["resamples"], record["iterations"]

    assert has(asked(run, first[0], iterations=first[1])[0]) == has(kept(run)) == first
    record, said = asked(run, second[0], iterations=second[1])
    assert has(record) == second and record["written"] == replaced
    assert has(kept(run)) == (second if replaced else first)
    assert ("--replace" in said) == (not replaced)


@pytest.mark.parametrize(("resamples", "replaced"), [(2, False), (3, True)])
def test_enough_resamples_replace_the_estimate_of_the_fit(
    outlined: Path, resamples: int, replaced: bool
) -> None:
    asked(outlined, resamples)
    assert (OUTLINES not in kept(outlined)) == replaced


def test_support_of_another_model_or_a_damaged_one_is_replaced(outlined: Path) -> None:
    (outlined / "support.json").write_text("damaged")
    record, _ = asked(outlined, 2)
    assert record["written"] and kept(outlined)["resamples"] == 2
    changed = kept(outlined) | {"model": "of another model", "resamples": 99}
    write_beside(RunDir(outlined), "support.json", lambda _: json.dumps(changed))
    assert asked(outlined, 2)[0]["written"]


def test_one_other_run_does_not_replace_many_resamples(run: Path) -> None:
    asked(run, 5)
    lines: list[str] = []
    record = against(run, [run], say=lines.append)
    assert not record["written"] and kept(run)["resamples"] == 5
    assert "keeps the support of 5 resamples of 8 iterations" in "\n".join(lines)
    assert against(run, [run], replace=True, say=lines.append)["written"]


def mean_of(found: Sequence[float]) -> float:
    return float(np.mean(found))


@pytest.mark.parametrize("n", [3, 5])
def test_the_interval_of_the_branches_is_that_of_a_mean(run: Path, n: int, call: Call) -> None:
    record, _ = asked(run, n)
    low, high = stats.t.interval(0.95, n - 1, mean_of(FOUND[:n]), stats.sem(FOUND[:n]))
    branches = record["branches"]
    assert branches["mean"] == pytest.approx(mean_of(FOUND[:n]))
    assert branches["low"] == pytest.approx(max(0, low))
    assert branches["high"] == pytest.approx(min(1, high))
    shown = call("support", run, "--resamples", n).out
    assert f"95% interval {branches['low']:.2f} to {branches['high']:.2f}" in shown


def test_views_say_that_two_resamples_of_few_iterations_are_too_few(run: Path, call: Call) -> None:
    done = call("support", run, "--resamples", 2, "--iterations", 1)
    assert "95% interval" not in done.out and kept(run)["branches"]["low"] is None
    last = show_tree(run).splitlines()[-1]
    assert "2 resamples, too few to tell; 1 iteration of the 8 that a resample needs" in last
    asked(run, 3)
    last = show_tree(run).splitlines()[-1]
    assert "3 resamples" in last and "too few" not in last


@pytest.mark.parametrize(("backend", "needed"), [("nhdp-variational", 2), ("hlda-variational", 8)])
def test_a_resample_needs_what_the_default_gives_it(
    copied: Copied, unfitted: None, backend: str, needed: int
) -> None:
    """A fifth of the eight iterations where the backend has short fits, else all."""
    path = copied(backend)
    record, said = asked(path, 3, iterations=1)
    assert record["needed"] == needed
    assert f"needs {needed} iterations, and these have 1" in said
    assert "needs" not in asked(path, 3)[1]
