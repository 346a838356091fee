"""Files of new documents, read as a run reads them and matched to its words or columns."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs
from scipy import sparse

from hiertopics.base import files
from hiertopics.base.arrays import I64
from hiertopics.base.errors import DataError, HiertopicsError, UsageError
from hiertopics.base.visible import steady
from hiertopics.contract import observed_by
from hiertopics.corpus.corpora import dataset
from hiertopics.corpus.data import (
    Bags,
    Bins,
    Corpus,
    Vectors,
    column_order,
    default_vocab,
    in_memory,
)
from hiertopics.corpus.formats.plaintexts import PLAIN
from hiertopics.corpus.formats.reading import refuse_documents
from hiertopics.corpus.formats.source import FIELDS, FORM, WORDING
from hiertopics.corpus.formats.table import FORMATS, format_of
from hiertopics.corpus.formats.tablerows import TABLES
from hiertopics.corpus.formats.trust import trust
from hiertopics.corpus.formats.words import (
    JoinedWords,
    drops_stop_words,
    tokenizer_hash,
)
from hiertopics.runs.rundir import RunDir
from hiertopics.settings.config import DataConfig


@dataclass(frozen=True)
class MatchedCorpus:
    """A corpus over a run's vocabulary (or vectors over its columns), and what lies outside it.

    unknown: int64 [n_docs], tokens of each document that the run has no word for; stop words of
    the run, which it left out on purpose, are none of them.
    """

    corpus: Any
    unknown: I64

    @property
    def unknown_tokens(self) -> int:
        """Unknown tokens of all documents."""
        return int(self.unknown.sum())


def read_matched(run: RunDir, corpus: Path | str, data: Mapping[str, Any]) -> MatchedCorpus:
    """Read a corpus file as new documents of ``run``.

    data: entries of the ``data`` section that describe the file (vocab, from_, text_field, ...);
    format and fields default to the run's own, where the file's name does not tell another. Rows
    of a dense table are cut into the bins of the run, or stay what they are where its backend
    observes vectors. Raises DataError.
    """
    new = read_new(run, corpus, data)
    return as_matched(new) if isinstance(new, Vectors) else _matched(run, new)


def _matched(run: RunDir, new: Bags) -> MatchedCorpus:
    return match(in_memory(new), run.vocab, left_out(run))


def as_matched(vectors: Vectors) -> MatchedCorpus:
    """Return rows of numbers over a run's columns as matched documents, without unknown ones."""
    return MatchedCorpus(vectors, np.zeros(vectors.n_docs, np.int64))


def left_out(run: RunDir) -> frozenset[str]:
    """Return the stop words of a run; none where their list is not there any more."""
    try:
        return dataset.stopped_words(run.experiment.data)
    except HiertopicsError:
        return frozenset()


def read_new(run: RunDir, corpus: Path | str, data: Mapping[str, Any]) -> Bags | Vectors:
    """Read a corpus file: bags with all their words, vectors over the run's columns.

    Raises DataError for a file that cannot be read, UsageError for settings that the run excludes.
    """
    experiment = run.experiment
    own = experiment.data
    config = described(own, corpus, data)
    form = FORMATS[format_of(Path(corpus), config.from_)]
    bins = None if own.discretise is None else _bins(run)
    if form.text and config.tokenizer is not None:
        _warn_of_change(run, config.tokenizer)
    try:
        new: Bags | Vectors = observed_by(experiment).load(config, bins, phrases_of(run)).corpus
    except DataError as error:
        if "from_" in data or form.text or _told(Path(corpus)) is not None:
            raise
        raise _read_as_before(error, config) from error
    if isinstance(new, Vectors):
        return _match_columns(new, run.vocab, config)
    unnamed = form.dense and new.vocab == default_vocab(new.n_words)
    if unnamed and new.n_words != len(run.vocab) and not dataset.chooses_words(own):
        what = f"{new.n_words} columns without names, but the run has {len(run.vocab)}"
        raise dataset.other_columns(config, what)
    return new


def _read_as_before(error: DataError, config: DataConfig) -> DataError:
    """Return the error of a file that is read in the run's format, as its name tells none."""
    how = (
        f"the file was read as {config.from_}, like the corpus of the run; for raw text --lines "
        "takes each line for a document, --from paragraphs each paragraph, and a folder each file"
    )
    return DataError(error.path, f"{error.what}; {how}", error.line)


def phrases_of(run: RunDir) -> JoinedWords | None:
    """Return the phrases that a run knows; None where its words were not joined."""
    return None if run.experiment.data.phrases is None else JoinedWords(run.vocab)


