"""Messages on stderr that nobody can take, as on a full disk, end no command."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, TextIO


class Lenient:
    """A text stream whose failures to write are passed over; all else is that of ``stream``."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write what can be written."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with suppress(OSError):
            self._stream.flush()

    def finish(self) -> None:
        """Flush; what stands in the way then goes nowhere, or the interpreter would fail on it."""
        try:
            self._stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
