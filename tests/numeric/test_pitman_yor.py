"""The Pitman-Yor process of a document's words against enumeration and written values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from scipy.special import digamma

from hiertopics.base import seeds
from hiertopics.base.arrays import F64
from hiertopics.numeric.pitman_yor import (
    PitmanYor,
    log_rising,
    log_stirling,
    marginal,
    mean_tables,
    predictive,
    search,
)
from hiertopics.numeric.pitman_yor_kernels import LARGEST, expected_tables, seat

MIXTURE = (0.5, 0.3, 0.2)
COUNTS = (3, 2, 0)
Seating = tuple[tuple[int, int], ...]
"""Of each table: its word, its tokens."""


def partitions(n: int) -> Iterator[list[int]]:
    """Yield the sizes of blocks of each partition of n things."""
    if n == 0:
        yield []
        return
    for sizes in partitions(n - 1):
        yield [*sizes, 1]
        for block in range(len(sizes)):
            yield [size + (place == block) for place, size in enumerate(sizes)]


def naive_row(count: int, discount: float) -> F64:
    """Return S^c_t, t = 1..c, summed over partitions."""
    row = np.zeros(count + 1)
    for sizes in partitions(count):
        row[len(sizes)] += math.prod(m - discount for size in sizes for m in range(1, size))
    return row[1:]


def row_of(count: int, discount: float) -> F64:
    found = log_stirling([count], discount)
    first = found.starts[found.row[count]]
    return np.asarray(np.exp(found.values[first : first + count]))


def exact_means(count: int, discount: float, xs: F64) -> tuple[F64, F64]:
    """Return mean and variance of p(t) proportional to S^c_t x^t, of each x, by the summed row."""
    found = log_stirling([count], discount)
    first = found.starts[found.row[count]]
    tables = np.arange(1, count + 1)
    logs = found.values[first : first + count] + tables * np.log(xs)[:, None]
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    mean = weights @ tables
    return mean, (weights * (tables - mean[:, None]) ** 2).sum(axis=1)


def exact_mean(count: int, discount: float, x: float) -> tuple[float, float]:
    mean, spread = exact_means(count, discount, np.array([x]))
    return float(mean[0]), float(spread[0])


def seatings(words: list[int], discount: float, concentration: float) -> dict[Seating, float]:
    """Return the chance of words and seating, token by token, of each seating."""
    now: dict[Seating, float] = {(): 1.0}
    for seated, word in enumerate(words):
        then: Counter[Seating] = Counter()
        for tables, chance in now.items():
            opened = (concentration + discount * len(tables)) * MIXTURE[word]
            then[(*tables, (word, 1))] += chance * opened / (concentration + seated)  # type: ignore[assignment]
            for place, (own, size) in enumerate(tables):
                if own == word:
                    joined = (*tables[:place], (own, size + 1), *tables[place + 1 :])
                    then[joined] += chance * (size - discount) / (concentration + seated)  # type: ignore[assignment]
        now = dict(then)
    return now


def seated(discount: float, concentration: float) -> F64:
    """Return t of COUNTS at MIXTURE."""
    counts = np.array(COUNTS[:2], np.int32)
    means = mean_tables(counts, discount)
    return seat(np.array([0, 2]), counts, np.array(MIXTURE[:2]), means, concentration)


@pytest.mark.parametrize(
    ("count", "discount", "row"),
    [
        (4, 0.5, (1.875, 3.75, 3.0, 1.0)),
        (5, 0.5, (6.5625, 13.125, 11.25, 5.0, 1.0)),
        (4, 0.0, (6.0, 11.0, 6.0, 1.0)),
        (1, 0.5, (1.0,)),
    ],
)
def test_stirling_numbers_have_their_written_values(
    count: int, discount: float, row: tuple[float, ...]
) -> None:
    np.testing.assert_allclose(row_of(count, discount), row, rtol=1e-12)


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("count", [1, 2, 5, 7])
def test_stirling_numbers_are_sums_over_partitions(count: int, discount: float) -> None:
    np.testing.assert_allclose(row_of(count, discount), naive_row(count, discount), rtol=1e-12)


def test_a_count_above_the_largest_has_its_row() -> None:
    found = log_stirling([3, LARGEST + 5], 0.5)
    assert found.row[LARGEST] == 2  # after those of 1 and 3
    assert found.starts[-1] == 1 + 3 + LARGEST


@pytest.mark.parametrize(
    ("x", "discount", "means"),
    [
        (0.3, 0.0, (1.230769, 1.452113, 1.667199)),
        (0.3, 0.5, (1.375000, 1.529572, 1.572377)),
        (0.3, 0.8, (1.600000, 1.629179, 1.484427)),
        (5.0, 0.0, (1.833333, 3.172619, 5.099387)),
        (5.0, 0.5, (1.909091, 3.464589, 5.675538)),
        (5.0, 0.8, (1.961538, 3.736628, 6.425181)),
    ],
)
def test_mean_tables_have_their_written_values(
    x: float, discount: float, means: tuple[float, ...]
) -> None:
    table = mean_tables([2, 4, 8], discount)
    assert [exact_mean(count, discount, x)[0] for count in (2, 4, 8)] == pytest.approx(
        means, abs=6e-7
    )
    found = [expected_tables(table, count, x) for count in (2, 4, 8)]
    assert found == pytest.approx(means, abs=2.5e-5)


def test_mean_tables_of_a_large_count() -> None:
    assert expected_tables(mean_tables([400], 0.5), 400, 20.0) == pytest.approx(38.998, abs=6e-4)


@pytest.mark.parametrize(
    ("discount", "count", "error"),
    [
        (0.5, 2, 2.5e-5),
        (0.5, 60, 2.5e-5),
        (0.5, 1000, 4.4e-4),
        (0.8, 60, 2.9e-4),
        (0.8, 1000, 6.4e-3),
    ],
)
def test_mean_tables_are_as_near_as_they_claim(discount: float, count: int, error: float) -> None:
    table = mean_tables([count], discount)
    xs = np.exp(np.linspace(math.log(1e-7), math.log(1e7), 700))
    off = [expected_tables(table, count, x) for x in xs] - exact_means(count, discount, xs)[0]
    # Where a table ends the series of two terms goes on; its own error is of second order.
    inner = (xs > 1e-6) & (xs < 1e6)
    assert np.abs(off)[inner].max() < error
    assert np.abs(off)[xs < 1e-6].max() < 1e-9
    assert np.abs(off)[xs > 1e6].max() < (count**3) / 1e12 + 1e-9


def test_no_discount_is_the_closed_form() -> None:
    table = mean_tables([2, 30], 0.0)
    assert table.points.size == 0
    for x in (1e-5, 0.2, 3.0, 400.0, 9e5):
        for count in (2, 30):
            closed = x * (digamma(x + count) - digamma(x))
            assert expected_tables(table, count, x) == pytest.approx(closed, rel=1e-9)
            assert closed == pytest.approx(exact_mean(count, 0.0, x)[0], rel=1e-7)


def test_mean_tables_obey_the_recursion_over_counts() -> None:
    for discount, x in product((0.0, 0.5, 0.9), (0.05, 2.0, 60.0)):
        mean, spread = exact_mean(6, discount, x)
        step = (x - discount * spread) / (x + 6 - discount * mean)
        assert exact_mean(7, discount, x)[0] == pytest.approx(mean + step, rel=1e-10)


def test_one_token_has_one_table_and_no_chance_leaves_one() -> None:
    table = mean_tables([1, 5], 0.5)
    assert expected_tables(table, 1, 3.0) == 1.0
    assert expected_tables(table, 5, 0.0) == 1.0
    assert expected_tables(table, 5, 1e300) == 5.0


def test_rising_factors_are_products() -> None:
    for discount, concentration in product((0.0, 0.5, 0.9), (0.7, 24.9, 30.0, 4e5)):
        naive = sum(math.log(concentration + discount * i) for i in range(40))
        found = log_rising(PitmanYor(discount, concentration), [0, 40])
        assert found == pytest.approx([0.0, naive], rel=1e-12)
    assert log_rising(PitmanYor(0.5, 1e15), 100.0) == pytest.approx(100 * math.log(1e15), rel=1e-12)


@pytest.mark.parametrize(("discount", "log_chance"), [(0.5, -4.669709), (0.0, -4.828314)])
def test_the_marginal_is_the_sum_over_seatings(discount: float, log_chance: float) -> None:
    by_hand = math.log(sum(seatings([0, 1, 0, 0, 1], discount, 2.0).values()))
    counts = np.array(COUNTS[:2], np.int32)
    own = marginal(np.array([0, 2]), counts, np.array(MIXTURE[:2]), discount)
    assert by_hand == pytest.approx(log_chance, abs=6e-7)
    assert own.log_likelihoods(2.0) == pytest.approx([by_hand], abs=1e-12)


def test_the_marginal_of_several_documents_and_of_none() -> None:
    starts = np.array([0, 2, 2, 4])
    counts = np.array([3, 2, 1, 1], np.int32)
    own = marginal(starts, counts, np.array([*MIXTURE[:2], *MIXTURE[1:]]), 0.5)
    two = math.log(sum(seatings([1, 2], 0.5, 2.0).values()))
    assert own.log_likelihoods(2.0) == pytest.approx([-4.669709, 0.0, two], abs=6e-7)


@pytest.mark.parametrize(
    ("discount", "concentration", "tables", "chances"),
    [
        (0.5, 2.0, (2.361898, 1.678681), (0.547028, 0.338107, 0.114865)),
        (0.5, 50.0, (2.943369, 1.968919), (0.504662, 0.304589, 0.190750)),
    ],
)
def test_a_seating_ends_where_it_is_written(
    discount: float, concentration: float, tables: tuple[float, ...], chances: tuple[float, ...]
) -> None:
    found = seated(discount, concentration)
    assert found == pytest.approx(tables, abs=2e-6)
    process = PitmanYor(discount, concentration)
    next_word = predictive(process, MIXTURE, COUNTS, [*found, 0.0], found.sum(), 5)
    assert next_word == pytest.approx(chances, abs=1e-6)
    assert next_word.sum() == pytest.approx(1.0, abs=1e-12)


def test_no_discount_predicts_by_counts_whatever_the_tables() -> None:
    next_word = predictive(PitmanYor(0.0, 2.0), MIXTURE, COUNTS, (2.0, 1.5, 0.0), 3.5, 5)
    assert next_word == pytest.approx((0.571429, 0.371429, 0.057143), abs=6e-7)


def test_the_predictive_of_a_seating_is_exact() -> None:
    """Averaged over all seatings by their chances: the next token's distribution."""
    words = [0, 1, 0, 0, 1]
    every = seatings(words, 0.5, 2.0)
    whole = sum(every.values())
    mean = np.zeros(3)
    for tables, chance in every.items():
        t = np.bincount([word for word, _ in tables], minlength=3)
        own = predictive(PitmanYor(0.5, 2.0), MIXTURE, COUNTS, t, t.sum(), 5)
        mean += chance / whole * own
    assert mean == pytest.approx((0.546726, 0.338036, 0.115238), abs=6e-7)
    grown = [sum(seatings([*words, word], 0.5, 2.0).values()) / whole for word in range(3)]
    assert mean == pytest.approx(grown, abs=1e-14)


