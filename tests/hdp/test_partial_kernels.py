"""Kernels of the partially collapsed sampler: against a slow twin, exact laws and plain counts."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hdp_cases import random_corpus
from naive import poisson_binomial
from numpy.typing import NDArray
from scipy import stats
from stepping import SERIAL, at, corpus_of, docs_of, twins
from truth import rows_of

from hiertopics.base.arrays import F64
from hiertopics.contract.engine import Each, Workers, as_given, cut, joined
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat.sweep_kernels import last_place
from hiertopics.families.hdp import (
    block_kernels,
    block_layout,
    blocks,
    gibbs_kernels,
    table_kernels,
    topic_kernels,
)
from hiertopics.families.hdp.block_layout import Blocks, lay_out, made_piece
from hiertopics.numeric.lanes import LANES
from hiertopics.numeric.streams import random_bits, uniform

KEY = np.uint64(0x0123456789ABCDEF)
NEAR = 1e-5


class Case(NamedTuple):
    """A corpus, topics of its tokens, and what a sweep holds."""

    corpus: Corpus
    z: NDArray[Any]
    n_topics: int
    phi: F64
    prior: F64

    def placed(self, data: Blocks, workers: Workers = SERIAL) -> Any:
        """Return the pieces with the topics of their tokens."""
        states = cut(blocks.Local, {"z": self.z}, data.bounds)
        return workers.place(block_layout.made_piece, data.pieces, as_given, Each(states))

    def swept(self, data: Blocks, held: Any, workers: Workers = SERIAL) -> Any:
        """Return the topics after a sweep, and what it says of each piece."""
        local = self.placed(data, workers)
        results = local.step(blocks.sweep_piece, (held, self.n_topics))
        return joined(local, "z"), results

    def held(self, data: Blocks) -> Any:
        """Return it as the kernels take it, topics in two factors."""
        scale = np.zeros(data.table.shape[1], np.float32)
        scale[: self.n_topics] = np.linspace(0.5, 2.0, self.n_topics)
        data.table[:, : self.n_topics] = self.phi / scale[: self.n_topics]
        return blocks.hold(data.table, scale, self.prior, at(3))


def case(seed: int = 0, n_topics: int = 40, largest: int = 6) -> Case:
    """Return a case of about 1000 tokens; a third of all chances of words in topics are 0."""
    rng = np.random.default_rng(seed)
    corpus = random_corpus(seed, n_docs=12, n_words=30, density=0.7, largest=largest)
    phi = rng.dirichlet(np.full(30, 0.3), n_topics).T
    phi[rng.random(phi.shape) < 0.3] = 0.0
    phi[:, 0] += 1e-3
    z = rng.integers(n_topics, size=corpus.n_tokens).astype(np.uint16)
    return Case(corpus, z, n_topics, phi, rng.gamma(0.3, size=n_topics))


# --- The sweep ---------------------------------------------------------------------------------


def order_of(n: int) -> list[int]:
    """Return the order in which entries are added up: lane by lane."""
    return [place for lane in range(LANES) for place in range(lane, n, LANES)]


def twin(found: Case, after: NDArray[Any], key: np.uint64) -> int:
    """Redraw document by document with dense weights; return how many draws were near an edge.

    There the twin takes the kernel's topic.
    """
    token, n_near = 0, 0
    for words in docs_of(found.corpus):
        z = found.z[token : token + len(words)].astype(int).tolist()
        used = list(dict.fromkeys(z))
        counts = {topic: z.count(topic) for topic in used}
        for i, word in enumerate(words):
            phi, old = found.phi[word], z[i]
            weights = np.array([phi[topic] * (counts[topic] - (topic == old)) for topic in used])
            first = phi * found.prior
            listed = [used[place] for place in order_of(len(used))]
            order = [(listed, weights[order_of(len(used))])]
            everywhere = order_of(found.n_topics)
            order += [(everywhere, first[everywhere])]
            names = [topic for topics, _ in order for topic in topics]
            edges = np.cumsum(np.concatenate([weights for _, weights in order]))
            target = uniform(key, token + i) * edges[-1]
            new = names[min(int(np.searchsorted(edges, target, side="right")), len(names) - 1)]
            if np.abs(edges - target).min() < NEAR * edges[-1]:
                n_near += 1
                new = int(after[token + i])
            assert new == after[token + i], (token, i)
            if new != old:
                counts[old] -= 1
                if counts[old] == 0:
                    place = used.index(old)
                    used[place] = used[-1]
                    used.pop()
                if new not in used:
                    used.append(new)
                    counts[new] = 0
                counts[new] += 1
        token += len(words)
    return n_near


@pytest.mark.parametrize("n_topics", [1, 3, 40, 100])
def test_a_sweep_equals_the_dense_one_document_by_document(n_topics: int) -> None:
    """6.2: the same uniforms choose the same topics."""
    found = case(n_topics, n_topics)
    data = lay_out(found.corpus, n_topics)
    held = found.held(data)
    after, _ = found.swept(data, held)
    assert twin(found, after, held.key) < 0.05 * found.corpus.n_tokens
    assert n_topics == 1 or (after != found.z).mean() > 0.3


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("block_bytes", [1, 3000, 10**6])
@pytest.mark.parametrize("n_pieces", [1, 4, 5])
def test_blocks_pieces_and_workers_change_no_byte(
    n_pieces: int, block_bytes: int, workers: int
) -> None:
    found = case(5)
    whole = lay_out(found.corpus, found.n_topics)
    wanted, _ = found.swept(whole, found.held(whole))
    data = lay_out(found.corpus, found.n_topics, n_pieces, block_bytes)
    n_blocks = sum(len(piece.block_doc) - 1 for piece in data.pieces)
    assert (n_blocks == found.corpus.n_docs) == (block_bytes == 1)
    with Workers(workers) as pool:
        after, results = found.swept(data, found.held(data), pool)
    assert len(results) == (n_pieces if block_bytes == 1 else len(data.pieces))
    np.testing.assert_array_equal(after, wanted)


def test_changes_are_taken_once() -> None:
    cells, amounts = np.array([5, 3, 0]), np.array([1, -1, 9], np.int32)
    written: Any = SimpleNamespace(n_changes=np.array([2]), cells=cells, amounts=amounts)
    changes = blocks.CountChanges(1000)
    changes.take(written)
    changes.take(written)
    taken, by = changes.told()
    assert (taken.tolist(), by.tolist()) == ([5, 3], [1, -1])


@pytest.mark.parametrize("n_pieces", [1, 3])
def test_what_a_sweep_says_is_what_counting_says(
    n_pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """6.2: changes of n_wk and the counts of n_dk; the room for changes runs out on the way."""
    monkeypatch.setattr(blocks, "CHANGES_AT_ONCE", 1)
    counts = np.random.default_rng(3).poisson(1.0, (9, 20))
    counts[4, 7:9] = [700, 300]
    corpus = corpus_of(counts)
    data = lay_out(corpus, 4, n_pieces, 600)
    z = np.random.default_rng(4).integers(4, size=corpus.n_tokens).astype(np.uint16)
    found = Case(corpus, z, 4, np.full((20, 4), 0.05), np.full(4, 0.1))
    local = found.placed(data)
    n_wk: Any = sum(local.ask(blocks.count_words, (20, 4)))
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    before = z.copy()
    results = local.step(blocks.sweep_piece, (found.held(data), 4))
    after = joined(local, "z")
    result = blocks.add_results(results, n_wk, n_k)
    np.testing.assert_array_equal(z, before)
    doc = np.repeat(np.arange(9), corpus.doc_lengths)
    word = np.concatenate(docs_of(corpus)).astype(int)
    wanted_wk, wanted_dk = np.zeros((20, 4), int), np.zeros((9, 4), int)
    np.add.at(wanted_wk, (word, after), 1)
    np.add.at(wanted_dk, (doc, after), 1)
    np.testing.assert_array_equal(n_wk, wanted_wk)
    np.testing.assert_array_equal(n_k, wanted_wk.sum(axis=0))
    monkeypatch.setattr(blocks, "DENSE_CELLS", 8)
    n_dk = np.concatenate(
        [block for part in local.ask(blocks.counts_of_documents, 4) for block in part]
    )
    np.testing.assert_array_equal(n_dk, wanted_dk)
    assert result.moved == (after != before).sum()
    parts = local.ask(blocks.count_cells, 4)
    counted = sum(part[0] for part in parts), np.concatenate([part[1] for part in parts])
    for histogram, large in ((result.histogram, result.large), counted):
        topics, sizes = np.nonzero(histogram)
        cells = np.repeat(np.stack([topics, sizes], axis=1), histogram[topics, sizes], axis=0)
        listed = sorted(map(tuple, np.concatenate([cells, large]).tolist()))
        wanted = [(k, wanted_dk[d, k]) for d, k in zip(*np.nonzero(wanted_dk), strict=True)]
        assert listed == sorted((int(k), int(n)) for k, n in wanted)
    assert len(result.large) > 0


def test_lists_of_a_block_do_not_see_the_places_of_the_one_before() -> None:
    """The same two documents twice over: counts, topics and lengths by value."""
    doc_ptr, z = np.array([0, 4, 7]), np.array([3, 1, 3, 3, 0, 2, 0], np.uint16)
    rows = LANES  # of either document
    start, length, tokens = (np.zeros(2, np.int64) for _ in range(3))
    topics, counts = np.zeros(2 * rows, np.uint16), np.zeros(2 * rows, np.float32)
    places = np.zeros(8, np.uint16)
    for _ in range(2):
        block_kernels.begin_lists(
            doc_ptr, 0, 2, z, 4, start, length, topics, counts, places, tokens
        )
        assert length.tolist() == [2, 2] and start.tolist() == [0, rows]
        assert topics[:2].tolist() == [3, 1] and topics[rows : rows + 2].tolist() == [0, 2]
        assert counts[:2].tolist() == [3, 1] and counts[rows : rows + 2].tolist() == [2, 1]
        assert counts.sum() == 7


def test_a_topic_of_a_document_is_noted_once() -> None:
    """Counts 3 and 1 of the first document, 2 and 1 of the second, none of them large."""
    doc_ptr, z = np.array([5, 9, 12]), np.array([3, 1, 3, 3, 0, 2, 0], np.uint16)
    found = blocks._found(4, len(z), 0)
    block_kernels.note_topics(doc_ptr, z, 4, found)
    wanted = {(3, 3): 1, (1, 1): 1, (0, 2): 1, (2, 1): 1}
    cells = {(k, n): int(found.histogram[k, n]) for k, n in np.argwhere(found.histogram).tolist()}
    assert cells == wanted and found.n_large[0] == 0


def test_results_of_pieces_are_joined() -> None:
    """Histograms and moved tokens are added up; large counts come by topic, then by size."""

    def result(number: int, large: list[list[int]]) -> Any:
        cells, amounts = np.zeros(0, np.int64), np.zeros(0, np.int32)
        histogram = np.full((2, 3), number)
        return blocks.SweepChanges(histogram, np.array(large), cells, amounts, 10 * number)

    pieces = [result(1, [[1, 300]]), result(2, [[0, 900], [1, 256]]), result(4, [[0, 270]])]
    joint = blocks._joined(pieces)
    assert joint.large.tolist() == [[0, 270], [0, 900], [1, 256], [1, 300]]
    assert (joint.histogram == 7).all() and joint.moved == 70


def test_topics_of_tokens_that_nobody_knows_are_the_same_in_any_pieces() -> None:
    """The first 60 tokens are known; the draws of the others go by their numbers."""
    corpus, known = random_corpus(5, n_docs=12, n_words=30), np.full(60, 7, np.uint16)
    drawn: list[Any] = []
    for n_pieces in (1, 4):
        data, found = lay_out(corpus, 40, n_pieces, 1), []
        ends = np.minimum(data.bounds["z"], len(known))
        for piece, first, last in zip(data.pieces, ends[:-1], ends[1:], strict=True):
            mine = blocks.InitialTopics(known[first:last], KEY, 40)
            found.append(blocks.begin_known(made_piece(piece), mine).z)
        drawn.append(np.concatenate(found))
    assert len(data.pieces) == 4 and len(drawn[0]) == corpus.n_tokens > 150
    np.testing.assert_array_equal(*drawn)
    assert (drawn[0][:60] == 7).all() and len(set(drawn[0][60:].tolist())) > 20


def test_layout_and_cuts_hold_the_corpus() -> None:
    """Pairs of more than 255 tokens too, and documents without a word."""
    counts = np.random.default_rng(2).poisson(0.4, (30, 40))
    counts[3], counts[11, 5], counts[12, 6] = 0, 256, 2000
    corpus = corpus_of(counts)
    for block_bytes in (1, 2000, 10**6):
        for n_pieces in (1, 2, 7, 100):
            data = lay_out(corpus, 10, n_pieces, block_bytes)
            np.testing.assert_array_equal(rows_of(data).toarray(), counts)
            assert len(data.pieces) <= n_pieces
            assert data.bounds["z"][0] == 0 and data.bounds["z"][-1] == corpus.n_tokens
            sizes = [made_piece(piece).n_tokens_in_all for piece in data.pieces]
            assert np.diff(data.bounds["z"]).tolist() == sizes


HARD = {
    "one topic": (np.ones((3, 4), int), 1),
    "no words at all": (np.zeros((2, 3), int), 5),
    "a long document": (np.array([[70_000, 3], [0, 1]]), 6),
    "an unused word": (np.array([[2, 0, 1], [1, 0, 0]]), 70),
}


@pytest.mark.parametrize(("counts", "n_topics"), HARD.values(), ids=HARD)
def test_odd_corpora_keep_their_tokens(counts: Any, n_topics: int) -> None:
    corpus = corpus_of(counts)
    data = lay_out(corpus, n_topics, 2)
    begun = (KEY, n_topics)
    local = SERIAL.place(block_layout.made_piece, data.pieces, blocks.begin_uniform, begun)
    n_wk: Any = sum(local.ask(blocks.count_words, (corpus.n_words, n_topics)))
    scale = blocks.draw_topics(n_wk, np.full(corpus.n_words, 0.01), data.table, at(1))
    held = blocks.hold(data.table, scale, np.full(n_topics, 1e-300), at(1))
    results = local.step(blocks.sweep_piece, (held, n_topics))
    blocks.add_results(results, n_wk, n_wk.sum(axis=0, dtype=np.int64))
    np.testing.assert_array_equal(n_wk.sum(axis=1), counts.sum(axis=0))
    counted = sum(local.ask(blocks.count_words, (corpus.n_words, n_topics)))
    np.testing.assert_array_equal(n_wk, counted)


def test_more_topics_than_two_bytes_name() -> None:
    corpus = random_corpus(8, n_docs=20, n_words=20)
    n_topics = 70_000
    data = lay_out(corpus, n_topics)
    z = blocks.begin_uniform(made_piece(data.pieces[0]), (KEY, n_topics)).z
    assert z.dtype == np.uint32 and z.max() > np.iinfo(np.uint16).max
    scale = np.ones(data.table.shape[1], np.float32)
    scale[n_topics:] = 0
    data.table[:, :n_topics] = 1.0
    held = blocks.hold(data.table, scale, np.full(n_topics, 1.0), at(0))
    local, _ = blocks.sweep_piece(made_piece(data.pieces[0]), blocks.Local(z), (held, n_topics))
    after = local.z
    assert after.max() > np.iinfo(np.uint16).max and (after != z).all()


def test_rounding_past_the_end_ends_at_what_has_weight() -> None:
    f32 = np.float32
    chances, counts = np.array([0.2, 0.3, 0.0, 0.0], f32), np.array([9, 9, 1, 2, 3, 0], f32)
    for place in twins(last_place):
        assert place(chances, counts, 2, 4, 0, f32(1)) == 1
        assert place(chances, counts, 2, 4, 1, f32(0)) == 0
    scaled, prior = np.zeros(48, f32), np.ones(48, f32)
    scaled[[3, 19, 35, 5]] = 0.5
    prior[35] = 0.0
    lanes = (scaled * prior).reshape(3, LANES).sum(axis=0)
    for draw in twins(block_kernels.draw_from_all):
        assert [draw(scaled, prior, lanes, rest) for rest in (0.0, 0.4, 0.6, 1.1)] == [3, 3, 19, 5]
        assert draw(scaled, prior, lanes, 9.0) == 5


# --- Topics ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [0.005, 0.1, 0.7, 1.5])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_masses_are_gamma_variables(shape: float, count: int) -> None:
    """6.3: the law above a cut, and the mass below it; b >= 1 without a token, too."""
    n_wk = np.full((400, 500), count, np.int32)
    table = np.zeros((400, 512), np.float32)
    total = topic_kernels.draw_masses(0, 400, n_wk, np.full(400, shape), KEY, table)
    drawn = table[:, :500].astype(np.float64)
    np.testing.assert_allclose(total, drawn.sum(axis=0), rtol=1e-5)
    assert not table[:, 500:].any()
    law, cut_at = stats.gamma(shape + count), 1e-9
    below = law.cdf(cut_at)
    error = math.sqrt(below * (1 - below) / drawn.size)
    assert abs((drawn < cut_at).mean() - below) <= 4 * error + 1e-9
    above = drawn[drawn >= cut_at]
    assert stats.kstest(above, lambda x: (law.cdf(x) - below) / (1 - below)).pvalue > 1e-3


def test_masses_of_neighbours_are_independent() -> None:
    """Two cells begin from one number's halves; topics and words do not repeat each other."""
    table = np.zeros((3000, 64), np.float32)
    n_wk = np.random.default_rng(0).poisson(0.3, (3000, 64)).astype(np.int32)
    topic_kernels.draw_masses(0, 3000, n_wk, np.full(3000, 0.3), KEY, table)
    ranks = stats.rankdata(table + 0.0, axis=0)
    chances = np.corrcoef(ranks - n_wk * 0, rowvar=False)[np.triu_indices(64, 1)]
    assert np.abs(chances).max() < 5 / math.sqrt(3000)
    lagged = [np.corrcoef(ranks[1:, k], ranks[:-1, k])[0, 1] for k in range(64)]
    assert np.abs(lagged).max() < 5 / math.sqrt(3000)


