"""Dump and read back; what the hash covers; the differences that refuse to continue a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import msgspec
import pytest
import yaml
from hypothesis import given, strategies as st
from msgspec import Meta, structs

from hiertopics.settings.config import Experiment, InferenceConfig, build, dump
from hiertopics.settings.identity import config_hash, differing_keys
from hiertopics.settings.yamlfile import load_yaml, parse_value

Build = Callable[..., Experiment]

TEXT = st.text() | st.sampled_from(["yes", "1e-3", "012", "null", "1:30", "2001-01-01", "0", "~"])
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "seed": st.integers(min_value=0),
        "data": st.fixed_dictionaries(
            {},
            optional={
                "corpus": st.none() | TEXT,
                "text_field": st.none() | TEXT | st.integers(),
                "min_df": st.just(1) | st.just(0.0),
                "max_df": st.integers(1, 9) | st.floats(0, 1),
                "label_column": st.none() | TEXT | st.integers(),
                "discretise": st.none()
                | st.fixed_dictionaries(
                    {},
                    optional={
                        "method": st.sampled_from(["quantile", "uniform"]),
                        "bins": st.integers(2, 1000),
                    },
                ),
            },
        ),
        "model": st.fixed_dictionaries(
            {},
            optional={
                "gamma": st.floats(min_value=1e-300, allow_infinity=False) | st.integers(1, 10**9),
                "max_nodes": st.none() | st.integers(min_value=9),
                "name": TEXT.filter(bool),
                "step": st.floats(0, 1, exclude_min=True, exclude_max=True),
            },
        ),
        "inference": st.fixed_dictionaries({}, optional={"shuffle": st.booleans()}),
    },
)


@pytest.mark.slow
@given(settings=SETTINGS)
def test_dump_builds_to_an_equal_experiment(
    make: Build, declared: SimpleNamespace, settings: dict[str, object]
) -> None:
    """Equal experiment, equal hash, no differences, whichever YAML reader is used."""
    experiment = make(settings)
    text = dump(experiment)
    for loaded in (parse_value(text), yaml.safe_load(text)):
        assert isinstance(loaded, dict)
        again = build(
            [("config.yaml", loaded)],
            model_type=declared.Model,
            inference_type=declared.Inference,
        )
        assert again == experiment
        assert dump(again) == text
        assert config_hash(again) == config_hash(experiment)
        assert differing_keys(experiment, again) == []


def test_dump_is_complete_and_ordered(make: Build, tmp_path: Path) -> None:
    """Every key of every section is there, in the order of the declaration."""
    path = tmp_path / "config.yaml"
    path.write_text(dump(make()), encoding="utf-8")
    loaded = load_yaml(path)
    assert list(loaded) == ["backend", "seed", "data", "model", "inference", "output"]
    for name, value in loaded.items():
        if isinstance(value, dict):
            kind = type(getattr(make(), name))
            assert list(value) == [field.encode_name for field in structs.fields(kind)]
    assert "  from: null\n" in path.read_text()
    assert "  step: 1.0e-05\n" in path.read_text()
    assert "  name: 'yes'\n" in path.read_text()


NEUTRAL = [
    {"inference": {"iterations": 7}},
    {"output": {"checkpoint_seconds": 1}},
    *({"data": {name: "elsewhere"}} for name in ("corpus", "vocab", "groups", "labels")),
]
DECISIVE = [
    {"output": {"record_every": 3}},
    {"backend": "another"},
    {"seed": 1},
    {"data": {"holdout": "none"}},
    {"data": {"from": "uci"}},
    {"data": {"min_df": 2}},
    {"data": {"max_df": 1}},
    {"data": {"stop_words": "english"}},
    {"data": {"text_field": 0}},
    {"data": {"label_column": -1}},
    {"data": {"discretise": {}}},
    {"model": {"gamma": 2}},
    {"model": {"max_nodes": 9}},
    {"inference": {"shards": 2}},
    {"inference": {"tolerance": 0.1}},
    {"inference": {"shuffle": True}},
]


@pytest.mark.parametrize("settings", NEUTRAL)
def test_what_does_not_change_the_numbers(make: Build, settings: dict[str, object]) -> None:
    """Same hash, no difference: the run may be continued."""
    assert make(settings) != make()
    assert config_hash(make(settings)) == config_hash(make())
    assert differing_keys(make(), make(settings)) == []


@pytest.mark.parametrize("settings", DECISIVE)
def test_what_changes_the_numbers(make: Build, settings: dict[str, object]) -> None:
    """Another hash, and one line that names the key."""
    assert config_hash(make(settings)) != config_hash(make())
    assert len(differing_keys(make(), make(settings))) == 1


def test_differing_keys_say_both_values(make: Build) -> None:
    """As they would be typed."""
    now = make({"model": {"gamma": 2, "name": "x"}, "seed": 5, "data": {"max_df": 1}})
    assert differing_keys(make(), now) == [
        "seed: 0 in the run, 5 now",
        "data.max_df: 1.0 in the run, 1 now",
        "model.gamma: 1.0 in the run, 2.0 now",
        "model.name: 'yes' in the run, 'x' now",
    ]
    assert differing_keys(now, make())[2] == "model.gamma: 2.0 in the run, 1.0 now"


def test_differing_keys_show_a_struct_with_all_its_keys(make: Build) -> None:
    """On one line, whichever of them differ."""
    five, seven = ({"data": {"discretise": {"bins": bins}}} for bins in (5, 7))
    assert differing_keys(make(five), make(seven)) == [
        "data.discretise: {method: 'quantile', bins: 5} in the run, "
        "{method: 'quantile', bins: 7} now"
    ]
    assert differing_keys(make(), make(five)) == [
        "data.discretise: null in the run, {method: 'quantile', bins: 5} now"
    ]
    assert config_hash(make(five)) != config_hash(make(seven))


def test_differing_keys_between_backends(make: Build) -> None:
    """A key that only one of the two has is absent in the other."""

    class Other(msgspec.Struct, frozen=True):
        gamma: Annotated[float, Meta(gt=0, description="The same.")] = 1.0
        alpha: Annotated[float | None, Meta(description="Another.")] = None

    layers = [("defaults", {"backend": "other"})]
    other = build(layers, model_type=Other, inference_type=InferenceConfig)
    lines = differing_keys(make({"model": {"max_nodes": None}}), other)
    assert lines[0] == "backend: 'imaginary' in the run, 'other' now"
    assert "model.alpha: absent in the run, null now" in lines
    assert "model.max_nodes: null in the run, absent now" in lines
    assert not any("gamma" in line for line in lines)


def test_an_experiment_changed_by_hand(make: Build) -> None:
    """A whole number put where a float is meant hashes as the float that a file would give."""
    experiment = make()
    by_hand = structs.replace(experiment, model=structs.replace(experiment.model, gamma=2))
    assert config_hash(by_hand) == config_hash(make({"model": {"gamma": 2.0}}))
    assert differing_keys(by_hand, make({"model": {"gamma": 2.0}})) == []
