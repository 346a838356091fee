"""Small corpora: an ordinary one, and corpora with extreme features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from hiertopics.corpus.data.corpus import Corpus, Tags, default_vocab

WORDS = ("bread", "butter", "cheese", "wine", "goal", "match", "team", "coach", "never")
"""The last word occurs in no document."""


def corpus_of(counts: ArrayLike) -> Corpus:
    """Return the corpus of a dense count matrix [n_docs, n_words], words unnamed."""
    matrix = np.atleast_2d(np.asarray(counts, dtype=np.int32))
    return Corpus(sparse.csr_array(matrix), default_vocab(matrix.shape[1]))


def varied(n_docs: int = 11, n_words: int = 17) -> Corpus:
    """Return a corpus whose documents differ in length and groups, its words in frequency."""
    rng = np.random.default_rng(5)
    rates = np.outer(np.arange(1, n_docs + 1), np.linspace(0.1, 0.9, n_words))
    return replace(corpus_of(rng.poisson(rates / 2)), groups=_authors(n_docs))


def _authors(n_docs: int) -> Tags:
    """Return groups: one, two or none per document; the last group has a single document."""
    docs = np.arange(n_docs)[:, None]
    members = (docs % 3 == np.arange(5)) | ((docs % 4 == 1) & (np.arange(5) == 3))
    members[7] = False
    members[2, 4] = True
    return Tags(sparse.csr_array(members), ("ann", "bob", "cyd", "dee", "eve"))


HARD = {
    "an empty document": corpus_of([[2, 1, 0, 3], [0, 0, 0, 0], [0, 3, 3, 1]]),
    "a one-word document": corpus_of([[2, 1, 0, 3], [0, 1, 0, 0], [0, 3, 3, 1]]),
    "one document": corpus_of([[2, 1, 0, 3]]),
    "one document of one token": corpus_of([[0, 1]]),
    "an unused word": corpus_of([[2, 1, 0, 3], [5, 1, 0, 2], [1, 3, 0, 1]]),
    "one word in the vocabulary": corpus_of([[2], [1], [4]]),
    "empty documents only": corpus_of(np.zeros((3, 4))),
}


def two_themes() -> Corpus:
    """Return 30 documents on food, on sport or on both; document 4 is empty, 5 has one token."""
    rng = np.random.default_rng(7)
    food, sport = np.array([4, 3, 2, 1, 0, 0, 0, 0, 0.0]), np.array([0, 0, 0, 1, 4, 3, 2, 1, 0.0])
    shares = [food / food.sum(), sport / sport.sum(), (food + sport) / 21] * 10
    rows = [rng.multinomial(8 + doc, share) for doc, share in enumerate(shares)]
    rows[4] = np.zeros(9, dtype=int)
    rows[5] = np.eye(9, dtype=int)[2]
    return Corpus(sparse.csr_array(np.array(rows)), WORDS)
