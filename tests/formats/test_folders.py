"""Folders of texts: by every name that a folder can have, and with whatever lies in them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hiertopics.base.errors import DataError
from hiertopics.corpus.corpora.checking import advised, check
from hiertopics.corpus.formats import plaintexts
from hiertopics.corpus.formats.opening import lines
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.settings.config import DataConfig

Call = Callable[..., Any]
Put = Callable[[str, str], Path]
NAMES = [".", "./", "../texts", "..", "sub/..", "sub/../"]
SETTINGS = ("-b", "hdp-pcvb0", "-s", "model.truncation=3", "--iterations", 2, "-q")


@pytest.fixture
def texts(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with two texts the current one."""
    put("texts/a.txt", "tree leaf tree\n")
    put("texts/sub/b.txt", "leaf wood leaf\n")
    monkeypatch.chdir(tmp_path / "texts")
    return tmp_path / "texts"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("texts")
def test_a_folder_by_any_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "..":
        monkeypatch.chdir("sub")
    assert read_corpus(Source(Path(name))).n_docs == 2
    assert check(name).shape["n_docs"] == 2


@pytest.mark.parametrize("name", [".", ".."])
@pytest.mark.usefixtures("texts")
def test_files_beside_a_folder_are_found(put: Put, name: str, monkeypatch: Any) -> None:
    put("texts.authors", "ann\nbob\n")
    if name == "..":
        monkeypatch.chdir("sub")
    groups = read_corpus(Source(Path(name))).groups
    assert groups is not None and groups.names == ("ann", "bob")


