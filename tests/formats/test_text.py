"""Raw text: JSON lines, tables, folders."""

from __future__ import annotations

import csv
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from spoilt import Put
from tiny import counts_in

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.formats.source import Source

pytest.importorskip("sklearn.feature_extraction.text")

JSON = [
    {"text": "The cat, the CAT!", "id": 7, "who": ["ada", "bob"], "kind": "pet shop"},
    {"text": "", "id": "b", "who": [], "kind": None},
    {"text": "a dog", "id": "c", "who": "bob", "kind": 3},
]
FIELDS: dict[str, Any] = {"id_field": "id", "group_field": "who", "label_field": "kind"}


def json_lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def members(tags: Any) -> Any:
    return tags.members.toarray().astype(int).tolist()


def check(corpus: Any) -> None:
    assert corpus.vocab == ("cat", "dog", "the")
    assert corpus.counts.toarray().tolist() == [[2, 0, 2], [0, 0, 0], [0, 1, 0]]


def check_marks(corpus: Any) -> None:
    assert corpus.doc_ids == ("7", "b", "c")
    assert corpus.groups.names == ("ada", "bob")
    assert members(corpus.groups) == [[1, 1], [0, 0], [0, 1]]
    assert corpus.labels.names == ("3", "pet shop")
    assert members(corpus.labels) == [[0, 1], [0, 0], [1, 0]]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.xz"])
def test_json_lines(put: Put, name: str) -> None:
    corpus = counts_in(Source(put(name, json_lines(*JSON) + "\n\n"), **FIELDS))
    check(corpus)
    check_marks(corpus)


CSV = """id,text,who,kind\r
7,"The cat,
the CAT!",ada; bob,pet shop\r
b,,,\r
c,a dog,bob;,3"""
TSV = """id\ttext\twho\tkind
7\tThe cat, the CAT!\tada;bob\tpet shop
b\t\t\t
c\ta dog\tbob\t3

"""


@pytest.mark.parametrize(("name", "text"), [("a.csv", CSV), ("a.tsv", TSV)])
def test_tables_with_a_header(put: Put, name: str, text: str) -> None:
    corpus = counts_in(Source(put(name, text), **FIELDS))
    check(corpus)
    check_marks(corpus)


def test_tables_without_a_header(put: Put) -> None:
    path = put("a.csv.gz", 'ada;bob,"The cat, the cat"\n,\nbob,a dog\n')
    corpus = counts_in(Source(path, text_field="1", group_field="0"))
    check(corpus)
    assert members(corpus.groups) == [[1, 1], [0, 0], [0, 1]]
    assert corpus.doc_ids is None


NAMES = ("7", "b", "c")
NO_TEXT = "1 of 3 documents have no text (an empty cell, NaN or null)"
UNASKED = "documents are called by the field {!r} (data.id_field takes another)"


@pytest.mark.parametrize(("name", "text"), [("a.csv", CSV), ("a.tsv", TSV), ("a.jsonl", None)])
def test_a_field_called_id_names_documents_unasked(put: Put, name: str, text: str | None) -> None:
    path = put(name, text or json_lines(*JSON))
    corpus = counts_in(Source(path, metadata=True))
    assert corpus.doc_ids == NAMES
    assert corpus.notes == (UNASKED.format("id"), NO_TEXT)
    assert corpus.metadata["id"].names == NAMES
    assert counts_in(Source(path)).doc_ids is None
    asked = counts_in(Source(path, metadata=True, id_field="text"))
    assert asked.doc_ids is not None
    assert asked.doc_ids[1:] == ("", "a dog")
    assert asked.notes == (NO_TEXT,)


def named(put: Put, *rows: Any, **fields: Any) -> tuple[Any, Any]:
    corpus = counts_in(Source(put("a.jsonl", json_lines(*rows)), metadata=True, **fields))
    return corpus.doc_ids, corpus.notes


