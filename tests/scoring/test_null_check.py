"""``eval --null``: the same fit to shuffled words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.shuffling import shuffle
from hiertopics.scoring.null import null_check

Copied = Callable[..., Path]
Call = Callable[..., Any]


def test_a_shuffled_corpus_keeps_lengths_and_counts_of_words(tiny_corpus: Corpus) -> None:
    shuffled = shuffle(tiny_corpus, np.random.default_rng(0))
    before, after = tiny_corpus.counts.toarray(), shuffled.counts.toarray()
    assert (before.sum(axis=0) == after.sum(axis=0)).all()
    assert (before.sum(axis=1) == after.sum(axis=1)).all()
    assert (before != after).any() and shuffled.counts.has_canonical_format
    # Documents on food and on sport have the same words afterwards.
    shares = np.array([after[kind::3].sum(axis=0) for kind in (0, 1)])
    shares = shares / shares.sum(axis=1, keepdims=True)
    assert np.abs(shares[0] - shares[1]).sum() < 0.3
    old = np.array([before[kind::3].sum(axis=0) for kind in (0, 1)])
    assert np.abs(old[0] / old[0].sum() - old[1] / old[1].sum()).sum() > 1


def test_the_run_stands_beside_fits_to_shuffled_words(copied: Copied, call: Call) -> None:
    run = copied("nhdp-variational")
    assert call("agree", run, run, "--write").code == 0
    before = {path.relative_to(run) for path in run.rglob("*")}
    done = call("eval", run, "--null", 2, "--json")
    assert done.code == 0, done.err
    assert "2 times" in done.err and len(done.err.splitlines()) == 1
    record = json.loads(done.out)
    assert len({fit["seed"] for fit in record["fits"]}) == 2
    assert set(record["fits"][0]) == {"seed", *record["own"]}
    assert record["own"]["stability"] == pytest.approx(1)
    assert all(0 <= fit["stability"] < 1 for fit in record["fits"])
    assert all(fit["coherence_npmi"] != record["own"]["coherence_npmi"] for fit in record["fits"])
    made = {str(path.relative_to(run)) for path in run.rglob("*")} - {str(one) for one in before}
    assert made - {"eval"} == {"eval/null-n=2.json", "eval/null-n=2.npz"}
    assert null_check(run, 2, workers=2, say=lambda line: None) == record
    assert len(call("eval", run, "--null", 2).out.splitlines()) == 4


def test_flat_topics_have_no_depth(copied: Copied, call: Call) -> None:
    record = json.loads(call("eval", copied("hdp-cvb0"), "--null", 1, "--json").out)
    (only,) = record["fits"]
    assert only["depth"] == 0 and only["stability"] is None
    assert only["parent_child_npmi"] is None


def test_what_has_no_null_is_refused(copied: Copied, call: Call) -> None:
    run = copied("hdp-cvb0")
    for words, said in (
        ((run, "--null", 0), "0 is not in the range"),
        ((run, "--null", 1, "--heldout"), "--heldout has no meaning with --null"),
        ((run, "--null", 1, "--k", 3), "--k has no meaning with --null"),
        ((copied("hca-variational"), "--null", 1), "--null is for counts of words"),
    ):
        done = call("eval", *words)
        assert done.code == 2 and said in done.err, done.err
