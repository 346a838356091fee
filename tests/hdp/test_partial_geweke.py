"""The partially collapsed sampler keeps the joint distribution, and the test sees where not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from nights import by_night
from partial_geweke import joint_test
from stepping import at, begin, corpus_of, settings_of

from hiertopics.families.flat.concentrations import draw_by_slice_of_sizes
from hiertopics.families.hdp import partial


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["AS", *by_night("AA")])
def test_prior_draws_stay_prior_draws(prior: str) -> None:
    """Concentrations, sticks, topics and words after ten rounds are as they were before."""
    outcome = joint_test(prior, n_replicates=600, n_rounds=10)
    assert outcome.largest_z < 4.0, outcome
    assert outcome.smallest_p > 1e-3, outcome


def test_the_steps_come_in_the_order_that_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """6.2: topics under the word mass of this iteration, z under these topics.

    Drawn before the word mass, topics and z fit another one. Each alone is then nearly right: one
    round of 3000 replicates of the test above comes to 2.6 standard errors, at the statistic that
    is made for it. So the order itself is held.
    """
    seen: list[tuple[str, float, float]] = []

    def spied(name: str) -> Callable[..., Any]:
        function = getattr(partial, name)

        def spy(state: Any, *others: Any, **keys: Any) -> Any:
            result = function(state, *others, **keys)
            seen.append((name, state.word_mass, state.alpha))
            return result

        return spy

    names = ["_draw_word_side", "_draw_topics", "_sweep", "_draw_document_side"]
    for name in names:
        monkeypatch.setattr(partial, name, spied(name))
    keys = {"truncation": 3, "hyper_start": 0, "start": "random"}
    settings = settings_of(partial.backend, **keys)
    state, data = begin(partial, corpus_of([[3, 1], [0, 2]]), settings)
    for iteration in (1, 2):
        word_mass, alpha = state.word_mass, state.alpha
        partial.step(state, data, settings, at(iteration))
        found, masses, alphas = zip(*seen, strict=True)
        assert list(found) == names
        assert masses == (state.word_mass,) * 4 and state.word_mass != word_mass
        assert alphas == (alpha, alpha, alpha, state.alpha)
        seen.clear()


def tables_of_all_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count a table for each token of a document."""

    def draw(histogram: Any, large: Any, concentration: Any, rng: Any) -> Any:
        return (histogram * np.arange(histogram.shape[1])).sum(axis=1)

    monkeypatch.setattr(partial, "draw_table_sums", draw)


def no_prior_of_the_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw alpha under a flat prior."""
    slices = draw_by_slice_of_sizes

    def draw(value: float, n_tables: int, *others: Any) -> float:
        return slices(value, n_tables + 1, *others)

    monkeypatch.setattr(partial, "draw_by_slice_of_sizes", draw)


WRONG = [tables_of_all_tokens, no_prior_of_the_slice]


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_variants_are_rejected(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail."""
    wrong(monkeypatch)
    assert joint_test("AS", n_replicates=300, n_rounds=10).largest_z > 6.0
