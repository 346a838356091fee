"""Our side: a backend stepped in this process, and a run directory read as the scorers want it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scorer import TopicModel
from benchmarks.tree_scorer import Prior, TreeModel
from hiertopics.base.arrays import F64, I32
from hiertopics.contract import registry
from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Context, Settings
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.shelf import Bags
from hiertopics.corpus.holdouts.split import Split
from hiertopics.fitting.loop import iterate
from hiertopics.runs.rundir import RunDir

SPEED_BACKENDS = ("hdp-cvb0", "hdp-pcvb0")
NEVER = 2**62  # iterations between two computations of the objective, which is not timed
PERIOD = 20  # sweeps that hold two recounts and one update of hdp-cvb0: a fair measurement
BURN_IN = 20  # past the 15 iterations for which hyperparameters are held
PLAIN = "-plain"


class OurBackend:
    """A backend being fitted; a sweep is one whole iteration, hyperparameters and moves included.

    name: a backend. corpus: what it is fitted to, from seed 0. settings: of the backend's types.
    """

    def __init__(self, name: str, corpus: Bags, settings: Settings, workers: int = 1) -> None:
        """Lay the corpus out and make the first state."""
        self._settings = settings
        self._backend = registry.load(name, model=settings.model, inference=settings.inference)
        self._data = self._backend.prepare(corpus, settings)
        pool = Workers(workers)
        self._state = self._backend.init(self._data, settings, Context(0, 0, pool))
        self._events = iterate(
            self._backend,
            self._state,
            self._data,
            settings,
            seed=0,
            record_every=NEVER,
            workers=pool,
        )

    def sweep(self, n_sweeps: int = 1) -> None:
        """Do ``n_sweeps`` iterations."""
        for _ in range(n_sweeps):
            self._state = next(self._events).state

    def live_topics(self) -> int:
        """Return the number of topics, or nodes, that a run would write."""
        summary: Any = self._backend.summarise(
            self._state, self._data, self._settings, Context(0, 0, Workers())
        )
        return len(summary.tree.shown)


def our_backend(
    name: str, corpus: Corpus, truncation: int, *, shards: int = 1, workers: int = 1
) -> OurBackend:
    """Return flat backend ``name`` compiled and past its burn-in, ready to be timed."""
    settings = settings_at(name, truncation, shards=shards)
    system = OurBackend(name, corpus, settings, workers)
    system.sweep(BURN_IN)
    return system


def settings_at(name: str, truncation: int, **inference: Any) -> Settings:
    """Return settings of flat backend ``name`` for so many topics, its defaults otherwise."""
    backend = registry.load(name)
    size = {"truncation", "n_topics"} & set(backend.Model.__struct_fields__)
    return Settings(
        backend.Model(**dict.fromkeys(size, truncation)), backend.Inference(**inference)
    )


def our_tree(name: str, corpus: Corpus, prior: Prior) -> OurBackend:
    """Return backend ``name`` of the nested CRP at its start.

    ``hlda-gibbs-plain`` is hlda-gibbs as the peer is: documents are seated one by one at the start,
    and there are no leaps and grafts.
    """
    backend = registry.load(name.removesuffix(PLAIN))
    plain: dict[str, Any] = {"start": "sequential", "leap_every": 0, "graft_every": 0}
    inference = backend.Inference(**(plain if name.endswith(PLAIN) else {}))
    return OurBackend(
        name.removesuffix(PLAIN), corpus, Settings(backend.Model(**prior.settings), inference)
    )


def open_run(path: Path, split: Split) -> RunDir:
    """Open a run; raises ValueError if it was fitted on another split than ``split``."""
    run = RunDir.open(path)
    if run.split.hash != split.hash:
        raise ValueError(f"{path} has split {run.split.hash}, not {split.hash}")
    return run


def topic_model(run: RunDir) -> TopicModel:
    """Return a run's topics; the last row may be what lies outside the topics."""
    return TopicModel(run.tree.phi, run.tree.weight, run.theta.toarray())


def tree_model(run: RunDir) -> TreeModel:
    """Return a run's tree; paths are the best ones of its training documents."""
    tree, live = run.tree, run.tree.shown
    assert run.paths is not None
    paths, docs = np.unique(run.paths.node, axis=0, return_counts=True)
    uniform = np.full((1, tree.n_columns), 1 / tree.n_columns)
    return TreeModel(
        np.vstack([tree.phi[live], uniform]),
        np.where(paths < 0, len(live), paths).astype(np.int64),
        docs / docs.sum(),
        _level_shares(tree.depth[live], tree.weight[live]),
        len(live),
    )


def _level_shares(level: I32, weight: F64) -> F64:
    shares = np.bincount(level, weight)
    return np.asarray(shares / shares.sum())
