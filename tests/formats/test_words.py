"""How raw text becomes words: stop words, stems, phrases, n-grams, tokenizers, pages of HTML."""

from __future__ import annotations

import csv
import datetime
import re
import sys
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.corpora import conversion
from hiertopics.corpus.corpora.checking import advised
from hiertopics.corpus.corpora.dataset import load_corpus
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats import trust, words
from hiertopics.corpus.formats.html import text_of_html
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.words import LEMMATISED, stop_words
from hiertopics.settings.config import DataConfig, Phrases
from hiertopics.settings.history import left_out

text = pytest.importorskip("sklearn.feature_extraction.text")

TEXTS = [
    "New York is a city, and the Bank of England lends to New York.",
    "machine learning in New York; machine learning of topics",
    "The bank of England, machine learning, and the modelling of models",
    "",
    "york new learning machine",
]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["text"], *([line] for line in TEXTS)])
    return path


@pytest.fixture
def untrusting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "_named", set())


def corpus_of(path: Path, **data: Any) -> dict[str, list[int]]:
    """Return the column of each word."""
    corpus = load_corpus(DataConfig(corpus=str(path), **data))
    counts = corpus.counts.toarray().T.tolist()
    return dict(zip(corpus.vocab, counts, strict=True))


@pytest.mark.parametrize("reach", [(1, 1), (1, 2), (2, 3), (1, 4)])
@pytest.mark.parametrize("stop", [None, "english"])
def test_n_grams_are_those_of_scikit_learn(
    texts: Path, reach: tuple[int, int], stop: str | None
) -> None:
    vectorizer = text.CountVectorizer(ngram_range=reach, stop_words=stop)
    counts = vectorizer.fit_transform(TEXTS)
    found = corpus_of(texts, ngram_range=reach, stop_words=stop)
    assert list(found) == vectorizer.get_feature_names_out().tolist()
    assert np.array_equal(np.array(list(found.values())).T, counts.toarray())


def test_pattern_and_case(texts: Path) -> None:
    found = corpus_of(texts, lowercase=False, token_pattern="[A-Z][a-z]+")
    assert set(found) == {"New", "York", "Bank", "England", "The"}
    with pytest.raises(ValueError, match="token_pattern is no regular expression"):
        DataConfig(token_pattern="(a")
    with pytest.raises(ValueError, match="at most one group, got 2"):
        DataConfig(token_pattern="(a)(b)")
    for wrong in ((2, 1), (1,), (1, 2, 3)):
        with pytest.raises(ValueError, match="ngram_range must be two numbers"):
            DataConfig(ngram_range=wrong)


def joined_slowly(documents: list[list[str]], npmi: float, least: int) -> list[list[str]]:
    """Join phrases by the definition, with probabilities as numbers."""
    flat = [word for words in documents for word in words]
    pairs = [pair for words in documents for pair in pairwise(words)]
    chosen = set()
    for pair in set(pairs):
        both, first, second = (
            count / len(flat)
            for count in (pairs.count(pair), flat.count(pair[0]), flat.count(pair[1]))
        )
        score = 1.0 if both == 1 else log(both / (first * second)) / -log(both)
        if pairs.count(pair) >= least and score >= npmi:
            chosen.add(pair)
    result = []
    for words_of in documents:
        out: list[str] = []
        rest = list(words_of)
        while rest:
            size = 2 if tuple(rest[:2]) in chosen else 1
            out.append("_".join(rest[:size]))
            rest = rest[size:]
        result.append(out)
    return result


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=8), min_size=1, max_size=6),
    st.sampled_from([-0.5, 0.013, 0.217, 0.6]),
    st.integers(1, 3),
)
def test_phrases_are_what_their_definition_says(
    documents: list[list[str]], npmi: float, least: int
) -> None:
    lines = [" ".join(words_of) for words_of in documents]
    found = words.find_phrases(lambda: map(str.split, lines), npmi, least)
    joined = [words.join(words_of, found) for words_of in documents]
    assert joined == joined_slowly(documents, npmi, least)


@given(st.lists(st.text("a_", max_size=6), max_size=5), st.text("a_", max_size=4))
def test_a_pair_is_known_where_its_joint_is_a_word(vocab: list[str], second: str) -> None:
    pairs = {
        (word[:place], word[place + 1 :])
        for word in vocab
        for place in range(1, len(word) - 1)
        if word[place] == "_"
    }
    known = words.JoinedWords(vocab)
    assert bool(known) == bool(pairs) and all(pair in known for pair in pairs)
    asked = {(first, second) for first in (*vocab, "", "a", "_")}
    assert {pair for pair in asked if pair in known} == asked & pairs


