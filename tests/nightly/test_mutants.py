"""What the program that tries feared mistakes rests on; the lists themselves it checks at night."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from mutants import (
    BROKEN,
    KILLED,
    ROOT,
    SURVIVED,
    Copies,
    Mutant,
    Ran,
    drop_kernels,
    faults_of,
    importers,
    judge,
    lay_out,
    read_lists,
    reads,
    run_tests,
)
from spoiling import Change

CALLER = "tests/test_caller.py"


@pytest.mark.nightly
@pytest.mark.slow
def test_a_verdict_stands_while_what_the_tests_run_stays() -> None:
    """What a test imports decides, helpers and kernels at any remove; a backend by name: all."""
    found = {str(path.relative_to(ROOT)) for path in reads("tests/hdp/test_gibbs_kernels.py")}
    kernels = {
        f"hiertopics/families/{name}.py" for name in ("hdp/gibbs", "flat/kernels", "flat/sticks")
    }
    helpers = {f"tests/{name}.py" for name in ("hdp/hdp_cases", "naive", "stepping")}
    assert kernels | helpers | {"hiertopics/numeric/simd.py"} <= found
    assert not any(name.startswith(("hiertopics/cli", "hiertopics/runs")) for name in found)
    by_fixture = {str(path.relative_to(ROOT)) for path in reads("tests/cli/test_export.py")}
    assert found & by_fixture >= kernels and "hiertopics/runs/rundir.py" in by_fixture


@pytest.mark.nightly
@pytest.mark.slow
def test_variants_by_type_reach_who_calls_the_function() -> None:
    """The urn calls what the shares give a variant to, and imports the declaring module alone."""
    reached = importers("hiertopics/families/tssb/text_kernels.py")
    assert "hiertopics.families.tssb.urn_kernels" in reached
    assert "hiertopics.families.ncrp.sampler.sweep_kernels" not in reached


LEAF = """
from hiertopics.numeric.jit import kernel


@kernel()
def twice(x):
    return 2.0 * x
"""
MIDDLE = """
from hiertopics.leaf import twice
from hiertopics.numeric.jit import kernel


@kernel()
def fourfold(x):
    return twice(twice(x))
"""
TEST = """
from hiertopics.middle import fourfold


