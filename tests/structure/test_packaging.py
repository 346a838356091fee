"""What packages declare elsewhere agrees with pyproject.toml."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import yaml
from source_tree import ROOT

import hiertopics
from hiertopics.cli import COMMANDS

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


def test_raw_text_needs_no_extra_and_all_has_every_optional_one() -> None:
    extras = PROJECT["optional-dependencies"]
    assert "scikit-learn" in {name for name, _ in needs(PROJECT["dependencies"])}
    (every,) = extras["all"]
    named = re.fullmatch(r"hiertopics\[(.*)\]", every)
    assert named is not None
    assert set(named[1].split(",")) == set(extras) - {"all", "test", "dev", "docs", "bench"}


def test_the_wheel_has_man_pages(tmp_path: Path) -> None:
    """As hatchling builds it, and nothing of them stays behind; the same bytes twice."""
    wheels = []
    for number in ("1", "2"):
        folder = tmp_path / number
        temporary = tmp_path / f"temporary {number}"
        temporary.mkdir()
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(temporary)},
            capture_output=True,
            check=True,
        )
        assert list(temporary.iterdir()) == []
        (wheel,) = folder.glob("*.whl")
        wheels.append(wheel.read_bytes())
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        start = f"hiertopics-{hiertopics.__version__}.data/data/share/man/man1/"
        pages = {name.removeprefix(start) for name in names if name.startswith(start)}
        assert pages == {"hiertopics.1", *(f"hiertopics-{name}.1" for name in COMMANDS)}
        page = archive.read(f"{start}hiertopics-fit.1").decode()
    assert page.startswith('.TH "HIERTOPICS FIT"') and "\\-\\-holdout" in page
    assert not [name for name in names if name.startswith(("tests", "docs"))]
    assert wheels[0] == wheels[1]


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
