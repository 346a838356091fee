"""Reading takes time in proportion to the input, whatever stands in it.

Each case is a shape of input that a slip makes quadratic: ten times as much of it would then take
a hundred times as long. The two sides are compared in processor time, against a limit far from
both (10 and 100), because clocks and processors are shared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hiertopics.base.errors import ConfigError, DataError
from hiertopics.corpus.corpora.checking import check
from hiertopics.corpus.formats.html import text_of_html
from hiertopics.corpus.formats.opening import LONGEST_LINE, blocks, without_blank_end
from hiertopics.papers.arff import read_label_names
from hiertopics.settings.yamlfile import read_seeds

FACTOR = 10
MOST = 25
TRIES = 3
MTX = b"%%MatrixMarket matrix coordinate real general\n"
ARFF = b"@relation r\n"

Put = Callable[[str, bytes], Path]
Files = dict[str, bytes]


def attributes(n: int) -> bytes:
    return b"".join(b"@attribute a%d numeric\n" % place for place in range(n))


def names(n: int) -> bytes:
    return b",".join(b"name%d" % place for place in range(n))


def labels(n: int) -> bytes:
    return b"<labels>%s</labels>" % b"".join(b'<label name="a%d"/>' % p for p in range(n))


CASES: dict[str, tuple[int, Callable[[int], Files]]] = {
    "svmlight: a count of letters": (3_000, lambda n: {"a.svm": b"1:" + b"e" * n + b":1\n"}),
    "svmlight: a count of points": (3_000, lambda n: {"a.svm": b"1:" + b"." * n + b":1\n"}),
    "svmlight: a long count": (20_000, lambda n: {"a.svm": b"1:" + b"1" * n + b"e1\n"}),
    "mtx: a long last word": (
        3_000,
        lambda n: {"a.mtx": MTX + b"3 3 1\n1 1 " + b"e" * n + b" 1\n"},
    ),
    "mtx: many comments": (13_000, lambda n: {"a.mtx": MTX + b"%\n" * n + b"1 1 0\n"}),
    "arff: a long number": (
        2_000,
        lambda n: {"a.arff": ARFF + attributes(1) + b"@data\n" + b"1" * n + b"x\n"},
    ),
    "arff: quotes and backslashes": (
        20_000,
        lambda n: {"a.arff": ARFF + attributes(1) + b'@data\n"' + b"\\" * n + b"\n"},
    ),
    "arff: a nominal type that is not closed": (
        5_000,
        lambda n: {"a.arff": ARFF + b"@attribute a {" + b"1," * n + b"\n@data\n1\n"},
    ),
    "arff: many labels": (
        1_000,
        lambda n: {
            "a.arff": ARFF + attributes(n + 1) + b"@data\n" + b"0," * n + b"1\n",
            "a.xml": labels(n),
        },
    ),
    "table: a long number": (2_000, lambda n: {"a.csv": b"1,2\n" + b"1" * n + b"x,1\n"}),
    "table: a long fraction": (2_000, lambda n: {"a.csv": b"1,2\n." + b"1" * n + b"x,1\n"}),
    "table: a wide header": (
        2_000,
        lambda n: {"a.csv": names(n) + b"\n" + b"1," * (n - 1) + b"1\n"},
    ),
    "labels: many ids without a name": (
        2_000,
        lambda n: {
            "a.ldac": b"1 0:1\n",
            "a.labels": b" ".join(b"%d" % (place + 1) for place in range(n)) + b"\n",
            "a.labels.key": b"only\n",
        },
    ),
    "vocabulary: one long word": (20_000, lambda n: {"a.ldac": b"1 0:1\n", "a.vocab": b"=" * n}),
    "ldac: one long id": (20_000, lambda n: {"a.ldac": b"1 " + b"1" * n + b":1\n"}),
    "jsonl: a field of its own in each record": (
        4_000,
        lambda n: {"a.jsonl": b"".join(b'{"text": "a bc", "f%d": 1}\n' % p for p in range(n))},
    ),
    "jsonl: as many fields in one record as records": (
        4_000,
        lambda n: {
            "a.jsonl": b'{"text": "a bc", %s}\n' % b", ".join(b'"f%d": 1' % p for p in range(n))
            + b'{"text": "a bc"}\n' * n
        },
    ),
    "edges: one long name": (20_000, lambda n: {"a.edges": b"0" * n + b" 1\n"}),
}


def growth(small: Callable[[], object], large: Callable[[], object]) -> float:
    """Return how many times as long the second takes; a busy machine gets several tries."""
    times: list[Any] = []
    while len(times) < TRIES and min(times, default=MOST) >= MOST:
        times.append(_spent(large) / max(_spent(small), 1e-3))
    return min(times)


def _spent(act: Callable[[], object]) -> float:
    began = time.process_time()
    act()
    return time.process_time() - began


def checked(folder: Path, files: Files) -> Callable[[], object]:
    """Write the files; return what reads the first of them with the others beside it."""
    folder.mkdir()
    paths = [folder / name for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.write_bytes(content)
    dense = paths[0].suffix == ".csv"
    return lambda: check(paths[0], data={"from_": "vectors"} if dense else {})


@pytest.mark.parametrize("name", CASES)
def test_ten_times_the_input_takes_about_ten_times_as_long(name: str, tmp_path: Path) -> None:
    size, make = CASES[name]
    small = checked(tmp_path / "small", make(size))
    small()  # imports
    assert growth(small, checked(tmp_path / "large", make(FACTOR * size))) < MOST


@pytest.mark.parametrize("content", [b"x", b"\n"], ids=["no line end", "blank lines alone"])
def test_blocks_are_put_together_once(put: Put, content: bytes) -> None:
    def read(path: Path) -> Callable[[], object]:
        return lambda: list(without_blank_end(blocks(path, 1 << 12)))

    small, large = put("small", content * 10**6), put("large", content * 10**7)
    assert growth(read(small), read(large)) < MOST


def test_names_of_labels(put: Put) -> None:
    small, large = put("small.xml", labels(2_000)), put("large.xml", labels(20_000))
    times = growth(lambda: read_label_names(small), lambda: read_label_names(large))
    assert times < MOST


def test_elements_that_nobody_sees() -> None:
    """Open within one another, and other ends after them."""
    small, large = ("<template>" * n + "</p>" * n for n in (4_000, 40_000))
    assert growth(lambda: text_of_html(small), lambda: text_of_html(large)) < MOST


def test_names_without_seed_words(put: Put) -> None:
    small, large = (
        put(f"{n}.yaml", b"".join(b"t%d: 1\n" % p for p in range(n))) for n in (60, 600)
    )

    def read(path: Path) -> Callable[[], object]:
        def refused() -> None:
            with pytest.raises(ConfigError, match="expected a list of words"):
                read_seeds(path)

        return refused

    assert growth(read(small), read(large)) < MOST


@pytest.mark.parametrize("before", [b"", b"1 0:1\n" * 3])
@pytest.mark.parametrize("name", ["a.ldac", "a.ldac.gz"])
def test_a_line_without_end_is_given_up(put: Put, name: str, before: bytes) -> None:
    path = put(name, before + bytes(LONGEST_LINE + 1))
    line = 1 + before.count(b"\n")
    with pytest.raises(DataError, match=rf"{name}:{line}: a line of more than {LONGEST_LINE} "):
        list(blocks(path))
    assert [problem.line for problem in check(path).problems] == [line]


def test_the_longest_line_is_read(put: Put) -> None:
    path = put("a", b"1\n" + bytes(LONGEST_LINE) + b"\n1")
    assert [number for number, _ in blocks(path)][0] == 1
    assert sum(len(block) for _, block in blocks(path)) == LONGEST_LINE + 5
