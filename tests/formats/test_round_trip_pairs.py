"""convert, by command, between any two formats that are written: nothing is lost on the way."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.data.vectors import Vectors, to_corpus
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.table import FORMATS
from hiertopics.corpus.formats.writing import write_corpus

Call = Callable[..., Any]
NAMES = {
    "ldac": "a.ldac",
    "uci": "docword.a.txt",
    "mtx": "a.mtx",
    "svmlight": "a.svm",
    "edges": "a.edges",
    "npz": "a.npz",
    "vectors": "a.npy",
    "arff": "a.arff",
    "shards": "a.shards",
}
COUNTED = [name for name in NAMES if name != "edges"]
DENSE = [name for name in NAMES if FORMATS[name].dense]
MARKS = sparse.csr_array(np.array([[1, 0], [0, 0], [1, 1], [0, 1]], dtype=bool))
GROUPS, LABELS = Tags(MARKS, ("Ada L.", "7")), Tags(MARKS, ("x", "unused"))
GRAPH = Corpus(
    sparse.csr_array(np.array([[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]])),
    ("zoë", "10", "9", "b:c"),
    groups=GROUPS,
    labels=LABELS,
)
COUNTS = Corpus(
    sparse.csr_array(np.array([[0, 2**31 - 1, 0], [0, 0, 0], [1, 0, 0], [300, 2, 0]])),
    ("two words", "{'%,\"", "never"),
    groups=GROUPS,
    labels=LABELS,
)
NUMBERS = Vectors(
    np.array([[0.1, -3.0], [1e-300, 1e300], [0.0, 1 / 3], [5e-324, 2.0]]),
    ("a b", "ç"),
    groups=GROUPS,
    labels=LABELS,
)


def converted(call: Call, folder: Path, data: Any, one: str, other: str) -> Any:
    """Return what is read after ``data`` went from one format into the other by the command."""
    for name in ("from", "to"):
        (folder / name).mkdir()
    write_corpus(data, folder / "from" / NAMES[one])
    outcome = call("convert", f"from/{NAMES[one]}", f"to/{NAMES[other]}")
    assert (outcome.code, outcome.out) == (0, f"to/{NAMES[other]}\n"), outcome.err
    assert call("check", f"to/{NAMES[other]}").code == 0
    return read_corpus(Source(folder / "to" / NAMES[other]))


def as_counts(data: Any) -> Corpus:
    return to_corpus(data) if isinstance(data, Vectors) else data


def test_every_format_that_is_written_is_here() -> None:
    assert set(NAMES) == {name for name, form in FORMATS.items() if form.writes}


@pytest.mark.parametrize(("one", "other"), list(product(NAMES, NAMES)))
def test_a_graph_goes_through_every_pair(call: Call, tmp_path: Path, one: str, other: str) -> None:
    back = as_counts(converted(call, tmp_path, GRAPH, one, other))
    assert back.fingerprint == GRAPH.fingerprint


@pytest.mark.parametrize(("one", "other"), list(product(COUNTED, COUNTED)))
def test_counts_go_through_every_pair_but_edges(
    call: Call, tmp_path: Path, one: str, other: str
) -> None:
    back = as_counts(converted(call, tmp_path, COUNTS, one, other))
    assert back.fingerprint == COUNTS.fingerprint


@pytest.mark.parametrize(("one", "other"), list(product(DENSE, NAMES)))
def test_numbers_go_where_they_are_held_and_are_refused_elsewhere(
    call: Call, tmp_path: Path, one: str, other: str
) -> None:
    if other in DENSE:
        back = converted(call, tmp_path, NUMBERS, one, other)
        assert isinstance(back, Vectors) and back.fingerprint == NUMBERS.fingerprint
        return
    write_corpus(NUMBERS, tmp_path / NAMES[one])
    before = sorted(tmp_path.iterdir())
    outcome = call("convert", NAMES[one], f"out-{NAMES[other]}", "--to", other)
    assert (outcome.code, outcome.out) == (2, "") and outcome.err.count("error: ") == 1
    assert "row 1 holds 0.1 in column 'a b'" in outcome.err
    assert sorted(tmp_path.iterdir()) == before
