"""The nightly calibration: ranks are judged rightly, and what is done is not done again."""

from __future__ import annotations

from pathlib import Path

import calibration
import numpy as np
import pytest
import records
from nights import by_night


def test_even_ranks_pass_and_others_do_not() -> None:
    rng = np.random.default_rng(0)
    even = rng.integers(32, size=200)
    assert min(calibration.p_values(even)) > 0.01
    assert max(calibration.p_values(np.minimum(even, 15))) < 1e-9
    assert calibration.p_values(np.where(even < 16, 0, 31))[0] < 1e-9


def test_chains_of_some_length_are_of_backends_with_a_case() -> None:
    assert set(calibration.PLANS) <= {case.backend for case in calibration.CASES.values()}


@pytest.mark.parametrize("name", ["hdp-gibbs", *by_night("hlda-gibbs")])
def test_a_fit_gives_as_many_draws_as_ranks_are_judged_by(name: str, tmp_path: Path) -> None:
    case, plan = calibration.CASES[name], calibration.PLANS[name]
    _, corpus = calibration.simulated(case, plan.sizes, 0, tmp_path)
    draws = calibration.fitted(case, plan, corpus, 0, tmp_path / "run")
    assert len(draws) == calibration.N_DRAWS
    assert all(other.burn_in % other.thin == 0 for other in calibration.PLANS.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hdp-gibbs", *by_night("tssb-mcmc binary")])
def test_hyperparameters_and_structure_are_ranked(name: str) -> None:
    ranks = calibration.rank(name, 0)
    wanted = {"hdp-gibbs": {"n_topics"}, "tssb-mcmc binary": {"n_nodes", "n_occupied", "depth"}}
    of_model = {"hdp-gibbs": {"alpha", "gamma", "eta"}}.get(name, {"alpha0", "decay", "gamma"})
    assert wanted[name] | of_model | {"objective"} <= set(ranks)
    assert all(0 <= value <= calibration.N_DRAWS for value in ranks.values())
    assert calibration.rank(name, 0) == ranks


@pytest.mark.nightly
@pytest.mark.slow
def test_what_is_done_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = records.Ledger("calibration", *calibration.DECIDE, folder=tmp_path)
    monkeypatch.setattr(calibration.records, "Ledger", lambda *_: ledger)
    words = ["--only", "lda-gibbs", "--ranks", "2", "--stays", "50", "--processes", "1"]
    assert calibration.main(words) in (records.PASSED, records.FOUND)
    first = ledger.path.read_bytes()
    assert len(ledger.rows()) == 3
    assert calibration.main(words) in (records.PASSED, records.FOUND)
    assert ledger.path.read_bytes() == first
    capsys.readouterr()
    assert calibration.main(["--table"]) == records.PASSED
    assert capsys.readouterr().out.count("| lda-gibbs |") == 2


def test_a_fit_that_fails_is_told_and_stops_nothing(tmp_path: Path) -> None:
    ledger = records.Ledger("calibration", *calibration.DECIDE, folder=tmp_path)
    ledger.add("rank x", part="rank", name="hdp-gibbs", said={calibration.FAILED: "not finite"})
    assert calibration.faults(ledger) == ["rank x failed: not finite"]
    assert calibration.table_of_ranks(ledger).count("\n") == 1