def test_a_word_of_joints_takes_its_own_room_alone() -> None:
    """Its pairs, stored, would take 16 MB."""
    tracemalloc.start()
    known = words.JoinedWords(["_" * 4000])
    assert ("_" * 2000, "_" * 1999) in known and ("_" * 2000, "_" * 2000) not in known
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_npmi_of_words_that_only_occur_together_is_one() -> None:
    assert words.npmi(4, 4, 4, 100) == pytest.approx(1)
    assert words.npmi(7, 7, 7, 7) == 1
    assert words.npmi(1, 10, 10, 100) == pytest.approx(0)


def test_phrases_become_words_that_any_file_can_hold(texts: Path, tmp_path: Path) -> None:
    choice = Phrases(npmi=0.5, min_count=2, over_stop_words=True)
    found = corpus_of(texts, phrases=choice, stop_words="english")
    assert found["new_york"] == [2, 1, 0, 0, 0]
    assert found["machine_learning"] == [0, 2, 1, 0, 0]
    assert found["bank_england"] == [1, 0, 1, 0, 0], "stop words do not stand between"
    assert found["york"] == [0, 0, 0, 0, 1]
    conversion.convert(
        texts, tmp_path / "c.ldac", overrides={"data.phrases": {"npmi": 0.5, "min_count": 2}}
    )
    assert "new_york" in read_corpus(tmp_path / "c.ldac").vocab


def test_phrases_stand_side_by_side_in_the_text(tmp_path: Path) -> None:
    """Neither a stop word, nor a single letter, which is no word, is between their words."""
    path = tmp_path / "texts.txt"
    path.write_text("bank of oak gained a bark, learned-well\n" * 4)
    choice = Phrases(npmi=0.1, min_count=2)
    found = corpus_of(path, from_="lines", phrases=choice, stop_words="english")
    assert set(found) == {"bank", "oak_gained", "bark_learned"}
    over = corpus_of(
        path,
        from_="lines",
        phrases=Phrases(npmi=0.1, min_count=2, over_stop_words=True),
        stop_words="english",
    )
    assert set(over) == {"bank_oak", "gained_bark", "learned"}


@given(st.text("ab aBé_9.\u0301\n", max_size=40), st.sampled_from([None, r"\w+", "(a*)b?"]))
def test_stretches_are_the_words_in_their_order(line: str, pattern: str | None) -> None:
    source = Source(Path("a.txt"), token_pattern=pattern, phrases=Phrases())
    flat = [word for stretch in words.stretches(source)(line) for word in stretch]
    assert flat == words.cutter(source)(line)


def test_runs_from_before_join_words_over_stop_words() -> None:
    given: dict[str, Any] = {"data": {"phrases": {"min_count": 5}, "stop_lemmas": False}}
    assert left_out(given, "hdp-pcvb0", 5)["data"]["phrases"] == {"over_stop_words": True}  # type: ignore[index]
    assert "data" not in left_out(given, "hdp-pcvb0", 6)


def test_phrases_of_held_out_documents_may_be_unknown(texts: Path) -> None:
    how = {"phrases": Phrases(npmi=0.5, min_count=2), "holdout": "train:1@0"}
    assert "machine_learning" in corpus_of(texts, **how)
    found = corpus_of(texts, **how, vocabulary_from="training")
    assert "machine_learning" not in found


def test_shards_hold_the_words_of_the_text(texts: Path, tmp_path: Path) -> None:
    chosen = {
        "data.phrases": {"npmi": 0.5, "min_count": 2},
        "data.stemmer": "english",
        "data.stop_words": "english",
        "data.ngram_range": [1, 2],
    }
    made = conversion.convert(texts, tmp_path / "big.shards", overrides=chosen)
    plain = conversion.convert(texts, tmp_path / "plain.ldac", overrides=chosen)
    assert made.corpus.text_fingerprint == plain.corpus.text_fingerprint


def test_a_pipe_cannot_give_phrases(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "a.csv")
    source = Source(tmp_path / "a.csv", format="csv", phrases=Phrases())
    with pytest.raises(UsageError, match=r"a\.csv: data\.phrases read the texts several times"):
        read_corpus(source)


