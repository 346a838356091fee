"""The cache model: words of a document come again, around any model's mixture p(w | d).

Each document draws its words from a Pitman-Yor process around its mixture (theory/bursts 3 to 5).
Two numbers of the whole corpus, discount and concentration, are learned from no scored token.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base import seeds
from hiertopics.base.arrays import F64, I64, Bools, Ints
from hiertopics.base.errors import UsageError
from hiertopics.base.stretches import rows_of
from hiertopics.corpus.holdouts.partition import OBSERVED, draw_tokens
from hiertopics.numeric.pitman_yor import (
    DISCOUNTS,
    PitmanYor,
    SearchResult,
    marginal,
    mean_tables,
    predictive,
    search,
)
from hiertopics.numeric.pitman_yor_kernels import MeanTables, seat
from hiertopics.scoring.scores import Score, log_likelihoods, pool

SEEN, TRAINING, MARGINAL = "seen", "training", "marginal"
"""Sources from which discount and concentration are learned (theory/bursts 5)."""

FEWEST = 5
"""Tokens of a document that takes part in learning."""

MOST_DOCS = 1000
"""Documents whose seen parts are learned from."""

OFF_ONE = 1e-6
"""How far a row of chances may sum from 1."""

AtCells = Callable[[sparse.csr_array], F64]
"""From counts, a row per document, to p_w of each stored entry, float64 [nnz]."""

Mixture = Callable[[I64, sparse.csr_array], AtCells]
"""Takes numbers of documents and their seen tokens; returns their p_w."""


class Trial(NamedTuple):
    """Documents, part of whose tokens is seen, with p_w of each stored entry.

    seen, scored: counts, CSR [n_docs, n_words]; their chances: float64 [nnz], of mixtures that
    know the seen part alone.
    """

    seen: sparse.csr_array
    seen_chances: F64
    scored: sparse.csr_array
    scored_chances: F64


class Cache(NamedTuple):
    """Learned numbers and their source. n_docs, n_tokens: documents and predicted tokens.

    at_limit: whether the concentration lies at the first or the last of its values.
    """

    process: PitmanYor
    source: str
    n_docs: int
    n_tokens: int
    at_limit: bool


def trial_of(seen: sparse.csr_array, scored: sparse.csr_array, at: AtCells) -> Trial:
    """Return a trial of documents by their mixtures.

    seen, scored: counts, CSR [n_docs, n_words].
    """
    return Trial(seen, at(seen), scored, at(scored))


def cached_chances(process: PitmanYor, trial: Trial) -> F64:
    """Return p(w | d) with the cache for each stored entry of ``trial.scored``, float64 [nnz].

    Each scored token by itself: none is added to the counts that the next one sees.
    """
    means = mean_tables(trial.seen.data, process.discount)
    return _chances(process, trial, means, _places(trial))


def bursty_chances(process: PitmanYor, trial: Trial, tables: F64) -> F64:
    """Return p(w | d) of each stored entry of ``trial.scored`` where tables are known.

    tables: float64 [n_seen], of each stored entry of ``trial.seen``, whose chances are not read.
    The result is float64 [n_scored].
    """
    return _given_tables(process, trial, tables, _places(trial))


def seen_before(seen: sparse.csr_array, scored: sparse.csr_array) -> Bools:
    """Tell of each stored entry of ``scored`` whether its document has the word in ``seen``.

    Bool [nnz]. seen, scored: counts, CSR [n_docs, n_words].
    """
    nothing = np.empty(0)
    return np.asarray(_places(Trial(seen, nothing, scored, nothing)) >= 0)


def learn(trial: Trial, source: str, discounts: tuple[float, ...] = DISCOUNTS) -> Cache | None:
    """Return discount and concentration under which the scored tokens are most probable.

    None where nothing is scored.
    """
    n_tokens = int(trial.scored.data.sum())
    if n_tokens == 0:
        return None
    places = _places(trial)

    def value_under(discount: float) -> Callable[[float], float]:
        means = mean_tables(trial.seen.data, discount)

        def value(concentration: float) -> float:
            process = PitmanYor(discount, concentration)
            chances = _chances(process, trial, means, places)
            return float(trial.scored.data @ np.log(chances))

        return value

    n_docs = int((np.diff(trial.scored.indptr) > 0).sum())
    return _cache(search(value_under, discounts), source, n_docs, n_tokens)


def learn_from_seen(mixture: Mixture, seen: sparse.csr_array, seed: int) -> Cache | None:
    """Learn from seen parts of documents, split again (theory/bursts 5.1).

    seen: counts, CSR [n_docs, n_words]. None where no document has enough tokens.
    """
    docs = documents_of(seen, seed, MOST_DOCS)
    known, aside = split_again(seen, docs, seed)
    return learn(trial_of(known, aside, mixture(docs, known)), SEEN)


def documents_of(counts: sparse.csr_array, seed: int, most: int) -> I64:
    """Draw at most ``most`` rows to learn from, int64, ascending, of those that are long enough.

    counts: CSR [n_docs, n_words].
    """
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    rng = seeds.derive(seed, "documents of the cache")
    return np.sort(rng.permutation(np.flatnonzero(lengths >= FEWEST))[:most])


def split_again(
    counts: sparse.csr_array, docs: I64, seed: int
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return the parts that are seen and put aside of the rows ``docs``, CSR [n, n_words] each."""
    rows = sparse.csr_array(counts[docs])
    return draw_tokens(rows, docs, seed, "tokens of the cache", (), OBSERVED)


