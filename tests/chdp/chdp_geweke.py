"""The joint-distribution test of chdp-gibbs (theory/chdp 8.6)."""

from __future__ import annotations

from typing import Any

import joint
import numba
import numpy as np
from chdp_cases import begin, chains_of, settings_of, with_parents
from joint import Outcome, Story

from hiertopics.families.chdp import gibbs_kernels
from hiertopics.families.chdp.base_kernels import base_rows
from hiertopics.families.chdp.gibbs_state import weights_of
from hiertopics.families.chdp.layout import Data
from hiertopics.papers import chdp_irp as irp
from hiertopics.papers.chdp_irp_kernels import new_table_row, seat_table

LENGTHS = (6, 4, 3, 1, 0)
PARENTS = [[0, 1], [0], [], [1], [0, 1]]
N_WORDS = 4
CONCENTRATIONS = ("alpha_doc", "alpha_group", "gamma", "word mass")
STATISTICS = (
    *CONCENTRATIONS,
    *(f"log {name}" for name in CONCENTRATIONS),
    "largest weight of group 0",
    "affinity of groups",
    "largest base of document 0",
    "largest corpus weight",
    "share of link 0 squared",
    "words 0 and 1 equal",
    "words 0 and 3 equal",
    "topics 0 and 1 equal",
    "topics 0 and 7 equal",
    "topics in use",
)


def joint_test(*, n_replicates: int, n_rounds: int, seed: int = 0, **keys: Any) -> Outcome:
    """Run the replicates under settings."""
    # A restaurant needs a slot for as many topics as there are tokens: the urn knows no truncation.
    n_topics = sum(LENGTHS) if keys.get("sampler") == "irp" else 3
    settings = settings_of(truncation=n_topics, hyper_start=0, **keys)
    rows = [[length, 0, 0, 0] for length in LENGTHS]
    state, data = begin(with_parents(rows, PARENTS, 2), settings)
    story = Story(
        chains_of(settings),
        state,
        data,
        settings,
        names=STATISTICS,
        begin=lambda state, rng: draw_from_prior(state, data, settings, rng),
        words=lambda state, rng: _draw_words(state, data, rng),
        measure=lambda state: measure(state, data, settings),
        exponential_names=CONCENTRATIONS,
        exponentials=lambda state: measure(state, data, settings)[: len(CONCENTRATIONS)],
    )
    return joint.joint_test(story, n_replicates=n_replicates, n_rounds=n_rounds, seed=seed)


def draw_from_prior(state: Any, data: Data, settings: Any, rng: np.random.Generator) -> None:
    """Draw everything from the model with Gamma(1, 1) priors on the concentrations."""
    state.alpha_doc, state.alpha_group, state.gamma, word_mass = rng.exponential(size=4)
    state.eta = word_mass / N_WORDS
    state.n_dk[:] = 0
    if settings.inference.sampler == "irp":
        _seat_from_prior(state, data, settings, rng)
    else:
        # 1 - v is a uniform number to the power 1 / gamma; its logit is log v - log(1 - v).
        log_rest = np.log(rng.random(len(state.sticks))) / state.gamma
        state.sticks[:] = np.log(-np.expm1(log_rest)) - log_rest
        state.log_pi_0 = gibbs_kernels.log_weights(state.sticks)
        prior = np.maximum(state.alpha_group * np.exp(state.log_pi_0), gibbs_kernels.SMALLEST)
        gibbs_kernels.draw_group_weights(
            np.zeros(state.log_pi.shape, np.int32), prior, state.log_pi, rng
        )
        if len(state.share):
            share = rng.exponential(size=len(state.share))
            owner = np.repeat(np.arange(data.n_docs), np.diff(data.parents.ptr))
            state.share[:] = share / np.bincount(owner, share, minlength=data.n_docs)[owner]
        bases = base_rows(data.parents, weights_of(state, data, settings.model))
        starts = np.append(data.cells.cuts[:, 0], len(state.z))
        joint.draw_topics(starts, state.alpha_doc * bases, state.z, state.n_dk, rng)
    state.n_k[:] = state.n_dk.sum(axis=0)
    _draw_words(state, data, rng)


def _draw_words(state: Any, data: Data, rng: np.random.Generator) -> None:
    prior = np.full(N_WORDS, state.eta)
    joint.draw_words(state.z, prior, data.cells.word, state.n_wk, rng)


def _seat_from_prior(state: Any, data: Data, settings: Any, rng: np.random.Generator) -> None:
    state.table_option = np.full_like(state.z, -1)
    state.option_group = state.option_topic = np.empty(0, dtype=np.int32)
    seating = irp.unpack(state, data)
    urn = irp._urn(state, data, settings.model)
    cuts = data.cells.cuts
    _seat(cuts, state.alpha_doc, state.z, state.n_dk, *seating.seats, seating.options, urn, rng)
    irp.pack(state, seating)


def measure(state: Any, data: Data, settings: Any) -> list[float]:
    """Return the statistics, in the order of their names."""
    weights = weights_of(state, data, settings.model)
    values = np.array([state.alpha_doc, state.alpha_group, state.gamma, state.eta * N_WORDS])
    word, z = data.cells.word, state.z
    return [
        *values,
        *np.log(values),
        float(weights.group[0].max()),
        float(weights.group[0] @ weights.group[1]),
        float(base_rows(data.parents, weights)[0].max()),
        float(weights.corpus.max()),
        float(state.share[0] ** 2) if len(state.share) else 0.0,
        float(word[0] == word[1]),
        float(word[0] == word[3]),
        float(z[0] == z[1]),
        float(z[0] == z[7]),
        float((state.n_k > 0).sum()),
    ]


@numba.njit
def _seat(
    cuts: Any, alpha: float, z: Any, n_dk: Any, seat: Any, table_option: Any, options: Any,
    urn: Any, rng: Any,
) -> None:  # fmt: skip
    """Seat tokens one after another as the urns say, words unseen."""
    n_topics = n_dk.shape[1]
    served, row = np.empty(n_topics), np.empty(n_topics)
    for doc in range(len(cuts)):
        start, stop = cuts[doc, 0], cuts[doc, -1]
        n_seated = np.zeros(stop - start + 1)
        n_tables = 0
        for token in range(start, stop):
            weights = n_seated[: n_tables + 1].copy()
            weights[n_tables] = alpha
            table = joint.draw(weights, rng)
            if table == n_tables:
                new_table_row(doc, options, urn, served, row)
                topic = joint.draw(row, rng)
                slot = seat_table(doc, topic, served[topic], options, urn, rng)
                table_option[start + table] = slot
                n_tables += 1
            n_seated[table] += 1
            seat[token] = table
            z[token] = options.topic[table_option[start + table]]
            n_dk[doc, z[token]] += 1
