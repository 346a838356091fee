"""From counts of any HDP method to the flat tree and theta, and on to theta of new documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.summary import (
    by_size,
    document_weights,
    flat_tree,
    notes_on_truncation,
    summary_of,
)
from hiertopics.families.hdp.theta import Plan, Rows, planned, theta_of
from hiertopics.model import Summary
from hiertopics.room import Room

NO_MASS = 1e-290
"""Below it products with word probabilities underflow: dropped topics then count alike."""


class Fitted(NamedTuple):
    """What every HDP method ends with, on its truncation T.

    n_dk [n_docs, T], n_wk [n_words, T], n_k [T]: (expected) counts. doc_prior [T]: alpha E[pi].
    word_prior [n_words]: eta V tau.
    """

    n_dk: NDArray[np.number]
    n_wk: NDArray[np.number]
    n_k: NDArray[np.number]
    doc_prior: NDArray[np.float64]
    word_prior: NDArray[np.float64]


def word_probabilities(
    n_wk: NDArray[np.number], word_prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return phi word-major, float64 [n_words, T]: (n_wk + prior) / (n_k + prior total)."""
    phi = np.add(n_wk, word_prior[:, None], dtype=np.float64)
    np.maximum(phi, word_prior[:, None], out=phi)
    phi /= phi.sum(axis=0)
    return phi


def summarise(fitted: Fitted) -> Summary:
    """Return live topics, largest first, as roots; the others as one row outside.

    The row outside is the mean of the dropped topics, weighted by their mass in theta, so that
    theta @ phi keeps every document's whole predictive distribution.
    """
    topics = by_size(fitted.n_k)
    theta = document_weights(fitted.n_dk, fitted.doc_prior)
    phi = word_probabilities(fitted.n_wk, fitted.word_prior).T
    rows = phi[topics.live]
    if len(topics.dropped):
        mass = theta[:, topics.dropped].sum(axis=0) + fitted.doc_prior[topics.dropped]
        if mass.sum() < NO_MASS:
            mass = np.ones(len(mass))
        outside = mass @ phi[topics.dropped] / mass.sum()
        rows = np.vstack([rows, outside / outside.sum()])
    return summary_of(
        topics, rows, theta, fitted.n_dk, {"doc_prior": topics.gather(fitted.doc_prior)}
    )


def plan_of(n_k: NDArray[np.integer], doc_prior: NDArray[np.float64], n_docs: int) -> Plan:
    """Return how theta of whole counts is made, topics without tokens in the row outside."""
    return planned(by_size(n_k), doc_prior, n_docs)


def summarise_parts(
    parts: Sequence[Rows],
    plan: Plan,
    n_wk: NDArray[np.int32],
    word_prior: NDArray[np.float64],
    room: Room,
) -> Summary:
    """Return what ``summarise`` returns, of theta that was made in parts by ``plan``.

    Topics without tokens are all alike: the prior. Where only a part of theta is stored, the row
    outside is the mean of all topics under the documents' prior.
    """
    live, doc_prior = plan.topics.live, plan.doc_prior
    rows = np.empty((plan.n_columns, len(word_prior)))
    for row, topic in enumerate(live):
        np.add(n_wk[:, topic], word_prior, out=rows[row])
        rows[row] /= rows[row].sum()
    prior = doc_prior[live]
    if plan.outside:
        prior = np.append(prior, doc_prior[plan.topics.dropped].sum())
        outside = word_prior / word_prior.sum()
        if not plan.entire:
            outside = prior[:-1] @ rows[:-1] + prior[-1] * outside
        rows[-1] = outside / outside.sum()
    n_tokens = np.append(plan.topics.n_k[live].astype(np.float64), np.zeros(int(plan.outside)))
    n_docs = sum(part.n_docs for part in parts)
    tree = flat_tree(rows, len(live), n_tokens, np.asarray(n_docs), {"doc_prior": prior})
    notes = notes_on_truncation(tree, len(n_wk.T))
    return Summary(tree, theta_of(parts, plan, room), notes=notes)
