"""Patterns of Python that find a place in a named function, and what takes that place.

A pattern is Python with two kinds of blanks. ``$count`` is any one local variable of the function
(the same one wherever the pattern says ``$count``, another one for another name; the names are for
the reader alone). ``...`` is any one expression, or, as a statement, any number of statements. So a
pattern holds functions, fields and constants by their names, and local variables by their part in
the structure: renaming them breaks nothing. What ``...`` has matched comes back, in order, where
the replacement says ``...``.

A function is looked up by its name in all files of the package, as far as it must be qualified
(``State.bound``, ``outer.inner``); a class or a constant likewise. Of several with that name those
count in which the pattern stands as often as it must, and then those whose path contains ``near``.
Moving a function to another file breaks nothing either, unless its name and its text stand twice.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

BLANK = "blank_of_a_pattern_"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
UNSEEN = ("ctx", "type_comment", "kind", "type_params")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


class Unfit(ValueError):
    """A pattern does not have its place in the sources."""


class Place(NamedTuple):
    """Where a definition stands: its file, its nodes and the local variables around it."""

    file: str
    node: Definition
    local: frozenset[str]


@dataclass
class Match:
    """What a pattern has matched: nodes at ``start`` to ``end`` of a list, or a field's node."""

    holder: Any
    start: int | str
    end: int
    names: dict[str, str]
    rest: list[Any]


# --- definitions


