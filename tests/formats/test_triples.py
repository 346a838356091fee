"""Triples: the two ways of reading agree, and no line of a mistake is lost on the way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiertopics.base.errors import DataError
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.triples import (
    LineRules,
    read_fast,
    read_slowly,
    read_triples,
    triple_matrix,
)

RULES = LineRules(9, 9)


def test_the_fast_and_the_slow_way_agree(tmp_path: Path) -> None:
    text = b"1 2 3\n9 9 9\n4 1 1\n"
    fast, slow = read_fast(text, RULES), read_slowly(Source(tmp_path), RULES, (1, text))
    assert fast is not None and fast.dtype == slow.dtype == np.int32
    np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (b"1 2 3\n", True),
        (b"1\t2\t3 \n", True),
        (b"1 2 0\n", False),
        (b"1  2 3\n", False),
        (b"1 2\n3 4 5 6\n", False),
        (b"1  2\n3  4\n5  6\n", False),
        (b"1 2 \n1 2 3 4\n", False),
        (b"1 2 3\n\n", False),
        (b"10 2 3\n", False),
        (b"1 2 99999999999999999999\n", False),
    ],
)
def test_the_fast_way_takes_perfect_order_only(text: bytes, taken: Any) -> None:
    assert (read_fast(text, RULES) is not None) == taken


def collected(tmp_path: Path, text: bytes, rules: Any, first_line: Any = 1) -> Any:
    problems: list[DataError] = []
    source = Source(tmp_path, report=problems.append)
    triples = read_triples(source, rules, [(first_line, text)])
    counts = triple_matrix(source, rules, triples, first_line)
    return counts, [(problem.line, problem.what) for problem in problems]


def test_where_reporting_returns_the_line_is_left_out(tmp_path: Path) -> None:
    counts, problems = collected(tmp_path, b"1 1 1\n1 x 1\n2 2 2\n2 2 0\n", RULES, first_line=4)
    assert [line for line, _ in problems] == [5, 7]
    assert (counts.shape, counts.nnz, counts[0, 0], counts[1, 1]) == ((9, 9), 2, 1, 2)


def test_every_repeated_pair_is_reported_in_the_order_of_the_lines(tmp_path: Path) -> None:
    text = b"2 2 1\n1 1 1\n%\n1 1 2\n2 2 3\nx\n1 1 4\n"
    counts, problems = collected(tmp_path, text, replace(RULES, comments=True), first_line=3)
    assert problems[1:] == [
        (6, "document 1 has word 1 already, on line 4"),
        (7, "document 2 has word 2 already, on line 3"),
        (9, "document 1 has word 1 already, on line 6"),
    ]
    assert problems[0][0] == 8
    assert (counts.nnz, counts[0, 0], counts[1, 1]) == (2, 1, 1)
