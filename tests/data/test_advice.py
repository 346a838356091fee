"""What ``check`` advises, and that ``fit --auto`` follows it."""

from __future__ import annotations

import io
import json
import random
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hiertopics.corpus.corpora import advising
from hiertopics.corpus.corpora.advising import _repeated_lines, advise, advise_on_lines, settings_of
from hiertopics.corpus.corpora.checking import advised, check
from hiertopics.corpus.corpora.inmemory import as_corpus
from hiertopics.corpus.data import languages
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.languages import COMMON, language_of, stop_lists, unparted
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.settings.config import DataConfig

N_DOCS, N_WORDS = 100, 60


def texts(seed: int = 0, n_docs: int = N_DOCS, length: int = 30) -> list[list[str]]:
    """Return documents of words that need no advice."""
    chance = random.Random(seed)
    words = [f"word{i}" for i in range(N_WORDS)]
    return [chance.choices(words, k=length) for _ in range(n_docs)]


def advice_on(documents: list[list[str]], *, text: bool = True) -> list[str]:
    corpus = as_corpus(documents)
    assert isinstance(corpus, Corpus)
    return [str(one) for one in advise(corpus, text=text)]


def test_a_sound_corpus_needs_no_advice() -> None:
    assert advice_on(texts()) == []


@pytest.mark.parametrize("language", COMMON)
def test_stop_words_tell_their_language(language: str) -> None:
    common = COMMON[language][:12]
    assert language_of(common).name == language
    (told,) = advice_on([[*document, *common] for document in texts()])
    assert f"are {language} stop words" in told
    assert told.endswith(f"; -s data.stop_words={language} leaves them out")


@pytest.mark.parametrize("language", COMMON)
def test_boilerplate_hides_no_stop_words(language: str) -> None:
    """Each page has 30 words of a footer once, and stop words often, in nine of ten pages."""
    footer, common = [f"footer{n}" for n in range(30)], COMMON[language][:12]
    documents = [
        [*document, *footer, *(3 * common if number % 10 else [])]
        for number, document in enumerate(texts())
    ]
    told = [one for one in advice_on(documents) if "stop words" in one]
    assert len(told) == 1 and f"words with most tokens are {language} stop words" in told[0]
    assert told[0].endswith(f"; -s data.stop_words={language} leaves them out")


def test_few_stop_words_are_no_language() -> None:
    assert advice_on([[*document, *COMMON["german"][:5]] for document in texts(n_docs=19)]) == []


def test_technical_terms_hide_no_stop_words() -> None:
    """The terms of a manual fill the first places by documents and by tokens alike."""
    terms, common = [f"term{n}" for n in range(16)], COMMON["english"][:12]
    documents = [
        [*document, *(2 * terms), *(common if number % 10 else common[:4])]
        for number, document in enumerate(texts())
    ]
    stop, *others = advice_on(documents)
    assert stop.startswith("12 of the 88 words in most documents are english stop words")
    assert stop.endswith("; -s data.stop_words=english leaves them out")
    assert not {*common[:4]} & {*re.findall(r"\w+", str(others))}


def test_many_numbers_are_said(tmp_path: Path) -> None:
    documents = [
        [*document, *(2 * ["57", "65"] * (number % 2))] for number, document in enumerate(texts())
    ]
    (told,) = advice_on(documents)
    assert told.startswith(
        "6% of the tokens are numbers (57, 65), which may lead topics; -s 'data."
    )
    assert advice_on(documents, text=False) == []
    pattern = shlex.split(told.partition("-s ")[2])[0].partition("=")[2]
    path = tmp_path / "a.txt"
    path.write_text("57 3d _1 x2 élan a\n")
    corpus = read_corpus(Source(path, "lines", token_pattern=pattern))
    assert set(corpus.vocab) == {"3d", "x2", "élan"}


def test_words_in_nearly_all_documents_are_boilerplate() -> None:
    documents = [[*document, "home", "menu"] for document in texts()]
    (told,) = advice_on(documents)
    assert told.startswith(
        "2 words in at least 80% of the documents (home, menu), 6% of all tokens"
    )
    assert told.endswith("-s data.max_df=0.5 leaves them out")
    rarer = [document + ["home"] * (number < 79) for number, document in enumerate(texts())]
    assert advice_on(rarer) == []


