"""Lines and tables on a terminal: coloured parts, nothing wider than the terminal.

Only commands that draw import this, and only where a terminal reads them: rich takes a while.
Texts never pass rich's markup, so that no word of a corpus means anything to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from hiertopics.base.visible import SENTENCE, Line, steady

if TYPE_CHECKING:
    from hiertopics.views.render.records import Grid

STYLES = {"frame": "dim", "number": "cyan", "name": "bold", "head": "bold", "aside": "dim"}
GAP = 2
"""Letters between two columns."""

LEAST_TEXT = 20
"""Letters that a last column of text is worth being cut to; below, the table is cut in pieces."""


def show_lines(lines: Iterable[Line], *, err: bool = False) -> None:
    """Write lines, each cut at the terminal's edge; sentences are wrapped instead."""
    console = Console(file=sys.stderr if err else sys.stdout, highlight=False, emoji=False)
    for line in lines:
        text = Text()
        for span in line:
            text.append(steady(span.text), STYLES.get(span.look, ""))
        wraps = any(span.look == SENTENCE for span in line)
        console.print(text, no_wrap=not wraps, overflow="fold" if wraps else "ellipsis")


def show_table(grid: Grid) -> None:
    """Write a table; a table that is too wide is turned, with records side by side.

    Where they are too many, it comes in pieces, each with the first column.
    """
    width = Console(file=sys.stdout).width
    found = [*pieces(grid, width)]
    if len(found) > 1 and sum(grid.turned.widths) + GAP * len(grid.cells) <= width:
        found = [grid.turned]
    for number, piece in enumerate(found):
        if number:
            print()
        show_lines(piece.lines())


def pieces(grid: Grid, width: int) -> Iterator[Grid]:
    """Yield the columns of a table so that each piece fits, if it can.

    A last column of text may be cut at the edge instead.
    """
    widths, last = grid.widths, len(grid.heads) - 1
    before = sum(widths[:-1]) + GAP * last
    if before + widths[-1] <= width or (not grid.on_right[-1] and before + LEAST_TEXT <= width):
        yield grid
        return
    columns, taken = [0], widths[0]
    for column in range(1, last + 1):
        if len(columns) > 1 and taken + GAP + widths[column] > width:
            yield grid.of(columns)
            columns, taken = [0], widths[0]
        columns.append(column)
        taken += GAP + widths[column]
    yield grid.of(columns)
