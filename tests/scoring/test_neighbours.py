"""Task neighbours: nearest documents by hand, votes, baselines, and what it refuses."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse
from task_corpora import LABELS, write_labelled
from tiny import counts_in

from hiertopics.base import archives
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.papers import task_neighbours as neighbours
from hiertopics.papers.task_neighbours import predict
from hiertopics.runs import newdocs
from hiertopics.runs.newdocs import infer_theta
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.tasks import evaluate_task
from hiertopics.scoring.tfidf import inverse_document_frequency, unit_vectors

Fit = Callable[..., Any]


@pytest.fixture(scope="module")
def labelled(tiny_corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tiny corpus with a label per document; 4 is empty and is held out."""
    return write_labelled(tiny_corpus, tmp_path_factory.mktemp("labelled") / "labelled.ldac")


@pytest.fixture
def run(fit_tiny: Fit, labelled: Path, tmp_path: Path) -> RunDir:
    """Return a run that put documents aside, the empty one among them."""
    fit_tiny(tmp_path / "run", corpus=labelled, holdout="docs:0.4@3", iterations=30)
    run = RunDir(tmp_path / "run")
    assert 4 in run.split.heldout_docs
    return run


def unit_rows(n_rows: int, n_columns: int, seed: int) -> sparse.csr_array:
    """Return sparse unit vectors at odd angles, so that no two distances are equal."""
    rng = np.random.default_rng(seed)
    rows = rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.7)
    rows[:, :2] = rng.uniform(0.1, 1, (n_rows, 2))
    return sparse.csr_array(rows / np.linalg.norm(rows, axis=1)[:, None])


def vote_by_hand(distances: Any, labels: Any, k: int) -> int:
    """Return the label of most of the k nearest; ties by the smaller summed distance."""
    near = sorted(range(len(distances)), key=lambda row: distances[row])[:k]
    votes = Counter(int(labels[row]) for row in near)
    summed = {label: sum(distances[row] for row in near if labels[row] == label) for label in votes}
    return min(votes, key=lambda label: (-votes[label], summed[label]))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(1, 20), st.integers(2, 6), st.integers(0, 10**6), st.data())
def test_nearest_and_vote_are_those_of_a_search_by_hand(
    n_test: int, n_train: int, n_columns: int, seed: int, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, n_train))
    test, train = unit_rows(n_test, n_columns, seed), unit_rows(n_train, n_columns, seed + 1)
    labels = np.random.default_rng(seed).integers(0, 3, n_train)
    predicted = predict(test, train, labels, k, np.random.default_rng(0))
    for row in range(n_test):
        distances = [math.dist(test[[row]].toarray()[0], other) ** 2 for other in train.toarray()]
        assert predicted.by_vote[row] == vote_by_hand(distances, labels, k)
        assert predicted.by_nearest[row] == vote_by_hand(distances, labels, 1)


@pytest.mark.parametrize("full", [0.0, 2.0], ids=["dense", "sparse"])
@pytest.mark.parametrize("cells", [1, 45, 1000])
def test_blocks_and_storage_change_nothing(
    monkeypatch: pytest.MonkeyPatch, full: float, cells: int
) -> None:
    test, train = unit_rows(23, 5, 1), unit_rows(15, 5, 2)
    labels = np.arange(15) % 4
    expected = predict(test, train, labels, 3, np.random.default_rng(0))
    monkeypatch.setattr(neighbours, "FULL", full)
    monkeypatch.setattr(neighbours, "CELLS", cells)
    again = predict(test, train, labels, 3, np.random.default_rng(0))
    assert again.by_vote.tolist() == expected.by_vote.tolist()
    assert again.by_nearest.tolist() == expected.by_nearest.tolist()


def test_no_block_holds_more_similarities_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "CELLS", 100)
    shapes = [
        block.shape for block in neighbours._similarities(unit_rows(23, 5, 1), unit_rows(15, 5, 2))
    ]
    assert shapes == [(6, 15)] * 3 + [(5, 15)]


def angles(*degrees: float) -> sparse.csr_array:
    radians = np.radians(degrees)
    return sparse.csr_array(np.stack([np.cos(radians), np.sin(radians)], axis=1))


