"""hdp-pcvb: practical collapsed variational Bayes for the HDP topic model, second order.

As hdp-pcvb0, but q(z) also weighs how certain the counts are: the expectations of their
logarithms are expanded to second order. It moves faster at first and usually ends worse; it is
here to be compared.

I. Sato, K. Kurihara, H. Nakagawa: Practical collapsed variational Bayes inference for
hierarchical Dirichlet process, KDD 2012, equation 34 (theory/hdp 5.1). Symbols as in
``pcvb0``; V[n_dk], V[n_kv], V[n_k] are var_dk, var_wk, var_k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from hiertopics.data.corpus import Corpus
from hiertopics.families.flat.layout import Data, sharded
from hiertopics.families.flat.variational import prepare as prepare
from hiertopics.families.hdp import estimates, pcvb0, second_order
from hiertopics.families.hdp import point_estimates as points
from hiertopics.families.hdp.config import Model as Model
from hiertopics.families.hdp.estimates import Info as Info
from hiertopics.families.hdp.estimates import info_of
from hiertopics.families.hdp.estimates import objective as objective
from hiertopics.families.hdp.estimates import summarise as summarise
from hiertopics.families.hdp.point_estimates import Inference as Inference
from hiertopics.families.hdp.second_order import memory as memory
from hiertopics.families.hdp.simulate import simulate as simulate
from hiertopics.families.hdp.summary import infer as infer
from hiertopics.model import Backend, Context, Settings


@dataclass
class State(estimates.State, second_order.Variances):
    """The responsibilities, counts with their variances, and the point estimates."""


def init(data: Data, settings: Settings, context: Context, dtype: DTypeLike = np.float32) -> State:
    """Return random responsibilities and the start values of the config (theory/hdp 3.5)."""
    begun = pcvb0.init(data, settings, context, dtype)
    return State(**{**vars(begun), **second_order.variances(begun, data)})


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Refit q(z) of every pair (equation 34); after the hold, sticks and hyperparameters too."""
    learn = context.iteration > settings.inference.hyper_start
    prior = points.prior_of(state)
    seen_wk = second_order.sweep(state, data, prior, indicators=learn)
    drift = second_order.recount_now_and_then(state, data, context)
    if learn:
        points.global_step(state, points.gather(state, seen_wk), data, settings)
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
