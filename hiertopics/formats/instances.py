"""The head and the rows of an ARFF file, the rows decoded one by one by liac-arff.

Names, in ``@attribute name type`` lines, are read and written here because liac-arff leaves escapes
in them and cuts quotes off their ends. What it makes of the types follows a head in which every
name is plain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from hiertopics.errors import DataError, UsageError
from hiertopics.formats.counting import shown
from hiertopics.formats.sidefiles import encodes
from hiertopics.formats.source import Source
from hiertopics.formats.tables import NUMBER

_ATTRIBUTE = re.compile(
    r"""@attribute\s+
    (?: '(?P<single>(?:[^'\\]|\\.)*)' | "(?P<double>(?:[^"\\]|\\.)*)" | (?P<bare>[^\s'"{},%]\S*) )
    \s+(?P<type>\S.*)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_ESCAPED = re.compile(r"""\\([\\'"%])""")
_PLAIN = re.compile(r"[^\s{},%'\"\\]+")


class Attribute(NamedTuple):
    """A declared column: its name, its type as it is written, and the line."""

    name: str
    type: str
    line: int


def read_attributes(source: Source, lines: Iterator[tuple[int, str]]) -> list[Attribute]:
    """Take the head off the numbered lines, up to ``@data``.

    Raises DataError at a line that has no place there and at a repeated name.
    """
    attributes: dict[str, Attribute] = {}
    number = 1
    for number, line in lines:
        text = line.strip()
        keyword = text[:10].lower()
        if keyword.startswith("@data"):
            if not attributes:
                raise DataError(source.path, "@data before any @attribute", number)
            return list(attributes.values())
        if keyword == "@attribute":
            attribute = _read_attribute(source, text, number)
            if (other := attributes.setdefault(attribute.name, attribute)) is not attribute:
                what = f"the attribute {shown(other.name)} stands on line {other.line} already"
                raise DataError(source.path, what, number)
        elif text and not text.startswith("%") and not keyword.startswith("@relation"):
            what = "expected @relation, @attribute, @data or a comment after %"
            raise DataError(source.path, f"{what}, got {shown(text)}", number)
    raise DataError(source.path, "no line @data", number)


def _read_attribute(source: Source, text: str, number: int) -> Attribute:
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        what = f'expected "@attribute name type", got {shown(text)}'
        raise DataError(source.path, what, number)
    quoted = match["single"] if match["single"] is not None else match["double"]
    name = match["bare"] if quoted is None else _ESCAPED.sub(r"\1", quoted)
    if not name:
        raise DataError(source.path, "an attribute without name", number)
    return Attribute(name, match["type"], number)


def attribute_line(name: str) -> bytes:
    """Return the declaration of a numeric column; raises UsageError where no line can hold it."""
    if not name or "\n" in name or not encodes(name):
        raise UsageError(f"{shown(name)} cannot be the name of an ARFF attribute")
    if not _PLAIN.fullmatch(name):
        mark = '"' if "'" in name and '"' not in name else "'"
        name = mark + re.sub(rf"([\\{mark}])", r"\\\1", name) + mark
    return f"@attribute {name} numeric\n".encode()


Numbered = tuple[int, str]

_VALUE = r"""(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|[^,\s"'{}]*+)"""
# Checked before liac-arff sees it, which takes exponential time to refuse a type.
_NOMINAL = re.compile(rf"\{{\s*+{_VALUE}\s*+(?:,\s*+{_VALUE}\s*+)*+\}}")


class Instance(NamedTuple):
    """A row with the line it stands on: values by column, sparse ones without what is left out.

    A value is a float, a text (of a nominal column) or None (missing).
    """

    line: int
    text: str
    values: Any


class Instances(NamedTuple):
    """kinds: of each column its nominal values, or None where it is numeric."""

    kinds: list[list[str] | None]
    sparse: bool
    rows: Iterator[Instance]


class _Feed:
    """Lines on their way to liac-arff; knows the last one that it took."""

    def __init__(self, lines: Iterator[Numbered]) -> None:
        self.lines = lines
        self.number, self.text = 0, ""

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        self.number, self.text = next(self.lines)
        return self.text


