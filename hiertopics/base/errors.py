"""The errors that a user can meet, each with the exit code of the command that meets it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any


class HiertopicsError(Exception):
    """Base of every error raised on purpose; the command line prints it as one clear message."""

    exit_code = 1


class UsageError(HiertopicsError):
    """The request itself cannot be served (an unknown name, options that exclude each other)."""

    exit_code = 2


class ConfigError(HiertopicsError):
    """One or more settings are wrong; all problems are reported at once.

    ``problems`` holds one sentence per wrong setting, each opening with its dotted path.
    """

    exit_code = 2

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class FieldError(ValueError):
    """The value of one setting contradicts other settings of its section.

    The ``__post_init__`` of a section raises it. field: the name of the setting. what: the value
    that was expected, and the one that was given. ConfigError shows both after the full name.
    """

    def __init__(self, field: str, what: str) -> None:
        self.field, self.what = field, what
        super().__init__(f"{field} {what}")


class DataError(HiertopicsError):
    """A file cannot be read in its expected format; names the file and, if known, the line."""

    exit_code = 2

    def __init__(self, path: Path | str, what: str, line: int | None = None) -> None:
        self.path, self.line, self.what = str(path), line, what
        where = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{where}: {what}")

    def renamed(self, path: Path | str) -> DataError:
        """Return the same error of a file that the user knows by another name."""
        return type(self)(path, self.what, self.line)


class DamagedError(DataError):
    """A folder that this program wrote is not as it was written: no fault of a setting."""

    exit_code = 1


class RunError(HiertopicsError):
    """A run directory cannot be created, read, continued or written."""


class NoRunError(RunError):
    """There is no run where one was named, or under runs/ where none was named."""

    exit_code = 2


class OutputError(HiertopicsError):
    """Stdout takes no output of the command; the files of the command are written."""


class NumericalError(HiertopicsError):
    """A computation left the domain of finite numbers; names iteration and place.

    ``iteration``: the iteration that the text names; None where it names none.
    """

    def __init__(self, what: str, iteration: int | None = None) -> None:
        self.iteration = iteration
        super().__init__(what if iteration is None else f"iteration {iteration}: {what}")


class Interrupted(HiertopicsError):
    """The user asked twice to stop: leave at once, the last checkpoint is intact."""

    exit_code = 130


def optional(module: str, otherwise: str) -> Any:
    """Import a module that not everybody has installed; UsageError says ``otherwise``."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(otherwise) from error