def test_caller():
    assert fourfold(1.0) == 4.0
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout of a package with a kernel that calls one of another file."""
    root = tmp_path / "checkout"
    (root / "hiertopics/numeric").mkdir(parents=True)
    (root / "hiertopics/base").mkdir()
    (root / "tests").mkdir()
    for name in ("numeric/jit.py", "base/compiling.py"):
        shutil.copy(ROOT / "hiertopics" / name, root / "hiertopics" / name)
    for name, text in {
        "hiertopics/__init__.py": "",
        "hiertopics/base/__init__.py": "",
        "hiertopics/numeric/__init__.py": "",
        "hiertopics/leaf.py": LEAF,
        "hiertopics/middle.py": MIDDLE,
        CALLER: TEST,
        "pyproject.toml": "",
    }.items():
        (root / name).write_text(text)
    return root


def mistake(after: str = "3.0 * $x") -> Mutant:
    return Mutant("row", "Wrong.", Change("twice", "2.0 * $x", after), (CALLER,))


@pytest.mark.slow
def test_a_mistake_in_a_kernel_reaches_the_kernels_that_call_it(
    checkout: Path, tmp_path: Path
) -> None:
    copies = Copies(1, tmp_path / "copies", checkout)
    clean, (worker,) = copies.clean, copies.workers
    assert run_tests(clean, [CALLER], interpreted=False, seconds=100).code == 0
    copies.spoil(worker, mistake())
    spoilt = run_tests(worker, [CALLER], interpreted=False, seconds=100)
    assert judge(spoilt).outcome == KILLED and "9.0 == 4.0" in judge(spoilt).words
    copies.mend(worker, "hiertopics/leaf.py")
    copies.spoil(worker, mistake("2.0 * ($x + $x - $x)"))
    assert judge(run_tests(worker, [CALLER], interpreted=False, seconds=100)).outcome == SURVIVED


@pytest.mark.nightly
@pytest.mark.slow
def test_the_cache_alone_would_hide_it(checkout: Path, tmp_path: Path) -> None:
    """Why callers are taken out of the cache: numba does not see what they call."""
    copies = Copies(1, tmp_path / "copies", checkout)
    (worker,) = copies.workers
    assert run_tests(worker, [CALLER], interpreted=False, seconds=100).code == 0
    leaf = worker / "hiertopics/leaf.py"
    leaf.write_text(leaf.read_text().replace("2.0 * x", "3.0 * x"))
    drop_kernels(worker, ["hiertopics.leaf"])
    assert run_tests(worker, [CALLER], interpreted=False, seconds=100).code == 0
    drop_kernels(worker, ["hiertopics.middle"])
    assert run_tests(worker, [CALLER], interpreted=False, seconds=100).code == 1


@pytest.mark.slow
def test_kernels_older_than_what_they_call_are_not_copied(checkout: Path, tmp_path: Path) -> None:
    assert run_tests(checkout, [CALLER], interpreted=False, seconds=100).code == 0
    before = sorted(path.name for path in checkout.rglob("*.nbi"))
    assert any(name.startswith("middle.") for name in before)
    lay_out(checkout, tmp_path / "same")
    assert sorted(path.name for path in (tmp_path / "same").rglob("*.nbi")) == before
    leaf = checkout / "hiertopics/leaf.py"
    leaf.write_text(leaf.read_text().replace("2.0 * x", "3.0 * x"))
    lay_out(checkout, tmp_path / "other")
    assert list((tmp_path / "other").rglob("*.nbi")) == []


def test_two_runs_do_not_share_copies(checkout: Path, tmp_path: Path) -> None:
    first = Copies(1, tmp_path / "copies", checkout)
    with pytest.raises(SystemExit, match="another run"):
        Copies(1, tmp_path / "copies", checkout)
    os.close(first.lock)
    Copies(1, tmp_path / "copies", checkout)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["import nothing_of_this_name", "def test_a():\n    import nothing_of_this_name"],
)
def test_tests_that_cannot_run_have_killed_nothing(
    checkout: Path, tmp_path: Path, text: str
) -> None:
    (checkout / CALLER).write_text(text)
    ran = run_tests(checkout, [CALLER], interpreted=False, seconds=100)
    assert ran.code != 0 and judge(ran).outcome == BROKEN


@pytest.mark.nightly
@pytest.mark.slow
def test_kernels_that_do_not_compile_have_killed_nothing(checkout: Path, tmp_path: Path) -> None:
    copies = Copies(1, tmp_path / "copies", checkout)
    copies.spoil(copies.workers[0], mistake("'' * $x"))
    ran = run_tests(copies.workers[0], [CALLER], interpreted=False, seconds=100)
    assert judge(ran).outcome == BROKEN


@pytest.mark.nightly
@pytest.mark.slow
def test_time_that_is_up_kills_only_where_the_list_says_so(checkout: Path) -> None:
    (checkout / CALLER).write_text("def test_endless():\n    while True: pass\n")
    ran = run_tests(checkout, [CALLER], interpreted=False, seconds=2)
    assert ran == Ran(None, ran.out, ran.cpu)
    assert judge(ran).outcome == BROKEN and judge(ran, timeout=True).outcome == KILLED


LIST = """
a sampler:
  least: 3
  backends: [multinomial]
  mistakes:
    tests/test_caller.py::test_one[a b] tests/test_caller.py:
    - fear: Wrong.
      in: twice
      change: 2.0 * $x => 3.0 * $x
    - fear: Worse.
      in: twice
      drop: return ...
      interpreted: true
"""


def test_lists_are_read_and_what_they_lack_is_told(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(LIST)
    lists = read_lists(tmp_path)
    first, second = lists.mutants
    assert first.change == Change("twice", "2.0 * $x", "3.0 * $x")
    assert second.change == Change("twice", "return ...", "") and second.interpreted
    assert first.tests == second.tests == ("tests/test_caller.py::test_one[a b]", CALLER)
    told = faults_of(lists)
    assert "a sampler has 2 mistakes" in told
    assert any(line.startswith("hdp-gibbs has no row") for line in told)
    assert not any("multinomial" in line for line in told)


def test_a_test_or_a_place_that_is_gone_is_a_fault(checkout: Path) -> None:
    assert mistake().fault(checkout) == ""
    no_place = Mutant("row", "Wrong.", Change("twice", "nothing", "1"), (CALLER,))
    assert "twice: nothing must stand 1 times" in no_place.fault(checkout)
    no_test = Mutant("row", "Wrong.", mistake().change, (f"{CALLER}::test_nothing[1]",))
    assert no_test.fault(checkout) == f"there is no {CALLER}::test_nothing[1]"
