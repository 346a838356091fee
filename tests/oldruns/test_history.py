"""What an old run leaves out means what it meant then, whatever the default is by now."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from oldanswers import give
from oldcases import CASES, DONE, HERE, PROGRAMS, STOPPED
from record import defaults
from replacing import put_in_place

from hiertopics.base.errors import RunError
from hiertopics.contract import registry
from hiertopics.runs import artifacts
from hiertopics.runs.experiment import read_experiment
from hiertopics.runs.rundir import RunDir
from hiertopics.settings import history
from hiertopics.settings.history import FIRST, Change

CASE = "hdp-cvb0"


class Died(Exception):
    """The end of a process, whatever it was."""


Unpack = Callable[[str, str], Any]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_default_that_is_another_than_it_was_is_in_the_history(name: str) -> None:
    recorded = json.loads((HERE / name / "defaults.json").read_text(encoding="utf-8"))
    made = recorded_version(name)
    for backend, values in defaults().items():
        before = recorded.get(backend)
        for key, value in values.items() if before is not None else ():
            told = history.meant(key, backend, made)
            what = f"{backend}: {key}"
            if key not in before:
                assert told, f"{what} is new; hiertopics.settings.history needs what it was before"
            else:
                meant = told[0] if told else value
                assert json.dumps(meant) == json.dumps(before[key]), f"{what} was another"


def recorded_version(name: str) -> int:
    """Return the number of the defaults that a program says in its manifests."""
    with zipfile.ZipFile(HERE / name / "multinomial.zip") as archive:
        manifest = json.loads(archive.read(f"{DONE}/manifest.json"))
    return int(manifest.get("settings", FIRST))


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Give hdp-cvb0 another default and a new key, as a later program could; return its number."""
    backend = registry.load(CASE)
    number = history.version() + 1
    keys = [("reorder_sticks", bool, False), ("extrapolate", str, "always")]
    later = msgspec.defstruct(
        "Inference", keys, bases=(backend.Inference,), frozen=True, kw_only=True
    )
    put_in_place(monkeypatch, CASE, Inference=later)
    changes = (
        Change(number, CASE, "inference.reorder_sticks", True),
        Change(number, "*", "inference.extrapolate", "never"),
    )
    monkeypatch.setattr(history, "CHANGES", (*history.CHANGES, *changes))
    yield number


def leave_out(run: Path, key: str) -> None:
    """Take a key out of a run's config.yaml."""
    path = run / "config.yaml"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.strip().startswith(f"{key}:")]
    assert len(kept) == len(lines) - 1
    path.write_text("".join(kept), encoding="utf-8")