def test_which_field_names_documents(put: Put) -> None:
    assert named(put, {"text": "aa", "name": "x", "Doc_ID": 3})[0] == ("3",)
    assert named(put, {"text": "aa", "name": "x"})[0] == ("x",)
    assert named(put, {"text": "aa", "_id": {"$oid": 1}, "name": " x "})[0] == ("x",)
    assert named(put, {"text": "aa", "id": None, "name": "x"})[0] == ("x",)
    assert named(put, {"text": "aa", "year": "x"}) == (None, ())
    assert named(put, {"id": "aa"}, text_field="id") == (None, ())
    assert named(put, {"text": "aa", "id": "x"}, group_field="id") == (None, ())


def test_a_field_that_is_unique_names_documents(put: Put) -> None:
    def rows(*names: Any, field: str = "Title", **others: Any) -> list[dict[str, Any]]:
        return [{"text": "aa", field: name, **others} for name in names]

    assert named(put, *rows("x y", " z ")) == (("x y", "z"), (UNASKED.format("Title"),))
    assert named(put, *rows("x", "z", field="url", title="same"))[0] == ("x", "z")
    both = [{"text": "aa", "url": f"u{n}", "TITLE": f"t{n}"} for n in range(2)]
    assert named(put, *both)[0] == ("t0", "t1")
    assert named(put, *rows("x", "z"), id_field="text")[0] == ("aa", "aa")
    for lacks in (("x", "x"), ("x", None), ("x", ["y", "z"]), ("x", "y" * 201)):
        assert named(put, *rows(*lacks)) == (None, ())


@pytest.mark.parametrize(
    ("value", "n_docs", "names"),
    [
        ("Wort {}", 20, True),
        ("Wort {}", 19, False),
        ("{}", 20, False),
        ("1,{}", 20, False),
        ("1990-01-{}", 20, False),
        ("3.4.20{}", 20, False),
        ("1990-01-01T{}:00", 20, False),
        ("1990-{} b", 20, True),
    ],
)
def test_another_unique_field_names_many_documents(
    put: Put, value: str, n_docs: int, names: bool
) -> None:
    """Numbers and dates do not, and in a small table anything may be unique."""
    values = [value.format(n + 10) for n in range(n_docs)]
    rows = [{"text": "aa", "kind": "k", "Titel": one} for one in values]
    assert named(put, *rows)[0] == (tuple(values) if names else None)


def test_documents_without_a_name_among_others_that_have_one(put: Put) -> None:
    rows = [{"text": "aa", "id": 1}, {"text": "bb"}, {"text": "cc", "id": [2]}]
    rows += [{"text": "dd", "id": None}, {"text": "ee", "id": "\ud800"}]
    assert named(put, *rows)[0] == ("1", "", "", "", "")


def test_a_stray_quote_in_tsv_swallows_nothing(put: Put) -> None:
    corpus = counts_in(Source(put("a.tsv", 'text\n"the cat\na "dog\n')))
    assert corpus.n_docs == 2


def test_a_long_field(put: Put) -> None:
    limit = csv.field_size_limit()
    corpus = counts_in(Source(put("a.csv", "text\n" + "word " * 100_000 + "\n")))
    assert corpus.n_tokens == 100_000
    assert csv.field_size_limit() == limit


def test_a_folder(put: Put, tmp_path: Path) -> None:
    for name, text in {"b.txt": "a dog", "a/z.txt": "", "a.txt": "the cat\nThe cat"}.items():
        put(f"texts/{name}", text)
    put("texts/c.md", "not read")
    put("texts.authors", "x\ny\n\n")
    corpus = counts_in(Source(tmp_path / "texts"))
    assert corpus.doc_ids == ("a", "a/z", "b")
    check(corpus)
    assert members(corpus.groups) == [[1, 0], [0, 1], [0, 0]]


def test_the_name_of_the_text_field(put: Put) -> None:
    path = put("a.csv", "title,body\nthe cat,dog\n")
    assert counts_in(Source(path, text_field="body")).vocab == ("dog",)
    with pytest.raises(DataError, match=r"a\.csv:1: no field 'text'; there are 'title', 'body'; n"):
        counts_in(Source(path))
    with pytest.raises(DataError, match="no field 'abstract'; there are 'title', 'body'$"):
        counts_in(Source(path, text_field="abstract"))


