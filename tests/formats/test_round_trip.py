"""Whatever is written is read back equal; whatever is garbage is refused by name and line."""

from __future__ import annotations

import gzip
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings, strategies as st
from scipy import sparse
from spoilt import PIECES, SOUND
from tiny import counts_in

from hiertopics.base.errors import DataError
from hiertopics.corpus.corpora.conversion import convert
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.formats import edges, ldac, matrixmarket, svmlight, triples
from hiertopics.corpus.formats.sidefiles import same_tags
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.writing import write_corpus

common = settings(
    deadline=None, derandomize=True, max_examples=30, suppress_health_check=list(HealthCheck)
)
serial = itertools.count()

# Any character but line ends and half surrogates, no blank at either end.
words = (
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1)
    .filter(lambda word: word == word.strip(" \t\r") and " = " not in word)
    .filter(lambda word: not word.startswith("\ufeff"))
)
counts = st.one_of(st.integers(0, 3), st.sampled_from([0, 2**31 - 1]))


@st.composite
def tags(draw: st.DrawFn, n_docs: int) -> Tags:
    names = draw(st.lists(words, max_size=4, unique=True))
    marks = [[draw(st.booleans()) for _ in names] for _ in range(n_docs)]
    dense = np.array(marks, dtype=bool).reshape(n_docs, len(names))
    return Tags(sparse.csr_array(dense), tuple(names))


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    n_docs = draw(st.integers(1, 5))
    vocab = draw(st.lists(words, max_size=5, unique=True))
    dense = [[draw(counts) for _ in vocab] for _ in range(n_docs)]
    matrix = sparse.csr_array(np.array(dense, dtype=np.int64).reshape(n_docs, len(vocab)))
    groups, labels = (draw(st.none() | tags(n_docs)) for _ in range(2))
    return Corpus(matrix, tuple(vocab), None, groups, labels)


def equal(left: Any, right: Any) -> bool:
    return (
        left.vocab == right.vocab
        and (left.counts != right.counts).nnz == 0
        and all(
            one is other is None or same_tags(one, other)
            for one, other in ((left.groups, right.groups), (left.labels, right.labels))
        )
        and left.fingerprint == right.fingerprint
    )


NAMES = [
    "a.ldac",
    "a.dat.gz",
    "a.ldac.xz",
    "docword.a.txt",
    "docword.a-b.txt.gz",
    "a.mtx.gz",
    "a.svm",
    "a-b.npz",
]
COUNT_FORMATS = ["a.ldac", "docword.a.txt", "a.mtx", "a.svm", "a.npz"]


@pytest.mark.parametrize("name", NAMES)
@common
@given(corpus=corpora())
def test_what_is_written_is_read_back_equal(tmp_path: Path, name: str, corpus: Corpus) -> None:
    folder = tmp_path / str(next(serial))
    folder.mkdir()
    write_corpus(corpus, folder / name)
    assert equal(counts_in(Source(folder / name)), corpus)


@pytest.mark.slow
@settings(common, max_examples=10)
@example(
    corpus=Corpus(
        sparse.csr_array(np.array([[0, 3, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]])),
        ("b", "a", "never"),
        groups=Tags(sparse.csr_array(np.eye(4, 2, dtype=bool)), ("none", "Ada L.")),
        labels=Tags(sparse.csr_array(np.array([[0, 0], [1, 1], [0, 0], [0, 0]], bool)), ("x", "1")),
    )
)
@example(corpus=Corpus(sparse.csr_array(np.zeros((2, 1), dtype=int)), ("w0",)))
@given(corpus=corpora())
def test_every_format_turns_into_every_other_and_back(tmp_path: Path, corpus: Corpus) -> None:
    folder = tmp_path / str(next(serial))
    for one in COUNT_FORMATS:
        first = folder / one
        first.mkdir(parents=True)
        write_corpus(corpus, first / one)
        for other in COUNT_FORMATS:
            there, back = first / f"to-{other}", first / f"from-{other}"
            there.mkdir()
            back.mkdir()
            convert(first / one, there / other)
            assert equal(counts_in(Source(there / other)), corpus)
            convert(there / other, back / one)
            assert equal(counts_in(Source(back / one)), corpus)
            assert (back / one).read_bytes() == (first / one).read_bytes()


def refused_or_sound(path: Path, lines: Any = True, **options: Any) -> Any:
    """Read a file that may be broken: only a DataError with its place may come out."""
    try:
        corpus = counts_in(Source(path, **options))
    except DataError as error:
        assert error.path.startswith(str(path.parent))
        without_line = ("archive", "binary file", "holds no documents", "no words in")
        assert not lines or error.line or any(part in error.what for part in without_line)
        return None
    assert corpus.n_docs > 0
    return corpus


@pytest.mark.parametrize("name", SOUND)
@common
@given(data=st.data())
def test_garbage_is_refused_with_its_line(tmp_path: Path, name: str, data: Any) -> None:
    path = tmp_path / name
    garbage = st.binary(max_size=60) | st.lists(st.sampled_from(PIECES[name])).map("".join)
    drawn = data.draw(garbage)
    path.write_bytes(drawn if isinstance(drawn, bytes) else drawn.encode())
    refused_or_sound(path)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", SOUND)
