"""Writing: which files, whole or not at all, and nothing that would be read back otherwise."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from spoilt import Put

from hiertopics.base.errors import HiertopicsError, UsageError
from hiertopics.base.files import write_together
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.writing import write_corpus

COUNTS = sparse.csr_array(np.array([[0, 2], [0, 0], [1, 300]]))
MARKS = sparse.csr_array(np.array([[True, False, True], [False] * 3, [False, False, True]]))
PLAIN = Corpus(COUNTS, ("a b", "é"))
FULL = Corpus(
    COUNTS,
    PLAIN.vocab,
    groups=Tags(MARKS, ("Ada L.", "unused", "J S")),
    labels=Tags(MARKS, ("x", "y", "z")),
)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_ldac_and_its_side_files(tmp_path: Path) -> None:
    write_corpus(FULL, tmp_path / "a.ldac")
    texts = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert texts == {
        "a.ldac": "1 1:2\n0\n2 0:1 1:300\n",
        "a.vocab": "a b\né\n",
        "a.authors": "0 2\n\n2\n",
        "a.authors.key": "Ada L.\nunused\nJ S\n",
        "a.labels": "0 2\n\n2\n",
        "a.labels.key": "x\ny\nz\n",
    }


def test_uci(tmp_path: Path) -> None:
    write_corpus(PLAIN, tmp_path / "docword.a.txt")
    assert files(tmp_path) == ["a.vocab", "docword.a.txt"]
    text = (tmp_path / "docword.a.txt").read_text(encoding="utf-8")
    assert text == "3\n2\n3\n1 2 2\n3 1 1\n3 2 300\n"


def test_npz_is_what_scipy_reads(tmp_path: Path) -> None:
    write_corpus(PLAIN, tmp_path / "a.npz")
    assert (sparse.load_npz(tmp_path / "a.npz") != COUNTS).nnz == 0


@pytest.mark.parametrize("name", ["a.ldac", "a.ldac.gz", "a.ldac.xz", "docword.a.txt.gz", "a.npz"])
def test_equal_corpora_give_equal_bytes(tmp_path: Path, name: str) -> None:
    write_corpus(FULL, tmp_path / name)
    first = (tmp_path / name).read_bytes()
    (tmp_path / name).unlink()
    write_corpus(FULL, tmp_path / name)
    assert (tmp_path / name).read_bytes() == first


def test_a_format_can_be_named(tmp_path: Path) -> None:
    write_corpus(PLAIN, tmp_path / "out.txt", "ldac")
    assert read_corpus(Source(tmp_path / "out.txt", format="ldac")).vocab == PLAIN.vocab


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_raw_text_is_only_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is only read; what can be written is ldac, uci, mtx"):
        write_corpus(PLAIN, tmp_path / name)


@pytest.mark.parametrize(
    ("name", "format", "message"),
    [
        ("a.npz.gz", None, "compressed already"),
        ("a.vocab", "ldac", "is the name of a side file"),
        ("a.txt", None, "no format goes by that name"),
    ],
)
def test_names_that_do_not_work(tmp_path: Path, name: str, format: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        write_corpus(PLAIN, tmp_path / name, format)
    assert files(tmp_path) == []


@pytest.mark.parametrize("word", ["", " a", "a\n", "a = b", "a\nb", "\ud800", "\t", "\ufeffa"])
def test_words_and_names_that_would_be_read_otherwise(tmp_path: Path, word: str) -> None:
    with pytest.raises(UsageError, match="cannot stand on a line of its own"):
        write_corpus(Corpus(COUNTS, ("x", word)), tmp_path / "a.ldac")
    if word != "a = b":
        tags = Tags(MARKS, ("x", word, "y"))
        with pytest.raises(UsageError, match="cannot stand on a line of its own"):
            write_corpus(Corpus(COUNTS, ("x", "y"), groups=tags), tmp_path / "a.ldac")
    assert files(tmp_path) == []


def test_a_repeated_word(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the word 'x' stands in the vocabulary 2 times"):
        write_corpus(Corpus(COUNTS, ("x", "x")), tmp_path / "a.ldac")


def test_no_documents(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="without documents"):
        write_corpus(Corpus(COUNTS[:0], ("x", "y")), tmp_path / "a.ldac")


def test_side_files_that_say_the_same_stay_as_they_are(tmp_path: Path, put: Put) -> None:
    vocab = put("a.vocab", "a b = 0 = 17\né = 1 = 3\n")
    authors = put("a.authors", "2 0\n\n2\n")
    put("a.authors.key", "Ada L. \nunused\nJ S\n")
    before = vocab.read_bytes(), authors.read_bytes()
    write_corpus(FULL, tmp_path / "a.ldac")
    assert (vocab.read_bytes(), authors.read_bytes()) == before


def test_other_side_files_are_replaced(tmp_path: Path, put: Put) -> None:
    put("a.vocab", "other\n\nwords\n")
    put("a.authors", "x\ny\nz\n")
    put("a.labels.gz", "x\n")
    write_corpus(FULL, tmp_path / "a.ldac")
    back = read_corpus(Source(tmp_path / "a.ldac"))
    assert back.fingerprint == FULL.fingerprint


@pytest.mark.parametrize("name", ["a.authors", "a.labels", "a.labels.gz"])
def test_a_stale_side_file_is_not_read_with_another_corpus(
    tmp_path: Path, put: Put, name: str
) -> None:
    put(name, "x\ny\nz\n")
    with pytest.raises(UsageError, match=f"{name} lies beside it and would be read with it"):
        write_corpus(PLAIN, tmp_path / "a.ldac")
    assert files(tmp_path) == [name]


def test_an_explicit_false_is_no_mark(tmp_path: Path) -> None:
    marks = sparse.csr_array((np.array([True, False]), np.array([1, 0]), np.array([0, 2, 2, 2])))
    corpus = Corpus(COUNTS, PLAIN.vocab, labels=Tags(marks, ("x", "y")))
    write_corpus(corpus, tmp_path / "a.ldac")
    assert (tmp_path / "a.labels").read_text() == "1\n\n\n"


def test_a_failure_leaves_the_older_files_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpus(PLAIN, tmp_path / "a.ldac")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HiertopicsError, match=r"cannot write .*: No space left on device"):
        write_corpus(FULL, tmp_path / "a.ldac")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_error_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    def broken(file: Any) -> None:
        file.write(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_together({tmp_path / "a": lambda file: None, tmp_path / "b": broken})
    assert files(tmp_path) == []


@pytest.mark.parametrize("parent", ["nowhere", "file"])
def test_a_folder_that_is_none(tmp_path: Path, put: Put, parent: Any) -> None:
    put("file", "")
    with pytest.raises(HiertopicsError, match="cannot write"):
        write_corpus(PLAIN, tmp_path / parent / "a.ldac")


def test_compressed_files_hold_no_time_and_no_name(tmp_path: Path) -> None:
    write_corpus(PLAIN, tmp_path / "a.ldac.gz")
    data = (tmp_path / "a.ldac.gz").read_bytes()
    assert data[3:8] == bytes(5)
    assert gzip.decompress(data) == b"1 1:2\n0\n2 0:1 1:300\n"