def test_masses_equal_their_python_source(monkeypatch: pytest.MonkeyPatch) -> None:
    n_wk = np.random.default_rng(0).poisson(0.3, (40, 12)).astype(np.int32)
    prior = np.linspace(0.01, 1.3, 40)
    results = []
    for slow in (False, True):
        if slow:
            for name, value in vars(topic_kernels).copy().items():
                if hasattr(value, "py_func"):
                    monkeypatch.setattr(topic_kernels, name, value.py_func)
        table = np.zeros((40, 16), np.float32)
        with np.errstate(over="ignore"):
            total = topic_kernels.draw_masses(3, 40, n_wk, prior, KEY, table)
        results.append((table, total))
    assert not results[0][0][:3].any()
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-12)


def test_ranges_of_words_change_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = random_corpus(9, n_docs=20, n_words=50)
    data = lay_out(corpus, 7)
    piece = made_piece(data.pieces[0])
    begun = blocks.begin_uniform(piece, (KEY, 7))
    n_wk = blocks.count_words(piece, begun, (50, 7))
    whole = np.zeros((50, 16), np.float32)
    prior = np.full(50, 0.2)
    topic_kernels.draw_masses(0, 50, n_wk, prior, KEY, whole)
    for start in range(0, 50, 9):
        end = min(start + 9, 50)
        topic_kernels.draw_masses(start, end, n_wk, prior, KEY, data.table)
    np.testing.assert_array_equal(whole, data.table)
    with Workers(2) as pool:
        monkeypatch.setattr(blocks, "RANGE", 13)
        scales = []
        for workers in (Workers(), pool):
            scales.append(blocks.draw_topics(n_wk, prior, data.table, at(4, workers=workers)))
    np.testing.assert_array_equal(scales[0], scales[1])


