"""Lines on stderr that a process writes once, however often their reason comes."""

from __future__ import annotations

import sys

from hiertopics.base.visible import visible

_said: set[str] = set()


def warn(message: str) -> None:
    """Write a warning on stderr, once per process."""
    _say(f"warning: {visible(message)}")


def note(message: str) -> None:
    """Write a note on stderr, once per process."""
    _say(f"note: {visible(message)}")


def _say(line: str) -> None:
    if line not in _said:
        _said.add(line)
        print(line, file=sys.stderr)
