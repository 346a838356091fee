"""The backend that the tests run over."""

from __future__ import annotations

import pytest

from hiertopics.testing.bench import ALL, PROMISING, Case

PLUGIN = "hiertopics-chosen"


class CasePlugin:
    """A pytest plugin with the cases to be tested: one backend and its variants."""

    def __init__(self, cases: list[Case]) -> None:
        self.cases = cases


def cases_of(config: pytest.Config, *, promising: bool = False) -> list[Case]:
    """Return the cases of this test run: those of the given backend, or all of hiertopics' own.

    promising: among hiertopics' own also settings under which a bound is promised.
    """
    found = config.pluginmanager.get_plugin(PLUGIN)
    if isinstance(found, CasePlugin):
        return found.cases
    return PROMISING if promising else ALL
