"""Coherence of topics as the papers on HLTA define it, and the vocabularies that they choose."""

from __future__ import annotations

from itertools import combinations
from math import log
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from benchmarks import umass
from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.corpus.data.tree import Tree
from hiertopics.corpus.formats.writing import write_corpus


def some(n_docs: int = 60, n_words: int = 12) -> Corpus:
    counts = np.random.default_rng(0).poisson(0.6, (n_docs, n_words))
    counts[:, 0] = 1
    return Corpus(sparse.csr_array(counts), default_vocab(n_words))


def plainly(top: list[int], documents: list[set[int]]) -> float:
    """UMass of one topic, pair by pair: the earlier word of a pair is the more probable one."""
    total = 0.0
    for earlier, later in combinations(top, 2):
        both = sum({earlier, later} <= document for document in documents)
        total += log((both + 1) / sum(earlier in document for document in documents))
    return total


def test_coherence_is_the_sum_over_pairs_counted_document_by_document() -> None:
    corpus = some()
    documents = [set(np.flatnonzero(row).tolist()) for row in corpus.counts.toarray()]
    tops = [[3, 1, 7, 2], [7, 3, 1, 2], [0, 5, 4, 11]]
    expected = [plainly(top, documents) for top in tops]
    assert expected[0] != expected[1]
    assert umass.umass(np.array(tops), corpus) == pytest.approx(expected, abs=1e-12)


def test_inner_nodes_have_a_mean_of_their_own() -> None:
    corpus = some()
    tree = tree_of([-1, 0, 0, 1], corpus.n_words)
    tops = np.argsort(-tree.phi, axis=1)[:, : umass.TOP_WORDS]
    by_node = umass.umass(tops, corpus)
    assert umass.coherence(tree, corpus) == {
        "topics": 4,
        "umass": pytest.approx(by_node.mean()),
        "inner": 2,
        "umass_of_inner": pytest.approx(by_node[:2].mean()),
    }


def tree_of(parent: list[int], n_words: int) -> Tree:
    n_nodes = len(parent)
    return Tree(
        phi=np.random.default_rng(1).dirichlet(np.ones(n_words), n_nodes),
        parent=np.array(parent, dtype=np.int32),
        kind=np.zeros(n_nodes, dtype=np.int8),
        weight=np.full(n_nodes, 1 / n_nodes),
        n_docs=np.ones(n_nodes, dtype=np.int64),
        n_tokens=np.ones(n_nodes),
    )


def test_words_are_chosen_by_their_mean_tf_idf() -> None:
    corpus = some()
    counts = corpus.counts.toarray()
    score = {}
    for word in range(corpus.n_words):
        docs = np.count_nonzero(counts[:, word])
        score[word] = sum(n * log(len(counts) / docs) for n in counts[:, word]) / len(counts)
    best = sorted(score, key=lambda word: -score[word])
    assert umass.highest(corpus.counts, 5).tolist() == sorted(best[:5])
    assert 0 not in umass.highest(corpus.counts, 11), "a word of all documents is worth nothing"


def test_documents_of_all_files_stand_in_their_order_without_stop_words(tmp_path: Path) -> None:
    vocab = ("bread", "the", "goal")
    rows = ([[1, 2, 0], [0, 1, 3]], [[2, 0, 0]])
    paths = [tmp_path / "one.ldac", tmp_path / "two.ldac"]
    for path, counts in zip(paths, rows, strict=True):
        write_corpus(Corpus(sparse.csr_array(np.array(counts)), vocab), path)
    found = umass.read(paths)
    assert found.vocab == ("bread", "goal")
    assert found.counts.toarray().tolist() == [[1, 0], [0, 3], [2, 0]]
