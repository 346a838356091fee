"""SVMlight: labels, ids from 1 or 0, empty lines, lines of mistakes, and what scikit-learn says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from spoilt import Put
from tiny import counts_in

from hiertopics.base.arrays import I64
from hiertopics.base.errors import DataError
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.svmlight import Heads, read_fast, read_slowly, rules_of
from hiertopics.corpus.formats.writing import write_corpus

common = settings(
    deadline=None, derandomize=True, max_examples=40, suppress_health_check=list(HealthCheck)
)


def read(put: Put, text: str, name: str = "a.svmlight", **sides: Any) -> Any:
    return counts_in(Source(put(name, text), **sides))


def dense(corpus: Any) -> Any:
    return corpus.counts.toarray().tolist()


def marks(labels: Any) -> list[list[str]]:
    return [[labels.names[tag] for tag in np.flatnonzero(row)] for row in labels.members.toarray()]


@pytest.mark.parametrize("name", ["a.svmlight", "a.svm.gz", "a.LIBSVM.xz"])
def test_a_small_corpus(put: Put, name: str) -> None:
    corpus = read(put, "# made by hand\n2,10 1:2 3:1\n\n+1 2:5 # the third\n3:1\n", name)
    assert dense(corpus) == [[2, 0, 1], [0, 0, 0], [0, 5, 0], [0, 0, 1]]
    assert corpus.vocab == ("w0", "w1", "w2")
    assert marks(corpus.labels) == [["10", "2"], [], ["+1"], []]
    assert corpus.notes == ()


@pytest.mark.parametrize(
    "text",
    [
        "1 1:2 3:1\n\n2:5\n",
        "1 1:2 3:1\r\n\r\n2:5\r\n",
        "\ufeff1 3:1 1:2\n\n 2:5",
        "1\t1:2\t3:1 \n \n2:5  #\n",
        "#\n1 1:2.0 3:1e0\n\n # only a remark\n  2:0.5E1\n",
        "1 0001:2 3:01\n\n2:5\n",
    ],
)
def test_spacing_order_and_spelling_do_not_matter(put: Put, text: str) -> None:
    corpus = read(put, text)
    assert dense(corpus) == [[2, 0, 1], [0, 0, 0], [0, 5, 0]]
    assert marks(corpus.labels) == [["1"], [], []]


def test_without_any_label_there_are_no_labels(put: Put) -> None:
    assert read(put, "1:1\n\n2:1\n").labels is None


def test_labels_are_sorted_by_value_where_all_are_whole_numbers(put: Put) -> None:
    assert read(put, "10,9 1:1\n2\n").labels.names == ("2", "9", "10")
    assert read(put, "sport,\u00e9t\u00e9 1:1\nart\n").labels.names == (
        "art",
        "sport",
        "\u00e9t\u00e9",
    )


def test_a_labels_file_wins_over_the_labels_in_the_lines(put: Put) -> None:
    put("a.labels", "1\n0 1\n")
    put("a.labels.key", "art\nsport\n")
    assert marks(read(put, "7 1:1\n8 2:1\n").labels) == [["sport"], ["art", "sport"]]


def test_ids_count_from_0_in_a_file_in_which_0_occurs(put: Put) -> None:
    corpus = read(put, "1 1:2\n1 0:3\n")
    assert dense(corpus) == [[0, 2], [3, 0]]
    assert corpus.notes == ("word ids count from 0, because id 0 occurs",)


def test_the_vocabulary_gives_the_number_of_words(put: Put) -> None:
    put("a.vocab", "x\ny\nz\n")
    assert dense(read(put, "1 1:2\n")) == [[2, 0, 0]]
    assert dense(read(put, "1 0:2\n")) == [[2, 0, 0]]


def test_a_file_without_documents(put: Put) -> None:
    for text in ("", "# nothing\n"):
        with pytest.raises(DataError, match="holds no documents"):
            read(put, text)


PAIRS = 'expected "id:count" pairs after the labels, got '
COUNT = "expected a count from 1 to 2147483647, a whole number, got "


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 x:3", PAIRS + "'x:3'"),
        ("1 3", PAIRS + "'3'"),
        ("1 2:1 sport", PAIRS + "'sport'"),
        ("a:b 2:1", PAIRS + "'a:b'"),
        ("1 -1:3", PAIRS + "'-1:3'"),
        ("1 1.0:3", PAIRS + r"'1\.0:3'"),
        ("1 3:", PAIRS + "'3:'"),
        ("1 3:0", COUNT + "'3:0'"),
        ("1 3:0.0", COUNT + "'3:0'"),
        ("1 3:2.5", COUNT + r"'3:2\.5'"),
        ("1 3:-1", COUNT + "'3:-1'"),
        ("1 3:1e12", COUNT + "'3:1000000000000'"),
        ("1 3:nan", COUNT),
        ("1 3:1 3:2", "word id 3 is repeated: '3:2'"),
        ("1 16777217:1", "word ids beyond 16777216 need a vocabulary file"),
        ("1,,2 3:1", "expected labels separated by commas, got '1,,2'"),
        (", 3:1", "expected labels separated by commas"),
        ("3 qid:1 1:2", "qid: makes this ranking data"),
        ("qid:1 1:2", "qid: makes this ranking data"),
        (b"\xff 1:2", r"not UTF-8 text \(byte 0xff\)"),
    ],
)
@pytest.mark.parametrize("before", [2, 60_000])
def test_a_broken_line_is_named(put: Put, line: Any, message: str, before: Any) -> None:
    raw = line if isinstance(line, bytes) else line.encode()
    path = put("a.svm", b"# a remark\n" + b"1 1:1\n" * before + raw + b"\n1 x\n")
    with pytest.raises(DataError, match=message) as caught:
        counts_in(Source(path))
    assert caught.value.line == before + 2


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("1 4:1\n", 1, r"out of range in '4:1': .*a\.vocab holds 3 words \(ids from 1 to 3, or"),
        ("#\n3:1\n#\n2:1\n3:1\n0:1\n", 2, "word id 3 is out of range: id 0 occurs, and .* 3 words"),
    ],
)
def test_an_id_beyond_the_vocabulary_names_both_files(
    put: Put, text: str, line: Any, message: str
) -> None:
    put("a.vocab", "x\ny\nz\n")
    with pytest.raises(DataError, match=message) as caught:
        read(put, text)
    assert caught.value.line == line


def test_every_id_that_turns_out_too_large_is_reported(put: Put) -> None:
    problems: list[DataError] = []
    path = put("a.svm", "3:1\n#\n3:1 1:1\n0:1 2:1\n")
    counts_in(Source(path, vocab=put("v", "x\ny\nz\n"), report=problems.append))
    assert [problem.line for problem in problems] == [1, 3]


def test_the_fast_and_the_slow_way_agree(tmp_path: Path) -> None:
    text = b"1,2 1:3 7:2.0 # a remark\n\n# nothing\n\t3:1 2:4\n5\n"
    rules = rules_of(Source(tmp_path), None)
    fast_heads, slow_heads = Heads(), Heads()
    fast: Any = read_fast((4, text), rules.limit, fast_heads)
    slow: Any = read_slowly(Source(tmp_path), rules, (4, text), slow_heads)
    for left, right in zip(fast, slow, strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    assert fast_heads.numbers.tolist() == slow_heads.numbers.tolist() == [4, 5, 7, 8]
    assert marks(fast_heads.labels.tags()) == marks(slow_heads.labels.tags())


@pytest.mark.parametrize(
    "text", [b"1\r 2:1\n", b"a\x0bb 2:1\n", "a\u00a0b 2:1\n".encode(), b"1,,2 1:1\n", b" 5 1:1\n"]
)
def test_the_fast_way_takes_plain_labels_only(text: bytes) -> None:
    assert read_fast((1, text), 9, Heads()) is None


COUNTS = sparse.csr_array(np.array([[0, 2], [0, 0], [1, 300], [0, 0]]))
MARKS = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 0], [0, 0, 0], [0, 1, 0]], dtype=bool))


def test_writing(tmp_path: Path) -> None:
    corpus = Corpus(COUNTS, ("x", "y"), labels=Tags(MARKS, ("art", "sport", "law")))
    write_corpus(corpus, tmp_path / "a.svm")
    assert (tmp_path / "a.svm").read_text() == "0,2 2:2\n\n1:1 2:300\n1\n"
    assert (tmp_path / "a.labels.key").read_text() == "art\nsport\nlaw\n"


def test_labels_are_still_there_without_their_file_though_not_their_names(tmp_path: Path) -> None:
    corpus = Corpus(COUNTS, ("x", "y"), labels=Tags(MARKS, ("art", "sport", "law")))
    write_corpus(corpus, tmp_path / "a.svm")
    (tmp_path / "a.labels").unlink()
    back = counts_in(Source(tmp_path / "a.svm"))
    assert marks(back.labels) == [["0", "2"], [], [], ["1"]]


def test_empty_documents_at_the_end_survive(tmp_path: Path) -> None:
    write_corpus(Corpus(COUNTS, ("x", "y")), tmp_path / "a.svm")
    assert (tmp_path / "a.svm").read_text() == "2:2\n\n1:1 2:300\n\n"
    assert counts_in(Source(tmp_path / "a.svm")).counts.shape == (4, 2)


@st.composite
def labelled(draw: st.DrawFn) -> tuple[I64, list[set[int]]]:
    n_docs, n_words = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    size = st.sampled_from([0, 0, 1, 2, 1200, 2**31 - 1])
    rows = [[draw(size) for _ in range(n_words)] for _ in range(n_docs)]
    labels = [draw(st.sets(st.integers(0, 3), min_size=1)) for _ in range(n_docs)]
    return np.array(rows, dtype=np.int64), labels


@common
@given(
    drawn=labelled(), zero_based=st.booleans(), kind=st.sampled_from([np.int64, np.float64]),
    comment=st.sampled_from([None, "by scikit-learn"]),
)  # fmt: skip
def test_what_scikit_learn_writes_is_read_as_scikit_learn_reads_it(
    tmp_path: Path, drawn: Any, zero_based: bool, kind: str, comment: str
) -> None:
    matrix, labels = drawn
    y = np.array([[tag in row for tag in range(4)] for row in labels], dtype=int)
    path = tmp_path / "a.svm"
    dump_svmlight_file(
        sparse.csr_array(matrix.astype(kind)),
        sparse.csr_array(y),
        str(path),
        zero_based=zero_based,
        multilabel=True,
        comment=comment,
    )
    theirs, tags = load_svmlight_file(str(path), multilabel=True)
    ours = counts_in(Source(path))
    width = min(theirs.shape[1], ours.n_words)
    assert dense(ours) == theirs.toarray()[:, :width].tolist()
    assert theirs.toarray()[:, width:].sum() == 0
    assert marks(ours.labels) == [[f"{tag:.0f}" for tag in sorted(row)] for row in tags]
    if matrix[:, 0].any() or not zero_based:
        assert dense(ours) == matrix[:, : ours.n_words].tolist()


@common
@given(drawn=labelled())
def test_scikit_learn_reads_what_is_written(tmp_path: Path, drawn: Any) -> None:
    matrix, labels = drawn
    members = sparse.csr_array(np.array([[tag in row for tag in range(4)] for row in labels]))
    words = tuple(f"w{word}" for word in range(matrix.shape[1]))
    corpus = Corpus(sparse.csr_array(matrix), words, labels=Tags(members, ("a", "b", "c", "d")))
    write_corpus(corpus, tmp_path / "a.svm")
    theirs, tags = load_svmlight_file(
        str(tmp_path / "a.svm"), multilabel=True, zero_based=False, n_features=len(words)
    )
    assert theirs.toarray().tolist() == matrix.tolist()
    assert [set(row) for row in tags] == labels
