"""Our side: a backend stepped in this process, and a run directory read as the scorer wants it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.scorer import TopicModel
from hiertopics import registry
from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import NODE
from hiertopics.engine import Workers
from hiertopics.fitting.loop import iterate
from hiertopics.holdouts.split import Split
from hiertopics.model import Context, Settings

NEVER = 2**62  # iterations between two computations of the objective, which is not timed
PERIOD = 20  # sweeps that hold two recounts and one update of hdp-cvb0: a fair measurement
BURN_IN = 20  # past the 15 iterations for which hyperparameters are held


class OurBackend:
    """A backend being fitted; a sweep is one whole iteration, hyperparameters included."""

    def __init__(
        self, name: str, corpus: Corpus, truncation: int, *, shards: int = 1, workers: int = 1
    ) -> None:
        """Lay the corpus out and make the first state."""
        self._backend = registry.load(name)
        size = {"truncation", "n_topics"} & set(self._backend.Model.__struct_fields__)
        model = self._backend.Model(**dict.fromkeys(size, truncation))
        self._settings = Settings(model, self._backend.Inference(shards=shards))
        self._data = self._backend.prepare(corpus, self._settings)
        pool = Workers(workers)
        self._state = self._backend.init(self._data, self._settings, Context(0, 0, pool))
        self._events = iterate(
            self._backend,
            self._state,
            self._data,
            self._settings,
            seed=0,
            record_every=NEVER,
            workers=pool,
        )

    def sweep(self, n_sweeps: int = 1) -> None:
        """Do ``n_sweeps`` iterations."""
        for _ in range(n_sweeps):
            self._state = next(self._events).state

    def live_topics(self) -> int:
        """Return the number of topics that a run would write."""
        summary: Any = self._backend.summarise(self._state, self._data, self._settings)
        return len(summary.tree.shown)


class FittedRun(NamedTuple):
    """A run directory as the scorer wants it.

    The model's last row may be what lies outside the topics; it is not one of ``n_topics``.
    """

    model: TopicModel
    split: Split
    n_topics: int


def our_backend(
    name: str, corpus: Corpus, truncation: int, *, shards: int = 1, workers: int = 1
) -> OurBackend:
    """Return backend ``name`` compiled and past its burn-in, ready to be timed."""
    backend = OurBackend(name, corpus, truncation, shards=shards, workers=workers)
    backend.sweep(BURN_IN)
    return backend


def read_run(run: Path) -> FittedRun:
    """Read a run directory."""
    with np.load(run / "model.npz") as model:
        phi, weight, kind = model["phi"], model["weight"], model["kind"]
    theta = sparse.load_npz(run / "theta.npz").toarray()
    with np.load(run / "split.npz") as arrays:
        split = Split.from_arrays(dict(arrays))
    return FittedRun(TopicModel(phi, weight, theta), split, int((kind == NODE).sum()))
