"""What README and the guide show of the package's Python side runs as it stands, in order.

Those are the pages whose fences open with ``import hiertopics as ht``; others show numpy lines for
a run's files, or the source of a backend, and have tests of their own.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from guide import PAGES, ROOT, fences, name_of


def lines_of(page: Path) -> str:
    """Return the Python of a page, each fence after the one before."""
    return "".join(fences(page.read_text(encoding="utf-8"), "python"))


WITH_PYTHON = [page for page in PAGES if lines_of(page).startswith("import hiertopics as ht\n")]


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program where the sample corpora are, warnings as errors."""
    (folder / "data-samples").symlink_to(ROOT / "data-samples")
    command = [sys.executable, "-W", "error::UserWarning", "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    done = run(lines_of(page), tmp_path)
    # Fits show their progress there, whoever runs them.
    assert done.returncode == 0, done.stderr
    assert not re.search("warning|error|Traceback", done.stderr), done.stderr


def test_the_guide_to_python_is_among_the_pages() -> None:
    assert {"README.md", "docs/python.md"} <= {name_of(page) for page in WITH_PYTHON}


def test_python_that_fails_would_be_seen(tmp_path: Path) -> None:
    done = run("import hiertopics as ht\nht.fit('gone.ldac')", tmp_path)
    assert done.returncode == 1 and "gone.ldac: no such file" in done.stderr


def test_every_name_of_the_package_is_in_the_guide_to_python() -> None:
    import hiertopics

    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    apart = {"__version__", "Source", "Tags", "evaluate_task"}
    assert [name for name in hiertopics.__all__ if name not in apart and name not in text] == []
