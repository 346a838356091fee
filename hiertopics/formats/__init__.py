"""Corpora in and out: formats found by name, side files by the name of the corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO

from hiertopics.corpus import Corpus, Tags
from hiertopics.errors import DataError, UsageError
from hiertopics.files import write_together
from hiertopics.formats.siblings import beside, find_groups, find_labels, find_vocabulary
from hiertopics.formats.sidefiles import (
    names_text,
    read_tags,
    read_vocabulary,
    same_tags,
    tags_text,
    vocabulary_text,
)
from hiertopics.formats.source import FORMATS, Format, Source, format_of, unpacked
from hiertopics.formats.writing import packed

__all__ = ["FORMATS", "Format", "Source", "read_corpus", "resolve", "write_corpus"]


def resolve(source: Source) -> Source:
    """Return the source with its format decided and its sibling files filled in.

    Raw text takes no vocabulary by name: a fixed one would drop words in silence.

    Raises DataError for a missing file; UsageError for an unknown format and for fields or files
    that exclude each other.
    """
    path = Path(source.path)
    if not path.exists():
        raise DataError(path, "no such file")
    name = format_of(path, source.format)
    _refuse_contradictions(source, name)
    vocab, groups, labels = source.vocab, source.groups, source.labels
    if vocab is None and not FORMATS[name].text:
        vocab = find_vocabulary(path)
    if groups is None and source.group_field is None:
        groups = find_groups(path)
    if labels is None and source.label_field is None:
        labels = find_labels(path)
    return replace(source, path=path, format=name, vocab=vocab, groups=groups, labels=labels)


def _refuse_contradictions(source: Source, name: str) -> None:
    for side in (source.vocab, source.groups, source.labels):
        if side is not None and not Path(side).is_file():
            raise DataError(side, "no such file")
    fields = {
        "text_field": source.text_field,
        "id_field": source.id_field,
        "group_field": source.group_field,
        "label_field": source.label_field,
    }
    given = [field for field, value in fields.items() if value is not None]
    if given and not FORMATS[name].text:
        raise UsageError(f"{given[0]} is for raw text, but {source.path} is read as {name}")
    if source.groups is not None and source.group_field is not None:
        raise UsageError("groups come from a file or from group_field, not from both")
    if source.labels is not None and source.label_field is not None:
        raise UsageError("labels come from a file or from label_field, not from both")


def read_corpus(source: Source) -> Corpus:
    """Read the counts and everything beside them.

    Raises DataError naming file and line for whatever cannot be read, and what ``resolve`` raises.
    """
    source = resolve(source)
    vocab = None if source.vocab is None else read_vocabulary(source.vocab)
    corpus = FORMATS[format_of(source.path, source.format)].reader(source, vocab)
    if corpus.n_docs == 0:
        raise DataError(source.path, "holds no documents")
    if source.groups is not None:
        corpus = replace(corpus, groups=read_tags(source.groups, corpus.n_docs, source.path))
    if source.labels is not None:
        corpus = replace(corpus, labels=read_tags(source.labels, corpus.n_docs, source.path))
    return corpus


def write_corpus(corpus: Corpus, path: Path, format: str | None = None) -> None:
    """Write the counts, and beside them ``X.vocab``, ``X.authors``, ``X.labels`` and their keys.

    All files or none. A side file that says the same already stays as it is. Document ids have no
    file and are not kept.

    Raises UsageError for what cannot be written so that it is read back as it is.
    """
    path = Path(path)
    name = format_of(path, format)
    writer = FORMATS[name].writer
    if writer is None:
        able = ", ".join(other for other, form in FORMATS.items() if form.writes)
        raise UsageError(f"{name} is only read; what can be written is {able}")
    if not FORMATS[name].packs and unpacked(path.name) != path.name:
        raise UsageError(f"{path}: {name} is compressed already; leave the last suffix out")
    if corpus.n_docs == 0:
        raise UsageError("a corpus without documents cannot be written")
    sides = {
        side: partial(_put, text)
        for side, text in (*_vocabulary_file(corpus, path), *_tag_files(corpus, path))
    }
    if path in sides:
        raise UsageError(f"{path} is the name of a side file; choose another one")
    writers = {**sides, path: partial(writer, corpus)}
    write_together({file: packed(file, write) for file, write in writers.items()})


def _put(text: bytes, file: IO[bytes]) -> None:
    file.write(text)


def _vocabulary_file(corpus: Corpus, path: Path) -> Iterator[tuple[Path, bytes]]:
    target = beside(path, ".vocab")
    if not _says(lambda: read_vocabulary(target) == corpus.vocab):
        yield target, vocabulary_text(corpus.vocab)


def _tag_files(corpus: Corpus, path: Path) -> Iterator[tuple[Path, bytes]]:
    for ending, tags, found in (
        (".authors", corpus.groups, find_groups(path)),
        (".labels", corpus.labels, find_labels(path)),
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
