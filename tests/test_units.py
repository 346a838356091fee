"""Durations and sizes."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hiertopics.base.errors import UsageError
from hiertopics.base.units import format_bytes, format_duration, parse_bytes, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3h50m", 13800), ("90s", 90), ("45m", 2700), ("2h", 7200), ("1d", 86400), ("3600", 3600),
        ("1d2h3m4s", 93784), ("1d4s", 86404), ("0", 0), ("0s", 0), ("100m", 6000), ("007", 7),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float) -> None:
    """A bare number is seconds."""
    read = parse_duration(text)
    assert read == seconds
    assert type(read) is float


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "h", "3x", "50m3h", "3h3h", "1.5h", "-3h", "+3", "3h 50m", " 3h", "3h\n", "3H"),
        *("1:30:00", "1e3", "inf", "nan", "3h50", "٣h", "1" * 30, "h50m", "never"),
    ],
)
def test_other_durations_are_refused(text: str) -> None:
    """The message shows what was typed and what would do."""
    with pytest.raises(UsageError, match="a duration is written like") as caught:
        parse_duration(text)
    assert repr(text) in str(caught.value)


@given(st.integers(0, 10**10))
def test_whole_seconds_read_back(seconds: int) -> None:
    """What is shown can be typed."""
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"), (0.04, "0s"), (0.5, "0.5s"), (1, "1s"), (9.94, "9.9s"), (9.96, "10s"),
        (10.4, "10s"), (59.7, "1m"), (75, "1m15s"), (3599.9, "1h"), (13800, "3h50m"),
        (90000, "1d1h"), (86400 * 400, "400d"),
    ],
)  # fmt: skip
def test_shown_durations(seconds: float, text: str) -> None:
    """Rounding carries into the next unit."""
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"),
        (1024**2 - 1, "1.0 MiB"), (424 * 10**6, "404.4 MiB"), (1024**3, "1.0 GiB"),
        (5 * 1024**4, "5.0 TiB"), (1024**5, "1024.0 TiB"),
    ],
)  # fmt: skip
def test_bytes(n: int, text: str) -> None:
    """Units of 1024, one digit after the point, never 1024.0 of a unit that has a next one."""
    assert format_bytes(n) == text


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("4GB", 4 * 10**9), ("512MiB", 512 << 20), ("1.5G", 15 * 10**8), ("7", 7), ("7 B", 7),
        ("2kb", 2000), ("1TiB", 1 << 40),
    ],
)  # fmt: skip
def test_sizes_are_read(text: str, n: int) -> None:
    assert parse_bytes(text) == n


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "4 gigabytes", "1e9", "4GBB", "1,5GB"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="a size of memory is written like 4GB"):
        parse_bytes(text)
