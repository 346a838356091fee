"""Kernels: compiled once per use, and the same from Python, from kernels and from the cache."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from nights import by_night
from numba import njit, types

from hiertopics.numeric.jit import PLAIN
from hiertopics.numeric.special import copy_row

ours_alone = pytest.mark.skipif(PLAIN, reason="numba's own decorator does not do this")

CALLS = """
from hiertopics.numeric.jit import kernel

@kernel()
def doubled(number):
    return 2 * number

@kernel()
def doubled_thrice(number, small):
    return doubled(number) + doubled(3) + doubled(small)
"""


@ours_alone
def test_what_kernels_call_is_compiled_once_and_not_for_python(tmp_path: Path) -> None:
    """A constant and an int32 share the code of an int64; nothing unpacks Python's objects."""
    (tmp_path / "calls.py").write_text(CALLS)
    module = run_path(str(tmp_path / "calls.py"))
    doubled, doubled_thrice = module["doubled"], module["doubled_thrice"]
    assert doubled_thrice(1, np.int32(2)) == 12
    assert doubled.signatures == []
    assert doubled.twin.signatures == [(types.intp,)]
    assert doubled(4) == 8
    assert doubled.signatures == [(types.intp,)]


IN_ORDER = """
from hiertopics.numeric.jit import REASSOCIATE, kernel

@kernel()
def in_order(row):
    total = 0.0
    for place in range(row.size):
        total += row[place]
    return total

@kernel(fastmath=REASSOCIATE)
def mean(row):
    return in_order(row) / len(row)

@kernel()
def half(row):
    return in_order(row) / 2
"""


@pytest.mark.slow
def test_a_function_is_not_reordered_because_a_kernel_that_may_be_called_it_first(
    tmp_path: Path,
) -> None:
    """Else bits would depend on which kernel a machine compiled first."""
    (tmp_path / "in_order.py").write_text(IN_ORDER)
    module = run_path(str(tmp_path / "in_order.py"))
    row = np.random.default_rng(1).random(1000) ** 9
    module["mean"](row)
    total = 0.0
    for value in row.tolist():
        total += value
    assert module["half"](row) == total / 2
    assert module["mean"](row) == total / 1000


@ours_alone
def test_what_kernels_call_is_a_part_of_them_whoever_calls_it_first(tmp_path: Path) -> None:
    """Else sums of kernels that are compiled later would round differently (``_Twin.compile``)."""
    (tmp_path / "calls.py").write_text(CALLS)
    module = run_path(str(tmp_path / "calls.py"))
    doubled = module["doubled"]

    @njit
    def foreign(number: int) -> int:
        return doubled(number) + 1

    assert foreign(2) == 5
    (part,) = doubled.twin.overloads.values()
    assert type(part.library).__name__ == "_LinkedLibrary"
    assert module["doubled_thrice"](1, 2) == 12
    (whole,) = module["doubled_thrice"].overloads.values()
    assert type(whole.library).__name__ == "_WholeLibrary"
    codegen = part.library.codegen
    assert "_library_class" not in vars(codegen)


@ours_alone
def test_what_kernels_call_is_no_machine_code_of_its_own(
    tmp_path: Path,
) -> None:
    (tmp_path / "rooms.py").write_text(ROOMS)
    module = run_path(str(tmp_path / "rooms.py"))
    assert module["both"](3) == 6
    (part,) = module["ones"].twin.overloads.values()
    (whole,) = module["both"].overloads.values()
    for compiled, has_code in ((part, False), (whole, True)):
        engine = compiled.library.codegen._engine
        assert engine.is_symbol_defined(compiled.fndesc.llvm_func_name) == has_code
    # Compiled for one kernel, kept, and linked into another one by another process.
    script = "import rooms; print(rooms.thrice(3), rooms.ones.twin.stats.cache_hits)"
    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.partition(" ")
        for code in ("import rooms; print(rooms.both(3), 0)", script)
    ]
    assert [count for count, _, _ in told] == ["6", "9.0"]
    assert "(array" not in told[1][2] and told[1][2].strip() != "Counter()"


ROOMS = """
import numpy as np
from hiertopics.numeric.jit import kernel

@kernel()
def ones(length):
    row = np.empty(length)
    for place in range(length):
        row[place] = 1
    return row

@kernel()
def both(length):
    return len(ones(length)) + len(np.empty(length))

@kernel()
def thrice(length):
    return 3 * ones(length).sum()
"""


SUMS = """
from hiertopics.numeric.jit import REASSOCIATE, kernel

@kernel(fastmath=REASSOCIATE)
def total(row):
    value = 0.0
    for number in row:
        value += number * number
    return value

@kernel()
def in_turn(row):
    value = 0.0
    for number in row:
        value += number * number
    return value

@kernel()
def both(rows):
    value = 0.0
    for row in rows:
        for part in range(8):
            value += total(row[part:]) - in_turn(row[part:]) + total(row[:part])
    return value
"""


@ours_alone
def test_a_sum_that_may_be_reordered_is_never_another_module_s(tmp_path: Path) -> None:
    """Which of several copies of a function is called depends on what was compiled before."""
    (tmp_path / "sums.py").write_text(SUMS)
    module = run_path(str(tmp_path / "sums.py"))
    rows = np.random.default_rng(0).random((3, 20))
    expected = sum((row[:part] ** 2).sum() for row in rows for part in range(8))
    assert module["both"](rows) == pytest.approx(expected)
    (code,) = module["both"].inspect_llvm().values()
    called = [line for line in code.splitlines() if "call" in line and "total" in line]
    assert called == []
    assert not any("define" in line and "total" in line for line in code.splitlines())


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_a_row_is_copied(dtype: type) -> None:
    source: Any = np.arange(6, dtype=dtype)[::2]
    target: Any = np.zeros(3, dtype)
    copy_row(source, target)
    assert target.tolist() == [0, 2, 4]


