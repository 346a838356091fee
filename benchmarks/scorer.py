"""The one scorer for all models, ours and the peers: document completion with phi fixed.

A model enters with its topics and with the share of the training tokens that each topic holds,
nothing else: its own inference for new documents is not used. Theta of a document comes from
smoothed EM on its observed tokens,

    theta_k <- (sum_w count_w r_wk + a0 share_k) / (n + a0),   r_wk prop. to theta_k phi_kw,

from theta = share on. The prior strength a0 is chosen for each model, from one grid, on tokens
that no model was trained on and that are not scored (``splits.trials``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from benchmarks import foldin
from benchmarks.splits import Trial, trials
from hiertopics.base.arrays import F32, F64, I64
from hiertopics.corpus.holdouts.split import Split
from hiertopics.scoring.cache import score_foreign

STRENGTHS = tuple(2.0 ** (power / 2) for power in range(-4, 17))
MAX_STEPS = 300
TOLERANCE = 1e-4


class TopicModel(NamedTuple):
    """What a trained model is to the scorer.

    phi: [K, V], rows sum to 1 over the whole vocabulary, every entry > 0. topic_shares: [K],
    shares of the training tokens. theta: [n training documents, K] of the model's own making,
    where it has one. doc_prior: the model's own prior strength, where it has one; for the record.
    """

    phi: F64
    topic_shares: F64
    theta: F64 | None = None
    doc_prior: float | None = None


class Score(NamedTuple):
    """A model's score; own_theta_perplexity: the scored tokens under the model's own theta.

    cached_perplexity: with the cache of ``eval --cache`` around the same p(w | d), its discount and
    concentration learned from the observed parts; None where documents were trained on.
    """

    perplexity: float
    standard_error: float
    prior_strength: float
    tuning_perplexity: float
    own_theta_perplexity: float | None
    n_docs: int
    n_tokens: int
    cached_perplexity: float | None = None
    cache_discount: float | None = None
    cache_concentration: float | None = None


def score(model: TopicModel, split: Split) -> Score:
    """Choose the prior strength of ``model``, then score it on the scored tokens of ``split``."""
    return score_documents(model, split)[0]


def score_documents(model: TopicModel, split: Split) -> tuple[Score, F64]:
    """Return the score, and the log-likelihood of each held-out document's scored tokens."""
    phi_of_word = np.ascontiguousarray(model.phi.T, dtype=np.float32)
    shares = model.topic_shares / model.topic_shares.sum()
    tuning, final = trials(split)
    tried = {a0: _log_likelihoods(phi_of_word, a0 * shares, tuning).sum() for a0 in STRENGTHS}
    strength = max(tried, key=lambda a0: tried[a0])
    by_doc = _log_likelihoods(phi_of_word, strength * shares, final)
    lengths = np.asarray(final.scored.sum(axis=1)).ravel()
    rate = by_doc.sum() / lengths.sum()
    found = Score(
        perplexity=float(np.exp(-rate)),
        standard_error=standard_error(by_doc, rate, lengths),
        prior_strength=strength,
        tuning_perplexity=float(np.exp(-tried[strength] / tuning.scored.sum())),
        own_theta_perplexity=_own(model, phi_of_word, split.kind, final),
        n_docs=int((lengths > 0).sum()),
        n_tokens=int(lengths.sum()),
        **_with_cache(model, phi_of_word, strength * shares, split, final),
    )
    return found, by_doc


def _with_cache(
    model: TopicModel, phi_of_word: F32, prior: F64, split: Split, final: Trial
) -> dict[str, Any]:
    """Return the fields of a score with a cache; none where the documents were trained on."""
    if split.kind == "tokens":
        return {}

    def mixture(counts: sparse.csr_array) -> F64:
        theta = fold_in(phi_of_word, prior, counts).astype(np.float64)
        chances = theta @ model.phi
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    found = score_foreign(mixture, final.observed, final.scored, seed=split.seed)
    process = (None, None) if found.cache is None else found.cache.process
    names = ("cached_perplexity", "cache_discount", "cache_concentration")
    return dict(zip(names, (found.with_cache.perplexity, *process), strict=True))


def standard_error(by_doc: F64, rate: float, lengths: I64) -> float:
    """Return that of ``rate``, the log-likelihood per word, from each document's own and length."""
    return float(np.sqrt(np.square(by_doc - rate * lengths).sum()) / lengths.sum())


def unigram(train: sparse.csr_array, smoothing: float = 0.05) -> TopicModel:
    """Return the one-topic model: the training frequencies of words, smoothed."""
    counts = np.asarray(train.sum(axis=0), dtype=np.float64).ravel() + smoothing
    return TopicModel(counts[None] / counts.sum(), np.ones(1))


def fold_in(phi_of_word: F32, prior: F64, observed: sparse.csr_array) -> F32:
    """Return theta [D, K] of the documents ``observed``."""
    theta = np.empty((observed.shape[0], prior.size), dtype=np.float32)
    foldin.fold_in(
        *arrays_of(observed, np.float32),
        phi_of_word,
        prior.astype(np.float32),
        MAX_STEPS,
        TOLERANCE,
        theta,
    )
    return theta


def _log_likelihoods(phi_of_word: F32, prior: F64, trial: Trial) -> F64:
    return _judge(phi_of_word, fold_in(phi_of_word, prior, trial.observed), trial.scored)


def _judge(phi_of_word: F32, theta: F32, scored: sparse.csr_array) -> F64:
    """Return the log-likelihood of each document's scored tokens."""
    result = np.empty(scored.shape[0])
    foldin.log_likelihoods(*arrays_of(scored, np.float32), phi_of_word, theta, result)
    return result


def _own(model: TopicModel, phi_of_word: F32, kind: str, final: Trial) -> float | None:
    if model.theta is None or kind != "tokens":
        return None
    by_doc = _judge(phi_of_word, model.theta.astype(np.float32), final.scored)
    return float(np.exp(-by_doc.sum() / final.scored.sum()))


def arrays_of(counts: sparse.csr_array, dtype: DTypeLike) -> tuple[I64, I64, NDArray[Any]]:
    """Return a matrix as kernels take it: indptr, indices, and data of this type."""
    ends, places = counts.indptr.astype(np.int64), counts.indices.astype(np.int64)
    return ends, places, counts.data.astype(dtype)
