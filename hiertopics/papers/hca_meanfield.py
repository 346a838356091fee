"""hca-variational under mean field: coordinates and path of a row apart, as in the paper.

C. Wang, D. Blei: Variational inference for the nested Chinese restaurant process, NIPS 2009,
section 5. What differs from ``variational``: q of slots is a parameter of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64
from hiertopics.base.axes import Axes
from hiertopics.contract.model import Context, Posterior, without
from hiertopics.corpus.data import NODE, Tree, Vectors
from hiertopics.families.hca import state as structured
from hiertopics.families.hca.config import Model, Settings
from hiertopics.families.hca.kernels import RowSums, VectorGlobals, meanfield_scores, meanfield_step
from hiertopics.families.hca.state import DataRows, RowPassMessage, globals_of
from hiertopics.families.hca.variational import given_by, variational, where
from hiertopics.families.nested.tree_state import MeanField

ROUNDS = 20
"""Local rounds of new rows (theory/ncrp 7)."""


class Local(NamedTuple):
    """Per-row state of a piece: probabilities of slots."""

    chances: Annotated[F64, Axes("n_docs", "n_nodes", least=0)]


@dataclass(kw_only=True)
class State(MeanField, structured.State):
    """The variational parameters."""

    Local: ClassVar[Callable[..., Any]] = Local

    @staticmethod
    def begun(n_docs: int) -> dict[str, F64]:
        """Return the first state of pieces, by name, for a tree of one node.

        chances: float64 [n_docs, 1].
        """
        return {"chances": np.zeros((n_docs, 1))}

    def globals(self, model: Model, log_mass: F64 | None = None) -> VectorGlobals:
        """Return the globals that local steps need; see ``globals_of``."""
        return globals_of(self, model, log_mass)

    def given(self, model: Model, rounds: int) -> RowPassMessage:
        """Return the message of a pass to the rows."""
        return RowPassMessage(self.globals(model), rounds, _visit, _scores)

    def slot_chances(self, model: Model) -> F64:
        """Return q of slots for the training rows, float64 [n_docs, n_nodes]."""
        return self.chances


def _visit(rows: DataRows, local: Local, message: RowPassMessage, sums: RowSums) -> float:
    docs = (0, len(rows))
    return float(meanfield_step(rows, *docs, local.chances, message.globals, message.rounds, sums))


def _scores(rows: DataRows, local: Local, message: RowPassMessage, scores: F64) -> None:
    meanfield_scores(rows, local.chances, message.globals, message.rounds, scores)


def infer(tree: Tree, corpus: Vectors, settings: Settings, context: Context) -> Posterior:
    """Return theta and the best paths of new rows by local steps, the tree held fixed.

    Source: theory/ncrp 7. A row starts at the training rows' average.
    """
    start = np.tile(tree.extra["share"][tree.kind == NODE], (corpus.n_docs, 1))
    scores = np.empty_like(start)
    meanfield_scores(corpus.rows, start, given_by(State, tree, settings), ROUNDS, scores)
    return where(tree, settings, scores)


backend = variational(State, infer, without("structured"))
