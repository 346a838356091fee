"""Responsibilities between visits: as roots in 16 bits, or as they are."""

from __future__ import annotations

import numpy as np
import pytest
from nhdp_cases import random_mixing, random_resp, resp_of, state_of
from stepping import corpus_of

from hiertopics.families.flat.layout import lay_out
from hiertopics.families.nhdp.document_kernels import pack, unpack
from hiertopics.families.nhdp.state import recount, sweep

TEXT = corpus_of(np.random.default_rng(0).poisson(0.8, (20, 15)))


def test_roots_come_back_within_what_the_page_says() -> None:
    """3.4: the nearest step; nothing is lost from 0 or 1, or above 1 by rounding."""
    q = np.concatenate([[0.0, 1.0, 1.0000001], np.logspace(-12, 0, 400)]).astype(np.float32)
    kept, found = np.empty(len(q), np.uint16), np.empty(len(q), np.float32)
    pack(q, kept)
    unpack(kept, found)
    assert kept[:3].tolist() == [0, 65535, 65535]
    assert (np.abs(found - q) <= 2.0**-16 * np.sqrt(q) + 2.0**-34 + 2e-7 * q).all()
    again = np.empty_like(kept)
    pack(found, again)
    assert again.tolist() == kept.tolist()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_floats_are_kept_as_they_are(kind: type[np.floating]) -> None:
    q = np.random.default_rng(1).random(20).astype(kind)
    kept, found = np.empty_like(q), np.empty_like(q)
    pack(q, kept)
    unpack(kept, found)
    assert found.tobytes() == q.tobytes()


@pytest.mark.parametrize("shards", [1, 3])
def test_sweeps_over_roots_follow_those_over_floats(shards: int) -> None:
    data = lay_out(TEXT, shards)
    mixing = random_mixing(np.random.default_rng(2), 12)
    q = random_resp(np.random.default_rng(3), len(data.cells.word), 12)
    exact, rooted = (state_of(mixing, data, q.astype(kind)) for kind in (np.float64, np.float32))
    assert rooted.local.state_of(0).resp.dtype == np.uint16
    for _ in range(4):
        sweep(exact, data, 0.1)
        sweep(rooted, data, 0.1)
    assert resp_of(rooted, data) == pytest.approx(resp_of(exact, data), abs=2e-4)
    assert 0 < recount(rooted, data) < 1e-4
    assert rooted.n_k == pytest.approx(exact.n_k, rel=1e-3)
    by_word = np.zeros_like(rooted.n_wk)
    np.add.at(by_word, data.cells.word, resp_of(rooted, data) * data.cells.tokens[:, None])
    assert rooted.n_wk == pytest.approx(by_word, rel=1e-5, abs=1e-6)
