"""ARFF: dense and sparse rows, names with quotes, what is refused and at which line."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from scipy import sparse
from spoilt import Put

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.data.vectors import Vectors
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.sidefiles import same_tags
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.writing import write_corpus

common = settings(
    deadline=None, derandomize=True, max_examples=40, suppress_health_check=list(HealthCheck)
)
serial = itertools.count()

HEAD = """% made by hand
@RELATION 'a b'

@ATTRIBUTE red {0,1}
@attribute\tsize  REAL
@Attribute n INTEGER
@DATA
"""


def read(put: Put, text: str, name: str = "a.arff", **options: Any) -> Any:
    return read_corpus(Source(put(name, text), **options))


@pytest.mark.parametrize("name", ["a.arff", "a.arff.gz", "A.ARFF.xz"])
def test_dense_rows_are_vectors(put: Put, name: str) -> None:
    vectors = read(put, HEAD + "1,-0.5,3\n\n% a comment\n 0 , 2e3 ,\t'4'\n", name)
    assert isinstance(vectors, Vectors)
    assert vectors.columns == ("red", "size", "n") and vectors.labels is None
    assert vectors.rows.tolist() == [[1.0, -0.5, 3.0], [0.0, 2000.0, 4.0]]


def test_an_integer_that_is_none_keeps_its_fraction(put: Put) -> None:
    assert read(put, HEAD + "1,1,1.5\n").rows.tolist() == [[1.0, 1.0, 1.5]]


def test_sparse_rows_of_whole_numbers_are_counts(put: Put) -> None:
    corpus = read(put, HEAD + "{0 1, 2 7}\n{}\n{ }\n{1 2.0}\n{2 0}\n")
    assert isinstance(corpus, Corpus)
    assert corpus.counts.toarray().tolist() == [[1, 0, 7], [0] * 3, [0] * 3, [0, 2, 0], [0] * 3]
    assert corpus.vocab == ("red", "size", "n") and corpus.n_pairs == 3


@pytest.mark.parametrize("value", ["0.5", "-1", "1e10"])
def test_sparse_rows_of_other_numbers_are_vectors(put: Put, value: Any) -> None:
    vectors = read(put, HEAD + f"{{0 1}}\n{{1 {value}}}\n")
    assert vectors.rows.tolist() == [[1.0, 0.0, 0.0], [0.0, float(value), 0.0]]


def test_a_sparse_file_too_large_for_a_table(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hiertopics.papers.arff.MAX_CELLS", 5)
    with pytest.raises(DataError, match="2 rows x 3 columns, and not all are whole .* than 5"):
        read(put, HEAD + "{0 1}\n{1 0.5}\n")


def test_nominal_values_that_are_numbers(put: Put) -> None:
    text = "@relation r\n@attribute a {0, 2,'-1.5'}\n@attribute b {1,0}\n@data\n-1.5,0\n2,1\n"
    assert read(put, text).rows.tolist() == [[-1.5, 0.0], [2.0, 1.0]]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("it's", "it's"),
        ("'it\\'s'", "it's"),
        ('"it\'s"', "it's"),
        ("'\\'tis'", "'tis"),
        ('"dogs\'"', "dogs'"),
        ("'\"'", '"'),
        ("'a \\\\ b'", "a \\ b"),
        ("'100\\%'", "100%"),
        ("'a\\b'", "a\\b"),
        ("'{a, b}'", "{a, b}"),
        ("' a '", " a "),
        ("@data", "@data"),
        ("0", "0"),
        ("é\u2028", None),
        ("'é\u2028x'", "é\u2028x"),
    ],
)
def test_names_as_they_are_quoted(put: Put, written: str, name: str) -> None:
    text = f"@relation r\n@attribute {written} numeric\n@data\n{{0 1}}\n"
    assert read(put, text).vocab == (name or "é",)


IRIS = """@relation iris
@attribute a numeric
@attribute kind {setosa, 'virgi nica'}
@data
"""


@pytest.mark.parametrize("column", ["kind", "1", "-1"])
def test_a_class_column_becomes_labels(put: Put, column: str) -> None:
    vectors = read(put, IRIS + "1.5,setosa\n2,'virgi nica'\n3,?\n", label_column=column)
    assert (vectors.columns, vectors.labels.names) == (("a",), ("setosa", "virgi nica"))
    marks = [[True, False], [False, True], [False, False]]
    assert vectors.labels.members.toarray().tolist() == marks


def test_sparse_rows_leave_the_first_class_out(put: Put) -> None:
    corpus = read(put, IRIS + "{0 3}\n{0 1,1 'virgi nica'}\n", label_column="kind")
    assert [corpus.labels.names[row.indices[0]] for row in corpus.labels.members] == [
        "setosa",
        "virgi nica",
    ]
    text = IRIS.replace("{setosa, 'virgi nica'}", "numeric") + "{0 3}\n{1 3}\n"
    assert read(put, text, label_column="kind").labels.names == ("0", "3")


def test_a_vocabulary_renames_the_features(put: Put) -> None:
    words = put("words", "black\nwhite\n")
    vectors = read(put, HEAD + "1,2,3\n", label_column="n", vocab=words)
    assert vectors.columns == ("black", "white")


def test_no_vocabulary_is_looked_for(put: Put) -> None:
    put("a.vocab", "black\n")
    put("vocab.txt", "x\ny\nz\n")
    assert read(put, HEAD + "1,2,3\n").columns == ("red", "size", "n")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (HEAD + "1,2\n", 8, "expected 3 values, one per attribute, got 2"),
        (HEAD + "1,2,3\n1,2,3,4\n", 9, "expected 3 values, one per attribute, got 4"),
        (HEAD + "1,2,3\n\n1,x,3\n", 10, "expected a number for 'size', got 'x'"),
        (HEAD + "2,2,3\n", 8, "'red' is declared without the value '2'"),
        (HEAD + "1,?,3\n", 8, r"'size' has no value \(\?\); fill it in, or leave the row out"),
        (HEAD + "1,2,\n", 8, r"'n' has no value"),
        (HEAD + "1,nan,3\n", 8, "expected a number for 'size', got 'nan'|finite"),
        (HEAD + "1,1e999,3\n", 8, "expected a finite number for 'size', got inf"),
        (HEAD + "1,2,3\n1 2 3\n", 9, "expected"),
        (HEAD + "{0 1}\n1,2,3\n", 9, r"expected \{column value, ...\}, got '1,2,3'"),
        (HEAD + "{0 1}\n{3 1}\n", 9, r"a column outside 0 to 2 in '\{3 1\}'"),
        (HEAD + "{0 1}\n{1 x}\n", 9, r"a value that is no number in '\{1 x\}'"),
        (HEAD + "{0 2}\n", 8, r"a value that its attribute does not declare in '\{0 2\}'"),
        (HEAD + "{1 ?}\n", 8, "'size' has no value"),
        (HEAD + "{1 2,1 3}\n", 8, r"a column is repeated in '\{1 2,1 3\}'"),
        (HEAD + "{0 1\n", 8, "expected"),
        (HEAD + "{-1 1}\n", 8, "expected"),
        (HEAD + "{0 1,}\n", 8, "expected"),
        (HEAD + "{0 1 2}\n", 8, "expected"),
        (HEAD + "1,'%d',3\n", 8, "expected a number"),
        (HEAD.replace("REAL", "real 3"), 5, "expected numeric, real, integer or .* got 'real 3'"),
        (HEAD.replace("REAL", "date"), 5, "expected numeric, real, integer or {value, ...}"),
        (HEAD.replace("REAL", "string") + "1,a,3\n", 5, "'size' holds texts, which are no numbers"),
        (HEAD.replace("REAL", "{a,1}") + "1,a,3\n", 5, "'size' has the value 'a', which is no num"),
        (
            HEAD.replace("{0,1}", "{1,0}") + "{0 1}\n",
            4,
            "leave out the first value of 'red', which is '1'; declare 0 first",
        ),
        (
            HEAD.replace("{0,1}", "{" + "9" * 300 + ",0}") + "{0 1}\n",
            4,
            f"which is '{'9' * 40}'\\.\\.\\.; declare 0 first",
        ),
        (HEAD.replace("size", "red"), 5, "the attribute 'red' stands on line 4 already"),
        (HEAD.replace("size ", "'size "), 5, 'expected "@attribute name type", got '),
        (HEAD.replace("size", "''"), 5, "an attribute without name"),
        (HEAD.replace("INTEGER", ""), 6, 'expected "@attribute name type"'),
        (HEAD.replace("@DATA", "1,2,3"), 7, "expected @relation, @attribute, @data or a comment"),
        (HEAD.replace("@DATA", ""), 7, "no line @data"),
        ("@relation r\n@data\n1\n", 2, "@data before any @attribute"),
        ("", 1, "no line @data"),
        (HEAD.encode() + b"1,\xff,3\n", 8, "not UTF-8"),
        (HEAD, None, "holds no documents"),
    ],
)
def test_a_mistake_names_its_line(put: Put, text: str, line: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(put, text)
    assert caught.value.line == line


def test_every_bad_row_is_reported_and_left_out(put: Put) -> None:
    problems: list[DataError] = []
    text = HEAD + "1,2,3\n1,x,3\n1,?,3\n0,5,6\n1,2\n1,7,8\n"
    vectors = read(put, text, report=problems.append)
    assert vectors.rows.tolist() == [[1, 2, 3], [0, 5, 6], [1, 7, 8]]
    assert [problem.line for problem in problems] == [9, 10, 12]


def test_without_liac_arff_the_message_says_what_to_install(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "arff", None)
    with pytest.raises(UsageError, match=r"pip install 'hiertopics\[arff\]'"):
        read(put, HEAD + "1,2,3\n")


PIECES = ["@data\n", "@attribute a numeric\n", "@attribute 'b", "{", "}", "0 1", "1", ",", "\n"]
PIECES += ["'", '"', "?", "%", " ", "\\", "{0,1}", "x", "1,2\n", "{0 1}\n"]


@common
@given(garbage=st.binary(max_size=60) | st.lists(st.sampled_from(PIECES)).map("".join))
@pytest.mark.parametrize("head", ["", HEAD])
def test_garbage_is_refused_by_name(tmp_path: Path, head: Any, garbage: Any) -> None:
    path = tmp_path / "a.arff"
    path.write_bytes(head.encode() + (garbage if isinstance(garbage, bytes) else garbage.encode()))
    try:
        assert read_corpus(Source(path)).n_docs > 0
    except DataError as error:
        assert error.path == str(path)


# Any character but line ends and half surrogates, blanks at both ends too.
words = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1)
ODD = [
    "'tis",
    "dogs'",
    "'",
    '"',
    "''",
    "a b",
    "100%",
    "{a}",
    "a,b",
    "\\",
    "a\\'b\"",
    "é\u2028",
    " x ",
]


@common
@given(data=st.data(), vocab=st.lists(words, min_size=1, max_size=5, unique=True))
@example(data=None, vocab=ODD)
@example(data=None, vocab=["@data", "?", "%", "numeric", "0", "\t", "\x85", "\ufeff", "1 2"])
def test_a_corpus_is_read_back_equal(tmp_path: Path, data: Any, vocab: Any) -> None:
    folder = tmp_path / str(next(serial))
    folder.mkdir()
    row = st.lists(st.sampled_from([0, 0, 1, 2**31 - 1]), min_size=len(vocab), max_size=len(vocab))
    drawn = [[0] * len(vocab)] if data is None else data.draw(st.lists(row, min_size=1, max_size=3))
    corpus = Corpus(sparse.csr_array(np.array(drawn)), tuple(vocab))
    write_corpus(corpus, folder / "a.arff")
    back = read_corpus(Source(folder / "a.arff"))
    assert back.vocab == corpus.vocab
    assert back.fingerprint == corpus.fingerprint


@common
@given(
    row=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2),
)
def test_vectors_are_read_back_equal(tmp_path: Path, row: Any) -> None:
    vectors = Vectors(np.array([row, [0.5, 1.0]]), ("a b", "'c"))
    write_corpus(vectors, tmp_path / "a.arff.gz")
    assert read_corpus(Source(tmp_path / "a.arff.gz")).fingerprint == vectors.fingerprint


MARKS = Tags(sparse.csr_array(np.array([[True, False], [False, False]])), ("x y", "z"))
COUNTS = sparse.csr_array(np.array([[0, 2], [0, 0]]))


def test_what_is_written_and_beside_it(tmp_path: Path) -> None:
    write_corpus(Corpus(COUNTS, ("it's", "b"), None, MARKS, MARKS), tmp_path / "a.arff")
    texts = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    head = '@relation corpus\n\n@attribute "it\'s" numeric\n@attribute b numeric\n\n@data\n'
    assert texts.pop("a.arff") == head + "{1 2}\n{}\n"
    assert set(texts) == {"a.authors", "a.authors.key", "a.labels", "a.labels.key"}
    back = read_corpus(Source(tmp_path / "a.arff"))
    assert back.groups is not None and back.labels is not None
    assert same_tags(back.groups, MARKS) and same_tags(back.labels, MARKS)


def test_names_that_a_reader_without_escapes_would_get_right(tmp_path: Path) -> None:
    """liac-arff by itself, as other programs use it, reads what needs no escape."""
    import arff

    vocab = ("it's", 'an "x" b', "a b", "100%", "{x}", "é")
    write_corpus(Corpus(sparse.csr_array((1, 6), dtype=int), vocab), tmp_path / "a.arff")
    loaded = arff.loads((tmp_path / "a.arff").read_text(encoding="utf-8"), return_type=arff.LOD)
    assert tuple(name for name, _ in loaded["attributes"]) == vocab


@pytest.mark.parametrize("word", ["", "a\nb", "\ud800"])
def test_words_that_no_line_can_hold(tmp_path: Path, word: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of an ARFF attribute"):
        write_corpus(Corpus(COUNTS, ("a", word)), tmp_path / "a.arff")
    assert list(tmp_path.iterdir()) == []


def test_a_repeated_word_and_no_word(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two words are the same"):
        write_corpus(Corpus(COUNTS, ("a", "a")), tmp_path / "a.arff")
    with pytest.raises(UsageError, match="without columns"):
        write_corpus(Corpus(sparse.csr_array((1, 0), dtype=int), ()), tmp_path / "a.arff")
    assert list(tmp_path.iterdir()) == []
