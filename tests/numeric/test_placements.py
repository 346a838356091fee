"""A kernel whose sums may be split gives the same bits wherever memory was free.

LLVM makes two loops of one that writes to an array while it reads others: vector code for arrays
that lie far apart, and one entry after the other for those that may overlap. How far is enough
does not depend on the length of small arrays, so small ones that lie side by side take the second
loop. A sum that is split (``REASSOCIATE``) in one loop and not in the other has two roundings.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import hiertopics
from hiertopics.families.chdp import variational_kernels as chdp
from hiertopics.families.flat import (
    burst_kernels,
    kernels,
    moments,
    sweep_kernels,
)
from hiertopics.families.flat.kernels import ExpectedCounts, PseudoCounts
from hiertopics.families.flat.layout import Cells
from hiertopics.families.ncrp.variational import (
    expectation_kernels,
    slot_kernels,
    structured_kernels,
)
from hiertopics.families.nhdp import gibbs_kernels
from hiertopics.families.tssb import assign_kernels, text_kernels
from hiertopics.numeric.pitman_yor_kernels import MeanTables
from hiertopics.papers import hdp_second_order_kernels as second_order
from hiertopics.papers.hdp_second_order_kernels import Spreads

LENGTHS = (3, 6, 9, 12, 15, 18, 22, 27, 31, 38, 46, 55, 63, 70)
N_DOCS, N_WORDS = 3, 5
LINE, APART = 64, 1 << 14
"""Bytes of a cache line, and between arrays that lie far apart."""

F32, F64 = np.float32, np.float64


class Maker:
    """Draws arguments of kernels: rows of n entries of the type ``kind``."""

    def __init__(self, n: int, kind: type = F32) -> None:
        self.n, self.kind = n, kind
        self.rng = np.random.default_rng(n)

    def row(self, *shape: int, kind: type | None = None, least: float = 0.01) -> NDArray[Any]:
        """Return numbers from ``least`` to 1, of the shape or a row."""
        return (least + self.rng.random(shape or self.n) * (1 - least)).astype(kind or self.kind)

    def chances(self, *shape: int, kind: type | None = None) -> NDArray[Any]:
        """Return rows that sum to 1."""
        rows = self.row(*shape, kind=F64)
        return (rows / rows.sum(axis=-1, keepdims=True)).astype(kind or self.kind)

    def ints(self, below: int, *shape: int, kind: type = np.int32) -> NDArray[Any]:
        return self.rng.integers(0, below, shape or self.n).astype(kind)

    @property
    def cells(self) -> Cells:
        ends = np.arange(N_DOCS + 1, dtype=np.int64) * N_WORDS
        cuts = np.stack([ends[:-1], ends[1:]], axis=1)
        words = np.tile(np.arange(N_WORDS, dtype=np.int32), N_DOCS)
        tokens: NDArray[Any] = (1 + self.rng.integers(0, 3, len(words))).astype(self.kind)
        return Cells(np.ascontiguousarray(cuts), words, tokens, np.array([0, N_DOCS]))

    @property
    def tables(self) -> ExpectedCounts:
        pairs = N_DOCS * N_WORDS
        return ExpectedCounts(
            self.chances(pairs, self.n),
            8 * self.row(N_DOCS, self.n, least=0.5),
            8 * self.row(N_WORDS, self.n, least=0.5),
            self.row(N_DOCS, self.n) / 2,
            self.row(N_WORDS, self.n) / 2,
        )

    @property
    def prior(self) -> PseudoCounts:
        return PseudoCounts(self.row(), self.row(N_WORDS), 2.0)

    @property
    def seating(self) -> burst_kernels.TableRule:
        largest = np.full(4097, -1, np.int32)
        second = np.zeros(4097)
        means = MeanTables(0.0, largest, np.zeros((0, 192, 2), F32), second)
        return burst_kernels.TableRule(means, 20.0)


Case = Callable[[Maker], tuple[Any, ...]]


def n_k(m: Maker) -> NDArray[Any]:
    return 30 + m.row(kind=F64)


CASES: dict[Any, Case] = {
    chdp.entropy: lambda m: (m.chances(7, m.n), m.row(7)),
    burst_kernels.total_of: lambda m: (m.row(),),
    burst_kernels.sweep_block: lambda m: (
        *(m.cells, 0, 0, m.tables, 1 + m.row(N_DOCS * N_WORDS), n_k(m), m.prior),
        m.seating,
    ),
    burst_kernels.visit: lambda m: (
        *(np.arange(N_WORDS, dtype=np.int32), m.row(N_WORDS) * 3, 1 + m.row(N_WORDS)),
        *(m.chances(N_WORDS, m.n), 8 * m.row(N_WORDS, m.n), m.row(N_WORDS)),
        *(8 * m.row(), m.row(), n_k(m).astype(F32), m.row(), 20.0, 2.0, m.seating, m.row()),
        *(m.row() / 2, m.row(N_WORDS, m.n) / 2),
    ),
    burst_kernels.note_seen: lambda m: (m.chances(), 3.4, m.row(), m.row() / 2, m.row() / 2),
    burst_kernels.at_least_once: lambda m: (m.chances(), 3, 0.4, m.row()),
    kernels.sweep_block: lambda m: (
        *(m.cells, 0, 0, m.tables, n_k(m), m.prior, m.row(kernels.N_ROWS, m.n)),
    ),
    kernels.visit: lambda m: (
        *(np.arange(N_WORDS, dtype=np.int32), m.row(N_WORDS) * 3, m.chances(N_WORDS, m.n)),
        *(8 * m.row(N_WORDS, m.n), m.row(N_WORDS), 8 * m.row(), m.row()),
        *(n_k(m).astype(F32), m.row()),
    ),
    kernels.visit_noting: lambda m: (
        *(np.arange(N_WORDS, dtype=np.int32), m.row(N_WORDS) * 3, m.chances(N_WORDS, m.n)),
        *(8 * m.row(N_WORDS, m.n), m.row(N_WORDS), 8 * m.row(), m.row()),
        *(n_k(m).astype(F32), m.row(), m.row(N_WORDS, m.n) / 2, m.row() / 2),
    ),
    kernels.block_log_likelihood: lambda m: (
        *(m.cells, 0, m.chances(N_DOCS, m.n), m.row(N_WORDS, m.n)),
    ),
    kernels.fold_in: lambda m: (
        *(np.arange(N_WORDS, dtype=np.int32), m.row(N_WORDS, kind=F64) * 3),
        *(m.row(N_WORDS, m.n, kind=F64), m.row(kind=F64), 4, 0.0),
    ),
    moments.spread_block: lambda m: (
        *(m.cells, 0, 0, m.tables.resp, m.row(N_DOCS, m.n), m.row(N_WORDS, m.n)),
    ),
    moments.expected_tables: lambda m: (
        *(0, N_DOCS, 3 * m.row(N_DOCS, m.n), m.row(N_DOCS, m.n), m.row(N_DOCS, m.n)),
        *(np.ones(N_DOCS), m.row(kind=F64), np.zeros(N_DOCS), np.zeros(m.n)),
    ),
    moments.tables_of_row: lambda m: (
        *(3 * m.row(), m.row(), m.row(), m.row(kind=F64), -m.row(kind=F64), np.zeros(m.n)),
    ),
    sweep_kernels.add_up_blocks: lambda m: (m.row(kind=F64), np.zeros((m.n + 31) // 32)),
    sweep_kernels.scale_document: lambda m: (
        *(m.ints(5), m.row(), m.row(kind=F64), m.row(kind=F32)),
    ),
    expectation_kernels.expect_words: lambda m: (
        *(m.row(N_WORDS, m.n), m.row(kind=F64), m.row(N_WORDS, m.n), m.row(N_WORDS, m.n)),
    ),
    expectation_kernels.expect_words_fast: lambda m: (
        *(m.row(N_WORDS, m.n), m.row(), m.row(N_WORDS, m.n)),
    ),
    expectation_kernels.spread_by_slot: lambda m: (
        *(m.row(N_WORDS, m.n), m.ints(m.n + 1, 2, m.n), 0.01),
        *(m.row(N_WORDS, 2, m.n), m.row(N_WORDS), m.row(N_WORDS, kind=F64)),
    ),
    slot_kernels._multiply_group: lambda m: (
        *(m.row(), m.row(), np.arange(3, dtype=np.int32), m.row(3)),
        *(m.row(N_WORDS, 2, m.n), m.row(N_WORDS)),
    ),
    slot_kernels._mix: lambda m: (m.row(3, m.n), m.row(4), 0.3, m.row()),
    slot_kernels._multiply_power: lambda m: (m.row(), m.row(), 13),
    slot_kernels._add_logs: lambda m: (m.row(kind=F64), m.row(), 3),
    structured_kernels.levels_of_slot: lambda m: (
        *(m.row(3, m.n), m.row(), m.row(3), m.row(), m.row(), np.zeros(3)),
    ),
    structured_kernels.log_chance: lambda m: (m.row(), m.row()),
    assign_kernels.dot: lambda m: (m.row(kind=F64), m.row(kind=F64)),
    assign_kernels.product: lambda m: (m.row(2, m.n), 1, m.row(3, m.n), 2),
    text_kernels.weigh: lambda m: (m.row(), m.ints(5), m.row(), np.float32(0.1), m.row()),
    second_order.weigh: lambda m: (
        *(m.chances(), 3 * m.row(), m.row(), 3 * m.row(), m.row(), m.row(), 9 * m.row()),
        *(m.row(), np.float32(0.1), m.row()),
    ),
    second_order.settle: lambda m: (
        *(m.chances(), 3 * m.row(), m.row(), 3 * m.row(), m.row(), m.row()),
        *(np.float32(m.n / 2), np.float32(2)),
    ),
    second_order.note_seen: lambda m: (m.chances(), 5, m.row(), m.row() / 2, m.row() / 2),
    second_order.write_at_least_once: lambda m: (m.chances(), 5, m.row()),
    second_order.sweep_block: lambda m: (
        *(m.cells, 0, 0, m.tables, Spreads(m.row(N_DOCS, m.n), m.row(N_WORDS, m.n))),
        *(n_k(m), 9 * m.row(kind=F64), m.prior),
    ),
}
"""Arguments of each kernel with ``REASSOCIATE``."""


def gibbs_case(m: Maker) -> tuple[Any, ...]:
    """Return arguments of ``gibbs_kernels.weigh``: a root whose children are all others."""
    first, parent = np.full(m.n + 1, m.n), np.zeros(m.n, np.int32)
    first[0], parent[0] = 1, -1
    row: Any = [m.row(kind=F64) for _ in range(9)]
    inner = np.zeros(1, np.int64)
    prior = gibbs_kernels.NodeParameters(
        parent, first, inner, row[0], row[1], row[2], row[3], eta=0.1, eta_total=0.5
    )
    return m.ints(5), row[4], row[5], prior, *row[6:]


def scores_case(m: Maker) -> tuple[Any, ...]:
    """Return arguments of ``slot_kernels.slot_scores``: words that occur once and often."""
    words, times = np.arange(N_WORDS, dtype=np.int32), np.array([1, 1, 2, 7, 300], np.int32)
    cells = slot_kernels.DocumentPairs(np.array([0, N_WORDS]), words, times)
    path = np.zeros((m.n, 3), np.int32)
    parent, bounds = np.zeros(m.n, np.uint32), np.zeros(4, np.int64)
    slots = slot_kernels.Slots(parent, bounds, path, np.zeros(m.n), 0.01)
    given = slot_kernels.SlotGlobals(
        m.row(N_WORDS, m.n),
        m.row(N_WORDS, 2, m.n),
        m.row(N_WORDS),
        -m.row(N_WORDS, kind=F64),
        m.row(0, m.n),
        slots,
        m.row(3, kind=F64),
        0.01,
    )
    prod = np.ones(m.n, F32)
    form = (23, 127, (1 << 23) - 1, 127 << 23)
    scratch = slot_kernels.SlotScratch(
        m.row(), prod, prod.view(np.int32), np.zeros(m.n, np.int32), m.row(kind=F64), form
    )
    return cells, 0, m.chances(3), given, scratch, np.zeros(m.n)


CASES |= {gibbs_kernels.weigh: gibbs_case, slot_kernels.slot_scores: scores_case}


def arrays_of(value: Any) -> Iterator[NDArray[Any]]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from arrays_of(one)


def moved(value: Any, places: Iterator[NDArray[Any]]) -> Any:
    """Return arguments with each array in its place."""
    if isinstance(value, np.ndarray):
        return next(places)
    if isinstance(value, tuple):
        made = [moved(one, places) for one in value]
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    return value


def placed(args: tuple[Any, ...], order: Sequence[int], gap: int) -> tuple[Any, ...]:
    """Return equal arguments whose arrays lie in one memory in an order, ``gap`` bytes between.

    An array that has the memory of another one has it there, too.
    """
    arrays = list(arrays_of(args))
    first = {array.ctypes.data: which for which, array in reversed([*enumerate(arrays)])}
    memory = np.zeros(sum(array.nbytes + gap + 8 for array in arrays) + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    places: dict[int, NDArray[Any]] = {}
    for which in order:
        array = arrays[which]
        if first[array.ctypes.data] == which:
            place = memory[start : start + array.nbytes]
            place[:] = array.reshape(-1).view(np.uint8)
            places[array.ctypes.data] = place
            start += (array.nbytes + gap + 7) // 8 * 8
    found = (places[array.ctypes.data].view(array.dtype).reshape(array.shape) for array in arrays)
    return tuple(moved(args, found))


def orders(n_arrays: int) -> list[list[int]]:
    """Return a few orders in which arrays can lie, each next to many others."""
    rng = np.random.default_rng(0)
    plain = list(range(n_arrays))
    return [plain, plain[::-1], *(rng.permutation(n_arrays).tolist() for _ in range(6))]


def bytes_of(kernel: Any, args: tuple[Any, ...]) -> tuple[bytes, ...]:
    """Return what a kernel returns and leaves in its arrays."""
    found = kernel(*args)
    return np.float64(0 if found is None else found).tobytes(), *(
        array.tobytes() for array in arrays_of(args)
    )


def name_of(kernel: Any) -> str:
    return f"{kernel.py_func.__module__.removeprefix('hiertopics.')}.{kernel.py_func.__name__}"


def splitting() -> set[str]:
    """Return names of all kernels of the package that are compiled with ``fastmath``."""
    found = set()
    for part in pkgutil.walk_packages(hiertopics.__path__, "hiertopics."):
        if not part.name.endswith(("kernels", "moments", "special", "_simd")):
            continue
        module = importlib.import_module(part.name)
        for value in vars(module).values():
            if getattr(value, "targetoptions", {}).get("fastmath"):
                found.add(name_of(value))
    return found


def test_all_kernels_that_split_sums_are_placed() -> None:
    assert splitting() == {name_of(kernel) for kernel in CASES}


@pytest.mark.parametrize("kernel", CASES, ids=name_of)
def test_bits_do_not_depend_on_where_memory_was_free(kernel: Any) -> None:
    for n in LENGTHS:
        args = CASES[kernel](Maker(n))
        n_arrays = len(list(arrays_of(args)))
        apart = bytes_of(kernel, placed(args, range(n_arrays), APART))
        for order in orders(n_arrays):
            for gap in (0, 16):
                assert bytes_of(kernel, placed(args, order, gap)) == apart, (n, order, gap)