def test_a_large_concentration_is_the_mixture() -> None:
    tables = seated(0.5, 1e15)
    assert tables == pytest.approx((3.0, 2.0), abs=1e-9)
    next_word = predictive(PitmanYor(0.5, 1e15), MIXTURE, COUNTS, [*tables, 0.0], 5.0, 5)
    assert next_word == pytest.approx(MIXTURE, abs=1e-12)


def test_nothing_seen_is_the_mixture() -> None:
    assert predictive(PitmanYor(0.5, 2.0), MIXTURE, 0, 0, 0, 0) == pytest.approx(MIXTURE)


@pytest.mark.parametrize("truth", [PitmanYor(0.5, 47.0), PitmanYor(0.0, 300.0)])
def test_the_search_finds_the_peak(truth: PitmanYor) -> None:
    def of(discount: float) -> object:
        return lambda b: (
            -((math.log(b / truth.concentration)) ** 2) - (discount - truth.discount) ** 2
        )

    found = search(of)  # type: ignore[arg-type]
    assert found.process.discount == truth.discount
    assert found.process.concentration == pytest.approx(truth.concentration, rel=0.005)
    assert not found.at_limit


def test_the_search_says_when_it_ends_at_a_limit() -> None:
    up = search(lambda a: lambda b: math.log(b))
    assert up.at_limit and up.process.concentration > 9900 and up.process.discount == 0.0
    assert search(lambda a: lambda b: -math.log(b)).at_limit


