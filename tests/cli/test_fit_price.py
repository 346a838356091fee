"""What ``fit`` says a shape costs that its settings ask for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hiertopics
from hiertopics.base.errors import DataError
from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]
PLANTED = Path(__file__).parents[2] / "data-samples" / "planted.ldac"
ONE = ("-b", "nhdp-variational", "--iterations", 2, "-s", "inference.start_iterations=1")
SMALL = (*ONE, "-s", "model.truncation=12", "-s", "inference.trials=0")
ASKED = ("-s", "model.branches=[2]")
SAID = "price of the shape: "
ADVICE = "note: hiertopics compare beside a fit without model.branches tells the price"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("holdout", "asked"),
    [("docs:0.1@0", "model.branches=[2]"), ("tokens:0.2@0", "model.least_children=4")],
)
def test_the_price_is_what_a_second_fit_that_is_free_says(
    call: Call, holdout: str, asked: str
) -> None:
    told = call("fit", PLANTED, *SMALL, "--holdout", holdout, "-s", asked, "-o", "asked", "--json")
    assert told.code == 0 and told.err.count(SAID) == 1, told.err
    record = json.loads(told.out)
    assert call("fit", PLANTED, *SMALL, "--holdout", holdout, "-o", "free", "-q").code == 0
    rows = hiertopics.compare(["asked", "free"])
    score = {row["run"]: row["log_likelihood_per_word"] for row in rows}
    assert score["free"] != score["asked"]
    assert record["price"] == pytest.approx(score["free"] - score["asked"], abs=1e-12)
    assert record["price_error"] == pytest.approx(rows[1]["behind_error"])


def test_the_price_is_said_once_and_changes_no_file_of_the_run(call: Call) -> None:
    assert call("fit", PLANTED, *SMALL, *ASKED, "-o", "quiet", "-q").err == ""
    first = call("fit", PLANTED, *SMALL, *ASKED, "-o", "told")
    assert first.err.count(SAID) == 1
    assert first.err.index(SAID) < first.err.index("next: ")
    assert SAID not in call("fit", PLANTED, *SMALL, *ASKED, "-o", "told").err
    runs = [RunDir(name) for name in ("quiet", "told")]
    assert runs[0].manifest["files"] == runs[1].manifest["files"]
    assert SAID in (runs[1].path / "log.txt").read_text()
    assert not list(runs[1].path.glob("eval/*"))


@pytest.mark.parametrize(
    ("settings", "advised"),
    [
        ((), False),
        ((*ASKED, "--holdout", "none"), False),
        ((*ASKED, "-b", "nhdp-gibbs", "-s", "inference.variational_sweeps=1"), True),
        (("-b", "multinomial"), False),
    ],
    ids=["free", "nothing put aside", "sampler", "no tree"],
)
def test_there_is_no_price_where_nothing_can_be_compared(
    call: Call, settings: tuple[str, ...], advised: bool
) -> None:
    small = SMALL if "multinomial" not in settings else ("--iterations", 1)
    told = call("fit", PLANTED, *small, *settings, "-o", "run")
    assert told.code == 0 and SAID not in told.err, told.err
    assert (ADVICE in told.err) == advised


def test_a_large_corpus_is_not_fitted_twice(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hiertopics.python.pricing.MOST_PAIRS", 100)
    told = call("fit", PLANTED, *SMALL, *ASKED, "-o", "run")
    assert told.code == 0 and SAID not in told.err and told.err.count(ADVICE) == 1


def test_a_fit_stays_done_where_its_price_cannot_be_found(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: RunDir) -> None:
        raise DataError("the corpus", "is gone")

    monkeypatch.setattr("hiertopics.python.pricing.read_original", gone)
    told = call("fit", PLANTED, *SMALL, *ASKED, "-o", "run")
    assert told.code == 0 and told.out == "run\n"
    assert "note: the price of the shape is not known: the corpus: is gone" in told.err
