"""What must hold of any file: refused clearly, by reading and by check alike, or sound."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from fuzzing import Seed

from hiertopics.base.errors import ConfigError, DataError, HiertopicsError, UsageError
from hiertopics.corpus.corpora.checking import check
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.vectors import Vectors
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.writing import write_corpus

WITHOUT_LINE = re.compile(
    "archive is damaged|binary file|holds no (documents|rows)|no words in|cannot be read|lines, but"
    "|label_column|not an array|holds one column|columns, but|rows x columns|of numbers"
    "|finite numbers, got|is no attribute of|no feature is left"
)
INTERNALS = re.compile(
    r"Traceback|NoneType|object at 0x|<class|numpy\.(?!save)|dtype\(|invalid literal for|sys\."
    r"|could not convert|out of range for|list index|unhashable|codec|Errno|\w+Error\b|Exception"
    r"|recursion|newline mode|self\b|argument|object is not|subscript|\bNone\b"
)
LONGEST = 500


def outcome(action: Callable[[], Any]) -> Any:
    """Return what comes out: a value, or an error of the three kinds that may come out."""
    try:
        return action()
    except (DataError, UsageError, ConfigError) as error:
        return error


def assert_clear(error: HiertopicsError, folder: Path, names: list[str], line: bool) -> None:
    """Assert that the message names one of the files, and its line, in one readable line."""
    message = str(error).replace(str(folder), "")
    assert "\n" not in message and message.isprintable() and len(message) <= LONGEST, message
    assert not INTERNALS.search(message), message
    assert any(name in message for name in names), message
    if isinstance(error, DataError) and line:
        assert error.line or WITHOUT_LINE.search(error.what), message


def assert_sound(data: Any, folder: Path) -> None:
    """Assert that what was accepted is whole, and equal after it was written and read."""
    assert data.n_docs > 0
    if isinstance(data, Corpus):
        counts = data.counts
        assert counts.dtype == np.int32 and (counts.data > 0).all() and counts.has_canonical_format
    else:
        assert isinstance(data, Vectors) and np.isfinite(data.rows).all()
    target = folder / "back" / ("a.npz" if isinstance(data, Corpus) else "a.npy")
    shutil.rmtree(target.parent, ignore_errors=True)
    target.parent.mkdir()
    try:
        with mock.patch("os.fsync"):  # hundreds of files: do not wait for the disk
            write_corpus(data, target)
    except UsageError as error:  # names that no line of a side file can hold
        assert re.search("cannot stand on a line of its own|stands in the", str(error))
        return
    assert read_corpus(Source(target)).fingerprint == data.fingerprint


def examine(seed: Seed, content: bytes, folder: Path, line: bool) -> bool:
    """Read and check a corpus with one file of it replaced; return whether it was accepted."""
    for name, data in seed.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content if name == seed.spoilt else data)
    options: Mapping[str, Any] = seed.options
    read = outcome(lambda: read_corpus(Source(folder / seed.corpus, **options)))
    named = {"from_" if key == "format" else key: value for key, value in options.items()}
    checked = outcome(lambda: check(folder / seed.corpus, data=named))
    if isinstance(checked, HiertopicsError):
        assert not isinstance(checked, DataError) and str(checked) == str(read)
        return False
    problems = [str(problem) for problem in checked.problems]
    if isinstance(read, HiertopicsError):
        assert_clear(read, folder, [seed.corpus, seed.spoilt], line)
        assert str(read) in problems
    else:
        assert not problems
        assert_sound(read, folder)
    for problem in checked.problems:
        assert_clear(problem, folder, [seed.corpus, seed.spoilt], line)
    return not isinstance(read, HiertopicsError)
