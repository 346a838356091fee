"""The start that finds branches first and topics within them (theory/nhdp 6.1).

A few topics of the whole corpus come back where its documents change; hundreds do not. So the
corpus is first divided among a few, and the topics of each part are found in it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.arrays import F64, I32, I64
from hiertopics.data.corpus import Corpus, default_vocab
from hiertopics.data.seedwords import Seeds
from hiertopics.families.flat.layout import Data, lay_out

POWER = 0.45
"""The corpus is divided among so many branches: the number of topics to this power."""

FEWEST_TOPICS = 200
"""Below it there are no branches to be found first: gaps tell them."""

SMALLEST = 1e-3
"""What a document has of every topic besides its tokens."""

WORD_FLOOR = 1e-6


class Part(NamedTuple):
    """What is in a branch: docs, words: int64, ascending; counts: float64 CSR of these."""

    branch: int
    docs: I64
    words: I64
    counts: sparse.csr_array

    @property
    def data(self) -> Data:
        """The part laid out, in one piece."""
        whole = sparse.csr_array(self.counts.astype(np.int32))
        return lay_out(Corpus(whole, default_vocab(len(self.words))), 1)


class Within(NamedTuple):
    """Topics of all branches: theta [n_docs, T], phi [T, n_words], rows sum to 1.

    branch: int64 [T], the one that each was found in.
    """

    theta: F64
    phi: F64
    branch: I64


def number(n_topics: int) -> int:
    """Return how many branches are found first; 0: none."""
    return round(n_topics**POWER) if n_topics >= FEWEST_TOPICS else 0


def of_pairs(cuts: I64, word: I32, theta: F64, phi: F64) -> I64:
    """Return which topic suits each pair best, int64 [n_pairs].

    cuts: as in ``Cells``; word: of each pair; theta: [n_docs, T]; phi: [n_words, T].
    """
    best = np.empty(len(word), np.int64)
    for doc, (first, last) in enumerate(cuts[:, [0, -1]].tolist()):
        best[first:last] = (theta[doc] * phi[word[first:last]]).argmax(axis=1)
    return best


def parts(branch: I64, counts: sparse.csr_array) -> list[Part]:
    """Return what is in each branch that has something; branch: int64 [n_pairs], of each pair."""
    doc = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    found = []
    for place in np.unique(branch):
        here = branch == place
        docs, row = np.unique(doc[here], return_inverse=True)
        words, column = np.unique(counts.indices[here], return_inverse=True)
        shape = (len(docs), len(words))
        inside = sparse.csr_array((counts.data[here], (row, column)), shape=shape)
        inside.sort_indices()
        found.append(Part(int(place), docs, words.astype(np.int64), inside))
    return found


def joined(
    parts: Sequence[Part], found: Sequence[tuple[F64, F64]], counts: sparse.csr_array, seeds: Seeds
) -> Within:
    """Return the topics of all parts as topics of the corpus, of counts [n_docs, n_words].

    found: theta and phi of each part's topics, over its own documents and words. The first topics
    are those of names, each in the branch of its own, and begin with their seed words alone.
    """
    named = np.arange(len(seeds.names))
    inside = np.repeat(np.arange(len(parts)), [len(phi) for _, phi in found])
    place = np.concatenate([np.full(len(named), -1), inside])
    branch = np.concatenate([named, np.array([part.branch for part in parts])[inside]])
    theta = np.full((counts.shape[0], len(branch)), SMALLEST)
    phi = np.full((len(branch), counts.shape[1]), WORD_FLOOR)
    np.add.at(theta.T, seeds.name, counts[:, seeds.word].toarray().T)
    phi[seeds.name, seeds.word] += 1.0
    for number, (part, (its_theta, its_phi)) in enumerate(zip(parts, found, strict=True)):
        mine = np.flatnonzero(place == number)
        tokens = np.asarray(part.counts.sum(axis=1)).ravel()
        theta[np.ix_(part.docs, mine)] += tokens[:, None] * its_theta
        phi[np.ix_(mine, part.words)] += its_phi
    theta /= theta.sum(axis=1, keepdims=True)
    return Within(theta, phi / phi.sum(axis=1, keepdims=True), branch)
