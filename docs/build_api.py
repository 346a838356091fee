"""Pages of the Python reference, made from docstrings for the site (``build_site.py``).

A docstring here is sentences; "name: meaning" in
one explains a parameter or a field, and becomes an item of a list.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from hiertopics import testing

LINE = 88
OF_A_FOLDER = [
    "open",
    "newest",
    "exists",
    "file",
    "manifest",
    "theta",
    "paths",
    "documents",
    "vocab",
    "split",
    "n_draws",
    "draws",
    "draw",
    "drawn_paths",
    "metrics",
]
"""What users need of all that a ``Run`` has from the class of its folder."""


class Page(NamedTuple):
    """A page: its title, what it is about, and the names that it explains, each with a module."""

    title: str
    about: str
    names: tuple[str, ...]


def _of(module: str, names: str) -> tuple[str, ...]:
    return tuple(f"{module}:{name}" for name in names.split())


PLAN = {
    "fits.md": Page(
        "Fits and runs",
        "`import hiertopics as ht`; [From Python](../python.md) shows these functions at work.",
        _of(
            "hiertopics",
            "fit Run infer update changes refit shape consensus edit merge drop label import_tree "
            "parts_of_scikit_learn parts_of_tomotopy parts_of_levels",
        ),
    ),
    "scores.md": Page(
        "Scores",
        "[What each score means](../evaluation.md) defines the figures. `score_foreign` scores the "
        "chances of any model ([bursts](../bursts.md)).",
        _of(
            "hiertopics",
            "evaluate evaluate_task compare compare_trees agree support null_check judge "
            "score_sheets",
        )
        + _of("hiertopics.scoring.cache", "score_foreign ForeignScore"),
    ),
    "views.md": Page(
        "Views",
        "What people look at: the tree, topics, documents, files for other tools, and "
        "[the page](../report.md).",
        _of("hiertopics", "show_tree topics docs report export"),
    ),
    "corpora.md": Page(
        "Corpora",
        "[What can be read](../formats.md) describes the files.",
        _of(
            "hiertopics",
            "read_corpus write_corpus convert check simulate Corpus Vectors Tags Source",
        ),
    ),
    "settings.md": Page(
        "Settings and errors",
        "[Config keys](../keys.md) lists the settings of each backend.",
        _of("hiertopics", "backends config sweep HiertopicsError")
        + _of("hiertopics.base.errors", "ConfigError DataError UsageError RunError NumericalError"),
    ),
    "estimator.md": Page(
        "The scikit-learn estimator",
        "[scikit-learn](../python.md#scikit-learn) shows it in a pipeline.",
        _of("hiertopics", "HierarchicalTopics"),
    ),
    "contract.md": Page(
        "The contract of a backend",
        "[Adding a backend](../backends.md) goes through an example, line by line.",
        _of(
            "hiertopics.contract.model",
            "Backend Settings Context Summary Posterior Paths PathMixture PerChain Components "
            "Sizes Sharded",
        )
        + _of("hiertopics.contract.registry", "Entry"),
    ),
}


class Thing(NamedTuple):
    """A function or class under the name that users write."""

    name: str
    value: Any

    @property
    def text(self) -> str:
        """Return its docstring, without indentation."""
        return inspect.getdoc(self.value) or ""


class Signature:
    """The parameters of a function, of a class those that make it."""

    def __init__(self, value: Any) -> None:
        self._value = value

    @cached_property
    def _signature(self) -> inspect.Signature | None:
        if inspect.isclass(self._value) and issubclass(self._value, Exception):
            return None
        try:
            return inspect.signature(self._value)
        except (TypeError, ValueError):
            return None

    @property
    def names(self) -> set[str]:
        """Return the names that a docstring may explain."""
        own = set(self._signature.parameters) if self._signature else set()
        if dataclasses.is_dataclass(self._value):
            own |= {field.name for field in dataclasses.fields(self._value)}
        return own | set(getattr(self._value, "_fields", ()))

    def code(self, name: str) -> str:
        """Return the call as it would be declared: on one line, or a parameter on each."""
        if self._signature is None:
            return name
        parts = list(self._parts(self._signature.parameters.values()))
        returns = self._signature.return_annotation
        arrow = ""
        if returns is not inspect.Signature.empty and not inspect.isclass(self._value):
            arrow = f" -> {_plain(returns)}"
        whole = f"{name}({', '.join(parts)}){arrow}"
        if len(whole) <= LINE:
            return whole
        return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){arrow}"])

    @staticmethod
    def _parts(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
        keyword_only = False
        for each in parameters:
            if each.name in ("self", "cls"):
                continue
            if each.kind is each.KEYWORD_ONLY and not keyword_only:
                keyword_only = True
                yield "*"
            if each.kind is each.VAR_POSITIONAL:
                keyword_only = True
            stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
            kind = "" if each.annotation is each.empty else f": {_plain(each.annotation)}"
            default = ""
            if each.default is not each.empty:
                default = f" = {_default(each.default)}" if kind else f"={_default(each.default)}"
            yield f"{stars}{each.name}{kind}{default}"


def _plain(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _default(value: object) -> str:
    """Return a default as its author wrote it, as far as that is short; no address of memory."""
    text = repr(value)
    return "..." if " at 0x" in text or text.startswith("<") or len(text) > 40 else text


def prose(text: str, names: set[str]) -> str:
    """Return a docstring as Markdown: what it says of parameters as lists, errors apart."""
    return "\n\n".join(
        block for part in re.split(r"\n\s*\n", text) for block in _blocks(part, names)
    )


def _blocks(part: str, names: set[str]) -> Iterator[str]:
    head = re.match(r"(\w[\w ]*)\n-{3,}\n", part)
    if head is not None:
        yield f"**{head[1]}**"
        yield "\n".join(_numpydoc(part[head.end() :]))
        return
    line = " ".join(part.split())
    line, errors_of = _errors_apart(line)
    starts = [
        match
        for match in re.finditer(r"(?:^|(?<=[.)] ))((?:\w+, )*\w+): ", line)
        if set(match[1].split(", ")) <= names
    ]
    opening = line[: starts[0].start()] if starts else line
    if opening.strip():
        yield _escaped(opening.strip())
    ends = [*(match.start() for match in starts[1:]), len(line)]
    items = []
    for match, end in zip(starts, ends, strict=False):
        marked = ", ".join(f"`{name}`" for name in match[1].split(", "))
        items.append(f"- {marked}: {_escaped(line[match.end() : end].strip())}")
    if items:
        yield "\n".join(items)
    if errors_of:
        yield _escaped(errors_of)


def _errors_apart(line: str) -> tuple[str, str]:
    """Return a paragraph up to the sentence that names errors, and the rest."""
    found = re.search(r"(?:^|(?<=[.)] ))Raises (?=[A-Z]\w*Error|what )", line)
    return (line, "") if found is None else (line[: found.start()].strip(), line[found.start() :])


def _numpydoc(body: str) -> Iterator[str]:
    """Yield the items of a section of numpydoc's kind: a name with its type, its meaning below."""
    for entry in re.split(r"\n(?=\S)", body):
        first, _, rest = entry.partition("\n")
        name, _, kind = first.partition(" : ")
        tail = f" ({_escaped(kind)})" if kind else ""
        meaning = " ".join(rest.split())
        yield f"- `{name}`{tail}" + (f": {_escaped(meaning)}" if meaning else "")


