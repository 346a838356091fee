"""The one scorer for topic trees, ours and the peer's: document completion with the tree fixed.

A model enters with its topics, its paths from the root to a leaf, the share of the training
documents on each path and the share of the training tokens at each level; its own inference for
new documents is not used. On every path the level weights of a document come from smoothed EM on
its observed tokens, with prior a0 times the level shares; a path weighs its document share times
the likelihood of the observed tokens. As in ``scorer``, a0 is chosen for each model from one grid
on tokens that no model was trained on and that are not scored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks import treefold
from benchmarks.scorer import standard_error
from benchmarks.splits import Trial, trials
from hiertopics.arrays import F64, I64
from hiertopics.holdouts.split import Split

STRENGTHS = tuple(2.0**power for power in range(-1, 9))


class Prior(NamedTuple):
    """Hyperparameters that all trees of a comparison share; level_prior: alphas [depth]."""

    gamma: float
    eta: float
    level_prior: tuple[float, ...] = (1.0, 1.0, 1.0)

    @property
    def settings(self) -> dict[str, Any]:
        """The section ``model`` of our backends."""
        depth, levels = len(self.level_prior), list(self.level_prior)
        return {"depth": depth, "level_prior": levels, "gamma": self.gamma, "eta": self.eta}


class TreeModel(NamedTuple):
    """What a trained tree is to the scorer.

    phi: [K, V], rows sum to 1, every entry > 0. paths: rows of phi, [n_paths, L], root first.
    doc_shares: [n_paths], level_shares: [L], each summing to 1. n_nodes: without rows that stand
    for topics outside the tree.
    """

    phi: F64
    paths: I64
    doc_shares: F64
    level_shares: F64
    n_nodes: int


class TreeScore(NamedTuple):
    """perplexity: word by word; path_perplexity: the path averaged jointly over a document."""

    perplexity: float
    path_perplexity: float
    standard_error: float
    prior_strength: float
    n_docs: int
    n_tokens: int


def score(model: TreeModel, split: Split) -> TreeScore:
    """Choose the prior strength of ``model``, then score it on the scored tokens of ``split``."""
    tuning, final = trials(split)
    tried = {a0: log_likelihoods(model, a0, tuning)[:, 0].sum() for a0 in STRENGTHS}
    strength = max(tried, key=lambda a0: tried[a0])
    by_doc = log_likelihoods(model, strength, final)
    lengths = np.asarray(final.scored.sum(axis=1)).ravel()
    rates = by_doc.sum(axis=0) / lengths.sum()
    return TreeScore(
        perplexity=float(np.exp(-rates[0])),
        path_perplexity=float(np.exp(-rates[1])),
        standard_error=standard_error(by_doc[:, 0], rates[0], lengths),
        prior_strength=strength,
        n_docs=int((lengths > 0).sum()),
        n_tokens=int(lengths.sum()),
    )


def log_likelihoods(model: TreeModel, strength: float, trial: Trial) -> F64:
    """Return the log-likelihood of each document's scored tokens, [D, 2]: by word, jointly."""
    result = np.zeros((trial.scored.shape[0], 2))
    treefold.score_all(
        _arrays(trial.observed),
        _arrays(trial.scored),
        np.ascontiguousarray(model.phi.T),
        model.paths,
        np.log(model.doc_shares),
        strength * model.level_shares,
        result,
    )
    return result


def _arrays(
    counts: sparse.csr_array,
) -> tuple[I64, I64, F64]:
    return (
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int64),
        counts.data.astype(np.float64),
    )
