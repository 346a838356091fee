"""Corpora from standard input, and words of raw text through the commands."""

from __future__ import annotations

import errno
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hiertopics.corpus.formats import trust

pytest.importorskip("sklearn.feature_extraction.text")

LINES = "".join(
    json.dumps({"text": text}) + "\n"
    for text in ["new york has trees", "new york has leaves", "a wood of trees", "leaves fall"]
)
FLAGS = ("-b", "lda-gibbs", "--iterations", 1, "--holdout", "none", "-q", "-s", "model.n_topics=3")

Put = Callable[[str], None]


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Put:
    """Return a function that puts a text on standard input."""

    def put(content: str) -> None:
        stream = io.TextIOWrapper(io.BytesIO(content.encode()))
        monkeypatch.setattr(sys, "stdin", stream)

    return put


def test_a_fit_of_standard_input_is_a_run_that_only_the_same_input_continues(
    call: Callable[..., Any], piped: Put, tmp_path: Path
) -> None:
    run = tmp_path / "runs" / "stdin-lda-gibbs-s0"
    for iterations in (1, 2):
        piped(LINES)
        done = call("fit", "-", "--from", "jsonl", *FLAGS, "--iterations", iterations)
        assert (done.code, done.out.strip()) == (0, "runs/stdin-lda-gibbs-s0")
        assert json.loads((run / "manifest.json").read_text())["iterations"] == iterations
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    piped(LINES + LINES)
    done = call("fit", "-", "--from", "jsonl", *FLAGS)
    assert done.code == 2 and "a corpus with other contents" in done.err
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_standard_input_needs_a_format_and_leaves_nothing_of_a_mistake(
    call: Callable[..., Any], piped: Put, tmp_path: Path
) -> None:
    piped(LINES)
    done = call("fit", "-", *FLAGS)
    assert done.code == 2 and "- has no suffix: name its format by --from, ldac," in done.err
    piped("{")
    done = call("fit", "-", "--from", "jsonl", *FLAGS)
    assert done.code == 2 and ":1: not JSON" in done.err
    piped(LINES)
    done = call("fit", "-", "--from", "shards", *FLAGS)
    assert done.code == 2 and "name its format" in done.err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_full_disk_leaves_nothing_of_standard_input(
    call: Callable[..., Any], piped: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    piped(LINES)
    monkeypatch.setattr("hiertopics.corpus.corpora.inmemory._copied", full)
    done = call("fit", "-", "--from", "jsonl", "-o", "run", *FLAGS)
    assert done.code == 1 and not (tmp_path / "run").exists()
    assert "cannot write run/corpus/stdin: No space left on device" in done.err


def test_without_a_pipe_nothing_is_read(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    done = call("fit", "-", "--from", "jsonl", *FLAGS)
    assert done.code == 2 and "reads the corpus from a pipe, but there is none" in done.err


def test_check_tells_lines_of_standard_input(call: Callable[..., Any], piped: Put) -> None:
    piped(LINES + "[]\n")
    done = call("check", "-", "--from", "jsonl")
    assert done.code == 2
    expected = "-:5: expected one JSON object per line, got '[]'; --from json reads an array\n"
    assert done.out == expected
    piped(LINES)
    done = call("check", "-", "--from", "jsonl")
    assert done.code == 0 and done.err.startswith("- (jsonl): 4 documents")


def test_new_texts_are_cut_like_those_of_the_run(call: Callable[..., Any], tmp_path: Path) -> None:
    """Words, phrases and stop words of a run: its own texts hold nothing unknown."""
    (tmp_path / "a.jsonl").write_text(LINES)
    how = ("-s", "data.phrases.min_count=2", "-s", "data.stop_words=english")
    assert call("fit", "a.jsonl", "-o", "run", *FLAGS, *how).code == 0
    assert "new_york" in (tmp_path / "run" / "vocab.txt").read_text().split()
    done = call("infer", "run", "a.jsonl", "-o", "a.csv")
    assert done.code == 0 and " 0 unknown tokens" in done.err
    (tmp_path / "b.jsonl").write_text('{"text": "york of new york"}\n')
    done = call("infer", "run", "b.jsonl", "-o", "b.csv")
    assert "1 document, 1 token, 1 unknown token skipped" in done.err
    assert "no word that the run knows" not in done.err


def test_documents_without_a_known_word_are_counted(
    call: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text(LINES)
    assert call("fit", "a.jsonl", "-o", "run", *FLAGS).code == 0
    unknown = '{"text": "zzzz qqqq"}\n'
    (tmp_path / "b.jsonl").write_text(f'{{"text": "york"}}\n{unknown}')
    done = call("infer", "run", "b.jsonl", "-o", "b.csv")
    assert done.code == 0 and "note: 1 document has no word that the run knows;" in done.err
    (tmp_path / "c.jsonl").write_text(2 * unknown)
    done = call("infer", "run", "c.jsonl", "-o", "c.csv")
    assert "note: 2 documents have no word that the run knows;" in done.err


def test_the_tokenizer_of_a_run_is_imported_when_asked_for(
    call: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    (tmp_path / "a.jsonl").write_text(LINES)
    (tmp_path / "runcut.py").write_text("def cut(text):\n    return text.upper().split()\n")
    request.addfinalizer(lambda: sys.modules.pop("runcut", None))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(trust, "_named", set())
    named = ("-s", "data.tokenizer=runcut:cut")
    assert call("fit", "a.jsonl", "-o", "run", *FLAGS, *named).code == 0
    corpus = json.loads((tmp_path / "run" / "manifest.json").read_text())["corpus"]
    assert corpus["tokenizer"] == "runcut:cut" and len(corpus["tokenizer_hash"]) == 64

    monkeypatch.setattr(trust, "_named", set())
    monkeypatch.delitem(sys.modules, "runcut")
    others = (
        ("infer", "run", "a.jsonl", "-o", "a.csv"),
        ("fit", "-c", "run/config.yaml", "a.jsonl", "-o", "run2", "-q"),
        ("refit", "run", 0, "-o", "run3", "-q"),
    )
    for words_of in others:
        done = call(*words_of)
        assert done.code == 2 and "code that a config file or a run names; --trust-tok" in done.err
        assert "runcut" not in sys.modules

    monkeypatch.setattr(trust, "_named", set())
    done = call("infer", "run", "a.jsonl", "-o", "a.csv", "--trust-tokenizer")
    assert done.code == 0 and " 0 unknown tokens" in done.err and "warning" not in done.err

    (tmp_path / "runcut.py").write_text("def cut(text):\n    return text.split()\n")
    monkeypatch.delitem(sys.modules, "runcut")
    done = call("infer", "run", "a.jsonl", "-o", "a.csv", "--trust-tokenizer")
    assert "warning: runcut:cut has changed since the fit" in done.err


@pytest.fixture
def texts(call: Callable[..., Any], tmp_path: Path) -> Path:
    """Return a run of raw texts whose file has a field of names."""
    lines = [json.loads(line) | {"key": f"k{n}"} for n, line in enumerate(LINES.splitlines())]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert call("fit", "a.jsonl", "-o", "runs/a", "--id-field", "key", *FLAGS).code == 0
    return tmp_path / "runs" / "a"


@pytest.mark.parametrize("words", [("runs/a",), ("runs/a", "-"), ("-",), ()])
def test_infer_shows_where_lines_of_standard_input_lie(
    call: Callable[..., Any], piped: Put, texts: Path, words: tuple[str, ...]
) -> None:
    piped("new york has yeti trees\n\nyeti\n")
    done = call("infer", *words)
    assert done.code == 0, done.err
    first, topic, *rest = done.out.splitlines()
    assert first == "1  5 words, 20% unknown: new york has yeti trees"
    share, number, name = re.fullmatch(r"   (0\.\d\d)  \[(\d+)\] (.+)", topic).groups()  # type: ignore[union-attr]
    assert 0.3 < float(share) <= 1
    record = json.loads((texts / "tree.json").read_text())["nodes"][int(number)]
    assert {word for word, _ in record["words"]} >= {*name.split()}
    assert "2  0 words" in rest and "3  1 word, 100% unknown: yeti" in rest
    assert rest.count("   not placed: it has no word that the run knows") == 2
    assert "each line of standard input is a document" in done.err
    assert not [*texts.parents[1].glob("*.csv")]


def test_infer_calls_a_topic_by_its_label(
    call: Callable[..., Any], piped: Put, texts: Path
) -> None:
    for node in range(3):
        call("label", texts, node, f"the label {node}")
    piped("new york has trees\n")
    told = call("infer", texts).out.splitlines()[1]
    assert re.fullmatch(r"   0\.\d\d  \[(\d)\] the label \1", told)


def test_infer_reads_json_from_a_pipe_and_shows_records(
    call: Callable[..., Any], piped: Put, texts: Path
) -> None:
    (texts.parents[1] / "new.jsonl").write_text('{"text": "york yeti", "key": "n"}\n')
    call("infer", texts, "new.jsonl", "-o", "new_placed.jsonl")
    piped('{"text": "york yeti", "key": "n"}\n')
    done = call("infer", texts, "--json")
    assert done.out == (texts.parents[1] / "new_placed.jsonl").read_text()
    assert json.loads(done.out)["name"] == "n"
    piped('{"text": "york yeti", "key": "n"}\n')
    assert call("infer", texts).out.startswith("n  2 words, 50% unknown: york yeti\n")
    piped("york\n")
    assert call("infer", texts, "-", "-o", "new.csv").out == "new.csv\n"
    assert (texts.parents[1] / "new.csv").read_text().splitlines()[1].startswith("1,,1,0,")


def test_infer_says_what_is_wrong_with_standard_input(
    call: Callable[..., Any], piped: Put, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped("")
    done = call("infer", texts)
    assert (done.code, done.out) == (2, "") and "error: -: holds no documents" in done.err
    piped("{\n")
    assert "error: -:1: not JSON" in call("infer", texts).err
    monkeypatch.setattr(sys, "stdin", None)
    done = call("infer", texts)
    assert done.code == 2 and "missing argument 'CORPUS'" in done.err


def test_a_run_of_counts_reads_its_own_format_from_a_pipe(
    call: Callable[..., Any], piped: Put, finished: Callable[..., Path], tiny_file: Path
) -> None:
    """And a tree shows the way to the main topic of a document."""
    piped("1 0:2\n")
    done = call(
        "infer", finished("nhdp-variational"), "-", "--vocab", tiny_file.with_suffix(".vocab")
    )
    assert done.code == 0, done.err
    head, way, *topics = done.out.splitlines()
    assert head == "1  2 words"
    assert re.fullmatch(r"   lies in (\[\d+\]( \w+){1,2}( [01]\.\d\d)?( > )?)+", way)
    shares = re.findall(r"\[(\d+)\](?: \w+){1,2} [01]\.\d\d", way)
    listed = [line.split("[")[1].split("]")[0] for line in topics]
    assert sorted({*shares, *listed}) == sorted([*shares, *listed]), "a node has one share"
    assert topics and "each line" not in done.err
