"""The keys that the tree backends share: what is taken, what is refused and how it is said."""

from __future__ import annotations

import pytest

from hiertopics.base.errors import ConfigError
from hiertopics.families.ncrp.config import level_prior
from hiertopics.runs.experiment import read_experiment


def problems(*overrides: str) -> list[str]:
    """Return what is wrong with these settings."""
    with pytest.raises(ConfigError) as caught:
        read_experiment({"backend": "hlda-variational"}, None, overrides)
    return list(caught.value.problems)


def test_a_level_prior_is_a_list_with_an_entry_for_each_level() -> None:
    overrides = ["model.depth=4", "model.level_prior=[50, 20, 10.5, 1]"]
    model = read_experiment({"backend": "hlda-variational"}, None, overrides).model
    assert model.level_prior == [50.0, 20.0, 10.5, 1.0]
    assert level_prior(model).tolist() == [50.0, 20.0, 10.5, 1.0]


def test_without_a_level_prior_every_level_has_one_pseudo_count() -> None:
    model = read_experiment({"backend": "hlda-variational"}, None, ["model.depth=5"]).model
    assert model.level_prior is None and level_prior(model).tolist() == [1.0] * 5


@pytest.mark.parametrize(
    ("override", "said"),
    [
        (
            "model.level_prior=[1, 2]",
            "model.level_prior must have depth = 3 entries, got 2 (--set)",
        ),
        ("model.level_prior=[]", "model.level_prior must have depth = 3 entries, got 0 (--set)"),
        (
            "model.level_prior=[1, 0, 2]",
            "model.level_prior must be a list, each a number > 0 or null, got a list (--set)",
        ),
        (
            "model.level_prior=3",
            "model.level_prior must have depth = 3 entries, got 1 (--set)",
        ),
        (
            "model.level_prior=[1, .inf, 1]",
            "model.level_prior must be a finite number, got a list (--set)",
        ),
        ("model.depth=1", "model.depth must be >= 2 and <= 30, got 1 (--set)"),
        ("model.eta=0", "model.eta must be > 0, got 0 (--set)"),
        ("model.gamma=-1", "model.gamma must be > 0, got -1 (--set)"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(override: str, said: str) -> None:
    assert problems(override) == [said]