def with_lines(n_with: int, *lines: str) -> list[str]:
    """Return texts of two lines of their own, the last ``n_with`` of them with further lines."""
    pairs = [f"{' '.join(words)}\n{number} own" for number, words in enumerate(texts())]
    return [
        "\n".join((pair, *lines)) if number >= N_DOCS - n_with else pair
        for number, pair in enumerate(pairs)
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_lines_in_most_documents_are_boilerplate(turned: bool) -> None:
    def said(texts: list[str]) -> list[str]:
        return [str(one) for one in advise_on_lines(texts[::-1] if turned else texts, len(texts))]

    (told,) = said(with_lines(51, "  Skip to content ", "----", "2024", "x" * 41))
    assert told == (
        f"2 lines in more than 50% of the documents ('Skip to content', '{'x' * 40}...'); "
        "-s data.max_df=0.5 leaves them out"
    )
    assert said(with_lines(50, "Skip to content")) == []
    assert said(["Skip to content"] * N_DOCS) == []  # copies, which have an advice of their own
    assert said(with_lines(100, "Skip to content")[:19]) == []


def test_repeated_lines_are_those_of_a_plain_count() -> None:
    chance = random.Random(1)
    shares = [0.4, 0.45, 0.5, 0.55, 0.6]
    for n_docs in (20, 21, 33, 50):
        documents = [
            "\n".join(["own", "two", *(f"line {s}" for s in shares if chance.random() < s)])
            for _ in range(n_docs)
        ]
        counts = Counter(line for document in documents for line in document.split("\n"))
        expected = {line for line, seen in counts.items() if seen > 0.5 * n_docs}
        assert set(_repeated_lines(documents, n_docs)) == expected


def test_check_reads_lines_of_files_and_of_standard_input(
    call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for number, text in enumerate(with_lines(90, "Skip to content")):
        (folder / f"{number}.txt").write_text(text, encoding="utf-8")
    expected = "1 line in more than 50% of the documents ('Skip to content'); -s data.max_df=0.5"
    assert expected in call("check", folder).err
    texts = with_lines(90, "Skip to content")
    rows = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    stream = io.TextIOWrapper(io.BytesIO(rows.encode()), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stream)
    assert expected in call("check", "-", "--from", "jsonl").err


def test_stop_words_are_not_boilerplate_too() -> None:
    documents = [[*document, *COMMON["english"][:20]] for document in texts()]
    assert [told for told in advice_on(documents) if "max_df" in told] == []


def test_words_of_one_document() -> None:
    documents = [[*document, f"once{number}"] for number, document in enumerate(texts())]
    (told,) = advice_on(documents)
    assert told == "62% of the words are in one document alone; -s data.min_df=2 leaves them out"


def test_a_few_giants_are_told() -> None:
    documents = texts()
    documents[3] *= 26  # 780 of 3,750 tokens
    (told,) = advice_on(documents)
    assert told == (
        "1 document of 100 with 21% of the tokens (document 4), which will rule the tree; split "
        "them, move them away, or set data.repeat_cap=3"
    )
    documents[3] = documents[3][: 30 * 24]
    assert advice_on(documents) == []


def test_auto_tells_of_a_giant_whatever_it_is_called(tmp_path: Path) -> None:
    documents = texts()
    documents[3] *= 26
    for n, document in enumerate(documents):
        (tmp_path / f"notes on data.tokenizer {n}.txt").write_text(" ".join(document))
    told: list[object] = []
    advised(DataConfig(corpus=str(tmp_path)), told.append)
    (giant,) = map(str, told)
    assert "(notes on data.tokenizer 3), which will rule the tree" in giant


def test_documents_of_few_tokens() -> None:
    documents = [document[: 4 if n < 10 else 30] for n, document in enumerate(texts())]
    (told,) = advice_on(documents)
    assert told.startswith("10 of 100 documents have fewer than 5 tokens")


def test_copies_are_told() -> None:
    documents = texts()
    documents[1] = documents[2] = documents[0][::-1]
    (told,) = advice_on(documents)
    assert told.startswith("2 of 100 documents have exactly the words of an earlier one")
    documents[2] = [*documents[0], "word1"]
    assert advice_on(documents) == []


@pytest.mark.parametrize("word", ["日本語の文章", "ひらがな", "ภาษาไทย", "한국어", "text"])
def test_scripts_without_blanks(word: str) -> None:
    parted = word in ("한국어", "text")
    assert unparted([word]) == ([] if parted else [word])
    told = [one for one in advice_on([[word, *document] for document in [[word]] * 30])]
    assert ("without blanks" in " ".join(told)) is not parted
    assert "without blanks" not in " ".join(advice_on([[word]] * 30, text=False))


@pytest.fixture
def french(tmp_path: Path) -> Path:
    """Return a file of French lines with a word in all of them."""
    common = [*COMMON["french"][:20], "été", "accueil"]
    lines = [" ".join([*document, *common]) for document in texts()]
    path = tmp_path / "a.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_check_tells_advice_and_takes_settings(call: Callable[..., Any], french: Path) -> None:
    done = call("check", french, "--lines", "--json")
    assert done.code == 0
    assert '"key":"stop_words","value":"french"' in done.out.replace(" ", "")
    assert "advice: " in done.err
    mended = call("check", french, "--lines", "-s", "data.encoding=ascii")
    assert mended.code == 2  # été, être
    assert "not ascii text" in mended.out
    assert call("check", french, "--lines", "-s", "data.holdout=none").code == 2


def test_what_somebody_set_is_left() -> None:
    pytest.importorskip("stop_words")
    found = check(Path(__file__), data={"from_": "lines"})
    assert set(settings_of(found.advice)) <= {"stop_words", "max_df", "min_df"}


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("stop_words=french", {"max_df"}),
        ("stop_words=english", {"stop_words", "max_df"}),
        ("max_df=0.4", {"stop_words"}),
        ("max_df=0.9", {"stop_words", "max_df"}),
    ],
)
def test_check_advises_what_the_settings_do_not_do_already(
    french: Path, given: str, left: set[str]
) -> None:
    found = check(french, data={"from_": "lines"}, overrides=[f"data.{given}"])
    assert set(settings_of(found.advice)) == left == set(found.auto)


