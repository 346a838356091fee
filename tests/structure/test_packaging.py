"""What packages declare elsewhere agrees with pyproject.toml."""

from __future__ import annotations

import re
import tomllib

import yaml
from source_tree import ROOT

import hiertopics

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def needs(entries: list[str]) -> set[tuple[str, str]]:
    """Return names and bounds, without spaces."""
    pairs = (re.match(r"([A-Za-z0-9_.-]+)\s*(.*)", entry) for entry in entries)
    return {(pair[1].lower(), pair[2].replace(" ", "")) for pair in pairs if pair}


def test_the_conda_recipe_needs_what_the_package_needs() -> None:
    text = (ROOT / "conda" / "meta.yaml").read_text()
    version = re.search(r'set version = "(.*)"', text)
    assert version is not None and version[1] == hiertopics.__version__
    plain = "\n".join(line for line in text.splitlines() if "{%" not in line)
    plain = plain.replace("{{ version }}", "x").replace("{{ PYTHON }}", "python")
    recipe = yaml.safe_load(plain)
    wanted = needs(PROJECT["dependencies"]) | {("python", PROJECT["requires-python"])}
    assert needs(recipe["requirements"]["run"]) == wanted


def test_workflows_are_yaml_that_name_what_exists() -> None:
    for path in (ROOT / ".github").rglob("*.yml"):
        assert yaml.safe_load(path.read_text()), path
    runs = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert ".ci/run" in runs and (ROOT / ".ci" / "run").exists()
    versions = re.findall(r'"(3\.\d+)"', runs.split("python: [")[1].split("]")[0])
    declared = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line}
    assert set(versions) == declared


def test_the_citation_names_the_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert str(citation["version"]) == hiertopics.__version__
