"""Held-out scores of our backends as users get them, paired by document with those of one of them.

Every fit is the whole command with its defaults but for the settings in ``MODELS``, scored by the
protocol ``completion``, a sampler by the mean of its draws.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from operator import itemgetter
from pathlib import Path
from statistics import mean

import click
import numpy as np

from benchmarks import fits, options, process, records
from benchmarks.benchmark import benchmark
from benchmarks.corpora import Source
from benchmarks.records import Record, latest
from benchmarks.table import alternatives, grouped, spread, tabulate
from hiertopics.base import archives
from hiertopics.base.arrays import F64
from hiertopics.runs.rundir import RunDir

MODELS: dict[str, tuple[str, dict[str, object]]] = {
    "nhdp-variational": ("nhdp-variational", {}),
    "drawn start": ("nhdp-variational", {"inference.start": "random"}),
    "hdp-cvb0": ("hdp-cvb0", {}),
    "chdp-variational": ("chdp-variational", {}),
    "one level": ("nhdp-variational", {"model.branches": "[]"}),
    "hlda-variational": ("hlda-variational", {}),
    "nhdp-gibbs": ("nhdp-gibbs", {}),
    "one level, drawn": ("nhdp-gibbs", {"model.branches": "[]"}),
    "hdp-gibbs": ("hdp-gibbs", {"model.truncation": 500}),
}
"""``one level``: the flat model with the eta and the inference of the tree; ``drawn``: sampled.

``hdp-gibbs`` has as many topics as the tree has leaves at most.
"""

SAMPLERS = ("nhdp-gibbs", "hdp-gibbs")
TREES = dict.fromkeys(("one level, drawn", "hdp-gibbs"), "nhdp-gibbs")
"""Which tree a model is paired with, where it is not that of all defaults."""
USUAL = ("nhdp-variational", "hdp-cvb0", "chdp-variational", "one level")
KEYS = ("corpus", "split", "model", "seed")
SPLITS = ("docs:0.1@0", "docs:0.1@2")
GIVES, MOST_DOCUMENTS = 0.02, 0.5


def table(results: Sequence[Record]) -> str:
    """Return a row for each corpus, split and model, over the seeds that all of its rows have."""
    kept = sorted(latest(results, *KEYS), key=itemgetter("corpus", "split"))
    by_key = {tuple(one[key] for key in KEYS): one for one in kept}
    return tabulate(
        {
            "corpus": lambda group: group[0]["corpus"],
            "split": lambda group: group[0]["split"],
            "model": lambda group: group[0]["model"],
            "seeds": len,
            "perplexity": lambda group: spread([one["perplexity"] for one in group]),
            "ahead": lambda group: _ahead(by_key, group),
            "nodes": lambda group: alternatives(one["nodes"] for one in group),
            "branches": lambda group: alternatives(one["branches"] for one in group),
            "child NPMI": lambda group: _mean(group, "parent_child_npmi"),
            "affinity": lambda group: _mean(group, "affinity_ratio"),
            "general": lambda group: _mean(group, "general"),
            "processor time, s": lambda group: (
                f"{mean(one['command_cpu_seconds'] for one in group):.0f}"
            ),
        },
        grouped(kept, "corpus", "split", "model"),
    )


def _mean(group: Sequence[Record], name: str) -> str:
    values = [one[name] for one in group if one[name] is not None]
    return f"{mean(values):.3f}" if values else ""


def _ahead(by_key: Mapping[tuple[object, ...], Record], group: Sequence[Record]) -> str:
    """Return by how many nats per word the tree is ahead, seeds averaged by document."""
    tree = TREES.get(group[0]["model"], USUAL[0])
    keys = [tuple({**one, "model": tree}[key] for key in KEYS) for one in group]
    pairs = [(by_key[key], one) for key, one in zip(keys, group, strict=True) if key in by_key]
    if group[0]["model"] == tree or not pairs:
        return ""
    ahead, error = difference(pairs)
    return f"{ahead:+.4f} ± {error:.4f}"


def difference(pairs: Sequence[tuple[Record, Record]]) -> tuple[float, float]:
    """Return mean and standard error, over documents, of what the first of each pair gains.

    In nats per word. Each pair is of one seed and split, the documents in the same order.
    """
    gains = [np.subtract(one["log_likelihood"], other["log_likelihood"]) for one, other in pairs]
    lengths = np.array(pairs[0][0]["n_scored"], float)
    gained = np.mean(gains, axis=0)
    per_word = float(gained.sum() / lengths.sum())
    error = np.sqrt(((gained - per_word * lengths) ** 2).sum()) / lengths.sum()
    return per_word, float(error)


@benchmark("paired", table)
@options.data
@options.corpora
@click.option("--split", multiple=True, default=SPLITS, show_default=True)
@click.option("--model", type=click.Choice(tuple(MODELS)), multiple=True, default=USUAL)
@options.seeds
@click.pass_obj
def measure(
    output: Path | None,
    data: Path,
    corpus: tuple[str, ...],
    split: tuple[str, ...],
    model: tuple[str, ...],
    seed: tuple[int, ...],
) -> Iterator[Record]:
    """Trees beside flat topics, paired; what the output file already holds is not done again."""
    known = [] if output is None else records.read([output], "paired")
    done = {tuple(one[key] for key in KEYS) for one in known}
    wanted = product(corpus, seed, split, model)
    tasks = [(c, s, m, n) for c, n, s, m in wanted if (c, s, m, n) not in done]
    click.echo(f"{len(tasks)} models to train", err=True)
    for task in tasks:
        source = Source(data, *task[:2])
        yield {**dict(zip(KEYS, task, strict=True)), **_scored(source, task[2], task[3])}


def _scored(source: Source, model: str, seed: int) -> Record:
    backend, settings = MODELS[model]
    average = ("--average",) if backend in SAMPLERS else ()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        fit = fits.fit(source, backend, seed, settings, path)
        said = process.run(process.hiertopics("eval", path, "--heldout", "--json", *average))
        score, run = json.loads(said.stdout), RunDir.open(path)
        name = "completion-average=True" if average else "completion"
        arrays = archives.read_npz(path / "eval" / f"{name}.npz")
        scored = archives.unpack_csr("scored", arrays)
        child, other = score["affinity_child"], score["affinity_non_child"]
        return {
            "perplexity": score["perplexity"],
            "parent_child_npmi": score["parent_child_npmi"],
            "affinity_ratio": None if child is None or not other else child / other,
            "coherence_npmi": score["coherence_npmi"],
            "split_hash": score["split"],
            "nodes": len(run.tree.shown),
            "branches": int((run.tree.depth == 1).sum()),
            "general": general(run),
            "log_likelihood": np.round(arrays["log_likelihood"], 4).tolist(),
            "n_scored": np.asarray(scored.sum(axis=1)).ravel().tolist(),
            **fit.record,
        }


def general(run: RunDir) -> float | None:
    """Return the share of the tokens in the largest branch that most documents give 2% or more."""
    tree = run.tree
    branches = tree.shown[tree.depth[tree.shown] == 1]
    if not len(branches):
        return None
    theta: F64 = tree.below(run.theta.toarray().T).T
    common = (theta[:, branches] >= GIVES).mean(axis=0) > MOST_DOCUMENTS
    return float(tree.subtree_weight[branches[common]].max(initial=0.0))
