"""The modules of the package and what each of them imports, read from their source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "hiertopics"


@cache
def paths() -> dict[str, Path]:
    """Return the file of every module by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def modules() -> dict[str, ast.Module]:
    """Return the parsed source of every module by its dotted name; it takes seconds."""
    return {
        name: ast.parse(path.read_text(encoding="utf-8"), str(path))
        for name, path in paths().items()
    }


@cache
def offered() -> dict[str, str]:
    """Return, for each name that a package offers, the module that has it, by dotted names."""
    found: dict[str, str] = {}
    for package, path in paths().items():
        tree = modules()[package] if path.name == "__init__.py" else None
        for block in tree.body if tree is not None else ():
            if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test):
                for statement in block.body:
                    if isinstance(statement, ast.ImportFrom):
                        names = (f"{package}.{alias.asname}" for alias in statement.names)
                        found |= dict.fromkeys(names, str(statement.module))
    return found


def imported(
    tree: ast.Module, names: frozenset[str], *, top_only: bool, typing: bool = False
) -> set[str]:
    """Return what a module imports: modules among ``names``, else the dotted name that is written.

    top_only: only what runs when the module is imported. typing: imports for type checkers, too.
    """
    found = set()
    for statement in _statements(tree.body, top_only, typing):
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            assert statement.level == 0, "imports are absolute here"
            base = statement.module or ""
            for alias in statement.names:
                whole = f"{base}.{alias.name}"
                found.add(whole if whole in names else offered().get(whole, base))
    return found


def _statements(body: list[ast.stmt], top_only: bool, typing: bool) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test):
            kept = [*statement.body, *statement.orelse] if typing else statement.orelse
            yield from _statements(kept, top_only, typing)
        elif not (top_only and isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)):
            for name in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, name, []), top_only, typing)
            for handler in getattr(statement, "handlers", []):
                yield from _statements(handler.body, top_only, typing)


@cache
def edges(*, top_only: bool = False, typing: bool = False) -> dict[str, set[str]]:
    """Return the imports of every module of the package."""
    names = frozenset(modules())
    return {
        name: imported(tree, names, top_only=top_only, typing=typing)
        for name, tree in modules().items()
    }


def within(name: str, *packages: str) -> bool:
    """Return whether a dotted name is one of ``packages`` or lies in one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)
