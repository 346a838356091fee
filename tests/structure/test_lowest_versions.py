"""The versions that the tests are run with at the lower end are those that the package admits."""

from __future__ import annotations

import tomllib

from source_tree import ROOT


def test_the_lowest_versions_are_the_bounds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    bounds = [*project["dependencies"], *extras["test"]]
    pinned = (ROOT / "tests/lowest-versions.txt").read_text().splitlines()[1:]
    assert {bound.partition(",")[0].replace(">=", "==") for bound in bounds} == set(pinned)
    for extra in ("arff", "diagnostics", "cluster"):
        assert set(extras[extra]) <= set(bounds)
