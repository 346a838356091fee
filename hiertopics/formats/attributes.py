"""The head of an ARFF file: ``@attribute name type`` lines, their names quoted where needed.

Names are read and written here because liac-arff leaves escapes in them and cuts quotes off their
ends. What it makes of the types follows a head in which every name is plain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hiertopics.errors import DataError, UsageError
from hiertopics.formats.counting import shown
from hiertopics.formats.sidefiles import encodes
from hiertopics.formats.source import Source

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
