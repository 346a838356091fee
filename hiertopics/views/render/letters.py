"""Widths of letters, for figures whose texts must end where their boxes do.

SVG does not measure text, and ``sans-serif`` is another font on each machine. A width here is the
larger one of two that chromium measured: of Liberation Sans, as wide as Arial and Helvetica, and of
DejaVu Sans, the usual one of Linux.
"""

from __future__ import annotations

from unicodedata import combining, east_asian_width, normalize

from hiertopics.corpus.data.naming import BETWEEN

# fmt: off
REGULAR = (
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 34, 34, 84, 84, 84, 56, 102, 69, 69, 73, 78, 67, 62, 78, 76, 30, 50, 67, 56, 87,
    75, 79, 67, 79, 73, 67, 62, 74, 69, 99, 69, 67, 69, 40, 34, 40, 84, 56, 50, 62, 64, 55, 64,
    62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64,
    34, 64, 84,
)
BOLD = (
    35, 46, 53, 84, 70, 101, 88, 31, 46, 46, 53, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70,
    70, 70, 70, 40, 40, 84, 84, 84, 62, 100, 78, 77, 74, 84, 69, 69, 83, 84, 38, 56, 78, 64, 100,
    84, 86, 74, 86, 78, 73, 69, 82, 78, 111, 78, 73, 73, 46, 37, 46, 84, 56, 50, 68, 72, 60, 72,
    68, 44, 72, 72, 35, 35, 67, 35, 105, 72, 69, 72, 72, 50, 60, 48, 72, 66, 93, 65, 66, 59, 72,
    37, 72, 84,
)
# fmt: on
"""Widths of the letters from the blank to ``~``, in hundredths of the size of the font."""

FIRST = ord(" ")
WIDE, OTHER = 100, 110
"""Widths of letters of East Asia, and of all others: that of the widest of Cyrillic and Greek."""


def text_width(text: str, *, bold: bool) -> float:
    """Return how wide a text is at most, as a multiple of the size of the font."""
    widths = BOLD if bold else REGULAR
    return sum(_width(letter, widths) for letter in normalize("NFD", text)) / 100


def _width(letter: str, widths: tuple[int, ...]) -> int:
    place = ord(letter) - FIRST
    if 0 <= place < len(widths):
        return widths[place]
    if combining(letter):
        return 0
    return WIDE if east_asian_width(letter) in "WF" else OTHER


def shortened(text: str, room: float, *, bold: bool) -> str:
    """Return as much of a text as there is room for, with a mark where it is cut; "" if nothing.

    Blanks and separators of parts before the mark are removed.
    """
    if text_width(text, bold=bold) <= room:
        return text
    for end in range(len(text) - 1, 0, -1):
        if text_width(f"{text[:end]}…", bold=bold) <= room:
            return f"{text[:end].rstrip(BETWEEN)}…"
    return ""