def test_the_advised_command_leaves_out_what_would_win_over_the_advice(
    call: Callable[..., Any], french: Path
) -> None:
    flags = ("-s", "data.stop_words=english", "-s", "data.min_df=1", "-s", "data.max_df=0.4")
    last = call("check", french, "--lines", *flags).err.splitlines()[-1]
    lists = "-s data.stop_words=english,french"
    told = (
        f"hiertopics fit {french} --from lines {lists} -s data.min_df=1 -s data.max_df=0.4 --auto"
    )
    assert last == f"to take this advice: {told}"


@pytest.fixture
def bilingual(tmp_path: Path) -> Path:
    """Return a file of lines, half of them Polish and half of them English."""
    common = COMMON["polish"][:16], COMMON["english"][:16]
    lines = [
        " ".join([*words, *(1 + place % 2) * common[place % 2]])
        for place, words in enumerate(texts())
    ]
    path = tmp_path / "two.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_two_languages_are_advised_and_taken_together(
    call: Callable[..., Any], bilingual: Path
) -> None:
    pytest.importorskip("stop_words")
    (one,) = check(bilingual, data={"from_": "lines"}).advice
    first, second = stop_lists(str(one.value))
    assert {first, second} == {"polish", "english"}
    assert f"are {first} stop words" in one.what
    assert re.search(f"; without these, .* are {second} stop words", one.what)
    fit = ("fit", bilingual, "--lines", "-b", "multinomial", "-o", "run")
    done = call(*fit, "--auto")
    assert done.code == 0 and f"auto: data.stop_words={first},{second}\n" in done.err
    words = (bilingual.parent / "run" / "vocab.txt").read_text(encoding="utf-8").split()
    assert not set(words) & {*COMMON["polish"], *COMMON["english"]}


def test_stop_words_that_are_set_stay_in_the_advice(
    call: Callable[..., Any], bilingual: Path
) -> None:
    pytest.importorskip("stop_words")
    (bilingual.parent / "own.txt").write_text("word1 word2\n")
    done = call("check", bilingual, "--lines", "-s", "data.stop_words=own.txt")
    value = re.search("-s data.stop_words=(own.txt,\\S+) leaves them out", done.err)
    assert value is not None and value[1].endswith(("polish,english", "english,polish"))
    assert done.err.endswith(f" -s data.stop_words={value[1]} --auto\n")
    both = call("check", bilingual, "--lines", "-s", f"data.stop_words={value[1]}")
    assert "stop words" not in both.err
    done = call("fit", bilingual, "--lines", "-b", "multinomial", "-s", "data.stop_words=polish")
    assert "note: " in done.err and "-s data.stop_words=polish,english drops them" in done.err


@pytest.mark.parametrize("language", COMMON)
def test_one_language_is_not_taken_for_two(language: str) -> None:
    """All its common words lead the corpus, those that it shares with others, too."""
    (told,) = advice_on([[*document, *COMMON[language]] for document in texts()])
    assert told.endswith(f"; -s data.stop_words={language} leaves them out")


