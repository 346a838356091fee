"""The corpora of ``python -m benchmarks tour``: which versions of packages they are made from."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from benchmarks import debian, tour
from benchmarks.debian import Package

LISTED = """\
      sudo | 1.9.14-1 | http://deb.debian.org/debian bookworm/main amd64 Packages
      sudo | 1.9.13-1 | http://deb.debian.org/debian bookworm/main amd64 Packages
   dpkg-dev | 1.21.22 | http://deb.debian.org/debian bookworm/main amd64 Packages
"""


@pytest.fixture(autouse=True)
def apt(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: Any, **__: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 0, LISTED, "")

    monkeypatch.setattr(subprocess, "run", run)


def test_a_version_that_is_gone_is_replaced_and_others_stay() -> None:
    own = [Package("sudo", "1.9.13-1"), Package("dpkg-dev", "1.21.23")]
    assert debian.at_hand(own) == [own[0], Package("dpkg-dev", "1.21.22")]
    assert debian.at_hand([Package("sudo", "1")]) == [Package("sudo", "1.9.14-1")]


def test_a_replaced_version_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tour, "OF_CHANGES", [Package("sudo", "1.9.13-1")])
    monkeypatch.setattr(tour, "OF_MANUALS", [Package("dpkg-dev", "1.21.23")])
    monkeypatch.setattr(tour, "OF_GERMAN", [])
    assert tour.replaced() == ["dpkg-dev 1.21.22, not 1.21.23"]


def test_a_package_that_is_gone_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no version of mutt"):
        debian.at_hand([Package("mutt", "2.2.12")])
