"""Scores of a run: every protocol against its definition, computed by hand from the run's files."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base import archives
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.holdouts.partition import partition
from hiertopics.runs.newdocs import infer_theta
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.comparison import compare
from hiertopics.scoring.evaluation import evaluate

Copied = Callable[..., Path]
Fit = Callable[..., Any]
KEYS = {
    "run",
    "backend",
    "protocol",
    "log_likelihood_per_word",
    "perplexity",
    "standard_error",
    "n_docs",
    "n_tokens",
    "unknown_tokens",
    "unseen_tokens",
    "split",
}


@pytest.fixture
def run(copied: Copied) -> RunDir:
    """Return a run that put documents aside."""
    return RunDir(copied())


@pytest.fixture
def sampled(copied: Copied) -> RunDir:
    """Return a run of a sampler that put tokens aside and kept draws."""
    return RunDir(copied("hdp-gibbs", "tokens:0.2@0"))


def by_hand(theta: Any, phi: Any, scored: sparse.csr_array) -> float:
    """Return the perplexity of ``scored``, entry by entry."""
    chance = np.asarray(theta @ phi)
    entries = scored.tocoo()
    cells = zip(entries.coords[0], entries.coords[1], entries.data, strict=True)
    logs = sum(n * math.log(chance[doc, word]) for doc, word, n in cells)
    return math.exp(-logs / scored.sum())


def theta_of(run: RunDir, counts: sparse.csr_array, **others: Any) -> Any:
    return infer_theta(run, Corpus(counts, run.vocab), **others).theta


def test_the_record_has_the_keys_of_the_interface(run: RunDir) -> None:
    record = evaluate(run)
    assert set(record) >= KEYS
    assert record["perplexity"] == pytest.approx(math.exp(-record["log_likelihood_per_word"]))
    assert (record["backend"], record["split"]) == ("hdp-pcvb0", run.manifest["split"])
    assert record["n_tokens"] == run.split.scored.sum()
    assert record["n_docs"] == (run.split.scored.sum(axis=1) > 0).sum()
    assert record["standard_error"] > 0 and record["unknown_tokens"] == 0


def test_completion_sees_the_observed_part_and_scores_the_rest(run: RunDir) -> None:
    theta = theta_of(run, run.split.observed)
    expected = by_hand(theta, run.tree.phi, run.split.scored)
    assert evaluate(run)["perplexity"] == pytest.approx(expected, rel=1e-9)


def test_full_sees_and_scores_the_same_words(run: RunDir) -> None:
    theta = theta_of(run, run.split.heldout)
    record = evaluate(run, protocol="full")
    expected = by_hand(theta, run.tree.phi, run.split.heldout)
    assert record["perplexity"] == pytest.approx(expected, rel=1e-9)
    assert record["n_tokens"] == run.split.heldout.sum()
    assert record["split"] == run.split.hash


def test_full_can_be_recomputed_from_its_own_file(run: RunDir) -> None:
    record = evaluate(run, protocol="full")
    arrays = archives.read_npz(run.path / "eval" / "full.npz")
    theta, scored = (archives.unpack_csr(name, arrays) for name in ("theta", "scored"))
    assert record["perplexity"] == pytest.approx(by_hand(theta, run.tree.phi, scored), rel=1e-9)


def test_observed_zero_scores_the_same_tokens_before_seeing_a_word(run: RunDir) -> None:
    record = evaluate(run, observed=0)
    theta = theta_of(run, sparse.csr_array(run.split.scored.shape, dtype=np.int32))
    assert len({row.tobytes() for row in theta.toarray()}) == 1
    expected = by_hand(theta, run.tree.phi, run.split.scored)
    assert record["perplexity"] == pytest.approx(expected, rel=1e-9)
    assert record["split"] == run.split.hash
    assert (run.path / "eval" / "completion-observed=0.json").exists()


def test_seeing_more_of_a_document_predicts_it_better(fit_tiny: Fit, tmp_path: Path) -> None:
    fit_tiny(tmp_path / "run", iterations=40, holdout="docs:0.4@2")
    assert (
        evaluate(tmp_path / "run")["perplexity"]
        < evaluate(tmp_path / "run", observed=0)["perplexity"]
    )


def test_another_observed_share_has_its_own_partition_and_hash(run: RunDir) -> None:
    split = run.split
    seen, scored = partition(split.heldout, split.heldout_docs, split.seed, 0.5)
    record = evaluate(run, observed=0.5)
    expected = by_hand(theta_of(run, seen), run.tree.phi, scored)
    assert record["perplexity"] == pytest.approx(expected, rel=1e-9)
    assert record["n_tokens"] == scored.sum()
    others = [evaluate(run, observed=share)["split"] for share in (0.4, 0.8)]
    assert len({record["split"], *others}) == 3 and others[1] == split.hash
    assert (run.path / "eval" / "completion-observed=0.5.json").exists()


def test_tokens_are_scored_under_the_training_theta(sampled: RunDir) -> None:
    record = evaluate(sampled)
    expected = by_hand(sampled.theta, sampled.tree.phi, sampled.split.scored)
    assert record["protocol"] == "tokens"
    assert record["perplexity"] == pytest.approx(expected, rel=1e-9)


def draws_of(run: RunDir) -> list[dict[str, Any]]:
    paths = sorted((run.path / "draws").glob("*.npz"))
    assert len(paths) == 3
    return [archives.read_npz(path) for path in paths]


def test_average_scores_the_mean_chance_over_draws(sampled: RunDir) -> None:
    chances = [
        archives.unpack_csr("theta", arrays).toarray() @ arrays["phi"]
        for arrays in draws_of(sampled)
    ]
    expected = by_hand(np.eye(len(chances[0])), sum(chances) / 3, sampled.split.scored)
    record = evaluate(sampled, average=True)
    assert record["perplexity"] == pytest.approx(expected, rel=1e-9)
    single = evaluate(sampled)["perplexity"]
    assert record["perplexity"] != pytest.approx(single, rel=1e-6)
    assert (sampled.path / "eval" / "tokens-average=True.json").exists()


def test_average_infers_theta_anew_under_each_draw(copied: Copied) -> None:
    run = RunDir(copied("hdp-gibbs"))
    chances = [(theta_of(run, run.split.observed, tree=tree) @ tree.phi) for tree, _ in run.draws()]
    expected = by_hand(np.eye(len(chances[0])), np.mean(chances, axis=0), run.split.scored)
    assert evaluate(run, average=True)["perplexity"] == pytest.approx(expected, rel=1e-9)


def test_average_without_draws_is_refused(run: RunDir) -> None:
    with pytest.raises(UsageError, match="no draws"):
        evaluate(run, average=True)


def test_workers_change_nothing(run: RunDir) -> None:
    assert evaluate(run, workers=3) == evaluate(run)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Return another corpus: words in another order, one unknown, one never seen in training."""
    path = tmp_path / "other.ldac"
    path.write_text("4 0:6 1:5 2:4 3:5\n2 0:9 3:9\n0\n1 4:5\n")
    (tmp_path / "other.vocab").write_text("goal\nbread\nyeti\nteam\nnever\n")
    return path


