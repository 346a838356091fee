"""Edge lists: both directions, names and their order, what is merged, dropped or refused."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from scipy import sparse
from spoilt import Put

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.edges import read_fast, read_slowly
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.writing import write_corpus

common = settings(
    deadline=None, derandomize=True, max_examples=40, suppress_health_check=list(HealthCheck)
)


def read(put: Put, text: str, name: str = "a.edges", **options: Any) -> Any:
    return read_corpus(Source(put(name, text), **options))


def links(corpus: Any) -> dict[str, list[str]]:
    """Return the neighbours of each node, both by name."""
    rows = corpus.counts.toarray()
    return {
        node: [corpus.vocab[other] for other in np.flatnonzero(row)]
        for node, row in zip(corpus.doc_ids, rows, strict=True)
    }


TRIANGLE = {"1": ["2", "10"], "2": ["1"], "10": ["1"]}


@pytest.mark.parametrize("name", ["a.edges", "a.edges.gz", "b.EDGES.xz"])
@pytest.mark.parametrize(
    "text",
    [
        "1 2\n10 1\n",
        "# two links\n% more\n1\t2\n2 1\n#\n1 2\n1 10\n",
        "  1   2 \r\n1 10\r\n\r\n",
        "\ufeff10 1\n1 2",
    ],
)
def test_a_link_counts_once_at_both_its_nodes(put: Put, name: str, text: str) -> None:
    corpus = read(put, text, name)
    assert links(corpus) == TRIANGLE
    assert corpus.vocab == corpus.doc_ids == ("1", "2", "10")
    assert set(corpus.counts.data.tolist()) == {1} and corpus.notes == ()


def test_a_file_of_another_name_needs_the_format(put: Put) -> None:
    assert links(read(put, "1 2\n10 1\n", "net.txt", format="edges")) == TRIANGLE


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("b a\nc b\n", ("a", "b", "c")),
        ("10 9\nx 9\n", ("10", "9", "x")),
        ("10 9\n007 9\n", ("007", "9", "10")),
        ("7 07\n", ("07", "7")),
        (f"{10**30} {10**29}\n5 6\n", ("5", "6", str(10**29), str(10**30))),
        ("9223372036854775808 1\n", ("1", "9223372036854775808")),
        ("été no\u00e9\n", ("no\u00e9", "été")),
    ],
)
def test_nodes_are_sorted_by_value_or_else_by_name(put: Put, text: str, nodes: Any) -> None:
    assert read(put, text).vocab == nodes


@pytest.mark.parametrize(
    ("text", "note"),
    [("1 1\n1 2\n", "1 self-loop was dropped"), ("b b\na b\na a\n", "2 self-loops were dropped")],
)
def test_self_loops_are_dropped_and_counted(put: Put, text: str, note: Any) -> None:
    corpus = read(put, text)
    assert corpus.n_tokens == 2 and corpus.notes == (note,)


def test_a_node_with_a_loop_only_is_a_node_without_links(put: Put) -> None:
    assert links(read(put, "3 3\n1 2\n")) == {"1": ["2"], "2": ["1"], "3": []}


def test_the_vocabulary_gives_nodes_and_order(put: Put) -> None:
    put("a.vocab", "c\nlonely\na\n7\n")
    corpus = read(put, "a c\n7 a\n")
    assert corpus.vocab == ("c", "lonely", "a", "7")
    assert links(corpus) == {"c": ["a"], "lonely": [], "a": ["c", "7"], "7": ["a"]}


@pytest.mark.parametrize(
    ("text", "line", "unknown"), [("1 2\n1 3\n", 2, "3"), ("#\n1 2\n2 a\n", 3, "a")]
)
def test_a_node_that_the_vocabulary_does_not_hold(
    put: Put, text: str, line: Any, unknown: Any
) -> None:
    put("a.vocab", "1\n2\n")
    with pytest.raises(DataError, match=rf"the node '{unknown}' is not in .*a\.vocab") as caught:
        read(put, text)
    assert caught.value.line == line


TWO = "expected the names of two nodes and nothing else, got "


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 2 3", TWO + "'1 2 3'"),
        ("a b 0.5", TWO + r"'a b 0\.5'"),
        ("1", TWO + "'1'"),
        ("1,2", TWO + "'1,2'"),
        ("", TWO + "''"),
        (" # 1", None),
        (b"a \xff", r"not UTF-8 text \(byte 0xff\)"),
    ],
)
@pytest.mark.parametrize("before", [2, 90_000])
def test_a_broken_line_is_named(put: Put, line: Any, message: str, before: Any) -> None:
    raw = line if isinstance(line, bytes) else line.encode()
    path = put("a.edges", b"# a remark\n" + b"1 2\n" * before + raw + b"\n4\n")
    with pytest.raises(DataError, match=message or TWO) as caught:
        read_corpus(Source(path))
    assert caught.value.line == before + (3 if message is None else 2)


@pytest.mark.parametrize("text", ["", "# 1 2\n"])
def test_no_links_at_all(put: Put, text: str) -> None:
    with pytest.raises(DataError, match="holds no documents"):
        read(put, text)


def test_the_fast_and_the_slow_way_agree(tmp_path: Path) -> None:
    text = b"%\n1\t2\n# x\n0 33 \n900000000000000000 4\n"
    fast, slow = read_fast(text, None), read_slowly(Source(tmp_path), None, (1, text))
    assert fast is not None
    assert [(str(u), str(v)) for u, v in fast.tolist()] == slow


@pytest.mark.parametrize("text", [b"01 2\n", b"1 9999999999999999999\n", b"1  2\n", b"1 a\n"])
def test_the_fast_way_takes_plain_numbers_only(text: bytes) -> None:
    assert read_fast(text, None) is None


def graph(rows: Any, names: Any = ("a", "b", "c")) -> Corpus:
    return Corpus(sparse.csr_array(np.array(rows)), names)


def test_writing(tmp_path: Path) -> None:
    write_corpus(graph([[0, 1, 1], [1, 0, 0], [1, 0, 0]]), tmp_path / "a.edges.gz")
    assert gzip.decompress((tmp_path / "a.edges.gz").read_bytes()) == b"a b\na c\n"


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        (graph([[0, 1, 0], [1, 0, 0]]), "2 documents over 3 words are not nodes over nodes"),
        (graph([[0, 2, 1], [2, 0, 0], [1, 0, 0]]), "a count of 2 would be lost"),
        (graph([[0, 1, 1], [1, 0, 0], [0, 1, 0]]), "a link from u to v without one from v to u"),
        (graph([[1, 1, 1], [1, 0, 0], [1, 0, 0]]), "self-loops are not read back"),
        (graph([[0, 1, 0], [1, 0, 0], [0, 0, 0]]), r"without any link would be lost \(1, first 'c"),
        (graph([[0, 1], [1, 0]], ("a b", "c")), "the name 'a b' would not be read back"),
        (graph([[0, 1], [1, 0]], ("a\u00a0b", "c")), "would not be read back"),
        (graph([[0, 1], [1, 0]], ("#a", "c")), "the name '#a' would not be read back"),
        (graph([[0, 1], [1, 0]], ("a", "%")), "the name '%' would not be read back"),
    ],
)
def test_what_is_no_graph_is_not_written(tmp_path: Path, corpus: Corpus, message: str) -> None:
    with pytest.raises(UsageError, match=f"cannot be written as edges: .*{message}"):
        write_corpus(corpus, tmp_path / "a.edges")
    assert list(tmp_path.iterdir()) == []


names = st.one_of(
    st.integers(0, 30).map(str),
    st.sampled_from(["007", "x", "a-b", str(10**25), "\u00e9"]),
)
lines = st.lists(st.tuples(names, names), min_size=1, max_size=12)


@common
@given(pairs=lines, with_remark=st.booleans())
def test_links_are_those_of_the_lines_and_are_read_back(
    tmp_path: Path, pairs: Any, with_remark: Any
) -> None:
    for old in tmp_path.iterdir():
        old.unlink()
    text = "# remark\n" * with_remark + "".join(f"{u} {v}\n" for u, v in pairs)
    (tmp_path / "a.edges").write_text(text)
    corpus = read_corpus(Source(tmp_path / "a.edges"))
    expected: dict[str, set[str]] = {name: set() for pair in pairs for name in pair}
    for u, v in pairs:
        if u != v:
            expected[u].add(v)
            expected[v].add(u)
    assert {node: set(others) for node, others in links(corpus).items()} == expected
    if corpus.n_empty == 0:
        write_corpus(corpus, tmp_path / "b.edges")
        assert read_corpus(Source(tmp_path / "b.edges")).fingerprint == corpus.fingerprint
        (tmp_path / "b.vocab").unlink()
        assert read_corpus(Source(tmp_path / "b.edges")).fingerprint == corpus.fingerprint
