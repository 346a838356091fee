"""The state of the Gibbs samplers of the cooperative HDP."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.chdp.base_kernels import Weights
from hiertopics.families.chdp.config import Model
from hiertopics.families.chdp.layout import Data
from hiertopics.families.chdp.weight_kernels import log_weights
from hiertopics.families.flat.token_kernels import Tables, count_tokens


@dataclass
class State:
    """One draw. Groups are those with a training document; T is the truncation.

    z: int32 [n_tokens]. n_dk int32 [n_docs, T], n_wk int32 [n_words, T], n_k int64 [T]: counts.
    sticks: float64 [T - 1], logits of the corpus's sticks. log_pi_0: float64 [T]. log_pi:
    float64 [n_groups, T]. share: float64 [n_links] where mixing weights are learned, else [0].
    n_tables: int64 [T]. n_group_tables: int32 [n_groups, T], tables split over parents; 0 under
    maximization, which splits none.

    Of the ``irp`` sampler alone, else empty: seat int32 [n_tokens], the table of each token,
    numbered within its document; table_option int32 [n_tokens], the option of table t of document
    d at d's first token + t, -1 where there is none; option_group (n_groups for what documents
    without parents are served) and option_topic int32 [n_options].
    """

    z: NDArray[np.int32]
    n_dk: NDArray[np.int32]
    n_wk: NDArray[np.int32]
    n_k: NDArray[np.int64]
    sticks: NDArray[np.float64]
    log_pi_0: NDArray[np.float64]
    log_pi: NDArray[np.float64]
    share: NDArray[np.float64]
    n_tables: NDArray[np.int64]
    n_group_tables: NDArray[np.int32]
    seat: NDArray[np.int32]
    table_option: NDArray[np.int32]
    option_group: NDArray[np.int32]
    option_topic: NDArray[np.int32]
    alpha_doc: float
    alpha_group: float
    gamma: float
    eta: float

    @property
    def tables(self) -> Tables:
        """The arrays that a sweep moves."""
        return Tables(self.z, self.n_dk, self.n_wk, self.n_k)


def begin(data: Data, model: Model, rng: np.random.Generator) -> State:
    """Return uniformly random topics, even weights and the start values of the config."""
    n_topics, n_groups = model.truncation, data.parents.n_groups
    z = rng.integers(n_topics, size=len(data.cells.word), dtype=np.int32)
    n_dk = np.zeros((data.n_docs, n_topics), dtype=np.int32)
    n_wk = np.zeros((data.n_words, n_topics), dtype=np.int32)
    count_tokens(data.cells, z, n_dk, n_wk)
    sticks = -np.log(np.arange(n_topics - 1, 0, -1.0))
    log_pi_0 = log_weights(sticks)
    nothing = np.empty(0, dtype=np.int32)
    return State(
        z,
        n_dk,
        n_wk,
        n_dk.sum(axis=0, dtype=np.int64),
        sticks,
        log_pi_0,
        log_pi=np.tile(log_pi_0, (n_groups, 1)),
        share=data.parents.uniform() if model.weights == "learned" else np.empty(0),
        n_tables=np.zeros(n_topics, dtype=np.int64),
        n_group_tables=np.zeros((n_groups, n_topics), dtype=np.int32),
        seat=nothing,
        table_option=nothing,
        option_group=nothing,
        option_topic=nothing,
        alpha_doc=model.alpha_doc,
        alpha_group=model.alpha_group,
        gamma=model.gamma,
        eta=model.eta,
    )


def weights_of(state: State, data: Data, model: Model) -> Weights:
    """Return the topic weights of groups and corpus as they are drawn."""
    share = data.parents.shares(state.share)
    return Weights(np.exp(state.log_pi), np.exp(state.log_pi_0), share, model.maximization)
