"""Names that tell columns apart: what none may be, how equal ones are told apart, as arrays."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.data.names import (
    SHORT,
    first_flaw,
    made_unique,
    pack_names,
    pack_short_names,
    unique_note,
    unpack_names,
)
from hiertopics.corpus.data.seedwords import check
from hiertopics.corpus.holdouts.spec import parse_holdout
from hiertopics.corpus.holdouts.split import Split, make_split

HARD = ("a", "b\0", "b", " c ", "\r", "é\u2028", "x" * 5000, "d\0\0")


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("a", "", "b"), "word 2 is empty"),
        (("a\nb",), r"word 1 ('a\nb') holds a line end"),
        (("a", "\ud800"), r"word 2 ('\ud800') holds half a surrogate pair"),
        (("a", "b", "c", "b"), "the word 'b' stands there twice, as number 2 and 4"),
        (HARD, None),
        ((), None),
    ],
)
def test_the_first_flaw_is_named(names: tuple[str, ...], told: str | None) -> None:
    assert first_flaw(names, "word") == told


def test_equal_names_are_told_apart_and_no_other_changes() -> None:
    names = ("a", "b", "a", "a-1", "a", "b")
    assert made_unique(names) == ("a", "b", "a-2", "a-1", "a-3", "b-1")
    assert made_unique(("a", "b")) == ("a", "b")
    (note,) = unique_note(names, made_unique(names), "genes")
    assert note.startswith("3 of 6 genes have the name of an earlier one")
    assert note.endswith("the second 'a' is called 'a-2'")
    assert unique_note(("a",), ("a",), "genes") == ()


@pytest.mark.filterwarnings("ignore:Suffix used")
def test_equal_names_are_told_apart_as_by_anndata() -> None:
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    names = ["a", "b", "a", "a-1", "a", "b", "a-1"]
    found = anndata.utils.make_index_unique(pandas.Index(names))
    assert made_unique(names) == tuple(found)


def test_names_come_back_from_bytes_and_ends() -> None:
    arrays = pack_names("x", HARD)
    assert {name: str(array.dtype) for name, array in arrays.items()} == {
        "x": "uint8",
        "x_ends": "int64",
    }
    assert unpack_names("x", arrays) == HARD
    assert unpack_names("x", pack_names("x", ())) == ()


def test_short_names_stay_an_array_of_texts() -> None:
    arrays = pack_short_names("x", ("a", "é" * SHORT))
    assert arrays["x"].dtype.kind == "U" and unpack_names("x", arrays) == ("a", "é" * SHORT)
    for hard in (("a", "b\0"), ("x" * (SHORT + 1),)):
        arrays = pack_short_names("x", hard)
        assert arrays["x"].dtype == np.uint8 and unpack_names("x", arrays) == hard


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (b"ab", [0, 3]),
        (b"ab", [1, 2]),
        (b"ab", [0, 2, 1, 2]),
        (b"ab", []),
        (b"ab", [0.0, 2.0]),
        (b"a\xff", [0, 2]),
        (b"ab", [[0, 2]]),
    ],
)
def test_arrays_that_hold_no_names_are_refused(text: bytes, ends: list[Any]) -> None:
    arrays = {"x": np.frombuffer(text, np.uint8), "x_ends": np.array(ends)}
    with pytest.raises(ValueError):
        unpack_names("x", arrays)


def marked(names: tuple[str, ...]) -> Split:
    members = sparse.csr_array(np.ones((4, len(names)), dtype=bool))
    corpus = Corpus(
        sparse.csr_array(np.eye(4, dtype=int)), tuple("abcd"), labels=Tags(members, names)
    )
    return make_split(corpus, parse_holdout("docs:0.5@0"))[1]


def test_a_long_name_takes_its_own_bytes_alone() -> None:
    """Arrays of equal width would take as much for each name as for the longest."""
    names = ("x" * 100_000, *map(str, range(2000)))
    split = marked(names)
    arrays = split.to_arrays()
    size = sum(array.nbytes for name, array in arrays.items() if "names" in name)
    assert size < 200_000
    assert Split.from_arrays(arrays).labels is not None
    back = Split.from_arrays(arrays).labels
    assert back is not None and back.names == names


def test_a_nul_at_the_end_of_a_name_is_kept() -> None:
    back = Split.from_arrays(marked(("1", "1\0")).to_arrays()).labels
    assert back is not None and back.names == ("1", "1\0")


def test_a_split_of_before_is_read() -> None:
    """Its names are one array of texts."""
    split = marked(("one", "two"))
    arrays = split.to_arrays()
    del arrays["labels_names_ends"]
    arrays["labels_names"] = np.array(["one", "two"])
    back = Split.from_arrays(arrays)
    assert back.labels is not None and back.labels.names == ("one", "two")
    assert back.hash == split.hash


def seconds(n_words: int) -> float:
    seeds = {"topic": [f"w{place}" for place in range(n_words)]}
    start = time.process_time()
    check(seeds)
    return time.process_time() - start


def test_seed_words_are_checked_in_linear_time() -> None:
    """A hundred times as many would take ten thousand times as long where each meets all."""
    assert min(seconds(60_000) for _ in range(3)) < 1000 * max(seconds(600), 1e-5)
    with pytest.raises(ValueError, match="seeds has 'w0' twice for 'topic'"):
        check({"topic": ["w0", "w1", "w0"]})
