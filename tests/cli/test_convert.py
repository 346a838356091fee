"""convert: what it says, which files it writes, and which it never touches."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hiertopics
from hiertopics.base.errors import ConfigError, UsageError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source

Call = Callable[..., Any]

FILES = {
    "a.ldac": "2 0:1 2:2\n0\n1 1:4\n",
    "a.vocab": "ant\nbee\ncat\n",
    "a.authors": "ann bo\n\nann\n",
    "a.labels": "1\n0\n0 1\n",
    "a.labels.key": "law\nart\n",
    "plain.ldac": "2 0:1 2:2\n1 1:4\n",
    "docword.k.txt": "2\n2\n3\n1 1 1\n1 2 1\n2 2 1\n",
    "vocab.k.txt": "x\ny\n",
    "text.jsonl": '{"text": "two cats", "id": "x", "who": ["ann"]}\n'
    '{"text": "a dog", "id": "y", "who": []}\n',
    "net.txt": "1 2\n2 2\n",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return the test's folder with all the files in it."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def read(path: Path, **options: Any) -> Corpus:
    corpus = read_corpus(Source(path, **options))
    assert isinstance(corpus, Corpus)
    return corpus


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_stdout_is_the_path_and_stderr_says_what_was_read_and_written(
    call: Call, place: Path
) -> None:
    outcome = call("convert", "a.ldac", "b.mtx")
    assert (outcome.code, outcome.out) == (0, "b.mtx\n")
    assert outcome.err.splitlines() == [
        "read: a.ldac (ldac), a.vocab, a.authors, a.labels",
        "wrote: b.vocab, b.authors, b.authors.key, b.labels, b.labels.key, b.mtx: "
        "3 documents (1 empty), 3 words (0 unused), 7 tokens",
    ]
    assert read(place / "b.mtx").fingerprint == read(place / "a.ldac").fingerprint


def test_json_is_one_object(call: Call, place: Path) -> None:
    record = json.loads(call("convert", "plain.ldac", "b.out", "--to", "svmlight", "--json").out)
    assert record == {
        "path": "b.out", "format": "svmlight", "n_docs": 2, "n_empty": 0, "n_words": 3,
        "n_unused_words": 0, "n_pairs": 3, "n_tokens": 7, "files": ["b.vocab", "b.out"],
    }  # fmt: skip
    assert (place / "b.out").read_text() == "1:1 3:2\n2:4\n"


def test_names_beside_each_other_share_their_side_files(call: Call, place: Path) -> None:
    before = contents(place)
    record = json.loads(call("convert", "a.ldac", "a.npz", "--json").out)
    assert record["files"] == ["a.npz"]
    after = contents(place)
    assert {name: after[name] for name in before} == before
    assert read(place / "a.npz").fingerprint == read(place / "a.ldac").fingerprint


def test_options_say_how_the_corpus_is_read(call: Call, place: Path) -> None:
    words = ("--from", "ldac", "--vocab", "a.vocab", "--labels", "a.labels", "--groups", "years")
    shutil.move(place / "a.ldac", place / "corpus.x")
    (place / "years").write_text("1990\n1990\n1991\n")
    assert call("convert", "corpus.x", "b.ldac", *words).code == 0
    back = read(place / "b.ldac")
    assert back.vocab == ("ant", "bee", "cat")
    assert back.groups is not None and back.groups.names == ("1990", "1991")
    assert back.labels is not None and back.labels.names == ("law", "art")


def test_words_are_chosen_by_settings(call: Call, place: Path) -> None:
    (place / "stop").write_text("bee\n")
    assert call("convert", "a.ldac", "b.ldac", "-s", "data.stop_words=stop").code == 0
    back = read(place / "b.ldac")
    assert back.vocab == ("ant", "cat") and back.doc_lengths.tolist() == [3, 0, 0]


def test_text_becomes_counts_and_the_loss_of_names_is_told(call: Call, place: Path) -> None:
    fields = ("--id-field", "id", "--group-field", "who")
    outcome = call("convert", "text.jsonl", "text.ldac", *fields)
    assert outcome.code == 0
    assert "note: the names of the documents are not written; their order is kept\n" in outcome.err
    back = read(place / "text.ldac")
    assert back.vocab == ("cats", "dog", "two") and back.groups is not None
    assert "documents are called by the field 'id'" in call("convert", "text.jsonl", "b.ldac").err
    (place / "bare.jsonl").write_text('{"text": "two cats"}\n')
    assert "note" not in call("convert", "bare.jsonl", "c.ldac").err


@pytest.mark.parametrize("name", ["b.mtx", "b.shards"])
def test_where_to_write_may_be_an_option(name: str, place: Path, call: Call) -> None:
    for number, words in enumerate([(name,), ("-o", name)]):
        outcome = call("convert", "a.ldac", *words)
        assert outcome.code == 0 and outcome.out == f"{name}\n"
        (place / name).rename(place / f"{number}-{name}")
    sizes = [
        [file.stat().st_size for file in sorted((place / f"{number}-{name}").rglob("*"))]
        for number in range(2)
    ]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("command", [("convert",), ("check",), ("fit", "--holdout", "none")])
def test_what_the_reader_remarks_is_told(call: Call, place: Path, command: tuple[str, ...]) -> None:
    small = ("-s", "model.truncation=2", "--iterations", 1, "-b", "hdp-pcvb0", "-o", "run")
    rest = {"convert": ("b.mtx",), "check": (), "fit": small}[command[0]]
    outcome = call(*command, "net.txt", "--from", "edges", *rest)
    assert outcome.code == 0 and "note: 1 self-loop was dropped\n" in outcome.err
    if command[0] == "fit":
        assert "note: 1 self-loop was dropped\n" in (place / "run" / "log.txt").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a.ldac", "a.ldac"), "a.ldac is read from, it cannot be replaced"),
        (("a.ldac", "sub/../a.ldac"), "a.ldac is read from, it cannot be replaced"),
        (("a.ldac", "link.ldac"), "link.ldac is read from, it cannot be replaced"),
        (("a.ldac", "a.vocab", "--to", "npz"), "a.vocab is read from"),
        (("a.ldac", "a.labels.key", "--to", "npz"), "a.labels.key is read from"),
        (("a.ldac", "a.npz", "--vocab", "three"), "a.vocab is read from"),
        (("a.ldac", "a.npz", "-s", "data.max_df=1"), "a.vocab with other words would be taken"),
        (("plain.ldac", "plain.mtx", "-s", "data.min_df=2"), "plain.vocab with other words"),
        (("docword.k.txt", "k.ldac", "-s", "data.min_df=2"), "taken for the vocabulary of docword"),
        (("folder", "folder/a.txt", "--to", "ldac"), "lies in folder"),
        (("a.ldac", "b.jsonl"), "jsonl is only read; what can be written is ldac"),
        (
            ("a.ldac", "b.xyz"),
            "shards, or name it by --to\n",
        ),
        (("a.ldac", "b.mtx", "--to", "mtxx"), "unknown format 'mtxx'"),
        (("a.ldac", "b.npz.gz"), "compressed already"),
        (("gone.ldac", "b.mtx"), "gone.ldac: no such file"),
        (("a.ldac", "b.edges"), "cannot be written as edges: a count of 4 would be lost"),
        (("a.ldac", "b.mtx", "-s", "data.min_dff=2"), "unknown key 'min_dff' under data"),
        (("a.ldac", "b.mtx", "-s", "model.alpha=2"), "unknown key 'model'"),
        (("a.ldac", "b.mtx", "-s", "seed=2"), "unknown key 'seed'"),
        (("a.ldac", "b.mtx", "-s", "data.holdout=none"), "data.holdout has no meaning for convert"),
        (("a.ldac",), "say where to write: OUT, or -o FILE"),
        (("a.ldac", "b.mtx", "-o", "b.npz"), "say where to write: OUT, or -o FILE"),
        (("a.ldac", "b.mtx", "-s", "data.corpus=x"), "data.corpus has no meaning for convert"),
        (("a.ldac", "b.mtx", "-s", "data.min_df=9"), "no word is left"),
        (("a.ldac", "b.mtx", "--text-field", "x"), "is for raw text"),
    ],
)
def test_what_cannot_be_done_is_told_and_nothing_is_touched(
    call: Call, place: Path, words: tuple[str, ...], message: str
) -> None:
    (place / "three").write_text("x\ny\nz\n")
    (place / "folder").mkdir()
    (place / "folder" / "a.txt").write_text("some words\n")
    (place / "sub").mkdir()
    os.symlink("a.ldac", place / "link.ldac")
    before = contents(place)
    outcome = call("convert", *words)
    assert (outcome.code, outcome.out) == (2, "") and "Traceback" not in outcome.err
    assert message in outcome.err
    assert contents(place) == before


def test_pruned_words_go_where_they_are_not_taken_for_those_of_the_corpus(
    call: Call, place: Path
) -> None:
    (place / "sub").mkdir()
    assert call("convert", "docword.k.txt", "sub/k.ldac", "-s", "data.max_df=1").code == 0
    assert read(place / "docword.k.txt").n_words == 2
    assert read(place / "sub" / "k.ldac").vocab == ("x",)


def test_a_failure_in_the_middle_leaves_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise OSError(28, "No space left on device")

    before = contents(place)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(hiertopics.base.errors.RunError, match="No space left"):
        hiertopics.convert(place / "a.ldac", place / "b.mtx")
    assert contents(place) == before


def test_the_function_takes_the_same_words(place: Path) -> None:
    done = hiertopics.convert(
        place / "a.ldac",
        place / "b.out",
        to="uci",
        data={"from_": "ldac", "vocab": str(place / "a.vocab")},
        overrides=["data.max_df=1.0"],
    )
    assert (done.path, done.format) == (place / "b.out", "uci")
    assert done.source.groups == place / "a.authors" and done.notes == ()
    assert {path.name for path in done.files} == {
        "b.out", "b.vocab", "b.authors", "b.authors.key", "b.labels", "b.labels.key",
    }  # fmt: skip
    assert read(place / "b.out", format="uci").fingerprint == done.corpus.fingerprint
    with pytest.raises(ConfigError, match="unknown key"):
        hiertopics.convert(place / "a.ldac", place / "c.mtx", data={"vocabulary": "x"})
    with pytest.raises(UsageError, match="only read"):
        hiertopics.convert(place / "a.ldac", place / "c.tsv")
