"""Checks of the benchmark itself: a scorer that is wrong would favour someone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks import scorer
from benchmarks.corpora import DOCS, TOKENS, Source
from benchmarks.peers import PEERS, train
from benchmarks.splits import split_corpus, trials
from hiertopics.base.arrays import F64, I32
from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.corpus.holdouts.split import Split

KOS_UNIGRAM = 2580.0
"""As in docs/benchmarks.md."""

Counts = I32


class CheckFailed(Exception):
    """A check of the benchmark itself failed."""


def run(data: Path | None) -> Iterator[str]:
    """Run all checks; yield a line for each, raise CheckFailed at the first that fails."""
    corpus = _planted(np.random.default_rng(0))
    for spec in (DOCS, TOKENS):
        train_corpus, split = split_corpus(corpus, spec)
        yield _against_naive(split, spec)
        yield _tokens_add_up(corpus, train_corpus, split, spec)
    train_corpus, split = split_corpus(corpus, TOKENS)
    for name in PEERS:
        yield _peer(name, train_corpus.counts, split)
    if data is not None:
        yield _unigram(data)


def naive_perplexity(phi: F64, prior: F64, observed: Counts, scored: Counts) -> float:
    """Do once more what the scorer does, dense and in float64: fold in, then score."""
    log_likelihood = 0.0
    for seen, judged in zip(observed, scored, strict=True):
        theta = prior / prior.sum()
        for _ in range(500):
            chance = theta[:, None] * phi
            theta = prior + (seen * chance / chance.sum(axis=0)).sum(axis=1)
            theta /= theta.sum()
        log_likelihood += judged @ np.log(theta @ phi)
    return float(np.exp(-log_likelihood / scored.sum()))


def _against_naive(split: Split, spec: str) -> str:
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.full(split.scored.shape[1], 0.1), 7) + 1e-6
    phi /= phi.sum(axis=1, keepdims=True)
    shares = rng.dirichlet(np.ones(7))
    fast = scorer.score(scorer.TopicModel(phi, shares), split)
    tuning, final = trials(split)
    values = {}
    for name, trial in (("tuning", tuning), ("final", final)):
        dense = trial.observed.toarray(), trial.scored.toarray()
        values[name] = naive_perplexity(phi, fast.prior_strength * shares, *dense)
    _close(fast.tuning_perplexity, values["tuning"], 1e-3, f"tuning perplexity, {spec}")
    _close(fast.perplexity, values["final"], 1e-3, f"perplexity, {spec}")
    return f"{spec}: scorer {fast.perplexity:.3f}, naive {values['final']:.3f}"


def _tokens_add_up(corpus: Corpus, train_corpus: Corpus, split: Split, spec: str) -> str:
    """Check that no token is lost or used twice: tuning, training, scoring are apart."""
    tuning, final = trials(split)
    if split.kind == "tokens":
        parts = (train_corpus.counts, tuning.scored, final.scored)
        whole = corpus.counts
    else:
        parts = (tuning.observed, tuning.scored, final.scored)
        whole = split.heldout
    if abs(sum(parts[1:], parts[0]) - whole).sum():
        raise CheckFailed(f"{spec}: the parts of the split do not add up")
    return f"{spec}: {int(tuning.scored.sum())} tokens tune, {int(final.scored.sum())} score"


def _peer(name: str, counts: sparse.csr_array, split: Split) -> str:
    """Topics times shares must resemble the word frequencies: words are mapped rightly."""
    model = train(name, counts, 0, min(PEERS[name].n_sweeps, 30)).model()
    if not np.allclose(model.phi.sum(axis=1), 1) or not (model.phi > 0).all():
        raise CheckFailed(f"{name}: rows of phi are not positive distributions")
    frequencies = np.asarray(counts.sum(axis=0)).ravel() / counts.sum()
    correlation = np.corrcoef(model.topic_shares @ model.phi, frequencies)[0, 1]
    if correlation < 0.7:  # gensim keeps half of its random start; a wrong mapping gives 0
        raise CheckFailed(f"{name}: its topics do not add up to the corpus ({correlation:.3f})")
    perplexity = scorer.score(model, split).perplexity
    return f"{name}: correlation with frequencies {correlation:.3f}, perplexity {perplexity:.1f}"


def _unigram(data: Path) -> str:
    train_corpus, split = Source(data, "kos", DOCS).load()
    found = scorer.score(scorer.unigram(train_corpus.counts), split).perplexity
    _close(found, KOS_UNIGRAM, 0.05, "unigram perplexity of KOS")
    return f"KOS, new documents: unigram {found:.1f} (expected about {KOS_UNIGRAM:.0f})"


def _close(found: float, expected: float, tolerance: float, what: str) -> None:
    if abs(found / expected - 1) > tolerance:
        raise CheckFailed(f"{what}: {found:.4f}, expected {expected:.4f}")


def _planted(rng: np.random.Generator) -> Corpus:
    """Return 300 documents over 200 words from 5 topics; words 0 to 4 occur nowhere."""
    phi = rng.dirichlet(np.full(195, 0.1), 5)
    theta = rng.dirichlet(np.full(5, 0.3), 300)
    counts = np.array([rng.multinomial(rng.integers(5, 120), row @ phi) for row in theta])
    counts = np.hstack([np.zeros((300, 5), dtype=counts.dtype), counts])
    return Corpus(sparse.csr_array(counts), default_vocab(200))