@pytest.mark.slow
@pytest.mark.parametrize("truth", [PitmanYor(0.5, 50.0), PitmanYor(0.0, 50.0)])
def test_simulated_documents_give_their_parameters_back(truth: PitmanYor) -> None:
    """200 documents of 100 tokens with known mixtures: a by its grid, b within 20%."""
    rng = seeds.derive(3, "recovery")
    mixture = rng.dirichlet(np.full(300, 0.1))
    starts, counts, chances = [0], [], []
    for _ in range(200):
        words, sizes, owners = [], [], []  # type: ignore[var-annotated]
        for seated_now in range(100):
            opened = truth.concentration + truth.discount * len(sizes)
            if rng.random() * (truth.concentration + seated_now) < opened:
                sizes.append(1)
                owners.append(int(rng.choice(300, p=mixture)))
                words.append(owners[-1])
            else:
                weights = np.array(sizes) - truth.discount
                table = int(rng.choice(len(sizes), p=weights / weights.sum()))
                sizes[table] += 1
                words.append(owners[table])
        for word, count in sorted(Counter(words).items()):
            counts.append(count)
            chances.append(mixture[word])
        starts.append(len(counts))
    pairs = np.array(counts, np.int32), np.array(chances)

    def of(discount: float) -> object:
        own = marginal(np.array(starts), *pairs, discount)
        return lambda b: float(own.log_likelihoods(b).sum())

    found = search(of).process  # type: ignore[arg-type]
    assert abs(found.discount - truth.discount) <= 0.1
    at_truth = search(of, (truth.discount,)).process  # type: ignore[arg-type]
    assert at_truth.concentration == pytest.approx(truth.concentration, rel=0.2)