MODULE = """
import numpy as np
from hiertopics.numeric.jit import kernel

@kernel()
def total(row):
    found = 0.0
    for x in row:
        found += x
    return found

@kernel()
def mean(row):
    return total(row) / len(row)

row = np.arange(4.0)
ORDERS = {"kernel first": (mean, total), "python first": (total, mean)}
"""
SCRIPT = """
import sys, cached
for function in cached.ORDERS[sys.argv[1]]:
    print(function.__name__, function(cached.row))
print(sum(sum(f.stats.cache_hits.values()) for f in (cached.total, cached.mean)))
"""


@pytest.mark.slow
def test_a_cached_kernel_serves_python_and_kernels(tmp_path: Path) -> None:
    """Each of a kernel's two forms is found again as what it is, whichever was saved first."""
    (tmp_path / "cached.py").write_text(MODULE)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = []
    for order in ("kernel first", "python first"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, order],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        said.append(sorted(done.stdout.splitlines()))
    assert said == [["0", "mean 1.5", "total 6.0"], ["2", "mean 1.5", "total 6.0"]]


def emptied(data: bytes) -> bytes:
    """Return what a power cut leaves."""
    return b""


def cut(data: bytes) -> bytes:
    """Return the beginning alone."""
    return data[:50]


def garbage(data: bytes) -> bytes:
    """Return bytes that were never written there."""
    return b"garbage" * (len(data) // 7)


def blank_within(data: bytes) -> bytes:
    """Return the contents with zeros for a block that never reached the disk."""
    middle = len(data) // 2
    return data[: middle - 200] + bytes(400) + data[middle + 200 :]


def no_file_grows() -> None:
    """Refuse this process every byte of a file, as a full disk does."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damaged", "suffix", "plain"),
    [
        (emptied, ".nbi", "0"),
        (cut, ".nbc", "0"),
        *by_night(
            (emptied, ".nbc", "0"),
            (garbage, ".nbi", "0"),
            (blank_within, ".nbc", "0"),
            (emptied, ".nbi", "1"),
        ),
    ],
)
def test_a_damaged_cache_is_compiled_anew(
    tmp_path: Path, damaged: Callable[[bytes], bytes], suffix: str, plain: str
) -> None:
    """And once more on a full disk, where it is called all the same."""
    (tmp_path / "cached.py").write_text(MODULE)
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "HIERTOPICS_PLAIN_NJIT": plain}

    def run(**others: Any) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-B", "-c", SCRIPT, "kernel first"],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            **others,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def damage() -> None:
        found = list((tmp_path / "cache").rglob(f"*{suffix}"))
        assert found
        for path in found:
            path.write_bytes(damaged(path.read_bytes()))

    assert run() == ["mean 1.5", "total 6.0", "0"]
    damage()
    assert run(preexec_fn=no_file_grows) == ["mean 1.5", "total 6.0", "0"]
    assert run() == ["mean 1.5", "total 6.0", "0"]
    assert run() == ["mean 1.5", "total 6.0", "2"]


@pytest.mark.slow
@pytest.mark.parametrize("plain", ["0", "1"], ids=["own compiler", "plain decorator"])
def test_a_full_disk_keeps_no_kernel_from_being_called(tmp_path: Path, plain: str) -> None:
    (tmp_path / "cached.py").write_text(MODULE)
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "HIERTOPICS_PLAIN_NJIT": plain}
    done = subprocess.run(
        [sys.executable, "-B", "-c", SCRIPT, "kernel first"],
        cwd=tmp_path,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        preexec_fn=no_file_grows,
    )
    assert done.stdout.splitlines() == ["mean 1.5", "total 6.0", "0"], done.stderr


MOVED = """
from hiertopics.numeric.jit import kernel
from {module} import Pair

@kernel()
def added(pair):
    return pair.first + pair.second

print(added(Pair(1, 2)))
"""
PAIR = """
from typing import NamedTuple

class Pair(NamedTuple):
    first: int
    second: int
"""


@pytest.mark.slow
@ours_alone
def test_what_was_compiled_for_a_type_that_moved_is_compiled_anew(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    caller = tmp_path / "caller.py"
    for module in ("older", "newer"):
        (tmp_path / "older.py").unlink(missing_ok=True)
        (tmp_path / f"{module}.py").write_text(PAIR)
        caller.write_text(MOVED.format(module=module))
        done = subprocess.run(
            [sys.executable, "-B", str(caller)], env=environment, capture_output=True, text=True
        )
        assert done.stdout == "3\n", done.stderr
    assert list((tmp_path / "cache").rglob("*.nbi"))


@pytest.mark.slow
def test_the_plain_decorator_gives_the_same_numbers(tmp_path: Path) -> None:
    (tmp_path / "calls.py").write_text(CALLS)
    script = (
        "import calls; from numba.core.registry import CPUDispatcher; "
        "print(type(calls.doubled) is CPUDispatcher, calls.doubled_thrice(1, 2))"
    )
    said = []
    for plain in ("0", "1"):
        environment = os.environ | {
            "HIERTOPICS_PLAIN_NJIT": plain,
            "NUMBA_CACHE_DIR": str(tmp_path / plain),
        }
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(done.stdout.split())
    assert said == [["False", "12"], ["True", "12"]]


def test_numbers_of_functions_are_of_their_process() -> None:
    """Names in cached parts of two processes would be the same, and one part stand for another."""
    script = (
        "from numba.core.bytecode import FunctionIdentity\n"
        "import hiertopics.numeric.jit\n"
        "print(next(FunctionIdentity._unique_ids))"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    first, second = map(int, told)
    assert abs(first - second) > 2**32
