"""The peer of our topic trees, tomotopy's HLDAModel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.peers import TomotopyModel
from benchmarks.tree_scorer import Prior, TreeModel
from hiertopics.corpus.formats.othermodels import parts_of_tomotopy

PEER = "tomotopy-hlda"


class TomotopyTree(TomotopyModel):
    """HLDAModel; a sweep is one Gibbs iteration over all documents."""

    def __init__(self, counts: sparse.csr_array, seed: int, prior: Prior) -> None:
        """Hand the documents over."""
        import tomotopy

        alpha = list(prior.level_prior)
        model = tomotopy.HLDAModel(
            depth=len(alpha), alpha=alpha, gamma=prior.gamma, eta=prior.eta, seed=seed
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

    def parts(self, vocab: Sequence[str]) -> dict[str, Any]:
        """Return the current state as ``hiertopics import`` wants it, words by name.

        A document without words, which tomotopy does not take, is the root's.
        """
        parts = parts_of_tomotopy(self._model)
        theta = np.zeros((self._n_docs, len(parts["parent"])))
        theta[:, parts["parent"].index(-1)] = 1.0
        theta[self._rows] = parts["theta"]
        words = [vocab[int(column)] for column in parts["vocab"]]
        return {**parts, "theta": theta, "vocab": words}

    def _path(self, leaf: int) -> list[int]:
        path = [leaf]
        while self._model.level(path[0]) > 0:
            path.insert(0, self._model.parent_topic(path[0]))
        return path