def decoded(
    source: Source, attributes: Sequence[Attribute], lines: Iterator[Numbered]
) -> Instances:
    """Decode the lines after ``@data``; the first row decides whether rows are sparse.

    Raises UsageError where liac-arff is not installed, DataError at a type that is neither
    numeric nor nominal. A row that cannot be decoded is reported.
    """
    first = next((pair for pair in lines if _is_row(pair[1])), None)
    sparse = first is not None and first[1].lstrip().startswith("{")
    head = [(0, "@relation r")]
    for place, attribute in enumerate(attributes):
        if attribute.type.startswith("{") and not _NOMINAL.fullmatch(attribute.type):
            raise _no_type(source, attribute.type, attribute.line)
        # liac-arff would cut integers down: 1.5 to 1, in silence.
        kind = "numeric" if attribute.type.lower() == "integer" else attribute.type
        head.append((attribute.line, f"@attribute a{place} {kind}"))
    head.append((0, "@data"))
    feed = _Feed(chain([] if first is None else [first], lines))
    declared = _start(source, _Feed(iter(head)), sparse)["attributes"]
    kinds = [_kind(source, *pair) for pair in zip(attributes, declared, strict=True)]
    return Instances(kinds, sparse, _rows(source, head, feed, sparse, attributes, kinds))


def _is_row(line: str) -> bool:
    text = line.strip()
    return bool(text) and not text.startswith("%")


def _start(source: Source, feed: _Feed, sparse: bool) -> dict[str, Any]:
    """Have the head decoded; the rows are decoded when they are asked for."""
    try:
        from arff import DENSE_GEN, LOD_GEN, ArffDecoder
    except ImportError as error:
        what = "ARFF needs the library liac-arff: pip install 'hiertopics[arff]'"
        raise UsageError(what) from error
    try:
        started: dict[str, Any] = ArffDecoder().decode(
            feed, return_type=LOD_GEN if sparse else DENSE_GEN
        )
        return started
    # Besides its own errors liac-arff lets almost anything through.
    except Exception as error:
        raise _no_type(source, _type(feed.text), feed.number) from error


def _no_type(source: Source, text: str, line: int) -> DataError:
    what = "expected numeric, real, integer or {value, ...} as the type of the attribute"
    return DataError(source.path, f"{what}, got {shown(text)}", line)


def _type(line: str) -> str:
    return line.split(" ", 2)[2]


def _kind(source: Source, attribute: Attribute, declared: tuple[str, Any]) -> list[str] | None:
    if declared[1] == "STRING":
        what = f"the attribute {shown(attribute.name)} holds texts, which are no numbers"
        raise DataError(source.path, f"{what}; remove that column", attribute.line)
    if not isinstance(declared[1], list):
        return None
    if None in declared[1]:
        what = f"one of the values of the attribute {shown(attribute.name)} is empty or ?"
        raise DataError(source.path, what, attribute.line)
    return [str(value) for value in declared[1]]


def _rows(
    source: Source,
    head: list[Numbered],
    feed: _Feed,
    sparse: bool,
    attributes: Sequence[Attribute],
    kinds: list[list[str] | None],
) -> Iterator[Instance]:
    while True:
        feed.lines = chain(head, feed.lines)
        try:
            for values in _start(source, feed, sparse)["data"]:
                yield Instance(feed.number, feed.text, values)
            return
        except DataError:
            raise
        except Exception as error:
            what = _explained(error, feed.text, sparse, attributes, kinds)
            source.report(DataError(source.path, what, feed.number))


def _explained(
    error: Exception,
    text: str,
    sparse: bool,
    attributes: Sequence[Attribute],
    kinds: list[list[str] | None],
) -> str:
    """Return in words why liac-arff did not take a row; its own words quote whole rows."""
    name = type(error).__name__
    values = [value.strip() for value in text.strip().split(",")]
    if name == "BadDataFormat" and not sparse:
        return f"expected {len(attributes)} values, one per attribute, got {len(values)}"
    if not sparse and len(values) == len(attributes):
        for attribute, kind, value in zip(attributes, kinds, values, strict=True):
            if kind is None and not NUMBER.fullmatch(value) and value != "?":
                return f"expected a number for {shown(attribute.name)}, got {shown(value)}"
            if kind is not None and value not in (*kind, "?"):
                return f"{shown(attribute.name)} is declared without the value {shown(value)}"
    wanted = "{column value, ...}" if sparse else "values between commas"
    known = {
        "BadDataFormat": f"a column outside 0 to {len(attributes) - 1} in",
        "BadNominalValue": "a value that its attribute does not declare in",
        "BadNumericalValue": "a value that is no number in",
    }
    return f"{known.get(name, f'expected {wanted}, got')} {shown(text.strip())}"
