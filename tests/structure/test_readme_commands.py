"""What README and the guide pages tell people to type works when it is typed.

Every fence marked ``bash`` is run, page by page, in a folder that holds ``data-samples`` alone. The
two opening lines of README, which make a virtual environment, stand in a fence without a language.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from guide import FENCE, PAGES, ROOT, fences, name_of, run
from nights import daily

from hiertopics.cli import COMMANDS
from hiertopics.contract.registry import BACKENDS, DEFAULT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the sample corpora in it."""
    shutil.copytree(ROOT / "data-samples", tmp_path / "data-samples")
    return tmp_path


WITH_COMMANDS = [page for page in PAGES if fences(page.read_text(encoding="utf-8"), "bash")]
BY_NIGHT = (
    "batch",
    "big",
    "bursts",
    "chdp",
    "evaluation",
    "first-tree",
    "formats",
    "hca",
    "hdp",
    "ncrp",
    "nhdp",
    "questions",
    "report",
    "tssb",
)
"""Pages of single models, of commands that the tests of their own folders run, and the long tour.

Their commands are read each day (test_guide_syntax.py); README has the main ones of the tour.
"""
EACH_DAY = [page for page in WITH_COMMANDS if page.stem not in BY_NIGHT]
FIRST_FIT = "hiertopics fit data-samples/docstrings.ldac"
"""Several pages open with it; it is run once, and found finished where it is typed again."""


@pytest.fixture(scope="module")
def first_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder ``runs`` as the first fit leaves it."""
    folder = tmp_path_factory.mktemp("first")
    shutil.copytree(ROOT / "data-samples", folder / "data-samples")
    done = run(FIRST_FIT, folder)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return folder / "runs"


@pytest.mark.slow
@pytest.mark.parametrize("page", daily(WITH_COMMANDS, *EACH_DAY), ids=name_of)
def test_the_commands_of_a_page_work(
    page: Path, folder: Path, request: pytest.FixtureRequest
) -> None:
    scripts = fences(page.read_text(encoding="utf-8"), "bash")
    if scripts[0].splitlines()[0].removesuffix(" -q") == FIRST_FIT:
        shutil.copytree(request.getfixturevalue("first_runs"), folder / "runs")
    for script in scripts:
        done = run(script, folder)
        assert done.returncode == 0, f"{script}\n{done.stderr}"
        assert "Traceback" not in done.stderr


def test_readme_opens_with_two_lines_that_start_from_nothing() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    opening = [line for match in FENCE.finditer(text) for line in match["body"].splitlines()][:2]
    assert all(line.startswith("python3 -m venv ") for line in opening)
    assert "hiertopics fit data-samples/" in opening[0] and "pytest" in opening[1]


def test_the_first_commands_of_readme_show_the_tree_once() -> None:
    """``fit`` ends with it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first, opening = next(FENCE.finditer(text))["body"], fences(text, "bash")[0]
    assert "fit data-samples/" in first and "fit data-samples/" in opening
    assert "show-tree" not in first + opening


def test_every_command_is_in_readme_or_guide() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    missing = [name for name in COMMANDS if f"hiertopics {name}" not in text]
    assert missing == []


def test_readme_has_no_backend_that_there_is_not() -> None:
    """Rows of its table of models; ``hiertopics backends`` lists them all."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([a-z0-9]+(?:-[a-z0-9]+)+|multinomial)`", text, re.MULTILINE)
    assert DEFAULT in named and [name for name in named if name not in BACKENDS] == []


@pytest.mark.parametrize(
    ("page", "backend", "holdout", "protocol"),
    [
        ("runs.md", "hdp-pcvb0", "tokens:0.2@0", "tokens"),
        ("evaluation.md", "hlda-gibbs", "docs:0.2@0", "path"),
    ],
)
def test_the_guides_own_numpy_lines_give_the_score_of_eval(
    copied: Callable[..., Path],
    call: Callable[..., Any],
    folder: Path,
    page: str,
    backend: str,
    holdout: str,
    protocol: str,
) -> None:
    """Two pages show a stranger how to recompute a score; their lines are taken as they stand."""
    (snippet,) = fences((ROOT / "docs" / page).read_text(encoding="utf-8"), "python")
    name = re.search(r"runs/(\w+)/", snippet)
    assert name is not None
    run_dir = shutil.copytree(copied(backend, holdout), folder / "runs" / name[1])
    record = call("eval", run_dir, "--heldout", "--protocol", protocol, "--json").out
    done = subprocess.run(
        [sys.executable, "-c", snippet], cwd=folder, capture_output=True, text=True, check=True
    )
    perplexity = re.search(r'"perplexity": ([0-9.]+)', record)
    assert perplexity is not None
    assert float(done.stdout) == pytest.approx(float(perplexity[1]), rel=1e-9)


def test_only_bash_fences_are_taken_indented_ones_too() -> None:
    text = "```\na\n```\n```bash\nb \\\n  c\n```\n```python\nd\n```\n- x\n  ```bash\n  e\n  ```\n"
    assert [script.split() for script in fences(text, "bash")] == [["b", "\\", "c"], ["e"]]


@pytest.mark.slow
def test_a_command_that_fails_would_be_seen(folder: Path) -> None:
    assert run("hiertopics fit data-samples/gone.ldac\necho done", folder).returncode == 2
    assert run("hiertopics backends | grep hdp > found", folder).returncode == 0