def described(own: DataConfig, corpus: Path | str, data: Mapping[str, Any]) -> DataConfig:
    """Return the section for a file of new documents; ``own`` fills missing entries of ``data``."""
    trust(data)
    config = structs.replace(DataConfig(), corpus=str(corpus), **dict(data))
    if config.from_ is None and own.from_ is not None:
        config = structs.replace(config, from_=_format(Path(corpus), own))
    form = FORMATS[format_of(Path(corpus), config.from_)]
    if form.text:
        same = format_of(Path(corpus), config.from_) == own.from_
        has_fields = format_of(Path(corpus), config.from_) not in PLAIN
        how = (*(FIELDS if has_fields else ()), *WORDING, *(FORM if same else ()))
        kept = {name: getattr(own, name) for name in how if name not in data}
        config = structs.replace(config, **kept)
        if drops_stop_words(dataset.source_of(config)):
            config = structs.replace(config, stop_words=own.stop_words)
    if form.dense and not {"label_column", "labels"} & set(data):
        config = structs.replace(config, label_column=own.label_column)
    if "repeat_cap" not in data:
        config = structs.replace(config, repeat_cap=own.repeat_cap)
    if form.layered and "layer" not in data:
        config = structs.replace(config, layer=own.layer)
    return config


def _warn_of_change(run: RunDir, tokenizer: str) -> None:
    """Warn where a tokenizer is not what cut the texts of the fit."""
    before = run.manifest["corpus"].get("tokenizer_hash")
    if before not in (None, tokenizer_hash(tokenizer)):
        what = f"{tokenizer} has changed since the fit: new texts are cut in another way"
        print(f"warning: {steady(what)}", file=sys.stderr)


def _match_columns(new: Vectors, columns: tuple[str, ...], config: DataConfig) -> Vectors:
    try:
        order = column_order(new.columns, columns, "fitted")
    except HiertopicsError as error:
        raise dataset.other_columns(config, str(error)) from error
    return replace(new, rows=new.rows[:, order], columns=columns)


def _bins(run: RunDir) -> Bins:
    with files.readable(run.file("model.npz"), KeyError, what="it has no array "):
        return Bins.from_arrays(run.tree.extra)


def read_unseen(run: RunDir, corpus: Path | str, data: Mapping[str, Any]) -> MatchedCorpus:
    """Read as ``read_matched`` does; UsageError for the corpus that the run was trained on."""
    matched = read_matched(run, corpus, data)
    if matched.corpus.text_fingerprint == run.manifest["corpus"]["text_fingerprint"]:
        raise UsageError("this is the corpus that the run was trained on; scoring it would flatter")
    return matched


def _format(path: Path, own: DataConfig) -> str | None:
    """Return the format of the name, if it differs from that of the run's corpus.

    Raises UsageError for one text, where the run was fitted to a table of texts.
    """
    told, told_before = _told(path), _told(Path(own.corpus or ""))
    if told is None and own.from_ in TABLES:
        refuse_documents(path)
    return own.from_ if told in (None, told_before) else told


def _told(path: Path) -> str | None:
    try:
        return format_of(path, None)
    except UsageError:
        return None


def columns_in(own: Sequence[str], vocab: Sequence[str]) -> I64:
    """Return the place of each word of ``own`` in ``vocab``, int64 [n_own], -1 where it has none.

    Words go by string, or by id where their file alone names none.
    """
    unnamed = tuple(own) == default_vocab(len(own))
    if unnamed and not all(re.fullmatch("w[0-9]+", word) for word in vocab):
        target = np.arange(len(own))
        target[target >= len(vocab)] = -1
        return target
    # Backwards, so that of two equal words of the vocabulary the first one is taken.
    column = {word: index for index, word in reversed(list(enumerate(vocab)))}
    return np.array([column.get(word, -1) for word in own], dtype=np.int64)


def match(corpus: Corpus, vocab: Sequence[str], left_out: Set[str] = frozenset()) -> MatchedCorpus:
    """Carry counts over to ``vocab``; see ``columns_in``.

    left_out: words that are not counted as unknown ones.
    """
    target = columns_in(corpus.vocab, vocab)
    cells = corpus.counts.tocoo()
    columns = target[cells.coords[1]]
    known = columns >= 0
    matched = sparse.csr_array(
        (cells.data[known], (cells.coords[0][known], columns[known])),
        shape=(corpus.n_docs, len(vocab)),
    )
    matched.sum_duplicates()
    marks = (corpus.doc_ids, corpus.groups, corpus.labels)
    carried = Corpus(matched, tuple(vocab), *marks, notes=corpus.notes, snippets=corpus.snippets)
    counted = ~known
    if left_out:
        is_wanted = np.array([word not in left_out for word in corpus.vocab], dtype=bool)
        counted &= is_wanted[cells.coords[1]]
    unknown = np.bincount(cells.coords[0][counted], cells.data[counted], corpus.n_docs)
    return MatchedCorpus(carried, unknown.astype(np.int64))


def columns_of(run: RunDir) -> tuple[str, ...] | None:
    """Return the names of a table's unnamed columns: the run's words, unless it made them."""
    return None if run.experiment.data.discretise else run.vocab