def test_auto_takes_advice_where_nothing_is_set(french: Path) -> None:
    plain = DataConfig(corpus=str(french), from_="lines")
    assert advised(plain) == {"stop_words": "french", "max_df": 0.5}
    chosen = DataConfig(corpus=str(french), from_="lines", max_df=0.9)
    assert advised(chosen) == {"stop_words": "french"}


def test_fit_records_the_advice_that_it_takes(call: Callable[..., Any], french: Path) -> None:
    pytest.importorskip("stop_words")
    fit = ("fit", french, "--lines", "-b", "hdp-cvb0", "-s", "model.truncation=4", "-o", "run")
    done = call(*fit, "--auto", "-s", "data.min_df=1", "--iterations", 2)
    assert done.code == 0
    assert "auto: data.stop_words=french, data.max_df=0.5" in done.err
    config = (french.parent / "run" / "config.yaml").read_text(encoding="utf-8")
    assert "stop_words: french" in config
    assert "max_df: 0.5" in config
    words = (french.parent / "run" / "vocab.txt").read_text(encoding="utf-8").split()
    assert "accueil" not in words
    assert not set(words) & set(COMMON["french"])
    again = call(*fit, "--auto", "-s", "data.min_df=1", "--iterations", 3)
    assert again.code == 0
    by_hand = ("-s", "data.stop_words=french", "-s", "data.max_df=0.5", "--iterations", 4)
    assert call(*fit, *by_hand).code == 0


