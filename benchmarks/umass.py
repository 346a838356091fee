"""The coherence that the papers on HLTA publish, measured on trees of ours and of tomotopy.

Chen et al., Progressive EM for latent tree models and hierarchical topic detection, AAAI 2016, and
Latent tree models for hierarchical topic detection, arXiv 1605.06650: the UMass coherence of the
first four words of each topic, counted in the documents that the topics were fitted to.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import click
import numpy as np
from scipy import sparse

from benchmarks import options, process
from benchmarks.benchmark import benchmark
from benchmarks.corpora import FILES
from benchmarks.records import Record
from benchmarks.table import Table
from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.corpora.dataset import load_corpus
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.quality import documents_with_both
from hiertopics.corpus.data.shelf import Bags
from hiertopics.corpus.data.tree import Tree
from hiertopics.corpus.formats.words import stop_words
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.runs.rundir import RunDir
from hiertopics.settings.config import DataConfig

PARTS = {"nips": ("nips",), "20newsgroups": ("20newsgroups", "20news-test")}
"""The files whose documents a corpus has, by their names in ``corpora``."""

TOP_WORDS = 4
OURS = "nhdp-variational"
PEER = "tomotopy-hlda"

TABLE = Table(
    ("corpus", "words", "system"),
    {
        "corpus": "{corpus}",
        "words": "{words}",
        "documents": "{documents}",
        "tokens": "{tokens}",
        "system": "`{system}`",
        "topics": "{topics}",
        "UMass, mean of topics": "{umass:.2f}",
        "inner nodes": "{inner}",
        "UMass, mean of inner nodes": "{umass_of_inner:.2f}",
    },
)


@benchmark("umass", TABLE)
@options.data
@click.option(
    "--corpus",
    "corpora",
    type=click.Choice(tuple(PARTS)),
    multiple=True,
    default=tuple(PARTS),
    show_default=True,
)
@click.option("--words", type=int, multiple=True, default=(1000, 5000, 10000), show_default=True)
@click.option(
    "--system",
    "systems",
    type=click.Choice((OURS, PEER)),
    multiple=True,
    default=(OURS,),
    show_default=True,
)
def measure(
    data: Path, corpora: tuple[str, ...], words: tuple[int, ...], systems: tuple[str, ...]
) -> Iterator[Record]:
    """UMass coherence of trees fitted to vocabularies of the papers on HLTA, all defaults."""
    for name in corpora:
        whole = read([data / FILES[part] for part in PARTS[name]])
        for size, system in product(words, systems):
            corpus = whole.with_words(highest(whole.counts, size))
            corpus = corpus.select(np.flatnonzero(corpus.doc_lengths))
            about = {"corpus": name, "words": size, "system": system}
            yield {**about, **_measured(corpus, system)}


def read(paths: list[Path]) -> Corpus:
    """Return the documents of all files, in their order, without English stop words."""
    parts = [load_corpus(DataConfig(corpus=str(path))) for path in paths]
    vocab, stopped = parts[0].vocab, stop_words("english", rests=False)
    assert all(part.vocab == vocab for part in parts)
    counts = sparse.csr_array(sparse.vstack([part.counts for part in parts]))
    kept = [place for place, word in enumerate(vocab) if word.lower() not in stopped]
    return Corpus(counts, vocab).with_words(np.array(kept))


def highest(counts: sparse.csr_array, n_words: int) -> I64:
    """Return the words of the highest mean TF-IDF, in the order of the vocabulary.

    The mean over documents of tf log(D / df), with tf the number of tokens (equation 16 of arXiv
    1605.06650).
    """
    frequency = np.asarray((counts > 0).sum(axis=0)).ravel()
    tokens = np.asarray(counts.sum(axis=0)).ravel()
    score = tokens * np.log(counts.shape[0] / np.maximum(frequency, 1))
    return np.sort(np.argsort(-score, kind="stable")[:n_words])


def _measured(corpus: Corpus, system: str) -> Record:
    with tempfile.TemporaryDirectory() as folder:
        path, run = Path(folder) / "corpus.ldac", Path(folder) / "run"
        write_corpus(corpus, path)
        for command in _commands(system, path, run):
            process.run(command)
        return {
            "documents": corpus.n_docs,
            "tokens": corpus.n_tokens,
            **coherence(RunDir.open(run).tree, corpus),
        }


def _commands(system: str, path: Path, run: Path) -> list[list[str]]:
    """Return the commands that make a run of a system from a corpus."""
    whole = ("--holdout", "none", "--run", run)
    if system == OURS:
        return [process.hiertopics("fit", path, "--backend", OURS, *whole, "-q")]
    tree = path.with_name("tree.npz")
    return [
        process.benchmarks("make-tree", system, path, path.parent, 0),
        process.hiertopics("import", tree, "--corpus", path, *whole),
    ]


def coherence(tree: Tree, corpus: Bags) -> Record:
    """Return the mean coherence of all nodes, and that of the nodes with children."""
    nodes = np.array(tree.shown)
    scores = umass(np.array([tree.top_words(node, TOP_WORDS) for node in tree.shown]), corpus)
    inner = np.isin(nodes, tree.parent[nodes])
    return {
        "topics": len(nodes),
        "umass": float(scores.mean()),
        "inner": int(inner.sum()),
        "umass_of_inner": float(scores[inner].mean()),
    }


def umass(tops: I64, corpus: Bags) -> F64:
    """Return the UMass coherence of each topic, float64 [n_topics].

    tops: word ids [n_topics, n_top], the most probable first. The sum over pairs of log((D(w, v) +
    1) / D(v)), with v before w and D the number of documents that have the words (D. Mimno et al.,
    Optimizing semantic coherence in topic models, EMNLP 2011).
    """
    words, place = np.unique(tops, return_inverse=True)
    place = place.reshape(tops.shape)
    together = documents_with_both(corpus, words)
    later, earlier = np.tril_indices(tops.shape[1], -1)
    second, first = place[:, later], place[:, earlier]
    found = np.log((together[second, first] + 1.0) / together[first, first]).sum(axis=1)
    return np.asarray(found)
