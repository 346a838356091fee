"""Configs with former names of settings mean what they meant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hiertopics.base import saying
from hiertopics.base.errors import ConfigError
from hiertopics.contract import registry
from hiertopics.runs.experiment import read_experiment
from hiertopics.settings.former import Constant, Former, ListEntry, Switch
from hiertopics.settings.identity import config_hash, differing_keys

FORMER: dict[str, Former] = {
    name: getattr(registry.load(name).Inference, "former", {}) for name in registry.BACKENDS
}
SWITCHES = [
    (backend, key, now)
    for backend, former in FORMER.items()
    for key, now in former.items()
    if isinstance(now, Switch)
]
WORDS = [
    (backend, key, before, now)
    for backend, former in FORMER.items()
    for key, words in former.items()
    if isinstance(words, Mapping)
    for before, now in words.items()
]
CONSTANTS = [
    (backend, key, now.value)
    for backend, former in FORMER.items()
    for key, now in former.items()
    if isinstance(now, Constant)
]
ENTRIES = [
    (backend, key, now)
    for backend, former in FORMER.items()
    for key, now in former.items()
    if isinstance(now, ListEntry)
]


@pytest.fixture(autouse=True)
def silence_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test say its notes, though a process says each once."""
    monkeypatch.setattr(saying, "_said", set())


def hold_of(backend: str, *overrides: str, config: Path | None = None) -> tuple[str, ...]:
    experiment: Any = read_experiment({"backend": backend}, config, overrides)
    found: tuple[str, ...] = experiment.inference.hold
    return found


@pytest.mark.parametrize(("backend", "key", "switch"), SWITCHES)
def test_a_former_switch_holds_and_learns_its_hyperparameter_alone(
    backend: str, key: str, switch: Switch, capsys: pytest.CaptureFixture[str]
) -> None:
    default = set(hold_of(backend))
    for value, wanted in (
        (switch.held, default | {switch.name}),
        (switch.learned, default - {switch.name}),
    ):
        plain = json.dumps(value).strip('"')
        assert hold_of(backend, f"{key}={plain}") == tuple(sorted(wanted))
        listed = ", ".join(sorted(wanted))
        said = f"note: {key}: {plain} is now inference.hold: [{listed}] (--set)\n"
        assert capsys.readouterr().err == said


@pytest.mark.parametrize(("backend", "key", "switch"), SWITCHES)
def test_a_former_switch_takes_its_two_values_only(backend: str, key: str, switch: Switch) -> None:
    for wrong in ("3", "1", "null", "perhaps"):
        with pytest.raises(ConfigError, match=rf"^{key} must be .*, got .*\(--set\)$"):
            hold_of(backend, f"{key}={wrong}")


def test_a_former_name_beside_a_section_that_is_no_mapping_does_not_hide_that() -> None:
    wanted = r"inference must be a mapping of keys, got 3"
    with pytest.raises(ConfigError, match=wanted):
        hold_of("nhdp-gibbs", "model.stop=fixed", "inference=3")


def test_a_later_layer_changes_one_entry_of_the_list_of_an_earlier_one(tmp_path: Path) -> None:
    config = tmp_path / "my.yaml"
    config.write_text("inference: {hold: [gamma, level_prior]}\n")
    assert hold_of("hlda-gibbs", config=config) == ("gamma", "level_prior")
    both = ("inference.sample_eta=false", "inference.sample_gamma=true")
    assert hold_of("hlda-gibbs", *both, config=config) == ("eta", "level_prior")
    config.write_text("inference: {sample_gamma: true}\n")
    assert hold_of("hlda-gibbs", config=config) == ("eta", "level_prior")
    assert hold_of("hlda-gibbs", "inference.hold=[]", config=config) == ()


def test_the_order_of_the_list_and_repeats_make_no_other_fit() -> None:
    flags = {"backend": "hlda-gibbs"}
    lists: Any = ["[gamma, eta]", "[eta, gamma]", "[eta, gamma, eta]"]
    found = [read_experiment(flags, None, [f"inference.hold={text}"]) for text in lists]
    assert len({config_hash(one) for one in found}) == 1
    by_python = read_experiment(flags, None, {"inference.hold": ("gamma", "eta")})
    by_former = read_experiment(flags, None, {"inference.sample_level_prior": True})
    assert found[0] == by_python == by_former


