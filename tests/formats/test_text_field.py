"""The column that holds the text, where nobody named it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spoilt import Put

from hiertopics.base.errors import DataError
from hiertopics.corpus.corpora.checking import advised
from hiertopics.corpus.formats.guesses import settings_found
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.textfield import Guess, guessed, has_header, n_words
from hiertopics.settings.config import DataConfig

TITLES = ["the tree of words", "words and their topics in trees", "a document of few words"]


def test_the_field_with_the_longest_texts_is_guessed_and_never_a_name() -> None:
    rows = [{"id": "a-very-long-name-of-it", "titel": t, "jahr": "1990"} for t in TITLES]
    assert guessed(rows) == Guess("titel", True)
    assert guessed([{"id": "a", "n": 3, "when": None}]) == Guess("id", False)
    assert guessed([{"n": "1.5", "m": 2}]) is None and guessed([]) is None


def test_a_field_is_clear_if_no_other_one_comes_near() -> None:
    rows = [{"title": title, "tags": "few words here"} for title in TITLES]
    assert guessed(rows) == Guess("title", False)
    assert guessed([row | {"tags": "two words"} for row in rows]) == Guess("title", True)
    # The median: one long cell makes no text of a column.
    far = [{"note": "", "title": title} for title in TITLES]
    far[0]["note"] = "word " * 100
    assert guessed(far) == Guess("title", True)


def test_of_equal_fields_the_name_decides() -> None:
    assert guessed([{"a": "x y", "Title": "x y", "Body": "x y"}]) == Guess("Body", False)


def test_a_script_without_blanks_has_words_too() -> None:
    assert (
        n_words("東京大学の研究者") == 4 and n_words("x") == n_words("é") == 1 and n_words(5) == 0
    )


@pytest.mark.parametrize(
    ("header", "is_one"),
    [
        (["a tree of words", "2007"], False),
        (["two words", "2007"], False),
        (["text of it", "year"], True),
        (["text", "2007"], True),
        (["one sentence of four words", "x"], False),
    ],
)
def test_a_first_line_like_the_others_is_no_header(header: list[str], is_one: bool) -> None:
    rows = [[title, "1990"] for title in TITLES]
    assert has_header(header, rows) is is_one


def test_a_first_line_under_it_all_is_a_header() -> None:
    assert has_header(["id", "n"], [["a", "1"]]) and has_header(["x y"], [])


@pytest.fixture
def tables(put: Put) -> dict[str, Path]:
    """Return tables whose text is the second column, by their form."""
    rows = [("p1-p2-p3-p4-p5-p6-p7", title, 1990) for title in TITLES * 8]
    cells = "".join(f"{name},{title},{year}\n" for name, title, year in rows)
    objects = [dict(zip(("id", "titel", "jahr"), row, strict=True)) for row in rows]
    return {
        "csv": put("a.csv", "id,titel,jahr\n" + cells),
        "semicolons": put("b.csv", ("id,titel,jahr\n" + cells).replace(",", ";")),
        "tsv": put("a.tsv", ("id,titel,jahr\n" + cells).replace(",", "\t")),
        "jsonl": put("a.jsonl", "".join(json.dumps(one) + "\n" for one in objects)),
        "json": put("a.json", json.dumps(objects)),
        "no header": put("c.csv", cells),
    }


@pytest.mark.parametrize("form", ["csv", "semicolons", "tsv", "jsonl", "json"])
def test_a_message_names_it_and_auto_takes_it(tables: dict[str, Path], form: str) -> None:
    with pytest.raises(DataError, match="as --text-field titel$"):
        read_corpus(Source(tables[form]))
    assert advised(DataConfig(corpus=str(tables[form])))["text_field"] == "titel"
    given = DataConfig(corpus=str(tables[form]), text_field="id", delimiter=None)
    if form != "semicolons":
        assert "text_field" not in advised(given)


def test_a_table_without_header_is_told(tables: dict[str, Path], call: Callable[..., Any]) -> None:
    path = tables["no header"]
    with pytest.raises(DataError, match="looks like a document.*number, from 0, as --text-field 1"):
        read_corpus(Source(path))
    checked = call("check", path)
    assert checked.code == 2 and f"hiertopics fit {path} --auto" in checked.err
    done = call("fit", path, "--auto", "-b", "multinomial", "-o", "run")
    assert done.code == 0 and "auto: data.text_field=1" in done.err
    assert "text_field: '1'" in Path("run/config.yaml").read_text()
    assert "document" in Path("run/vocab.txt").read_text().split()


def test_all_guesses_read_the_first_rows_once(
    tables: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    reader = csv.reader

    def counted(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return reader(*args, **options)

    monkeypatch.setattr("csv.reader", counted)
    assert settings_found(Source(tables["no header"], "csv")) == {"text_field": "1"}
    assert len(calls) == 1


def test_auto_leaves_a_choice_that_is_not_clear(put: Put, call: Callable[..., Any]) -> None:
    rows = "".join(f"{title},some of the tags\n" for title in TITLES)
    path = put("a.csv", f"title,tags\n{rows}")
    done = call("fit", path, "--auto", "-o", "run")
    assert done.code == 2 and "as --text-field title" in done.err
    with_text = put("b.csv", f"title,text\n{rows}")
    assert "text_field" not in advised(DataConfig(corpus=str(with_text)))


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_column_of_single_words_is_asked_about(put: Put, form: str) -> None:
    rows = [{"title": f"the tree of words {i}", "year": f"{1990 + i}"} for i in range(30)]
    lines = {
        "csv": ["title,year", *(",".join(row.values()) for row in rows)],
        "jsonl": [json.dumps(row) for row in rows],
    }[form]
    path = put(f"a.{form}", "\n".join(lines) + "\n")
    asked = "documents have one word (median); is 'year' the text?"
    assert read_corpus(Source(path, text_field="year")).notes == (
        f"{asked} 'title' has more words",
    )
    assert read_corpus(Source(path, text_field="title")).notes == ()
    few = put(f"few.{form}", "\n".join(lines[:15]) + "\n")
    assert read_corpus(Source(few, text_field="year")).notes == ()
