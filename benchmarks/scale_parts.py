"""What runs in the processes that ``scale`` starts: parts of a corpus, scores, peers, costs."""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import scorer
from benchmarks.ours import OurBackend, open_run
from benchmarks.peers import PEERS
from benchmarks.records import Record
from benchmarks.scorer import TopicModel
from benchmarks.timing import Timed, alternate, paired
from hiertopics.base.room import Room
from hiertopics.contract.model import Settings
from hiertopics.corpus.data.shelf import Shelf
from hiertopics.corpus.formats.shards import open_shelf, write_bags
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.holdouts.spec import parse_holdout
from hiertopics.corpus.holdouts.split import Split, make_split
from hiertopics.families.hdp import blocks
from hiertopics.families.hdp.gibbs import Inference, Model as Hdp


def take(shards: Path, path: Path, n_tokens: int) -> int:
    """Write random documents of about so many tokens, all over the same words.

    Return how many tokens there are: fewer where the corpus has no more.
    """
    shelf = open_shelf(Source(shards))
    order = np.random.default_rng(0).permutation(shelf.n_docs)
    within = np.cumsum(shelf.doc_lengths[order]) <= n_tokens
    part = shelf.select(np.sort(order[within]))
    write_bags(part, path)
    return part.n_tokens


def score(shards: Path, spec: str, path: Path) -> Record:
    """Score a run on shards; raises ValueError if it was fitted on another split."""
    _, split = make_split(open_shelf(Source(shards)), parse_holdout(spec))
    run = open_run(path, split)
    model = TopicModel(run.tree.phi, run.tree.weight)
    return {"topics": len(run.tree.shown), **_scored(model, split)}


def train(shards: Path, spec: str, name: str, seconds: float) -> Record:
    """Train a peer, sweep by sweep, until ``seconds`` of processor time are over; score it."""
    train, split = make_split(open_shelf(Source(shards)), parse_holdout(spec))
    counts = train.counts
    peer = PEERS[name].start(counts, 0)
    began, sweeps, spent = _spent(), 0, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while not sweeps or _spent() + spent / sweeps < seconds:
            peer.sweep()
            sweeps, spent = sweeps + 1, _spent() - began
    return {
        "sweeps": sweeps,
        "tokens_per_second": sweeps * train.n_tokens / spent,
        "topics": peer.live_topics(),
        **_scored(peer.model(), split),
    }


def _scored(model: TopicModel, split: Split) -> Record:
    """Return the score by the benchmark's rules; its sizes are those of what was scored."""
    found = scorer.score(model, split)._asdict()
    return {f"scored_{name}" if name.startswith("n_") else name: v for name, v in found.items()}


def costs(
    work: Path, shards: Sequence[Path], truncation: int, burn_in: int, rounds: int
) -> Iterator[Record]:
    """Yield what a token costs at each size: whole iterations in turn, processor time, one thread.

    And what of it is drawing topics, whose cost does not grow with tokens.
    """
    settings = Settings(Hdp(truncation=truncation), Inference(collapse="partial"))
    shelves = [replace(open_shelf(Source(path)), room=Room(work)) for path in shards]
    systems = [_Drawing(shelf, settings) for shelf in shelves]
    for system in systems:
        system.sweep(burn_in)
        system.drawing.clear()
        system.changed.clear()
    found = alternate(
        {number: Timed(system, 1) for number, system in enumerate(systems)},
        rounds,
        clock="processor",
    )
    per_token = [
        [seconds / shelf.n_tokens for seconds in found.seconds[number]]
        for number, shelf in enumerate(shelves)
    ]
    base = sorted(range(len(shelves)), key=lambda number: shelves[number].n_tokens)[-2:][0]
    for number, (system, shelf) in enumerate(zip(systems, shelves, strict=True)):
        yield {
            "n_tokens": shelf.n_tokens,
            "n_words": shelf.n_words,
            "truncation": truncation,
            "burn_in": burn_in,
            **found.about,
            "seconds": found.seconds[number],
            "nanoseconds": 1e9 * median(per_token[number]),
            "drawing_nanoseconds": 1e9 * median(system.drawing) / shelf.n_tokens,
            "changed_share": median(system.changed) / shelf.n_tokens,
            "ratio": paired(per_token[number], per_token[base]),
        }


class _Drawing:
    """Our backend on shards; how long it draws topics and how many counts change is noted."""

    def __init__(self, shelf: Shelf, settings: Settings[Any, Any]) -> None:
        self.drawing: list[float] = []
        self.changed: list[int] = []
        self._system = OurBackend("hdp-gibbs", shelf, settings)

    def sweep(self, n_sweeps: int = 1) -> None:
        """Do some iterations."""
        draw, add = blocks.draw_topics, blocks.add_results

        def timed(*arguments: Any) -> Any:
            began = time.process_time()
            result = draw(*arguments)
            self.drawing.append(time.process_time() - began)
            return result

        def counted(answers: Any, *others: Any) -> Any:
            changes = [len(one.cells) or int(np.count_nonzero(one.amounts)) for one in answers]
            self.changed.append(sum(changes))
            return add(answers, *others)

        with mock.patch.multiple(blocks, draw_topics=timed, add_results=counted):
            self._system.sweep(n_sweeps)


def _spent() -> float:
    """Return the processor time of this process and of those that it began and that ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
