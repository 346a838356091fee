"""Lengths of time and sizes of memory, as people write them.

Own code because a time limit is the one duration that is read: batch systems' ``3h50m``, strictly.
"""

from __future__ import annotations

import re

from hiertopics.base.errors import UsageError

_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_UNITS = ("KiB", "MiB", "GiB", "TiB")
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?(?:([KMGT])(i?)B?|B)?", re.IGNORECASE)
_PARTS = re.compile("".join(f"(?:([0-9]{{1,9}}){unit})?" for unit in _SECONDS))


def parse_duration(text: str) -> float:
    """Return the seconds in ``3h50m``, ``90s``, ``1d`` or ``3600`` (a bare number is seconds).

    Units come largest first, each at most once. Raises UsageError for anything else.
    """
    if re.fullmatch("[0-9]{1,9}", text):
        return float(text)
    match = _PARTS.fullmatch(text)
    if not text or not match:
        raise UsageError(f"a duration is written like 3h50m, 45m, 90s or 3600, got {text!r}")
    parts = zip(match.groups(default="0"), _SECONDS.values(), strict=True)
    return float(sum(int(number) * seconds for number, seconds in parts))


def format_duration(seconds: float) -> str:
    """Return finite ``seconds`` >= 0 as ``3h50m``, ``1m15s`` or, below ten seconds, ``0.5s``."""
    short = f"{seconds:.1f}"
    if float(short) < 10 and not short.endswith(".0"):
        return f"{short}s"
    rest, parts = round(seconds), []
    for unit, size in _SECONDS.items():
        number, rest = divmod(rest, size)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts) or "0s"


def parse_bytes(text: str) -> int:
    """Return the bytes in ``4GB``, ``512MiB``, ``1.5G`` or ``1000000``.

    KB, MB, GB, TB count by 1000, KiB, MiB, GiB, TiB by 1024. Raises UsageError for anything else.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"a size of memory is written like 4GB, 512MiB or 1.5G, got {text!r}")
    power = " KMGT".index((match[2] or " ").upper())
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def format_bytes(n: int) -> str:
    """Return ``n`` >= 0 bytes as ``512 B``, ``3.4 MiB`` (units of 1024)."""
    if n < 1024:
        return f"{n} B"
    size, power = n / 1024, 0
    while size >= 1023.95 and power < len(_UNITS) - 1:  # it would be rounded to 1024.0
        size, power = size / 1024, power + 1
    return f"{size:.1f} {_UNITS[power]}"


def many(number: int, noun: str, form: str = "") -> str:
    """Return a number with its noun, as ``1 document`` or ``3 documents``.

    form: how the number is written; "," parts its thousands.
    """
    return f"{number:{form}} {noun}" + "s" * (number != 1)