def learn_from_marginal(seen: sparse.csr_array, at: AtCells) -> Cache | None:
    """Maximise the marginal likelihood of seen parts at their mixtures (theory/bursts 5.3).

    seen: counts, CSR [n_docs, n_words]. None where nothing is seen.
    """
    n_tokens = int(seen.data.sum())
    if n_tokens == 0:
        return None
    chances = at(seen)

    def value_under(discount: float) -> Callable[[float], float]:
        own = marginal(seen.indptr, seen.data, chances, discount)
        return lambda concentration: float(own.log_likelihoods(concentration).sum())

    n_docs = int((np.diff(seen.indptr) > 0).sum())
    return _cache(search(value_under), MARGINAL, n_docs, n_tokens)


class ForeignScore(NamedTuple):
    """Scores of a foreign model as it is and with a cache; cache: None where none was learned."""

    plain: Score
    with_cache: Score
    cache: Cache | None


def score_foreign(
    mixture: Callable[[sparse.csr_array], F64] | F64,
    seen: sparse.csr_array,
    scored: sparse.csr_array,
    *,
    seed: int = 0,
) -> ForeignScore:
    """Score any model's p(w | d) as it is and with a cache.

    mixture: from counts [n, n_words] to chances of words [n, n_words]; or these of the documents
    ``seen``, float64 [n_docs, n_words]. The numbers of the cache come from seen parts split again,
    or of a matrix from the marginal likelihood. seen, scored: counts of the documents. Raises
    UsageError where chances are not positive or a row does not sum to 1 within 1e-6.
    """
    n_rows = seen.shape[0]
    if callable(mixture):
        own = _checked(mixture(seen), seen)
        given = mixture
        cache = learn_from_seen(
            lambda _, counts: _at_cells(_checked(given(counts), counts)), seen, seed
        )
    else:
        own = _checked(mixture, seen)
        cache = learn_from_marginal(seen, _at_cells(own))
    assert own.shape[0] == n_rows
    trial = trial_of(seen, scored, _at_cells(own))
    chances = trial.scored_chances
    cached = chances if cache is None else cached_chances(cache.process, trial)
    plain, others = (pool(log_likelihoods(each, scored), scored) for each in (chances, cached))
    return ForeignScore(plain, others, cache)


def _at_cells(chances: F64) -> AtCells:
    def at(counts: sparse.csr_array) -> F64:
        rows = rows_of(counts.indptr)
        return np.asarray(chances[rows, counts.indices], np.float64)

    return at


def _checked(chances: Any, counts: sparse.csr_array) -> F64:
    found = np.asarray(chances, np.float64)
    if found.shape != counts.shape:
        raise UsageError(f"the chances of words are {found.shape}, not {counts.shape}")
    sums = found.sum(axis=1)
    if not (found > 0).all() or (len(sums) and not np.abs(sums - 1.0).max() <= OFF_ONE):
        raise UsageError("chances of words must be positive, and those of a document sum to 1")
    return found


def _cache(found: SearchResult, source: str, n_docs: int, n_tokens: int) -> Cache:
    return Cache(found.process, source, n_docs, n_tokens, found.at_limit)


def _chances(process: PitmanYor, trial: Trial, means: MeanTables, places: I64) -> F64:
    seen = trial.seen
    starts = seen.indptr.astype(np.int64)
    counts = seen.data.astype(np.int32)
    tables = seat(starts, counts, trial.seen_chances, means, process.concentration)
    return _given_tables(process, trial, tables, places)


def _given_tables(process: PitmanYor, trial: Trial, tables: F64, places: I64) -> F64:
    seen, counts = trial.seen, trial.seen.data
    doc = _rows_of(trial.scored)
    found = places >= 0
    own_count, own_tables = np.zeros((2, len(places)))
    own_count[found], own_tables[found] = counts[places[found]], tables[places[found]]
    lengths, all_tables = (_sums(seen, values) for values in (counts, tables))
    return predictive(
        process, trial.scored_chances, own_count, own_tables, all_tables[doc], lengths[doc]
    )


def _places(trial: Trial) -> I64:
    """Return where the word of each scored entry stands among the seen entries, -1 for nowhere."""
    n_words = trial.seen.shape[1]
    known, wanted = (
        _rows_of(counts) * n_words + counts.indices for counts in (trial.seen, trial.scored)
    )
    if len(known) == 0:
        return np.full(len(wanted), -1)
    order = np.argsort(known)
    nearest = order[np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)]
    return np.where(known[nearest] == wanted, nearest, -1)


def _rows_of(counts: sparse.csr_array) -> I64:
    return rows_of(counts.indptr)


def _sums(counts: sparse.csr_array, values: F64 | Ints) -> F64:
    found = np.bincount(_rows_of(counts), values, minlength=counts.shape[0])
    return np.asarray(found, np.float64)
