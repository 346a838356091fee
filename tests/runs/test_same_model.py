"""Fits whose seed changes nothing: views that hold runs against each other say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hiertopics.runs.rundir import RunDir
from hiertopics.runs.samemodel import twin_of_other_seed

Call = Callable[..., Any]
TOLD = "one model, byte for byte, in a and b: the seed changes nothing here; hiertopics support a "


def fitted(fit_tiny: Callable[..., Any], backend: str, *names: str) -> None:
    """Fit a backend with seeds 0, 1, ... of one split; the runs have these names."""
    nothing_drawn = ["inference.start=groups"] if backend == "nhdp-variational" else []
    for seed, name in enumerate(names):
        fit_tiny(Path(name), backend, seed=seed, iterations=2, overrides=nothing_drawn)


@pytest.mark.parametrize("command", ["agree", "compare"])
def test_two_seeds_of_one_model_are_called_one(
    fit_tiny: Callable[..., Any], call: Call, command: str
) -> None:
    fitted(fit_tiny, "nhdp-variational", "a", "b")
    assert Path("a/model.npz").read_bytes() == Path("b/model.npz").read_bytes()
    for form in ("text", "csv", "jsonl"):
        done = call(command, "a", "b", "--format", form)
        assert done.code == 0 and TOLD in done.err and TOLD not in done.out


@pytest.mark.parametrize("command", ["agree", "compare"])
def test_models_that_differ_are_not(fit_tiny: Callable[..., Any], call: Call, command: str) -> None:
    fitted(fit_tiny, "hlda-gibbs", "a", "b")
    assert "byte for byte" not in call(command, "a", "b").err


def test_a_run_beside_itself_has_no_seed_to_blame(fit_tiny: Callable[..., Any], call: Call) -> None:
    fitted(fit_tiny, "nhdp-variational", "a")
    told = call("agree", "a", "a").err
    assert "one model, byte for byte, in a; " in told and "seed" not in told


def test_a_fit_names_the_run_that_another_seed_made_the_same(
    fit_tiny: Callable[..., Any], call: Call
) -> None:
    """Only where there is one: whether a fit draws depends on its corpus, too."""
    fitted(fit_tiny, "nhdp-variational", "runs/t-s0")
    first = RunDir("runs/t-s0")
    assert twin_of_other_seed(first) is None
    again = ("fit", first.experiment.data.corpus, "-c", "runs/t-s0/config.yaml", "--seed")
    told = call(*again, 1, "-o", "runs/t-s1").err
    assert "this is the model of runs/t-s0, byte for byte" in told
    assert "the seed changes nothing" in told
    Path("runs/t-s0/manifest.json").write_text("{")
    assert twin_of_other_seed(RunDir("runs/t-s1")) is None


def test_a_fit_that_draws_says_nothing_of_it(fit_tiny: Callable[..., Any], call: Call) -> None:
    fitted(fit_tiny, "hlda-gibbs", "runs/t-s0", "runs/t-s1")
    assert twin_of_other_seed(RunDir("runs/t-s1")) is None