def test_a_list_with_another_name_is_refused_with_those_that_there_are() -> None:
    wanted = r"^inference.hold is a list of any of eta, stop, got 'alpha' \(--set\)$"
    with pytest.raises(ConfigError, match=wanted):
        hold_of("nhdp-gibbs", "inference.hold=[eta, alpha]")
    with pytest.raises(ConfigError, match=r"^inference.hold must be a list, .*, got 'eta'"):
        hold_of("nhdp-gibbs", "inference.hold=eta")


def test_several_former_names_make_one_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "my.yaml"
    config.write_text("model: {stop: fixed}\ninference: {sample_eta: false}\n")
    for _ in range(3):
        assert hold_of("nhdp-gibbs", config=config) == ("eta", "stop")
    keys = "model.stop: fixed, inference.sample_eta: false"
    said = f"note: {keys} are now inference.hold: [eta, stop] ({config})\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(("backend", "key", "before", "now"), WORDS)
def test_a_former_word_is_the_present_one(
    backend: str, key: str, before: str, now: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = {"backend": backend}
    old = read_experiment(flags, None, [f"{key}={before}"])
    assert capsys.readouterr().err == f"note: {key}: {before} is now {key}: {now} (--set)\n"
    assert old == read_experiment(flags, None, [f"{key}={now}"])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("backend", "key", "value"), CONSTANTS)
def test_a_former_key_with_one_value_is_left_out_or_refused(
    backend: str, key: str, value: object
) -> None:
    """Runs and configs that have the value are read; no other value has a meaning."""
    flags = {"backend": backend}
    assert read_experiment(flags, None, {key: value}) == read_experiment(flags, None, ())
    known = str(value)
    for wrong in ("77", "true", "null", "perhaps"):
        with pytest.raises(
            ConfigError, match=rf"^{key} is {known} in every fit now, got .*\(--set\)"
        ):
            read_experiment(flags, None, [f"{key}={wrong}"])


def list_of(backend: str, key: str, overrides: Any = (), config: Path | None = None) -> list[float]:
    """Return a list of numbers of the model that a config of a backend has."""
    experiment: Any = read_experiment({"backend": backend}, config, overrides)
    return list(getattr(experiment.model, key.removeprefix("model.")))


@pytest.mark.parametrize(("backend", "key", "entry"), ENTRIES)
def test_a_former_key_of_one_number_sets_that_number_of_the_list(
    backend: str, key: str, entry: ListEntry, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = list_of(backend, entry.key)
    assert wanted == list(entry.default)
    wanted[entry.place] = 0.25
    assert list_of(backend, entry.key, [f"{key}=0.25"]) == wanted
    said = f"note: {key}: 0.25 is now {entry.key}: {wanted} (--set)\n"
    assert capsys.readouterr().err == said
    assert list_of(backend, entry.key, {entry.key: wanted}) == wanted
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("backend", "key", "entry"), ENTRIES)
def test_a_former_key_of_one_number_takes_what_the_number_may_be(
    backend: str, key: str, entry: ListEntry
) -> None:
    for wrong in ("-1", "null", "perhaps", "[0.5]"):
        with pytest.raises(ConfigError, match=rf"^{key} must be .*, got .*\(--set\)$"):
            list_of(backend, entry.key, [f"{key}={wrong}"])
    with pytest.raises(ConfigError, match=rf"^{entry.key} must be a list of .*, got a list"):
        list_of(backend, entry.key, [f"{entry.key}=[0.5, 1.0, 2.0]"])


def test_former_keys_of_both_numbers_and_of_later_layers_go_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, key = tmp_path / "my.yaml", "model.burst_process"
    config.write_text("model: {burst_discount: 0.25, burst_concentration: 40.0}\n")
    assert list_of("hdp-pcvb0", key, config=config) == [0.25, 40.0]
    both = "model.burst_discount: 0.25, model.burst_concentration: 40.0"
    assert capsys.readouterr().err == f"note: {both} are now {key}: [0.25, 40.0] ({config})\n"
    assert list_of("hdp-pcvb0", key, ["model.burst_discount=0.3"], config) == [0.3, 40.0]
    config.write_text("model: {burst_process: [0.1, 7.0]}\n")
    assert list_of("hdp-pcvb0", key, ["model.burst_concentration=9.0"], config) == [0.1, 9.0]


def test_two_fits_of_other_lists_are_told_apart_by_their_numbers() -> None:
    flags = {"backend": "hca-variational"}
    one, other = (read_experiment(flags, None, {"model.noise_rate": rate}) for rate in (0.001, 0.5))
    told = "model.noise_prior: [0.001, 0.001] in the run, [0.001, 0.5] now"
    assert differing_keys(one, other) == [told]
