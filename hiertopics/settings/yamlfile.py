"""YAML as experiments are written in: the core rules of YAML 1.2, and every mistake has a place.

PyYAML follows YAML 1.1, where ``1e-3`` is a string, ``no`` is false, ``012`` is ten and ``1:30``
is ninety. Here ``1e-3``, ``1E5`` and ``.5`` are floats, ``012`` is the whole number 12, only
``true`` and ``false`` are booleans, and dates and times stay strings. Keys are strings and occur
once. What is written reads back equal under these rules and under plain ``yaml.safe_load``.

PyYAML parses; own code are the rules for values, so that each mistake has its file and line. Files
of seed words are YAML, too: a name of a topic and its words on each line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from hiertopics.base.errors import ConfigError
from hiertopics.settings.fields import show

_NULL, _BOOL, _INT, _FLOAT, _STR, _MERGE, _SEQ, _MAP = (
    f"tag:yaml.org,2002:{name}"
    for name in ("null", "bool", "int", "float", "str", "merge", "seq", "map")
)
_NUMBERS = (
    (_INT, re.compile(r"(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)\Z")),
    (
        _FLOAT,
        re.compile(
            r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
        ),
    ),
)


class _Loader(yaml.SafeLoader):
    """A loader that knows the tags of the core schema and no others."""

    yaml_implicit_resolvers = {}  # PyYAML keeps its tables on the class
    yaml_constructors = {}

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:  # type: ignore[override]
        """Refuse repeated keys and keys that are not text, while their lines are known."""
        node = super().compose_mapping_node(anchor)  # type: ignore[arg-type]
        seen = set()
        for key, _ in node.value:
            if key.tag not in (_STR, _MERGE) or not isinstance(key, yaml.ScalarNode):
                raise _problem("a key must be text", key)
            if key.value in seen:
                raise _problem(f"key {key.value!r} is given twice", key)
            seen.add(key.value)
        return node

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Resolve merge keys; of keys that come several times the last stays.

        PyYAML keeps them all, so that ten lines that merge each other become gigabytes.
        """
        super().flatten_mapping(node)
        node.value = list({key.value: (key, value) for key, value in node.value}.values())


class _Dumper(yaml.SafeDumper):
    """A dumper that quotes what either set of rules would take for something else."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        """Write a string with line breaks on one line: PyYAML's folding loses some of them."""
        broken = any(mark in data for mark in "\n\r\x85\u2028\u2029")
        return self.represent_scalar(_STR, data, style='"' if broken else None)


def _problem(what: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=what, problem_mark=node.start_mark)


