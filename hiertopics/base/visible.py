"""Safe text: characters that control a terminal or the text direction are escaped.

And lines whose parts know what they are, so that a terminal may tell them apart; and cells for
spreadsheets, which would run what looks like a formula.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
"""Controls (C0, DEL, C1), separators of lines, and marks of direction."""


_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
"""Beginnings of formulas in a spreadsheet, and numbers, which may begin like a formula."""


def visible(text: str) -> str:
    r"""Return a name or a word with its control characters as escapes, such as ``\x1b``.

    A backslash becomes ``\\``: so no two texts look alike.
    """
    return steady(text.replace("\\", r"\\"))


def steady(text: str) -> str:
    r"""Return one line of text with control characters escaped and backslashes unchanged.

    For messages, whose parts are quoted already or came from ``visible``.
    """
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def typed(word: str) -> str:
    r"""Return a word of a command as a shell reads it, control characters as in ``$'\u0009'``."""
    if not _STEERING.search(word):
        return shlex.quote(word)
    letters = word.replace("\\", r"\\").replace("'", r"\'")
    return "$'" + _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", letters) + "'"


def in_letters(name: str) -> str:
    r"""Return the name of a file as UTF-8 can hold it, bytes that are none as ``\xff``.

    Whatever the encoding of file systems: where it is ASCII, bytes beyond it are read as UTF-8.
    """
    try:
        encoded = name.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # halves of pairs that stand for no byte
        encoded = name.encode(errors="backslashreplace")
    return encoded.decode(errors="backslashreplace")


def no_formula(text: str) -> str:
    """Return a cell of CSV with a ``'`` before text that a spreadsheet would read as a formula."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def as_typed(cell: str) -> str:
    """Inverse of ``no_formula``."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


SENTENCE = "sentence"
"""Look of a line that a terminal wraps between words; it cuts other lines at its edge."""


class Span(NamedTuple):
    """A part of a line, names and words in it ``visible``.

    look: what it is, frame, number, name, head, aside or sentence; empty: just text.
    """

    text: str
    look: str = ""


Line = Sequence[Span]


def plain(lines: Iterable[Line]) -> str:
    """Return the lines as text without looks."""
    return "".join("".join(steady(span.text) for span in line) + "\n" for line in lines)
