"""Prints hashes of what kernels make of drawn numbers: run by a test for several processors."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import numpy as np
from scipy import sparse

from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.families.flat import kernels, moments
from hiertopics.families.flat.burst_kernels import TableRule
from hiertopics.families.flat.kernels import ExpectedCounts, PseudoCounts
from hiertopics.families.flat.layout import lay_out
from hiertopics.families.nhdp import document_kernels
from hiertopics.families.nhdp.prediction import NOT_SEATED
from hiertopics.numeric import special
from hiertopics.numeric.pitman_yor import mean_tables
from hiertopics.numeric.simd import rows_on_lines


def bits(name: str, n_topics: int, indicators: bool) -> str:
    """Return the hash of all tables after two sweeps of the kernel of that name."""
    rng = np.random.default_rng(1)
    counts = (rng.random((20, 50)) < 0.3) * rng.integers(1, 4, (20, 50)).astype(np.int32)
    cells = lay_out(Corpus(sparse.csr_array(counts), default_vocab(50)), 1).cells
    resp = rng.random((len(cells.word), n_topics)).astype(np.float32)
    resp /= resp.sum(axis=1, keepdims=True)
    seen = [np.zeros((n, n_topics if indicators else 0), np.float32) for n in (20, 50)]
    n_dk, n_wk = (np.zeros((n, n_topics), np.float32) for n in (20, 50))
    tables = ExpectedCounts(resp, n_dk, n_wk, *seen)
    kernels.recount_block(cells, 0, 0, tables)
    n_k = n_dk.sum(axis=0, dtype=np.float64)
    alpha = (0.01 + rng.random(n_topics) / 10).astype(np.float32)
    prior = PseudoCounts(alpha, np.full(50, 0.01, np.float32), 0.5)
    for _ in range(2):
        scratch = rows_on_lines(kernels.N_ROWS, resp)
        assert getattr(kernels, name)(cells, 0, 0, tables, n_k, prior, scratch) == -1
    found = hashlib.sha256(n_k.tobytes())
    for table in tables:
        found.update(table.tobytes())
    return found.hexdigest()


def bits_of_tables(n_topics: int) -> str:
    """Return the hash of expected tables, of chances not to be seen and of their exponentials."""
    rng = np.random.default_rng(2)
    mean = (5 * rng.random((20, n_topics)) ** 8).astype(np.float32)
    seen = (1 - np.exp2(-mean)).astype(np.float32)
    by_row, by_column = np.zeros(20), np.zeros(n_topics)
    shares = rng.random(n_topics) / n_topics
    kernel: Any = moments.expected_tables_in_fixed_order
    kernel(0, 20, mean, mean / 2, seen, np.ones(20), shares, by_row, by_column)
    unseen = moments.log_unseen(seen)
    rows = (by_row, by_column, unseen, special.exp_of(unseen), special.log_of(shares))
    return hashlib.sha256(b"".join(row.tobytes() for row in rows)).hexdigest()


def bits_of_placing(n_nodes: int) -> str:
    """Return the hash of the counts of a document that is placed on a tree of two levels."""
    rng = np.random.default_rng(3)
    first = np.full(n_nodes + 1, n_nodes)
    first[0] = 1
    ones, mass = np.ones(n_nodes), rng.random(n_nodes) / n_nodes
    phi, theta = rng.random((9, n_nodes)), rng.dirichlet(ones)
    words = np.arange(9, dtype=np.int32)
    counts = (1 + rng.integers(0, 3, 9)).astype(np.float64)
    process = (first, mass, ones / 2, ones, ones, theta, 20, 1e-4)
    seated = TableRule(mean_tables(np.arange(1, 4), 0.5), 30.0)
    found = hashlib.sha256()
    for seating in (NOT_SEATED, seated):
        for placed in document_kernels.fold_in(words, counts, phi, *process, seating, 2):
            found.update(placed.tobytes())
    return found.hexdigest()


if __name__ == "__main__":
    for size in (5, 100, 492):
        if sys.argv[1] == "tables":
            print(size, bits_of_tables(size))
        elif sys.argv[1] == "placing":
            print(size, bits_of_placing(size))
        else:
            for noting in (False, True):
                print(size, noting, bits(sys.argv[1], size, noting))