def test_a_vocabulary_fixes_the_words(put: Put) -> None:
    words = put("words", "dog\nhorse\n")
    corpus = counts_in(Source(put("a.jsonl", json_lines(*JSON)), vocab=words))
    assert corpus.vocab == ("dog", "horse")
    assert corpus.counts.toarray().tolist() == [[0, 0], [0, 0], [1, 0]]


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("a.jsonl", '{"text": "a"}\n{"text": \n', 2, "not JSON"),
        ("a.jsonl", '{"text": "a"}\n\n{"text": "a"}\n', 2, "not JSON"),
        ("a.jsonl", '{"text": "a"}\n["a"]\n', 2, "expected one JSON object per line, got "),
        ("a.jsonl", "[" * 100_000, 1, "not JSON"),
        ("a.jsonl", '{"text": 1' + "0" * 5000 + "}", 1, "not JSON"),
        ("a.jsonl", '{"text": "a"}\n{"txt": "a"}\n', 2, "no field 'text'; there are 'txt'"),
        ("a.jsonl", '{"text": {}}\n', 1, "expected a string in field 'text', got '{}'"),
        ("a.jsonl", '{"text": ["a"]}\n', 1, "expected a string in field 'text', got "),
        ("a.csv", "text,x\na,b\na,b,c\n", 3, "expected 2 columns as on the first line, got 3"),
        ("a.csv", 'text,x\n"a\nb",c\n\na,b\n', 4, "expected 2 columns as on the first line, got 1"),
        ("a.csv", 'text,x\na,b\n"a,b\nc,d\n', 3, "broken CSV"),
        ("a.csv", "text,text\na,b\n", 1, "several columns are called 'text'"),
        ("a.tsv", b"text\na\n\xff\n", 3, "not UTF-8"),
    ],
)
def test_a_mistake_names_its_line(put: Put, name: str, text: str, line: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        counts_in(Source(put(name, text)))
    assert caught.value.line == line


@pytest.mark.parametrize("who", [{"x": 1}, [["x"]], [None], "\ud800"])
def test_a_group_must_be_a_name(put: Put, who: Any) -> None:
    path = put("a.jsonl", json_lines({"text": "word", "who": who}))
    with pytest.raises(DataError, match=r"a\.jsonl:1: .*field 'who'"):
        counts_in(Source(path, group_field="who"))


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.tsv"])
def test_no_documents(put: Put, name: str) -> None:
    with pytest.raises(DataError, match="holds no documents"):
        counts_in(Source(put(name, "text\n" if name != "a.jsonl" else "\n")))


def test_no_documents_with_a_vocabulary_or_in_a_folder(put: Put, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no documents"):
        counts_in(Source(put("a.tsv", "text\n"), vocab=put("words", "dog\n")))
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match="holds no documents"):
        counts_in(Source(tmp_path / "none"))


def test_no_words(put: Put) -> None:
    with pytest.raises(DataError, match="no words in 2 documents"):
        counts_in(Source(put("a.tsv", "text\n?\n!\n")))


def test_numbers_and_names_do_not_mix(put: Put) -> None:
    with pytest.raises(UsageError, match="all numbers"):
        counts_in(Source(put("a.csv", "text,x\n"), text_field="0", id_field="x"))


def test_a_folder_has_no_fields(put: Put, tmp_path: Path) -> None:
    put("texts/a.txt", "word")
    with pytest.raises(UsageError, match="no fields"):
        counts_in(Source(tmp_path / "texts", id_field="id"))


def test_texts_are_not_held_in_memory(put: Put) -> None:
    path = put("a.tsv.gz", "text\n" + (("x" * 39 + " ") * 100 + "\n") * 2000)
    tracemalloc.start()
    corpus = counts_in(Source(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert corpus.n_tokens == 200_000
    assert peak < 3_000_000  # the texts take eight million