def settings(run: Path) -> tuple[object, object]:
    found = RunDir(run).experiment.inference
    return found.reorder_sticks, found.extrapolate  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_old_run_keeps_the_old_default(name: str, unpack: Unpack, later: int) -> None:
    run = unpack(name, CASE).folder / DONE
    assert settings(run) == (True, "never")
    leave_out(run, "reorder_sticks")
    assert settings(run) == (True, "never")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_command_goes_on_under_the_old_default(
    name: str, unpack: Unpack, later: int
) -> None:
    folder = unpack(name, CASE).folder
    leave_out(folder / STOPPED, "reorder_sticks")
    code, _, err = give(CASES[CASE].words(STOPPED))
    assert code == 0, err
    for file in ("model.npz", "theta.npz", "tree.json"):
        assert (folder / STOPPED / file).read_bytes() == (folder / DONE / file).read_bytes()
    assert "reorder_sticks: true\n" in (folder / STOPPED / "config.yaml").read_text()
    assert json.loads((folder / STOPPED / "manifest.json").read_text())["settings"] == later
    assert settings(folder / STOPPED) == (True, "never")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_fit_that_died_early_has_not_changed_what_an_old_run_means(
    name: str, unpack: Unpack, later: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = unpack(name, CASE).folder / STOPPED
    leave_out(run, "reorder_sticks")

    def die(*_: object) -> None:
        raise Died

    monkeypatch.setattr(artifacts, "write_inputs", die)
    with pytest.raises(Died):
        give(CASES[CASE].words(STOPPED))
    assert settings(run) == (True, "never")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_new_run_has_the_new_default_and_keeps_it(name: str, unpack: Unpack, later: int) -> None:
    folder = unpack(name, CASE).folder
    assert give(CASES[CASE].words("new"))[0] == 0
    leave_out(folder / "new", "extrapolate")
    assert settings(folder / "new") == (False, "always")
    assert give([*CASES[CASE].words(DONE), "-s", "inference.reorder_sticks=false"])[0] == 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_config_of_an_old_run_means_the_same_for_a_new_one(
    name: str, unpack: Unpack, later: int
) -> None:
    folder = unpack(name, CASE).folder
    leave_out(folder / DONE, "reorder_sticks")
    config = Path(DONE, "config.yaml")
    assert give(["fit", "-c", str(config), "-o", "new", "-q"])[0] == 0
    assert settings(folder / "new") == (True, "never")
    shutil.copy(config, "alone.yaml")
    assert read_experiment({}, "alone.yaml").inference.reorder_sticks is False  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", PROGRAMS)
def test_former_names_in_the_config_of_a_run_keep_their_meaning_and_nobody_is_told(
    name: str, unpack: Unpack, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run has them: nobody typed them, and nobody has to change them."""
    run = unpack(name, "hlda-gibbs-chains").folder / DONE
    text = (run / "config.yaml").read_text(encoding="utf-8")
    assert "sample_gamma: true\n" in text and "sample_level_prior: false\n" in text
    for experiment in (RunDir(run).experiment, read_experiment({}, run / "config.yaml")):
        assert msgspec.to_builtins(experiment.inference)["hold"] == ("level_prior",)
    assert capsys.readouterr().err == ""


def test_a_default_that_changed_twice_is_that_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = (Change(3, "*", "model.eta", 0.2), Change(5, "hdp-cvb0", "model.eta", 0.3))
    monkeypatch.setattr(history, "CHANGES", changes)
    found = [history.meant("model.eta", "hdp-cvb0", made) for made in range(1, 7)]
    assert found == [(0.2,), (0.2,), (0.3,), (0.3,), (), ()]
    assert history.meant("model.eta", "hlda-gibbs", 4) == ()
    assert history.version() == 5


def test_an_old_run_goes_on_with_the_backend_that_nobody_had_to_name_then(unpack: Unpack) -> None:
    folder = unpack(PROGRAMS[0], "hlda-variational").folder
    assert read_experiment({}, run=folder / DONE).backend == "hlda-variational"
    assert read_experiment({}).backend == registry.DEFAULT != "hlda-variational"
    assert read_experiment({"backend": CASE}, run=folder / DONE).backend == CASE


def test_a_key_of_a_mapping_is_filled_only_where_the_mapping_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(history, "CHANGES", (Change(2, "*", "data.discretise.bins", 7),))
    bins = {"data": {"discretise": {"bins": 7}}}
    given: dict[str, Any] = {"data": {"discretise": {"method": "uniform"}}}
    assert history.left_out(given, "hdp-cvb0", 1) == bins
    assert history.left_out({"data": {"discretise": None}}, "hdp-cvb0", 1) == {}
    assert history.left_out({}, "hdp-cvb0", 1) == {}
    assert history.left_out(bins, "hdp-cvb0", 1) == {}


@pytest.mark.parametrize("number", ['"1"', "0", "1.5", "null"])
def test_a_manifest_without_a_sound_number_is_damaged(
    unpack: Unpack, number: str, name: str = PROGRAMS[0]
) -> None:
    path = unpack(name, CASE).folder / DONE / "manifest.json"
    path.write_text(path.read_text().replace("{", f'{{"settings": {number},', 1))
    with pytest.raises(RunError, match="damaged"):
        _ = RunDir(path.parent).experiment