def test_topics_without_tokens_are_drawn_from_their_prior() -> None:
    """6.3: E[sum of squares] of a Dirichlet variable, where nearly all masses vanish."""
    n_words, eta, n_topics = 3, 0.02, 3000
    data = lay_out(corpus_of(np.ones((1, n_words), int)), n_topics)
    n_wk = np.zeros((n_words, n_topics), np.int32)
    scale = blocks.draw_topics(n_wk, np.full(n_words, eta), data.table, at(1))
    topics = (data.table * scale)[:, :n_topics].astype(np.float64)
    assert np.isfinite(topics).all()
    topics /= topics.sum(axis=0)
    squares = (topics**2).sum(axis=0)
    wanted = (eta + 1) / (n_words * eta + 1)
    assert squares.mean() == pytest.approx(wanted, abs=5 * squares.std() / math.sqrt(n_topics))
    assert topics.mean(axis=1) == pytest.approx(
        np.full(3, 1 / 3), abs=5 * 0.5 / math.sqrt(n_topics)
    )


# --- Tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [0.37, 4.0])
def test_sums_of_tables_have_the_law_of_the_sum(a: float) -> None:
    """6.4: cells of 5, 3, 3, 1 and 8 tokens: all Bernoulli variables, one by one."""
    cells, rng = [5, 3, 3, 1, 8], np.random.default_rng(0)
    histogram = np.bincount(cells, minlength=table_kernels.SMALL)[None].astype(np.int64)
    none = np.zeros((0, 2), np.int64)
    chances = [a / (a + seated) for n in cells for seated in range(n)]
    law = poisson_binomial(chances)
    drawn = [
        int(table_kernels.draw_table_sums(histogram, none, np.array([a]), rng)[0])
        for _ in range(20_000)
    ]
    found = np.bincount(drawn, minlength=len(law)) / len(drawn)
    assert np.abs(found - law).max() < 5 * 0.5 / math.sqrt(len(drawn))
    assert found[: len(cells)].sum() == 0


