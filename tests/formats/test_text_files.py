"""How files of raw text are written: delimiters, encodings, arrays, lines, cells without text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.corpora.checking import check
from hiertopics.corpus.corpora.inmemory import as_corpus
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.guesses import settings_found
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.settings.config import DataConfig

Put = Callable[[str, str | bytes], Path]
Call = Callable[..., Any]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Return a function that writes a file and returns its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def bags(source: Source) -> list[dict[str, int]]:
    """Return the words of each document with their counts."""
    corpus = read_corpus(source)
    assert isinstance(corpus, Corpus)
    dense = corpus.counts.toarray()
    return [{corpus.vocab[w]: int(row[w]) for w in np.flatnonzero(row)} for row in dense]


@pytest.mark.parametrize(("mark", "called"), [(";", ";"), ("|", "|"), ("\t", "tab")])
def test_a_delimiter_parts_the_columns_of_a_csv_file(put: Put, mark: str, called: str) -> None:
    text = f'text{mark}year\n"aa, bb{mark} aa"{mark}1990\ncc{mark}1991\n'
    source = Source(put("a.csv", text), delimiter=called, metadata=True)
    assert bags(source) == [{"aa": 2, "bb": 1}, {"cc": 1}]
    corpus = read_corpus(source)
    assert isinstance(corpus, Corpus)
    assert corpus.metadata["year"].names == ("1990", "1991")


@pytest.mark.parametrize(("mark", "called"), [(";", "';'"), ("|", "'|'"), ("\t", "tab")])
def test_a_csv_file_without_commas_tells_its_delimiter(put: Put, mark: str, called: str) -> None:
    path = put("a.csv", f"text{mark}year\naa{mark}1990\n")
    with pytest.raises(
        DataError, match=f"parted by .*-s data.delimiter={called.replace('|', '.')}$"
    ):
        read_corpus(Source(path))


def test_a_field_that_is_lacking_names_the_likely_one(put: Put) -> None:
    table = put("a.csv", "year,Abstract\n1990,aa bb\n")
    with pytest.raises(DataError, match="as --text-field Abstract$"):
        read_corpus(Source(table))
    rows = put("a.jsonl", json.dumps({"n": 1, "k": "v", "words": "a longer text"}) + "\n")
    with pytest.raises(DataError, match="as --text-field words$"):
        read_corpus(Source(rows))


def test_an_encoding_reads_the_letters(put: Put) -> None:
    path = put("a.csv", "text\ncafé crème\nété\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"a.csv:2: not UTF-8 .*-s data.encoding=cp1252"):
        read_corpus(Source(path))
    assert bags(Source(path, encoding="cp1252")) == [{"café": 1, "crème": 1}, {"été": 1}]


def test_a_line_of_another_encoding_among_utf8_is_advised_both(put: Put, call: Call) -> None:
    lines = [b"text", *["\u00e9t\u00e9 d\u00e9j\u00e0".encode()] * 9, "cr\u00e8me".encode("cp1252")]
    both = "data.encoding=utf-8,cp1252"
    for name, at in (("last.csv", 10), ("first.csv", 2)):
        path = put(name, b"\n".join(lines if at == 10 else [lines[0], lines[-1], *lines[1:-1]]))
        line = 11 if at == 10 else 2
        with pytest.raises(DataError, match=rf"{name}:{line}: not UTF-8 .*-s {both}, which reads"):
            read_corpus(Source(path))
        assert settings_found(Source(path, "csv")) == {"encoding": "utf-8,cp1252"}
        assert both in call("check", path).out
        assert f"auto: {both}" in call("fit", path, "--auto", "-b", "multinomial", "-o", at).err


NOISE = np.random.default_rng(1).bytes(4000)


@pytest.mark.parametrize(
    "content",
    [NOISE, NOISE[:200], "wide caf\u00e9 text".encode("utf-16-le") * 9, b"%PDF-1.4\n" + NOISE],
)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.txt"])
def test_binary_files_are_told_as_such(put: Put, call: Call, name: str, content: bytes) -> None:
    path = put(name, content)
    how = ("--lines",) if name == "a.txt" else ()
    for words in (("check",), ("fit",), ("fit", "--auto")):
        done = call(words[0], path, *how, *words[1:])
        told = f"{done.out}{done.err}"
        assert done.code == 2 and "a binary file, no text" in told
        assert "encoding" not in told and "--auto" not in told


def test_binary_files_of_a_folder_are_counted(put: Put, tmp_path: Path, call: Call) -> None:
    put("z/a.txt", "tree caf\u00e9".encode("cp1252"))
    put("z/b.txt", "tree")
    for name in "cdef":
        put(f"z/{name}.txt", NOISE)
    for words in (("check",), ("fit",), ("fit", "--auto")):
        done = call(words[0], "z", *words[1:])
        told = f"{done.out}{done.err}"
        assert "z/c.txt: is a binary file, no text; 4 of 6 files are like this" in told
        assert "'c.txt', 'd.txt', 'e.txt', ...; take them out of the folder" in told
        assert "encoding" not in told and "--auto" not in told
    done = call("fit", put("x.bin", NOISE))
    assert "no format goes by that name; it is a binary file, no text; name" in done.err


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("name|text|year\na|red wind|1\nb|snow, ice|2\n", "--from csv -s data.delimiter='|'"),
        ("name;text\na;red wind, ice\n", "--from csv -s data.delimiter=';'"),
        ("name\ttext\na\tred; wind\n", "--from tsv"),
        ("text,year\nred wind,1\n", "--from csv"),
        ('{"text": "red wind"}\n', "--from jsonl"),
        ('[{"text": "red wind"},\n', "--from json"),
        ("red wind, ice\nsnow\n", None),
    ],
)
def test_a_file_without_suffix_tells_its_format_by_its_first_lines(
    put: Put, text: str, options: str | None
) -> None:
    with pytest.raises(UsageError, match="no format goes by that name; ") as stop:
        read_corpus(Source(put("dump", text)))
    if options is None:
        assert str(stop.value).endswith("folder; --lines takes each line for a document")
    else:
        assert str(stop.value).endswith(f"; by its first lines, {options} reads it")


LOOSE = (
    "name|text\n"
    'a|"red wind" of snow\n'
    'b|sun of "rain" and ice, "or both"\n'
    'c|say "wind\n'
    'd|"it" rains\n'
)
"""A table whose quotes belong to its texts."""


def test_quotes_are_characters_like_others_where_a_setting_says_so(put: Put) -> None:
    path = put("loose.csv", LOOSE)
    advice = (
        r"loose\.csv:2: broken CSV \(.*\); its quotes seem to belong .*: -s data\.quoting=none$"
    )
    with pytest.raises(DataError, match=advice):
        read_corpus(Source(path, delimiter="|"))
    found = bags(Source(path, delimiter="|", quoting="none"))
    assert found[1] == dict.fromkeys(("sun", "of", "rain", "and", "ice", "or", "both"), 1)
    assert settings_found(Source(path, "csv")) == {
        "delimiter": "|",
        "quoting": "none",
    }
    with pytest.raises(UsageError, match="quoting is for csv files"):
        read_corpus(Source(put("a.tsv", "text\naa\n"), quoting="none"))


def test_quotes_that_swallow_lines_are_told_too(put: Put) -> None:
    """The quote of the second line ends in the third one; both have a column more or less."""
    path = put("a.csv", 'text,year\n"red wind,1\nsnow",2,\n')
    with pytest.raises(DataError, match=r"a\.csv:2: expected 2 columns .*, got 3$"):
        read_corpus(path)
    path.write_text('text,year\n1,"red\n2,ice"\n3,"snow" of\n')
    with pytest.raises(DataError, match=r"a\.csv:4: .*data\.quoting=none$"):
        read_corpus(path)
    path.write_text('text,year\n"red, wind",1\n"snow" of,2\n')
    with pytest.raises(DataError, match=r"a\.csv:3: broken CSV \([^)]*\)$"):
        read_corpus(path)


def test_auto_takes_the_quotes_for_characters(put: Put, call: Call, tmp_path: Path) -> None:
    put("loose.csv", LOOSE)
    checked = call("check", "loose.csv", "-s", "data.delimiter=|")
    assert checked.out.endswith("-s data.quoting=none\n")
    assert checked.err == (
        "to take this advice: hiertopics fit loose.csv -s 'data.delimiter=|' --auto\n"
    )
    small = ("-b", "multinomial", "--iterations", 1, "-o", "run")
    done = call("fit", "loose.csv", "-s", "data.delimiter=|", "--auto", *small)
    assert done.code == 0 and "data.quoting=none" in done.err
    assert "quoting: none" in (tmp_path / "run" / "config.yaml").read_text(encoding="utf-8")


def test_a_text_with_few_control_characters_is_no_binary_file(put: Put) -> None:
    """A form feed, a zero byte and words struck over, as pages of manuals have them."""
    page = (b"N\bNA\bAM\bME\bE caf\xe9 \x1b[1mbold\x1b[0m\x0c\n" * 20) + b"\0\n"
    with pytest.raises(DataError, match="not UTF-8 text .*data.encoding=cp1252"):
        read_corpus(Source(put("a.txt", page), "lines"))


def test_of_several_encodings_the_first_that_can_reads_a_line(put: Put) -> None:
    lines = ["café".encode(), "crème".encode("cp1252"), "été".encode()]
    path = put("a.txt", b"\n".join(lines))
    source = Source(path, "lines", encoding="utf-8,cp1252")
    assert bags(source) == [{"café": 1}, {"crème": 1}, {"été": 1}]
    with pytest.raises(DataError, match=r"a.txt:2: not UTF-8 or ascii text \(byte 0xe8\)"):
        read_corpus(Source(path, "lines", encoding="utf-8,ascii"))


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_mark_at_the_beginning_tells_a_wide_encoding(put: Put, codec: str, name: str) -> None:
    """As Excel writes it; lines are longer than a block of its decoder."""
    text = "\ufeffid;text\r\n1;café 😀\r\n2;" + "été " * 300_000 + "\r\n"
    path = put(name, text.encode(codec))
    assert bags(Source(path, delimiter=";")) == [{"café": 1}, {"été": 300_000}]
    assert settings_found(Source(path, "csv")) == {"delimiter": ";"}
    with pytest.raises(DataError, match=rf"{codec.upper()} text, .* leave data.encoding out"):
        read_corpus(Source(path, delimiter=";", encoding="cp1252"))
    broken = put(name, text.encode(codec)[:-1])
    with pytest.raises(DataError, match=rf"{name}: not {codec.upper()} text \(.*truncated data"):
        read_corpus(Source(broken, delimiter=";"))


@pytest.mark.parametrize(
    ("encoding", "what"),
    [
        ("klingon", "'klingon' is no text encoding"),
        ("rot13", "'rot13' is no text encoding"),
        ("", "'' is no text encoding"),
        ("utf-16", "leave it out where the file begins with a mark .*iconv -f utf-16 -t utf-8"),
    ],
)
def test_an_encoding_that_cannot_be_used_is_refused(put: Put, encoding: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        read_corpus(Source(put("a.txt", "aa\n"), "lines", encoding=encoding))


def test_only_raw_text_has_a_form(put: Put) -> None:
    counts = put("a.ldac", "1 0:1\n")
    with pytest.raises(UsageError, match="encoding is for raw text"):
        read_corpus(Source(counts, encoding="cp1252"))
    with pytest.raises(UsageError, match="delimiter is for csv files"):
        read_corpus(Source(put("a.tsv", "text\naa\n"), delimiter=";"))


@pytest.mark.parametrize(
    "text",
    [
        '[{"text": "aa bb"},\n {"text": "aa"}]\n',
        '\n[\n{"text": "aa bb"}\n,\n{"text": "aa"}\n]\n\n',
        '{"text": "aa bb"}\n{"text": "aa"}',
        '{"text":\n "aa bb"} {"text": "aa"}',
    ],
)
def test_an_array_of_json(put: Put, text: str) -> None:
    assert bags(Source(put("a.json", text))) == [{"aa": 1, "bb": 1}, {"aa": 1}]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('[{"text": "aa"},\n{"text": }]', 2, "not JSON .Expecting value at column 10"),
        ('[{"text": "aa"}\n{"text": "bb"}]', 2, "not JSON .expected a comma or ]"),
        ('[{"text": "aa"}\n\n,\n{"txt": "bb"}]', 4, "no field 'text'"),
        ('[{"text": "aa"},\n\n', 1, "cut short"),
        ('[{"text": "aa"}]\nmore', 1, "something stands after"),
        ('[{"text": "aa"},\n["bb"]]', 2, "expected JSON objects"),
        ('[{"text": "aa"},\n{"text": "a", "text": "b"}]', 2, "'text' stands there twice"),
        ("[]", None, "holds no documents"),
    ],
)
def test_a_broken_array_names_its_line(put: Put, text: str, line: int | None, what: str) -> None:
    with pytest.raises(DataError, match=what) as caught:
        read_corpus(Source(put("a.json", text)))
    assert caught.value.line == line


def test_json_lines_with_an_array_tell_how_to_read_it(put: Put) -> None:
    with pytest.raises(DataError, match="--from json reads an array"):
        read_corpus(Source(put("a.jsonl", '[{"text": "aa"}]\n')))


def test_lines_and_paragraphs_of_one_file(put: Put) -> None:
    path = put("a.txt", "aa bb\ncc\n\n\ndd\n \nee\n\n")
    assert bags(Source(path, "lines")) == [
        *({"aa": 1, "bb": 1}, {"cc": 1}, {}, {}, {"dd": 1}, {}, {"ee": 1}),
    ]
    paragraphs = [{"aa": 1, "bb": 1, "cc": 1}, {"dd": 1}, {"ee": 1}]
    assert bags(Source(path, "paragraphs")) == paragraphs
    with pytest.raises(UsageError, match="a text file, which has no fields"):
        read_corpus(Source(path, "lines", text_field="text"))


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("a.txt", "--lines takes each line .*--from paragraphs"),
        ("a.TXT.gz", "--lines takes each line"),
        ("a.md", "--lines takes each line"),
        ("a.pdf", "turn each such file into a .txt file"),
        ("a.what", "name the format by --from, one of ldac, uci"),
    ],
)
def test_a_file_that_is_no_corpus_tells_what_to_do(put: Put, name: str, what: str) -> None:
    with pytest.raises(UsageError, match=what):
        read_corpus(Source(put(name, "aa")))


MISSING = ["", " ", "NaN", "nan", "NA", "N/A", "<NA>", "null", "None", "#N/A"]


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@pytest.mark.parametrize("cell", MISSING)
def test_a_cell_without_text_is_counted_and_no_word(put: Put, suffix: str, cell: str) -> None:
    mark = "," if suffix == "csv" else "\t"
    path = put(f"a.{suffix}", f"id{mark}text\nx{mark}{cell}\ny{mark}aa nan\n")
    assert bags(Source(path)) == [{}, {"aa": 1, "nan": 1}]
    corpus = read_corpus(Source(path))
    assert isinstance(corpus, Corpus)
    assert corpus.notes == ("1 of 2 documents have no text (an empty cell, NaN or null)",)


def test_json_without_text_is_counted(put: Put) -> None:
    path = put("a.jsonl", '{"text": null}\n{"text": NaN}\n{"text": "aa"}\n')
    assert bags(Source(path)) == [{}, {}, {"aa": 1}]
    assert check(path).notes[0].startswith("2 of 3 documents have no text")


def test_metadata_without_a_value(put: Put) -> None:
    path = put("a.csv", "text,kind\naa,NaN\nbb,x\ncc,<NA>\ndd,None\n")
    corpus = read_corpus(Source(path, metadata=True))
    assert isinstance(corpus, Corpus)
    assert corpus.metadata["kind"].names == ("None", "x")


def test_documents_in_memory_without_text() -> None:
    for first in (float("nan"), None):
        corpus = as_corpus([first, "aa bb", "aa"])
        assert isinstance(corpus, Corpus)
        assert corpus.counts.sum(axis=1).tolist() == [0, 2, 1]
        assert corpus.notes == ("1 of 3 documents have no text (an empty cell, NaN or null)",)
    cut = as_corpus([["aa", "bb"], None])
    assert isinstance(cut, Corpus)
    assert cut.counts.sum(axis=1).tolist() == [2, 0]


def test_a_note_names_the_files_of_a_folder_that_are_not_read(put: Put, tmp_path: Path) -> None:
    put("a.txt", "aa bb")
    put("b.txt", "bb cc")
    assert read_corpus(Source(tmp_path)).notes == ()
    for name in ("c.csv", "d.jsonl", "e.jsonl", "f.md", "notes.vocab"):
        put(name, "text\nother words")
    note = "only the .txt files of the folder are read, not 1 .csv, 2 .jsonl, 1 .md"
    note += "; -s data.suffixes=.txt,.md reads all texts"
    assert read_corpus(Source(tmp_path)).notes == (note,)
    assert check(tmp_path).notes == (note,)


def test_suffixes_name_the_files_of_a_folder_that_are_read(put: Put, tmp_path: Path) -> None:
    for name in ("a.txt", "b.rst", "sub/c.rst", "d.tex", "e.log"):
        put(name, f"word{name[-5]} text")
    assert read_corpus(Source(tmp_path)).doc_ids == ("a",)
    found = read_corpus(Source(tmp_path, suffixes=".rst, .tex"))
    assert found.doc_ids == ("b", "d", "sub/c") and found.notes == ()
    with pytest.raises(DataError, match=r"holds no documents: no \.org, but .*2 \.rst"):
        read_corpus(Source(tmp_path, suffixes=".org"))
    with pytest.raises(UsageError, match="suffixes are for folders of texts, but .* as lines"):
        read_corpus(Source(put("a.txt", "text"), "lines", suffixes=".txt"))
    for wrong in ("", "rst", "*.rst", ".rst;.md", ".a/b"):
        with pytest.raises(ValueError, match=r"suffixes must be such as \.txt,\.rst"):
            DataConfig(suffixes=wrong)


def test_a_folder_that_is_mostly_not_read_is_told_first_and_read_by_auto(
    put: Put, tmp_path: Path, call: Call
) -> None:
    put("z/stray.txt", "aa bb")
    put("z/b.md", "bb cc dd")
    noted = "note: only the .txt files of the folder are read, not 1 .md; "
    noted += "-s data.suffixes=.txt,.md reads all texts"
    assert noted in call("check", "z").err and "advice: " not in call("check", "z").err
    for number in range(30):
        put(f"z/{number}.rst", f"caf\u00e9{number} tree".encode("cp1252" if number else "utf-8"))
    done = call("check", "z")
    advice = [line for line in done.err.splitlines() if line.startswith("advice: ")]
    how = "-s data.suffixes=.rst,.txt,.md"
    assert (
        advice[0] == f"advice: 31 of 32 texts of the folder are not read; {how} reads all of them"
    )
    assert "-s data.encoding=utf-8,cp1252 reads them" in advice[1]
    assert any("data.markup=text" in line for line in advice)  # of files that are not read yet
    alone = call("fit", "z", "-b", "multinomial")
    assert alone.code == 2 and "1 document cannot be split" in alone.err
    assert f"{how} reads all texts" in alone.err
    put("z/stray-too.txt", "bb cc")
    assert "note: only the .txt files" in call("fit", "z", "-b", "multinomial").err
    taken = call("fit", "z", "-b", "multinomial", "--auto", "-o", "all", "--holdout", "none")
    assert "auto: data.suffixes=.rst,.txt,.md, data.encoding=utf-8,cp1252, data.markup" in taken.err
    assert "33 documents" in taken.err
    again = call("fit", "z", "-b", "multinomial", "--auto", "-o", "all", "--holdout", "none")
    assert again.code == 0
    chosen = ("-s", "data.suffixes=.txt")
    assert "auto: there is no advice" in call("fit", "z", "--auto", *chosen, "-o", "few").err


def test_a_number_of_no_column_is_told_with_the_first_line(put: Put) -> None:
    path = put("a.csv", "title,abstract\na,b\n")
    told = r"no field '17'; there are '0', '1'; the first line holds 'title', 'abstract'$"
    with pytest.raises(DataError, match=told):
        read_corpus(Source(path, text_field="17"))


@pytest.mark.parametrize("to", [None, "b.shards"])
def test_texts_of_single_letters_name_the_pattern(put: Put, call: Call, to: str | None) -> None:
    path = put("a.csv", "text\n1\n2\n")
    command = ("fit", path) if to is None else ("convert", path, to)
    told = "no words in 2 documents: a word has two letters or digits; "
    assert call(*command).err.endswith(f"{told}-s 'data.token_pattern=\\w+' takes one\n")
    done = call(*command, "-s", "data.token_pattern=x+")
    assert done.err.endswith("data.token_pattern 'x+' matches nothing in them\n")
    assert call("check", path, "-s", r"data.token_pattern=\w+").code == 0
    assert call("fit", put("b.csv", "text\n?\n!\n")).err.endswith("no words in 2 documents\n")


def test_check_refuses_lists_that_there_are_not_and_counts_what_is_left(
    put: Put, call: Call
) -> None:
    path = put("a.csv", "text\nthe oak tree\nthe ash tree\n")
    done = call("check", path, "-s", "data.stop_words=klingon")
    assert done.code == 2 and "data.stop_words: klingon is" in done.err
    done = call("check", path, "-s", "data.stop_words=english", "-s", "data.min_df=2")
    assert "note: the settings leave 1 words, 2 tokens\n" in done.err
    assert "the settings leave" not in call("check", path).err
