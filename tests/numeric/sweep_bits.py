"""Prints hashes of what sweeps over a drawn corpus leave: run by a test for several processors."""

from __future__ import annotations

import hashlib
import sys

import numpy as np
from scipy import sparse

from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.families.flat import kernels
from hiertopics.families.flat.kernels import Prior, Tables
from hiertopics.families.flat.layout import lay_out


def bits(name: str, n_topics: int, indicators: bool) -> str:
    """Return the hash of all tables after two sweeps of the kernel of that name."""
    rng = np.random.default_rng(1)
    counts = (rng.random((20, 50)) < 0.3) * rng.integers(1, 4, (20, 50)).astype(np.int32)
    cells = lay_out(Corpus(sparse.csr_array(counts), default_vocab(50)), 1).cells
    resp = rng.random((len(cells.word), n_topics)).astype(np.float32)
    resp /= resp.sum(axis=1, keepdims=True)
    seen = [np.zeros((n, n_topics if indicators else 0), np.float32) for n in (20, 50)]
    n_dk, n_wk = (np.zeros((n, n_topics), np.float32) for n in (20, 50))
    tables = Tables(resp, n_dk, n_wk, *seen)
    kernels.recount_block(cells, 0, 0, tables)
    n_k = n_dk.sum(axis=0, dtype=np.float64)
    alpha = (0.01 + rng.random(n_topics) / 10).astype(np.float32)
    prior = Prior(alpha, np.full(50, 0.01, np.float32), 0.5)
    for _ in range(2):
        assert getattr(kernels, name)(cells, 0, 0, tables, n_k, prior) == -1
    found = hashlib.sha256(n_k.tobytes())
    for table in tables:
        found.update(table.tobytes())
    return found.hexdigest()


if __name__ == "__main__":
    for size in (5, 100, 492):
        for noting in (False, True):
            print(size, noting, bits(sys.argv[1], size, noting))
