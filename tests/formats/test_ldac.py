"""LDA-C: what is read, what is refused and at which line."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spoilt import Put
from tiny import counts_in

from hiertopics.base.errors import DataError
from hiertopics.corpus.formats.ldac import _read_fast, _read_slowly, rules_of
from hiertopics.corpus.formats.source import Source


def dense(corpus: Any) -> Any:
    return corpus.counts.toarray().tolist()


def test_a_small_corpus(put: Put) -> None:
    corpus = counts_in(Source(put("a.ldac", "2 0:1 3:2\n0\n1 1:7\n")))
    assert dense(corpus) == [[1, 0, 0, 2], [0, 0, 0, 0], [0, 7, 0, 0]]
    assert corpus.vocab == ("w0", "w1", "w2", "w3")
    assert corpus.n_empty == 1
    assert corpus.counts.indices.dtype == np.int32


@pytest.mark.parametrize("name", ["a.ldac", "a.dat.gz", "a.corpus.xz", "A.LDAC.GZ"])
def test_suffixes_and_compression(put: Put, name: str) -> None:
    data = "2 3:1 0:2\n1 1:1\n"
    assert dense(counts_in(Source(put(name, data)))) == [[2, 0, 0, 1], [0, 1, 0, 0]]


@pytest.mark.parametrize(
    "text",
    [
        "2 4:1 0:2\n0\n1 1:3\n",
        "2 4:1 0:2\r\n0\r\n1 1:3\r\n",
        "\ufeff2 4:1 0:2\n0\n1 1:3",
        "2\t4:1\t0:2\n0\n1\t1:3\n",
        " 2  4:1   0:2 \n 0\n1 1:3\n",
        "2 4:1 0:2 \n0 \n1 1:3 \n\n\n",
        "02 0004:1 000000000000000000000:2\n0\n1 1:3\n",
    ],
)
def test_spacing_does_not_matter(put: Put, text: str) -> None:
    assert dense(counts_in(Source(put("a.ldac", text)))) == [
        [2, 0, 0, 0, 1],
        [0, 0, 0, 0, 0],
        [0, 3, 0, 0, 0],
    ]


def test_the_vocabulary_gives_the_number_of_words(put: Put) -> None:
    put("a.vocab", "zero\none\ntwo\n")
    corpus = counts_in(Source(put("a.ldac", "1 0:1\n")))
    assert corpus.vocab == ("zero", "one", "two")
    assert dense(corpus) == [[1, 0, 0]]


PAIRS = r'expected "id:count" pairs after the number of distinct words, got '
COUNT = r"expected a count from 1 to 2147483647, a whole number, got "


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 x:3", PAIRS + "'x:3'"),
        ("1 3", PAIRS + "'3'"),
        ("2 0:1 x:3", PAIRS + "'x:3'"),
        ("1 3:", PAIRS + "'3:'"),
        ("1 :3", PAIRS + "':3'"),
        ("1 -3:1", PAIRS + "'-3:1'"),
        ("1 1:2:3", COUNT + "'1:2:3'"),
        ("1 5:0", COUNT + "'5:0'"),
        ("1 5:-1", COUNT + "'5:-1'"),
        ("1 5:2.0", COUNT + "'5:2.0'"),
        ("1 5:2147483648", COUNT + "'5:2147483648'"),
        ("1 5:" + "9" * 5000, COUNT + "'5:" + "9" * 38 + r"'\.\.\."),
        ("1 ²:1", PAIRS + "'²:1'"),
        ("2 0:1 0:1", "word id 0 is repeated: '0:1'"),
        ("2 0:1", "the line announces '2' distinct words but holds 1"),
        ("1 0:1 1:1", "the line announces '1' distinct words but holds 2"),
        ("0:1 1:1", "expected the number of distinct words first, got '0:1'"),
        ("", "blank line; an empty document is written 0"),
        ("  ", "blank line; an empty document is written 0"),
        ("1 16777216:1", "word ids beyond 16777215 need a vocabulary file, got '16777216:1'"),
        ("1 2147483648:1", "word ids beyond 16777215 need a vocabulary file"),
    ],
)
@pytest.mark.parametrize("before", [2, 60_000])
def test_a_broken_line_is_named(put: Put, line: Any, message: str, before: Any) -> None:
    path = put("corpus.ldac", "1 0:1\n" * before + line + "\n1 x\n")
    with pytest.raises(DataError, match=rf"corpus\.ldac:{before + 1}: {message}"):
        counts_in(Source(path))


def test_an_id_beyond_the_vocabulary_names_both_files(put: Put) -> None:
    put("a.vocab", "zero\none\n")
    with pytest.raises(DataError, match=r"a\.ldac:2: .* in '2:1': .*a\.vocab holds 2 words") as err:
        counts_in(Source(put("a.ldac", "1 1:1\n1 2:1\n")))
    assert "ids from 0 to 1" in str(err.value)


def test_blanks_alone_are_a_blank_line(put: Put) -> None:
    with pytest.raises(DataError, match=r"a\.ldac:1: blank line"):
        counts_in(Source(put("a.ldac", " \n")))


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_a_file_without_documents_is_refused(put: Put, text: str) -> None:
    with pytest.raises(DataError, match="holds no documents"):
        counts_in(Source(put("a.ldac", text)))


def test_only_empty_documents_make_a_corpus_without_words(put: Put) -> None:
    corpus = counts_in(Source(put("a.ldac", "0\n0\n")))
    assert (corpus.n_docs, corpus.n_words) == (2, 0)


def test_the_fast_and_the_slow_way_agree(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = [rng.choice(50, size=size, replace=False) for size in rng.integers(0, 9, size=40)]
    text = "".join(
        f"{len(row)}{''.join(f' {word}:{rng.integers(1, 9)}' for word in row)}\n" for row in rows
    ).encode()
    rules = rules_of(Source(tmp_path), ("w",) * 50)
    fast: Any = _read_fast(text, rules.limit)
    slow: Any = _read_slowly(Source(tmp_path), rules, (1, text))
    assert fast is not None
    for left, right in zip(fast, slow, strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


def test_memory_stays_near_the_size_of_the_result(put: Put) -> None:
    rng = np.random.default_rng(1)
    rows = (np.flatnonzero(rng.random(2000) < 0.1) for _ in range(1500))
    text = "".join(f"{len(row)} {' '.join(f'{word}:1' for word in row)}\n" for row in rows)
    path = put("a.ldac", text)
    tracemalloc.start()
    corpus = counts_in(Source(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert corpus.n_pairs > 290_000
    arrays = corpus.counts.data.nbytes + corpus.counts.indices.nbytes
    assert peak < 6 * arrays
