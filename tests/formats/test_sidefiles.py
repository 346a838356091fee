"""Vocabulary, groups and labels beside the counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from spoilt import Put

from hiertopics.base.errors import DataError
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.sidefiles import read_vocabulary
from hiertopics.corpus.formats.source import Source

THREE = "1 0:1\n0\n1 1:1\n"


def read(put: Put, **sides: Any) -> Any:
    return read_corpus(Source(put("a.ldac", THREE), **sides))


def members(tags: Any) -> Any:
    return tags.members.toarray().astype(int).tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("one\ntwo\n", ("one", "two")),
        ("network = 0 = 19882 1395 \nx=y = 3\n", ("network", "x=y")),
        ("\ufeff new york \r\nnaïve\r\n\r\n", ("new york", "naïve")),
        ("=\n", ("=",)),
        ("", ()),
    ],
)
def test_vocabulary_lines(put: Put, text: str, words: Any) -> None:
    assert read_vocabulary(put("v", text)) == words


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("one\n\ntwo\n", 2, "blank line where a word should be"),
        ("one\ntwo\none\n", 3, "the word 'one' stands on line 1 already"),
        ("one = 1\none = 2\n", 2, "the word 'one' stands on line 1 already"),
        (b"one\n\xff\n", 2, "not UTF-8 text"),
    ],
)
def test_vocabulary_mistakes(put: Put, text: str, line: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_vocabulary(put("v", text))
    assert caught.value.line == line


def test_groups_by_name(put: Put) -> None:
    put("a.authors", "smith  jones\n\nada smith ada\n")
    groups = read(put).groups
    assert groups.names == ("ada", "jones", "smith")
    assert members(groups) == [[0, 1, 1], [0, 0, 0], [1, 0, 1]]
    assert groups.members.dtype == bool


def test_groups_by_tab_where_the_file_has_any(put: Put) -> None:
    put("a.authors", "Ada Lovelace\n\nJ. Smith\tAda Lovelace\t\n")
    groups = read(put).groups
    assert groups.names == ("Ada Lovelace", "J. Smith")
    assert members(groups) == [[1, 0], [0, 0], [1, 1]]


def test_numbers_without_key_are_their_own_names_in_the_order_of_their_values(put: Put) -> None:
    huge = "1" + "0" * 5000
    put("a.authors", f"10 9\n{huge}\n2\n")
    groups = read(put).groups
    assert groups.names == ("2", "9", "10", huge)
    assert members(groups) == [[0, 1, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0]]


@pytest.mark.parametrize("key", ["a.labels.gz.key", "a.labels.key"])
def test_names_from_the_key_file(put: Put, key: Any) -> None:
    put("a.labels.gz", "2\n\n0 02\n")
    put(key, "zero \nnone\nnone\n")
    labels = read(put).labels
    assert labels.names == ("zero", "none", "none-1")
    told = "1 of 3 names has the name of an earlier one and is told apart by a number"
    assert [note.partition(": ")[2] for note in labels.notes] == [
        f"{told}: the second 'none' is called 'none-1'"
    ]
    assert members(labels) == [[0, 0, 1], [0, 0, 0], [1, 0, 1]]


@pytest.mark.parametrize("entry", ["3", "-1", "zero", "1.0", "²", "9" * 5000])
def test_an_entry_that_the_key_file_does_not_name(put: Put, entry: Any) -> None:
    put("a.authors", f"0\n1\n0 1 {entry}\n")
    put("a.authors.key", "zero\none\ntwo\n")
    with pytest.raises(DataError, match="expected ids from 0 to 2, since .*key holds 3 names") as e:
        read(put)
    assert e.value.line == 3


def test_a_blank_name(put: Put) -> None:
    put("a.authors", "0\n1\n0\n")
    put("a.authors.key", "zero\n\ntwo\n")
    with pytest.raises(DataError, match=r"a\.authors\.key:2: blank line"):
        read(put)


@pytest.mark.parametrize("text", ["x\ny\n", "x\ny\nz\n\n", ""])
@pytest.mark.parametrize("name", ["authors", "labels"])
def test_the_number_of_lines_must_be_that_of_the_documents(put: Put, name: str, text: str) -> None:
    put(f"a.{name}", text)
    message = rf"a\.{name}: {text.count(chr(10))} lines, but .*a\.ldac holds 3 documents"
    with pytest.raises(DataError, match=message):
        read(put)


def test_no_document_has_a_group(put: Put) -> None:
    put("a.authors", "\n\n\n")
    assert read(put).groups.members.shape == (3, 0)


def test_files_that_are_named(put: Put) -> None:
    corpus = read(
        put,
        vocab=put("words", "x\ny\nz\n"),
        groups=put("years.xz", "1990\n1991\n1990\n"),
        labels=put("kinds", "p\nq\np q\n"),
    )
    assert corpus.vocab == ("x", "y", "z")
    assert corpus.groups.names == ("1990", "1991")
    assert corpus.labels.names == ("p", "q")


@pytest.mark.parametrize("side", ["vocab", "groups", "labels"])
def test_a_named_file_must_exist(put: Put, tmp_path: Path, side: str) -> None:
    with pytest.raises(DataError, match="nowhere: no such file"):
        read(put, **{side: tmp_path / "nowhere"})
