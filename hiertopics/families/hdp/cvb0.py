"""hdp-cvb0: collapsed variational Bayes for the HDP topic model, zero order in q(z).

The model of hdp-pcvb0 with Gamma(1, 1) priors on the concentrations. Auxiliary variables (table
counts) make the rest conjugate, so concentrations, sticks and word shape have whole posteriors,
whose geometric means enter the update of q(z).

Y. W. Teh, K. Kurihara, M. Welling: Collapsed variational inference for HDP, NIPS 2007, in the
zero-order form of I. Sato, K. Kurihara, H. Nakagawa, KDD 2012, equation 19. The denominators are
E[beta0], as the derivation gives (theory/hdp 5.2); the printed G[beta0] is an option.

    paper              here
    alpha0, beta0      alpha, word_mass (= eta V): their means, ``_geo`` their G[.] = exp E[log .]
    gamma0             gamma
    pi, tau            pi, pi_geo, tau, tau_geo
    s_dk, t_kv         tables per document and topic, per topic and word
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from hiertopics.data.corpus import Corpus
from hiertopics.families.flat import posteriors, variational
from hiertopics.families.flat.layout import Data, sharded
from hiertopics.families.flat.posteriors import State as State
from hiertopics.families.flat.variational import memory as memory
from hiertopics.families.flat.variational import prepare as prepare
from hiertopics.families.hdp.config import Model as Model
from hiertopics.families.hdp.config import PosteriorInference as Inference
from hiertopics.families.hdp.estimates import Info as Info
from hiertopics.families.hdp.estimates import info_of
from hiertopics.families.hdp.estimates import objective as objective
from hiertopics.families.hdp.estimates import summarise as summarise
from hiertopics.families.hdp.simulate import simulate as simulate
from hiertopics.families.hdp.summary import infer as infer
from hiertopics.model import Backend, Context, Settings


def init(data: Data, settings: Settings, context: Context, dtype: DTypeLike = np.float32) -> State:
    """Return random responsibilities and the start values of the config (theory/hdp 3.5)."""
    begun = variational.start(data, settings.model.truncation, context, dtype)
    return State(**posteriors.start(begun, data, settings))


def step(state: State, data: Data, settings: Settings, context: Context) -> tuple[State, Info]:
    """Refit q(z) of every pair (equation 19); now and then the other posteriors too."""
    drift = posteriors.zero_order_step(state, data, settings, context)
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