def test_an_equal_vote_goes_to_the_smaller_summed_distance() -> None:
    """Label 2 has the nearest row, but label 1 is nearer on the whole."""
    labels = np.array([2, 1, 1, 2, 0])
    predicted = predict(angles(0), angles(1, 5, 6, 40, 80), labels, 4, np.random.default_rng(0))
    assert (predicted.by_vote.tolist(), predicted.by_nearest.tolist()) == ([1], [2])
    nearer = predict(angles(0), angles(1, 5, 6, 7, 80), labels, 4, np.random.default_rng(0))
    assert nearer.by_vote.tolist() == [2]


def test_equal_distances_are_not_taken_in_the_order_of_the_corpus() -> None:
    test, train = angles(*[10.0] * 1), angles(*[30.0] * 40)
    labels = np.arange(40) // 10
    found = Counter(
        int(predict(test, train, labels, 1, np.random.default_rng(seed)).by_vote[0])
        for seed in range(200)
    )
    assert set(found) == {0, 1, 2, 3} and max(found.values()) < 100
    voted = Counter(
        int(predict(test, train, labels, 2, np.random.default_rng(seed)).by_vote[0])
        for seed in range(200)
    )
    assert set(voted) == {0, 1, 2, 3}


def hellinger(a: Any, b: Any) -> float:
    return float(sum((math.sqrt(x) - math.sqrt(y)) ** 2 for x, y in zip(a, b, strict=True)))


def classes(docs: Any) -> list[str]:
    return [LABELS[doc % 3] for doc in docs]


def test_accuracy_is_that_of_a_search_by_hand(run: RunDir, labelled: Path) -> None:
    corpus, split = counts_in(Source(labelled)), run.split
    theta = infer_theta(run, Corpus(corpus.counts[split.heldout_docs], run.vocab)).theta.toarray()
    truth, known = classes(split.heldout_docs), np.array(classes(split.train_docs))
    places = {name: place for place, name in enumerate(sorted(LABELS))}
    label = np.array([places[name] for name in known])
    for k in (1, 5, 7):
        right = 0
        for row, name in zip(theta, truth, strict=True):
            distances = [hellinger(row, other) for other in run.theta.toarray()]
            right += vote_by_hand(distances, label, k) == places[name]
        record = evaluate_task(run, "neighbours", k=k)
        assert record["accuracy"] == pytest.approx(right / len(truth))
        if k == 1:
            assert record["accuracy_1"] == record["accuracy"]
    assert 0 < record["accuracy_1"] < 1


def test_the_record_has_the_keys_of_the_interface_and_is_kept(run: RunDir) -> None:
    record = evaluate_task(run, "neighbours")
    assert list(record) == [
        "run", "backend", "task", "k", "corpus", "accuracy", "accuracy_1",
        "n_docs", "n_empty", "unknown_tokens", "split", "baselines",
    ]  # fmt: skip
    assert (record["run"], record["backend"]) == (str(run.path), "hdp-pcvb0")
    assert (record["task"], record["k"], record["corpus"]) == ("neighbours", 7, None)
    assert (record["n_docs"], record["n_empty"], record["unknown_tokens"]) == (12, 1, 0)
    assert record["split"] == run.split.hash
    for metrics in record["baselines"].values():
        assert list(metrics) == ["accuracy", "accuracy_1"]
    assert json.loads((run.path / "eval" / "neighbours.json").read_text()) == record
    evaluate_task(run, "neighbours", k=3)
    assert json.loads((run.path / "eval" / "neighbours-k=3.json").read_text())["k"] == 3


def test_a_stranger_can_recompute_the_accuracy(run: RunDir) -> None:
    record = evaluate_task(run, "neighbours", k=3)
    arrays = archives.read_npz(run.path / "eval" / "neighbours-k=3.npz")
    theta = archives.unpack_csr("theta", arrays).toarray()
    label, known = arrays["label"], arrays["train_label"]
    distances = [[hellinger(row, other) for other in run.theta.toarray()] for row in theta]
    voted = [vote_by_hand(row, known, 3) for row in distances]
    assert voted == arrays["predicted"].tolist()
    assert record["accuracy"] == np.mean(np.array(voted) == label)
    assert record["accuracy_1"] == np.mean(arrays["predicted_1"] == label)
    assert [arrays["label_names"][place] for place in label] == classes(run.split.heldout_docs)


