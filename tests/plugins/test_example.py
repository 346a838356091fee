"""The example package in an environment of its own: installed, used, killed, resumed, removed."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of a new environment that sees this one's packages."""
    place = tmp_path_factory.mktemp("example") / "environment"
    venv.create(place, with_pip=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = place / "lib" / version / "site-packages"
    seen = [str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))]
    site.joinpath("seen.pth").write_text("\n".join(seen))
    return place / "bin" / "python"


@pytest.mark.nightly
@pytest.mark.slow
def test_the_example_is_installed_used_killed_resumed_and_removed(python: Path) -> None:
    """By night: each day its fits and their resumption pass the tests of the contract."""
    done = subprocess.run(
        ["bash", EXAMPLES / "try.sh", python], capture_output=True, text=True, cwd=python.parent
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all steps passed\n")


@pytest.mark.slow
def test_the_example_passes_the_tests_of_the_contract(python: Path) -> None:
    package = python.parents[1] / "package"
    subprocess.run(["cp", "-r", EXAMPLES / "hiertopics-unigrams", package], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", str(package)]
    subprocess.run(install, check=True, capture_output=True)
    words = [str(python), "-m", "hiertopics.testing", "unigrams-em"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=python.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout and "failed" not in done.stdout
