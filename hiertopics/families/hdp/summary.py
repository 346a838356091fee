"""From counts of any HDP method to the flat tree and theta, and on to theta of new documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from hiertopics.arrays import F64, I32, Ints, Numbers
from hiertopics.engine import Pieces
from hiertopics.families.flat.summary import by_size, flat_tree, notes_on_truncation
from hiertopics.families.hdp.theta import Plan, Rows, planned, theta_of, weigh_rows
from hiertopics.model import Summary
from hiertopics.room import Room, beside

NO_MASS = 1e-290
"""Below it products with word probabilities underflow: dropped topics then count alike."""


def word_probabilities(n_wk: Numbers, word_prior: F64) -> F64:
    """Return phi word-major, float64 [n_words, T]: (n_wk + prior) / (n_k + prior total)."""
    phi = np.add(n_wk, word_prior[:, None], dtype=np.float64)
    np.maximum(phi, word_prior[:, None], out=phi)
    phi /= phi.sum(axis=0)
    return phi


class Fitted(NamedTuple):
    """What every HDP method in pieces ends with, on its truncation T.

    local: with n_dk [n_docs, T]. n_wk [n_words, T], n_k [T]: (expected) counts. doc_prior [T]:
    alpha E[pi]. word_prior [n_words]: eta V tau. names: of topics that have one beforehand.
    """

    local: Pieces[Any, Any]
    n_wk: Numbers
    n_k: Numbers
    doc_prior: F64
    word_prior: F64
    names: Mapping[int, str] = MappingProxyType({})


def summarise(fitted: Fitted, n_docs: int) -> Summary:
    """Return the summary; theta of so many documents is made in blocks, by each piece."""
    plan = planned(by_size(fitted.n_k), fitted.doc_prior, n_docs)
    parts = fitted.local.ask(_weigh, plan)
    summary = summarise_counts(parts, plan, fitted.n_wk, fitted.word_prior)
    return named(summary, plan, fitted.names)


def named(summary: Summary, plan: Plan, names: Mapping[int, str]) -> Summary:
    """Return the summary with names of topics at their nodes; it notes those without a token."""
    row = {topic: number for number, topic in enumerate(plan.topics.live.tolist())}
    empty = [name for topic, name in names.items() if topic not in row]
    notes = [f"the topic of the seed words {name!r} has no token" for name in empty]
    found = {row[topic]: name for topic, name in names.items() if topic in row}
    return replace(summary, names=found).noting(*notes)


def _weigh(piece: Any, local: Any, plan: Plan) -> Rows:
    return weigh_rows(local.n_dk, plan, beside(local.n_dk))


def summarise_counts(parts: Sequence[Rows], plan: Plan, n_wk: Numbers, word_prior: F64) -> Summary:
    """Return live topics, largest first, as roots; the others as one row outside.

    n_wk: expected counts. The row outside is the mean of the dropped topics, weighted by their mass
    in theta, so that theta @ phi keeps every document's whole predictive distribution. Where only
    a part of theta is stored, it is the mean of all topics under the documents' prior.
    """
    topics, doc_prior = plan.topics, plan.doc_prior
    phi = word_probabilities(n_wk, word_prior).T
    rows, prior = phi[topics.live], topics.gather(doc_prior)
    if plan.outside:
        mass = sum(part.dropped for part in parts) + doc_prior[topics.dropped]
        outside = _mean(mass, phi[topics.dropped]) if plan.entire else _mean(doc_prior, phi)
        rows = np.vstack([rows, outside / outside.sum()])
        if not len(topics.dropped):
            prior = np.append(prior, 0.0)
    n_tokens = topics.gather(topics.n_k.astype(np.float64))
    return _with_theta(parts, plan, rows, n_tokens, prior, beside(parts[0].values))


def _mean(mass: F64, rows: F64) -> F64:
    if mass.sum() < NO_MASS:
        mass = np.ones(len(mass))
    return np.asarray(mass @ rows / mass.sum())


def _with_theta(
    parts: Sequence[Rows], plan: Plan, rows: F64, n_tokens: F64, prior: F64, room: Room
) -> Summary:
    """Return the summary of these rows of words, and of theta that was made in parts."""
    n_docs = np.asarray(sum(part.n_docs for part in parts))
    n_tokens = np.maximum(np.pad(n_tokens, (0, len(rows) - len(n_tokens))), 0.0)
    tree = flat_tree(rows, len(plan.topics.live), n_tokens, n_docs, {"doc_prior": prior})
    notes = notes_on_truncation(tree, len(plan.doc_prior))
    return Summary(tree, theta_of(parts, plan, room), notes=notes)


def plan_of(n_k: Ints, doc_prior: F64, n_docs: int) -> Plan:
    """Return how theta of whole counts is made, topics without tokens in the row outside."""
    return planned(by_size(n_k), doc_prior, n_docs)


def summarise_tokens(
    parts: Sequence[Rows], plan: Plan, n_wk: I32, word_prior: F64, room: Room
) -> Summary:
    """Return what ``summarise_counts`` returns, of whole counts.

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
    return _with_theta(parts, plan, rows, plan.topics.n_k[live].astype(np.float64), prior, room)
