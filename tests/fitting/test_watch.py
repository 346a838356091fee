"""Progress of the first state on stderr."""

from __future__ import annotations

import pytest

from hiertopics.fitting import watch


def test_a_start_that_reports_is_shown_with_its_share(capsys: pytest.CaptureFixture[str]) -> None:
    with watch.start(shown=True) as report:
        report(1, 4)
        report(3, 4)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("\rstart:") and "3/4" in said.err


@pytest.mark.parametrize(("shown", "n_reports"), [(True, 0), (False, 2)])
def test_a_start_is_silent_without_reports_or_where_quiet(
    shown: bool, n_reports: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with watch.start(shown=shown) as report:
        for done in range(n_reports):
            report(done + 1, n_reports)
    assert capsys.readouterr().err == ""
