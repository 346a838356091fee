"""Label paths beside a corpus: where people put its documents, such as comp/sys/mac."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.formats.counting import shown
from hiertopics.corpus.formats.opening import rows
from hiertopics.corpus.formats.records import column_of, table_form


def read_label_paths(
    path: Path, separator: str, n_docs: int, corpus: Path
) -> list[tuple[str, ...]]:
    """Read the path of each document of ``corpus``, one line per document.

    Raises DataError for a blank line, for several paths on a line (a tab between them), for an
    empty part, and for another number of lines than ``n_docs``.
    """
    found = []
    for number, line in enumerate(rows(path), 1):
        several = [part.strip() for part in line.split("\t") if part.strip()]
        found.append(_parts(path, several, separator, number))
    _require_length(path, len(found), "lines", n_docs, corpus)
    return found


def label_paths_of_column(
    path: Path, field: str, separator: str, n_docs: int
) -> list[tuple[str, ...]]:
    """Read the path of each document from a field of the table that the corpus is.

    Raises DataError as ``read_label_paths`` does, naming the record, and UsageError where the file
    is no table.
    """
    form = table_form(path)
    if form is None:
        raise UsageError(
            f"{path} is no table with named columns; give label paths as a file: --paths FILE"
        )
    values = column_of(path, field, form).by_row
    _require_length(path, len(values), "records", n_docs, path)
    return [_parts(path, told, separator, number) for number, told in enumerate(values, 1)]


def label_paths_of_names(path: Path, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the folders below ``path`` that each document's file lies in; () for none.

    names: the paths of the files from there. Raises DataError where no file lies in a folder.
    """
    found = [tuple(name.split("/")[:-1]) for name in names]
    if not any(found):
        raise DataError(path, "no text lies in a folder below it, so none has a label path")
    return found


def _parts(path: Path, told: Sequence[str], separator: str, number: int) -> tuple[str, ...]:
    """Return the parts of the one path of a document; number: of its line, for messages."""
    if not told:
        raise DataError(path, "no label path; every document needs one", number)
    if len(told) > 1:
        what = f"{len(told)} label paths; a document has one, so choose the main one"
        raise DataError(path, what, number)
    parts = tuple(part.strip() for part in told[0].split(separator))
    if not all(parts):
        what = f"the path {shown(told[0])} has an empty part between separators {separator!r}"
        raise DataError(path, what, number)
    return parts


def _require_length(path: Path, n_found: int, what: str, n_docs: int, corpus: Path) -> None:
    if n_found != n_docs:
        raise DataError(
            path,
            f"{n_found} {what}, but {corpus} holds {n_docs} documents; give one for each document "
            "of the file given to fit, in its order, and none for documents that it dropped",
        )
