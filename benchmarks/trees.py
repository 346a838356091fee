"""Topic trees beside tomotopy's HLDAModel: held-out scores, and sweeps timed in turn."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks import corpora, process
from benchmarks.machine import pinned
from benchmarks.records import Record
from benchmarks.splits import load_split
from benchmarks.timing import Cost, Timed, alternate, paired
from benchmarks.tree_models import OurTree, Prior, TomotopyTree, read_tree
from benchmarks.tree_scorer import TreeModel, score
from hiertopics.holdouts.split import Split

PEER = "tomotopy-hlda"
OURS = ("hlda-variational", "hlda-gibbs")
PEER_SWEEPS = 500
BURN_IN = 60


def quality(
    data: Path,
    corpus_names: Sequence[str],
    split_spec: str,
    models: Sequence[str],
    seeds: Sequence[int],
    prior: Prior,
) -> Iterator[Record]:
    """Train each model on each corpus and score its tree."""
    for seed in seeds:
        for corpus_name in corpus_names:
            for model in models:
                about = {"corpus": corpus_name, "split": split_spec, "model": model, "seed": seed}
                train = _train_peer if model == PEER else _train_ours
                yield {
                    **about,
                    "hyperparameters": f"gamma {prior.gamma:g}, eta {prior.eta:g}",
                    **train(data, corpus_name, split_spec, model, seed, prior),
                }


def _train_peer(
    data: Path, corpus_name: str, split_spec: str, _: str, seed: int, prior: Prior
) -> Record:
    corpus, split = load_split(corpora.load(data, corpus_name), split_spec)
    peer = TomotopyTree(corpus.counts, seed, prior)
    with Cost() as cost:
        peer.sweep(PEER_SWEEPS)
    return {"sweeps": PEER_SWEEPS, **cost.record, **_scored(peer.tree(), split)}


def _train_ours(
    data: Path, corpus_name: str, split_spec: str, model: str, seed: int, prior: Prior
) -> Record:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        settings = {
            "model.depth": len(prior.alpha),
            "model.level_prior": json.dumps(prior.alpha),
            "model.gamma": prior.gamma,
            "model.eta": prior.eta,
        }
        changes = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
        fit = ("fit", corpora.path(data, corpus_name), "-b", model, "--holdout", split_spec)
        changes += corpora.settings(corpus_name)
        process.run(process.hiertopics(*fit, "--seed", seed, "-o", run, "-q", *changes))
        manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
        return {
            "sweeps": manifest["iterations"],
            "train_seconds": manifest["wall_seconds"],
            **_scored(*read_tree(run)),
        }


def _scored(tree: TreeModel, split: Split) -> Record:
    return {"nodes": tree.n_nodes, "split_hash": split.hash, **score(tree, split)._asdict()}


def speed(
    data: Path,
    corpus_name: str,
    split_spec: str,
    backends: Sequence[str],
    n_rounds: int,
    prior: Prior,
) -> list[Record]:
    """Time one iteration of every backend beside one of the peer, in turn, on one core."""
    corpus, _ = load_split(corpora.load(data, corpus_name), split_spec)
    with pinned():
        systems: dict[str, OurTree | TomotopyTree] = {
            name: OurTree(name, corpus, 0, prior) for name in backends
        }
        systems[PEER] = TomotopyTree(corpus.counts, 0, prior)
        for system in systems.values():
            system.sweep(BURN_IN)
        rounds = alternate({name: Timed(system, 5) for name, system in systems.items()}, n_rounds)
    return [
        {
            "corpus": corpus_name,
            "split": split_spec,
            "system": name,
            "nodes": system.live_topics(),
            "core_share": rounds.core_share,
            "seconds_per_sweep": rounds.seconds[name],
            "tokens_per_second": corpus.n_tokens / median(rounds.seconds[name]),
            "time_ratio": paired(rounds.seconds[name], rounds.seconds[PEER]),
        }
        for name, system in systems.items()
    ]
