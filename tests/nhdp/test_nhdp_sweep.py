"""The sweep: a slow twin, flat topics in disguise, renamed siblings, shards and workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nhdp_cases import n_di_of, naive_of, random_mixing, random_resp, resp_of, state_of, swept
from stepping import at, corpus_of
from test_nhdp_mixing import flat_case

from hiertopics.base.arrays import F64, Bools
from hiertopics.base.errors import NumericalError
from hiertopics.contract.engine import Workers
from hiertopics.families.flat import variational
from hiertopics.families.flat.kernels import PseudoCounts
from hiertopics.families.flat.layout import Data, dealt, lay_out
from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.state import recount
from hiertopics.numeric.jit import PLAIN

ETA = 0.1


def some_corpus(seed: int, n_shards: int = 1, n_docs: int = 9, n_words: int = 12) -> Data:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.9, (n_docs, n_words)) * rng.integers(1, 4, (n_docs, n_words))
    counts[3] = 0
    return lay_out(corpus_of(counts), n_shards, np.float64)


def naive_sweep(mixing: Mixing, data: Data, r: F64, own: Bools | None = None) -> F64:
    """Visit each pair of the corpus in its order; every count made anew before each.

    own: [n_docs, K], the nodes that each document looks at.
    """
    tree, r, cells = naive_of(mixing), r.copy(), data.cells
    n_pairs = len(cells.word)
    doc_of = np.repeat(np.arange(data.n_docs), cells.cuts[:, -1] - cells.cuts[:, 0])
    for pair in range(n_pairs):
        mine = doc_of == doc_of[pair]
        n = cells.tokens[mine] @ r[mine]
        n_w = cells.tokens[cells.word == cells.word[pair]] @ r[cells.word == cells.word[pair]]
        n_i = cells.tokens @ r
        left = tree.without_token(n, tree.at_or_below(n), r[pair])
        topic = (n_w - r[pair] + ETA) / (n_i - r[pair] + ETA * data.n_words)
        weights = tree.theta(*left) * topic
        if own is not None:
            weights = np.where(own[doc_of[pair]], weights, 0.0)
        r[pair] = weights / weights.sum()
    return r


@pytest.mark.parametrize("n_nodes", [2, 3, 5, 9, 30, 60])
def test_the_sweep_equals_its_slow_twin(n_nodes: int) -> None:
    """Trees of many shapes; families longer than a lane, inner nodes with leaves beside them."""
    rng = np.random.default_rng(n_nodes)
    mixing, data = random_mixing(rng, n_nodes), some_corpus(n_nodes)
    r = random_resp(rng, len(data.cells.word), n_nodes)
    state = state_of(mixing, data, r)
    for _ in range(2):
        swept(state, data, 1, eta=ETA)
        r = naive_sweep(mixing, data, r)
        assert resp_of(state, data) == pytest.approx(r, abs=1e-11)


def own_nodes(mixing: Mixing, data: Data, r: F64, least: float) -> Bools:
    """Return who has which nodes [n_docs, K], and all above them (3.3)."""
    own = np.zeros((data.n_docs, r.shape[1]), np.bool_)
    for doc, cuts in enumerate(data.cells.cuts):
        n = data.cells.tokens[cuts[0] : cuts[-1]] @ r[cuts[0] : cuts[-1]]
        for node in {int(np.argmax(n)), *np.flatnonzero(n >= least).tolist()}:
            while node >= 0:
                own[doc, node] = True
                node = int(mixing.shape.parent[node])
    return own


@pytest.mark.parametrize("n_shards", [1, 3])
@pytest.mark.parametrize("least", [0.3, 1.0, 50.0])
def test_a_document_begins_with_the_nodes_where_it_expects_tokens(
    least: float, n_shards: int
) -> None:
    rng = np.random.default_rng(11)
    mixing, data = random_mixing(rng, 40), some_corpus(11, n_shards)
    r = random_resp(rng, len(data.cells.word), 40)
    own = own_nodes(mixing, data, r, least)
    assert own.mean() < 0.9
    found = resp_of(state_of(mixing, data, r, least=least), data)
    doc_of = np.repeat(np.arange(data.n_docs), data.cells.cuts[:, -1] - data.cells.cuts[:, 0])
    part = np.where(own[doc_of], r, 0.0)
    assert found == pytest.approx(part / part.sum(axis=1, keepdims=True), abs=1e-12)


@pytest.mark.parametrize("least", [0.3, 1.0])
def test_at_own_nodes_the_sweep_equals_its_slow_twin(least: float) -> None:
    rng = np.random.default_rng(12)
    mixing, data = random_mixing(rng, 60), some_corpus(12)
    r: Any = random_resp(rng, len(data.cells.word), 60)
    state, own = state_of(mixing, data, r, least=least), own_nodes(mixing, data, r, least)
    r = resp_of(state, data)
    for _ in range(2):
        swept(state, data, 1, eta=ETA)
        r = naive_sweep(mixing, data, r, own)
        assert resp_of(state, data) == pytest.approx(r, abs=1e-11)
    moved = [table.copy() for table in (n_di_of(state), state.n_wk, state.n_k)]
    recount(state, data)
    for before, after in zip(moved, (n_di_of(state), state.n_wk, state.n_k), strict=True):
        assert before == pytest.approx(after, abs=1e-10)


def test_a_pair_with_nothing_at_own_nodes_is_spread_evenly() -> None:
    data = lay_out(corpus_of([[9, 1]]), 1, np.float64)
    mixing = random_mixing(np.random.default_rng(0), 4)
    r = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    state = state_of(mixing, data, r, least=2.0)
    own = own_nodes(mixing, data, r, 2.0)[0]
    assert resp_of(state, data)[1] == pytest.approx(own / own.sum())


def test_a_broad_family_takes_several_lanes() -> None:
    rng = np.random.default_rng(0)
    shape = shape_of(np.array([-1, *[0] * 41, *[1] * 2, *[2] * 50]))
    mixing = random_mixing(rng, 3)._replace(shape=shape)
    inner = shape.n_children > 0
    share = np.ones(shape.n_nodes)
    share[1:] = 1 / shape.n_children[shape.parent[1:]]
    ones = np.where(inner, 1.3, 0.0)
    mixing = Mixing(shape, share, ones, np.where(inner, 0.4, 1.0), ones)
    data = some_corpus(1)
    r = random_resp(rng, len(data.cells.word), shape.n_nodes)
    state = state_of(mixing, data, r)
    swept(state, data, 1, eta=ETA)
    assert resp_of(state, data) == pytest.approx(naive_sweep(mixing, data, r), abs=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_a_flat_model_in_disguise_follows_the_flat_kernel(seed: int) -> None:
    """T7: sweep by sweep, in float64."""
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(2, 20))
    mixing, alpha = flat_case(rng, n_nodes)
    data = some_corpus(seed)
    r = random_resp(rng, len(data.cells.word), n_nodes)
    state = state_of(mixing, data, r)
    begun = dealt(data, at(0), variational.Local, resp=r, n_dk=np.zeros((data.n_docs, n_nodes)))
    n_wk = np.zeros((data.n_words, n_nodes))
    flat = variational.Responsibilities(begun, n_wk, np.zeros(n_nodes))
    variational.recount(flat, data)
    prior = PseudoCounts(alpha, np.full(data.n_words, ETA), ETA * data.n_words)
    for _ in range(10):
        swept(state, data, 1, eta=ETA)
        variational.sweep(flat, data, prior, indicators=False)
        assert resp_of(state, data) == pytest.approx(flat.resp, abs=1e-11)


def test_renamed_siblings_give_permuted_results() -> None:
    """T7."""
    rng = np.random.default_rng(5)
    shape = shape_of(np.array([-1, 0, 0, 0, 1, 1, 2, 2]))
    order = np.array([0, 2, 1, 3, 7, 6, 5, 4])
    mixing = random_mixing(rng, 8)
    share = np.array([1, 0.2, 0.5, 0.3, 0.6, 0.4, 0.9, 0.1])
    inner = shape.n_children > 0
    rows = [
        np.where(inner, row, leaf)
        for row, leaf in zip(rng.gamma(2, 1, (3, 8)), (0, 1, 0), strict=True)
    ]
    mixing = Mixing(shape, share, *rows)
    renamed = Mixing(shape, share[order], *(row[order] for row in rows))
    data = some_corpus(5)
    r = random_resp(rng, len(data.cells.word), 8)
    one, other = state_of(mixing, data, r), state_of(renamed, data, r[:, order])
    for state in (one, other):
        swept(state, data, 5, eta=ETA)
    found = resp_of(other, data), resp_of(one, data)[:, order]
    assert found[0] == pytest.approx(found[1], abs=1e-12)


@pytest.mark.parametrize("n_shards", [1, 3])
def test_counts_stay_those_of_the_responsibilities(n_shards: int) -> None:
    rng = np.random.default_rng(2)
    mixing, data = random_mixing(rng, 25), some_corpus(2, n_shards, 30, 40)
    state = state_of(mixing, data, random_resp(rng, len(data.cells.word), 25))
    swept(state, data, 5, eta=ETA)
    moved = [table.copy() for table in (n_di_of(state), state.n_wk, state.n_k)]
    recount(state, data)
    for before, after in zip(moved, (n_di_of(state), state.n_wk, state.n_k), strict=True):
        assert before == pytest.approx(after, abs=1e-10)
    assert resp_of(state, data).sum(axis=1) == pytest.approx(1, abs=1e-12)


def test_counts_that_do_not_follow_from_the_responsibilities_are_an_error() -> None:
    """theory/hdp 9.3"""
    rng = np.random.default_rng(2)
    mixing, data = random_mixing(rng, 25), some_corpus(2, 1, 30, 40)
    state = state_of(mixing, data, random_resp(rng, len(data.cells.word), 25))
    state.n_k[3] += 0.01 * data.doc_lengths.sum()
    with pytest.raises(NumericalError, match="drifted"):
        recount(state, data)


@pytest.mark.slow
def test_workers_change_no_bit() -> None:
    rng = np.random.default_rng(4)
    mixing, data = random_mixing(rng, 40), some_corpus(4, 4, 50, 60)
    r = random_resp(rng, len(data.cells.word), 40).astype(np.float32)
    found = []
    for n_workers in (1, 2, 4):
        with Workers(n_workers) as workers:
            state = state_of(mixing, data, r, workers)
            found.append(resp_of(swept(state, data, 3, eta=ETA), data).tobytes())
    assert found[0] == found[1] == found[2]


def test_a_shard_sees_all_of_a_document_but_its_own_words_only() -> None:
    """Blocks of one document range cover each pair once: a sweep by four is a sweep."""
    rng = np.random.default_rng(6)
    mixing = random_mixing(rng, 12)
    whole, parts = some_corpus(6, 1, 30, 40), some_corpus(6, 4, 30, 40)
    r = random_resp(rng, len(whole.cells.word), 12)
    ends = []
    for data in (whole, parts):
        state = state_of(mixing, data, r)
        swept(state, data, 1, eta=ETA)
        ends.append(resp_of(state, data))
    assert np.abs(ends[0] - ends[1]).max() > 1e-6
    assert np.abs(ends[0] - ends[1]).mean() < 0.05


def test_weights_that_are_not_finite_name_the_document() -> None:
    rng = np.random.default_rng(7)
    mixing, data = random_mixing(rng, 12), some_corpus(7)
    state = state_of(mixing, data, random_resp(rng, len(data.cells.word), 12))
    local = state.local.state_of(0)
    local.n[local.first_node[5]] = np.nan
    with pytest.raises(NumericalError, match="document 5"):
        swept(state, data, 1, eta=ETA)


COMPILED = """
import numpy as np
from numba.core import event
from scipy import sparse
from stepping import at, corpus_of, settings_of
from hiertopics.families.nhdp import documents, variational

names = []

class Noting(event.Listener):
    def on_start(self, event):
        names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass

event.register("numba:compile", Noting())
corpus, phi = corpus_of([[2, 0, 1], [0, 1, 1]]), np.full((3, 3), 1 / 3)
settings = settings_of(variational)
data = documents.prepare(corpus, settings)
theta = sparse.csr_array(np.full((2, 3), 1 / 3))
state = documents.begin_known(np.array([-1, 0, 0]), phi, theta, data, settings, at(0))
variational.step(state, data, settings, at(1))
print(*names)
"""


@pytest.mark.slow
@pytest.mark.skipif(PLAIN, reason="numba's own decorator compiles under other names")
def test_a_sweep_without_bursts_compiles_no_kernel_of_bursts(tmp_path: Path) -> None:
    """Whoever fits for the first time waits for it."""
    paths = os.pathsep.join(path for path in sys.path if path)
    found = subprocess.run(
        [sys.executable, "-c", COMPILED],
        # Which kernels are compiled is asked, not how well.
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": paths, "NUMBA_OPT": "0"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert {"sweep_block", "visit", "lay_out"} <= set(found)
    assert not {"seated", "expected_tables", "share_elsewhere", "chances_of_words", "grow"} & set(
        found
    )