def test_the_current_folder_in_every_command(
    texts: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(texts)
    run = tmp_path / "run"
    assert call("fit", ".", *SETTINGS, "--holdout", "none", "-o", run).code == 0
    assert call("check", ".").code == 0
    assert call("convert", ".", tmp_path / "a.ldac").code == 0
    assert call("infer", run, ".", "-o", tmp_path / "theta.npz").code == 0


def test_runs_in_the_folder_are_no_texts(
    texts: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fit of the current folder writes runs/ into it, and continues with the same command."""
    monkeypatch.chdir(texts)
    first = call("fit", ".", *SETTINGS, "--holdout", "none")
    assert (first.code, first.out) == (0, "runs/texts-hdp-pcvb0-s0\n")
    again = call("fit", ".", *SETTINGS, "--holdout", "none", "--iterations", 3)
    assert (again.code, again.err) == (0, "")
    assert check(texts).shape["n_docs"] == 2


@pytest.mark.parametrize("command", ["fit", "check", "convert", "infer"])
def test_no_name_is_no_corpus(
    command: str, call: Call, tmp_path: Path, finished: Callable[..., Path]
) -> None:
    after: dict[str, list[Any]] = {
        "convert": [tmp_path / "a.ldac"],
        "infer": ["-o", tmp_path / "theta.npz"],
    }
    run = [finished()] if command == "infer" else []
    outcome = call(command, *run, "", *after.get(command, []))
    assert outcome.code == 2 and outcome.err.count("\n") == 1
    assert "the name of the corpus is empty" in outcome.err


@pytest.mark.parametrize("command", ["fit", "check"])
def test_the_root_of_all_folders_is_read(command: str, call: Call, monkeypatch: Any) -> None:
    """Not read in the test: what matters is that its name, which is empty, is no obstacle."""
    monkeypatch.setattr(Path, "rglob", lambda *_: iter(()))
    outcome = call(command, "/")
    assert outcome.code == 2 and "holds no documents" in outcome.err + outcome.out


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_dangling(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize("make", [make_pipe, make_link, make_dangling, Path.mkdir])
def test_what_is_no_file_is_refused_by_name(texts: Path, make: Callable[[Path], None]) -> None:
    make(texts / "sub" / "z.txt")
    with pytest.raises(DataError, match=r"sub/z\.txt: is no regular file; .*out of the folder"):
        read_corpus(Source(texts))
    assert [Path(problem.path).name for problem in check(texts).problems] == ["z.txt"]


def test_a_link_to_a_text_is_a_text(texts: Path) -> None:
    (texts / "c.txt").symlink_to("a.txt")
    assert read_corpus(Source(texts)).n_docs == 3


@pytest.mark.parametrize("out", ["new.csv", "new.jsonl", "new.parquet", "new.shards"])
def test_a_file_whose_name_is_no_utf8_has_a_name_that_every_table_holds(
    call: Call, texts: Path, tmp_path: Path, out: str
) -> None:
    try:
        (texts / os.fsdecode(b"\xff.txt")).write_text("leaf tree\n")
    except OSError:
        pytest.skip("this file system takes no such name")
    if out.endswith("shards"):
        assert call("convert", texts, tmp_path / out).code == 0
        assert read_corpus(Source(tmp_path / out)).doc_ids == ("a", "sub/b", r"\xff")
        return
    run = tmp_path / "run"
    words = ("--holdout", "none", "--iterations", 1)
    assert call("fit", texts, "-b", "multinomial", "-o", run, "-q", *words).code == 0
    assert call("infer", run, texts, "-o", tmp_path / out).code == 0
    assert rb"\xff" in (tmp_path / out).read_bytes()


def test_all_files_in_another_encoding_are_told_at_once(texts: Path, call: Call) -> None:
    for name in ("c", "d", "sub/e", "f"):
        (texts / f"{name}.txt").write_bytes(b"tree caf\xe9 leaf\n")
    with pytest.raises(DataError) as stop:
        read_corpus(Source(texts))
    told = str(stop.value)
    assert told.startswith(f"{texts / 'c.txt'}:1: not UTF-8 text (byte 0xe9); ")
    assert "4 of 6 files are like this: 'c.txt', 'd.txt', 'f.txt', ...;" in told
    assert told.endswith("-s data.encoding=utf-8,cp1252 reads both encodings")
    checked = call("check", texts)
    assert (
        checked.code == 2 and f"to take this advice: hiertopics fit {texts} --auto" in checked.err
    )
    done = call("fit", texts, "--auto", *SETTINGS, "--holdout", "none", "-o", "run")
    assert done.code == 0
    assert read_corpus(Source(texts, encoding="utf-8,cp1252")).n_docs == 6


@pytest.fixture
def times_read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how many times the lines of each file are read."""
    times: Counter[str] = Counter()

    def counted(path: Path, **given: Any) -> Iterator[str]:
        times[path.name] += 1
        yield from lines(path, **given)

    monkeypatch.setattr(plaintexts, "lines", counted)
    return times


def test_the_message_on_encodings_reads_each_file_once(
    texts: Path, times_read: Counter[str]
) -> None:
    for name in ("c", "d"):
        (texts / f"{name}.txt").write_bytes(b"tree caf\xe9 leaf\n")
    with pytest.raises(DataError, match="2 of 4 files are like this: 'c.txt', 'd.txt'"):
        read_corpus(Source(texts))
    assert times_read == {"a.txt": 1, "b.txt": 1, "c.txt": 1, "d.txt": 1}


def test_advice_on_a_few_texts_reads_each_file_once(texts: Path, times_read: Counter[str]) -> None:
    assert "encoding" not in advised(DataConfig(corpus=str(texts)))
    assert times_read == {"a.txt": 1, "b.txt": 1}
    (texts / "c.txt").write_bytes(b"tree caf\xe9 leaf\n")
    assert advised(DataConfig(corpus=str(texts)))["encoding"] == "utf-8,cp1252"


def test_a_file_in_no_named_encoding_is_told_with_the_others(texts: Path) -> None:
    (texts / "c.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(DataError, match="not ascii text .*; 1 of 3 files are like this: 'c.txt'"):
        read_corpus(Source(texts, encoding="ascii"))


def test_a_run_given_as_a_corpus_is_named_as_a_run(texts: Path, tmp_path: Path, call: Call) -> None:
    few = ("--holdout", "none", "--iterations", 1, "-q")
    assert call("fit", texts, "-b", "multinomial", "-o", "runs/a b", *few).code == 0
    for command in ("fit", "check"):
        done = call(command, "runs/a b")
        assert done.code == 2
        assert (done.out + done.err).removeprefix("hiertopics: error: ") == (
            "runs/a b: is a run, not a corpus; hiertopics show-tree 'runs/a b' and hiertopics "
            "report 'runs/a b' read it\n"
        )
    done = call("fit", "runs")
    assert done.code == 2
    assert done.err == (
        "hiertopics: error: runs: holds no documents, but runs, such as 'runs/a b'; hiertopics "
        "show-tree 'runs/a b' reads it\n"
    )
    (tmp_path / "runs" / "x.pdf").touch()
    assert ".rst, but 1 .pdf\n" in call("fit", "runs").err
