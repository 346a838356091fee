"""From the ``data`` section of a config to the data of a fit: counts or rows of numbers.

A backend says by ``observes`` which; everything that depends on it is in the table ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from msgspec import structs

from hiertopics.base.arrays import I64
from hiertopics.base.errors import DataError, HiertopicsError, UsageError
from hiertopics.corpus.data import Corpus, Shelf, in_memory
from hiertopics.corpus.data.discretise import Bins, learn_bins, to_words
from hiertopics.corpus.data.pruning import AnyBags, Limits, prune
from hiertopics.corpus.data.vectors import Vectors, no_count, to_corpus, to_vectors
from hiertopics.corpus.formats.reading import read_corpus, read_resolved, resolve
from hiertopics.corpus.formats.records import records
from hiertopics.corpus.formats.shards import choices_in, open_shelf
from hiertopics.corpus.formats.sidefiles import read_tags
from hiertopics.corpus.formats.source import FIELDS, FORM, WORDING, Source, stem
from hiertopics.corpus.formats.table import FORMATS, format_of
from hiertopics.corpus.formats.words import Pair, drops_stop_words, stop_words
from hiertopics.corpus.holdouts.spec import WITHIN, Holdout, parse_holdout
from hiertopics.corpus.holdouts.split import Split, docs_apart, make_split, split_rows
from hiertopics.settings.config import DataConfig

FILES = ("corpus", "vocab", "groups", "labels")
NO_SETTINGS = ("path", "format", "report", "known_phrases", "phrases_from")
WORDS = (
    "min_df",
    "max_df",
    "max_words",
    "stop_words",
    "repeat_cap",
    "vocabulary_from",
    "discretise",
)

PLAIN: Mapping[str, Any] = {
    name: getattr(DataConfig(), name)
    for name in (*WORDS, "label_column", "layer", *FIELDS, *FORM, *FILES[1:], *WORDING)
    if name not in ("vocabulary_from", "repeat_cap")
}
"""Settings of a corpus that was written as it was read: what chose words does not choose again.

