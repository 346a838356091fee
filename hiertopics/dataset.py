"""From the ``data`` section of a config to the corpus that a fit sees."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from msgspec import structs

from hiertopics.config import DataConfig
from hiertopics.corpus import Corpus
from hiertopics.errors import DataError, UsageError
from hiertopics.formats import Source, read_corpus, resolve
from hiertopics.formats.siblings import stem
from hiertopics.pruning import prune

FILES = ("corpus", "vocab", "groups", "labels")


def located(data: DataConfig) -> DataConfig:
    """Return the config with its files found (side files by name) and their paths absolute.

    Raises UsageError where no corpus is named, DataError where a file is missing.
    """
    if data.corpus is None:
        raise UsageError("name a corpus: hiertopics fit CORPUS, or data.corpus in the config")
    found = resolve(_source(data))
    paths = (found.path, found.vocab, found.groups, found.labels)
    absolute = {
        name: None if path is None else str(Path(path).absolute())
        for name, path in zip(FILES, paths, strict=True)
    }
    return structs.replace(data, from_=found.format, **absolute)


def load_corpus(data: DataConfig) -> Corpus:
    """Read the corpus and choose its vocabulary (min_df, max_df, stop words), before any split.

    Raises DataError naming file and line.
    """
    corpus = read_corpus(_source(data))
    return prune(corpus, data.min_df, data.max_df, _stop_words(data.stop_words))


def corpus_name(path: str) -> str:
    """Return the short name of a corpus file, for run directories: ``docword.kos.txt`` is kos."""
    return stem(Path(path).absolute())


def _source(data: DataConfig) -> Source:
    options: dict[str, Any] = {
        field.name: getattr(data, field.name)
        for field in fields(Source)
        if field.name not in ("path", "format", *FILES)
    }
    paths: dict[str, Any] = {
        name: None if (value := getattr(data, name)) is None else Path(value) for name in FILES[1:]
    }
    return Source(Path(data.corpus or ""), format=data.from_, **paths, **options)


def _stop_words(name: str | None) -> frozenset[str]:
    if name is None:
        return frozenset()
    if name == "english":
        try:
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
        except ImportError:
            raise UsageError(
                "data.stop_words: english needs scikit-learn: pip install 'hiertopics[text]'"
            ) from None
        return frozenset(ENGLISH_STOP_WORDS)
    try:
        return frozenset(Path(name).read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(name, f"cannot be read as a list of stop words: {error}") from error
