"""Corpora in and out: formats found by name, side files by the name of the corpus."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO

from hiertopics.data.corpus import Corpus, Tags
from hiertopics.data.vectors import Vectors, no_count, to_corpus
from hiertopics.errors import DataError, UsageError
from hiertopics.files import Write, write_together
from hiertopics.formats.siblings import (
    beside,
    find_groups,
    find_labels,
    find_vocabulary,
    names_columns,
)
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

__all__ = [
    "FORMATS",
    "Format",
    "Source",
    "read_corpus",
    "read_counts",
    "resolve",
    "writable",
    "write_corpus",
]


def resolve(source: Source) -> Source:
    """Return the source with its format decided and its sibling files filled in.

    Raw text takes no vocabulary by name: a fixed one would drop words in silence. A dense table
    takes none that does not bear its name.

    Raises DataError for a missing file; UsageError for an unknown format and for fields or files
    that exclude each other.
    """
    path = Path(source.path)
    if not path.exists():
        raise DataError(path, "no such file")
    name = format_of(path, source.format)
    _refuse_contradictions(source, name)
    vocab, groups, labels = source.vocab, source.groups, source.labels
    form = FORMATS[name]
    if vocab is None and not form.text and not form.named:
        vocab = find_vocabulary(path, unnamed=not form.dense)
    if groups is None and source.group_field is None:
        groups = find_groups(path)
    if labels is None and source.label_field is None and source.label_column is None:
        labels = find_labels(path, columns=form.named)
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
    if source.label_column is not None and not FORMATS[name].dense:
        raise UsageError(f"label_column is for dense tables, but {source.path} is read as {name}")
    if source.labels is None:
        return
    if source.label_column is not None:
        raise UsageError("labels come from a file or from label_column, not from both")
    if names_columns(source.labels) and not FORMATS[name].named:
        what = f"{source.labels} names the label columns of an ARFF file"
        raise UsageError(f"{what}, but {source.path} is read as {name}")


def read_corpus(source: Source | Path | str) -> Corpus | Vectors:
    """Read the counts, or the vectors, and everything beside them.

    source: a file or folder, or a Source that says more of it. Raises DataError naming file and
    line for whatever cannot be read, and what ``resolve`` raises.
    """
    source = resolve(source if isinstance(source, Source) else Source(Path(source)))
    vocab = None if source.vocab is None else read_vocabulary(source.vocab)
    corpus = read_counts(source, vocab)
    if source.groups is not None:
        corpus = replace(corpus, groups=read_tags(source.groups, corpus.n_docs, source.path))
    if source.labels is not None and not names_columns(source.labels):
        corpus = replace(corpus, labels=read_tags(source.labels, corpus.n_docs, source.path))
    return corpus


def read_counts(source: Source, vocab: tuple[str, ...] | None) -> Corpus | Vectors:
    """Read the file of a resolved source alone, without groups and labels beside it.

    Raises DataError where it holds no documents; see ``Source.report`` for other mistakes.
    """
    data = FORMATS[format_of(source.path, source.format)].reader(source, vocab)
    if data.n_docs == 0:
        raise DataError(source.path, "holds no documents")
    return data


def writable(path: Path, format: str | None = None) -> str:
    """Return the format in which ``path`` is written; raises UsageError where there is none."""
    name = format_of(path, format)
    if not FORMATS[name].writes:
        able = ", ".join(other for other, form in FORMATS.items() if form.writes)
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

    All files or none, ``others`` included. A side file that says the same already stays as it is.
    Document ids have no file and are not kept.

    Returns the files that were written. Raises UsageError for what cannot be written so that it
    is read back as it is, and where a file among ``spared`` would be replaced.
    """
    path = Path(path)
    name = writable(path, format)
    form = FORMATS[name]
    if corpus.n_docs == 0:
        raise UsageError("a corpus without documents cannot be written")
    data = _suited(corpus, name)
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
    write_together({file: packed(file, write) for file, write in writers.items()})
    return tuple(writers)


def _suited(data: Corpus | Vectors, name: str) -> Corpus | Vectors:
    """Return the data as the format can hold it; a table of counts is a corpus, too."""
    if isinstance(data, Corpus) or FORMATS[name].dense:
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
        (".labels", corpus.labels, find_labels(path, columns=form.named)),
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
