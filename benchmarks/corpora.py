"""The corpora of the benchmark, by name, below the data folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hiertopics.data.corpus import Corpus

FILES = {
    "kos": "kos/docword.kos.txt.gz",
    "ap": "ap/ap.dat.gz",
    "nips": "nips0-12/nips.corpus.gz",
    "psychreview": "psychreview/psychreview-1272x1971.ldac.gz",
    "cora": "cora/cora.ldac",
    "20newsgroups": "20newsgroups/20news-train.ldac.gz",
    "20news-test": "20newsgroups/20news-test.ldac.gz",
}
WORDS: dict[str, dict[str, Any]] = {
    "20news-test": {"min_df": 10, "max_df": 0.5, "stop_words": "english"},
}
"""The words that are chosen of a corpus: entries of the section ``data`` of a config."""


def path(data: Path, name: str) -> Path:
    """Return the file of corpus ``name``."""
    return data / FILES[name]


def settings(name: str) -> list[str]:
    """Return the arguments that make ``hiertopics fit`` choose the same words as ``load``."""
    chosen = WORDS.get(name, {}).items()
    return [part for key, value in chosen for part in ("-s", f"data.{key}={value}")]


def load(data: Path, name: str) -> Corpus:
    """Read corpus ``name`` as ``hiertopics fit`` reads it."""
    # Not at the top: the processes that measure memory only ask for paths, and stay small.
    from hiertopics.corpora.dataset import load_corpus
    from hiertopics.settings.config import DataConfig

    return load_corpus(DataConfig(corpus=str(path(data, name)), **WORDS.get(name, {})))
