"""Habits of the source: docstrings, names that mean one thing, no paths of somebody's machine."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_tree import ROOT, modules, paths

Documented = ast.Module | ast.ClassDef | ast.FunctionDef
NAMES_OF_THE_CONTRACT = {
    "Model", "Inference", "State", "Local", "Info", "Data", "PieceData", "Piece",
}  # fmt: skip
"""Classes that each backend defines for itself (``contract.model.Backend`` and ``Sharded``)."""
MACHINE_PATH = re.compile(
    r"(?<![\w.$~*{}<-])/(?:home|root|Users|opt|work|mnt|media|private|scratch|srv)/\w"
    r"|\b[A-Z]:\\\\?(?:Users|Windows)"
)


def public(name: str, node: Documented) -> Iterator[tuple[str, Documented]]:
    """Yield a module or class and what is public in it."""
    yield name, node
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef) and not child.name.startswith("_"):
            inner = f"{name}.{child.name}"
            if isinstance(child, ast.ClassDef):
                yield from public(inner, child)
            else:
                yield inner, child


@pytest.mark.parametrize("name", paths())
def test_everything_public_has_a_docstring(name: str) -> None:
    for inner, node in public(name, modules()[name]):
        if inner.rpartition(".")[2].startswith("test_") and inner != name:
            continue  # a test is named after what it says
        text = ast.get_docstring(node) or ""
        summary = text.partition("\n\n")[0]
        assert summary.endswith((".", ":")), f"{inner} has no docstring that opens with a sentence"


@pytest.mark.parametrize("name", paths())
def test_no_variable_is_called_beta(name: str) -> None:
    """The letter names three different things in this field."""
    for node in ast.walk(modules()[name]):
        used = {ast.Name: "id", ast.arg: "arg", ast.alias: "asname"}.get(type(node))
        assert used is None or getattr(node, used) != "beta", getattr(node, "lineno", name)


def test_a_class_name_means_one_class_but_for_those_of_the_contract() -> None:
    where = defaultdict(list)
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                where[node.name].append(name)
    shared = {name: found for name, found in where.items() if len(found) > 1}
    assert {name: shared[name] for name in shared.keys() - NAMES_OF_THE_CONTRACT} == {}
    assert shared.keys() == NAMES_OF_THE_CONTRACT, "a name that one class has needs no exception"


def listed(*options: str) -> list[Path]:
    """Return the files of the project that git lists under these options."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    return [ROOT / name.decode() for name in done.stdout.split(b"\0") if name]


def test_no_tracked_file_names_a_path_of_one_machine() -> None:
    found = []
    for path in listed():
        if path.is_file():
            text = path.read_bytes().decode(errors="replace")
            found += [f"{path.relative_to(ROOT)}: {m[0]}" for m in MACHINE_PATH.finditer(text)]
    assert found == []


@pytest.mark.parametrize("text", ["see /" + "home/ann/x", "'/" + "opt/y'", "C:" + "\\Users\\ann"])
def test_a_path_of_one_machine_would_be_seen(text: str) -> None:
    assert MACHINE_PATH.search(text)


@pytest.mark.parametrize("text", ["parent/home/x", "$HOME/work/x", "and/or", "http://a.b/opt/x"])
def test_a_relative_path_would_not(text: str) -> None:
    assert not MACHINE_PATH.search(text)


def test_no_compiled_or_half_written_file_is_tracked() -> None:
    suffixes = {".pyc", ".nbi", ".nbc", ".partial"}
    assert [path for path in listed() if path.suffix in suffixes] == []


def test_no_source_is_ignored() -> None:
    """A pattern such as ``runs/`` in .gitignore would leave a folder of tests out in silence."""
    ignored = listed("--others", "--ignored", "--exclude-standard", "hiertopics", "tests")
    assert [path.relative_to(ROOT) for path in ignored if path.suffix == ".py"] == []
