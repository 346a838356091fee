"""The Pitman-Yor process of a document's words: tables, their numbers, predictive.

p(w | d) is drawn around a mixture p_w; theory/bursts has model and equations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from hiertopics.base.arrays import F64, I64
from hiertopics.base.stretches import ends_of
from hiertopics.numeric.grid import first_largest
from hiertopics.numeric.pitman_yor_kernels import (
    LARGEST,
    N_POINTS,
    MeanTables,
    Stirling,
    convolved,
    mean_rows,
    stirling_rows,
)
from hiertopics.numeric.priors import Positive

DISCOUNTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
CONCENTRATIONS = (1.0, 1e4)
N_CONCENTRATIONS = 28
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
NARROW = 0.005
"""Width in ln b at which a search ends."""

BORDER = 0.01
"""How near to a limit, in ln b, a concentration counts as lying at it."""

LARGE = 50.0
"""From it on differences of log gamma come from Stirling's series, whose next term is 1e-12."""


class PitmanYor(NamedTuple):
    """discount: 0 <= a < 1. concentration: b > 0."""

    discount: Annotated[float, Meta(ge=0, lt=1)]
    concentration: Positive


def log_stirling(counts: ArrayLike, discount: float) -> Stirling:
    """Return ln S^c_t of all counts >= 1 in ``counts``; those above LARGEST as it.

    Recursion (2) of theory/bursts 1. discount: a, 0 <= a < 1.
    """
    capped = np.minimum(np.asarray(counts, np.int64).ravel(), LARGEST)
    occurring = np.unique(np.append(capped, 1))
    row = np.full(LARGEST + 1, -1, np.int32)
    row[occurring] = np.arange(len(occurring))
    starts = ends_of(occurring)
    return Stirling(row, starts, stirling_rows(occurring, starts, float(discount)))


def mean_tables(counts: ArrayLike, discount: float) -> MeanTables:
    """Return E[t | c, x] of all counts >= 1 in ``counts``, for ``expected_tables`` in kernels."""
    log_s = log_stirling(counts, discount)
    occurring = np.flatnonzero(log_s.row >= 0)
    points = np.empty((len(occurring) if discount > 0.0 else 0, N_POINTS, 2), np.float32)
    if discount > 0.0:
        mean_rows(occurring, log_s.starts, log_s.values, points)
    second = np.zeros(LARGEST + 1)
    several, begin = occurring[1:], log_s.starts[1:-1]
    second[several] = np.exp(log_s.values[begin + 1] - log_s.values[begin])
    return MeanTables(float(discount), log_s.row, points, second)


def log_rising(process: PitmanYor, n: ArrayLike) -> F64:
    """Return ln (b|a)_n = sum_{i < n} ln(b + a i), for real n >= 0, float64 of the shape of n."""
    discount, concentration = process
    n = np.asarray(n, np.float64)
    if discount == 0.0:
        return np.asarray(n * math.log(concentration))
    start = concentration / discount
    if start < LARGE:
        return np.asarray(gammaln(start + n) - gammaln(start) + n * math.log(discount))
    # Of large numbers log gamma has no digits left for a difference.
    rest = _stirling_rest(start + n) - _stirling_rest(np.asarray(start))
    grown = (start + n - 0.5) * np.log1p(n / start) - n + rest
    return np.asarray(grown + n * math.log(concentration))


def _stirling_rest(z: F64) -> F64:
    """Return ln Gamma(z) less (z - 1/2) ln z - z + ln sqrt(2 pi)."""
    square = 1.0 / (z * z)
    return np.asarray((1.0 / 12 - square * (1.0 / 360 - square / 1260)) / z)


def predictive(
    process: PitmanYor,
    mixture: ArrayLike,
    count: ArrayLike,
    tables: ArrayLike,
    all_tables: ArrayLike,
    length: ArrayLike,
) -> F64:
    """Return p(w | d), (5) of theory/bursts 3: (c - a t + (b + a T) p_w) / (b + n).

    mixture: p_w. count, tables: c and t of the word in the document's seen part, both 0 where it
    was not seen. all_tables, length: T and n of the seen part. All of them broadcast to the shape
    of the result, float64.
    """
    discount, concentration = process
    own = np.asarray(count) - discount * np.asarray(tables)
    base = (concentration + discount * np.asarray(all_tables)) * np.asarray(mixture)
    return np.asarray((own + base) / (concentration + np.asarray(length)))


