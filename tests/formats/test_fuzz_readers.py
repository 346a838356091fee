"""Spoilt files of every format: refused by name and line in one clear line, or sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fuzzing import SEEDS, SIDES, SPARSE_ARFF, Seed, common, spoilt
from hypothesis import given, strategies as st
from judging import examine

from hiertopics.corpus.corpora.checking import check
from hiertopics.corpus.formats.table import FORMATS

LINE_BASED = set(FORMATS) - {"npz", "parquet", "folder", "h5ad"}
ELSEWHERE = {"h5ad"}
"""``test_h5ad`` spoils these: what HDF5's own library makes of spoilt bytes is not ours."""
CASES = {f"{name}-{i}": seed for name, seeds in SEEDS.items() for i, seed in enumerate(seeds)}


def test_every_format_has_its_seeds() -> None:
    assert set(SEEDS) == {name for name, form in FORMATS.items() if not form.folder} - ELSEWHERE


@pytest.mark.parametrize("seed", [*CASES.values(), *SIDES.values()], ids=[*CASES, *SIDES])
def test_the_seeds_are_sound(tmp_path: Path, seed: Seed) -> None:
    examine(seed, seed.files[seed.spoilt], tmp_path, line=True)
    assert isinstance(check(tmp_path / seed.corpus, data=_data(seed)).shape["n_docs"], int)


def _data(seed: Seed) -> dict[str, str]:
    return {"from_" if key == "format" else key: value for key, value in seed.options.items()}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("vectors-3", b"\x0b"),  # a row without a number
        ("arff-0", SPARSE_ARFF.replace(b"{0,1}", b"{},1}")),  # a nominal value that is missing
        ("csv-0", b"text,who\rthe cat,a\r"),
        ("tsv-0", b"x" * 5000 + b"\twho\n"),
        ("jsonl-0", b'{"text": "a", "id": %s}' % (b"9" * 5000)),
    ],
)
def test_what_was_once_accepted_or_refused_in_other_words(
    tmp_path: Path, name: str, content: bytes
) -> None:
    examine(CASES[name], content, tmp_path, line=True)
    assert check(tmp_path / CASES[name].corpus, data=_data(CASES[name])).problems


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@common
@given(data=st.data())
def test_a_spoilt_corpus_is_refused_clearly_or_sound(tmp_path: Path, name: str, data: Any) -> None:
    seed = CASES[name]
    content = data.draw(spoilt(seed.files[seed.spoilt]))
    examine(seed, content, tmp_path, line=name.partition("-")[0] in LINE_BASED)


@pytest.mark.slow
@pytest.mark.parametrize("name", SIDES)
@common
@given(data=st.data())
def test_a_spoilt_file_beside_it_is_refused_clearly_or_sound(
    tmp_path: Path, name: str, data: Any
) -> None:
    seed = SIDES[name]
    examine(seed, data.draw(spoilt(seed.files[seed.spoilt])), tmp_path, line=False)
