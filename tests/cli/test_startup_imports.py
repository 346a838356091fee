"""Help and other light commands load no numpy, scipy or numba where none is needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hiertopics.cli import COMMANDS

PROGRAM = """
import sys
from hiertopics.cli import main
for words in {calls!r}:
    try:
        main(words)
    except SystemExit as stop:
        assert stop.code == {code}, (words, stop.code)
    loaded = sorted({heavy!r} & set(sys.modules))
    if loaded:
        sys.exit(f"{{words}} loads {{loaded}}")
"""
NUMBERS = {"numpy", "scipy", "numba", "llvmlite", "sklearn", "msgspec", "yaml", "tqdm"}
COMPILER = {"numba", "llvmlite", "sklearn"}


def assert_light(calls: list[list[str]], heavy: set[str], code: int = 0) -> None:
    program = PROGRAM.format(calls=calls, heavy=heavy, code=code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_help_of_every_command_loads_no_numbers() -> None:
    assert_light([["-h"], ["--version"], *([name, "-h"] for name in COMMANDS)], NUMBERS)


def test_a_path_that_is_no_run_is_told_without_a_compiler(tmp_path: Path) -> None:
    gone, out = str(tmp_path / "gone"), ["-o", str(tmp_path / "x")]
    calls = [[name, gone] for name in ("show-tree", "topics", "docs", "eval", "report", "support")]
    calls += [[name, gone, gone] for name in ("compare", "agree")]
    calls += [["compare", gone, gone, "--task", "hierarchy"], ["infer", gone, gone]]
    calls += [
        ["drop", gone, "1", *out],
        ["merge", gone, "1", "2", *out],
        ["refit", gone, "1", *out],
    ]
    calls += [["shape", gone, "--branches", "3", *out], ["consensus", gone, gone, *out]]
    calls += [["edit", gone, *out], ["update", gone, gone, *out], ["report", gone, "page.html"]]
    assert_light(calls, COMPILER, 2)


def test_listing_backends_loads_no_numbers() -> None:
    assert_light([["backends"], ["backends", "--json"]], NUMBERS - {"msgspec"})


@pytest.mark.parametrize("form", ["text", "json", "dot", "newick"])
def test_show_tree_and_topics_load_no_compiler(finished: Callable[..., Path], form: str) -> None:
    run = str(finished())
    calls = [["show-tree", run, "--format", form]]
    if form == "text":
        calls.append(["topics", run])
    assert_light(calls, COMPILER)


@pytest.mark.parametrize("backend", ["hdp-cvb0", "hdp-gibbs", "lda-gibbs", "chdp-gibbs"])
def test_a_flat_backend_loads_no_optimiser_and_no_linkage(backend: str) -> None:
    program = (
        "import sys; from hiertopics.contract import registry; registry.load(sys.argv[1]); "
        "found = {'scipy.optimize', 'scipy.cluster'} & set(sys.modules); "
        "sys.exit(str(found) if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program, backend], capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (0, "")


def test_what_a_fit_begins_with_loads_no_event_loop() -> None:
    """Only a fit on a cluster needs asyncio; its import takes a fiftieth of the start of a fit."""
    program = "import sys, hiertopics.fitting.driver; sys.exit('asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_importing_the_package_loads_no_numbers() -> None:
    program = "import sys, hiertopics; sys.exit(bool({'numpy', 'click'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_the_check_itself_can_fail(finished: Callable[..., Path]) -> None:
    with pytest.raises(AssertionError, match="numpy"):
        assert_light([["show-tree", str(finished())]], NUMBERS)
