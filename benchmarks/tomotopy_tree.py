"""The peers of our topic trees: tomotopy's HLDAModel, and its Pachinko allocation models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.peers import TomotopyModel
from benchmarks.tree_scorer import Prior, TreeModel
from hiertopics.base.arrays import F64, I64
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


SUPER_TOPICS, SUB_TOPICS = 10, 100


class Pachinko(TomotopyModel):
    """PAModel or HPAModel; a sweep is one Gibbs iteration.

    hierarchical: HPAModel, whose root and super-topics have words of their own.
    """

    def __init__(self, counts: sparse.csr_array, seed: int, *, hierarchical: bool) -> None:
        """Hand the documents over."""
        import tomotopy

        kind = tomotopy.HPAModel if hierarchical else tomotopy.PAModel
        self._hierarchical = hierarchical
        super().__init__(kind(k1=SUPER_TOPICS, k2=SUB_TOPICS, seed=seed), counts)

    def parts(self, vocab: Sequence[str]) -> dict[str, Any]:
        """Return the last draw as a tree for ``hiertopics import``, words by name.

        Node 0 is the root, below it stand the super-topics. Every topic stands below the one
        super-topic that has most of its tokens: the model lets all super-topics share all topics.
        Nodes without a token at or below them are left out.
        """
        held = np.zeros((self._n_docs, 1 + SUPER_TOPICS + SUB_TOPICS))
        pairs = np.zeros((SUPER_TOPICS, SUB_TOPICS), dtype=np.int64)
        for row, document in zip(self._rows, self._model.docs, strict=True):
            above, below = np.array(document.topics), np.array(document.subtopics)
            if not self._hierarchical:  # no token stays above the topics
                above, below = above + 1, below + 1
            node = np.where(below > 0, SUPER_TOPICS + below, above)
            np.add.at(held[row], node, 1.0)
            at_topic = below > 0
            np.add.at(pairs, (above[at_topic] - 1, below[at_topic] - 1), 1)
        parent = np.concatenate([[-1], np.zeros(SUPER_TOPICS, int), 1 + pairs.argmax(axis=0)])
        return self._pruned(parent, held, vocab)

    def _pruned(self, parent: I64, held: F64, vocab: Sequence[str]) -> dict[str, Any]:
        tokens = held.sum(axis=0)
        below = tokens.copy()
        for node in range(len(parent) - 1, 0, -1):  # parents stand before their children
            below[parent[node]] += below[node]
        kept = np.flatnonzero(below > 0)
        place = np.full(len(parent), -1)
        place[kept] = np.arange(len(kept))
        theta = held[:, kept]
        theta[theta.sum(axis=1) == 0, 0] = 1.0
        return {
            "parent": np.where(kept > 0, place[parent[kept]], -1),
            "theta": theta / theta.sum(axis=1, keepdims=True),
            "phi": self._words(parent, tokens)[kept],
            "vocab": list(vocab),
        }

    def _words(self, parent: I64, tokens: F64) -> F64:
        """Return the word distributions of all nodes; without words of its own: of those below."""
        first = 0 if self._hierarchical else 1 + SUPER_TOPICS
        phi = np.zeros((len(parent), self._n_words))
        phi[first:] = self.phi(range(len(parent) - first))
        if first:
            own = phi * tokens[:, None]
            for node in range(len(parent) - 1, 0, -1):
                own[parent[node]] += own[node]
            totals = own[:first].sum(axis=1, keepdims=True)
            phi[:first] = own[:first] / np.maximum(totals, 1e-300)
        return phi