def test_stems_come_after_stop_words(texts: Path) -> None:
    pytest.importorskip("snowballstemmer")
    found = corpus_of(texts, stemmer="english", stop_words="english")
    assert found["model"] == [0, 0, 2, 0, 0], "modelling and models"
    assert "the" not in found and "citi" in found
    with pytest.raises(UsageError, match="klingon is no language; there are arabic"):
        corpus_of(texts, stemmer="klingon")


@pytest.mark.slow
def test_lemmas_are_base_forms_in_the_letters_of_the_words(tmp_path: Path) -> None:
    pytest.importorskip("simplemma")
    path = tmp_path / "a.csv"
    path.write_text("text\nthe mice were running\na mouse runs\n")
    found = corpus_of(path, lemmas="english", stop_words="english")
    assert {word: counts for word, counts in found.items()} == {"mouse": [1, 1], "run": [1, 1]}
    path.write_text("text\nHunde und Häuser\n")
    assert set(corpus_of(path, lemmas="german")) == {"hund", "und", "haus"}
    assert set(corpus_of(path, lemmas="german", lowercase=False)) == {"Hund", "und", "Haus"}


@pytest.mark.slow
def test_words_whose_lemma_is_a_stop_word_are_dropped(tmp_path: Path) -> None:
    """They came back under another form: no stop word itself, having has the lemma have."""
    pytest.importorskip("simplemma")
    path = tmp_path / "texts.jsonl"
    path.write_text('{"text": "having mice is doing well"}\n')
    how = {"lemmas": "english", "stop_words": "english"}
    before = set(corpus_of(path, **how, stop_lemmas=False))
    assert {"have", "mouse"} <= before
    found = set(corpus_of(path, **how))
    assert "mouse" in found and "have" not in found and found < before
    assert "have" in set(corpus_of(path, lemmas="english"))


def test_runs_from_before_keep_words_whose_lemma_is_a_stop_word() -> None:
    given = {"data": {"lemmas": "english"}}
    before = {"stop_lemmas": False, "markup": "all", "suffixes": None, "quoting": "double"}
    before |= {"letterless": True, "html_dialogs": True, "stop_rests": False}
    assert left_out(given, "hdp-pcvb0", 5)["data"] == before
    assert "data" not in left_out(given, "hdp-pcvb0", 6)


def test_lemmas_join_into_phrases(tmp_path: Path) -> None:
    """Forms of one phrase are one phrase."""
    pytest.importorskip("simplemma")
    path = tmp_path / "a.csv"
    path.write_text("text\nneural network\nneural networks here\nmany words there\n")
    how = {"lemmas": "english", "phrases": Phrases(npmi=0.5, min_count=2)}
    assert corpus_of(path, **how)["neural_network"] == [1, 1, 0]


def test_all_languages_of_lemmas_have_a_dictionary() -> None:
    dictionaries = pytest.importorskip("simplemma.strategies.dictionaries.dictionary_factory")
    assert set(LEMMATISED) <= dictionaries.SUPPORTED_LANGUAGES
    assert len(set(LEMMATISED.values())) == len(LEMMATISED) >= 40


@pytest.mark.parametrize(
    ("name", "told"),
    [("klingon", "klingon is no language; there are albanian"), ("de", "did you mean german?")],
)
def test_languages_without_lemmas_are_refused(texts: Path, name: str, told: str) -> None:
    pytest.importorskip("simplemma")
    with pytest.raises(UsageError, match=f"data.lemmas: .*{re.escape(told)}"):
        corpus_of(texts, lemmas=name)


def test_words_are_cut_or_replaced_but_not_both(texts: Path) -> None:
    with pytest.raises(ValueError, match="stemmer and lemmas both change the words"):
        corpus_of(texts, lemmas="english", stemmer="english")


OWN_NAMES = [
    ("deutsch", "german"),
    ("Deutsch", "german"),
    ("francais", "french"),
    ("français", "french"),
    ("fran\u0063\u0327ais", "french"),
    ("espanol", "spanish"),
    ("nederlands", "dutch"),
]


@pytest.mark.parametrize(("own", "meant"), OWN_NAMES[:1])
def test_lemmas_and_stems_know_own_names_of_languages(texts: Path, own: str, meant: str) -> None:
    pytest.importorskip("simplemma")
    pytest.importorskip("snowballstemmer")
    for key in ("lemmas", "stemmer"):
        with pytest.raises(UsageError, match=rf"data.{key}: {own} .* did you mean {meant}\?"):
            corpus_of(texts, **{key: own})


