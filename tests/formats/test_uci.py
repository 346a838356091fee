"""UCI bag of words: header, order, sums, lines of mistakes."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from spoilt import Put
from tiny import counts_in

from hiertopics.base.errors import DataError
from hiertopics.corpus.formats.source import Source

SMALL = "4\n3\n4\n1 1 2\n1 3 1\n3 2 5\n4 3 1\n"
MATRIX = [[2, 0, 1], [0, 0, 0], [0, 5, 0], [0, 0, 1]]


def read(put: Put, text: str, name: str = "docword.a.txt") -> Any:
    return counts_in(Source(put(name, text)))


@pytest.mark.parametrize(
    "name", ["docword.a.txt", "docword.a.txt.gz", "docword.a-b.txt.xz", "DOCWORD.a.TXT"]
)
def test_a_small_corpus(put: Put, name: str) -> None:
    corpus = read(put, SMALL, name)
    assert corpus.counts.toarray().tolist() == MATRIX
    assert corpus.vocab == ("w0", "w1", "w2")
    assert corpus.n_empty == 1


@pytest.mark.parametrize(
    "text",
    [
        "4\n3\n4\n4 3 1\n1 3 1\n3 2 5\n1 1 2\n",
        " 4 \r\n3\r\n4\r\n1  1 2\r\n 1 3 1\r\n3\t2\t5 \r\n4 3 1\r\n\r\n\r\n",
        "\ufeff" + SMALL.rstrip(),
    ],
)
def test_order_and_spacing_do_not_matter(put: Put, text: str) -> None:
    assert read(put, text).counts.toarray().tolist() == MATRIX


def test_no_pairs_at_all(put: Put) -> None:
    assert read(put, "2\n3\n0\n").counts.shape == (2, 3)


def test_the_vocabulary_must_have_the_length_that_the_header_says(put: Put) -> None:
    put("vocab.a.txt", "x\ny\n")
    with pytest.raises(
        DataError, match=r"docword\.a\.txt:2: counts over 3 words, but .*vocab\.a\.txt holds 2"
    ):
        read(put, SMALL)
    put("vocab.a.txt", "x\ny\nz\n")
    assert read(put, SMALL).vocab == ("x", "y", "z")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "expected three header lines: the numbers of documents, words, pairs"),
        ("3\n4\n", 3, "expected three header lines"),
        ("3\nx\n4\n", 2, "expected the number of words, alone on header line 2, got 'x'"),
        ("3 4 5\n", 1, "expected the number of documents, alone on header line 1, got '3 4 5'"),
        ("0\n4\n0\n", 1, "expected the number of documents"),
        ("999999999999\n4\n0\n", 1, "999999999999 documents x 4 words announced: about 14.6 TiB"),
        ("3\n99999999\n0\n", 2, "99999999 words need a vocabulary file"),
        ("3\n4\n2\n1 1 1\n", 3, r"announces 2 pairs \(NNZ\), the file holds 1"),
        ("3\n4\n0\n1 1 1\n", 3, r"announces 0 pairs \(NNZ\), the file holds 1"),
        ("3\n4\n1\n1 1 1\n\n1 2 1\n", 5, 'expected "document word count", three whole numbers'),
        ("3\n4\n1\n1 1\n", 4, "expected \"document word count\", three whole numbers, got '1 1'"),
        ("3\n4\n1\n1 1 1 1\n", 4, 'expected "document word count"'),
        ("3\n4\n1\n1 1\n1 1 1 1\n", 4, 'expected "document word count"'),
        ("3\n4\n1\n1 1 2.0\n", 4, 'expected "document word count"'),
        ("3\n4\n1\n1 1 -2\n", 4, 'expected "document word count"'),
        ("3\n4\n1\n1 1 0\n", 4, "expected a count from 1 to 2147483647, got '0'"),
        ("3\n4\n1\n1 1 1\n1 2 3000000000\n", 5, "expected a count from 1 to 2147483647"),
        ("3\n4\n1\n0 1 1\n", 4, "expected a document from 1 to 3, got '0'"),
        ("3\n4\n1\n4 1 1\n", 4, "expected a document from 1 to 3, got '4'"),
        ("3\n4\n1\n1 5 1\n", 4, "expected a word from 1 to 4, got '5'"),
        ("3\n4\n1\n1 0 1\n", 4, "expected a word from 1 to 4, got '0'"),
        ("3\n4\n1\n1 " + "9" * 30 + " 1\n", 4, "expected a word from 1 to 4"),
        (
            "3\n4\n4\n2 1 1\n1 2 1\n2 2 1\n1 2 2\n",
            7,
            "document 1 has word 2 already, on line 5",
        ),
    ],
)
def test_a_mistake_names_its_line(put: Put, text: str, line: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read(put, text)
    assert caught.value.line == line


def test_a_mistake_far_down_names_its_line(put: Put) -> None:
    pairs = "".join(f"{doc} 1 1\n" for doc in range(1, 60_001))
    with pytest.raises(DataError, match=r"docword\.a\.txt:60004: expected a document from"):
        read(put, f"60000\n1\n60001\n{pairs}60001 1 1\n")


def test_memory_stays_near_the_size_of_the_result(put: Put) -> None:
    pairs = "".join(f"{doc} {word} 1\n" for doc in range(1, 301) for word in range(1, 1001))
    path = put("docword.a.txt", f"300\n1000\n300000\n{pairs}")
    tracemalloc.start()
    corpus = counts_in(Source(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7 * (corpus.counts.data.nbytes + corpus.counts.indices.nbytes)
