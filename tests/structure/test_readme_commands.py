"""What README and the guide pages tell people to type works when it is typed.

Every fence marked ``bash`` is run, page by page, in a folder that holds ``data-samples`` alone.
Left out are the two opening lines of README, which make a virtual environment, and lines that
need ``$DATA``, a folder of corpora that is not part of the project.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from source_tree import ROOT

from hiertopics.cli import COMMANDS
from hiertopics.registry import BACKENDS

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\S*)[^\n]*\n(?P<body>.*?)^(?P=indent)```\s*$",
    re.MULTILINE | re.DOTALL,
)


def fences(text: str, language: str) -> list[str]:
    """Return the bodies of the fences of a language."""
    return [match["body"] for match in FENCE.finditer(text) if match["language"] == language]


def scripts(text: str) -> list[str]:
    """Return what is to be run of the ``bash`` fences, continued lines joined."""
    found = []
    for body in fences(text, "bash"):
        lines = body.replace("\\\n", " ").splitlines()
        kept = [x for x in lines if not re.match(r"\s*python3? -m venv\b", x) and "$DATA" not in x]
        if any(line.strip() and not line.strip().startswith("#") for line in kept):
            found.append("\n".join(kept))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the sample corpora in it."""
    shutil.copytree(ROOT / "data-samples", tmp_path / "data-samples")
    return tmp_path


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in bash, the interpreter of the tests first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )


WITH_COMMANDS = [page for page in PAGES if page.exists() and scripts(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_the_commands_of_a_page_work(page: Path, folder: Path) -> None:
    for script in scripts(page.read_text(encoding="utf-8")):
        done = run(script, folder)
        assert done.returncode == 0, f"{script}\n{done.stderr}"
        assert "Traceback" not in done.stderr


def test_readme_opens_with_two_lines_that_start_from_nothing() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    opening = [line for match in FENCE.finditer(text) for line in match["body"].splitlines()][:2]
    assert all(line.startswith("python3 -m venv ") for line in opening)
    assert "hiertopics fit data-samples/" in opening[0] and "pytest" in opening[1]


def test_every_command_is_in_readme_or_guide() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    missing = [name for name in COMMANDS if f"hiertopics {name}" not in text]
    assert missing == []


def test_every_backend_is_in_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in BACKENDS if f"`{name}`" not in text] == []


def test_links_to_files_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_guides_own_numpy_lines_give_the_score_of_eval(
    copied: Callable[..., Path], call: Callable[..., Any], folder: Path
) -> None:
    """docs/runs.md shows a stranger how to recompute a score; its lines are taken as they stand."""
    (snippet,) = fences((ROOT / "docs" / "runs.md").read_text(encoding="utf-8"), "python")
    name = re.search(r"runs/(\w+)/", snippet)
    assert name is not None
    shutil.copytree(copied(holdout="tokens:0.2@0"), folder / "runs" / name[1])
    done = subprocess.run(
        [sys.executable, "-c", snippet], cwd=folder, capture_output=True, text=True, check=True
    )
    record = call("eval", f"runs/{name[1]}", "--heldout", "--json").out
    perplexity = re.search(r'"perplexity": ([0-9.]+)', record)
    assert perplexity is not None
    assert float(done.stdout) == pytest.approx(float(perplexity[1]), rel=1e-9)


def test_only_bash_fences_are_taken_and_the_rest_is_left_out() -> None:
    text = (
        "```\npython3 -m venv x\n```\n```bash\npython3 -m venv y\na \\\n  b\n```\n"
        "```python\nc\n```\n- item\n  ```bash\n  d $DATA/x\n  e\n  ```\n```bash\n# f $DATA\n```\n"
    )
    assert [script.split() for script in scripts(text)] == [["a", "b"], ["e"]]


def test_a_command_that_fails_would_be_seen(folder: Path) -> None:
    assert run("hiertopics fit data-samples/gone.ldac\necho done", folder).returncode == 2
    assert run("hiertopics backends | grep hdp > found", folder).returncode == 0
