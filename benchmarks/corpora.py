"""The corpora of the benchmark, by name, below the data folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hiertopics.corpus import Corpus

FILES = {
    "kos": "kos/docword.kos.txt.gz",
    "ap": "ap/ap.dat.gz",
    "nips": "nips0-12/nips.corpus.gz",
    "psychreview": "psychreview/psychreview-1272x1971.ldac.gz",
    "cora": "cora/cora.ldac",
    "20newsgroups": "20newsgroups/20news-train.ldac.gz",
}


def path(data: Path, name: str) -> Path:
    """Return the file of corpus ``name``."""
    return data / FILES[name]


def load(data: Path, name: str) -> Corpus:
    """Read corpus ``name`` as ``hiertopics fit`` reads it."""
    # Not at the top: the processes that measure memory only ask for paths, and stay small.
    from hiertopics.formats import Source, read_corpus

    return read_corpus(Source(path(data, name)))
