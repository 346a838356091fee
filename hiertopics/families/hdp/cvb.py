"""hdp-cvb: collapsed variational Bayes for the HDP topic model, second order in q(z).

As hdp-cvb0, but the expected logarithms of the counts are expanded to second order.

Y. W. Teh, K. Kurihara, M. Welling: Collapsed variational inference for HDP, NIPS 2007; equation
18 of I. Sato, K. Kurihara, H. Nakagawa, KDD 2012 (theory/hdp 5.2). Symbols as in
``cvb0``; V[n_dk], V[n_kv], V[n_k] are var_dk, var_wk, var_k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from hiertopics.data.corpus import Corpus
from hiertopics.families.flat import posteriors
from hiertopics.families.flat.layout import Data, sharded
from hiertopics.families.flat.variational import prepare as prepare
from hiertopics.families.hdp import cvb0, second_order
from hiertopics.families.hdp.config import Model as Model
from hiertopics.families.hdp.config import PosteriorInference as Inference
from hiertopics.families.hdp.estimates import Info as Info
from hiertopics.families.hdp.estimates import info_of
from hiertopics.families.hdp.estimates import objective as objective
from hiertopics.families.hdp.estimates import summarise as summarise
from hiertopics.families.hdp.second_order import memory as memory
from hiertopics.families.hdp.simulate import simulate as simulate
from hiertopics.families.hdp.summary import infer as infer
from hiertopics.model import Backend, Context, Settings


@dataclass
class State(posteriors.State, second_order.Variances):
    """The responsibilities, counts with their variances, and the other posteriors."""


def init(data: Data, settings: Settings, context: Context, dtype: DTypeLike = np.float32) -> State:
    """Return random responsibilities and the start values of the config (theory/hdp 3.5)."""
    begun = cvb0.init(data, settings, context, dtype)
    return State(**{**vars(begun), **second_order.variances(begun, data)})


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Refit q(z) of every pair (equation 18); now and then the other posteriors too."""
    due = posteriors.is_due(settings, context)
    prior = posteriors.prior_of(state, settings)
    seen_wk = second_order.sweep(state, data, prior, indicators=due)
    drift = second_order.recount_now_and_then(state, data, context)
    if due:
        stats = posteriors.gather(state, seen_wk, state.var_wk, context)
        posteriors.global_step(state, stats, data, settings)
    return state, info_of(state, data, drift)


backend: Backend[Corpus, Data, State] = Backend(
    Model=Model,
    Inference=Inference,
    State=State,
    Info=Info,
    objective_name="training log likelihood per token",
    prepare=prepare,
    init=init,
    step=step,
    summarise=summarise,
    infer=infer,
    objective=objective,
    simulate=simulate,
    memory=memory,
    pieces=sharded(second_order.Local),
)
