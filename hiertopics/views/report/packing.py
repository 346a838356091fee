"""The parts of a report as text in a page, and the choice of parts that fit into n bytes."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Callable, Iterable
from typing import Any

from hiertopics.base.errors import UsageError
from hiertopics.base.files import to_json

DEFAULT_LIMIT = "5MB"
_UNITS = {"": 1, "b": 1, "kb": 1000, "mb": 1000**2, "gb": 1000**3}
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([a-z]*)", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Return the bytes in ``5MB``, ``800kB`` or ``5000000``; raises UsageError for other text."""
    match = _SIZE.fullmatch(text.strip())
    unit = match[2].lower() if match else "?"
    if match is None or unit not in _UNITS:
        raise UsageError(f"--limit expects a size such as 5MB or 800kB, got {text!r}")
    return int(float(match[1]) * _UNITS[unit])


def size_told(n_bytes: int) -> str:
    """Return a number of bytes as people write it, in units of 1000."""
    if n_bytes >= 1000**2:
        return f"{n_bytes / 1000**2:.1f} MB"
    return f"{max(n_bytes / 1000, 0.1):.0f} kB" if n_bytes >= 1000 else f"{n_bytes} bytes"


def packed(part: Any) -> str:
    """Return JSON, compressed by gzip, as base64: equal parts give equal text."""
    text = to_json(part).encode()
    return base64.b64encode(gzip.compress(text, 6, mtime=0)).decode()


class PackingBox:
    """Parts of a report, packed one by one, in a space of n bytes."""

    def __init__(self, space: float) -> None:
        self.left = space
        self.parts: dict[str, Any] = {}
        self.texts: dict[str, str] = {}

    def put(self, name: str, part: Any) -> None:
        """Add a part, whether there is space for it or not."""
        self.parts[name], self.texts[name] = part, packed(part)
        self.left -= len(self.texts[name]) + len(name) + 2

    def put_first(self, name: str, plans: Iterable[tuple[str, Callable[[], Any]]]) -> str | None:
        """Add the output of the first plan that fits; return that plan's omissions.

        Where none fits nothing is added, and None is returned.
        """
        for said, make in plans:
            part = make()
            text = packed(part)
            if len(text) + len(name) + 2 <= self.left:
                self.parts[name], self.texts[name] = part, text
                self.left -= len(text) + len(name) + 2
                return said
        return None
