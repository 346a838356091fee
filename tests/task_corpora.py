"""Small corpora for the tasks: a graph of two communities, and documents with one label each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.writing import write_corpus

LABELS = ("food", "sport", "both")


def random_graph(n_nodes: int, density: float, seed: int) -> sparse.csr_array:
    """Return a symmetric 0/1 matrix without self-links."""
    above = np.triu(np.random.default_rng(seed).random((n_nodes, n_nodes)) < density, 1)
    return sparse.csr_array((above | above.T).astype(np.int32))


def communities() -> sparse.csr_array:
    """Return 60 nodes in two communities; the first node of each has few links."""
    rng = np.random.default_rng(3)
    block = np.repeat([0, 1], 30)
    chance = np.where(block[:, None] == block, 0.8, 0.1)
    above = np.triu(rng.random((60, 60)) < chance, 1)
    for quiet in (0, 30):
        above[quiet, quiet + 5 :] = False
    return sparse.csr_array((above | above.T).astype(np.int32))


def graph_of(links: sparse.csr_array) -> Corpus:
    """Return a graph as the corpus that an edge list would give."""
    names = tuple(f"n{node}" for node in range(links.shape[0]))
    return Corpus(links, names, names)


def write_graph(path: Path) -> Path:
    """Write ``communities`` as a symmetric matrix; return its path."""
    sparse.save_npz(path, communities())
    return path


def write_labelled(corpus: Corpus, path: Path) -> Path:
    """Write a corpus whose document ``d`` has label ``d % 3``, the labels beside it."""
    write_corpus(corpus, path)
    labels = path.with_suffix(".labels")
    labels.write_text("".join(f"{doc % 3}\n" for doc in range(corpus.n_docs)))
    labels.with_suffix(".labels.key").write_text("\n".join(LABELS) + "\n")
    return path
