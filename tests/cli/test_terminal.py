"""What a terminal shows: no line beyond its edge, looks without markup, nothing lost of tables."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiertopics.base.visible import SENTENCE, Span, plain, steady, visible
from hiertopics.cli.options import is_narrow
from hiertopics.corpus.data.tree import NodeSupport
from hiertopics.runs.rundir import RunDir
from hiertopics.views.render.records import Grid, to_table
from hiertopics.views.render.screen import pieces, show_lines, show_table
from hiertopics.views.showing import TreeRequest, tree_on_screen

WIDTH = 40
LOOKS = re.compile("\x1b\\[[0-9;]*m")
COLOURS = re.compile("\x1b\\[[0-9;]*3[0-9]m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Return a terminal of ``WIDTH`` columns."""
    for name, value in (("COLUMNS", str(WIDTH)), ("TERM", "xterm")):
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return Terminal()


LINES = [
    [Span("├─ ", "frame"), Span("[7]", "number"), Span("  9 docs  "), Span("a name", "name")],
    [Span("word " * 20)],
    [Span("[bold]b[/bold] [/] :smiley: [link=http://x]y", "aside"), Span("\x1b[31mred\u202e")],
    [Span("")],
]


def test_no_line_goes_beyond_the_edge_and_what_fits_is_whole(terminal: Terminal) -> None:
    with redirect_stdout(terminal):
        show_lines(LINES)
    shown = LOOKS.sub("", terminal.getvalue()).split("\n")[:-1]
    assert [len(line) for line in shown] == [22, WIDTH, WIDTH, 0]
    for line, whole in zip(shown, plain(LINES).split("\n"), strict=False):
        assert line == whole or whole.startswith(line.removesuffix("…")) and line.endswith("…")


def test_a_sentence_is_wrapped_between_words_and_loses_none(terminal: Terminal) -> None:
    told = "Without a tenth of the documents 3 of 5 branches come back, with 40% of all words"
    with redirect_stdout(terminal):
        show_lines([[Span(told, SENTENCE)], *LINES[1:2]])
    shown = LOOKS.sub("", terminal.getvalue()).split("\n")[:-1]
    assert max(map(len, shown)) <= WIDTH and len(shown) == 4
    assert " ".join(line.rstrip() for line in shown[:-1]) == told and shown[-1].endswith("…")


def test_views_of_large_runs_show_that_they_go_on(
    finished: Callable[..., Path], call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, told = finished("hlda-gibbs"), []

    def watched(name: str) -> AbstractContextManager[None]:
        told.append(name)
        return nullcontext()

    monkeypatch.setattr("hiertopics.base.progress.watched", watched)
    years = Path("year")
    years.write_text("".join(f"{1990 + doc % 3}\n" for doc in range(30)))
    by = ("--by", "year", "--side", "year=year")
    views = (("topics", run), ("topics", run, *by), ("docs", run, 1), ("report", run))
    assert [call(*words).code for words in views] == [0] * len(views)
    assert told == ["reading the run", "counting", "reading the run", "making the page"]


def test_words_are_neither_markup_nor_control(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with redirect_stdout(terminal):
        show_lines(LINES[2:3])
    shown = terminal.getvalue()
    assert "[bold]b[/bold] [/] :smiley: [link=http://x]y" in shown
    assert r"\x1b[31mred\u202e" in shown and "\x1b[31m" not in shown and "\u202e" not in shown


def test_parts_are_told_apart_and_no_color_is_heeded(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with redirect_stdout(terminal):
        show_lines(LINES[:1])
    assert "\x1b[1ma name\x1b[0m" in terminal.getvalue() and COLOURS.search(terminal.getvalue())
    terminal.seek(terminal.truncate(0))
    monkeypatch.setenv("NO_COLOR", "1")
    with redirect_stdout(terminal):
        show_lines(LINES[:1])
    assert "\x1b[1ma name\x1b[0m" in terminal.getvalue()
    assert not COLOURS.search(terminal.getvalue())


def wide(n_rows: int = 8) -> Grid:
    rows = [
        {"run": f"runs/{n}"} | {f"column_{c}": n * 1000 + c for c in range(9)}
        for n in range(1, n_rows + 1)
    ]
    return to_table(rows, tuple(rows[0]))


def test_a_table_that_is_too_wide_comes_in_pieces_with_all_its_cells(terminal: Terminal) -> None:
    with redirect_stdout(terminal):
        show_table(wide())
    lines = LOOKS.sub("", terminal.getvalue()).splitlines()
    assert max(map(len, lines)) <= WIDTH and len(lines) == 3 * 10 - 1
    heads = [line.split() for line in lines if line.startswith("run ")]
    assert [head for piece in heads for head in piece[1:]] == list(wide().heads[1:])
    cells = [line.split()[1:] for line in lines if line.startswith("runs/2")]
    assert sum(cells, []) == list(wide().cells[1][1:])


def test_few_records_with_many_columns_stand_side_by_side(terminal: Terminal) -> None:
    with redirect_stdout(terminal):
        show_table(wide(2))
    lines = LOOKS.sub("", terminal.getvalue()).splitlines()
    assert lines[0].split() == ["run", "runs/1", "runs/2"]
    assert [line.split() for line in lines[1:]] == [
        [f"column_{c}", str(1000 + c), str(2000 + c)] for c in range(9)
    ]


def test_a_table_that_fits_or_ends_in_words_is_one_piece() -> None:
    narrow = wide().of([0, 1])
    assert list(pieces(narrow, WIDTH)) == [narrow]
    words = to_table([{"id": 1, "words": "word " * 20}], ("id", "words"))
    assert list(pieces(words, WIDTH)) == [words]


def test_letters_are_told_from_what_they_would_write_out(terminal: Terminal) -> None:
    """The four letters of an escape, and an escape; written out once, in a table and cut in one."""
    letters, escape = r"\x1b", "\x1b"
    assert (visible(letters), visible(escape)) == (r"\\x1b", r"\x1b")
    assert steady(f"{letters!r} {escape}") == r"'\\x1b' \x1b"
    grid = to_table([{"word": letters, "n": 1}, {"word": escape, "n": 2}], ("word", "n"))
    with redirect_stdout(terminal):
        show_table(grid)
    for shown in (str(grid), LOOKS.sub("", terminal.getvalue())):
        assert [line.split()[0] for line in shown.splitlines()[-2:]] == [r"\\x1b", r"\x1b"]


def test_names_have_half_of_a_narrow_terminal(
    finished: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, terminal: Terminal
) -> None:
    """And lines of a wide one, and of a pipe, have all their numbers."""
    run = RunDir(finished("nhdp-variational"))
    value = np.where(run.tree.parent == -1, np.nan, 0.28)
    tree = replace(run.tree, transfer=NodeSupport(value, None, how="20 resamples"))
    monkeypatch.setitem(run.__dict__, "supported_tree", tree)

    def head(columns: int) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        lines, _ = tree_on_screen(run, TreeRequest(), is_narrow=is_narrow())
        (line,) = (line for line in plain(lines).splitlines() if "[1]" in line)
        return line[: line.index(run.vocab[run.tree.top_words(1, 1)[0]])]

    assert not is_narrow()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert len(head(80)) <= 36 and head(80).endswith(" docs  28% back  ")
    assert head(120).endswith(" docs  support 0.28  ")
