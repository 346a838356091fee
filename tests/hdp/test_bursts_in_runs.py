"""Runs of bursty documents: files, resuming, going on with documents, scores, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hdp_cases import random_corpus
from scipy import sparse
from stepping import corpus_of

import hiertopics as ht
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.tree import Tree
from hiertopics.fitting import driver
from hiertopics.fitting.loop import Stop
from hiertopics.numeric.pitman_yor import PitmanYor
from hiertopics.runs.newdocs import infer_theta
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.cache import Trial, bursty_chances

SETTINGS = {
    "model.bursts": "document",
    "model.truncation": 6,
    "inference.hyper_start": 3,
    "inference.burst_start": 4,
    "inference.burst_aside": 5,
}
BOTH = ["hdp-cvb0", "hdp-pcvb0"]
KEPT = ["all", "few"]


def lda_c(path: Path, corpus: Corpus) -> Path:
    rows = corpus.counts
    lines = []
    for doc in range(corpus.n_docs):
        own = slice(rows.indptr[doc], rows.indptr[doc + 1])
        pairs = zip(rows.indices[own], rows.data[own], strict=True)
        cells = " ".join(f"{word}:{count}" for word, count in pairs)
        lines.append(f"{own.stop - own.start} {cells}\n")
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    counts = random_corpus(7, n_docs=60, n_words=30, largest=6)
    return lda_c(tmp_path_factory.mktemp("corpus") / "repeated.ldac", counts)


def fit(corpus: Path, run: Path, backend: str, iterations: int, **more: Any) -> RunDir:
    settings = {**SETTINGS, **more}
    ht.fit(corpus, run=run, backend=backend, overrides=settings, iterations=iterations)
    return RunDir.open(run)


def files_of(run: RunDir) -> dict[str, bytes]:
    return {name: run.file(name).read_bytes() for name in ("model.npz", "theta.npz")}


@pytest.mark.parametrize("backend", BOTH)
@pytest.mark.parametrize("kept", KEPT)
def test_a_run_that_stops_at_any_stage_ends_in_the_same_bytes(
    corpus: Path, tmp_path: Path, backend: str, kept: str
) -> None:
    """Stopped before tables are refitted, while documents are aside, and after they joined."""
    more = {"inference.responsibilities": kept}
    whole = fit(corpus, tmp_path / "whole", backend, 20, **more)
    for stop in (2, 8, 15):
        run = tmp_path / f"stopped{stop}"

        def until(event: Any, stop: int = stop) -> Any:
            return Stop("test", False) if event.iteration == stop else None

        overrides = {**SETTINGS, **more}
        first = driver.fit(
            corpus, run=run, backend=backend, overrides=overrides, iterations=20, callbacks=[until]
        )
        assert first.status == "stopped" and first.iterations == stop
        driver.fit(corpus, run=run, backend=backend, overrides=overrides, iterations=20)
        assert files_of(RunDir.open(run)) == files_of(whole)


@pytest.mark.parametrize("kept", KEPT)
def test_further_documents_go_on_with_the_bursts_that_were_learned(
    corpus: Path, tmp_path: Path, kept: str
) -> None:
    more = {"inference.responsibilities": kept}
    run = fit(corpus, tmp_path / "run", "hdp-cvb0", 20, **more)
    added = lda_c(tmp_path / "added.ldac", random_corpus(8, n_docs=9, n_words=30, largest=6))
    ht.update(run.path, added, tmp_path / "updated", iterations=6)
    updated = RunDir.open(tmp_path / "updated")
    np.testing.assert_array_equal(updated.tree.extra["bursts"], run.tree.extra["bursts"])
    assert updated.theta.shape[0] > run.theta.shape[0]
    assert updated.metrics() == [] or updated.metrics()[-1]["tables_per_token"] < 0.95


def test_a_bursty_score_is_that_of_the_formula(corpus: Path, tmp_path: Path) -> None:
    """No scored token is added to those that are seen; a run has its own a and b."""
    run = fit(corpus, tmp_path / "run", "hdp-cvb0", 12)
    seen = sparse.csr_array(np.array([[3, 0, 1, 0], [0, 0, 0, 0]]))
    scored = sparse.csr_array(np.array([[1, 2, 0, 0], [0, 0, 1, 1]]))
    mixture = np.array([0.2, 0.3, 0.25, 0.25])
    process = PitmanYor(0.5, 2.0)
    chances = bursty_chances(
        process, Trial(seen, np.empty(0), scored, mixture), np.array([2.0, 1.0])
    )
    base = 2.0 + 0.5 * 3.0
    wanted = [(3 - 1 + base * 0.2) / 6, base * 0.3 / 6, 0.25, 0.25]
    np.testing.assert_allclose(chances, wanted)
    discount, concentration = run.tree.extra["bursts"]
    assert discount == 0.5 and concentration > 0


def test_the_distribution_of_a_placed_document_sums_to_1(corpus: Path, tmp_path: Path) -> None:
    run = fit(corpus, tmp_path / "run", "hdp-cvb0", 12)
    counts = random_corpus(9, n_docs=4, n_words=30, largest=5)
    placed = infer_theta(run, Corpus(counts.counts, run.vocab))
    assert placed.tables is not None
    assert (placed.tables.data >= 1).all() and (placed.tables.data <= counts.counts.data).all()
    every = sparse.csr_array(np.ones((4, 30), np.int32))
    mixture = np.asarray(placed.theta @ run.tree.phi).ravel()
    process = PitmanYor(*run.tree.extra["bursts"].tolist())
    trial = Trial(counts.counts, np.empty(0), every, mixture)
    chances = bursty_chances(process, trial, placed.tables.data).reshape(4, 30)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)


def test_scores_that_tell_nothing_of_bursts(corpus: Path, tmp_path: Path) -> None:
    run = fit(corpus, tmp_path / "run", "hdp-cvb0", 12)
    of_tokens = fit(corpus, tmp_path / "tokens", "hdp-cvb0", 12, **{"data.holdout": "tokens:0.2@0"})
    own = ht.evaluate(run.path)
    plain = Tree.from_arrays(run.tree.to_arrays())
    assert "bursts" in plain.extra and own["perplexity"] > 0
    with pytest.raises(UsageError, match="protocol tokens"):
        ht.evaluate(of_tokens.path, protocol="tokens")


@pytest.mark.parametrize(
    ("backend", "more", "said"),
    [
        ("hdp-cvb", {}, "hdp-cvb has no bursts"),
        ("hlda-gibbs", {}, "hlda-gibbs has no bursts"),
        ("multinomial", {}, "multinomial has no bursts"),
        ("hdp-cvb0", {"inference.denominator": "G"}, "needs inference.denominator: E"),
        ("hdp-cvb0", {"data.holdout": "links:0.2@0"}, "not for a graph"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    corpus: Path, tmp_path: Path, backend: str, more: dict[str, str], said: str
) -> None:
    run = tmp_path / "run"
    overrides = {"model.bursts": "document", **more}
    with pytest.raises(UsageError, match=said):
        ht.fit(corpus, run=run, backend=backend, overrides=overrides, iterations=2)
    assert not run.exists()


def test_a_corpus_without_repeats_is_noted(tmp_path: Path, capsys: Any) -> None:
    path = lda_c(tmp_path / "new.ldac", random_corpus(5, n_docs=40, n_words=30))
    fit(path, tmp_path / "run", "hdp-cvb0", 8)
    log = (tmp_path / "run" / "log.txt").read_text()
    assert "no document repeats a word" in log


DRAWN: dict[str, Any] = {
    "model.bursts": "document",
    "model.truncation": 6,
    "inference.hyper_start": 3,
    "inference.burst_start": 4,
    "inference.keep_every": 5,
    "inference.burn_in": 5,
}
WAYS: dict[str, dict[str, Any]] = {
    "shards": {"inference.shards": 3},
    "dense": {"inference.sweep": "dense"},
    "chains": {"inference.chains": 2, "inference.summarise": "map"},
    "seeds": {"model.seeds": {"one": ["w0", "w1"]}},
}


def sampled(corpus: Path, run: Path, **more: Any) -> RunDir:
    overrides = {**DRAWN, **more}
    ht.fit(corpus, run=run, backend="hdp-gibbs", overrides=overrides, iterations=20)
    return RunDir.open(run)


@pytest.mark.parametrize("way", ["plain", *WAYS])
def test_a_sampled_run_that_stops_ends_in_the_same_bytes(
    corpus: Path, tmp_path: Path, way: str
) -> None:
    """Stopped before tables come and go, and afterwards."""
    more = WAYS.get(way, {})
    whole = sampled(corpus, tmp_path / "whole", **more)
    for stop in (3, 12):
        run = tmp_path / f"stopped{stop}"

        def until(event: Any, stop: int = stop) -> Any:
            return Stop("test", False) if event.iteration == stop else None

        words: dict[str, Any] = {"backend": "hdp-gibbs", "overrides": {**DRAWN, **more}}
        driver.fit(corpus, run=run, iterations=20, callbacks=[until], **words)
        driver.fit(corpus, run=run, iterations=20, **words)
        assert files_of(RunDir.open(run)) == files_of(whole)


@pytest.mark.parametrize("sweep", ["dense", "sparse"])
def test_a_sampled_run_of_lda_that_stops_ends_in_the_same_bytes(
    corpus: Path, tmp_path: Path, sweep: str
) -> None:
    overrides = {
        "model.bursts": "document",
        "model.n_topics": 6,
        "inference.sweep": sweep,
        "inference.hyper_start": 3,
        "inference.burst_start": 4,
    }
    words: dict[str, Any] = {"backend": "lda-gibbs", "overrides": overrides, "iterations": 20}
    driver.fit(corpus, run=tmp_path / "whole", **words)
    for stop in (3, 12):
        run = tmp_path / f"stopped{stop}"

        def until(event: Any, stop: int = stop) -> Any:
            return Stop("test", False) if event.iteration == stop else None

        driver.fit(corpus, run=run, callbacks=[until], **words)
        driver.fit(corpus, run=run, **words)
        assert files_of(RunDir.open(run)) == files_of(RunDir.open(tmp_path / "whole"))
    assert ht.evaluate(run)["perplexity"] > 0


def test_a_sampled_run_scores_by_the_process_of_each_draw(corpus: Path, tmp_path: Path) -> None:
    """Draws have a and b of their own; a placed document's distribution sums to 1 under each."""
    run = sampled(corpus, tmp_path / "run", **{"data.holdout": "docs:0.2@0"})
    processes = {tuple(tree.extra["bursts"].tolist()) for tree, _ in run.draws()}
    assert len(processes) > 1
    one, mean = (ht.evaluate(run.path, average=average) for average in (False, True))
    assert one["perplexity"] != mean["perplexity"]
    counts = random_corpus(9, n_docs=4, n_words=30, largest=5)
    placed = infer_theta(run, Corpus(counts.counts, run.vocab))
    every = sparse.csr_array(np.ones((4, 30), np.int32))
    mixture = np.asarray(placed.theta @ run.tree.phi).ravel()
    process = PitmanYor(*run.tree.extra["bursts"].tolist())
    assert placed.tables is not None
    trial = Trial(counts.counts, np.empty(0), every, mixture)
    chances = bursty_chances(process, trial, placed.tables.data).reshape(4, 30)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)


