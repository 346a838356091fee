"""hdp-pcvb0: practical collapsed variational Bayes for the HDP topic model, zero order.

Topics with shares drawn from one stick-breaking weight vector, document weights drawn around
it; topic proportions and topics are integrated out, and each (document, word) pair keeps its
responsibilities. Concentrations and sticks are refitted from the probability that a document, or
a word, uses a topic at all, so nothing has to be set.

I. Sato, K. Kurihara, H. Nakagawa: Practical collapsed variational Bayes inference for
hierarchical Dirichlet process, KDD 2012.

    paper              here
    alpha0, gamma0     alpha, gamma
    beta0 tau_v        eta V tau_v: ``word_mass`` is beta0 = eta V
    E[pi_k]            pi
    q(z), E[n_dk], ..  resp, n_dk, n_wk, n_k
    E[I(n_dk >= 1)]    seen_dk;  its sum over documents: n_tables
    T                  truncation
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from hiertopics.data.corpus import Corpus
from hiertopics.families.flat import variational
from hiertopics.families.flat.layout import Data, sharded
from hiertopics.families.flat.variational import memory as memory
from hiertopics.families.flat.variational import prepare as prepare
from hiertopics.families.hdp import estimates
from hiertopics.families.hdp import point_estimates as points
from hiertopics.families.hdp.config import Model as Model
from hiertopics.families.hdp.estimates import Info as Info
from hiertopics.families.hdp.estimates import State as State
from hiertopics.families.hdp.estimates import info_of
from hiertopics.families.hdp.estimates import objective as objective
from hiertopics.families.hdp.estimates import summarise as summarise
from hiertopics.families.hdp.point_estimates import Inference as Inference
from hiertopics.families.hdp.simulate import simulate as simulate
from hiertopics.families.hdp.summary import infer as infer
from hiertopics.model import Backend, Context, Settings


def init(data: Data, settings: Settings, context: Context, dtype: DTypeLike = np.float32) -> State:
    """Return random responsibilities and the start values of the config (theory/hdp 3.5)."""
    begun = variational.start(data, settings.model.truncation, context, dtype)
    return State(**estimates.start(begun, data, settings))


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Refit q(z) of every pair (equation 35); after the hold, sticks and hyperparameters too."""
    learn = context.iteration > settings.inference.hyper_start
    prior = points.prior_of(state)
    seen_wk = variational.sweep(state, data, prior, indicators=learn)
    drift = variational.recount_now_and_then(state, data, context)
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
    pieces=sharded(variational.Local),
)
