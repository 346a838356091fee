"""Kinds of columns of metadata: names of documents, dates, numbers, categories."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64
from hiertopics.corpus.data.corpus import Tags

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:[T ].*)?")
_YEAR = re.compile(r"[12]\d{3}(?:\.0+)?")
"""Years 1000 to 2999; programs with missing numbers write ``1998.0``."""

_OTHER_DATE = re.compile(
    r"\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d\d)( .*)?|\d{4}[./]\d{1,2}[./]\d{1,2}( .*)?"
    r"|(?=.*\b[12]\d{3}\b).*\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b.*",
    re.IGNORECASE,
)
"""Dates as people write them: 31/5/1998, 1998/05/31, 31 May 1998."""

DAYS = 62
"""Dates that span at most so many days are binned by day."""

MONTHS = 36
"""Other dates that span at most so many months are binned by month, longer ones by year."""

OUTLYING = 0.005
"""Share of the documents below which years at the ends of an axis may be left out together."""

SHORTER = 0.1
"""Part of an axis that must be gained by that."""

TOLERANCE = 1e-6
"""How far a moment may be from a month, in months."""

N_RANGES = 10
"""Ranges that a column of many numbers is cut into."""

MOST_NUMBERS = 200
"""Numbers of one document each are an identifier where there are more."""


class Kind(Enum):
    """The kind of a column's values.

    NAMES: each value belongs to one document, like an identifier or an address; numbers are names
    where there are more than ``MOST_NUMBERS`` of them. DATES: dates of a month or a day, at most
    one for each document. NUMBERS: numbers or years, at most one for each document. CATEGORIES:
    anything else.
    """

    NAMES = "names"
    DATES = "dates"
    NUMBERS = "numbers"
    CATEGORIES = "categories"


def kind_of(tags: Tags) -> Kind:
    """Return the kind of a column, by the values that documents have."""
    names, members = _used(tags)
    single = int(np.diff(members.indptr).max(initial=0)) <= 1
    totals = np.asarray(members.sum(axis=0)).ravel()
    of_one_each = len(totals) > 1 and bool((totals <= 1).all())
    if single and len(names) > 1 and moments(names) is not None:
        if any(_number(name) is None for name in names):
            return Kind.DATES
        return Kind.NAMES if of_one_each and len(names) > MOST_NUMBERS else Kind.NUMBERS
    return Kind.NAMES if of_one_each else Kind.CATEGORIES


def is_time(tags: Tags) -> bool:
    """Tell whether a column is time: dates or years 1000 to 2999, at most one for each document.

    Other numbers, such as codes of areas, have an order and no trend.
    """
    names, members = _used(tags)
    return int(np.diff(members.indptr).max(initial=0)) <= 1 and _are_times(names)


def _are_times(names: Sequence[str]) -> bool:
    """Tell whether values are dates or years 1000 to 2999."""
    if moments(names) is None:
        return False
    return all(_number(name) is None or _YEAR.fullmatch(name.strip()) for name in names)


def why_not_shown(tags: Tags, bins: Tags) -> str:
    """Return why a column shows nothing, or its dates as other values, without a full stop; or "".

    bins: the column in the values that it is shown by.
    """
    names, members = _used(tags)
    if not names:
        return "no document has a value"
    shown, counts = _used(bins)
    if len(shown) == 1:
        return f"all documents that have a value have {shown[0]!r}: there is nothing to compare"
    dates = [_DATE.fullmatch(name.strip()) is not None for name in names if _number(name) is None]
    others = [name for name in names if moments([name, "2000"]) is None]
    like = sum(_OTHER_DATE.fullmatch(name.strip()) is not None for name in others)
    if others and 2 * (sum(dates) + like) >= len(names):
        return f"it is not shown over time: {others[0]!r} is no date like 1998-05-31"
    if any(dates) and int(np.diff(members.indptr).max()) > 1:
        return "it is not shown over time: a document has several dates"
    if int(counts.sum(axis=0).max()) == 1:
        return "no two documents have the same value: there is nothing to compare"
    return ""


def day_of(name: str) -> str:
    """Return a date without its time, or a year, as ``1998-05-31``, ``1998-05`` or ``1998``."""
    date = _DATE.fullmatch(name.strip())
    if date is None:
        number = _number(name)
        return name if number is None else f"{number:04.0f}"
    return "-".join([date[1], *(f"{int(part):02}" for part in (date[2], date[3]) if part)])


def same_times(tags: Mapping[str, Tags]) -> dict[str, str]:
    """Return the redundant columns of time, each with the column that replaces it.

    A column of dates replaces one of their years. Of two equal columns the first one stays.
    """
    same: dict[str, str] = {}
    names = list(tags)
    for at, name in enumerate(names):
        for place, other in enumerate(names):
            if place == at or other in same or not _says(tags[other], tags[name]):
                continue
            if place < at or not _says(tags[name], tags[other]):
                same[name] = other
                break
    return {name: same.get(other, other) for name, other in same.items()}


def _says(fine: Tags, coarse: Tags) -> bool:
    """Tell whether each document with a value of ``coarse`` has one of ``fine`` that begins so."""
    one, other = (sparse.csr_array(tags.members, dtype=np.int64) for tags in (fine, coarse))
    if (np.diff(other.indptr) > np.diff(one.indptr)).any():
        return False
    at, into = (sparse.csr_array(other.T) @ one).nonzero()
    return all(
        day_of(fine.names[longer]).startswith(day_of(coarse.names[shorter]))
        for shorter, longer in zip(at.tolist(), into.tolist(), strict=True)
    )


class Drawn(NamedTuple):
    """The part of an axis of time that is drawn: values from ``first`` to before ``end``.

    told: what is left out of it, as ``3 documents before 2011 are not drawn``; "" for nothing.
    """

    first: int
    end: int
    told: str

    def of(self, names: Sequence[str]) -> list[str]:
        """Return the values that are drawn."""
        return list(names[self.first : self.end])


def drawn_part(names: Sequence[str], n_docs: Sequence[int]) -> Drawn:
    """Return the part of ascending years, months or days that is drawn; of other values all are.

    n_docs: of each value. A few documents far from all others would leave an axis almost empty.
    The values at its ends with the fewest documents are left out while these are less than
    ``OUTLYING`` of all, if the axis is shorter by ``SHORTER`` or more then.
    """
    whole, when = Drawn(0, len(names), ""), moments(names)
    if when is None or not _are_times(names) or (np.diff(when) <= 0).any():
        return whole
    first, end, n_left, most = 0, len(names), 0, OUTLYING * sum(n_docs)
    while end - first > 2:
        at = first if n_docs[first] <= n_docs[end - 1] else end - 1
        n_left += n_docs[at]
        if n_left >= most:
            break
        first, end = (first + 1, end) if at == first else (first, end - 1)
    if _length(names[first:end]) > (1 - SHORTER) * _length(names):
        return whole
    before, after = f"before {names[first]}", f"after {names[end - 1]}"
    ends = ((sum(n_docs[:first]), before), (sum(n_docs[end:]), after))
    told = " and ".join(f"{n:,} document{'s' * (n != 1)} {where}" for n, where in ends if n)
    verb = "is" if sum(n for n, _ in ends) == 1 else "are"
    return Drawn(first, end, f"{told} {verb} not drawn" if told else "")


def binned(tags: Tags) -> Tags:
    """Return a column of dates with days, months or years as values; other columns unchanged.

    They ascend. Days are written ``1998-05-31``, months ``1998-05``, years ``1998``. Which of them
    it is, is by the dates that are drawn. Days need a day in every date, and one that is no first.
    """
    if kind_of(tags) is not Kind.DATES:
        return tags
    found = [_DATE.fullmatch(name.strip()) for name in tags.names]
    months = [None if date is None else _month(date) for date in found]
    totals = np.asarray(sparse.csr_array(tags.members).sum(axis=0), np.int64).ravel()
    days = [_day(name) if n else None for name, n in zip(tags.names, totals, strict=True)]
    if _is_of_days(days, totals.tolist()):
        bins = ["" if day is None else _called(day) for day in days]
    else:
        by_month = _span(months, totals.tolist(), partial(_named, by_month=True)) < MONTHS
        bins = ["" if month is None else _named(month, by_month=by_month) for month in months]
    names = sorted(set(bins) - {""})
    place = {name: number for number, name in enumerate(names)}
    kept = [number for number, name in enumerate(bins) if name]
    cells = (np.ones(len(kept), np.int64), (kept, [place[bins[number]] for number in kept]))
    into = sparse.csr_array(cells, shape=(len(bins), len(names)))
    members = sparse.csr_array(tags.members, dtype=np.int64) @ into
    return Tags(sparse.csr_array(members, dtype=bool), tuple(names), tags.notes)


def _is_of_days(days: Sequence[int | None], n_docs: Sequence[int]) -> bool:
    """Tell whether dates are binned by day. n_docs: of each; those of none do not count."""
    known = [day for day, n in zip(days, n_docs, strict=True) if n]
    found = [day for day in known if day is not None]
    # The first days of months stand for the months.
    is_exact = len(found) == len(known) and any(datetime.date.fromordinal(d).day > 1 for d in found)
    return is_exact and _span(days, n_docs, _called) < DAYS


def _span(places: Sequence[int | None], n_docs: Sequence[int], called: Callable[[int], str]) -> int:
    """Return the steps from the first to the last month or day that is drawn.

    called: returns how one is written.
    """
    found: dict[int, int] = {}
    for place, n in zip(places, n_docs, strict=True):
        if place is not None and n:
            found[place] = found.get(place, 0) + n
    known = sorted(found)
    drawn = drawn_part([called(place) for place in known], [found[place] for place in known])
    return known[drawn.end - 1] - known[drawn.first]


def in_ranges(tags: Tags, most: int) -> Tags:
    """Return a column of more than ``most`` numbers with ranges as values; others unchanged.

    There are at most ``N_RANGES``, ascending, each with about as many documents: ``3 to 17``.
    """
    names, members = _used(tags)
    numbers = [_number(name) for name in names] if len(names) > most else [None]
    if any(number is None or not np.isfinite(number) for number in numbers):
        return tags
    order = np.argsort(np.array(numbers, np.float64), kind="stable")
    totals = np.asarray(members.sum(axis=0), np.int64).ravel()[order]
    before = np.cumsum(totals) - totals / 2
    _, place = np.unique((N_RANGES * before / totals.sum()).astype(np.int64), return_inverse=True)
    bounds = [np.flatnonzero(place == number)[[0, -1]] for number in range(int(place[-1]) + 1)]
    ends = [[names[int(order[one])] for one in bound] for bound in bounds]
    cells = (np.ones(len(order), np.int64), (order, place))
    into = sparse.csr_array(cells, shape=(len(order), len(ends)))
    found = sparse.csr_array(sparse.csr_array(members, dtype=np.int64) @ into, dtype=bool)
    called = tuple(low if low == high else f"{low} to {high}" for low, high in ends)
    return Tags(found, called, tags.notes)


def axis_of(names: Sequence[str]) -> list[str]:
    """Return the names of all places on an even axis of time, ascending as ``names``.

    It is one of years or months, or of days that span at most ``DAYS``. The places are as far apart
    as the largest step that leads to all names. A place without documents is named as the others
    are. If the names are none of these, the names are the axis.
    """
    if (months := _months(names)) is not None:
        own = dict(zip(months, names, strict=True))
        by_month = any(month % 12 for month in own)
        return [own.get(month) or _named(month, by_month=by_month) for month in _even(months)]
    days = _days(names)
    if days is None or len(_even(days)) > DAYS:
        return list(names)
    told = dict(zip(days, names, strict=True))
    return [told.get(day) or _called(day) for day in _even(days)]


def _length(names: Sequence[str]) -> int:
    """Return the number of places on an even axis of years, months or days; of others of names."""
    places = _months(names) or _days(names)
    return len(names) if places is None else len(_even(places))


def _even(places: Sequence[int]) -> range:
    """Return all places as far apart as the largest step from the first that leads to each."""
    step = int(np.gcd.reduce(np.array(places) - places[0]))
    return range(places[0], places[-1] + 1, max(step, 1))


def _months(names: Sequence[str]) -> list[int] | None:
    """Return years or months, ascending, in months since year 0; None where they are no such."""
    when = moments(names)
    if when is None:
        return None
    months = np.rint(12 * when).astype(np.int64)
    is_even = np.abs(12 * when - months).max() < TOLERANCE and bool((np.diff(months) > 0).all())
    return months.tolist() if is_even else None


def _days(names: Sequence[str]) -> list[int] | None:
    """Return days, ascending, as ``date.toordinal`` counts them; None where they are no such."""
    days = [_day(name) for name in names]
    known = [day for day in days if day is not None]
    are_days = 0 < len(known) == len(days) and bool((np.diff(known) > 0).all())
    return known if are_days else None


def _called(day: int) -> str:
    """Return how a day is written."""
    return datetime.date.fromordinal(day).isoformat()


def _day(name: str) -> int | None:
    """Return the day of a date, as ``date.toordinal`` counts; None of a month or of no date."""
    date = _DATE.fullmatch(name.strip())
    if date is None or date[3] is None:
        return None
    try:
        return datetime.date(int(date[1]), int(date[2]), int(date[3])).toordinal()
    except ValueError:
        return None


def _named(month: int, *, by_month: bool) -> str:
    """Return how a month since year 0 is written, or its year."""
    return f"{month // 12:04}-{month % 12 + 1:02}" if by_month else f"{month // 12:04}"


def moments(names: Sequence[str]) -> F64 | None:
    """Return numbers, or dates in years, float64 [n_names]; None where a name is neither.

    Dates are written ``1998``, ``1998-05``, ``1998-05-31`` or with a time behind.
    """
    found = []
    for name in names:
        date, number = _DATE.fullmatch(name.strip()), _number(name)
        if number is not None:
            found.append(number)
        elif date is not None and 1 <= int(date[2] or 1) <= 12 and 1 <= int(date[3] or 1) <= 31:
            found.append(_month(date) / 12 + (int(date[3] or 1) - 1) / 372)
        else:
            return None
    values = np.array(found)
    return values if len(values) > 1 and np.isfinite(values).all() else None


def _month(date: re.Match[str]) -> int:
    """Return the months from year 0 to a date."""
    return 12 * int(date[1]) + int(date[2] or 1) - 1


def _number(name: str) -> float | None:
    try:
        return float(name)
    except ValueError:
        return None


def _used(tags: Tags) -> tuple[list[str], sparse.csr_array]:
    """Return the values that some document has, and the members of these [n_docs, n_values]."""
    members = sparse.csr_array(tags.members)
    used = np.flatnonzero(np.asarray(members.sum(axis=0)).ravel())
    return [tags.names[value] for value in used.tolist()], sparse.csr_array(members[:, used])
