"""New documents that standard input brings: in which format they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hiertopics.base.errors import DataError
from hiertopics.corpus.corpora.inmemory import STDIN, require_format, spooled
from hiertopics.corpus.formats.table import FORMATS
from hiertopics.runs.rundir import RunDir

LINES_NOTE = "each line of standard input is a document; --from names another format"


@contextmanager
def piped(run: RunDir, data: Mapping[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Hold standard input in a file for a while; yield it, and ``data`` with its format.

    data: entries of the ``data`` section; ``from_`` names the format. Without one, documents for a
    run of raw texts are lines, or JSON if the first of them begins as an object does; those for
    other runs have the run's own format. Raises UsageError where there is no pipe, or where the
    format must be named; a DataError calls the file ``-``.
    """
    with TemporaryDirectory(prefix="hiertopics-") as folder:
        path = spooled(Path(folder))
        wanted = data.get("from_") or _format_of(path, run.experiment.data.from_)
        require_format(wanted)
        try:
            yield path, {**data, "from_": wanted}
        except DataError as error:
            if error.path != str(path):
                raise
            raise error.renamed(STDIN) from error


def _format_of(path: Path, own: str | None) -> str | None:
    """Return the format of piped documents for a run of the format ``own``."""
    if own is None or not FORMATS[own].text:
        return own
    with path.open("rb") as source:
        return "jsonl" if source.readline().lstrip().startswith(b"{") else "lines"
