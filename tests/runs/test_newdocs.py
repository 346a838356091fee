"""New documents: words carried over by string or id, theta written, options kept from the run."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base.errors import DataError, HiertopicsError, UsageError
from hiertopics.base.room import beside
from hiertopics.contract.engine import Workers
from hiertopics.corpus.corpora.conversion import convert
from hiertopics.corpus.data.corpus import Corpus, Tags, default_vocab
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.runs import placing
from hiertopics.runs.newdocs import infer, infer_theta
from hiertopics.runs.rundir import RunDir
from hiertopics.runs.unseen import match, read_matched

Fit = Callable[..., object]
Finished = Callable[..., Path]


def corpus_of(rows: object, *words: str) -> Corpus:
    counts = sparse.csr_array(np.asarray(rows))
    return Corpus(counts, words or default_vocab(counts.shape[1]))


def matched(rows: object, words: tuple[str, ...], vocab: tuple[str, ...]) -> tuple[object, int]:
    result = match(corpus_of(rows, *words), vocab)
    assert result.corpus.vocab == vocab
    return result.corpus.counts.toarray().tolist(), result.unknown_tokens


def test_words_are_matched_by_string() -> None:
    found = matched([[1, 2, 3], [0, 0, 4]], ("cat", "ant", "bee"), ("ant", "bee", "cat", "dog"))
    assert found == ([[2, 3, 1, 0], [0, 4, 0, 0]], 0)


def test_unknown_words_are_skipped_and_their_tokens_counted() -> None:
    found = matched([[1, 2, 3], [0, 5, 0]], ("ant", "yak", "bee"), ("ant", "bee"))
    assert found == ([[1, 3], [0, 0]], 7)


def test_unknown_tokens_are_those_of_each_document_without_words_left_out_on_purpose() -> None:
    corpus = corpus_of([[1, 2, 3], [0, 5, 0]], "ant", "yak", "the")
    assert match(corpus, ("ant",)).unknown.tolist() == [5, 5]
    found = match(corpus, ("ant",), frozenset({"the"}))
    assert (found.unknown.tolist(), found.unknown_tokens) == ([2, 5], 7)


def test_without_a_vocabulary_words_are_matched_by_id() -> None:
    assert matched([[1, 2, 3]], (), ("ant", "bee")) == ([[1, 2]], 3)
    assert matched([[1, 2]], (), ("ant", "bee", "cat")) == ([[1, 2, 0]], 0)


def test_numbered_words_of_which_the_run_kept_some_are_matched_by_string() -> None:
    """The id of w2 is another one in a run whose min_df has dropped w1."""
    assert matched([[1, 2, 3]], (), ("w0", "w2")) == ([[1, 3]], 2)


def test_of_two_equal_words_of_the_run_the_first_is_taken() -> None:
    assert matched([[4, 1]], ("ant", "bee"), ("ant", "bee", "ant")) == ([[4, 1, 0]], 0)


def test_two_equal_words_of_the_file_are_added() -> None:
    assert matched([[4, 1, 2]], ("ant", "bee", "ant"), ("ant", "bee")) == ([[6, 1]], 0)


def test_case_and_blanks_make_another_word() -> None:
    assert matched([[1, 1]], ("Ant", "ant "), ("ant",)) == ([[0]], 2)


def test_document_ids_groups_and_labels_stay() -> None:
    tags = Tags(sparse.csr_array(np.array([[True], [False]])), ("x",))
    counts = sparse.csr_array(np.array([[1], [2]]))
    result = match(Corpus(counts, ("ant",), ("d1", "d2"), tags, tags), ("bee", "ant")).corpus
    assert result.doc_ids == ("d1", "d2")
    assert result.groups is not None and result.groups.names == ("x",)
    assert result.labels is not None and (result.labels.members != tags.members).nnz == 0


def test_matching_to_its_own_vocabulary_changes_nothing(tiny_corpus: Corpus) -> None:
    assert match(tiny_corpus, tiny_corpus.vocab).corpus.fingerprint == tiny_corpus.fingerprint


def test_infer_writes_theta_for_scipy(finished: Finished, tmp_path: Path) -> None:
    run, new = finished(), tmp_path / "new.ldac"
    new.write_text("2 0:3 2:1\n1 1:4\n0\n")
    (tmp_path / "new.vocab").write_text("goal\nyeti\nteam\n")
    result = infer(run, new, tmp_path / "theta.npz")
    theta = sparse.load_npz(tmp_path / "theta.npz")
    assert result.unknown_tokens == 4
    assert theta.shape == (3, RunDir(run).tree.n_nodes)
    assert theta.sum(axis=1) == pytest.approx(1)
    rows = theta.toarray()
    assert rows[1].tobytes() == rows[2].tobytes()  # unknown words say nothing
    assert rows[0].tobytes() != rows[2].tobytes()


def test_infer_does_not_depend_on_order_or_workers(finished: Finished, tmp_path: Path) -> None:
    run = RunDir(finished())
    rows = np.random.default_rng(1).poisson(1.5, (9, 9))
    corpus = Corpus(sparse.csr_array(rows), run.vocab)
    theta = infer_theta(run, corpus).theta.toarray()
    for other in (
        infer_theta(run, corpus, engine=Workers(3)).theta.toarray(),
        infer_theta(run, corpus.select(range(8, -1, -1))).theta.toarray()[::-1],
        np.vstack([infer_theta(run, corpus.select([d])).theta.toarray() for d in range(9)]),
    ):
        assert other.tobytes() == theta.tobytes() or (other == theta).all()


def test_a_missing_file_is_a_data_error(finished: Finished, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.ldac: no such file"):
        infer(finished(), tmp_path / "gone.ldac", tmp_path / "theta.npz")
    assert not (tmp_path / "theta.npz").exists()


TEXTS = ["bread and butter", "goal of the match", "butter with cheese", "team and coach", "a match"]


@pytest.fixture
def text_run(fit_tiny: Fit, tmp_path: Path) -> Path:
    """Return a run on raw text whose fields have names of their own."""
    records = [
        {"key": f"d{n}", "body": text, "by": ["Ann"], "kind": ["x"]} for n, text in enumerate(TEXTS)
    ]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (tmp_path / "texts.jsonl").write_text(lines)
    fields = ("text_field=body", "id_field=key", "group_field=by", "label_field=kind")
    overrides = [f"data.{field}" for field in fields]
    fit_tiny(tmp_path / "run", corpus=tmp_path / "texts.jsonl", overrides=overrides, iterations=1)
    return tmp_path / "run"


def test_fields_default_to_those_of_the_run(text_run: Path, tmp_path: Path) -> None:
    """eval and infer take the run's own field options where none is given."""
    new = tmp_path / "new.jsonl"
    new.write_text(json.dumps({"key": "n", "body": "goal yeti", "by": [], "kind": []}) + "\n")
    result = read_matched(RunDir(text_run), new, {})
    assert (result.corpus.n_tokens, result.unknown_tokens) == (1, 1)
    assert result.corpus.doc_ids == ("n",)


