"""The vectorised row functions against their plain Python source, and that against formulas."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from numpy.typing import NDArray

from hiertopics.base.arrays import Floats
from hiertopics.numeric import simd

Row = Floats

LENGTHS = [1, 7, 16, 100, 300]
COUNTS = [1, 2, 8, 9, 40]
DTYPES = [np.float32, np.float64]
ROWS = ("q", "doc", "word", "prior", "base", "weights", "next_q", "next_word")
SEEN = ("doc_seen", "word_seen")
WORD_PRIOR = 0.05


@njit(nogil=True, error_model="numpy")
def weigh(q: Row, doc: Row, word: Row, prior: Row, base: Row, weights: Row) -> float:
    return simd.weigh(q, doc, word, prior, base, WORD_PRIOR, weights)


@njit(nogil=True, error_model="numpy")
def settle(q: Row, doc: Row, word: Row, weights: Row, scale: float, count: int, *seen: Row) -> None:
    simd.settle(q, doc, word, weights, scale, count, *seen)


@njit(nogil=True, error_model="numpy")
def settle_and_weigh(
    q: Row,
    doc: Row,
    word: Row,
    weights: Row,
    scale: float,
    count: int,
    next_q: Row,
    next_word: Row,
    prior: Row,
    base: Row,
    *seen: Row,
) -> float:
    return simd.settle_and_weigh(
        q, doc, word, weights, scale, count, next_q, next_word, prior, base, WORD_PRIOR, *seen
    )


@dataclass(frozen=True)
class Case:
    """Tables of three rows; the functions are given the middle ones."""

    tables: dict[str, Row]

    def __getitem__(self, name: Any) -> Row:
        return self.tables[name][1]

    def copy(self) -> Case:
        return Case({name: table.copy() for name, table in self.tables.items()})

    def visit(self, count: int) -> tuple[Any, ...]:
        return (*(self[name] for name in ("q", "doc", "word", "weights")), self.scale, count)

    @property
    def scale(self) -> Any:
        return 1 / self["weights"].sum()

    @property
    def following(self) -> tuple[Row, ...]:
        return tuple(self[name] for name in ("next_q", "next_word", "prior", "base"))

    @property
    def seen(self) -> tuple[Row, ...]:
        return tuple(self[name] for name in SEEN)


def case(length: int, dtype: type, seed: int = 0) -> Case:
    """Return rows as in a sweep: some counts below q, and q = 0 and q = 1 among the entries."""
    rng = np.random.default_rng(seed)
    tables = {name: rng.gamma(0.5, size=(3, length)) + 1e-3 for name in ROWS}
    tables["base"] += 50
    tables |= {name: rng.random((3, length)) for name in SEEN}
    for name in ("q", "next_q"):
        tables[name] /= tables[name].sum(axis=1, keepdims=True)
        tables[name][:, rng.integers(length)] = 0.0
        tables[name][:, rng.integers(length)] = 1.0
    return Case({name: table.astype(dtype) for name, table in tables.items()})


def assert_same(got: Case, want: Case) -> None:
    """The middle rows agree, and the others are not touched at all."""
    for name, table in want.tables.items():
        tolerance = 20 * float(np.finfo(table.dtype).eps)
        np.testing.assert_allclose(got[name], table[1], rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(got.tables[name][::2], table[::2])


def assert_sums_agree(got: Any, want: Any, dtype: type) -> None:
    assert got == pytest.approx(want, rel=50 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_weigh_is_the_same_compiled(length: int, dtype: type) -> None:
    compiled, plain = case(length, dtype), case(length, dtype)
    sums = []
    for function, rows in ((weigh, compiled), (weigh.py_func, plain)):
        sums.append(function(*(rows[name] for name in ROWS[:6])))
    assert_same(compiled, plain)
    assert_sums_agree(sums[0], sums[1], dtype)
    assert_sums_agree(sums[0], compiled["weights"].sum(dtype=np.float64), dtype)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_settle_is_the_same_compiled(length: int, dtype: type, count: int) -> None:
    compiled, plain = case(length, dtype), case(length, dtype)
    settle(*compiled.visit(count))
    settle.py_func(*plain.visit(count))
    assert_same(compiled, plain)
    settle(*compiled.visit(count), *compiled.seen)
    settle.py_func(*plain.visit(count), *plain.seen)
    assert_same(compiled, plain)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_settle_and_weigh_is_the_same_compiled(length: int, dtype: type, count: int) -> None:
    compiled, plain = case(length, dtype), case(length, dtype)
    got = settle_and_weigh(*compiled.visit(count), *compiled.following)
    want = settle_and_weigh.py_func(*plain.visit(count), *plain.following)
    assert_same(compiled, plain)
    assert_sums_agree(got, want, dtype)
    got = settle_and_weigh(*compiled.visit(count), *compiled.following, *compiled.seen)
    want = settle_and_weigh.py_func(*plain.visit(count), *plain.following, *plain.seen)
    assert_same(compiled, plain)
    assert_sums_agree(got, want, dtype)


@pytest.mark.parametrize("length", LENGTHS)
def test_the_next_pair_may_have_the_same_word(length: int) -> None:
    """Settling comes first, topic by topic, also where both pairs share a row."""
    fused, apart = case(length, np.float64), case(length, np.float64)
    next_q, _, prior, base = fused.following
    got = settle_and_weigh(*fused.visit(3), next_q, fused["word"], prior, base)
    settle(*apart.visit(3))
    next_q, _, prior, base = apart.following
    want = weigh(next_q, apart["doc"], apart["word"], prior, base, apart["weights"])
    assert_same(fused, apart)
    assert_sums_agree(got, want, np.float64)


def test_the_plain_functions_follow_the_formulas() -> None:
    rows = case(7, np.float64)
    before = rows.copy()
    total = weigh.py_func(*(rows[name] for name in ROWS[:6]))
    q, doc, word, prior, base, _ = (before[name] for name in ROWS[:6])
    for topic in range(7):
        share = max(doc[topic] - q[topic], prior[topic])
        others = max(word[topic] - q[topic], 0.0)
        want = share * (others + WORD_PRIOR) / (share + base[topic])
        assert rows["weights"][topic] == pytest.approx(want, rel=1e-14)
    settle.py_func(*rows.visit(3), *rows.seen)
    for topic in range(7):
        new = rows["weights"][topic] / total
        assert rows["q"][topic] == pytest.approx(new, rel=1e-14)
        for name in ("doc", "word"):
            moved = rows[name][topic] - before[name][topic]
            assert moved == pytest.approx(3 * (new - q[topic]), abs=1e-14)
        for name in SEEN:
            unseen = (1 - before[name][topic]) * (1 - new) ** 3
            assert 1 - rows[name][topic] == pytest.approx(unseen, abs=1e-15)


@pytest.mark.parametrize("count", COUNTS)
def test_small_shares_are_seen_to_full_precision(count: int) -> None:
    """Nothing is lost where 1 - q rounds to 1; q = 0 and q = 1 are exact."""
    q = np.array([0.0, 1e-30, 1e-9, 1e-4, 0.3, 1.0], np.float32)
    seen = np.zeros((2, len(q)), np.float32)
    rest = np.zeros((2, len(q)), np.float32)
    settle(np.zeros_like(q), rest[0], rest[1], q, 1.0, count, *seen)
    with np.errstate(divide="ignore"):
        want = -np.expm1(count * np.log1p(-q.astype(float)))
    np.testing.assert_allclose(seen, [want, want], rtol=1e-6, atol=0)
    assert seen[0, 0] == 0 and seen[0, -1] == 1


@pytest.mark.parametrize("function", [weigh, weigh.py_func])
@pytest.mark.parametrize("topic", [0, 57, 99])
@pytest.mark.parametrize("name", ROWS[:5])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_nan_reaches_the_sum(name: str, topic: int, dtype: type, function: Any) -> None:
    rows = case(100, dtype)
    rows[name][topic] = np.nan
    assert np.isnan(function(*(rows[name] for name in ROWS[:6])))
    assert np.isnan(rows["weights"][topic])


@pytest.mark.parametrize("name", ["doc", "word", "next_q", "next_word", "prior", "base"])
def test_a_nan_reaches_the_sum_of_the_next_pair(name: str) -> None:
    rows = case(100, np.float32)
    rows[name][70] = np.nan
    want_nan = name != "word"  # the settled pair's word is not the next pair's
    assert np.isnan(settle_and_weigh(*rows.visit(1), *rows.following)) == want_nan


@pytest.mark.parametrize("function", [weigh, weigh.py_func])
@pytest.mark.parametrize("name", ["doc", "word", "prior"])
def test_an_infinity_leaves_no_finite_sum(name: str, function: Any) -> None:
    rows = case(100, np.float32)
    rows[name][50] = np.inf
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(function(*(rows[name] for name in ROWS[:6])))


@njit
def settle_seen_by_none(
    q: Row, doc: Row, word: Row, weights: Row, scale: float, count: int
) -> None:
    simd.settle(q, doc, word, weights, scale, count, None, None)


def test_no_indicators_may_be_said_with_none() -> None:
    said, left_out = case(23, np.float32), case(23, np.float32)
    settle_seen_by_none(*said.visit(2))
    settle(*left_out.visit(2))
    assert_same(said, left_out)


def test_rows_of_another_kind_are_refused() -> None:
    rows = case(8, np.float32)
    wide = np.zeros(16, np.float32)
    for odd in (rows["q"].astype(np.float64), wide[::2]):
        with pytest.raises(TypingError, match="C-contiguous and all float32 or all float64"):
            weigh(odd, *(rows[name] for name in ROWS[1:6]))


@njit(nogil=True)
def prefetch(table: NDArray[Any], row: int) -> None:
    simd.prefetch_row(table, row)


@pytest.mark.parametrize("function", [prefetch, prefetch.py_func])
def test_prefetching_changes_nothing_even_outside_the_table(function: Any) -> None:
    table = np.arange(12.0).reshape(3, 4)
    for row in (0, 2, 3, 10**9, -1):
        function(table, row)
    np.testing.assert_array_equal(table, np.arange(12.0).reshape(3, 4))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_aligned_rows_begin_at_cache_lines(length: int, dtype: type) -> None:
    rows = simd.aligned_rows(3, np.zeros((2, length), dtype))
    assert rows.dtype == dtype and rows.flags.c_contiguous and not rows.any()
    assert rows.shape[0] == 3 and 0 <= rows.shape[1] - length < 64 // rows.itemsize
    assert all(row.ctypes.data % 64 == 0 for row in rows)


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("cached_kernel", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_kernel_is_cached_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "cached_kernel.py"
    path.write_text(
        "from numba import njit\nfrom hiertopics.numeric.simd import settle\n"
        "@njit(cache=True)\ndef run(q, doc, word, weights, scale, count):\n"
        "    settle(q, doc, word, weights, scale, count)\n"
    )
    results = []
    for hits in (0, 1):
        rows = case(100, np.float32)
        kernel = _load(path).run
        kernel(*rows.visit(2))
        assert sum(kernel.stats.cache_hits.values()) == hits
        results.append(rows)
    assert_same(results[1], results[0])
