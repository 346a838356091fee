"""What a run that was made of others says of them, and that no fit goes on where none was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hiertopics.base.errors import RunError
from hiertopics.runs.manifest import read_manifest
from hiertopics.runs.origin import lineage
from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]


def made_by(run: Path, parent: Path, command: str) -> Path:
    """Say in the manifest of a run that a command made it."""
    opened = RunDir(run)
    opened.write_manifest({**opened.manifest, **lineage([RunDir(parent)], command)})
    return run


def test_a_parent_is_told_by_its_name_and_its_model(
    copied: Callable[..., Path], finished: Callable[..., Path]
) -> None:
    run, parent = copied(), finished("hlda-variational")
    manifest = read_manifest(made_by(run, parent, "merge 3 7"))
    (told,) = manifest["parents"]
    seal = read_manifest(parent)["files"]["model.npz"]
    assert (told["run"], told["backend"], told["model"]) == (parent.name, "hlda-variational", seal)
    assert manifest["made_by"] == "merge 3 7"


def test_fit_does_not_go_on_with_what_it_has_not_made(
    copied: Callable[..., Path], finished: Callable[..., Path], call: Call
) -> None:
    run = made_by(copied(), finished(), "consensus")
    config = (run / "config.yaml").read_bytes()
    again = call("fit", "-c", run / "config.yaml", "-o", run, "--iterations", 20)
    assert again.code == 2 and "was made by consensus of hdp-pcvb0-docs" in again.err
    assert again.err.count("\n") == 1 and (run / "config.yaml").read_bytes() == config


def test_a_fit_that_goes_on_keeps_its_lineage(
    copied: Callable[..., Path], finished: Callable[..., Path], fit_tiny: Call
) -> None:
    run = made_by(copied(), finished(), "refit 2")
    assert fit_tiny(run, iterations=9).iterations == 9
    assert read_manifest(run)["made_by"] == "refit 2" and len(read_manifest(run)["parents"]) == 1


@pytest.mark.parametrize("entry", [{"parents": "x"}, {"parents": [1]}, {"made_by": 3}])
def test_a_lineage_that_is_none_is_damage(copied: Callable[..., Path], entry: Any) -> None:
    run = RunDir(copied())
    run.write_manifest({**run.manifest, **entry})
    with pytest.raises(RunError, match="its entry"):
        read_manifest(run.path)
