"""Dense tables: what is read, what is refused and at which line, what is written."""

from __future__ import annotations

import gzip
import io
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from numpy.typing import NDArray
from scipy import sparse
from spoilt import Put

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.data.vectors import Vectors
from hiertopics.corpus.formats.reading import read_corpus, resolve
from hiertopics.corpus.formats.sidefiles import same_tags
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.vectors import NUMBER, _Layout, _read_fast, _read_slowly, number_text
from hiertopics.corpus.formats.writing import write_corpus

common = settings(
    deadline=None, derandomize=True, max_examples=50, suppress_health_check=list(HealthCheck)
)
serial = itertools.count()


def read(path: Path, **options: Any) -> Any:
    return read_corpus(Source(path, format="vectors", **options))


def rows(vectors: Any) -> Any:
    return vectors.rows.tolist()


def saved(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "1,0.5,-2e3\n.25,+1,0\n",
        "1, 0.5 ,-2e3\r\n.25,+1 ,0\r\n\r\n",
        "1\t0.5\t-2e3\n.25\t+1\t0",
        "  1 0.5   -2E+3\n .25\t1.  0 \n",
        "\ufeff1,0.5,-2000.0\n0.25,1,0\n",
        "a,b,c\n1,0.5,-2e3\n.25,+1,0\n",
    ],
)
def test_a_small_table(put: Put, text: str) -> None:
    vectors = read(put("a.txt", text))
    assert rows(vectors) == [[1.0, 0.5, -2000.0], [0.25, 1.0, 0.0]]
    assert vectors.columns == (("a", "b", "c") if text[0] == "a" else ("x0", "x1", "x2"))


@pytest.mark.parametrize("name", ["a.csv", "a.tra.gz", "a.tes.xz", "a"])
def test_any_name_will_do_where_the_format_is_named(put: Put, name: str) -> None:
    assert rows(read(put(name, "1 2\n"))) == [[1.0, 2.0]]


@pytest.mark.parametrize("name", ["a.npy", "a.npy.gz"])
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, ">f8"])
def test_npy(put: Put, name: str, dtype: Any) -> None:
    array = np.asfortranarray(np.array([[1, 0, 1], [0, 0, 1]]).astype(dtype))
    vectors: Any = read_corpus(Source(put(name, saved(array))))
    assert rows(vectors) == [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    assert vectors.rows.dtype == np.float64 and vectors.rows.dtype.isnative


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ('a,"b, c",d e', ("a", "b, c", "d e")),
        ("a\tb c\td", ("a", "b c", "d")),
        ("a b  c", ("a", "b", "c")),
        ("x.1,-y,1st", ("x.1", "-y", "1st")),
    ],
)
def test_a_first_line_of_names_is_a_header(put: Put, header: Any, columns: Any) -> None:
    vectors = read(put("a", f"{header}\n1{',2,3' if ',' in header else ' 2 3'}\n"))
    assert (vectors.columns, rows(vectors)) == (columns, [[1.0, 2.0, 3.0]])


