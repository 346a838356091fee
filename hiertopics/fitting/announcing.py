"""What a user is told before the first iteration of a fit."""

from __future__ import annotations

from collections.abc import Iterator

from hiertopics import registry
from hiertopics.corpora.observations import observed_by
from hiertopics.data import pruning
from hiertopics.data.corpus import Corpus
from hiertopics.data.shape import in_words, shape_of
from hiertopics.holdouts.split import Split
from hiertopics.model import Settings
from hiertopics.runs.manifest import Origin
from hiertopics.units import format_bytes


def announced(origin: Origin, split: Split, n_workers: int) -> Iterator[str]:
    """Yield lines: sizes, what is held out and the memory needed, then the notes on all that."""
    experiment, train = origin.experiment, origin.train
    settings = Settings(experiment.model, experiment.inference)
    yield (
        f"{experiment.backend} on {experiment.data.corpus}: "
        f"{in_words(shape_of(train))}; "
        f"{observed_by(experiment).aside(split)} held out "
        f"({experiment.data.holdout}); about "
        f"{format_bytes(registry.load_for(experiment).memory(train, settings))} of arrays"
    )
    about_words = pruning.notes(train) if isinstance(train, Corpus) else ()
    for note in (*origin.whole.notes, *about_words):
        yield f"note: {note}"
    shards = experiment.inference.shards
    n_parts = max(shards, getattr(experiment.inference, "chains", 1))
    if n_workers > n_parts:
        yield (
            f"note: {n_workers} workers share {shards} shards, so that "
            f"{n_workers - n_parts} have nothing to do in the fit; "
            "-s inference.shards=N makes N parts"
        )
