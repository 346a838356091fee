"""Documents of very many tokens: drawn from by count, by the same law, in little memory."""

from __future__ import annotations

import tracemalloc
from itertools import product
from math import comb, prod

import numpy as np
import pytest
from scipy import stats
from stepping import corpus_of

from hiertopics.base import seeds
from hiertopics.corpus.holdouts.partition import UNROLLED, draw_counts, draw_tokens, partition
from hiertopics.corpus.holdouts.spec import parse_holdout
from hiertopics.corpus.holdouts.split import make_split

MOST_BYTES = 16 << 20
HUGE = 2**31 - 1


@pytest.mark.slow
@pytest.mark.parametrize("n_taken", [1, 3, 5])
def test_each_outcome_has_its_chance(n_taken: int) -> None:
    """All outcomes of a multivariate hypergeometric draw, each with its exact probability."""
    counts = np.array([2, 0, 1, 3])
    outcomes = [o for o in product(*(range(n + 1) for n in counts)) if sum(o) == n_taken]
    ways = [prod(comb(int(n), k) for n, k in zip(counts, o, strict=True)) for o in outcomes]
    rng, n_draws = np.random.default_rng(5), 40_000
    seen = dict.fromkeys(outcomes, 0)
    for _ in range(n_draws):
        seen[tuple(draw_counts(rng, counts, n_taken).tolist())] += 1
    expected = n_draws * np.array(ways) / comb(int(counts.sum()), n_taken)
    assert stats.chisquare(list(seen.values()), expected).pvalue > 1e-3


@pytest.mark.parametrize("share", [1e-9, 0.1, 0.5, 0.999])
def test_billions_of_tokens_take_little_memory(share: float) -> None:
    counts = corpus_of(np.array([[HUGE, 5, HUGE, 1], [0, 2, 1, 0]])).counts
    tracemalloc.start()
    taken, left = draw_tokens(counts, [0, 1], 3, "test", (), share)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST_BYTES
    assert ((taken + left) != counts).nnz == 0
    total = 2 * HUGE + 6
    assert taken[[0]].sum(dtype=np.int64) == max(1, int(share * total + 0.5))
    first = int(taken[0, 0])
    sd = np.sqrt(total * share * (1 - share)) / 2
    assert abs(first - share * HUGE) < 5 * sd + 2


def test_the_limit_is_where_it_is_said_to_be() -> None:
    """Up to it splits are drawn as they always were, which is written out here."""
    counts = corpus_of(np.array([[UNROLLED - 1, 1]])).counts
    first, _ = partition(counts, [0], 1)
    tokens = np.repeat([0, 1], [UNROLLED - 1, 1])
    n_taken = int(0.8 * UNROLLED + 0.5)
    kept = tokens[seeds.derive(1, "partition", 0).permutation(UNROLLED)[:n_taken]]
    assert first[[0]].toarray().ravel().tolist() == np.bincount(kept, minlength=2).tolist()


@pytest.mark.parametrize(
    ("spec", "code"),
    [("docs:0.3@1", "db22ec7d98616bc2"), ("tokens:0.25@1", "13554afc86720b93")],
)
def test_splits_of_ordinary_corpora_stay_what_they_were(spec: str, code: str) -> None:
    rows = np.random.default_rng(2).poisson(np.linspace(0.5, 40, 30)[:, None] * np.ones(12))
    assert make_split(corpus_of(rows), parse_holdout(spec))[1].hash == code
