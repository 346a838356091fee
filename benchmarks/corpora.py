"""The corpora of the benchmark, by name, and what of one is trained on.

Importing this stays cheap: the processes that measure the memory of others ask for paths only.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from hiertopics.corpus.data.corpus import Corpus
    from hiertopics.corpus.holdouts.split import Split

FILES = {
    "kos": "kos/docword.kos.txt.gz",
    "ap": "ap/ap.dat.gz",
    "nips": "nips0-12/nips.corpus.gz",
    "psychreview": "psychreview/psychreview-1272x1971.ldac.gz",
    "cora": "cora/cora.ldac",
    "debian": "debian-sections/deb.ldac.gz",
    "reuters-395": "reuters-395/reuters.ldac",
    "20newsgroups": "20newsgroups/20news-train.ldac.gz",
    "20news-test": "20newsgroups/20news-test.ldac.gz",
}
WORDS: dict[str, dict[str, Any]] = {
    "20news-test": {"min_df": 10, "max_df": 0.5, "stop_words": "english", "stop_rests": False},
}
"""The words that are chosen of a corpus: entries of the section ``data`` of a config."""

DOCS, TOKENS = "docs:0.1@0", "tokens:0.2@0"


class Source(NamedTuple):
    """A corpus below the data folder and its split: what ``fit --holdout`` would be given."""

    data: Path
    corpus: str
    split: str

    @property
    def about(self) -> dict[str, str]:
        """Its part of a result record."""
        return {"corpus": self.corpus, "split": self.split}

    @property
    def path(self) -> Path:
        """The file of the corpus."""
        return self.data / FILES[self.corpus]

    @property
    def words(self) -> dict[str, Any]:
        """Which words ``load`` chooses, as settings of ``hiertopics fit``."""
        return {f"data.{key}": value for key, value in WORDS.get(self.corpus, {}).items()}

    def load(self) -> tuple[Corpus, Split]:
        """Return what ``hiertopics fit`` would train on and what it would put aside."""
        from benchmarks.splits import split_corpus
        from hiertopics.corpus.corpora.dataset import load_corpus
        from hiertopics.settings.config import DataConfig

        config = DataConfig(corpus=str(self.path), **WORDS.get(self.corpus, {}))
        return split_corpus(load_corpus(config), self.split)
