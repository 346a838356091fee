"""Shares by metadata as the terminal shows them: lines over time, differences of categories."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hiertopics.base import saying
from hiertopics.views.charts import to_vega_lite
from hiertopics.views.shares import (
    MOST_BARS,
    by_difference,
    drawn_values,
    to_share_table,
    to_trend_table,
    to_value_table,
)

Call = Callable[..., Any]


def row(value: str, share: float | None, of: int = 10, difference: float | None = None) -> Any:
    names = ("low", "high", "difference_low", "difference_high")
    bounds = dict.fromkeys(names) if share is None else dict.fromkeys(names, share)
    told = {"id": 3, "auto_name": "a · b", "value": value, "n_docs": 1, "of": of}
    return told | {"share": share, "difference": difference, **bounds}


def cells(rows: list[Any]) -> list[str]:
    return list(to_trend_table(rows).cells[0])


def test_a_topic_over_time_is_a_line_of_bars_and_three_shares() -> None:
    rows = [row("1990", 0.1), row("1991", 0.4), row("1992", 0.2)]
    assert cells(rows) == ["3", "a · b", "▃█▅", "10.0%", "40.0% in 1991", "20.0%"]
    assert list(to_trend_table(rows).heads) == [
        *("id", "topic", "1990 to 1992", "in 1990", "largest", "in 1992 ")
    ]
    assert [line[0] for line in to_trend_table([*rows, row("x", 0.1) | {"id": 4}]).cells] == [
        *("3", "4")
    ]


def test_values_of_few_documents_are_dots_and_no_extremes() -> None:
    rows = [row("1990", 0.9, of=4), row("1991", 0.2), row("1992", None, of=0), row("1993", 0.1)]
    assert cells(rows)[2:] == ["·█ ▅", "20.0%", "20.0% in 1991", "10.0%"]
    assert cells([row("1990", 0.9, of=4)])[3:] == ["90.0%", "90.0% in 1990", "90.0%"]
    assert to_trend_table([row("1990", None, of=0)]).cells == []
    assert cells([row("1990", 0.0), row("1991", 0.0)])[2] == "▁▁"


def test_years_without_documents_keep_their_place_in_the_line() -> None:
    rows = [row("1990", 0.1), row("1993", 0.4), row("1994", 0.2)]
    assert cells(rows)[2] == "▃  █▅"
    assert list(to_trend_table(rows).heads)[2] == "1990 to 1994"
    far = [row("1900", 0.1), *(row(str(year), 0.4) for year in range(1960, 1980))]
    assert cells(far)[2] == f"▃{' ' * 29}{'█' * 10}", "two years share a bar"
    months = [row("1999-11", 0.2), row("1999-12", 0.4), row("2000-02", 0.4)]
    assert cells(months)[2] == "▅█ █"


def test_a_few_documents_far_from_all_others_are_in_no_line_and_no_chart() -> None:
    """Neither their years on the axis nor their shares among the extremes."""
    years = [row(str(year), 0.2, of=900) for year in range(2019, 2022)]
    rows = [row("2000", 0.9, of=8), *years]
    table = to_trend_table(rows)
    assert list(table.heads)[2:4] == ["2019 to 2021", "in 2019"]
    assert cells(rows)[2:] == ["███", "20.0%", "20.0% in 2019", "20.0%"]
    assert drawn_values(rows).told == "8 documents before 2019 are not drawn"
    chart = to_vega_lite(rows, "year")
    assert [value["value"] for value in chart["data"]["values"]] == [2019, 2020, 2021]
    assert chart["title"]["subtitle"] == "8 documents before 2019 are not drawn."
    assert "title" not in to_vega_lite(years, "year")


@pytest.mark.parametrize(
    ("values", "places"),
    [
        (["1999-11", "1999-12", "2000-02"], ["1999-11", "1999-12", "2000-01", "2000-02"]),
        (["b", "a"], ["b", "a"]),
    ],
)
def test_months_without_documents_keep_their_place_in_a_chart(
    values: list[str], places: list[str]
) -> None:
    chart = to_vega_lite([row(value, 0.1) for value in values], "month")
    assert chart["spec"]["encoding"]["x"]["scale"]["domain"] == places
    assert [value["value"] for value in chart["data"]["values"]] == values


def test_many_values_are_a_table_of_the_commonest_and_the_topics() -> None:
    rows = [
        row(f"v{n}", 0.5 if n == node else 0.1, of=n) | {"id": node, "auto_name": f"word{node} b"}
        for node in (4, 7)
        for n in range(1, 31)
    ]
    table = to_value_table(rows)
    assert list(table.heads) == ["value", "documents", "[4] word4", "[7] word7"]
    assert [line[0] for line in table.cells] == [f"v{n}" for n in range(30, 15, -1)]
    assert list(table.cells[0]) == ["v30", "30", "10.0%", "10.0%"]
    few = to_value_table([one for one in rows if one["of"] < 8])
    assert list(few.cells[0]) == ["v7", "7", "10.0%", "50.0%"]


def test_many_values_share_bars_by_their_documents() -> None:
    rows = [row(str(1000 + year), 0.1) for year in range(2 * MOST_BARS)]
    rows[0] = row("1000", 0.4, of=30)
    bars = cells(rows)[2]
    assert len(bars) == MOST_BARS
    # (30 * 0.4 + 10 * 0.1) / 40 of a peak of 0.4
    assert bars[0] == "▇" and set(bars[1:]) == {"▃"}


def test_differences_above_come_before_those_below_by_their_size() -> None:
    given = [(0.1, 10), (-0.3, 10), (0.2, 10), (-0.1, 10), (0.9, 4), (None, 10), (0.0, 10)]
    rows = [row(str(place), 0.5, of, apart) for place, (apart, of) in enumerate(given)]
    found = [one["value"] for one in by_difference(rows)]
    assert found == ["2", "0", "6", "1", "3", "5", "4"]


def test_a_row_has_percentages_and_points() -> None:
    told = row("x", 0.1234, difference=-0.05) | {"low": 0.1, "high": 0.15}
    told |= {"difference_low": -0.1, "difference_high": 0.012, "name": "n" * 50}
    (line,) = to_share_table([told]).cells
    assert list(line) == [
        *("3", f"{'n' * 39}…", "x", "1 of 10", "12.3%", "10.0 to 15.0", "-5.0", "-10.0 to +1.2")
    ]
    (line,) = to_share_table([row("x", None)]).cells
    assert list(line)[4:] == ["-"] * 4


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Path]:
    """Return files with years, and with codes of areas, of the 30 documents."""
    files = {"year": range(1990, 1993), "area": range(3), "born": range(1990, 1993)}
    for name, values in files.items():
        column = [values[doc % 3] for doc in range(30)]
        (tmp_path / name).write_text("".join(f"{value}\n" for value in column))
    return {name: tmp_path / name for name in files}


def test_years_are_bars_and_codes_are_counts(
    call: Call, finished: Callable[..., Path], tables: dict[str, Path]
) -> None:
    run = finished("hlda-variational")
    sides = [f"{name}={path}" for name, path in tables.items()]
    over_years = call("topics", run, "--by", "year", "--side", sides[0])
    assert over_years.out.splitlines()[0].split()[2:5] == ["1990", "to", "1992"]
    assert "--top N the largest differences" in over_years.err
    over_areas = call("topics", run, "--by", "area", "--side", sides[1])
    assert "its 95% interval" in over_areas.out and not set("▁▂▃▄▅▆▇█") & set(over_areas.out)
    tree = call("show-tree", run, "--side", sides[0], "--side", sides[1]).out
    of_years = [line for line in tree.splitlines() if "year: " in line]
    of_areas = [line for line in tree.splitlines() if "area: " in line]
    assert of_years and all("1990 |" in line for line in of_years)
    assert of_areas and not any(set("▁▂▃▄▅▆▇█|") & set(line[10:]) for line in of_areas)
    # Records have every value of both, in their order.
    told = json.loads(call("show-tree", run, "--side", sides[1], "--json").out)
    assert [value for value, _ in told["nodes"][-1]["remarks"]["area"]] == ["0", "1", "2"]


def test_days_are_bars_and_a_column_without_a_view_says_why(
    call: Call, finished: Callable[..., Path], tmp_path: Path
) -> None:
    run = finished("hlda-variational")
    for name, days in (("days", (20, 22, 29)), ("day", (30, 30, 30))):
        lines = [f"2026-11-{days[doc % 3]}T0{doc % 7}:00\n" for doc in range(30)]
        (tmp_path / name).write_text("".join(lines))
    (tmp_path / "other").write_text("30/11/2026\n1/12/2026\n" * 15)
    (tmp_path / "title").write_text("".join(f"text{doc}\n" for doc in range(30)))
    why = {
        "days": "",
        "day": "all documents that have a value have '2026-11-30': there is nothing to compare",
        "other": "it is not shown over time: '1/12/2026' is no date like 1998-05-31",
        "title": "no two documents have the same value: there is nothing to compare",
    }
    for name, told in why.items():
        expected = f"note: column {name!r}: {told}\n" if told else ""
        side = ("--side", f"{name}={tmp_path / name}")
        saying._said.clear()
        by = call("topics", run, "--by", name, *side, *(("--top", 3) if name == "title" else ()))
        assert by.code == 0 and [line for line in by.err.splitlines() if "column" in line] == (
            expected.splitlines()
        )
        assert ("2026-11-20 to 2026-11-29" in by.out) == (name == "days")
        assert " to 2026-11-30" not in by.out
        saying._said.clear()
        page = call("report", run, "-o", tmp_path / "page.html", *side)
        assert page.code == 0 and [line for line in page.err.splitlines() if "column" in line] == (
            expected.splitlines()
        )


def test_a_column_called_group_is_answered_with_another_name(
    call: Call, finished: Callable[..., Path], tables: dict[str, Path]
) -> None:
    run = finished("hlda-variational")
    done = call("topics", run, "--by", "group", "--side", f"group={tables['area']}")
    assert done.code == 2 and "--by kind --side kind=FILE" in done.err
