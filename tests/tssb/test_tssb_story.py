"""Where the story and the start ``prior`` put data: as the process has it, in closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from nights import by_night, daily
from scipy import stats
from stepping import at, corpus_of, settings_of
from tree_cases import FEATURES, PRIOR, State, seats, statistics, urn

from hiertopics.base.arrays import F64
from hiertopics.contract.model import Settings, Sizes
from hiertopics.corpus.data.vectors import Vectors, default_columns
from hiertopics.families.tssb import binary, text, trees

N_DRAWS = 3_000
DEFAULTS: dict[str, Any] = {}
SHALLOW = {"alpha0": 2.0, "decay": 0.5, "gamma": 1.0}
THREE = {"alpha0": 1.5, "decay": 0.4, "gamma": 1.2, "max_depth": 4}


def backend_for(settings: Settings) -> Any:
    return {"text": text, "binary": binary}[settings.model.likelihood].one


def by_simulate(settings: Settings, n_data: int, seed: int) -> State:
    _, truth = backend_for(settings).simulate(settings, Sizes(n_data, 2, 1), at(0, seed=seed))
    return seats(truth["parent"], truth["node"])


def by_start(settings: Settings, n_data: int, seed: int) -> State:
    table = np.ones((n_data, 2))
    corpus: Any = corpus_of(table)
    if settings.model.likelihood == "binary":
        corpus = Vectors(table, default_columns(2))
    backend = backend_for(settings)
    data = backend.prepare(corpus, settings)
    state = backend.init(data, settings, at(0, seed=seed))
    return seats(state.nodes.parent, state.node)


PLACES: dict[str, Callable[[Settings, int, int], State]] = {
    "simulate": by_simulate,
    "start": by_start,
}
PAIRS = [("simulate", "text"), ("start", "binary"), ("start", "text"), ("simulate", "binary")]
"""Cases of the two tests below. Each test runs two of them by day."""


def settings_for(likelihood: str, process: dict[str, Any]) -> Settings:
    keys = {"n_topics": 2, "start": "prior", "start_sweeps": 0}
    return settings_of(text.one, likelihood=likelihood, **keys, **process)


def chances_of_depths(settings: Settings) -> F64:
    """Return the chance of each depth of the first datum: it goes on below depth j with chance
    1 - 1/(1 + alpha(j)), whatever the tree, for there is none yet."""
    alpha0, decay = (np.mean(value) for value in (settings.model.alpha0, settings.model.decay))
    stop = 1.0 / (1.0 + alpha0 * decay ** np.arange(settings.model.max_depth + 1))
    stop[-1] = 1.0
    return np.asarray(stop * np.cumprod(np.append(1.0, 1.0 - stop[:-1])))


@pytest.mark.slow
@pytest.mark.parametrize(("where", "likelihood"), daily(PAIRS, *PAIRS[:2]))
@pytest.mark.parametrize("process", [*by_night(DEFAULTS), SHALLOW], ids=["defaults", "shallow"])
def test_the_first_datum_is_as_deep_as_the_process_says(
    where: str, process: dict[str, Any], likelihood: str
) -> None:
    settings = settings_for(likelihood, process)
    chances = chances_of_depths(settings)
    printed = [0.032, 0.070, 0.140, 0.229, 0.267, 0.185]
    if process is SHALLOW:
        printed = [0.333, 0.333, 0.222, 0.089, 0.020, 0.002]
    assert chances[:6] == pytest.approx(printed, abs=5e-4)
    depths = [len(PLACES[where](settings, 1, seed)[0]) for seed in range(N_DRAWS)]
    seen = np.bincount(depths, minlength=len(chances))
    last = int(np.flatnonzero(chances * N_DRAWS > 10)[-1])
    seen, wanted = (
        np.append(values[:last], values[last:].sum()) for values in (seen, chances * N_DRAWS)
    )
    assert stats.chisquare(seen, wanted).pvalue > 1e-4, (seen, wanted)


@pytest.mark.slow
@pytest.mark.parametrize(("where", "likelihood"), daily(PAIRS, *PAIRS[2:]))
def test_three_data_sit_together_and_apart_as_the_urn_has_it(where: str, likelihood: str) -> None:
    """Each statistic of three seats against the listing of all 894 ways to seat them."""
    ways = list(urn(3, PRIOR))
    chances = np.array([chance for chance, _ in ways])
    by_way = np.array([statistics(state) for _, state in ways], dtype=float)
    mean = chances @ by_way
    error = np.sqrt((chances @ by_way**2 - mean**2) / N_DRAWS)
    settings = settings_for(likelihood, THREE)
    found = [statistics(PLACES[where](settings, 3, seed)) for seed in range(N_DRAWS)]
    scores = (np.mean(found, axis=0) - mean) / error
    assert np.abs(scores).max() < 4, dict(zip(FEATURES, scores.tolist(), strict=True))


def test_room_for_the_tree_changes_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_for("text", DEFAULTS)
    found = []
    for growth in (2, 40):
        monkeypatch.setattr(trees, "GROWTH", growth)
        _, truth = text.one.simulate(settings, Sizes(60, 3, 4), at(0))
        found.append([array.tobytes() for array in truth.values()])
    assert len(truth["parent"]) > 128
    assert found[0] == found[1]
