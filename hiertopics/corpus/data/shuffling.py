"""Words dealt out anew over documents: a corpus without structure, for comparison."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hiertopics.corpus.data.corpus import Corpus


def shuffle(corpus: Corpus, rng: np.random.Generator) -> Corpus:
    """Return the corpus with its tokens dealt out anew: lengths and words' counts stay."""
    counts = corpus.counts
    words = rng.permutation(np.repeat(counts.indices, counts.data))
    docs = np.repeat(np.arange(corpus.n_docs), corpus.doc_lengths)
    dealt = sparse.coo_array((np.ones_like(words), (docs, words)), shape=counts.shape).tocsr()
    dealt.sum_duplicates()
    return corpus.with_counts(sparse.csr_array(dealt.astype(counts.dtype)))
