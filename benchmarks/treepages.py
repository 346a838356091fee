"""The first two levels of the trees that defaults find, uncut, for docs/trees.md."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import click
import numpy as np

from benchmarks import fits, options, records
from benchmarks.benchmark import benchmark
from benchmarks.corpora import DOCS, FILES, Source
from benchmarks.process import ROOT
from benchmarks.records import Record, latest
from benchmarks.tomotopy_tree import PEER, TomotopyTree
from benchmarks.tree_scorer import Prior
from hiertopics.runs.rundir import RunDir
from hiertopics.views.showing import show_tree

SAMPLE = "docstrings"
MODELS = {"nhdp-variational": "name", "hlda-variational": "prob", PEER: "prob"}
"""Each with the words that its nodes are shown by."""

WORDS, PEER_SWEEPS = 8, 500
KEYS = ("corpus", "model")


def pages(results: Sequence[Record]) -> str:
    """Return the trees as Markdown: model by model, the corpora of one in the order measured."""
    parts, trees = [], latest(results, *KEYS)
    for model in MODELS:
        own = [one for one in trees if one["model"] == model]
        if own:
            parts.append(f"## {model}")
        parts += [f"### {one['corpus']}\n\n```\n{one['tree'].rstrip()}\n```" for one in own]
    return "\n\n".join(parts)


@benchmark("treepages", pages)
@options.data
@click.option(
    "--corpus",
    type=click.Choice((SAMPLE, *FILES)),
    multiple=True,
    default=(SAMPLE, "psychreview", "kos", "ap", "nips", "20news-test"),
    show_default=True,
)
@click.option("--model", type=click.Choice(tuple(MODELS)), multiple=True, default=tuple(MODELS))
@click.pass_obj
def measure(
    output: Path | None, data: Path, corpus: tuple[str, ...], model: tuple[str, ...]
) -> Iterator[Record]:
    """Trees of all defaults, seed 0; what the output file already holds is not fitted again."""
    known = [] if output is None else records.read([output], "treepages")
    done = {tuple(one[key] for key in KEYS) for one in known}
    for task in product(corpus, model):
        if task not in done:
            source = SampleSource(data, task[0], DOCS)
            make = _peer if task[1] == PEER else _ours
            yield {**dict(zip(KEYS, task, strict=True)), "tree": make(source, task[1])}


class SampleSource(Source):
    """A source that knows the sample of the repository too."""

    @property
    def path(self) -> Path:
        """The file of the corpus."""
        sample = ROOT / "data-samples" / f"{SAMPLE}.ldac"
        return sample if self.corpus == SAMPLE else super().path


def _ours(source: Source, model: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        fits.fit(source, model, 0, {}, path)
        run, by = RunDir.open(path), MODELS[model]
        return show_tree(run, depth=2, words=WORDS, words_by=by, min_docs=0)


def _peer(source: Source, _: str) -> str:
    corpus, _split = source.load()
    peer = TomotopyTree(corpus.counts, 0, Prior(1.0, 0.1))
    peer.sweep(PEER_SWEEPS)
    tree = peer.tree()
    weight = np.zeros(len(tree.phi))
    for path, share in zip(tree.paths, tree.doc_shares, strict=True):
        weight[path] += share
    children = np.unique(tree.paths[:, 1])
    order = [int(tree.paths[0, 0]), *children[np.argsort(-weight[children], kind="stable")]]
    return "".join(
        f"{weight[node]:7.2%}  "
        + " ".join(corpus.vocab[word] for word in np.argsort(-tree.phi[node])[:WORDS])
        + "\n"
        for node in order
    )
