"""Raw text without fields: a folder of texts, the lines or the paragraphs of a text file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from hiertopics.base.errors import DataError, UsageError
from hiertopics.base.visible import in_letters, typed
from hiertopics.corpus.formats.counting import shown
from hiertopics.corpus.formats.html import main_text_of_html, text_of_html
from hiertopics.corpus.formats.markup import MARKED
from hiertopics.corpus.formats.opening import (
    BINARY,
    ENCODING,
    MIXED,
    BinaryFileError,
    EncodingError,
    lines,
    text_rows,
)
from hiertopics.corpus.formats.source import FOLDER, Source

HTML = (".html", ".htm")
SUFFIXES = ((".txt",), (*HTML, *MARKED))
"""Suffixes of texts in a folder; the second group counts if no file has a suffix of the first."""
NOT_READ = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".pdf", ".docx", ".gz")
"""Suffixes of files that may hold documents, too, but are not read in a folder of texts."""
NAMED = 3
"""Files that a message names, of those with the same fault."""


class Record(NamedTuple):
    """One document before it is cut into words; None for fields that were not asked for.

    A document without text has the empty one, and ``missing`` is set.
    """

    text: str
    doc_id: str | None = None
    groups: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    others: Mapping[str, Any] = MappingProxyType({})
    """Values of its other fields, by field; None where a field has no value."""
    named_by: str | None = None
    """The field that ``doc_id`` comes from, where none was asked for."""
    missing: bool = False


def _folder(source: Source) -> Iterator[Record]:
    _refuse_fields(source, "a folder of text files")
    found = {path.relative_to(source.path).as_posix(): path for path in texts_in(source)}
    main = partial(main_text_of_html, dialogs=source.html_dialogs)
    text_of_page = main if source.html == "main" else text_of_html
    text_of = dict.fromkeys(HTML, text_of_page) | (MARKED if source.markup == "text" else {})
    names = sorted(found)
    for place, name in enumerate(names):
        if not found[name].is_file():  # a pipe or a device may never end
            raise DataError(found[name], "is no regular file; take it out of the folder")
        suffix = Path(name).suffix
        try:
            text = "\n".join(lines(found[name], encoding=source.encoding, remedy=ENCODING))
        except (BinaryFileError, EncodingError) as error:
            later = [found[name] for name in names[place + 1 :]]
            raise _of_all_files(error, source, [found[name], *later], len(names)) from None
        called = in_letters(name.removesuffix(suffix))
        yield Record(text_of.get(suffix, str)(text), called)


def _of_all_files(
    error: BinaryFileError | EncodingError, source: Source, paths: Sequence[Path], n_files: int
) -> DataError:
    """Return the error of a file whose bytes are no text with the number of such files of a folder.

    paths: the file, and those after it; the files before it are in the encoding. Binary files are
    told before those in another encoding.
    """
    first, *later = paths
    faults = {first: error}
    for path in later:
        if path.is_file() and (fault := fault_of_bytes(path, source.encoding)) is not None:
            faults[path] = fault
    binary = [path for path, fault in faults.items() if isinstance(fault, BinaryFileError)]
    alike = binary or list(faults)
    names = [path.relative_to(source.path).as_posix() for path in alike]
    few = ", ".join(map(shown, names[:NAMED])) + ", ..." * (len(names) > NAMED)
    told = f"{len(names)} of {n_files} files are like this: {few}"
    path = alike[0]
    fault = faults[path]
    if isinstance(fault, BinaryFileError):
        return DataError(path, f"{BINARY}; {told}; take them out of the folder")
    both = f"-s data.encoding={MIXED} reads both encodings"
    how = both if source.encoding is None else ENCODING.advice
    return DataError(path, f"{fault.fault}; {told}; {how}", fault.line)


def fault_of_bytes(path: Path, encoding: str | None) -> BinaryFileError | EncodingError | None:
    """Return the error of a file that is binary or has another encoding; None for other faults."""
    try:
        for _ in lines(path, encoding=encoding, remedy=ENCODING):
            pass
    except (BinaryFileError, EncodingError) as error:
        return error
    except DataError:
        return None
    return None


def _refuse_fields(source: Source, what: str) -> None:
    if source.fields:
        raise UsageError(f"{source.path} is {what}, which has no fields")


def _line_records(source: Source) -> Iterator[Record]:
    """Yield each line of a text file as a document."""
    _refuse_fields(source, "a text file")
    for text in text_rows(source):
        yield Record(text, missing=not text.strip())


def _paragraph_records(source: Source) -> Iterator[Record]:
    """Yield each block between blank lines of a text file as a document."""
    _refuse_fields(source, "a text file")
    held: list[str] = []
    for text in text_rows(source):
        if text.strip():
            held.append(text)
        elif held:
            yield Record("\n".join(held))
            held = []
    if held:
        yield Record("\n".join(held))


PLAIN = {FOLDER: _folder, "lines": _line_records, "paragraphs": _paragraph_records}
"""Forms without fields, and what reads them."""


def holds(source: Source, suffixes: Collection[str]) -> bool:
    """Tell whether a document of a folder has one of the suffixes. Raises as ``texts_in``."""
    return any(path.suffix in suffixes for path in texts_in(source))


def texts_in(source: Source) -> list[Path]:
    """Return the texts of a folder: the files with the suffixes of the source.

    If it has none, these are all .txt files, or where there are none those of the other SUFFIXES.
    A run in the folder, which fits write there, holds none. Raises DataError where there are none.
    """
    folder, wanted = source.path, _wanted(source)
    runs = _runs_in(folder)
    for suffixes in wanted:
        found = [path for suffix in suffixes for path in folder.rglob(f"*{suffix}")]
        texts = [path for path in dict.fromkeys(found) if runs.isdisjoint(path.parents)]
        if texts:
            return texts
    if folder in runs:
        run = typed(str(folder))
        told = f"hiertopics show-tree {run} and hiertopics report {run} read it"
        raise DataError(folder, f"is a run, not a corpus; {told}")
    left = (path for path in folder.rglob("*") if runs.isdisjoint(path.parents))
    others = Counter(path.suffix for path in left if path.is_file())
    if not others and runs:
        example = typed(str(max(runs, key=lambda run: (run / ".lock").stat().st_mtime_ns)))
        told = f"such as {example}; hiertopics show-tree {example} reads it"
        raise DataError(folder, f"holds no documents, but runs, {told}")
    told = ", ".join(f"{count} {suffix or 'without suffix'}" for suffix, count in others.items())
    named = " ".join(suffix for suffixes in wanted for suffix in suffixes)
    raise DataError(folder, f"holds no documents: no {named}" + f", but {told}" * bool(told))


def _wanted(source: Source) -> Sequence[Sequence[str]]:
    """Return groups of suffixes. The first group counts that a file of the folder has."""
    if source.suffixes is None:
        return SUFFIXES
    return ([suffix.strip() for suffix in source.suffixes.split(",")],)


def _runs_in(folder: Path) -> set[Path]:
    return {lock.parent for lock in folder.rglob(".lock") if (lock.parent / "checkpoints").is_dir()}


class Unread(NamedTuple):
    """The files of a folder that are read, and those that are not and could hold documents.

    Both are numbers of files by their suffix.
    """

    read: Mapping[str, int]
    left: Mapping[str, int]

    @property
    def texts(self) -> Mapping[str, int]:
        """The files with suffixes of texts among those that are not read."""
        return {suffix: self.left[suffix] for suffix in self.left if suffix not in NOT_READ}

    @property
    def suffixes(self) -> str:
        """The value of ``data.suffixes`` that reads all texts, the commonest suffix first."""
        counts = Counter(self.read) + Counter(self.texts)
        return ",".join(suffix for suffix, _ in counts.most_common())


def unread(source: Source) -> Unread:
    """Return which files of a folder are read, and which are not. Raises as ``texts_in``."""
    texts, runs = set(texts_in(source)), _runs_in(source.path)
    could_be = {*(suffix for suffixes in SUFFIXES for suffix in suffixes), *NOT_READ}
    left = Counter(
        path.suffix
        for path in sorted(source.path.rglob("*"))
        if path.suffix in could_be and path not in texts and runs.isdisjoint(path.parents)
    )
    return Unread(Counter(path.suffix for path in texts), left)


def left_aside_note(source: Source) -> tuple[str, ...]:
    """Return a note on files of a folder that could be documents and are not read.

    There is none where the source names the suffixes.
    """
    found = unread(source)
    if source.suffixes is not None or not found.left:
        return ()
    read = " ".join(sorted(found.read))
    told = ", ".join(f"{count} {suffix}" for suffix, count in found.left.items())
    how = f"; -s data.suffixes={found.suffixes} reads all texts" * bool(found.texts)
    return (f"only the {read} files of the folder are read, not {told}{how}",)