def test_a_file_is_scored_with_its_unknown_and_unseen_words_counted(
    run: RunDir, other: Path
) -> None:
    record = evaluate(run, corpus=other)
    counts = np.zeros((4, 9), dtype=int)
    for doc, word, n in (
        (0, "goal", 6),
        (0, "bread", 5),
        (0, "team", 5),
        (1, "goal", 9),
        (1, "team", 9),
        (3, "never", 5),
    ):
        counts[doc, run.vocab.index(word)] = n
    seen, scored = partition(sparse.csr_array(counts), range(4), 0)
    expected = by_hand(theta_of(run, seen), run.tree.phi, scored)
    assert record["perplexity"] == pytest.approx(expected, rel=1e-9)
    assert record["unknown_tokens"] == 4
    assert record["unseen_tokens"] == scored[3].sum() == 1
    assert record["n_tokens"] == scored.sum() and record["n_docs"] == 3
    assert (run.path / "eval" / "completion-corpus=other.ldac.json").exists()


def test_the_partition_of_a_file_has_a_seed_and_the_hash_tells(run: RunDir, other: Path) -> None:
    records = [evaluate(run, corpus=other, seed=seed) for seed in (0, 0, 1)]
    assert records[0]["split"] == records[1]["split"] != records[2]["split"]
    assert (run.path / "eval" / "completion-corpus=other.ldac-seed=1.json").exists()