The cap on repeats is not among them: documents that come later are read with it, too.
"""


class LoadedCorpus(NamedTuple):
    """The observed data; data: the section, with its files found and their paths absolute.

    bins: how the columns of a dense table were cut, if they were. unknown: tokens of each document
    that training documents alone do not know, int64 [n_docs]; None where all documents chose the
    words.
    """

    corpus: Any
    data: DataConfig
    bins: Bins | None = None
    unknown: I64 | None = None


def located(data: DataConfig) -> DataConfig:
    """Return the config with its files found (side files by name) and their paths absolute.

    Raises UsageError where no corpus is named, DataError where a file is missing.
    """
    return _located(data, _resolved(data))


def require_corpus(data: DataConfig) -> None:
    """Raise UsageError where no corpus is named."""
    if data.corpus is None:
        raise UsageError("name a corpus: hiertopics fit CORPUS, or data.corpus in the config")


def _resolved(data: DataConfig) -> Source:
    require_corpus(data)
    return resolve(source_of(data))


def _located(data: DataConfig, found: Source) -> DataConfig:
    paths = (found.path, found.vocab, found.groups, found.labels)
    absolute = {
        name: None if path is None else str(Path(path).absolute())
        for name, path in zip(FILES, paths, strict=True)
    }
    return structs.replace(data, from_=found.format, **absolute)


def load(
    data: DataConfig, bins: Bins | None = None, phrases: Container[Pair] | None = None
) -> LoadedCorpus:
    """Read the corpus and choose its vocabulary (min_df, max_df, stop words).

    By all documents, or by those that ``holdout`` leaves to train on (``vocabulary_from``). Shards,
    whose words are chosen, become a ``Shelf``: their counts stay in files.
    A dense table becomes a corpus: cut into ``bins`` or, where ``discretise`` is set, into bins
    of its own; without both it must be a table of counts. phrases: the pairs that are joined in raw
    text, None for those that are found in it. Raises what ``located`` raises,
    DataError naming file and line, UsageError where counts were to be cut into bins, or no
    training documents can be told.
    """
    source = _resolved(data)
    if FORMATS[str(source.format)].folder:
        return _chosen(_shelf(source, data), _located(data, source))
    source = replace(source, known_phrases=phrases, phrases_from=_phrases_from(source, data))
    data, read = _located(data, source), read_resolved(source)
    if isinstance(read, Corpus) and (bins is not None or data.discretise is not None):
        read = _table(read, data)
    training = _training(read.n_docs, data)
    if isinstance(read, Vectors):
        if bins is None and data.discretise is not None:
            rows = read if training is None else read.select(training)
            bins = learn_bins(rows, data.discretise.method, data.discretise.bins)
        corpus = _counted(read, data, bins)
    else:
        corpus = read
    return _chosen(corpus, data, bins)


def _chosen(corpus: AnyBags, data: DataConfig, bins: Bins | None = None) -> LoadedCorpus:
    """Return a corpus over the words that the section chooses, with the counts that it allows."""
    if data.repeat_cap is not None:
        corpus = _capped(corpus, data.repeat_cap)
    training = _training(corpus.n_docs, data)
    chosen = prune(corpus, limits_of(data), training)
    unknown = None if training is None else corpus.doc_lengths - chosen.doc_lengths
    return LoadedCorpus(chosen, data, bins, unknown)


def _capped(corpus: AnyBags, most: int) -> AnyBags:
    """Return a corpus without counts above ``most``, with a note that says what that leaves out."""
    if corpus.largest_count <= most:
        return corpus
    capped = corpus.capped(most)
    n_left_out = corpus.n_tokens - capped.n_tokens
    note = (
        f"data.repeat_cap={most} leaves out {n_left_out} of {corpus.n_tokens} tokens "
        f"({n_left_out / corpus.n_tokens:.1%}): repeats of a word in a document"
    )
    return replace(capped, notes=(*corpus.notes, note))


def stopped_words(data: DataConfig) -> frozenset[str]:
    """Return the stop words of the section; raises as ``stop_words`` does."""
    return stop_words(data.stop_words, rests=data.stop_rests)


def limits_of(data: DataConfig) -> Limits:
    """Return which words the section keeps; raises as ``stop_words`` does.

    Of raw text whose words are stemmed or joined, stop words have been left out before.
    """
    text = FORMATS[format_of(Path(str(data.corpus)), data.from_)].text
    earlier = text and drops_stop_words(source_of(data))
    stopped = frozenset[str]() if earlier else stopped_words(data)
    return Limits(data.min_df, data.max_df, stopped, data.max_words)


def choices_of(data: DataConfig) -> tuple[Limits, ...]:
    """Return the choices of words of a corpus, in their order: those made before it was written as
    shards, then those of the section. Raises as ``limits_of`` and ``choices_in`` do.

    Stop words are among them even where they were left out of raw text before it was stemmed.
    """
    path = Path(str(data.corpus))
    before = choices_in(path) if FORMATS[format_of(path, data.from_)].folder else ()
    return (*before, limits_of(data)._replace(stop_words=stopped_words(data)))


def _phrases_from(source: Source, data: DataConfig) -> frozenset[int] | None:
    """Return the documents of raw text that phrases are found in, None for all."""
    if source.phrases is None or data.vocabulary_from == "all":
        return None
    training = _training(sum(1 for _ in records(source)), data)
    return None if training is None else frozenset(training.tolist())


def _shelf(source: Source, data: DataConfig) -> Shelf:
    if data.discretise is not None:
        raise UsageError(f"data.discretise is for dense tables, but {source.path} holds counts")
    shelf = open_shelf(source)
    if source.groups is not None:
        tags = read_tags(source.groups, shelf.n_docs, source.path)
        shelf = replace(shelf, groups=tags, notes=(*shelf.notes, *tags.notes), prints=None)
    if source.labels is not None:
        tags = read_tags(source.labels, shelf.n_docs, source.path)
        shelf = replace(shelf, labels=tags, notes=(*shelf.notes, *tags.notes), prints=None)
    return shelf


def _training(n_docs: int, data: DataConfig) -> I64 | None:
    """Return the documents that alone choose the words, ascending; None: all choose."""
    if data.vocabulary_from == "all":
        return None
    holdout = parse_holdout(data.holdout)
    if holdout.kind in WITHIN:
        raise UsageError(
            "data.vocabulary_from: training needs whole documents put aside (--holdout docs, fold, "
            f"train or none), but {data.holdout} trains on a part of each"
        )
    return docs_apart(n_docs, holdout)[0]


def load_vectors(
    data: DataConfig, bins: Bins | None = None, phrases: Container[Pair] | None = None
) -> LoadedCorpus:
    """Read a dense table as the rows of numbers that it is.

    Raises as ``load`` does, and UsageError where words were to be chosen.
    """
    source = _resolved(data)
    data = _located(data, source)
    if bins is not None or chooses_words(data):
        raise UsageError(
            f"{', '.join(f'data.{name}' for name in WORDS)} choose words, but the backend observes "
            "rows of numbers; leave them out or choose a backend for counts"
        )
    read = read_resolved(source)
    if isinstance(read, Vectors):
        return LoadedCorpus(read, data)
    if not FORMATS[format_of(Path(str(data.corpus)), data.from_)].dense:
        what = "holds counts of words, but the backend observes rows of numbers"
        raise DataError(str(data.corpus), f"{what}; choose another backend or --from vectors")
    return LoadedCorpus(to_vectors(read), data)


def load_bits(
    data: DataConfig, bins: Bins | None = None, phrases: Container[Pair] | None = None
) -> LoadedCorpus:
    """Read a dense table of 0 and 1 as ``load_vectors`` does; raises DataError for any other."""
    found = load_vectors(data, bins, phrases)
    wrong = np.argwhere((found.corpus.rows != 0) & (found.corpus.rows != 1))
    if len(wrong):
        row, column = wrong[0]
        held, name = found.corpus.rows[row, column], found.corpus.columns[column]
        what = f"row {row + 1} holds {held:g} in column {name!r}, but the backend observes 0 and 1"
        raise DataError(str(data.corpus), f"{what}; set a threshold, or choose another backend")
    return found


def load_corpus(data: DataConfig) -> Corpus:
    """Return the corpus of ``load`` alone, in memory."""
    corpus: Corpus = in_memory(load(data).corpus)
    return corpus


def read_data(data: DataConfig) -> Corpus | Vectors:
    """Read the file as it is: vectors stay vectors where the section says nothing about words."""
    return load_corpus(data) if chooses_words(data) else read_corpus(source_of(data))


def chooses_words(data: DataConfig) -> bool:
    """Tell whether the section selects or changes the words of the file."""
    # As text, because a limit of 1 is one document and 1.0 is all of them.
    given, default = (repr([getattr(d, name) for name in WORDS]) for d in (data, DataConfig()))
    return given != default


def _table(corpus: Corpus, data: DataConfig) -> Vectors:
    """Return the counts that stand in a file of a dense format as the table that they are."""
    if not FORMATS[format_of(Path(str(data.corpus)), data.from_)].dense:
        raise UsageError(f"data.discretise is for dense tables, but {data.corpus} holds counts")
    return to_vectors(corpus)


def other_columns(data: DataConfig, what: str) -> DataError:
    """Return the error for a table whose columns are not those of the run."""
    hint = "; data.label_column has taken one out (--label-column none leaves it in)"
    return DataError(str(data.corpus), what if data.label_column is None else what + hint)


def _counted(vectors: Vectors, data: DataConfig, bins: Bins | None) -> Corpus:
    if bins is not None:
        try:
            return to_words(vectors, bins)
        except HiertopicsError as error:
            raise other_columns(data, str(error)) from error
    if (place := no_count(vectors)) is not None:
        what = f"{place}, which is no count; cut the columns into bins (data.discretise.bins=5)"
        raise DataError(str(data.corpus), f"{what} or choose a backend for vectors")
    return to_corpus(vectors)


def corpus_name(path: str) -> str:
    """Return the short name of a corpus file, for run directories: ``docword.kos.txt`` is kos."""
    return stem(Path(path).absolute())


def source_of(data: DataConfig) -> Source:
    """Return the section's description of the file and of the way to read it.

    Raises UsageError where the name of the file is empty: as a path that is the current folder.
    """
    if data.corpus == "":
        raise UsageError("the name of the corpus is empty; the current folder is called .")
    options: dict[str, Any] = {
        field.name: getattr(data, field.name)
        for field in fields(Source)
        if field.name not in (*FILES, *NO_SETTINGS)
    }
    paths: dict[str, Any] = {
        name: None if (value := getattr(data, name)) is None else Path(value) for name in FILES[1:]
    }
    return Source(Path(data.corpus or ""), format=data.from_, **paths, **options)


class Load(Protocol):
    """Reads the files of a ``data`` section; see ``load``."""

    def __call__(
        self, data: DataConfig, bins: Bins | None = None, phrases: Container[Pair] | None = None
    ) -> LoadedCorpus:
        """Return the corpus or the vectors of the files."""


class DataKind(NamedTuple):
    """How data of a kind are read and split, and the protocol that they are scored by.

    noun: what the kind is called in messages. aside: what a split put aside, in words. protocol:
    the default, None where the split tells.
    """

    noun: str
    load: Load
    split: Callable[[Any, Holdout], tuple[Any, Split]]
    aside: Callable[[Split], str]
    protocol: str | None


def _counts_aside(split: Split) -> str:
    known = f"{len(split.heldout_docs)} documents with {int(split.heldout.data.sum())} tokens"
    return known + f" and {split.unknown_tokens} of unknown words" * bool(split.unknown_tokens)


def _rows_aside(split: Split) -> str:
    return f"{len(split.heldout_docs)} rows"


KINDS = {
    "counts": DataKind("counts of words", load, make_split, _counts_aside, None),
    "vectors": DataKind("rows of numbers", load_vectors, split_rows, _rows_aside, "density"),
    "bits": DataKind("rows of 0 and 1", load_bits, split_rows, _rows_aside, "density"),
}
