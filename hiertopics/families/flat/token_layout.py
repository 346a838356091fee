"""A corpus in tokens: what samplers that redraw something for every token go through."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.data.corpus import Corpus


class Words(NamedTuple):
    """The corpus: documents as ranges of pairs, pairs as ranges of equal tokens.

    pair_ptr: int64 [n_docs + 1]. word: int32 [n_pairs]. token_ptr: int64 [n_pairs + 1].
    """

    pair_ptr: NDArray[np.int64]
    word: NDArray[np.int32]
    token_ptr: NDArray[np.int64]


class Data(NamedTuple):
    """A corpus laid out in tokens: words, and its sizes."""

    words: Words
    n_docs: int
    n_words: int
    n_tokens: int


def lay_out(corpus: Corpus) -> Data:
    """Lay a corpus out in tokens, by word id within a document."""
    counts = corpus.counts
    token_ptr = np.concatenate([[0], np.cumsum(counts.data, dtype=np.int64)])
    words = Words(counts.indptr.astype(np.int64), counts.indices.astype(np.int32), token_ptr)
    return Data(words, corpus.n_docs, corpus.n_words, corpus.n_tokens)
