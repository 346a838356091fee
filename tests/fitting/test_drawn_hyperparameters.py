"""``simulate --draw-hyperparameters``: from the priors of the fit, into the truth, and used."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from stepping import SERIAL

import hiertopics
from hiertopics.base import archives
from hiertopics.contract import registry
from hiertopics.contract.model import Context, Settings, Sizes
from hiertopics.contract.observed import kind_of
from hiertopics.runs.experiment import read_experiment

Call = Callable[..., Any]
SIZES = Sizes(n_docs=6, n_words=5, doc_length=7)
N_DRAWS = 2000
SMALL = ("--docs", 6, "--words", 5, "--length", 7)
EXP = stats.expon

CASES: dict[str, tuple[str, tuple[str, ...], Mapping[str, Any]]] = {
    "hdp": (
        "hdp-gibbs",
        ("model.truncation=3",),
        {"alpha": EXP, "gamma": EXP, "eta": EXP(scale=1 / 5)},
    ),
    "hdp AA": (
        "hdp-gibbs",
        ("model.truncation=3", "model.prior=AA"),
        {"alpha": EXP, "gamma": EXP, "eta": EXP(scale=1 / 5), "tau": stats.beta(1, 4)},
    ),
    "lda": (
        "lda-gibbs",
        ("model.n_topics=4",),
        {"alpha": stats.uniform(0.1 / 4, 999.9 / 4), "eta": EXP},
    ),
    "lda, alpha by topic": ("lda-gibbs", ("model.n_topics=4", "model.prior=asymmetric"), {}),
    "hlda": (
        "hlda-gibbs",
        ("inference.hold=[]",),
        {"gamma": EXP, "eta": EXP, "level_prior": EXP(scale=10)},
    ),
    "hlda, gamma alone": ("hlda-gibbs", ("inference.hold=[eta, level_prior]",), {"gamma": EXP}),
    "hlda as it is": ("hlda-gibbs", (), {}),
    "chdp": (
        "chdp-gibbs",
        ("model.truncation=3",),
        {"alpha_doc": EXP, "alpha_group": EXP, "gamma": EXP, "eta": EXP(scale=1 / 5)},
    ),
    "chdp, two fixed": (
        "chdp-gibbs",
        ("model.truncation=3", "inference.hold=[eta, alpha_group]"),
        {"alpha_doc": EXP, "gamma": EXP},
    ),
    "nhdp": (
        "nhdp-gibbs",
        ("model.truncation=4",),
        {"concentration": EXP, "eta": EXP(scale=1 / 5), "stop": EXP},
    ),
    "nhdp, eta and stops fixed": (
        "nhdp-gibbs",
        ("model.truncation=4", "inference.hold=[eta, stop]"),
        {"concentration": EXP},
    ),
    "tssb": (
        "tssb-mcmc",
        (),
        {
            "alpha0": stats.uniform(10, 40),
            "decay": stats.uniform(0.05, 0.75),
            "gamma": stats.uniform(1, 9),
            "kappa": stats.uniform(0.1, 999.9),
        },
    ),
    "tssb of bits, alpha0 fixed": (
        "tssb-mcmc",
        ("model.likelihood=binary", "model.alpha0=3"),
        {
            "decay": stats.uniform(0.05, 0.75),
            "gamma": stats.uniform(1, 9),
            "variance": stats.uniform(0.01, 0.99),
        },
    ),
}


def settings_of(case: str) -> tuple[Any, Settings]:
    backend, overrides, _ = CASES[case]
    experiment = read_experiment({"backend": backend}, None, overrides)
    return registry.load_for(experiment), Settings(experiment.model, experiment.inference)


def draws_of(case: str) -> dict[str, np.ndarray[Any, Any]]:
    module, settings = settings_of(case)
    contexts = (Context(seed, 0, SERIAL) for seed in range(N_DRAWS))
    drawn = [module.draw_hyperparameters(settings, SIZES, context) for context in contexts]
    return {name: np.array([draw[name] for draw in drawn]) for name in drawn[0]}


@pytest.mark.parametrize("case", [case for case in CASES if case != "lda, alpha by topic"])
def test_draws_follow_the_prior_of_what_the_fit_would_draw(case: str) -> None:
    """Kolmogorov and Smirnov, a column each of those that are not one number."""
    found, priors = draws_of(case), CASES[case][2]
    assert set(found) == set(priors)
    for name, prior in priors.items():
        for column in found[name].reshape(N_DRAWS, -1).T:
            assert stats.kstest(column, prior.cdf).pvalue > 1e-3, name


def test_alphas_of_topics_have_a_uniform_total_and_uniform_shares() -> None:
    alpha = draws_of("lda, alpha by topic")["alpha"]
    total = alpha.sum(axis=1)
    assert stats.kstest(total, stats.uniform(0.1, 999.9).cdf).pvalue > 1e-3
    for share in (alpha / total[:, None]).T:
        assert stats.kstest(share, stats.beta(1, 3).cdf).pvalue > 1e-3


def test_a_prior_off_by_a_third_would_be_noticed() -> None:
    gamma = draws_of("hdp")["gamma"]
    assert stats.kstest(gamma, EXP(scale=4 / 3).cdf).pvalue < 1e-6


@pytest.mark.parametrize("case", [case for case in CASES if case != "hlda as it is"])
def test_the_corpus_is_drawn_under_what_was_drawn(case: str) -> None:
    """Another value of any hyperparameter gives another corpus or another truth."""
    module, settings = settings_of(case)
    contexts = [Context(seed, 0, SERIAL) for seed in range(5)]
    drawn = dict(module.draw_hyperparameters(settings, SIZES, contexts[0]))

    def told(values: Mapping[str, Any]) -> list[bytes]:
        truths = [module.simulate(settings, SIZES, context, values)[1] for context in contexts]
        return [truth[name].tobytes() for truth in truths for name in sorted(truth)]

    first = told(drawn)
    assert told(drawn) == first
    for name, value in drawn.items():
        assert told({**drawn, name: np.asarray(value / 50)}) != first, name


@pytest.mark.parametrize("case", CASES)
def test_the_truth_has_them_by_name(call: Call, tmp_path: Path, case: str) -> None:
    backend, overrides, priors = CASES[case]
    module, settings = settings_of(case)
    name = "x.npz" if kind_of(backend, settings.model) == "counts" else "x.npy"
    words = [word for key in overrides for word in ("-s", key)]
    asked = ("simulate", backend, *SMALL, *words, "--seed", 4, "--draw-hyperparameters")
    outcome = call(*asked, "-o", name)
    assert outcome.code == 0
    names = ", ".join(priors) or "none, the settings fix them all"
    if case != "lda, alpha by topic":
        assert outcome.err.splitlines()[-1] == f"hyperparameters drawn: {names}"
    truth = archives.read_npz(tmp_path / "x.truth.npz")
    drawn = module.draw_hyperparameters(settings, SIZES, Context(4, 0, SERIAL))
    for key, value in drawn.items():
        np.testing.assert_array_equal(truth[key], value)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert call(*asked, "-o", name).code == 0
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first


def test_json_names_what_was_drawn(call: Call) -> None:
    outcome = call(
        "simulate", "hdp-gibbs", *SMALL, "-o", "x.npz", "--draw-hyperparameters", "--json"
    )
    assert json.loads(outcome.out)["hyperparameters"] == ["alpha", "gamma", "eta"]


def test_the_function_of_the_package_draws_them_too(tmp_path: Path) -> None:
    drawn = hiertopics.simulate(
        "hdp-gibbs", tmp_path / "x.npz", n_docs=3, n_words=4, draw_hyperparameters=True
    )
    assert drawn.hyperparameters == ("alpha", "gamma", "eta")
    assert set(drawn.hyperparameters) < set(archives.read_npz(drawn.truth))


@pytest.mark.parametrize("backend", ["hdp-pcvb0", "hlda-variational", "multinomial"])
def test_a_backend_without_such_priors_says_so_in_one_line(
    call: Call, tmp_path: Path, backend: str
) -> None:
    outcome = call("simulate", backend, *SMALL, "-o", "x.npz", "--draw-hyperparameters")
    assert (outcome.code, outcome.out) == (2, "") and not any(tmp_path.iterdir())
    assert outcome.err.count("\n") == 1
    assert f"a fit of {backend} has no priors to draw hyperparameters from" in outcome.err
