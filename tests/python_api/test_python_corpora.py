"""Objects as corpora: whatever form they have, the same documents give the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import hiertopics as ht
from hiertopics.base.errors import DataError, HiertopicsError, UsageError
from hiertopics.corpus.corpora.inmemory import as_corpus, on_disk
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.data.vectors import Vectors, to_corpus
from hiertopics.python.run import Run

Fit = Callable[..., Run]


class Frame:
    """A table with names of columns, as data frames are."""

    def __init__(self, rows: Any, columns: Any) -> None:
        self.rows, self.columns = rows, columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.rows, dtype=dtype)


def texts_of(corpus: Corpus) -> list[list[str]]:
    return [
        [word for word, n in zip(corpus.vocab, row, strict=True) for _ in range(n)]
        for row in corpus.counts.toarray()
    ]


def with_repeats(corpus: Corpus) -> sparse.csr_array:
    """Return counts whose every token is an entry of its own, each row with a stored zero."""
    rows = [np.repeat(np.arange(9), row) for row in corpus.counts.toarray()]
    words = np.concatenate([part for row in rows for part in (row, [8])])
    entries = np.concatenate([part for row in rows for part in (np.ones(len(row), int), [0])])
    ends = np.cumsum([0, *(len(row) + 1 for row in rows)])
    return sparse.csr_array((entries, words.astype(int), ends), shape=corpus.counts.shape)


FORMS: dict[str, Callable[[Corpus], tuple[Any, dict[str, Any]]]] = {
    "array": lambda c: (c.counts.toarray(), {"vocab": c.vocab}),
    "nested lists": lambda c: (c.counts.toarray().tolist(), {"vocab": list(c.vocab)}),
    "csc of floats": lambda c: (sparse.csc_matrix(c.counts, dtype=float), {"vocab": c.vocab}),
    "repeated entries": lambda c: (with_repeats(c), {"vocab": c.vocab}),
    "frame": lambda c: (Frame(c.counts.toarray(), c.vocab), {}),
    "texts": lambda c: ([" ".join(words) for words in texts_of(c)], {"vocab": c.vocab}),
    "words": lambda c: (texts_of(c), {"vocab": c.vocab}),
    "iterator": lambda c: (iter(texts_of(c)), {"vocab": c.vocab}),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_corpus(form: str, tiny_corpus: Corpus) -> None:
    data, options = FORMS[form](tiny_corpus)
    found = as_corpus(data, **options)
    found = to_corpus(found) if isinstance(found, Vectors) else found
    assert found.fingerprint == tiny_corpus.fingerprint


def test_an_object_and_its_file_give_the_same_run(
    fit_quick: Fit, quick: Run, tiny_corpus: Corpus
) -> None:
    run = fit_quick(tiny_corpus.counts, vocab=tiny_corpus.vocab)
    for name in ("model.npz", "theta.npz", "split.npz"):
        assert (run.path / name).read_bytes() == (quick.path / name).read_bytes()


def test_the_object_itself_is_not_changed(fit_quick: Fit, tiny_corpus: Corpus) -> None:
    table = with_repeats(tiny_corpus)
    before = (table.data.copy(), table.indices.copy())
    fit_quick(table, iterations=1)
    assert all((a == b).all() for a, b in zip(before, (table.data, table.indices), strict=True))


def test_texts_are_cut_as_raw_text_in_a_file_is(fit_quick: Fit) -> None:
    texts = ["The goal, a GOAL!", "bread & butter", "we've never", "the match"] * 3
    vocab = fit_quick(texts, iterations=1).vocab
    assert vocab == ("bread", "butter", "goal", "match", "never", "the", "ve", "we")


def test_groups_and_labels_are_lists_of_names(fit_quick: Fit, tiny_corpus: Corpus) -> None:
    groups = [["ann", "bob"], [], ["bob"]] * 10
    labels = [["food"], ["sport"], ["both"]] * 10
    run = fit_quick(tiny_corpus, groups=groups, labels=labels, holdout="none")
    assert (run.path / "groups.txt").read_text() == "ann\nbob\n"
    assert ht.evaluate(fit_quick(tiny_corpus, labels=labels), task="neighbours", k=1)["n_docs"] == 6


def test_a_table_of_numbers_serves_a_backend_for_vectors(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(12, 3))
    with on_disk(rows) as path:
        assert np.load(path).tolist() == rows.tolist()


@pytest.mark.parametrize(
    ("data", "options", "what"),
    [
        (np.ones((2, 3)), {"vocab": ["a", "b"]}, "3 columns but 2 names"),
        (sparse.csr_array(np.ones((2, 3))), {"vocab": ["a", "b"]}, "3 word columns but 2 words"),
        (sparse.csr_array([[0.5, 1]]), {}, "counts must be positive integers"),
        (sparse.csr_array([[-1, 1]]), {}, "counts must be positive integers"),
        ([[1, np.nan]], {}, "row 0 holds nan"),
        (np.ones(3), {}, "got ndarray"),
        (7, {}, "got int"),
        ([], {}, "the list is empty"),
        (["", "?"], {}, "no words in 2 documents"),
        (np.ones((2, 3)), {"groups": [["a"]]}, "2 documents but 1 lines of groups"),
        (np.ones((2, 3)), {"labels": ["ab", "c"]}, "labels: expected a list of names"),
        (Corpus(sparse.csr_array([[1]]), ("a",)), {"vocab": ["b"]}, "a Corpus has words of"),
    ],
)
def test_what_is_no_corpus_is_told_in_one_line(data: Any, options: Any, what: str) -> None:
    with pytest.raises(HiertopicsError, match=what):
        as_corpus(data, **options)


def test_fractions_are_refused_by_a_backend_for_counts(fit_quick: Fit) -> None:
    with pytest.raises(DataError, match="row 2 holds 0.5 .* which is no count"):
        fit_quick(np.array([[1.0, 2], [0.5, 1]]), holdout="none")


@pytest.mark.parametrize("words", [["two\nlines", "b"], ["a", "a"]])
def test_words_that_no_vocabulary_holds_are_refused(fit_quick: Fit, words: list[str]) -> None:
    with pytest.raises(HiertopicsError):
        fit_quick(sparse.csr_array([[1, 2], [1, 0]]), vocab=words)


def test_new_documents_may_be_objects(quick: Run, tiny_corpus: Corpus, tiny_file: Path) -> None:
    in_file = quick.infer(tiny_file).theta.toarray()
    for form in ("array", "frame", "csc of floats"):
        data, _ = FORMS[form](tiny_corpus)
        assert (quick.infer(data).theta.toarray() == in_file).all(), form
    assert (ht.infer(quick.path, tiny_corpus).theta.toarray() == in_file).all()


def test_words_are_matched_by_string_and_unknown_ones_counted(quick: Run) -> None:
    found = quick.infer([["goal", "match", "puck", "puck"], ["goal", "match"]])
    rows = found.theta.toarray()
    assert found.unknown_tokens == 2 and (rows[0] == rows[1]).all()


def test_a_table_of_another_width_is_refused(quick: Run) -> None:
    with pytest.raises(HiertopicsError, match="8 columns but 9 names"):
        quick.infer(np.ones((2, 8)))


def test_an_object_scores_as_what_was_put_aside(quick: Run, tiny_corpus: Corpus) -> None:
    aside = tiny_corpus.select(quick.heldout_docs)
    names = ("log_likelihood_per_word", "standard_error", "n_docs", "n_tokens")
    own, given = (ht.evaluate(quick, c, protocol="full") for c in (None, aside))
    assert [given[name] for name in names] == [own[name] for name in names]


def test_the_training_corpus_is_refused_as_heldout(quick: Run, tiny_corpus: Corpus) -> None:
    with pytest.raises(UsageError, match="trained on"):
        ht.evaluate(quick, tiny_corpus)


def test_protocol_and_task_exclude_each_other(quick: Run) -> None:
    with pytest.raises(UsageError, match="exclude"):
        ht.evaluate(quick, protocol="full", task="neighbours")


def test_nothing_is_left_of_an_object_that_was_only_read(
    quick: Run, tiny_corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    quick.infer(tiny_corpus)
    assert list(tmp_path.iterdir()) == []


def test_groups_of_a_corpus_are_kept(tiny_corpus: Corpus) -> None:
    members = sparse.csr_array(np.eye(30, 2, dtype=bool))
    own = Corpus(tiny_corpus.counts, tiny_corpus.vocab, groups=Tags(members, ("ann", "bob")))

    def read() -> Iterator[Any]:
        with on_disk(own) as path:
            yield ht.read_corpus(path)

    assert next(read()).fingerprint == own.fingerprint


def test_a_frame_without_the_field_of_texts_is_told_in_words_of_python(fit_quick: Fit) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("narwhals")
    frame = pandas.DataFrame({"year": ["1990"] * 6, "abstract": ["bread and butter"] * 6})
    with pytest.raises(DataError, match="no field 'text'; there are 'year', 'abstract'; ") as told:
        fit_quick(frame)
    assert str(told.value).endswith('as data={"text_field": "abstract"}')
    assert "jsonl" not in str(told.value) and "--" not in str(told.value)