def test_a_file_is_scored_in_full_and_before_seeing_a_word(run: RunDir, other: Path) -> None:
    full = evaluate(run, corpus=other, protocol="full")
    before, after = evaluate(run, corpus=other, observed=0), evaluate(run, corpus=other)
    assert full["n_tokens"] == 6 + 5 + 5 + 9 + 9 + 5
    assert before["n_tokens"] == after["n_tokens"]
    assert before["perplexity"] != pytest.approx(after["perplexity"], rel=1e-6)


def test_the_training_corpus_is_refused(run: RunDir, tiny_file: Path) -> None:
    with pytest.raises(UsageError, match="trained on"):
        evaluate(run, corpus=tiny_file)


def test_the_training_corpus_is_refused_in_another_format_too(
    run: RunDir, tiny_corpus: Corpus, tmp_path: Path
) -> None:
    sparse.save_npz(tmp_path / "copy.npz", tiny_corpus.counts)
    (tmp_path / "copy.vocab").write_text("\n".join(tiny_corpus.vocab) + "\n")
    with pytest.raises(UsageError, match="trained on"):
        evaluate(run, corpus=tmp_path / "copy.npz")


def test_the_training_corpus_is_refused_whatever_marks_it_bears(
    run: RunDir, tiny_file: Path, tmp_path: Path
) -> None:
    """Labels beside a file change nothing about its having been trained on."""
    labels = tmp_path / "labels"
    labels.write_text("x\n" * 30)
    with pytest.raises(UsageError, match="trained on"):
        evaluate(run, corpus=tiny_file, data={"labels": str(labels)})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"protocol": "complete"}, "unknown protocol 'complete'; there are completion, tokens"),
        ({"protocol": "tokens"}, "protocol tokens does not fit a holdout of kind docs"),
        ({"observed": 1.0}, "--observed must be from 0 to below 1"),
        ({"observed": -0.1}, "--observed must be from 0 to below 1"),
        ({"observed": float("nan")}, "--observed must be from 0 to below 1"),
    ],
)
def test_what_has_no_meaning_is_refused(run: RunDir, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        evaluate(run, **options)
    assert not (run.path / "eval").exists()


@pytest.mark.parametrize("seed", [-1, -(2**70)])
def test_a_negative_seed_is_refused(run: RunDir, other: Path, seed: int) -> None:
    with pytest.raises(UsageError, match="seed"):
        evaluate(run, corpus=other, seed=seed)


def test_completion_of_withheld_tokens_is_refused(sampled: RunDir) -> None:
    with pytest.raises(UsageError, match="does not fit"):
        evaluate(sampled, protocol="completion")
    with pytest.raises(UsageError, match="no meaning"):
        evaluate(sampled, observed=0.5)


def test_a_run_that_put_nothing_aside_asks_for_a_corpus(copied: Copied, other: Path) -> None:
    run = RunDir(copied(holdout="none"))
    with pytest.raises(UsageError, match="put nothing aside .* --corpus"):
        evaluate(run)
    assert evaluate(run, corpus=other)["n_tokens"] > 0


def test_no_token_to_score_is_refused(run: RunDir, tmp_path: Path) -> None:
    (tmp_path / "empty.ldac").write_text("0\n0\n")
    with pytest.raises(UsageError, match="no token to score"):
        evaluate(run, corpus=tmp_path / "empty.ldac")


def test_quality_is_missing_with_a_warning_where_the_corpus_is_gone(
    fit_tiny: Fit, tiny_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = tmp_path / "moved.ldac"
    moved.write_bytes(tiny_file.read_bytes())
    fit_tiny(tmp_path / "run", corpus=moved)
    assert evaluate(tmp_path / "run")["coherence_npmi"] is not None
    moved.write_text("1 0:1\n2 1:1 2:2\n")
    assert evaluate(tmp_path / "run")["coherence_npmi"] is None
    moved.unlink()
    record = evaluate(tmp_path / "run")
    assert record["coherence_npmi"] is None and record["perplexity"] > 1
    assert capsys.readouterr().err.count("warning: no topic quality") == 2


def test_compare_puts_the_best_first(copied: Copied, fit_tiny: Fit, tmp_path: Path) -> None:
    runs = [copied(), copied("hdp-gibbs"), tmp_path / "longer"]
    fit_tiny(runs[2], iterations=60)
    rows = compare(runs)
    assert {row["run"] for row in rows} == set(map(str, runs))
    scores = [row["perplexity"] for row in rows]
    assert scores == sorted(scores)
    for row in rows:
        manifest = json.loads((Path(row["run"]) / "manifest.json").read_text())
        assert row["perplexity"] == evaluate(row["run"])["perplexity"]
        assert row["iterations"] == manifest["iterations"]
        assert row["seconds"] == manifest["wall_seconds"]


@pytest.mark.parametrize("name", ["other.ldac", "tiny.ldac"])
def test_compare_says_which_corpora_differ_and_what_can_be_done(
    fit_tiny: Fit, copied: Copied, tiny_file: Path, tmp_path: Path, name: str
) -> None:
    """By their names, or by their paths where two files have one name."""
    first, second, file = copied(), tmp_path / "second", tmp_path / name
    file.write_text("".join(tiny_file.read_text().splitlines(keepends=True)[:20]))
    (tmp_path / f"{file.stem}.vocab").write_text("".join(f"v{n}\n" for n in range(30)))
    fit_tiny(second, corpus=file)
    with pytest.raises(UsageError, match="since their corpora differ") as refusal:
        compare([first, second])
    told = str(refusal.value)
    called = ["tiny", "other"] if name == "other.ldac" else [str(tiny_file), str(file)]
    n_words = RunDir(first).manifest["corpus"]["n_words"]
    assert f"{first} has {called[0]} (30 documents, {n_words} words)" in told
    assert f"{second} has {called[1]} (20 documents, 30 words)" in told
    assert "fit to one corpus with one --holdout" in told and f"report {first} {second}" in told
    assert RunDir(first).split.hash not in told and "\n" not in told


def test_compare_refuses_unequal_splits_naming_them(
    fit_tiny: Fit, copied: Copied, tmp_path: Path
) -> None:
    first, second = copied(), tmp_path / "other"
    fit_tiny(second, holdout="docs:0.2@1")
    with pytest.raises(UsageError, match="not scored on the same split") as refusal:
        compare([first, second])
    for path in (first, second):
        n = len(RunDir(path).split.train_docs) + len(RunDir(path).split.heldout_docs)
        spec, n_words = RunDir(path).experiment.data.holdout, len(RunDir(path).vocab)
        assert f"{path} holds out {spec} of {n} documents with {n_words} words" in str(
            refusal.value
        )
        assert RunDir(path).split.hash not in str(refusal.value)
    assert f"report {first} {second}" in str(refusal.value)
    assert not (first / "eval").exists()