def _parse_bool(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


def _parse_int(text: str) -> int:
    return int(text, 0) if text.startswith(("0o", "0x")) else int(text)


def _parse_float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _scalar(parse: Callable[[str], object]) -> Callable[[_Loader, yaml.ScalarNode], object]:
    def construct(loader: _Loader, node: yaml.ScalarNode) -> object:
        text = loader.construct_scalar(node)
        try:
            return parse(text)
        except (ValueError, KeyError):  # an explicit tag, as in !!int x, or 5000 digits
            what = f"cannot read {text[:40]!r} as {node.tag.rpartition(':')[2]}"
            raise _problem(what, node) from None

    return construct


def _sequence(loader: _Loader, node: yaml.SequenceNode) -> list[object]:
    return loader.construct_sequence(node, deep=True)


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[object, object]:
    # Built at once, not in PyYAML's two steps: so a mapping that contains itself is refused.
    return dict(loader.construct_mapping(node, deep=True))


def _unknown_tag(loader: _Loader, node: yaml.Node) -> object:
    raise _problem(f"tag {node.tag!r} has no meaning here", node)


def _fill_tables() -> None:
    null = re.compile(r"(?:~|null|Null|NULL|)\Z")
    boolean = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
    _Loader.add_implicit_resolver(_NULL, null, ["~", "n", "N", ""])
    _Loader.add_implicit_resolver(_BOOL, boolean, list("tTfF"))
    _Loader.add_implicit_resolver(_MERGE, re.compile(r"<<\Z"), ["<"])
    for tag, pattern in _NUMBERS:
        for tables in (_Loader, _Dumper):
            tables.add_implicit_resolver(tag, pattern, list("-+.0123456789"))
    _Dumper.add_representer(str, _Dumper.represent_str)
    _Loader.add_constructor(_NULL, _scalar(lambda text: None))
    _Loader.add_constructor(_BOOL, _scalar(_parse_bool))
    _Loader.add_constructor(_INT, _scalar(_parse_int))
    _Loader.add_constructor(_FLOAT, _scalar(_parse_float))
    _Loader.add_constructor(_STR, _scalar(str))
    _Loader.add_constructor(_SEQ, _sequence)
    _Loader.add_constructor(_MAP, _mapping)
    _Loader.add_constructor(None, _unknown_tag)


_fill_tables()


def load_yaml(path: Path | str) -> dict[str, object]:
    """Return the mapping that the YAML file holds.

    Raises ConfigError, with file and line, if the file cannot be read or is not such a mapping.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError([f"{path}: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError([f"{path}:{line}: not UTF-8 text{_no_config(path)}"]) from error
    try:
        value = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError) as error:
        line, what = _explain(error, text)
        raise ConfigError([f"{path}:{line}: {what}{_no_config(path)}"]) from error
    if not isinstance(value, Mapping):
        kind = "nothing" if value is None else type(value).__name__
        told = f"the top level must be a mapping of keys, got {kind}{_no_config(path)}"
        raise ConfigError([f"{path}: {told}"])
    return dict(value)


SUFFIXES = ("", ".yaml", ".yml", ".json")
"""Ends of names that configs have."""


def _no_config(path: Path | str) -> str:
    """Return a hint on a file whose name is not that of a config."""
    if Path(path).suffix.lower() in SUFFIXES:
        return ""
    return "; a config is YAML; a corpus is given without -c"


def lines_of(path: Path) -> dict[str, int]:
    """Return the line of each key's value at the top of a file that ``load_yaml`` has read."""
    top = yaml.compose(path.read_text(encoding="utf-8-sig"), Loader=_Loader)
    assert isinstance(top, yaml.MappingNode)
    return {key.value: value.start_mark.line + 1 for key, value in top.value}


def lines_within(path: Path) -> dict[str, tuple[int, list[int]]]:
    """Return the line of each key at the top of such a file, and those of its list's entries."""
    top = yaml.compose(path.read_text(encoding="utf-8-sig"), Loader=_Loader)
    assert isinstance(top, yaml.MappingNode)
    found = {}
    for key, value in top.value:
        entries = value.value if isinstance(value, yaml.SequenceNode) else []
        lines = [entry.start_mark.line + 1 for entry in entries]
        found[key.value] = (key.start_mark.line + 1, lines)
    return found


def parse_value(text: str) -> object:
    """Return the value of ``text`` in a YAML file.

    Raises ConfigError (without a place: the caller knows it) if ``text`` is not YAML.
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError([_explain(error, text)[1]]) from error


def dump_yaml(value: object) -> str:
    """Return ``value`` (mappings, lists, strings, numbers, booleans, None) as YAML text."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=sys.maxsize)


def _explain(error: Exception, text: str) -> tuple[int, str]:
    """Return the line (from 1) and the sentence for what PyYAML raised."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return line, f"character {chr(error.character)!a} is not allowed"
    if not isinstance(error, yaml.MarkedYAMLError):
        return 1, "nested too deeply"
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    what = error.problem or "not YAML"
    if error.context:  # where the bracket or quote opened, which the end of the file is not
        opened = f" (line {error.context_mark.line + 1})" if error.context_mark else ""
        what += f", {error.context}{opened}"
    return line, what


def read_seeds(path: Path) -> dict[str, list[str]]:
    """Return the words of each name; raises ConfigError naming the line of each mistake."""
    found, problems = load_yaml(path), []
    lines: dict[str, int] = {}
    seeds: dict[str, list[str]] = {}
    for name, words in found.items():
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            seeds[name] = words
            continue
        odd = words
        if isinstance(words, list) and words:
            odd = next(word for word in words if not isinstance(word, str))
        got = "nothing" if words is None or words == [] else show(odd)
        what = f"expected a list of words for {name!r}, as [orbit, nasa], got {got}"
        hint = "; quote it where it is a word" if isinstance(words, list) and words else ""
        lines = lines or lines_of(path)
        problems.append(f"{path}:{lines[name]}: {what}{hint}")
    if problems:
        raise ConfigError(problems)
    return seeds
