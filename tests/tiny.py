"""What tests read and fit: a tiny corpus that was made by hand, small settings."""

from __future__ import annotations

from pathlib import Path

from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.testing.corpora import WORDS as WORDS, two_themes as hand_made
from hiertopics.testing.small import small_settings as small_settings


def counts_in(source: Source | Path) -> Corpus:
    """Return the corpus in a file that holds counts of words."""
    found = read_corpus(source)
    assert isinstance(found, Corpus)
    return found


__all__ = ["WORDS", "counts_in", "hand_made", "small_settings"]
