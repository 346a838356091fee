"""Text for eyes: what would steer a terminal, or turn the order of letters, is written out."""

from __future__ import annotations

import re

_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
"""Controls (C0, DEL, C1), separators of lines, and marks of direction."""


def visible(text: str) -> str:
    r"""Return one line of text with its control characters as escapes, such as ``\x1b``."""
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