@pytest.mark.parametrize("a", [3.0, 300.0])
def test_large_counts_have_tables_too(a: float) -> None:
    """Counts of 255 to 300, at the edge of the histogram; the mean over draws.

    Under a large concentration most customers open a table, the 256th among them.
    """
    sizes, rng = np.array([255, 256, 257, 300, 2]), np.random.default_rng(1)
    histogram = np.zeros((2, table_kernels.SMALL), np.int64)
    small = sizes[sizes < table_kernels.SMALL]
    np.add.at(histogram[1], small, 1)
    large = np.array([(1, n) for n in sizes if n >= table_kernels.SMALL])
    chances = np.array([a / (a + seated) for n in sizes for seated in range(n)])
    found = [
        table_kernels.draw_table_sums(histogram, large, np.array([1.0, a]), rng)
        for _ in range(4000)
    ]
    error = math.sqrt((chances * (1 - chances)).sum() / 4000)
    assert np.mean(found, axis=0) == pytest.approx([0.0, chances.sum()], abs=4 * error)


def test_vanishing_concentrations_make_one_table_per_cell() -> None:
    histogram = np.zeros((1, table_kernels.SMALL), np.int64)
    histogram[0, [1, 9, 255]] = [2, 3, 1]
    large = np.array([[0, 5000]])
    for a in (1e-20, 1e-300, 0.0):
        found = table_kernels.draw_table_sums(
            histogram, large, np.array([a]), np.random.default_rng(0)
        )
        assert found.tolist() == [7]


def test_cells_are_counted_by_size() -> None:
    counts = np.array([[0, 1, 1], [255, 256, 4000], [3, 0, 1]], np.int32)
    histogram = np.zeros((1, table_kernels.SMALL), np.int64)
    large = gibbs_kernels.count_cells(counts, histogram)
    assert sorted(large[:, 1].tolist()) == [256, 4000] and not large[:, 0].any()
    assert {n: histogram[0, n] for n in np.flatnonzero(histogram[0])} == {1: 3, 3: 1, 255: 1}


# --- Streams -----------------------------------------------------------------------------------


def test_uniform_numbers_are_the_upper_bits_of_their_place() -> None:
    with np.errstate(over="ignore"):
        for number in (0, 1, 10**12):
            bits = int(random_bits(KEY, number))
            assert uniform(KEY, number) == (bits >> 11) / 2**53
            assert int(twins(random_bits)[1](KEY, number)) == bits
