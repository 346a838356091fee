"""Trees that our program does not fit, and the parts of 20 Newsgroups that have a hierarchy.

What runs in the processes that ``systems`` starts. A tree is written as the npz file that
``hiertopics import`` reads.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks import scorer
from benchmarks.peers import PEERS, train
from benchmarks.plain_words import LEAST_TOKENS, with_plain_words, write_labelled
from benchmarks.splits import split_corpus
from benchmarks.systems import paths_of
from benchmarks.tomotopy_tree import Pachinko, TomotopyTree
from benchmarks.tree_scorer import Prior
from hiertopics.base import archives, seeds
from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.corpora.dataset import load_corpus
from hiertopics.corpus.data.arranging import topics_arranged
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.shuffling import shuffle
from hiertopics.corpus.data.treeshares import linkage_tree
from hiertopics.corpus.formats.othermodels import parts_of_scikit_learn
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.tasks.hierarchy import singular_rows
from hiertopics.settings.config import DataConfig

GROUPS = "20newsgroups/20news-train.ldac.gz"
TOP = {
    "alt.atheism": "religion",
    "misc.forsale": "forsale",
    "soc.religion.christian": "religion",
    "talk.religion.misc": "religion",
}
"""Subjects of newsgroups that are not called by the beginning of their name."""

HALVES = {"news": 0, "rest": 1}
"""Which of every two documents a corpus has."""

CLUSTERS = 500
"""Clusters of documents at which a linkage is cut where words are asked for: as many as the leaves
that our trees begin with."""

PEER_SWEEPS = 500


class Part(NamedTuple):
    """The input of a tree, and the name of the system that makes the tree."""

    counts: sparse.csr_array
    vocab: tuple[str, ...]
    system: str


def write_half(data: Path, name: str, path: Path) -> int:
    """Write half of the training part of 20 Newsgroups with label paths; return its documents.

    Words: ASCII letters, at least three, no stop words, in 10 to 30% of the documents. Of the
    documents with 10 such tokens or more, ``news`` are the first, third, ... and ``rest`` the
    others. A label path is a subject and a newsgroup. path: ends in .ldac; .vocab and .paths stand
    beside it.
    """
    corpus = load_corpus(DataConfig(corpus=str(data / GROUPS)))
    corpus = with_plain_words(corpus)
    full = np.flatnonzero(corpus.doc_lengths >= LEAST_TOKENS)[HALVES[name] :: 2]
    half = corpus.select(full)
    labels = _lines(data / "20newsgroups/20news-train.labels.gz")
    names = dict(line.split("\t") for line in _lines(data / "20newsgroups/20news.labelmap.tsv"))
    told = [names[labels[doc]] for doc in full.tolist()]
    paths = [f"{TOP.get(group, _subject(group))}/{group}" for group in told]
    write_labelled(half, paths, path)
    return half.n_docs


def _subject(group: str) -> str:
    first, second = group.split(".")[:2]
    return second if first == "talk" else first


def _lines(path: Path) -> list[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [str(line).rstrip("\n") for line in file if str(line).strip()]


def write_part(path: Path, output: Path, split: str | None, docs: Path | None) -> None:
    """Write the documents of a corpus that a split leaves to train on, or a file lists.

    All words are kept. output: ends in .ldac; .vocab stands beside it, and .docs with the rows of
    the documents in the corpus, from 0.
    """
    whole = load_corpus(DataConfig(corpus=str(path)))
    rows = split_corpus(whole, split or "none")[1].train_docs if docs is None else _rows(docs)
    corpus = whole.select(rows)
    write_corpus(Corpus(corpus.counts, corpus.vocab), output)
    np.savetxt(output.with_suffix(".docs"), rows, fmt="%d")


def write_shuffled(path: Path, output: Path) -> None:
    """Write a corpus with its words shuffled over documents, and its label paths if it has any."""
    corpus = load_corpus(DataConfig(corpus=str(path)))
    dealt = shuffle(corpus, seeds.derive(0, "record null"))
    write_corpus(Corpus(dealt.counts, dealt.vocab), output)
    paths = paths_of(path)
    if paths.exists():
        paths_of(output).write_bytes(paths.read_bytes())


def _rows(docs: Path) -> I64:
    return np.loadtxt(docs, dtype=np.int64, ndmin=1)


def write_arranged(path: Path, output: Path) -> None:
    """Write the tree that clustering makes of the topics of a flat run.

    Shares of a document that are at none of its topics are the root's.
    """
    run = RunDir.open(path)
    theta, lengths = sparse.csr_array(run.theta), run.split.train_lengths
    assert lengths is not None
    made, moved = topics_arranged(run.tree, theta, lengths)
    own = sparse.csr_array(theta @ moved)
    phi = made.phi / made.phi.sum(axis=1, keepdims=True)
    write(output, {"parent": made.parent, "theta": _whole(own), "phi": phi, "vocab": run.vocab})


def make(system: str, path: Path, folder: Path, seed: int) -> None:
    """Write the tree, or the topics, of another system into a folder; path: its documents."""
    corpus = load_corpus(DataConfig(corpus=str(path)))
    made = peer_topics if system in PEERS else MAKERS[system]
    write(folder / "tree.npz", made(Part(corpus.counts, corpus.vocab, system), seed))


def write(path: Path, parts: Mapping[str, Any]) -> None:
    """Write the parts of a tree as an npz file for ``hiertopics import``."""
    arrays = {name: np.asarray(value) for name, value in parts.items() if name != "theta"}
    packed = archives.pack_csr("theta", sparse.csr_array(parts["theta"]))
    archives.write_npz(path, {**arrays, **packed})


def linked(part: Part, seed: int, method: str) -> dict[str, Any]:
    """Return the top of a linkage of documents by TF-IDF, cut into ``CLUSTERS`` of them."""
    from scipy.cluster.hierarchy import linkage  # slow to import

    rows = singular_rows(part.counts, seed)
    if rows is None:
        raise SystemExit("not installed: linkages need scikit-learn")
    parent, theta = cut(linkage(rows, method), CLUSTERS)
    return {"parent": parent, "theta": theta}


def cut(merges: F64, n_clusters: int) -> tuple[I64, sparse.csr_array]:
    """Return parents and theta of the last merges of a linkage: so many clusters and what is above.

    Each document lies at its cluster.
    """
    parent, _ = linkage_tree(merges)
    n_docs = len(merges) + 1
    n_above = min(n_clusters, n_docs) - 1
    # Rows stand in the order of merges, the last one first: the first n_above are above the cut.
    kept = np.flatnonzero(parent < n_above)
    place = np.full(len(parent), -1)
    place[kept] = np.arange(len(kept))
    at = len(parent) - 1 - np.arange(n_docs)
    while (low := parent[at] >= n_above).any():
        at[low] = parent[at[low]]
    above = np.where(parent[kept] < 0, -1, place[parent[kept]])
    cells = (np.ones(n_docs), (np.arange(n_docs), place[at]))
    return above.astype(np.int64), sparse.csr_array(cells, shape=(n_docs, len(kept)))


def tomotopy_tree(part: Part, seed: int) -> dict[str, Any]:
    """Return the tree of tomotopy's HLDAModel with the hyperparameters of ours."""
    peer = TomotopyTree(part.counts, seed, Prior(1.0, 0.1))
    peer.sweep(PEER_SWEEPS)
    return peer.parts(part.vocab)


