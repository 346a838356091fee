"""Bursty models beside plain ones with a cache: names of fits, gains, rare top words."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import bursts
from benchmarks.bursts import Fit
from benchmarks.cli import cli
from benchmarks.corpora import FILES
from benchmarks.paired import difference
from benchmarks.process import ROOT

SAMPLE = ROOT / "data-samples" / "planted.ldac"
NOTHING = {"log_likelihood": 0.0}


def test_names_of_fits_hold_the_backend_the_variant_and_the_topics() -> None:
    bursty = Fit.named("hdp-gibbs-bursts@300")
    assert bursty == ("hdp-gibbs-bursts", "300")
    assert bursty.settings == {"model.truncation": "300"}
    assert bursty.average == ("--average",)
    assert Fit.named("nhdp-variational").settings == {}
    assert Fit.named("nhdp-variational").average == ()


def test_the_error_of_a_gain_is_that_of_a_ratio_over_documents() -> None:
    gains = np.array([1.0, -0.5, 2.0, 0.25])
    mean, error = difference([({"log_likelihood": gains, "n_scored": [5] * 4}, NOTHING)])
    assert mean == pytest.approx(gains.mean() / 5)
    assert error == pytest.approx(gains.std() / 5 / 2), "documents of one length: that of a mean"
    gains = np.array([2.0, 6.0])
    assert difference([({"log_likelihood": gains, "n_scored": [1, 3]}, NOTHING)]) == (2.0, 0.0)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose one corpus is the planted sample."""
    folder = tmp_path_factory.mktemp("data")
    file = folder / FILES["psychreview"]
    file.parent.mkdir()
    with gzip.open(file, "wb") as stream:
        stream.write(SAMPLE.read_bytes())
    return folder


@pytest.mark.nightly
def test_a_bursty_fit_gains_by_its_own_predictive_over_the_cache(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "bursts.jsonl"
    monkeypatch.setattr(bursts, "PLAIN", "lda-gibbs")
    command = ["bursts", str(data), "--corpus", "psychreview", "--seed", "0", "-o", str(output)]
    models = ["--model", "lda-gibbs", "--model", "lda-gibbs-bursts"]
    found = CliRunner().invoke(cli, [*command, *models], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    plain, bursty = map(json.loads, output.read_text().splitlines())
    gained = np.subtract(bursty["log_likelihood"], plain["log_likelihood_with_cache"])
    mean, rounding = gained.sum() / sum(plain["n_scored"]), 1e-4 * len(gained)
    expected = np.log(plain["perplexity_with_cache"] / bursty["perplexity"])
    assert mean == pytest.approx(expected, abs=rounding / sum(plain["n_scored"]))
    row = next(line for line in found.output.splitlines() if "lda-gibbs-bursts" in line)
    assert f"| {mean:.3f} ± " in row
    again = CliRunner().invoke(cli, [*command, *models], catch_exceptions=False)
    assert again.exit_code == 0
    assert len(output.read_text().splitlines()) == 2, "what the file holds was measured again"