def test_inference_does_not_see_the_labels(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose parents are labels would be told the answer."""
    seen = []

    def spy(target: RunDir, corpus: Corpus, **others: Any) -> Any:
        seen.append(corpus)
        return infer_theta(target, corpus, **others)

    monkeypatch.setattr(newdocs, "infer_theta", spy)
    evaluate_task(run, "neighbours")
    assert [corpus.labels for corpus in seen] == [None] and seen[0].n_docs == 12


def tfidf_by_hand(train: Any, rows: Any, sublinear: bool) -> list[list[float]]:
    """Return unit TF-IDF rows, word by word."""
    n_docs, found = len(train), []
    for row in rows:
        weights = []
        for word, count in enumerate(row):
            holders = sum(1 for other in train if other[word])
            frequency = (1 + math.log(count) if sublinear else count) if count else 0
            weights.append(frequency * (math.log((1 + n_docs) / (1 + holders)) + 1))
        length = math.sqrt(sum(weight**2 for weight in weights))
        found.append([weight / length if length else 0.0 for weight in weights])
    return found


@pytest.mark.parametrize("sublinear", [False, True])
def test_tfidf_vectors_are_those_of_the_formula_and_of_scikit_learn(
    tiny_corpus: Corpus, sublinear: bool
) -> None:
    from sklearn.feature_extraction.text import TfidfTransformer

    train, test = tiny_corpus.counts[10:], tiny_corpus.counts[:10]
    idf = inverse_document_frequency(train)
    theirs = TfidfTransformer(sublinear_tf=sublinear).fit(train)
    for rows in (train, test):
        ours = unit_vectors(rows, idf, sublinear=sublinear).toarray()
        by_hand = tfidf_by_hand(train.toarray(), rows.toarray(), sublinear)
        np.testing.assert_allclose(ours, by_hand, rtol=1e-12)
        np.testing.assert_allclose(ours, theirs.transform(rows).toarray(), rtol=1e-12)


def test_baselines_are_those_of_a_search_by_hand(run: RunDir, labelled: Path) -> None:
    counts, split = counts_in(Source(labelled)).counts.toarray(), run.split
    train, test = counts[split.train_docs], counts[split.heldout_docs]
    truth, known = split.heldout_docs % 3, split.train_docs % 3
    record = evaluate_task(run, "neighbours", k=3)
    for name, sublinear in (("tfidf_cosine", False), ("tfidf_cosine_sublinear", True)):
        rows, others = (tfidf_by_hand(train, side, sublinear) for side in (test, train))
        distances = [[1 - np.dot(row, other) for other in others] for row in rows]
        # At equal distance from all, the empty document is labelled by lot.
        full = test.sum(axis=1) > 0
        for metric, k in (("accuracy", 3), ("accuracy_1", 1)):
            voted = np.array([vote_by_hand(row, known, k) for row in distances])
            right = (voted == truth)[full].sum()
            found = record["baselines"][name][metric] * len(truth)
            assert right - 1e-9 <= found <= right + 1 + 1e-9
    commonest = Counter(known.tolist()).most_common(1)[0][0]
    share = np.mean(truth == commonest)
    assert record["baselines"]["majority_label"] == {"accuracy": share, "accuracy_1": share}


@pytest.fixture
def other(tiny_corpus: Corpus, tmp_path: Path) -> Path:
    """Return four documents: words and labels in another order, one unknown of each."""
    path = tmp_path / "other.ldac"
    path.write_text("2 0:6 1:5\n2 2:9 3:9\n1 2:4\n0\n")
    (tmp_path / "other.vocab").write_text("goal\nmatch\nbread\nyeti\n")
    (tmp_path / "marks").write_text("1\n3\n2\n3\n")
    (tmp_path / "marks.key").write_text("both\nsport\nmovies\nfood\n")
    return path


def test_a_file_is_classified_by_words_and_label_names(
    run: RunDir, other: Path, tmp_path: Path
) -> None:
    record = evaluate_task(
        run, "neighbours", corpus=other, data={"labels": str(tmp_path / "marks")}, k=3
    )
    assert (record["n_docs"], record["n_empty"], record["unknown_tokens"]) == (4, 1, 9)
    assert record["corpus"] == str(other)
    counts = np.zeros((4, 9), dtype=int)
    for doc, word, n in ((0, "goal", 6), (0, "match", 5), (1, "bread", 9), (2, "bread", 4)):
        counts[doc, run.vocab.index(word)] = n
    theta = infer_theta(run, Corpus(sparse.csr_array(counts), run.vocab)).theta.toarray()
    known = classes(run.split.train_docs)
    ids = np.array([LABELS.index(name) for name in known])
    right = 0
    for row, name in zip(theta, ("sport", "food", "movies", "food"), strict=True):
        distances = [hellinger(row, other) for other in run.theta.toarray()]
        right += LABELS[vote_by_hand(distances, ids, 3)] == name
    assert record["accuracy"] == right / 4 >= 0.5
    again = evaluate_task(run, "neighbours", corpus=other, data={"labels": str(tmp_path / "marks")})
    assert again["split"] == record["split"] != run.split.hash
    assert (run.path / "eval" / "neighbours-corpus=other.ldac.json").exists()
    assert (run.path / "eval" / "neighbours-k=3-corpus=other.ldac.npz").exists()


def test_a_file_without_labels_is_refused(run: RunDir, other: Path) -> None:
    with pytest.raises(UsageError, match=r"other\.ldac has no labels; --labels FILE"):
        evaluate_task(run, "neighbours", corpus=other)


@pytest.mark.parametrize(("line", "n_labels"), [("1 2", 2), ("", 0)])
def test_a_document_without_exactly_one_label_is_named(
    run: RunDir, other: Path, tmp_path: Path, line: str, n_labels: int
) -> None:
    (tmp_path / "marks").write_text(f"1\n3\n{line}\n3\n")
    words = rf"other\.ldac: document 3 of 4 has {n_labels} labels; .* exactly one"
    with pytest.raises(UsageError, match=words):
        evaluate_task(run, "neighbours", corpus=other, data={"labels": str(tmp_path / "marks")})


def test_documents_of_the_run_need_exactly_one_label_too(
    fit_tiny: Fit, tiny_corpus: Corpus, tmp_path: Path
) -> None:
    corpus = write_labelled(tiny_corpus, tmp_path / "two.ldac")
    lines = corpus.with_suffix(".labels").read_text().split("\n")
    corpus.with_suffix(".labels").write_text("\n".join(["0 1", *lines[1:]]))
    fit_tiny(tmp_path / "run", corpus=corpus)
    with pytest.raises(UsageError, match=r"two\.ldac: document 1 of 30 has 2 labels"):
        evaluate_task(tmp_path / "run", "neighbours")


def test_a_run_without_labels_is_refused(copied: Callable[..., Path]) -> None:
    with pytest.raises(UsageError, match=r"tiny\.ldac has no labels"):
        evaluate_task(copied(), "neighbours")


def test_labels_that_have_changed_since_the_fit_are_refused(
    fit_tiny: Fit, tiny_corpus: Corpus, tmp_path: Path
) -> None:
    corpus = write_labelled(tiny_corpus, tmp_path / "moved.ldac")
    fit_tiny(tmp_path / "run", corpus=corpus)
    corpus.with_suffix(".labels").write_text("1\n" * 30)
    with pytest.raises(UsageError, match=r"moved\.ldac: the corpus has changed since the fit"):
        evaluate_task(tmp_path / "run", "neighbours")
    assert not (tmp_path / "run" / "eval").exists()


@pytest.mark.parametrize("k", [0, -1, 19])
def test_as_many_neighbours_as_there_are_documents_at_most(run: RunDir, k: int) -> None:
    assert evaluate_task(run, "neighbours", k=18)["k"] == 18
    with pytest.raises(UsageError, match=f"--k must be from 1 to 18 training documents, got {k}"):
        evaluate_task(run, "neighbours", k=k)


@pytest.mark.parametrize("holdout", ["none", "tokens:0.2@0"])
def test_a_run_that_held_no_document_out_asks_for_a_file(
    fit_tiny: Fit, labelled: Path, other: Path, tmp_path: Path, holdout: str
) -> None:
    fit_tiny(tmp_path / "run", corpus=labelled, holdout=holdout)
    with pytest.raises(UsageError, match="put no documents aside .* --corpus FILE"):
        evaluate_task(tmp_path / "run", "neighbours")
    marks = {"labels": str(tmp_path / "marks")}
    record = evaluate_task(tmp_path / "run", "neighbours", corpus=other, data=marks)
    assert record["n_docs"] == 4


def test_the_training_corpus_is_refused(run: RunDir, labelled: Path) -> None:
    with pytest.raises(UsageError, match="trained on"):
        evaluate_task(run, "neighbours", corpus=labelled)


def test_workers_change_nothing(run: RunDir) -> None:
    assert evaluate_task(run, "neighbours", workers=3) == evaluate_task(run, "neighbours")
