"""A corpus into its files: all of them or none, packed as their names say."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, cast

from hiertopics.base.errors import DataError, UsageError
from hiertopics.base.files import Write, write_together
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.data.vectors import Vectors, no_count, to_corpus
from hiertopics.corpus.formats import shards
from hiertopics.corpus.formats.sidefiles import (
    names_text,
    read_tags,
    read_vocabulary,
    same_tags,
    tags_text,
    vocabulary_text,
)
from hiertopics.corpus.formats.source import beside, find_groups, find_labels, unpacked
from hiertopics.corpus.formats.table import FORMATS, Format, UnknownFormatError, format_of


def writable(path: Path, format: str | None = None) -> str:
    """Return the format in which ``path`` is written; raises UsageError where there is none."""
    able = ", ".join(other for other, form in FORMATS.items() if form.writes)
    try:
        name = format_of(path, format)
    except UnknownFormatError:
        what = f"give it a suffix, as .ldac or .mtx, of one of {able}"
        raise UnknownFormatError(path, what) from None
    if not FORMATS[name].writes:
        raise UsageError(f"{name} is only read; what can be written is {able}")
    if not FORMATS[name].packs and unpacked(path.name) != path.name:
        raise UsageError(f"{path}: {name} is compressed already; leave the last suffix out")
    return name


def write_corpus(
    corpus: Corpus | Vectors,
    path: Path,
    format: str | None = None,
    others: Mapping[Path, Write] | None = None,
    spared: Collection[Path] = (),
) -> tuple[Path, ...]:
    """Write the counts, and beside them ``X.vocab``, ``X.authors``, ``X.labels`` and their keys.

    All files or none, ``others`` included; after a kill between two renames ``path`` is missing. A
    side file that says the same already stays as it is. Document ids have no file and are not kept.

    Returns the files that were written. Raises UsageError for what cannot be written so that it
    is read back as it is, and where a file among ``spared`` would be replaced.
    """
    path = Path(path)
    name = writable(path, format)
    form = FORMATS[name]
    if corpus.n_docs == 0:
        raise UsageError("a corpus without documents cannot be written")
    # A table of counts is a corpus, too.
    data = corpus if form.dense else in_counts(corpus, name)
    if form.folder:
        shards.require_place(path)
        if others:
            write_together(others)
        return (*(others or ()), *shards.write_bags(in_counts(data, name), path).files)
    words = () if form.named else _vocabulary_file(data, path)
    sides = {side: partial(_put, text) for side, text in (*words, *_tag_files(data, path, form))}
    if path in sides:
        raise UsageError(f"{path} is the name of a side file; choose another one")
    write = partial(form.writer_for(path), data)
    writers: dict[Path, Write] = {**(others or {}), **sides, path: write}
    taken = {file.resolve() for file in spared}
    for file in writers:
        if file.resolve() in taken:
            raise UsageError(f"{file} is read from, it cannot be replaced; choose another name")
    packed = {file: _packed(file, write) for file, write in writers.items()}
    write_together(packed, last_tells=True)
    return tuple(writers)


def in_counts(data: Corpus | Vectors, name: str) -> Corpus:
    """Return the data as counts; raises UsageError, naming the format, where they are none."""
    if isinstance(data, Corpus):
        return data
    if (place := no_count(data)) is not None:
        raise UsageError(f"{name} holds counts, but {place}; choose vectors or arff")
    return to_corpus(data)


def _put(text: bytes, file: IO[bytes]) -> None:
    file.write(text)


def _vocabulary_file(data: Corpus | Vectors, path: Path) -> Iterator[tuple[Path, bytes]]:
    target = beside(path, ".vocab")
    words = data.vocab if isinstance(data, Corpus) else data.columns
    if not _says(lambda: read_vocabulary(target) == words):
        yield target, vocabulary_text(words)


def _tag_files(corpus: Corpus | Vectors, path: Path, form: Format) -> Iterator[tuple[Path, bytes]]:
    for ending, tags, found in (
        (".authors", corpus.groups, find_groups(path)),
        (".labels", corpus.labels, find_labels(path, columns=form.xml_labels)),
    ):
        target = beside(path, ending)
        if tags is None and found is not None:
            what = f"{found} lies beside it and would be read with it"
            raise UsageError(f"{path}: {what}; remove that file or choose another name")
        if tags is not None and not _says(partial(_tags_stand, target, corpus.n_docs, tags)):
            yield target, tags_text(tags)
            yield target.with_name(f"{target.name}.key"), names_text(tags.names)


def _tags_stand(target: Path, n_docs: int, tags: Tags) -> bool:
    return same_tags(read_tags(target, n_docs, target), tags)


def _says(question: Callable[[], bool]) -> bool:
    """Answer a question about an older file; one that cannot be read says nothing."""
    try:
        return question()
    except DataError:
        return False


def _packed(path: Path, write: Write) -> Write:
    """Return ``write`` with compression where ``path`` ends in .gz or .xz.

    Without a time stamp, so that equal data give equal bytes.
    """
    suffix = path.suffix.lower()

    def write_packed(raw: IO[bytes]) -> None:
        if suffix == ".gz":
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as stream:
                write(cast(IO[bytes], stream))
        elif suffix == ".xz":
            with lzma.open(raw, "wb") as stream:
                write(stream)
        else:
            write(raw)

    return write_packed