def test_auto_takes_the_delimiter_and_the_encoding(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    rows = [f"{'caf' + chr(233)} bread butter;{year}\n" for year in range(1990, 2002)]
    (tmp_path / "semi.csv").write_bytes(("text;year\n" + "".join(rows)).encode("cp1252"))
    checked = call("check", "semi.csv")
    assert checked.code == 2
    assert checked.err == "to take this advice: hiertopics fit semi.csv --auto\n"
    fit = ("fit", "semi.csv", "--auto", "-b", "multinomial", "-o", "run")
    done = call(*fit)
    assert done.code == 0
    assert "auto: data.delimiter=';', data.encoding=cp1252" in done.err
    config = (tmp_path / "run" / "config.yaml").read_text(encoding="utf-8")
    assert "encoding: cp1252" in config and "delimiter: ;" in config.replace("'", "")
    assert "caf\u00e9" in (tmp_path / "run" / "vocab.txt").read_text(encoding="utf-8").split()


@pytest.fixture
def without_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the package with the stop words of languages."""
    monkeypatch.setattr(languages, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "stop_words", None)


@pytest.mark.usefixtures("without_lists")
def test_advice_names_the_package_of_a_list_that_is_not_installed(
    call: Callable[..., Any], french: Path
) -> None:
    """The advised command runs, and tells what it had to leave out."""
    checked = call("check", french, "--lines")
    (told,) = [line for line in checked.err.splitlines() if "french stop words" in line]
    told = told.removeprefix("advice: ")
    assert told.endswith(
        "-s data.stop_words=french leaves them out (pip install 'hiertopics[words]')"
    )
    done = call(*in_a_shell(checked), *SMALL)
    assert done.code == 0 and f"advice: {told}" in done.err.splitlines()
    assert "auto: data.max_df=0.5" in done.err
    with_note = call("fit", french, "--lines", "-b", "multinomial", "-o", "plain")
    assert "drops them (pip install 'hiertopics[words]')" in with_note.err


@pytest.mark.usefixtures("without_lists")
def test_the_english_list_is_taken_without_the_package() -> None:
    common = (*COMMON["english"][:14], *COMMON["polish"][:14])
    corpus = as_corpus([[*document, *common] for document in texts()])
    assert isinstance(corpus, Corpus)
    found = advise(corpus, text=True)
    assert settings_of(found)["stop_words"] == "english"
    (told,) = [str(one) for one in found if one.key is None and "polish" in str(one)]
    assert "pip install 'hiertopics[words]'" in told


def test_what_parts_no_columns_is_no_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    for header, row in (("text", "aa; bb"), ("text,year;month", "aa; bb,1990")):
        path.write_text(f"{header}\n" + f"{row}\n" * 3)
        assert "delimiter" not in advised(DataConfig(corpus=str(path)))
    path.write_text("aa; bb\n" * 3)
    assert "delimiter" not in advised(DataConfig(corpus=str(path), text_field="0"))


def test_check_ends_with_the_command_that_takes_its_advice(
    call: Callable[..., Any], french: Path
) -> None:
    last = call("check", french, "--lines").err.splitlines()[-1]
    assert last == f"to take this advice: hiertopics fit {french} --from lines --auto"
    (french.parent / "few.txt").write_text("some plain words\n")
    assert "--auto" not in call("check", "few.txt", "--lines").err


SMALL = ("-b", "multinomial", "--iterations", "1", "-o", "run")


def in_a_shell(checked: Any) -> list[str]:
    """Return the arguments that a shell makes of the command that ``check`` ends with."""
    command = checked.err.splitlines()[-1].removeprefix("to take this advice: ")
    assert command.startswith("hiertopics fit ") and command.endswith(" --auto")
    return subprocess.run(
        ["bash", "-c", f'hiertopics() {{ printf "%s\\0" "$@"; }}; {command}'],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")[:-1]


@pytest.mark.parametrize(
    "name", ["plain.csv", "-odd name's.csv", "back\\slash.csv", "a tab\t.csv", "semi;colon.csv"]
)
def test_the_advised_command_runs_as_it_is_printed(
    call: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    """In a shell, with the flags that the corpus was checked with."""
    rows = [" ".join([*document, *COMMON["english"][:12]]) for document in texts()]
    (tmp_path / name).write_text("\n".join(["the body", *rows]) + "\n")
    flags = ["--text-field", "the body", "-s", "data.min_df=2"]
    words = in_a_shell(call("check", *flags, "--", name))
    done = call(*words, *SMALL)
    assert done.code == 0 and "auto: data.stop_words=english" in done.err
    config = (tmp_path / "run" / "config.yaml").read_text(encoding="utf-8")
    assert "min_df: 2" in config and "text_field: the body" in config


TWO_TEXTS = {
    "a header": ("title|section|summary", "--text-field summary"),
    "no header": ("sun rain|1|a long wind and snow", "--text-field 2 -s 'data.delimiter=|'"),
}
"""Tables of two columns of words, neither of them clearly the text."""


@pytest.mark.parametrize("case", TWO_TEXTS)
def test_the_advised_command_names_the_column_that_was_guessed(
    call: Callable[..., Any], tmp_path: Path, case: str
) -> None:
    first, named = TWO_TEXTS[case]
    rows = [f"sun rain {'abcdefgh'[i % 8]}|{i}|red wind snow ice" for i in range(12)]
    (tmp_path / "two.csv").write_text("\n".join([first, *rows]) + "\n")
    checked = call("check", "two.csv")
    assert checked.code == 2
    assert named.partition(" -s")[0] in checked.out
    assert checked.err == f"to take this advice: hiertopics fit two.csv {named} --auto\n"
    assert call(*in_a_shell(checked), *SMALL).code == 0
    config = (tmp_path / "run" / "config.yaml").read_text(encoding="utf-8")
    assert "delimiter: '|'" in config


def test_no_command_is_advised_that_would_be_refused(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    """The columns are parted by ;, and the third line has one too many."""
    (tmp_path / "uneven.csv").write_text("text;year\nred wind snow;1\nsun;2;3\n")
    checked = call("check", "uneven.csv")
    assert checked.code == 2 and "data.delimiter=';'" in checked.out
    assert checked.err == ""


def test_auto_without_a_corpus_is_refused_in_one_line(call: Callable[..., Any]) -> None:
    done = call("fit", "--auto")
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert "name a corpus: hiertopics fit CORPUS" in line


def test_blank_lines_are_counted_once(call: Callable[..., Any], tmp_path: Path) -> None:
    """As documents without text, and not as short ones, too."""
    (tmp_path / "a.txt").write_text("\n\n".join(" ".join(one) for one in texts()) + "\n\n")
    err = call("check", "a.txt", "--lines").err
    assert "(99 empty)" in err and "fewer than" not in err
    rows = [" ".join(one[: 3 if place % 2 else 9]) for place, one in enumerate(texts())]
    (tmp_path / "a.txt").write_text("\n\n".join(rows) + "\n")
    err = call("check", "a.txt", "--lines").err
    assert "advice: 50 of 100 documents with words have fewer than 5 tokens" in err


@pytest.mark.parametrize(
    ("word", "script", "how"),
    [
        ("日本語の文章", "Japanese", "data.tokenizer=nagisa:wakati"),
        ("中文文章没有空格", "Chinese", "data.tokenizer=jieba:lcut"),
        ("ภาษาไทย", "Thai", "data.tokenizer=pythainlp:word_tokenize"),
        ("ភាសាខ្មែរ", "Khmer", "data.tokenizer=MODULE:FUNCTION"),
    ],
)
def test_texts_without_blanks_are_told_how_to_be_cut(word: str, script: str, how: str) -> None:
    """And nothing else: their words are none."""
    (told,) = advice_on([[f"{word}{number}"] for number in range(30)])
    assert f"({script})" in told and how in told


JAPANESE = ["木の葉が落ちる", "森に木がある", "葉は緑になる"]


@pytest.fixture
def japanese(tmp_path: Path) -> Path:
    """Return a file of lines, each a sentence of its own."""
    lines = [f"{JAPANESE[place % 3]}{chr(0x4E00 + place)}" for place in range(60)]
    path = tmp_path / "ja.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_fit_of_sentences_begins_with_a_warning(
    call: Callable[..., Any], japanese: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advising, "find_spec", lambda name: None)
    fit = ("fit", japanese, "--lines", "-b", "multinomial")
    for auto in ((), ("--auto",)):
        done = call(*fit, *auto, "-o", f"run{len(auto)}")
        (line,) = [one for one in done.err.splitlines() if one.startswith("warning: ")]
        assert "(Japanese)" in line and "-s data.tokenizer=nagisa:wakati" in line
        assert "pip install nagisa" in line
        assert done.err.index(line) < done.err.index("next: ")
    (japanese.parent / "letters.py").write_text("def cut(text):\n    return list(text)\n")
    monkeypatch.syspath_prepend(str(japanese.parent))
    done = call(*fit, "-s", "data.tokenizer=letters:cut", "-o", "cut")
    assert done.code == 0 and "warning: " not in done.err


def test_auto_takes_an_installed_tokenizer_and_advice_on_its_words(
    call: Callable[..., Any], japanese: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (japanese.parent / "nagisa.py").write_text("def wakati(text):\n    return list(text)\n")
    monkeypatch.syspath_prepend(str(japanese.parent))
    monkeypatch.delitem(sys.modules, "nagisa", raising=False)
    expected = {"tokenizer": "nagisa:wakati", "max_df": 0.5, "min_df": 2}
    assert advised(DataConfig(corpus=str(japanese), from_="lines")) == expected
    checked = call("check", japanese, "--lines").err
    assert "sentences become words; -s data.tokenizer=nagisa:wakati cuts them\n" in checked
    assert "-s data.min_df=2" in checked
    fit = ("fit", japanese, "--lines", "-b", "multinomial", "--auto", "-o", "run")
    done = call(*fit)
    assert "auto: data.tokenizer=nagisa:wakati, data.max_df=0.5, data.min_df=2\n" in done.err
    assert done.code == 0 and "warning: " not in done.err
    words = (japanese.parent / "run" / "vocab.txt").read_text(encoding="utf-8").split()
    assert "森" in words and max(map(len, words)) == 1
    assert call(*fit).code == 0


def test_auto_tells_the_advice_that_it_cannot_take(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    rows = [" ".join(one[: 3 if place % 2 else 9]) for place, one in enumerate(texts())]
    (tmp_path / "a.txt").write_text("\n".join([*rows, "", ""]) + "\nword0 word1\n")
    fit = ("fit", "a.txt", "--lines", "-b", "multinomial", "--auto", "-o", "run")
    done = call(*fit)
    assert "\nadvice: 51 of 101 documents with words have fewer than 5 tokens" in done.err
    assert "2 of 103 documents have no text (a blank line)" in done.err
    assert call(*fit, "-q").err == ""


def test_a_tokenizer_that_cannot_be_imported_is_advised_but_not_taken(
    call: Callable[..., Any], japanese: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (japanese.parent / "nagisa.py").write_text("import lacking_package_of_it\n")
    monkeypatch.syspath_prepend(str(japanese.parent))
    monkeypatch.delitem(sys.modules, "nagisa", raising=False)
    done = call("check", japanese, "--lines")
    assert done.code == 0 and "--auto" not in done.err
    assert "(data.tokenizer: nagisa:wakati cannot be imported (No module named" in done.err
    done = call("fit", japanese, "--lines", "-b", "multinomial", "--auto", "-o", "run")
    assert done.code == 0 and "\nwarning: the texts are in a script without blanks" in done.err