class SearchResult(NamedTuple):
    """The result of a search over (a, b). at_limit: b lies at the first or last of its values."""

    process: PitmanYor
    value: float
    at_limit: bool


def search(
    value_under: Callable[[float], Callable[[float], float]],
    discounts: Sequence[float] = DISCOUNTS,
) -> SearchResult:
    """Return the (a, b) of largest value, and the value, in nats.

    For each discount 28 even values of ln b from 1 to 1e4, then a golden section around the best.
    value_under: of a, returns the function of b. Ties go to the smaller a, then to the smaller b.
    """
    found = [_best_concentration(a, value_under(a)) for a in discounts]
    return found[first_largest([each.value for each in found])]


def _best_concentration(discount: float, value: Callable[[float], float]) -> SearchResult:
    lowest, highest = (math.log(limit) for limit in CONCENTRATIONS)
    places = np.linspace(lowest, highest, N_CONCENTRATIONS)
    best = first_largest([value(math.exp(place)) for place in places])
    low = float(places[max(best - 1, 0)])
    high = float(places[min(best + 1, N_CONCENTRATIONS - 1)])
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = value(math.exp(left)), value(math.exp(right))
    while high - low > NARROW:
        if first_largest([at_left, at_right]) == 0:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = value(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = value(math.exp(right))
    place = left if first_largest([at_left, at_right]) == 0 else right
    at_limit = place - lowest < BORDER or highest - place < BORDER
    return SearchResult(PitmanYor(discount, math.exp(place)), max(at_left, at_right), at_limit)


class MarginalLikelihood(NamedTuple):
    """Documents at fixed mixtures, prepared for ln p(tokens | p_d, a, b) of any b at one a.

    discount: a. lengths: int64 [n_docs]; starts: int64 [n_docs + 1], where the coefficients of a
    document begin; coefficients: float64, ln of those of y^0 .. y^n.
    """

    discount: float
    lengths: I64
    starts: I64
    coefficients: F64

    def log_likelihoods(self, concentration: float) -> F64:
        """Return ln p(tokens of a document, in order | p_d, a, b), float64 [n_docs].

        The sum over T of (b|a)_T / (b|1)_n times the coefficient of y^T (theory/bursts 4).
        """
        process = PitmanYor(self.discount, concentration)
        longest = int(np.diff(self.starts).max(initial=1))
        rising = log_rising(process, np.arange(longest))
        sums = np.empty(len(self.lengths))
        for doc in range(len(self.lengths)):
            terms = self.coefficients[self.starts[doc] : self.starts[doc + 1]]
            sums[doc] = np.logaddexp.reduce(terms + rising[: len(terms)])
        return np.asarray(sums - log_rising(PitmanYor(1.0, concentration), self.lengths))


def marginal(
    starts: NDArray[Any], counts: NDArray[Any], chances: F64, discount: float
) -> MarginalLikelihood:
    """Return the terms of the marginal likelihood of documents at one discount.

    starts: [n_docs + 1], where the pairs of a document begin; counts, chances: [n_pairs], tokens
    and p_w > 0 of each pair. Time grows with the square of a document's repeated tokens.
    """
    log_s = log_stirling(counts, discount)
    counts = np.asarray(counts, np.int32)
    own = (log_s.row, log_s.starts, log_s.values)
    made = [
        convolved(int(first), int(last), counts, chances, *own)
        for first, last in zip(starts[:-1], starts[1:], strict=True)
    ]
    totals = ends_of(counts)
    ends = ends_of([len(each) for each in made])
    joined = np.concatenate([np.empty(0), *made])
    return MarginalLikelihood(discount, np.diff(totals[np.asarray(starts)]), ends, joined)