@common
@given(position=st.integers(0, 200), new=st.binary(max_size=3), cut=st.integers(0, 3))
def test_a_spoilt_file_is_refused_or_still_sound(
    tmp_path: Path, name: str, packed: bool, position: int, new: bytes, cut: Any
) -> None:
    whole = gzip.compress(SOUND[name], mtime=0) if packed else SOUND[name]
    place = position % len(whole)
    path = tmp_path / name
    path.write_bytes(whole[:place] + new + whole[place + cut :])
    refused_or_sound(path, group_field="who" if name[-1] in "lv" else None)


@common
@given(position=st.integers(0, 5000), new=st.binary(max_size=3), cut=st.integers(0, 3))
def test_a_spoilt_npz_is_refused_or_still_sound(
    tmp_path: Path, position: int, new: bytes, cut: Any
) -> None:
    source = tmp_path / "sound.npz"
    if not source.exists():
        sparse.save_npz(source, sparse.csr_array(np.eye(3, dtype=np.int32)))
    whole = source.read_bytes()
    place = position % len(whole)
    path = tmp_path / "a.npz"
    path.write_bytes(whole[:place] + new + whole[place + cut :])
    refused_or_sound(path, lines=False)


@pytest.mark.parametrize("side", ["a.vocab", "a.authors", "a.labels", "a.authors.key"])
@common
@given(garbage=st.binary(max_size=40) | st.text("01 \t\nx", max_size=40).map(str.encode))
@example(garbage=b"0\n1\n0\n")
def test_garbage_beside_a_corpus_is_refused(tmp_path: Path, side: str, garbage: Any) -> None:
    path = tmp_path / "a.ldac"
    path.write_bytes(SOUND["a.ldac"])
    (tmp_path / "a.authors").write_bytes(b"0\n1\n\n")
    (tmp_path / side).write_bytes(garbage)
    refused_or_sound(path, lines=False)


@common
@given(rows=st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), max_size=4)))
def test_a_line_is_read_as_the_rules_say(tmp_path: Path, rows: Any) -> None:
    assume(rows)
    path = tmp_path / "a.ldac"
    path.write_text(
        "".join(f"{len(row)}{''.join(f' {word}:{n}' for word, n in row)}\n" for row in rows)
    )
    (tmp_path / "a.vocab").write_text("a\nb\nc\nd\ne\n")
    wrong = [
        line
        for line, row in enumerate(rows, 1)
        if any(word > 4 or n == 0 for word, n in row) or len(dict(row)) < len(row)
    ]
    try:
        corpus = counts_in(Source(path))
    except DataError as error:
        assert error.line == wrong[0]
    else:
        assert not wrong
        dense = corpus.counts.toarray()
        for doc, row in enumerate(rows):
            assert {word: dense[doc, word] for word in np.flatnonzero(dense[doc])} == dict(row)


def ways_of_ldac(text: bytes, source: Any) -> Any:
    rules = ldac.rules_of(source, ("w",) * 3)
    return ldac._read_fast(text, rules.limit), lambda: ldac._read_slowly(source, rules, (1, text))


def ways_of_triples(rules: Any) -> Any:
    return lambda text, source: (
        triples.read_fast(text, rules),
        lambda: triples.read_slowly(source, rules, (1, text)),
    )


def ways_of_mtx(field: str) -> Any:
    header = matrixmarket.MatrixMarketHeader(field, False, 2, 3, 4, 2)
    return ways_of_triples(matrixmarket.rules_of(header))


def ways_of_svmlight(text: bytes, source: Any) -> Any:
    rules = svmlight.rules_of(source, ("w",) * 3)
    fast, slow = svmlight.Heads(), svmlight.Heads()
    pairs = svmlight.read_fast((1, text), rules.limit, fast)

    def slowly() -> Any:
        read = svmlight.read_slowly(source, rules, (1, text), slow)
        assert (fast.numbers, fast.labels.columns) == (slow.numbers, slow.labels.columns)
        return read

    return pairs, slowly


def ways_of_edges(text: bytes, source: Any) -> Any:
    fast = edges.read_fast(text, None)
    return fast, lambda: np.array(edges.read_slowly(source, None, (1, text)), "U30").reshape(-1, 2)


WAYS = {
    "ldac": ("a.ldac", ways_of_ldac),
    "uci": ("docword.a.txt", ways_of_triples(triples.LineRules(2, 3))),
    "integer": ("a.mtx", ways_of_mtx("integer")),
    "real": ("a.mtx", ways_of_mtx("real")),
    "pattern": ("a.mtx", ways_of_mtx("pattern")),
    "svmlight": ("a.svm", ways_of_svmlight),
    "edges": ("a.edges", ways_of_edges),
}


@pytest.mark.parametrize("way", WAYS)
@common
@given(data=st.data())
def test_what_the_fast_way_takes_the_slow_way_reads_alike(
    tmp_path: Path, way: Any, data: Any
) -> None:
    name, ways = WAYS[way]
    pieces = st.sampled_from([*PIECES[name], "9" * 19, "0" * 25, "\n"])
    text = "".join(data.draw(st.lists(pieces))).encode() + b"\n"
    fast, slowly = ways(text, Source(tmp_path))
    if fast is not None:
        # No DataError here: whatever the slow way refuses, the fast one must not take.
        slow = slowly()
        if way == "edges":
            fast = fast.astype("U30")
        assert all(np.array_equal(one, other) for one, other in zip(fast, slow, strict=True))