def test_scored_tokens_change_nothing_that_is_learned(tmp_path: Path) -> None:
    """Words of the documents put aside, permuted among these, leave the fit as it was."""
    counts = random_corpus(7, n_docs=60, n_words=30, largest=6).counts.toarray()
    first = lda_c(tmp_path / "first.ldac", corpus_of(counts))
    run = sampled(first, tmp_path / "run", **{"data.holdout": "docs:0.2@0"})
    aside = run.split.heldout_docs
    rows = counts[aside]
    words = np.repeat(np.tile(np.arange(30), len(aside)), rows.ravel())
    ends = np.cumsum(rows.sum(axis=1))[:-1]
    parts = np.split(np.random.default_rng(0).permutation(words), ends)
    counts[aside] = [np.bincount(part, minlength=30) for part in parts]
    other = lda_c(tmp_path / "other.ldac", corpus_of(counts))
    same = sampled(other, tmp_path / "same", **{"data.holdout": "docs:0.2@0"})
    assert (aside == same.split.heldout_docs).all()
    assert run.file("model.npz").read_bytes() == same.file("model.npz").read_bytes()


@pytest.mark.parametrize("more", [{}, {"inference.collapse": "partial"}], ids=["full", "partial"])
def test_samplers_refuse_in_one_line(corpus: Path, tmp_path: Path, more: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="not for a graph"):
        sampled(corpus, tmp_path / "run", **more, **{"data.holdout": "links:0.2@0"})
    assert not (tmp_path / "run").exists()