def pachinko_tree(part: Part, seed: int) -> dict[str, Any]:
    """Return tomotopy's PAModel or HPAModel, each topic below the super-topic that uses it most."""
    peer = Pachinko(part.counts, seed, hierarchical=part.system == "tomotopy-hpa")
    peer.sweep(PEER_SWEEPS)
    return peer.parts(part.vocab)


def peer_topics(part: Part, seed: int) -> dict[str, Any]:
    """Return the topics of a peer of the benchmarks after its own number of sweeps.

    Where it tells no shares of its documents, these are folded in under its own prior.
    """
    name = part.system
    model = train(name, part.counts, seed, PEERS[name].n_sweeps).model()
    theta = model.theta
    if theta is None:
        prior = (model.doc_prior or 1.0) * model.topic_shares
        words = np.ascontiguousarray(model.phi.T, dtype=np.float32)
        theta = scorer.fold_in(words, prior, part.counts).astype(np.float64)
        theta /= theta.sum(axis=1, keepdims=True)
    parent = [-1] * len(model.phi)
    return {"parent": parent, "theta": theta, "phi": model.phi, "vocab": part.vocab}


def factors(part: Part, seed: int) -> dict[str, Any]:
    """Return the topics of scikit-learn's NMF, with its defaults, on the counts."""
    from sklearn.decomposition import NMF

    counts = sparse.csr_matrix(part.counts).astype(np.float64)
    model = NMF(100, random_state=seed).fit(counts)
    return parts_of_scikit_learn(model, counts, part.vocab)


def _whole(theta: sparse.csr_array) -> sparse.csr_array:
    """Return theta with what its rows lack of 1 at the root."""
    lack = np.maximum(0.0, 1.0 - np.asarray(theta.sum(axis=1)).ravel())
    n_docs = theta.shape[0]
    at_root = sparse.csr_array((lack, (np.arange(n_docs), np.zeros(n_docs, int))), theta.shape)
    return sparse.csr_array(theta + at_root)


MAKERS: dict[str, Callable[[Part, int], dict[str, Any]]] = {
    "tfidf-ward": lambda part, seed: linked(part, seed, "ward"),
    "tfidf-average": lambda part, seed: linked(part, seed, "average"),
    "tomotopy-hlda": tomotopy_tree,
    "tomotopy-pa": pachinko_tree,
    "tomotopy-hpa": pachinko_tree,
    "sklearn-nmf-100": factors,
}
