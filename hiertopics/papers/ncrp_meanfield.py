"""hlda-variational under mean field: levels and path of a document apart, as in the paper.

C. Wang, D. Blei: Variational inference for the nested Chinese restaurant process, NIPS 2009. What
differs from ``variational``, where levels depend on the path: q of slots is a parameter of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from hiertopics.base.arrays import F64, I32
from hiertopics.base.axes import Axes
from hiertopics.contract.model import without
from hiertopics.families.ncrp.variational import state as structured
from hiertopics.families.ncrp.variational.backend import variational
from hiertopics.families.ncrp.variational.slot_kernels import DocumentPairs, Schedule, Statistics
from hiertopics.families.ncrp.variational.state import (
    DocumentPassMessage,
    SlotProbabilities,
    local_pass,
    tables_of,
)
from hiertopics.families.nested.tree_state import MeanField
from hiertopics.papers.ncrp_meanfield_kernels import meanfield_step

RARE = 1e-8


class Local(NamedTuple):
    """Per-document state of a piece: tau float64 [n_docs, depth], and slot probabilities."""

    tau: Annotated[F64, Axes("n_docs", "depth", least=0)]
    chances: Annotated[F64, Axes("n_docs", "n_nodes", least=0)]


@dataclass(kw_only=True)
class State(MeanField, structured.State):
    """The variational parameters and the priors in force."""

    Local: ClassVar[Callable[..., Any]] = Local

    @staticmethod
    def begun(tau: F64, slot_mass: F64) -> dict[str, F64]:
        """Return the first state of pieces: every document has the slots of the whole corpus.

        tau: float64 [n_docs, n_levels]. slot_mass: float64 [n_nodes].
        """
        share = slot_mass / slot_mass.sum()
        return {"tau": tau, "chances": np.tile(share, (len(tau), 1))}

    def given(
        self, rounds: int, columns: I32, dtype: DTypeLike | None = None
    ) -> DocumentPassMessage:
        """Return the message of a pass to the documents; dtype as in ``local_pass``."""
        return DocumentPassMessage(
            tables_of(self, dtype, logs=True), Schedule(rounds, RARE), columns, _visit
        )

    def weighing(self) -> SlotProbabilities:
        """Return the input for the weights of slots: nothing, because pieces have the weights."""
        return SlotProbabilities(self.n_nodes, None, _weigh)

    def log_normaliser(self) -> float:
        """Return the documents' share of the bound without E_theta. Raises NumericalError."""
        return local_pass(self, 0, dtype=np.float64).log_normaliser


def _weigh(piece: DocumentPairs, local: Local, given: None, first: int, last: int) -> F64:
    return local.chances[first:last]


def _visit(
    piece: DocumentPairs, local: Local, message: DocumentPassMessage, sums: Statistics
) -> float:
    docs = (0, len(local.tau))
    return float(
        meanfield_step(
            piece, *docs, local.tau, local.chances, message.tables, message.schedule, sums
        )
    )


backend = variational(State, migrate_state=without("structured"))
