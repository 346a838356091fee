"""Held-out scores of topic trees beside tomotopy's HLDAModel."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from operator import itemgetter
from pathlib import Path
from statistics import mean

import click

from benchmarks import fits, options
from benchmarks.benchmark import benchmark
from benchmarks.corpora import Source
from benchmarks.ours import tree_model
from benchmarks.records import Record, latest
from benchmarks.table import alternatives, grouped, spread, tabulate
from benchmarks.timing import Cost
from benchmarks.tomotopy_tree import PEER, TomotopyTree
from benchmarks.tree_scorer import Prior, TreeModel, score
from hiertopics.corpus.holdouts.split import Split
from hiertopics.runs.rundir import RunDir

MODELS = (PEER, "hlda-variational", "hlda-gibbs")
PEER_SWEEPS = 500


def table(results: Sequence[Record]) -> str:
    """Return a row for each corpus, model and choice of hyperparameters, over its seeds."""
    kept = latest(results, "corpus", "split", "model", "seed", "hyperparameters")
    in_order = sorted(kept, key=itemgetter("corpus", "hyperparameters", "model"))
    return tabulate(
        {
            "corpus": lambda group: group[0]["corpus"],
            "model": lambda group: group[0]["model"],
            "hyperparameters": lambda group: group[0]["hyperparameters"],
            "sweeps": lambda group: alternatives(record["sweeps"] for record in group),
            "nodes": lambda group: alternatives(record["nodes"] for record in group),
            "perplexity": lambda group: spread([record["perplexity"] for record in group]),
            "path perplexity": lambda group: spread([one["path_perplexity"] for one in group]),
            "standard error (nats)": lambda group: (
                f"{mean(record['standard_error'] for record in group):.4f}"
            ),
            "seeds": len,
            "training, s": lambda group: f"{mean(r['train_seconds'] for r in group):.0f}",
        },
        grouped(in_order, "corpus", "hyperparameters", "model"),
    )


@benchmark("trees", table)
@options.data
@options.corpora
@options.split
@click.option("--model", type=click.Choice(MODELS), multiple=True, default=MODELS)
@options.seeds
@options.gamma
@options.eta
def measure(
    data: Path,
    corpus: tuple[str, ...],
    split: str,
    model: tuple[str, ...],
    seed: tuple[int, ...],
    gamma: float,
    eta: float,
) -> Iterator[Record]:
    """Held-out perplexity of topic trees of depth 3 beside tomotopy's."""
    prior = Prior(gamma, eta)
    for number, corpus_name, name in product(seed, corpus, model):
        source = Source(data, corpus_name, split)
        train = _train_peer if name == PEER else _train_ours
        yield {
            **source.about,
            "model": name,
            "seed": number,
            "hyperparameters": f"gamma {gamma:g}, eta {eta:g}",
            **train(source, name, number, prior),
        }


def _train_peer(source: Source, _: str, seed: int, prior: Prior) -> Record:
    corpus, split = source.load()
    peer = TomotopyTree(corpus.counts, seed, prior)
    with Cost() as cost:
        peer.sweep(PEER_SWEEPS)
    return {"sweeps": PEER_SWEEPS, **cost.record, **_scored(peer.tree(), split)}


def _train_ours(source: Source, backend: str, seed: int, prior: Prior) -> Record:
    settings = {f"model.{key}": json.dumps(value) for key, value in prior.settings.items()}
    with tempfile.TemporaryDirectory() as folder:
        fit = fits.fit(source, backend, seed, settings, Path(folder) / "run")
        run = RunDir.open(Path(folder) / "run")
        return {
            "sweeps": run.manifest["iterations"],
            "train_seconds": run.manifest["wall_seconds"],
            **fit.record,
            **_scored(tree_model(run), run.split),
        }


def _scored(tree: TreeModel, split: Split) -> Record:
    return {"nodes": tree.n_nodes, "split_hash": split.hash, **score(tree, split)._asdict()}
