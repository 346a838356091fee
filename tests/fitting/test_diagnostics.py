"""R-hat and effective sample sizes of recorded traces, against arviz-stats and by hand."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from arviz_stats.base import array_stats

from hiertopics.base.arrays import F64
from hiertopics.base.errors import UsageError
from hiertopics.fitting import diagnostics
from hiertopics.fitting.diagnostics import diagnosis, split_r_hat, traces

RNG = np.random.default_rng(3)
TRACES = {
    "independent": RNG.normal(size=(4, 200)),
    "two chains": RNG.normal(size=(2, 51)),
    "heavy tails": RNG.standard_cauchy(size=(3, 80)),
    "walks": RNG.normal(size=(4, 100)).cumsum(axis=1),
    "counts": RNG.poisson(3.0, size=(3, 40)).astype(float),
    "unequal spread": RNG.normal(size=(3, 90)) * np.array([[1.0], [1.0], [9.0]]),
}


def rhat(values: F64) -> float:
    return float(array_stats.rhat(values, chain_axis=0, draw_axis=1, method="rank"))


def ess(values: F64, method: str) -> float:
    prob = {"prob": (0.05, 0.95)} if method == "tail" else {}
    return float(array_stats.ess(values, chain_axis=0, draw_axis=1, method=method, **prob))


@pytest.mark.parametrize("name", TRACES)
def test_the_figures_are_those_of_arviz_stats(name: str) -> None:
    values = TRACES[name]
    found = diagnosis(name, values)
    assert (found.trace, found.n_chains, found.n_draws) == (name, *values.shape)
    assert found.r_hat == rhat(values) and not found.apart
    assert (found.ess_bulk, found.ess_tail) == (ess(values, "bulk"), ess(values, "tail"))


@pytest.mark.parametrize("name", TRACES)
def test_the_split_r_hat_of_ours_agrees_where_arviz_stats_has_one(name: str) -> None:
    assert split_r_hat(array_stats, TRACES[name]) == pytest.approx(rhat(TRACES[name]), rel=1e-12)


def test_one_chain_is_compared_with_itself() -> None:
    steady, drifting = RNG.normal(size=(1, 400)), np.linspace(0.0, 5.0, 400)[None, :]
    assert 0.99 < (diagnosis("t", steady).r_hat or 0) < 1.02
    assert (diagnosis("t", drifting + steady).r_hat or 0) > 1.5
    alone = diagnosis("t", steady)
    assert alone.ess_bulk == ess(steady, "bulk") and alone.n_chains == 1


def test_chains_that_have_not_come_together_are_told() -> None:
    values = TRACES["independent"] + np.array([[0.0], [0.0], [0.0], [3.0]])
    problem = diagnosis("t", values).problem
    assert problem is not None and "have not come together" in problem
    assert diagnosis("t", TRACES["independent"]).problem is None


def test_few_effective_draws_are_told_per_chain() -> None:
    values = np.random.default_rng(1).normal(size=(2, 70))
    sizes = [ess(values, "bulk"), ess(values, "tail")]
    assert rhat(values) < 1.01 and 100 < min(sizes) < 200  # too few for two chains
    assert diagnosis("t", values).problem == (
        "ESS is below 100 per chain: more iterations make it larger"
    )


def test_a_constant_trace_has_no_figures_and_no_problem() -> None:
    found = diagnosis("t", np.full((3, 50), 7.0))
    assert (found.r_hat, found.ess_bulk, found.ess_tail) == (None, None, None)
    assert found.problem is None and "R-hat -" in found.told()


@pytest.mark.parametrize(
    "values",
    [
        np.repeat([[1.0], [2.0]], 20, axis=1),
        np.tile([[0.0, 1.0], [-10.0, 11.0]], 10),
    ],
    ids=["each stays", "equal medians"],
)
def test_chains_with_nothing_in_common_are_told_though_r_hat_is_infinite(
    values: F64,
) -> None:
    found = diagnosis("t", values)
    assert found.apart and found.r_hat is None
    assert found.problem is not None and "infinite" in found.problem


@pytest.mark.parametrize("n_draws", [1, 2, 3])
def test_too_few_draws_are_told(n_draws: int) -> None:
    found = diagnosis("t", np.arange(2.0 * n_draws).reshape(2, n_draws))
    assert (found.r_hat, found.ess_bulk, found.ess_tail, found.apart) == (None, None, None, False)
    assert found.problem is not None and "too few" in found.problem


def test_a_line_holds_the_figures() -> None:
    values = TRACES["walks"]
    line = diagnosis("objective", values).told("log joint probability")
    assert line == (
        f"log joint probability: R-hat {rhat(values):.3f}, bulk ESS {ess(values, 'bulk'):.0f}, "
        f"tail ESS {ess(values, 'tail'):.0f} (4 x 100 draws)"
    )


def test_traces_begin_after_the_burn_in_and_pass_over_irregular_lines() -> None:
    rows = [
        {"iteration": i, "seconds": 0.1, "objective": -i, "n_topics": 10 * i, "moved": 0}
        for i in (2, 4, 5, 6, 8, 9)
    ]
    found = traces(rows, burn_in=4, record_every=2)
    assert {name: values.tolist() for name, values in found.items()} == {
        "objective": [[-6.0, -8.0]],
        "n_topics": [[60.0, 80.0]],
    }
    assert traces(rows, burn_in=8, record_every=2) == {}


def test_traces_of_several_chains_are_a_row_each() -> None:
    rows = [
        {
            "iteration": i,
            "seconds": 0.1,
            "objective": -1.5 * i,
            "n_nodes": i,
            "chains": {"objective": [-i, -2 * i], "n_nodes": [i, i + 1]},
        }
        for i in (1, 2, 3)
    ]
    found = traces(rows, burn_in=1, record_every=1)
    assert {name: values.tolist() for name, values in found.items()} == {
        "objective": [[-2.0, -3.0], [-4.0, -6.0]],
        "n_nodes": [[2.0, 3.0], [3.0, 4.0]],
    }


def test_without_the_extra_one_line_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "arviz_stats"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "arviz_stats", None)
    with pytest.raises(UsageError, match=r"pip install 'hiertopics\[diagnostics\]'") as error:
        diagnostics.diagnosis("t", np.zeros((2, 9)))
    assert "\n" not in str(error.value)