def _escaped(text: str) -> str:
    """Return text in which Markdown finds nothing but code between backticks."""
    parts = re.split(r"(``.+?``|`.+?`)", text)
    parts[::2] = [re.sub(r"([*<\[\]_])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"`{part.strip('`')}`" for part in parts[1::2]]
    return "".join(parts)


def members(value: type) -> Iterator[Thing]:
    """Yield the public methods and properties that this package gives a class."""
    for name in dict.fromkeys(name for kind in value.__mro__ for name in vars(kind)):
        inherited = name not in vars(value)
        if name.startswith("_") or (inherited and name not in OF_A_FOLDER):
            continue
        member = inspect.getattr_static(value, name)
        function = getattr(member, "fget", None) or getattr(member, "func", None)
        function = function or getattr(member, "__func__", member)
        if inspect.isfunction(function) and function.__module__.startswith("hiertopics"):
            called = not isinstance(member, property | cached_property)
            yield Thing(name, function if called else property(function))


def _section(thing: Thing) -> Iterator[str]:
    signature = Signature(thing.value)
    yield f"## {thing.name}"
    yield f"```python\n{signature.code(thing.name)}\n```"
    yield prose(thing.text, signature.names)
    if inspect.isclass(thing.value):
        for member in members(thing.value):
            yield from _member(thing.name, member)


def _member(owner: str, member: Thing) -> Iterator[str]:
    yield f"### {owner}.{member.name}"
    signature = Signature(member.value)
    if inspect.isfunction(member.value):
        yield f"```python\n{signature.code(member.name)}\n```"
    yield prose(member.text, signature.names)


def _page(page: Page) -> str:
    parts = [f"# {page.title}", page.about]
    for entry in page.names:
        module, name = entry.split(":")
        parts += _section(Thing(name, getattr(importlib.import_module(module), name)))
    return "\n\n".join(parts) + "\n"


def _testing_page() -> str:
    """Return the page of the tests of the contract, by the names of their functions."""
    parts = [
        "# Testing a backend",
        prose(testing.__doc__ or "", set()),
        "[Adding a backend](../backends.md) uses them. The names of the tests say what they test:",
    ]
    for module in pkgutil.iter_modules(testing.__path__):
        if not module.name.startswith("test_"):
            continue
        path = Path(testing.__path__[0]) / f"{module.name}.py"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [each.name for each in tree.body if isinstance(each, ast.FunctionDef)]
        tests = [name.removeprefix("test_").replace("_", " ") for name in names if "test_" in name]
        parts.append(f"## {module.name}")
        parts.append(prose(ast.get_docstring(tree) or "", set()))
        parts.append("\n".join(f"- {test}" for test in tests))
    return "\n\n".join(parts) + "\n"


def pages() -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    return {**{name: _page(page) for name, page in PLAN.items()}, "testing.md": _testing_page()}
