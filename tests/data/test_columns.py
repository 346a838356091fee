"""Columns of metadata are taken for what they hold; dates are binned by month or year."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hiertopics.corpus.data.columns import (
    Kind,
    axis_of,
    binned,
    day_of,
    drawn_part,
    in_ranges,
    is_time,
    kind_of,
    moments,
    same_times,
    why_not_shown,
)
from hiertopics.corpus.data.corpus import Tags


def column(*values: str | tuple[str, ...]) -> Tags:
    """Return a column with a value, or several, for each document."""
    rows = [(value,) if isinstance(value, str) else value for value in values]
    names = tuple(sorted({name for row in rows for name in row}))
    members = np.array([[name in row for name in names] for row in rows])
    return Tags(sparse.csr_array(members), names)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("a/1", "a/2", "a/3"), Kind.NAMES),
        (("a", "b", "a"), Kind.CATEGORIES),
        (("1998", "1999", "1998"), Kind.NUMBERS),
        (("1998", "1999", "2001"), Kind.NUMBERS),
        (("0.5", "-2", "7"), Kind.NUMBERS),
        (("1998-05", "1998-06", "1998-05"), Kind.DATES),
        (("1998-05-31", "1999-06-01", "2001-01-01"), Kind.DATES),
        (("1998-05-31T10:00:00Z", "1999-06-01 08:00"), Kind.DATES),
        (("1998-13", "1999-01"), Kind.NAMES),
        (("1998-05-31", "x", "x"), Kind.CATEGORIES),
        ((("1998", "1999"), "1998"), Kind.CATEGORIES),
        (("nan", "1", "2"), Kind.NAMES),
        (("a", "a"), Kind.CATEGORIES),
    ],
)
def test_a_column_is_what_its_values_are(
    values: tuple[str | tuple[str, ...], ...], kind: Kind
) -> None:
    assert kind_of(column(*values)) is kind


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("1998", "1999", "1998"), True),
        (("1998.0", "2001.0"), True),
        (("1000", "2999"), True),
        (("1998-05-31", "1999-06-01"), True),
        (("1998-05", "1999"), True),
        (("0", "1", "2", "3"), False),
        (("999", "1998"), False),
        (("1998", "3000"), False),
        (("1998.5", "1999"), False),
        (("-1998", "1999"), False),
        (("1e3", "1999"), False),
        (("1998", "when?"), False),
        (("1998", "1998"), False),
        ((("1998", "1999"), "1998"), False),
    ],
)
def test_only_dates_and_years_are_time(
    values: tuple[str | tuple[str, ...], ...], expected: bool
) -> None:
    """Codes are numbers, too, but nothing rises or falls over them."""
    assert is_time(column(*values)) is expected


def test_numbers_of_one_document_each_are_names_where_they_are_many() -> None:
    """An identifier is often a number; a few numbers may be measured."""
    assert kind_of(column(*map(str, range(200)))) is Kind.NUMBERS
    assert kind_of(column(*map(str, range(201)))) is Kind.NAMES
    assert kind_of(column(*map(str, range(201)), "7")) is Kind.NUMBERS


def test_values_that_no_document_has_say_nothing() -> None:
    dates = column("1998-05-01", "1999-06-01", "other")
    kept = dates.select(np.array([0, 1]))
    assert kind_of(kept) is Kind.DATES
    assert binned(kept).names == ("1998-05", "1999-06")


def test_dates_within_three_years_are_binned_by_month() -> None:
    found = binned(column("1998-05-31", "1998-05-01", "2001-04-30T10:00"))
    assert found.by_row == [["1998-05"], ["1998-05"], ["2001-04"]]


def test_dates_within_two_months_are_binned_by_day() -> None:
    """Ten days of news are seen over time; a few documents far away change nothing."""
    days = [f"2026-11-{day:02}T10:00" for day in (20, 21, 21, 24)]
    found = binned(column(*days))
    assert found.names == ("2026-11-20", "2026-11-21", "2026-11-24")
    assert found.by_row == [["2026-11-20"], ["2026-11-21"], ["2026-11-21"], ["2026-11-24"]]
    assert axis_of(found.names) == [f"2026-11-{day}" for day in range(20, 25)]
    far = binned(column(*days * 100, "2011-05-06"))
    assert far.names[:2] == ("2011-05-06", "2026-11-20")
    n_docs = far.members.sum(axis=0).tolist()
    drawn = drawn_part(far.names, n_docs)
    assert drawn.told == "1 document before 2026-11-20 is not drawn"


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        (("2026-11-02", "2027-01-02"), ("2026-11-02", "2027-01-02")),
        (("2026-11-02", "2027-01-03"), ("2026-11", "2027-01")),
        (("2026-11-02", "2026-12"), ("2026-11", "2026-12")),
        (("2026-11-01", "2026-12-01"), ("2026-11", "2026-12")),
        (("2026-02-30", "2026-02-11"), ("2026-02",)),
    ],
)  # fmt: skip
def test_days_need_a_day_in_each_date(values: tuple[str, ...], bins: tuple[str, ...]) -> None:
    assert binned(column(*values)).names == bins


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (("2026-11-30", "2026-11-30T08:00"), "all documents that have a value have '2026-11-30'"),
        (("a", "a"), "all documents that have a value have 'a'"),
        (("30/11/2026", "1/12/2026"), "not shown over time: '1/12/2026' is no date like 1998-05"),
        (("30 Nov 2026", "1 Dec 2026"), "not shown over time: '1 Dec 2026' is no date like 1998"),
        (("2026-11-30", "2026-11-29", "soon"), "not shown over time: 'soon' is no date like 1998"),
        ((("2026-11-30", "2026-11-29"), "2026-11-29"), "a document has several dates"),
        (("a/1", "a/2"), "no two documents have the same value"),
        (("1998", "1999"), "no two documents have the same value"),
        (("1998", "1999", "1999"), ""),
        (("a", "b", "may", "may"), ""),
        (("2026-11-30", "2026-11-29", "2026-11-29"), ""),
        (("7", "8", "8"), ""),
    ],
)
def test_a_column_that_shows_nothing_says_why(
    values: tuple[str | tuple[str, ...], ...], told: str
) -> None:
    tags = column(*values)
    found = why_not_shown(tags, binned(tags))
    assert told in found and bool(told) == bool(found)


def test_a_column_without_values_says_so() -> None:
    tags = Tags(sparse.csr_array((3, 0), dtype=bool), ())
    assert why_not_shown(tags, tags) == "no document has a value"


def test_longer_dates_are_binned_by_year() -> None:
    found = binned(column("1998-05-31", "2001-05-01", "1998-12-01"))
    assert found.names == ("1998", "2001")
    assert found.by_row == [["1998"], ["2001"], ["1998"]]


@pytest.mark.parametrize("values", [("1998", "1999", "1998"), ("a", "b", "a"), ("x1", "x2")])
def test_other_columns_stay_as_they_are(values: tuple[str, ...]) -> None:
    tags = column(*values)
    assert binned(tags) is tags


def test_moments_rise_with_dates() -> None:
    found = moments(["1998-01-31", "1998-02", "1998-02-02", "1999"])
    assert found is not None and (np.diff(found) > 0).all()
    assert moments(["1998", "when?"]) is None


def test_many_numbers_become_ranges_with_as_many_documents() -> None:
    values = [str(number) for number in np.random.default_rng(0).permutation(300) - 100]
    found = in_ranges(column(*values), 200)
    assert found.names[0] == "-100 to -71" and found.names[-1] == "170 to 199"
    assert found.members.sum(axis=0).tolist() == [30] * 10
    for doc, value in enumerate(values):
        (place,) = found.members[[doc]].indices
        low, high = (float(end) for end in found.names[place].split(" to "))
        assert low <= float(value) <= high


def test_equal_numbers_stay_together() -> None:
    values = ["0"] * 70 + [f"{number}.5" for number in range(30)]
    found = in_ranges(column(*values), 20)
    assert found.names[0] == "0" and found.members.sum(axis=0).tolist()[0] == 70
    assert found.names[1:] == ("0.5 to 9.5", "10.5 to 19.5", "20.5 to 29.5")


@pytest.mark.parametrize("last", ["x", "nan", "2001-05-31"])
def test_few_numbers_and_other_values_are_no_ranges(last: str) -> None:
    numbers = [str(number) for number in range(30)]
    assert in_ranges(tags := column(*numbers), 30) is tags
    assert in_ranges(tags := column(*numbers, last), 20) is tags


@pytest.mark.parametrize(
    ("names", "axis"),
    [
        (["1970", "1973", "1974"], ["1970", "1971", "1972", "1973", "1974"]),
        (["1970", "1990", "2000"], ["1970", "1980", "1990", "2000"]),
        (["1998.0", "2000.0", "2001.0"], ["1998.0", "1999", "2000.0", "2001.0"]),
        (["1999-11", "2000-02"], ["1999-11", "2000-02"]),
        (["1999-11", "1999-12", "2000-02"], ["1999-11", "1999-12", "2000-01", "2000-02"]),
        (["1999-11", "1999-12-20", "2000-02"], ["1999-11", "1999-12-20", "2000-02"]),
        (["3 to 5", "6 to 9"], ["3 to 5", "6 to 9"]),
        (["1998", "1998.0", "2000"], ["1998", "1998.0", "2000"]),
        (["1999"], ["1999"]),
        ([], []),
    ],
)
def test_an_axis_has_a_place_for_each_step_with_documents_or_without(
    names: list[str], axis: list[str]
) -> None:
    assert axis_of(names) == axis


@pytest.mark.parametrize(
    ("names", "n_docs", "drawn", "told"),
    [
        (["2000", "2010", "2019", "2020", "2021"], [1, 2, 900, 900, 900], [2, 5],
         "3 documents before 2019 are not drawn"),
        (["2018", "2019", "2020", "2030"], [1, 900, 900, 2], [1, 3],
         "1 document before 2019 and 2 documents after 2020 are not drawn"),
        (["2019", "2020", "2030"], [900, 900, 1], [0, 2], "1 document after 2020 is not drawn"),
        # As many as that are no outliers.
        (["2000", "2019", "2020"], [20, 900, 900], [0, 3], ""),
        # Nothing is gained: one place of twenty-one.
        ([str(2000 + n) for n in range(21)], [1, *[900] * 20], [0, 21], ""),
        # Inside, few documents take no place from others.
        (["2018", "2019", "2020"], [900, 1, 900], [0, 3], ""),
        (["1", "700", "701", "702"], [1, 900, 900, 900], [0, 4], ""),
        (["few", "many", "more"], [1, 900, 900], [0, 3], ""),
    ],
)  # fmt: skip
def test_a_few_documents_far_from_all_others_are_not_drawn(
    names: list[str], n_docs: list[int], drawn: list[int], told: str
) -> None:
    found = drawn_part(names, n_docs)
    assert ([found.first, found.end], found.told) == (drawn, told)
    assert found.of(names) == names[slice(*drawn)]


def test_months_are_those_of_the_drawn_dates() -> None:
    """One document of long ago does not turn two years of months into two bars."""
    days = [f"{2020 + month // 12}-{month % 12 + 1:02}-05" for month in range(24)]
    found = binned(column("1970-01-01", *days * 20))
    assert len(found.names) == 25 and found.names[1] == "2020-01"
    assert binned(column(*["1970-01-01"] * 20, *days * 20)).names == ("1970", "2020", "2021")


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("1998", "1998"),
        (" 1998.0 ", "1998"),
        ("1998-5", "1998-05"),
        ("1998-05-1", "1998-05-01"),
        ("1998-05-31T10:00:00Z", "1998-05-31"),
        ("1998-05-31 10:00", "1998-05-31"),
    ],
)
def test_a_date_is_told_with_its_day_and_without_its_time(name: str, day: str) -> None:
    assert day_of(name) == day


DAYS = ("1998-05-31", "1999-06-01T08:00", "1999-01-01")
MONTHS_OF_DAYS = ("1998-05", "1999-06", "1999-01")


@pytest.mark.parametrize(
    ("columns", "same"),
    [
        ({"year": ("1998", "1999", "1999"), "date": DAYS}, {"year": "date"}),
        ({"date": DAYS, "year": ("1998.0", "1999.0", "1999.0")}, {"year": "date"}),
        ({"date": DAYS, "copy": DAYS}, {"copy": "date"}),
        (
            {"year": ("1998", "1999", "1999"), "month": MONTHS_OF_DAYS, "date": DAYS},
            {"year": "date", "month": "date"},
        ),
        # The year of another event.
        ({"date": DAYS, "year": ("1998", "1999", "2000")}, {}),
        # Years of documents without a date are known from the years alone.
        ({"date": (*DAYS[:2], ()), "year": ("1998", "1999", "1999")}, {}),
        ({"date": DAYS, "year": ("1998", "1999", ())}, {"year": "date"}),
    ],
)  # fmt: skip
def test_years_beside_dates_of_them_say_the_same(
    columns: dict[str, tuple[str | tuple[str, ...], ...]], same: dict[str, str]
) -> None:
    assert same_times({name: column(*values) for name, values in columns.items()}) == same