def test_fields_may_be_named_anew(text_run: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.jsonl"
    new.write_text(json.dumps({"other": "goal match"}) + "\n")
    names = {"text_field": "other", "id_field": None, "group_field": None, "label_field": None}
    assert read_matched(RunDir(text_run), new, names).corpus.n_tokens == 2


@pytest.mark.parametrize("form", ["lines", "paragraphs"])
def test_texts_without_fields_can_be_placed_under_a_run_with_fields(
    text_run: Path, tmp_path: Path, form: str
) -> None:
    (tmp_path / "new.txt").write_text("goal match\n")
    found = read_matched(RunDir(text_run), tmp_path / "new.txt", {"from_": form})
    assert found.corpus.n_tokens == 2


def test_counts_can_be_placed_under_a_run_on_raw_text(text_run: Path, tmp_path: Path) -> None:
    """The run's text fields have no meaning for a file of counts and are no obstacle."""
    (tmp_path / "new.ldac").write_text("1 0:2\n")
    (tmp_path / "new.vocab").write_text("goal\n")
    assert read_matched(RunDir(text_run), tmp_path / "new.ldac", {}).corpus.n_tokens == 2


def test_one_text_beside_a_table_says_how_it_is_read(text_run: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("goal match\n")
    assert RunDir(text_run).experiment.data.from_ == "jsonl"
    with pytest.raises(UsageError, match=r"new\.txt is one text: --lines takes each line"):
        read_matched(RunDir(text_run), tmp_path / "new.txt", {})


@pytest.mark.parametrize("name", ["model.npz", "vocab.txt", "config.yaml"])
def test_a_run_with_a_missing_file_names_it(
    copied: Finished, tiny_file: Path, tmp_path: Path, name: str
) -> None:
    run = copied()
    (run / name).unlink()
    with pytest.raises(HiertopicsError, match=name):
        infer(run, tiny_file, tmp_path / "theta.npz")


@pytest.mark.parametrize("backend", ["hdp-pcvb0", "hlda-variational", "chdp-variational"])
def test_documents_of_shards_are_placed_some_at_a_time(
    finished: Finished, tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written is the same, byte for byte, and lies in files meanwhile."""
    rows = np.random.default_rng(0).poisson(0.7, (23, len(RunDir(finished(backend)).vocab)))
    tags = Tags(sparse.csr_array(np.eye(23, 3, dtype=bool)), ("ann", "bob", "cyd"))
    new = replace(corpus_of(rows, *RunDir(finished(backend)).vocab), groups=tags)
    write_corpus(new, tmp_path / "new.npz")
    convert(tmp_path / "new.npz", tmp_path / "new.shards")
    for suffix in ("npz", "csv", "jsonl", "parquet"):
        whole, blocks = tmp_path / f"whole.{suffix}", tmp_path / f"blocks.{suffix}"
        known = infer(finished(backend), tmp_path / "new.npz", whole)
        with monkeypatch.context() as patched:
            patched.setattr(placing, "MOST_ENTRIES", 40)
            found = infer(finished(backend), tmp_path / "new.shards", blocks)
        assert blocks.read_bytes() == whole.read_bytes()
        assert beside(found.theta.data).folder == tmp_path
        assert (known.theta != found.theta).nnz == 0
        np.testing.assert_array_equal(found.lengths, known.corpus.doc_lengths)


def test_blocks_of_documents_are_small_and_lose_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placing, "MOST_ENTRIES", 12)
    monkeypatch.setattr(placing, "MOST_PAIRS", 10)
    pairs = np.array([3, 0, 0, 0, 50, 4, 4, 4, 0, 0])
    found = list(placing.spans(pairs, 3))
    assert found == [(0, 4), (4, 5), (5, 7), (7, 10)]
    assert list(placing.spans(pairs[:0], 3)) == []


@pytest.mark.parametrize("name", ["new.txt", "new"])
def test_a_text_under_a_run_of_counts_is_told_how_texts_are_read(
    finished: Finished, tmp_path: Path, name: str
) -> None:
    """But a count file whose name tells its format has its own error, and no advice on texts."""
    file = tmp_path / name
    file.write_text("coach match\nwine bread\n")
    with pytest.raises(DataError, match="distinct words first.*--lines takes each line") as stop:
        infer(finished(), file)
    assert "\n" not in str(stop.value) and stop.value.line == 1
    assert infer(finished(), file, data={"from_": "lines"}).theta.shape[0] == 2
    counts = file.rename(tmp_path / "new.ldac")
    with pytest.raises(DataError) as stop:
        infer(finished(), counts)
    assert "--lines" not in str(stop.value)


def test_stop_words_of_the_run_are_unknown_to_none_of_its_counts(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    """What stderr, lines and table of infer say, and eval of the same texts."""
    texts = "".join(f"{text}\n" for text in [*TEXTS * 4, "the and with"])
    (tmp_path / "old.txt").write_text(texts)
    (tmp_path / "new.txt").write_text("the goal of the yeti\nthe and of yak\n")
    how = ("--lines", "-s", "data.stop_words=english", "--holdout", "none", "--iterations", "2")
    assert call("fit", "old.txt", "-o", "run", "-b", "hdp-pcvb0", *how, "-q").code == 0
    done = call("infer", "run", "new.txt", "--lines", "--json", "-o", "new.csv")
    assert json.loads(done.out)["unknown_tokens"] == 2
    done = call("infer", "run", "new.txt", "--lines")
    assert "2 documents, 1 token, 2 unknown tokens skipped" in done.err
    assert "2 words, 50% unknown" in done.out and "1 word, 100% unknown" in done.out
    rows = [*csv.DictReader((tmp_path / "new.csv").read_text().splitlines())]
    assert [(row["words"], row["unknown"]) for row in rows] == [("1", "1"), ("0", "1")]
    assert read_matched(RunDir(tmp_path / "run"), tmp_path / "new.txt", {}).unknown_tokens == 2