def test_going_on_with_documents_is_refused_as_without_bursts(corpus: Path, tmp_path: Path) -> None:
    run = sampled(corpus, tmp_path / "run")
    with pytest.raises(UsageError, match="hdp-gibbs"):
        ht.update(run.path, corpus, tmp_path / "updated", iterations=2)


def test_a_sampled_corpus_without_repeats_is_noted(tmp_path: Path) -> None:
    path = lda_c(tmp_path / "new.ldac", random_corpus(5, n_docs=40, n_words=30))
    sampled(path, tmp_path / "run")
    assert "no document repeats a word" in (tmp_path / "run" / "log.txt").read_text()


@pytest.mark.parametrize("average", [False, True])
def test_scores_of_seen_and_of_new_words_make_up_the_whole(
    corpus: Path, tmp_path: Path, average: bool
) -> None:
    """Their log likelihoods, weighted by their tokens, are that of all; so with a cache."""
    run = sampled(corpus, tmp_path / "run", **{"data.holdout": "docs:0.2@0"})
    record = ht.evaluate(run.path, average=average)
    cached = ht.evaluate(run.path, average=average, cache=True)
    n, n_seen = record["n_tokens"], record["seen_word_tokens"]
    assert 0 < n_seen < n and cached["seen_word_tokens"] == n_seen
    for found, suffix in ((record, ""), (cached, ""), (cached, "_with_cache")):
        parts = [found[f"perplexity_of_{kind}_words{suffix}"] for kind in ("seen", "new")]
        whole = n_seen * np.log(parts[0]) + (n - n_seen) * np.log(parts[1])
        assert -whole / n == pytest.approx(found[f"log_likelihood_per_word{suffix}"], rel=1e-9)
    # What the process keeps for words that were seen is missing where all comes from the topics.
    assert record["perplexity_of_new_words_by_topics"] < record["perplexity_of_new_words"]
    by_topics = "perplexity_of_new_words_by_topics"
    assert cached[by_topics] == pytest.approx(record[by_topics], rel=1e-12)
    aside = {"data.holdout": "docs:0.2@0"}
    ht.fit(corpus, run=tmp_path / "plain", backend="hdp-gibbs", iterations=4, overrides=aside)
    assert "perplexity_of_new_words" not in ht.evaluate(tmp_path / "plain")
