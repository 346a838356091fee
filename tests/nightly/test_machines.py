"""The nightly comparison of machines tells another tree from other last bits, and finds both."""

from __future__ import annotations

import sys
from typing import Any

from machines import FILES, HASWELL, SKYLAKE, machines, newest, table, wrong


def fitted(machine: str, tree: str, file: str) -> dict[str, Any]:
    return {
        "key": machine,
        "corpus": "x",
        "machine": machine,
        "made_by": {"numpy": "2.4.6", "processor": "znver5"},
        "code": 0,
        "tree": tree,
        "files": {name: file for name in FILES},
        "nodes": [1, 4],
    }


def test_other_last_bits_are_found_and_no_other_tree() -> None:
    rows = [fitted("host", "a", "m"), fitted("other", "a", "n")]
    assert list(wrong(rows)) == [
        f"other: x: the same tree as on host, other bytes of {', '.join(FILES)}"
    ]
    assert not list(wrong([fitted("host", "a", "m"), fitted("other", "a", "m")]))


def test_another_tree_and_a_refused_fit_are_wrong() -> None:
    refused = fitted("c", "", "") | {"code": 2, "said": "no"}
    rows = [fitted("host", "a", "m"), fitted("b", "b", "n"), refused]
    assert list(wrong(rows)) == ["b: x: another tree than on host", "c: x: exit code 2: no"]


def test_the_table_has_a_row_for_each_fit_and_its_newest_result() -> None:
    rows = newest([fitted("host", "a", "m"), fitted("b", "b", "n"), fitted("b", "a", "m")])
    told = table(rows).splitlines()
    assert told[2] == "| x | host (znver5) | 2.4.6 | 1 + 4 | m | m | m |"
    assert told[-1] == "2 fits of 1 corpora: all files of each corpus have the same bytes."


def test_code_of_other_processors_is_run_only_where_it_can_be() -> None:
    def names(host: tuple[str, ...]) -> list[str]:
        return [machine.name for machine in machines(host)]

    assert names(()) == ["host", "host, second numpy"]
    assert names(HASWELL) == ["host", "AVX2", "host, second numpy", "AVX2, second numpy"]
    assert "AVX-512" in names(SKYLAKE) and "AVX-512, second numpy" in names(SKYLAKE)


def test_numpy_does_without_avx512_where_kernels_do() -> None:
    for machine in machines(SKYLAKE):
        held = "NPY_DISABLE_CPU_FEATURES" in machine.variables(sys.executable)
        assert held == machine.name.startswith("AVX2")
