"""``convert``: a corpus from any format that can be read into any that can be written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hiertopics.base.errors import DataError, UsageError
from hiertopics.base.files import require_place
from hiertopics.base.room import Room
from hiertopics.corpus.corpora import dataset
from hiertopics.corpus.corpora.section import data_section
from hiertopics.corpus.data import Bags, Corpus, Vectors
from hiertopics.corpus.data.pruning import kept_words, refuse_none
from hiertopics.corpus.formats import shards
from hiertopics.corpus.formats.drafts import CorpusDraft
from hiertopics.corpus.formats.reading import require_names_of, resolve
from hiertopics.corpus.formats.shards import WrittenShards
from hiertopics.corpus.formats.sidefiles import key_of, read_tags, read_vocabulary
from hiertopics.corpus.formats.source import (
    Source,
    beside,
    find_groups,
    find_labels,
    vocabulary_names,
)
from hiertopics.corpus.formats.table import FORMATS, UnknownFormatError
from hiertopics.corpus.formats.trust import trusts
from hiertopics.corpus.formats.writing import in_counts, writable, write_corpus
from hiertopics.settings.config import DataConfig
from hiertopics.settings.layers import Overrides

MEANINGLESS = ("corpus", "holdout", "vocabulary_from")


@dataclass(frozen=True)
class ConversionResult:
    """The sources that were read, and the files that were written in which format.

    notes: what the reader said, and what the written files do not hold.
    """

    corpus: Bags | Vectors
    source: Source
    path: Path
    format: str
    files: tuple[Path, ...]
    notes: tuple[str, ...]


@trusts
def convert(
    corpus: Path | str,
    output: Path | str,
    *,
    to: str | None = None,
    data: Mapping[str, Any] | None = None,
    overrides: Overrides = (),
    trust_tokenizer: bool = False,
) -> ConversionResult:
    """Read a corpus and write it to ``output`` with its vocabulary, groups and labels.

    to: the format, None: by suffix. data: entries of the ``data`` section that describe the file
    (vocab, from_, text_field, ...). overrides: ``data.key=value`` strings, such as data.min_df=5,
    or a mapping. All files are written or none, and none that belongs to what is read.

    Raises ConfigError, DataError, or UsageError for what cannot be written.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    target = Path(output)
    try:
        name = writable(target, to)
    except UnknownFormatError as error:
        raise UsageError(f"{error}, or name it by --to") from None
    in_folder = FORMATS[name].folder
    (shards.require_place if in_folder else require_place)(target)
    config = data_section(
        {**(data or {}), "corpus": str(corpus)}, overrides, "convert", MEANINGLESS
    )
    source = resolve(dataset.source_of(config))
    _refuse_confusion(source, target, config)
    if in_folder:
        written, notes = _to_shards(source, config, target)
        return ConversionResult(written.shelf, source, target, name, written.files, notes)
    read = dataset.read_data(config)
    files = write_corpus(read, target, name, spared=_files_of(source))
    return ConversionResult(read, source, target, name, files, (*read.notes, *_losses(read, name)))


def _to_shards(
    source: Source, config: DataConfig, target: Path
) -> tuple[WrittenShards, tuple[str, ...]]:
    """Write shards of a corpus; of what can be read in pieces never more than these in memory."""
    if config.repeat_cap is not None:
        raise UsageError(
            "shards keep all counts; leave data.repeat_cap out, and give it to fit instead"
        )
    form = FORMATS[str(source.format)]
    drafter = form.drafter
    if drafter is None or config.discretise is not None:
        read = in_counts(dataset.read_data(config), "shards")
        return shards.write_bags(read, target, dataset.choices_of(config)), read.notes
    vocab = None if source.vocab is None else read_vocabulary(source.vocab)
    draft = CorpusDraft(Room(target.parent))
    known = drafter(source, vocab, draft)._replace(choices=dataset.choices_of(config))
    if draft.n_docs == 0:
        raise DataError(source.path, "holds no documents")
    require_names_of(source, known)
    if source.groups is not None:
        tags = read_tags(source.groups, draft.n_docs, source.path)
        known = known._replace(groups=tags, notes=(*known.notes, *tags.notes))
    if source.labels is not None:
        tags = read_tags(source.labels, draft.n_docs, source.path)
        known = known._replace(labels=tags, notes=(*known.notes, *tags.notes))
    n_docs_with = np.zeros(len(known.vocab), np.int64)
    n_ids = len(draft.n_docs_with)
    place = np.arange(n_ids) if known.place is None else known.place[:n_ids]
    np.add.at(n_docs_with, place, draft.n_docs_with)
    kept = kept_words(n_docs_with, draft.n_docs, known.vocab, dataset.limits_of(config))
    refuse_none(kept)
    return shards.write_draft(draft, known, kept, target), known.notes


def _files_of(source: Source) -> list[Path]:
    """Return the files that a resolved source is read from, those found by name included."""
    path = source.path
    sides = [source.groups, source.labels, find_groups(path), find_labels(path)]
    marks = [Path(side) for side in sides if side is not None]
    keys = [key for side in marks if (key := key_of(side)) is not None]
    vocabularies = [path.parent / name for name in vocabulary_names(path)]
    found = [file for file in vocabularies if file.is_file()]
    return [path, *marks, *keys, *found, *([] if source.vocab is None else [Path(source.vocab)])]


def _refuse_confusion(source: Source, target: Path, config: DataConfig) -> None:
    """Refuse names under which the corpus that is read would be read otherwise afterwards."""
    path = source.path
    if path.resolve() == target.resolve() and path.is_dir():
        raise UsageError(f"{target} is read from, it cannot be replaced; choose another name")
    if path.is_dir() and target.resolve().is_relative_to(path.resolve()):
        raise UsageError(f"{target} lies in {path}, the folder that is read; choose another one")
    if FORMATS[str(source.format)].text or not dataset.chooses_words(config):
        return
    vocabulary = beside(target, ".vocab")
    if vocabulary.resolve() in {(path.parent / n).resolve() for n in vocabulary_names(path)}:
        what = f"{vocabulary} with other words would be taken for the vocabulary of {path}"
        raise UsageError(f"{what}; choose another name or folder")


def _losses(corpus: Corpus | Vectors, name: str) -> list[str]:
    """Return notes on lost names of documents. Names that are words are in the vocabulary."""
    words = corpus.columns if isinstance(corpus, Vectors) else corpus.vocab
    if FORMATS[name].doc_names or corpus.doc_ids is None or corpus.doc_ids == words:
        return []
    return ["the names of the documents are not written; their order is kept"]