@cache
def definitions(root: Path, package: str) -> dict[str, list[Place]]:
    """Return every function, class and constant of a package by each of its qualified names."""
    found: dict[str, list[Place]] = defaultdict(list)
    for path in sorted((root / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        file = str(path.relative_to(root))
        for names, node, local in _defined(tree, (), frozenset()):
            for first in range(len(names)):
                found[".".join(names[first:])].append(Place(file, node, local))
    return found


def _defined(
    parent: ast.AST, above: tuple[str, ...], local: frozenset[str]
) -> Iterator[tuple[tuple[str, ...], Definition, frozenset[str]]]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside = local
            if not local and not isinstance(node, ast.ClassDef):
                inside = locals_of(node)
            yield (*above, node.name), node, inside
            yield from _defined(node, (*above, node.name), inside)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not local:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if isinstance(targets[0], ast.Name):
                yield (*above, targets[0].id), node, local
        elif isinstance(node, ast.stmt):
            yield from _defined(node, above, local)


def locals_of(function: ast.AST) -> frozenset[str]:
    """Return the names that a function binds, its arguments and those of functions in it."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(found)


# --- patterns


def parse(text: str) -> list[ast.stmt]:
    """Return a pattern's statements; SyntaxError if it is no Python."""
    return ast.parse(re.sub(r"\$(?=\w)", BLANK, text).strip()).body


def is_expression(pattern: Sequence[ast.stmt]) -> bool:
    """Tell whether a pattern is an expression; else it is statements."""
    return len(pattern) == 1 and isinstance(pattern[0], ast.Expr)


def matches(
    pattern: Sequence[ast.stmt], place: Place, *, statements: bool, names: dict[str, str]
) -> list[Match]:
    """Return where a pattern stands in a definition, in the order of the source.

    statements: an expression must be a whole statement. names: what blanks stand for already.
    """
    return list(_matches(pattern, place.node, place.local, statements, names))


def _matches(
    pattern: Sequence[ast.stmt],
    node: ast.AST,
    local: frozenset[str],
    statements: bool,
    names: dict[str, str],
) -> Iterator[Match]:
    alone = pattern[0].value if isinstance(pattern[0], ast.Expr) and not statements else None
    for field, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for index, child in enumerate(children):
            if not isinstance(child, ast.AST):
                continue
            made = Match(node, field, index, dict(names), [])
            if alone is not None:
                if isinstance(child, ast.expr) and _same(alone, child, local, made):
                    if isinstance(value, list):
                        made.holder, made.start, made.end = value, index, index + 1
                    yield made
            elif isinstance(child, ast.stmt) and isinstance(value, list):
                end = _same_list(pattern, value, index, local, made, whole=False)
                if end is not None:
                    made.holder, made.start, made.end = value, index, end
                    yield made
            yield from _matches(pattern, child, local, statements, names)


def _is_any(node: object) -> bool:
    node = node.value if isinstance(node, ast.Expr) else node
    return isinstance(node, ast.Constant) and node.value is ...


def _same(pattern: Any, node: Any, local: frozenset[str], made: Match) -> bool:
    """Tell whether a node is what a pattern says; if so ``made`` knows what its blanks are."""
    if isinstance(pattern, list):
        if pattern and isinstance(pattern[0], ast.stmt):
            end = _same_list(pattern, node, 0, local, made, whole=True)
            return end is not None
        return len(pattern) == len(node) and all(
            _same(*pair, local, made) for pair in zip(pattern, node, strict=True)
        )
    if isinstance(pattern, str) and pattern.startswith(BLANK):
        if pattern in made.names:
            return made.names[pattern] == node
        if node not in local or node in made.names.values():
            return False
        made.names[pattern] = node
        return True
    if _is_any(pattern) and isinstance(node, ast.expr):
        made.rest.append(node)
        return True
    if type(pattern) is not type(node):
        return False
    if isinstance(pattern, ast.AST):
        return all(
            _same(getattr(pattern, name, None), getattr(node, name, None), local, made)
            for name in pattern._fields
            if name not in UNSEEN
        )
    return bool(pattern == node)


def _same_list(
    pattern: Sequence[ast.stmt],
    nodes: Sequence[ast.stmt],
    start: int,
    local: frozenset[str],
    made: Match,
    *,
    whole: bool,
) -> int | None:
    """Return where the statements that a pattern matches end; None if it matches none."""
    if not pattern:
        return None if whole and start < len(nodes) else start
    names, rest = dict(made.names), list(made.rest)
    if _is_any(pattern[0]):
        for end in range(start, len(nodes) + 1):
            made.names, made.rest = dict(names), [*rest, list(nodes[start:end])]
            if len(pattern) == 1 and whole and end < len(nodes):
                continue
            found = _same_list(pattern[1:], nodes, end, local, made, whole=whole)
            if found is not None:
                return found
    elif start < len(nodes) and _same(pattern[0], nodes[start], local, made):
        found = _same_list(pattern[1:], nodes, start + 1, local, made, whole=whole)
        if found is not None:
            return found
    made.names, made.rest = names, rest
    return None


class _Filling(ast.NodeTransformer):
    """Puts names and what ``...`` has matched into a replacement."""

    def __init__(self, made: Match) -> None:
        self.names, self.rest = made.names, iter(made.rest)

    def visit(self, node: ast.AST) -> Any:
        if _is_any(node):
            return copy.deepcopy(next(self.rest))
        for name, value in ast.iter_fields(node):
            if isinstance(value, str) and value.startswith(BLANK):
                if value not in self.names:
                    raise Unfit(f"nothing says what ${value.removeprefix(BLANK)} is")
                setattr(node, name, self.names[value])
        return self.generic_visit(node)


# --- changes


@dataclass(frozen=True)
class Change:
    """A change of one place in a function.

    function: its name, see the module. find: a pattern. put: what takes its place; "" takes the
    statements away. nth: which of how many places where the pattern stands ("2/3"). given: patterns
    that say what further blanks of ``put`` are, found at their first place in the function. near:
    part of the path, asked only where several functions of the name fit.
    """

    function: str
    find: str
    put: str
    nth: str = "1/1"
    given: tuple[str, ...] = ()
    near: str = ""

    def locate(self, root: Path, package: str) -> tuple[Place, Match]:
        """Return the place of the change; Unfit if there is none, or several."""
        places = definitions(root, package).get(self.function, [])
        if not places:
            raise Unfit(f"nothing is called {self.function}")
        nth, number = (int(part) for part in self.nth.split("/"))
        pattern, counts, fitting = parse(self.find), [], []
        put = parse(self.put)
        statements = not (is_expression(pattern) and is_expression(put))
        for place in places:
            found = matches(pattern, place, statements=statements, names={})
            counts.append(len(found))
            if len(found) == number:
                fitting.append((place, found[nth - 1]))
        if len(fitting) > 1:
            fitting = [each for each in fitting if self.near in each[0].file]
        if len(fitting) != 1:
            seen = [f"{n} times in {p.file}" for p, n in zip(places, counts, strict=True) if n]
            raise Unfit(
                f"{self.function}: {self.find} must stand {number} times, and stands "
                f"{', '.join(seen) or 'nowhere'}"
            )
        return fitting[0]

    def apply(self, root: Path, package: str) -> tuple[str, str]:
        """Return the file, from the root, and its text with the change; Unfit if it has none."""
        place, match = self.locate(root, package)
        for text in self.given:
            found = matches(parse(text), place, statements=False, names=match.names)
            if not found:
                raise Unfit(f"{self.function}: the pattern {text} does not stand in it")
            match.names |= found[0].names
        tree = ast.parse((root / place.file).read_text(encoding="utf-8"))
        self._put_in(_twin(place, match, tree))
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        try:
            ast.parse(text)
        except SyntaxError as error:
            raise Unfit(f"{self.function}: {self.put} makes no Python there") from error
        return place.file, text

    def _put_in(self, match: Match) -> None:
        put, filling = parse(self.put), _Filling(match)
        if isinstance(match.holder, list) and isinstance(match.holder[int(match.start)], ast.stmt):
            new: list[Any] = []
            for each in put:
                made = filling.visit(each)
                new += made if isinstance(made, list) else [made]
            match.holder[int(match.start) : match.end] = new
            if not match.holder:
                match.holder.append(ast.Pass())
        else:
            (expression,) = put
            assert isinstance(expression, ast.Expr)
            filled = filling.visit(expression.value)
            if isinstance(match.holder, list):
                match.holder[int(match.start)] = filled
            else:
                setattr(match.holder, str(match.start), filled)


def _twin(place: Place, match: Match, tree: ast.Module) -> Match:
    """Return a match of another parse of the same file, so that nodes kept in store stay whole."""
    pairs = {}

    def pair(one: Any, two: Any) -> None:
        pairs[id(one)] = two
        for name in getattr(one, "_fields", ()):
            pair(getattr(one, name, None), getattr(two, name, None))
        if isinstance(one, list):
            for each in zip(one, two, strict=True):
                pair(*each)

    position = (place.node.lineno, place.node.col_offset)
    (node,) = (
        each
        for each in ast.walk(tree)
        if type(each) is type(place.node) and (each.lineno, each.col_offset) == position
    )
    pair(place.node, node)
    return Match(pairs[id(match.holder)], match.start, match.end, match.names, match.rest)
