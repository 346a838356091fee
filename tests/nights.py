"""Cases of a test that the nightly set alone runs, since a like case runs each day."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def by_night(*cases: Any) -> list[Any]:
    """Return cases for ``parametrize`` with the mark ``nightly``.

    cases: a value each; a tuple has a value for each argument.
    """
    values = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*value, marks=pytest.mark.nightly) for value in values]


def daily(cases: Iterable[Any], *names: Any) -> list[Any]:
    """Return the same cases in their order; all but those named have the mark ``nightly``."""
    return [one for case in cases for one in ([case] if case in names else by_night(case))]
