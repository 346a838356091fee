"""Topic trees to be compared: tomotopy's HLDAModel, and our backends of the nested CRP.

Every one of them is given the same depth and the same hyperparameters.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.peers import TomotopyModel
from benchmarks.tree_scorer import TreeModel
from hiertopics import registry
from hiertopics.data.corpus import Corpus
from hiertopics.data.tree import NODE
from hiertopics.engine import Workers
from hiertopics.fitting.loop import iterate
from hiertopics.holdouts.split import Split
from hiertopics.model import Context, Settings

PLAIN = "-plain"
NEVER = 2**62  # iterations between two computations of the objective, which is not timed


class Prior(NamedTuple):
    """Hyperparameters that all trees of a comparison share; alpha: the level prior [depth]."""

    alpha: tuple[float, ...] = (1.0, 1.0, 1.0)
    gamma: float = 1.0
    eta: float = 0.1


class TomotopyTree(TomotopyModel):
    """HLDAModel; a sweep is one Gibbs iteration over all documents."""

    def __init__(self, counts: sparse.csr_array, seed: int, prior: Prior) -> None:
        """Hand the documents over."""
        import tomotopy

        model = tomotopy.HLDAModel(
            depth=len(prior.alpha),
            alpha=list(prior.alpha),
            gamma=prior.gamma,
            eta=prior.eta,
            seed=seed,
        )
        super().__init__(model, counts)

    def _live(self) -> list[int]:
        return [topic for topic in range(self._model.k) if self._model.is_live_topic(topic)]

    def tree(self) -> TreeModel:
        """Return the current state as the scorer wants it."""
        live = self._live()
        row = {topic: place for place, topic in enumerate(live)}
        level = [self._model.level(topic) for topic in live]
        leaves = [topic for topic in live if self._model.level(topic) == max(level)]
        tokens = np.array(self._model.get_count_by_topics(), dtype=np.float64)[live]
        docs = np.array([self._model.num_docs_of_topic(leaf) for leaf in leaves], dtype=np.float64)
        return TreeModel(
            self.phi(live),
            np.array([[row[topic] for topic in self._path(leaf)] for leaf in leaves]),
            docs / docs.sum(),
            np.bincount(level, tokens) / tokens.sum(),
            len(live),
        )

    def _path(self, leaf: int) -> list[int]:
        path = [leaf]
        while self._model.level(path[0]) > 0:
            path.insert(0, self._model.parent_topic(path[0]))
        return path


class OurTree:
    """A backend of ours being fitted; a sweep is one whole iteration, moves included.

    ``hlda-gibbs-plain`` is hlda-gibbs as the peer is: documents are seated one by one at the start,
    and there are no leaps and grafts.
    """

    def __init__(self, name: str, corpus: Corpus, seed: int, prior: Prior) -> None:
        """Lay the corpus out and make the first state."""
        self._backend = registry.load(name.removesuffix(PLAIN))
        model = self._backend.Model(
            depth=len(prior.alpha),
            level_prior=list(prior.alpha),
            gamma=prior.gamma,
            eta=prior.eta,
        )
        plain = {"start": "sequential", "leap_every": 0, "graft_every": 0}
        inference = self._backend.Inference(**(plain if name.endswith(PLAIN) else {}))
        self._settings = Settings(model, inference)
        self._data = self._backend.prepare(corpus, self._settings)
        pool = Workers(1)
        self._state = self._backend.init(self._data, self._settings, Context(seed, 0, pool))
        self._events = iterate(
            self._backend,
            self._state,
            self._data,
            self._settings,
            seed=seed,
            record_every=NEVER,
            workers=pool,
        )

    def sweep(self, n_sweeps: int = 1) -> None:
        """Do ``n_sweeps`` iterations."""
        for _ in range(n_sweeps):
            self._state = next(self._events).state

    def live_topics(self) -> int:
        """Return the number of nodes that a run would write."""
        summary: Any = self._backend.summarise(self._state, self._data, self._settings)
        return len(summary.tree.shown)


def read_tree(run: Path) -> tuple[TreeModel, Split]:
    """Read a run directory; paths are the best ones of its training documents."""
    with np.load(run / "model.npz") as model:
        phi, weight, kind = model["phi"], model["weight"], model["kind"]
    with np.load(run / "paths.npz") as arrays:
        best = arrays["node"]
    with np.load(run / "split.npz") as arrays:
        split = Split.from_arrays(dict(arrays))
    nodes = json.loads((run / "tree.json").read_text(encoding="utf-8"))["nodes"]
    live = kind == NODE
    uniform = np.full((1, phi.shape[1]), 1 / phi.shape[1])
    paths, docs = np.unique(best, axis=0, return_counts=True)
    level = np.array([node["depth"] for node in nodes])
    return (
        TreeModel(
            np.vstack([phi[live], uniform]),
            np.where(paths < 0, live.sum(), paths).astype(np.int64),
            docs / docs.sum(),
            _shares(level, weight[live]),
            int(live.sum()),
        ),
        split,
    )


def _shares(level: NDArray[np.int64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.bincount(level, weight)
    return shares / shares.sum()
