"""The keys of tssb-mcmc: numbers hold a parameter fixed, pairs are ranges it stays in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stepping import at, begin, corpus_of

from hiertopics.base.errors import ConfigError
from hiertopics.contract.model import Settings
from hiertopics.families.tssb import text
from hiertopics.settings.config import build
from hiertopics.settings.layers import parse_set


def built(*settings: str) -> Settings:
    layers: list[tuple[str, Any]] = [
        ("the backend", {"backend": "tssb-mcmc"}),
        ("--set", parse_set(settings)),
    ]
    made = build(layers, model_type=text.one.Model, inference_type=text.one.Inference)
    return Settings(made.model, made.inference)


def infos(*settings: str) -> list[Any]:
    """Return what ten iterations say of themselves."""
    rows = np.random.default_rng(0).poisson(2.0, (20, 5))
    corpus = corpus_of(rows)
    chosen = built("model.n_topics=3", "inference.start_sweeps=2", *settings)
    state, data = begin(text.one, corpus, chosen)
    found = []
    for iteration in range(1, 11):
        state, info = text.one.step(state, data, chosen, at(iteration))
        found.append(info)
    return found


def test_numbers_hold_parameters_fixed() -> None:
    fixed = {"alpha0": 7.0, "decay": 0.3, "gamma": 2.0, "kappa": 4.0}
    for info in infos(*(f"model.{name}={value}" for name, value in fixed.items())):
        assert {name: getattr(info, name) for name in fixed} == fixed


def test_ranges_are_never_left() -> None:
    ranges = {"alpha0": (7.0, 7.5), "decay": (0.3, 0.31), "gamma": (2.0, 2.5), "kappa": (4.0, 4.5)}
    found = infos(*(f"model.{name}={list(ends)}" for name, ends in ranges.items()))
    for name, (low, high) in ranges.items():
        values = {getattr(info, name) for info in found}
        assert len(values) == 10 and low <= min(values) and max(values) <= high, name


def test_a_cap_keeps_all_data_above_it() -> None:
    assert max(info.depth for info in infos("model.max_depth=1")) == 1
    assert {info.n_nodes for info in infos("model.max_depth=0")} == {1}


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        ("model.alpha0=[5, 1]", "model.alpha0 must be a number or a rising pair"),
        ("model.gamma=[1, 2, 3]", "model.gamma must be a number or a rising pair"),
        ("model.kappa=[0, 1]", "model.kappa must be"),
        ("model.gamma=-1", "model.gamma must be"),
        ("model.gamma=1e300", "model.gamma must be > 0 and <= 1000"),
        ("model.gamma=[1, 1e300]", "model.gamma must be"),
        ("model.decay=[0.5, 1.5]", "model.decay must be <= 1"),
    ],
)
def test_ranges_that_are_none_are_refused(setting: str, what: str) -> None:
    with pytest.raises(ConfigError) as error:
        built(setting)
    assert what in str(error.value)
