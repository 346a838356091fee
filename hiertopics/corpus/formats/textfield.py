"""Guesses from the first rows of a table: the column of the text, and whether there is a header.

Messages name the guesses; ``fit --auto`` takes a clear one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

SAMPLED = 200
"""Most rows that a guess uses."""

CLEAR = 2.0
"""The guess of a column is clear if it has so many times the words of any other column."""

SENTENCE = 4
"""Fewest words of a cell that is too long for the name of a column."""

TEXTUAL = (
    *("abstract", "body", "content", "contents", "description", "message", "document", "summary"),
    *("review", "comment", "doc", "texts", "full_text", "title"),
)
"""Fields that often hold the text, the likeliest first; in small letters."""


class Guess(NamedTuple):
    """The field that probably holds the text; whether the guess is clear."""

    field: str
    is_clear: bool


def guessed(rows: Sequence[Mapping[str, Any]]) -> Guess | None:
    """Return the field with the longest texts by the median of their words; None if there is none.

    Numbers count as no words. Among fields of equal length the first of ``TEXTUAL`` is taken.
    """
    fields = dict.fromkeys(field for row in rows for field in row)
    sizes = {field: median(n_words(row.get(field)) for row in rows) for field in fields}
    ranked = sorted(fields, key=lambda field: (-sizes[field], _rank(field)))
    if not ranked or sizes[ranked[0]] < 1:
        return None
    second = sizes[ranked[1]] if len(ranked) > 1 else 0
    first = sizes[ranked[0]]
    return Guess(ranked[0], first >= 2 and first >= CLEAR * second)


def _rank(field: str) -> int:
    small = field.lower()
    return TEXTUAL.index(small) if small in TEXTUAL else len(TEXTUAL)


def n_words(value: Any) -> int:
    """Return the number of words of a value, 0 for numbers; half the letters without blanks."""
    if not isinstance(value, str) or _is_number(value):
        return 0
    words = len(value.split())
    return words if words != 1 or value.isascii() else max(1, len(value) // 2)


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def has_header(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first line of a table names its columns.

    It is a row like the others if the cell above the longest texts has two words or more, and one
    of its cells has ``SENTENCE`` words or is a number above numbers.
    """
    guess = guessed([dict(zip(map(str, range(len(row))), row, strict=False)) for row in rows])
    if guess is None or n_words(header[int(guess.field)]) < 2:
        return True
    return not any(
        n_words(cell) >= SENTENCE
        or (_is_number(cell) and all(_is_number(row[place]) for row in rows if place < len(row)))
        for place, cell in enumerate(header)
    )
