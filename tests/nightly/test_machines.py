"""The nightly comparison of machines tells another tree from other last bits."""

from __future__ import annotations

from typing import Any

from machines import HASWELL, SKYLAKE, differences, machines


def fitted(tree: str, file: str) -> dict[str, Any]:
    return {"code": 0, "tree": tree, "files": {"model.npz": file}, "nodes": [1, 4]}


def test_other_last_bits_are_no_other_tree() -> None:
    told, wrong = differences({"host": {"x": fitted("a", "m")}, "other": {"x": fitted("a", "n")}})
    assert told == ["host: x: 1+4 nodes, same bytes", "other: x: 1+4 nodes, same tree"]
    assert not wrong


def test_another_tree_and_a_refused_fit_are_wrong() -> None:
    refused = {"code": 2, "said": "no"}
    found = {"host": {"x": fitted("a", "m")}, "b": {"x": fitted("b", "n")}, "c": {"x": refused}}
    assert differences(found)[1] == ["b: x: 1+4 nodes, another tree", "c: x: exit code 2: no"]


def test_code_of_other_processors_is_run_only_where_it_can_be() -> None:
    assert [machine.name for machine in machines(())] == ["host", "second numpy"]
    assert "AVX2" in [machine.name for machine in machines(HASWELL)]
    assert "AVX-512" not in [machine.name for machine in machines(HASWELL)]
    assert "AVX-512" in [machine.name for machine in machines(SKYLAKE)]