COLUMNS = "expected 3 columns as on the first line, got"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("1,2,3\n1,2\n", 2, f"{COLUMNS} 2"),
        ("1,2,3\n1,2,3,\n", 2, f"{COLUMNS} 4"),
        ("1,2,3\n\n1,2,3\n", 2, f"{COLUMNS} 1"),
        ("1 2 3\n \n1 2 3\n", 2, f"{COLUMNS} 0"),
        ("a,b,c\n1,2\n", 2, f"{COLUMNS} 2"),
        ("1,2,3\n1,nan,3\n", 2, "expected a number, got 'nan'$"),
        ("1,nan,3\n1,2,3\n", 1, "expected a number, got 'nan'$"),
        ("1,2,3\n1,-inf,3\n", 2, "expected a number, got '-inf'$"),
        ("1,2,3\n1,,3\n", 2, "expected a number, got ''$"),
        ("1,,3\n1,2,3\n", 1, "expected a number, got ''$"),
        ("1,2,3\n1,?,3\n", 2, r"expected a number, got '\?'$"),
        ("1,2,3\n1,0x10,3\n", 2, "expected a number, got '0x10'; data.label_column names"),
        ("1,2,3\n1,1_0,3\n", 2, "expected a number, got '1_0'"),
        ("1,2,3\n1,٣,3\n", 2, "expected a number, got '٣'"),
        ("1,2,3\n1,1e999,3\n", 2, "expected a number below 1.8e308, got '1e999'"),
        ("1,2,3\n1,2;3,3\n", 2, "expected a number, got '2;3'"),
        (b"1,2,3\n1,\xff,3\n", 2, r"expected a number, got '\\\\xff'"),
        (b"\xff,b\n1,2\n", 1, "not UTF-8 text"),
        ("5.1,3.5,Iris-setosa\n", 1, "got 'Iris-setosa'; data.label_column names a column of"),
        ("a,,c\n1,2,3\n", 1, "a column without name in the header"),
        ("a,b,a\n1,2,3\n", 1, "two columns are called 'a' in the header"),
        ("a,b,c\n", None, "holds no rows below its header"),
        ("", None, "holds no rows"),
    ],
)
def test_a_mistake_names_its_line(put: Put, text: str, line: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(put("a.csv", text))
    assert caught.value.line == line


def test_a_mistake_far_down_names_its_line(put: Put) -> None:
    with pytest.raises(DataError, match=r"a\.csv:60001: expected a number, got 'x'"):
        read(put("a.csv", "1.5,2,3\n" * 60_000 + "1,x,3\n1,2\n"))


def test_every_bad_line_is_reported_and_left_out(put: Put) -> None:
    problems: list[DataError] = []
    source = Source(put("a.csv", "1,2\n3\n4,x\n5,6\n"), format="vectors", report=problems.append)
    assert rows(read_corpus(source)) == [[1.0, 2.0], [5.0, 6.0]]
    assert [problem.line for problem in problems] == [2, 3]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones(3), r"expected rows x columns of numbers, got float64 of shape \(3,\)"),
        (np.ones((2, 0)), r"of shape \(2, 0\)"),
        (np.array([["a"]]), "got <U1 of shape"),
        (np.array([[1j]]), "got complex128"),
        (np.array([[0, 1], [np.nan, 1]]), "got nan in row 1, column 0"),
        (np.array([[np.inf]]), "got inf in row 0, column 0"),
        (np.array([[None]]), "not an array as numpy.save writes it .*pickle"),
    ],
)
def test_other_arrays_are_refused(put: Put, array: NDArray[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_corpus(Source(put("a.npy", saved(array))))


@pytest.mark.parametrize("cut", [3, 9, 60, 130, 143])
def test_an_array_cut_short_is_refused(put: Put, cut: Any) -> None:
    whole = saved(np.ones((2, 1)))
    assert len(whole) == 144
    with pytest.raises(DataError):
        read_corpus(Source(put("a.npy", whole[:cut])))


@pytest.mark.parametrize(
    ("text", "column", "features", "classes"),
    [
        ("1,2,0\n3,4,10\n5,6,2\n", "-1", [[1, 2], [3, 4], [5, 6]], ["0", "10", "2"]),
        ("0,1,2\n10.0,3,4\n2e0,5,6\n", "0", [[1, 2], [3, 4], [5, 6]], ["0", "10", "2"]),
        ("1 yes 2\n3 no 4\n", "1", [[1, 2], [3, 4]], ["yes", "no"]),
        ("a,kind,b\n1,yes,2\n3,0.5,4\n", "kind", [[1, 2], [3, 4]], ["yes", "0.5"]),
        ("a,kind,b\n1,yes,2\n3,no,4\n", "-2", [[1, 2], [3, 4]], ["yes", "no"]),
        ("kind,0,1\n7,1,2\n8,3,4\n", "kind", [[1, 2], [3, 4]], ["7", "8"]),
        ("5.1,3.5,Iris setosa\n4.9,3.0,virginica\n", "2", [[5.1, 3.5], [4.9, 3]], None),
    ],
)
def test_a_class_column_becomes_labels(
    put: Put, text: str, column: str, features: Any, classes: Any
) -> None:
    vectors = read(put("a.csv", text), label_column=column)
    assert rows(vectors) == features
    names = vectors.labels.names
    found = [names[row.indices[0]] for row in vectors.labels.members]
    assert found == (classes or ["Iris setosa", "virginica"])
    assert not set(vectors.columns) & {"kind"}


def test_classes_that_are_numbers_are_sorted_by_value(put: Put) -> None:
    labels = read(put("a", "1 10\n1 9\n1 2\n"), label_column="1").labels
    assert labels.names == ("2", "9", "10")


def test_an_empty_class_is_no_label(put: Put) -> None:
    labels = read(put("a", "1,x\n2,\n"), label_column="-1").labels
    assert labels.members.toarray().tolist() == [[True], [False]]


def test_a_class_column_of_an_array(put: Put) -> None:
    source = Source(put("a.npy", saved(np.array([[1, 2.0], [3, 2.5]]))), label_column="-1")
    vectors: Any = read_corpus(source)
    assert (rows(vectors), vectors.labels.names) == ([[1.0], [3.0]], ("2", "2.5"))


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("1,2\n", "2", "no column '2' among the 2 columns"),
        ("1,2\n", "-3", "no column '-3' among the 2 columns"),
        ("a,b\n1,2\n", "c", "no column 'c' among the 2 columns: 'a', 'b'"),
        ("1,2\n", "c", "no header names a column 'c'; data.label_column may be its number"),
        ("1\n2\n", "0", "holds one column, and data.label_column takes it out"),
    ],
)
def test_a_class_column_that_is_not_there(put: Put, text: str, column: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(put("a.csv", text), label_column=column)


def test_a_line_is_too_short_for_its_class_column(put: Put) -> None:
    with pytest.raises(DataError, match=r"a\.csv:2: expected 3 columns"):
        read(put("a.csv", "1,2,x\n1,2\n"), label_column="-1")


def test_label_column_and_other_labels_exclude_each_other(put: Put) -> None:
    side = put("side", "x\n")
    path = put("a.csv", "1,2\n")
    with pytest.raises(UsageError, match="label_column, not from both"):
        read(path, label_column="0", labels=side)
    put("a.labels", "never read\n\n")
    assert read(path, label_column="0").labels.names == ("1",)


def test_label_column_is_for_dense_tables(put: Put) -> None:
    with pytest.raises(UsageError, match="label_column is for dense tables, but .* as ldac"):
        resolve(Source(put("a.ldac", "0\n"), label_column="0"))


def test_a_vocabulary_names_the_columns(put: Put) -> None:
    words = put("words", "black\nwhite\n")
    assert read(put("a.csv", "x,y\n1,2\n"), vocab=words).columns == ("black", "white")
    put("a.vocab", "red\ngreen\n")
    assert read(put("a.csv", "1,2,9\n"), label_column="-1").columns == ("red", "green")


def test_a_vocabulary_that_does_not_fit_is_refused(put: Put) -> None:
    put("a.vocab", "red\ngreen\n")
    with pytest.raises(DataError, match=r"3 columns, but .*a\.vocab holds 2 names"):
        read(put("a.csv", "1,2,3\n"))


def test_a_vocabulary_that_bears_another_name_is_left_alone(put: Put) -> None:
    """vocab.txt names no corpus: beside a table it is likely another one's."""
    put("vocab.txt", "red\ngreen\n")
    assert read(put("a.csv", "1,2\n")).columns == ("x0", "x1")


def test_groups_and_labels_lie_beside_a_table(put: Put) -> None:
    put("a.authors", "ann\nbo ann\n")
    put("a.labels", "x\n\n")
    vectors = read(put("a.csv", "1,2\n3,4\n"))
    assert vectors.groups.members.toarray().tolist() == [[True, False], [True, True]]
    assert vectors.labels.names == ("x",)


@pytest.mark.parametrize("column", [None, "-1"])
def test_an_orderly_table_never_takes_the_slow_way(
    put: Put, monkeypatch: pytest.MonkeyPatch, column: str
) -> None:
    table = np.random.default_rng(0).normal(size=(3_000, 20))
    path = put("a.csv", "".join(",".join(map(repr, row)) + "\n" for row in table.tolist()))
    monkeypatch.setattr("hiertopics.corpus.formats.vectors._read_slowly", None)
    assert (read(path, label_column=column).rows == table[:, : 20 if column is None else 19]).all()


PIECES = [
    "1",
    "2.5",
    "-",
    "e",
    ".",
    ",",
    " ",
    "\t",
    "\n",
    "1,2\n",
    "1 2\n",
    "nan",
    "inf",
    "x",
    "\r",
]


@common
@given(text=st.lists(st.sampled_from(PIECES)).map("".join), label=st.none() | st.just(1))
@pytest.mark.parametrize("separator", [",", None])
def test_what_the_fast_way_takes_the_slow_way_reads_alike(
    tmp_path: Path, separator: str, text: str, label: Any
) -> None:
    layout, lines = _Layout(separator, 2, label), text.split("\n")
    fast = _read_fast(layout, lines)
    if fast is not None:
        slow = _read_slowly(Source(tmp_path), layout, lines, 1)
        assert fast.rows.tolist() == slow.rows.tolist() and fast.classes == slow.classes


@common
@given(text=st.text("0123456789+-.eEnaif_x", max_size=8))
def test_a_number_is_what_the_rule_says_and_python_agrees(text: str) -> None:
    if NUMBER.fullmatch(text):
        float(text)
    else:
        with pytest.raises(DataError):
            _read_slowly(Source(Path("a")), _Layout(",", 1, None), [text], 1)


@common
@given(garbage=st.binary(max_size=60) | st.lists(st.sampled_from(PIECES)).map("".join))
@pytest.mark.parametrize("column", [None, "0", "-1", "x"])
def test_garbage_is_refused_by_name(tmp_path: Path, column: str, garbage: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(garbage if isinstance(garbage, bytes) else garbage.encode())
    try:
        assert np.isfinite(read(path, label_column=column).rows).all()
    except DataError as error:
        assert error.path == str(path)


@common
@given(position=st.integers(0, 200), new=st.binary(max_size=3), cut=st.integers(0, 3))
def test_a_spoilt_array_is_refused_or_still_sound(
    tmp_path: Path, position: int, new: bytes, cut: Any
) -> None:
    whole = saved(np.eye(3))
    place = position % len(whole)
    path = tmp_path / "a.npy"
    path.write_bytes(whole[:place] + new + whole[place + cut :])
    try:
        found: Any = read_corpus(Source(path))
        assert np.isfinite(found.rows).all()
    except DataError as error:
        assert error.path == str(path)


MARKS = Tags(sparse.csr_array(np.array([[True, False], [False, False]])), ("x y", "z"))
TABLE = Vectors(np.array([[0.1, -3.0], [1e-300, 2.0]]), ("a, b", "0"), None, MARKS, MARKS)


def test_text_and_its_side_files(tmp_path: Path) -> None:
    write_corpus(TABLE, tmp_path / "a.csv", "vectors")
    texts = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert texts == {
        "a.csv": "0.1,-3\n1e-300,2\n",
        "a.vocab": "a, b\n0\n",
        "a.authors": "0\n\n",
        "a.authors.key": "x y\nz\n",
        "a.labels": "0\n\n",
        "a.labels.key": "x y\nz\n",
    }


def test_npy_is_what_numpy_reads(tmp_path: Path) -> None:
    write_corpus(TABLE, tmp_path / "a.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), TABLE.rows)
    write_corpus(TABLE, tmp_path / "b.npy.gz")
    packed = gzip.decompress((tmp_path / "b.npy.gz").read_bytes())
    np.testing.assert_array_equal(np.load(io.BytesIO(packed)), TABLE.rows)


finite = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(st.characters(categories=["L", "N", "P"]), min_size=1)


@pytest.mark.parametrize("name", ["a.npy", "a.npy.xz", "a.csv", "a.txt.gz"])
@common
@given(data=st.data())
def test_what_is_written_is_read_back_equal(tmp_path: Path, name: str, data: Any) -> None:
    folder = tmp_path / str(next(serial))
    folder.mkdir()
    columns = data.draw(st.lists(names, min_size=1, max_size=4, unique=True))
    row = st.lists(finite, min_size=len(columns), max_size=len(columns))
    vectors = Vectors(np.array(data.draw(st.lists(row, min_size=1, max_size=4))), tuple(columns))
    write_corpus(vectors, folder / name, "vectors")
    back = read(folder / name)
    assert back.fingerprint == vectors.fingerprint
    assert back.columns == vectors.columns


@common
@given(value=finite)
def test_a_number_is_written_so_that_it_reads_back(value: Any) -> None:
    assert float(number_text(value)) == value and NUMBER.fullmatch(number_text(value))


COUNTS = Corpus(sparse.csr_array(np.array([[0, 2], [0, 0]])), ("a", "b"), None, MARKS, None)


def test_a_corpus_is_written_as_its_dense_table(tmp_path: Path) -> None:
    write_corpus(COUNTS, tmp_path / "a.npy")
    back: Any = read_corpus(Source(tmp_path / "a.npy"))
    assert (rows(back), back.columns) == ([[0.0, 2.0], [0.0, 0.0]], ("a", "b"))
    assert same_tags(back.groups, MARKS) and back.labels is None


def test_a_corpus_too_large_for_a_table_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hiertopics.corpus.data.vectors.MAX_CELLS", 3)
    with pytest.raises(UsageError, match="has 4 cells, more than 3; choose a sparse format"):
        write_corpus(COUNTS, tmp_path / "a.npy")
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_counts_is_written_as_counts(tmp_path: Path) -> None:
    write_corpus(Vectors(np.array([[0, 2], [1, 0]]), ("a", "b")), tmp_path / "a.ldac")
    assert (tmp_path / "a.ldac").read_text() == "1 1:2\n1 0:1\n"


def test_vectors_are_no_counts(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ldac holds counts, but row 1 holds 0.1 in column 'a, b'"):
        write_corpus(TABLE, tmp_path / "a.ldac")
    assert list(tmp_path.iterdir()) == []


def test_a_table_without_columns_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="without columns"):
        write_corpus(Corpus(sparse.csr_array((2, 0), dtype=int), ()), tmp_path / "a.npy")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("     1\tblack\n     2\twhite bear\n", ("black", "white bear")),
        ("0\ta\n1\tb\n", ("a", "b")),
        ("1\ta\n3\tb\n", ("1\ta", "3\tb")),
        ("2\ta\n3\tb\n", ("2\ta", "3\tb")),
        ("1\ta\nb\n", ("1\ta", "b")),
        ("1\n2\n", ("1", "2")),
    ],
)
def test_a_numbered_vocabulary_is_read_without_its_numbers(put: Put, text: str, words: Any) -> None:
    assert read(put("a.csv", "1,2\n"), vocab=put("words", text)).columns == words


def test_a_vocabulary_that_would_lose_its_numbers_is_not_written(tmp_path: Path) -> None:
    vectors = Vectors(np.ones((1, 2)), ("1\ta", "2\tb"))
    with pytest.raises(UsageError, match=r"'1\\ta' cannot stand on a line of its own"):
        write_corpus(vectors, tmp_path / "a.npy")