def test_stop_words_of_a_language(texts: Path, tmp_path: Path) -> None:
    pytest.importorskip("stop_words")
    path = tmp_path / "de.csv"
    path.write_text("text\nder Baum und das Blatt\n")
    assert set(corpus_of(path, stop_words="german")) == {"baum", "blatt"}
    with pytest.raises(UsageError, match="klingon is neither a file nor one of"):
        corpus_of(path, stop_words="klingon")
    with pytest.raises(UsageError, match=r"englisch is no language; did you mean english\?"):
        corpus_of(path, stop_words="englisch")
    for own, meant in OWN_NAMES:
        with pytest.raises(UsageError, match=rf"{own} is no language; did you mean {meant}\?"):
            corpus_of(path, stop_words=own)
    with pytest.raises(DataError, match=r"no\.txt: cannot be read"):
        corpus_of(path, stop_words="no.txt")


def test_several_lists_of_stop_words_are_separated_by_commas(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("the tree of wood leaf bark\n")
    own, odd = tmp_path / "own.txt", tmp_path / "own,too.txt"
    own.write_text("tree\n")
    odd.write_text("wood\n")
    source = Source(path, "lines", stop_words=f"english, {own}", stemmer=None, ngram_range=(1, 2))
    assert set(read_corpus(source).vocab) == {"wood", "leaf", "bark", "wood leaf", "leaf bark"}
    assert stop_words(f"{own},english", rests=True) == stop_words("english", rests=True) | {"tree"}
    assert stop_words(str(odd), rests=True) == {"wood"}  # a file of this name is one list
    with pytest.raises((DataError, UsageError), match="no.txt"):
        stop_words(f"{own},no.txt", rests=True)


CONTRACTED = "I don’t know: they've said it isn't dear, and won the trees\n"


@pytest.mark.parametrize("more", [{}, {"stemmer": "english"}, {"phrases": Phrases()}])
def test_rests_of_contractions_are_stop_words(tmp_path: Path, more: dict[str, Any]) -> None:
    """Stop words leave the texts or the vocabulary, by the other settings."""
    if "stemmer" in more:
        pytest.importorskip("snowballstemmer")
    path = tmp_path / "a.txt"
    path.write_text(CONTRACTED * 2)
    how = {"from_": "lines", "stop_words": "english", **more}
    left = set(corpus_of(path, **how))
    assert {"don", "ve", "isn"} == set(corpus_of(path, **how, stop_rests=False)) - left
    assert {"know", "said", "dear", "won"} <= left


def test_rests_of_contractions_are_told_by_their_language(tmp_path: Path) -> None:
    assert not stop_words("english", rests=False) & {"don", "doesn", "ll", "ve", "couldn"}
    assert stop_words("english", rests=True) >= {"don", "doesn", "ll", "ve", "couldn", "s", "t"}
    own = tmp_path / "own.txt"
    own.write_text("tree\n")
    assert stop_words(str(own), rests=True) == {"tree"}
    pytest.importorskip("stop_words")
    assert stop_words("french", rests=True) >= {"l", "d", "qu", "jusqu", "aujourd"}
    assert stop_words("italian", rests=True) >= {"l", "d", "dell", "quell", "un"}
    for language in ("french", "italian"):
        assert stop_words(language, rests=False) < stop_words(language, rests=True)


def test_runs_from_before_keep_rests_of_contractions() -> None:
    given: dict[str, Any] = {"data": {"stop_words": "english"}}
    before: Any = left_out(given, "hdp-pcvb0", 5)["data"]
    assert before["stop_rests"] is False
    assert "data" not in left_out(given, "hdp-pcvb0", 6)


def test_rests_are_dropped_by_stop_words_alone(tmp_path: Path) -> None:
    """Counts that are read without stop words keep all their words."""
    path = tmp_path / "a.ldac"
    path.write_text("3 0:1 1:2 2:1\n")
    path.with_suffix(".vocab").write_text("don\nve\ntree\n")
    assert set(corpus_of(path)) == {"don", "ve", "tree"}
    assert set(corpus_of(path, stop_words="english")) == {"tree"}
    assert set(corpus_of(path, stop_words="english", stop_rests=False)) == {"don", "ve", "tree"}


@pytest.mark.parametrize(
    ("name", "package"),
    [("stemmer", "snowballstemmer"), ("stop_words", "stop_words"), ("lemmas", "simplemma")],
)
def test_a_missing_package_is_named(
    texts: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=r"pip install 'hiertopics\[words\]'"):
        corpus_of(texts, **{name: "german"})


@pytest.fixture
def tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "mycut.py").write_text(
        "import re\ndef cut(text):\n    return text.split()\ndef wrong(text):\n    return text\n"
        "def ends(text):\n    return re.findall(r' |\\w+|[\\n]+-h\\n|\\n+', text)\nnothing = 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield "mycut:cut"
    sys.modules.pop("mycut", None)


@pytest.mark.usefixtures("untrusting")
def test_a_tokenizer_is_imported_only_if_it_is_trusted(texts: Path, tokenizer: str) -> None:
    with pytest.raises(UsageError, match="mycut:cut is code that .* a run names; trust_"):
        corpus_of(texts, tokenizer=tokenizer)
    assert "mycut" not in sys.modules
    trust.trust({"tokenizer": tokenizer})
    assert "York;" in corpus_of(texts, tokenizer=tokenizer)
    with pytest.raises(UsageError, match="code that a config file or a run names"):
        corpus_of(texts, tokenizer="mycut:wrong")


@pytest.mark.usefixtures("tokenizer")
def test_line_ends_that_a_tokenizer_returns_are_no_words(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "oak tree\\n\\n\\n-h\\nleaf"}\n')
    trust.trust({"tokenizer": "mycut:ends"})
    assert set(read_corpus(Source(path, tokenizer="mycut:ends", letterless=True)).vocab) == {
        *("oak", " ", "tree", "-h", "leaf")
    }


@pytest.mark.usefixtures("tokenizer")
def test_words_of_a_tokenizer_have_a_letter(tmp_path: Path) -> None:
    """A pattern takes no punctuation either. Marks of vowels count as letters."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "* oak = 5 \\u06f5 tree + ... 木 c++ x5 ्ร 。"}\n' * 2)
    trust.trust({"tokenizer": "mycut:cut"})
    found = read_corpus(Source(path, tokenizer="mycut:cut"))
    assert set(found.vocab) == {"oak", "tree", "木", "c++", "x5", "्ร"}
    kept = read_corpus(Source(path, tokenizer="mycut:cut", letterless=True))
    assert {"*", "=", "5", "...", "。"} <= set(kept.vocab)
    pairs = Source(path, tokenizer="mycut:cut", phrases=Phrases(npmi=0.1, min_count=2))
    assert {"tree_木", "c++_x5"} <= set(read_corpus(pairs).vocab)
    assert "oak_tree" not in read_corpus(pairs).vocab  # a number is between them


def test_runs_from_before_keep_words_of_a_tokenizer_without_letters() -> None:
    assert left_out({}, "hdp-pcvb0", 5)["data"]["letterless"] is True  # type: ignore[index]
    assert "data" not in left_out({}, "hdp-pcvb0", 6)


@pytest.mark.usefixtures("untrusting")
def test_a_tokenizer_of_the_current_folder_says_how_it_is_found(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "besidecut.py").write_text("")
    for name, told in (("besidecut:cut", True), ("elsewhere:cut", False)):
        trust.trust({"tokenizer": name})
        with pytest.raises(UsageError, match="cannot be imported") as caught:
            corpus_of(texts, tokenizer=name)
        assert ("with PYTHONPATH=." in str(caught.value)) is told


@pytest.mark.usefixtures("untrusting", "tokenizer")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("mycut", "must be module:function, got mycut"),
        ("mycut:gone", "cannot be imported"),
        ("gone.module:cut", "cannot be imported"),
        ("mycut:nothing", "is no function"),
        ("mycut:wrong", "must return a list of words"),
    ],
)
def test_what_is_no_tokenizer_is_told(texts: Path, name: str, problem: str) -> None:
    trust.trust({"tokenizer": name})
    with pytest.raises(UsageError, match=problem):
        corpus_of(texts, tokenizer=name)


@pytest.mark.parametrize(
    "how", [{"ngram_range": (1, 2)}, {"stemmer": "english"}, {"tokenizer": "a:b"}]
)
def test_counts_have_their_words_already(tmp_path: Path, how: dict[str, Any]) -> None:
    (tmp_path / "a.ldac").write_text("1 0:2\n")
    with pytest.raises(UsageError, match=f"{next(iter(how))} is for raw text"):
        corpus_of(tmp_path / "a.ldac", **how)


def test_html_is_read_as_it_is_seen() -> None:
    page = (
        "<!doctype html><title>Trees</title><style>p {color: red}</style>"
        "<script>var hidden = '<p>no</p>';</script><p>caf&eacute; &amp; <b>t</b>opic"
        "<p>next<br>line<template>unseen</template></p><!-- comment -->end"
    )
    assert text_of_html(page).split() == [
        *("Trees", "café", "&", "topic", "next", "line", "end"),
    ]


def test_a_folder_of_pages(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.html").write_text("<p>one <i>tree</i>")
    (folder / "b.md").write_text("# two leaves")
    (folder / "c.rst").write_text("three roots\n===========")
    found = read_corpus(folder)
    assert found.doc_ids == ("b", "c", "sub/a")
    assert "tree" in found.vocab and "color" not in found.vocab
    (folder / "d.txt").write_text("only this")
    assert read_corpus(folder).doc_ids == ("d",)


PAGE = (
    "<html><body><nav><ul><li><a href='/'>Menu</a></li></ul></nav>"
    "<main><h1>Oaks</h1><p>An oak is a <b>t</b>ree.</p></main>"
    "<footer>Imprint</footer></body></html>"
)


def test_the_main_part_of_pages(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse")
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in range(20):
        (folder / f"{number:02}.html").write_text(PAGE.replace("oak", f"oak{number}"))
    assert {"menu", "imprint", "tree"} <= set(read_corpus(folder).vocab)
    found = read_corpus(Source(folder, html="main", snippets=80))
    assert set(found.vocab) == {"oaks", "an", "is", "tree", *(f"oak{n}" for n in range(20))}
    assert isinstance(found, Corpus) and found.snippets is not None
    assert found.snippets[0] == "Oaks An oak0 is a tree."
    assert advised(DataConfig(corpus=str(folder)))["html"] == "main"


def test_dialogs_are_in_no_main_part(tmp_path: Path) -> None:
    pytest.importorskip("resiliparse")
    hidden = (
        "<div id='help-popup'><p>press</p></div><div class='a b-popup'>turn</div>"
        "<div role='dialog'>escape</div><dialog open>agree</dialog><div hidden>never</div>"
        "<div class='section' id='a-popup'>window</div>"
    )
    (tmp_path / "a.html").write_text(f"<body><main><p>An oak grows.</p>{hidden}</main></body>")
    shown = {"an", "oak", "grows", "window"}
    assert set(read_corpus(Source(tmp_path, html="main")).vocab) == shown
    asked = Source(tmp_path, html="main", html_dialogs=True)
    assert set(read_corpus(asked).vocab) == shown | {"press", "turn", "escape", "agree"}


def test_the_main_part_of_what_is_no_page_is_refused(texts: Path) -> None:
    with pytest.raises(UsageError, match=r"html is for folders of pages, but .* is read as csv"):
        corpus_of(texts, html="main")


def test_pages_need_a_package_for_their_main_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    monkeypatch.setitem(sys.modules, "resiliparse.extract.html2text", None)
    with pytest.raises(UsageError, match=r"pip install 'hiertopics\[html\]'"):
        read_corpus(Source(tmp_path, html="main"))


def test_a_folder_without_texts_says_what_it_holds(tmp_path: Path) -> None:
    for name in ("a.pdf", "b.pdf", "c"):
        (tmp_path / name).touch()
    with pytest.raises(DataError, match=r"holds no documents: no \.txt .*but .*2 \.pdf"):
        read_corpus(tmp_path)


def test_parquet_is_a_table_of_texts(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = arrow.table(
        {
            "body": ["a tree", "the leaves"],
            "day": [datetime.date(2001, 2, 3), None],
            "who": [["ann", "bob"], []],
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    how: dict[str, Any] = {"text_field": "body", "group_field": "who", "id_field": "day"}
    with pytest.raises(DataError, match=r"a\.parquet:2: expected a string in field 'day'"):
        read_corpus(Source(tmp_path / "a.parquet", **how))
    found = read_corpus(Source(tmp_path / "a.parquet", metadata=True, text_field="body"))
    assert found.vocab == ("leaves", "the", "tree")
    assert found.metadata["day"].names == ("2001-02-03",)  # type: ignore[union-attr]
    with pytest.raises(DataError, match="no field 'text'; there are 'body', 'day', 'who'"):
        read_corpus(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"no parquet")
    with pytest.raises(DataError, match=r"b\.parquet: cannot be read as parquet"):
        read_corpus(tmp_path / "b.parquet")
