"""AnnData on disk: counts of cells and genes, their names, and what is known of cells."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tiny import counts_in

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.corpora.conversion import convert
from hiertopics.corpus.data.shelf import Shelf
from hiertopics.corpus.formats import h5ad
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source

anndata = pytest.importorskip("anndata")
h5py = pytest.importorskip("h5py")
pd = pytest.importorskip("pandas")

COUNTS = np.array([[0, 2, 1], [3, 0, 0], [0, 0, 0], [1, 1, 4]])
CELLS, GENES = ("AAC", "AAG", "ACT", "AGT"), ("Actb", "Cd4", "Gapdh")
KNOWN = {
    "batch": pd.Categorical(["b1", "b2", None, "b1"]),
    "age": [3, 4, 4, 5],
    "day": [0.5, float("nan"), 2.0, 0.5],
    "donor": ["x", "y", "y", "x"],
    "reads": pd.array([1, None, 3, 4], dtype="Int64"),
}


def written(folder: Path, matrix: Any, name: str = "a.h5ad", **layers: Any) -> Path:
    obs, var = pd.DataFrame(KNOWN, index=list(CELLS)), pd.DataFrame(index=list(GENES))
    path = folder / name
    anndata.AnnData(matrix, obs, var, layers=layers).write_h5ad(path)
    return path


@pytest.mark.parametrize("form", ["csr", "csc", "dense"])
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
@pytest.mark.parametrize("at_once", [1 << 20, 1])
def test_counts_names_and_columns_of_every_layout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, dtype: Any, at_once: int
) -> None:
    monkeypatch.setattr(h5ad, "BLOCK_ENTRIES", at_once)
    matrix = COUNTS.astype(dtype)
    stored = matrix if form == "dense" else sparse.csr_array(matrix).asformat(form)
    path = written(tmp_path, stored)
    corpus = counts_in(Source(path, metadata=True))
    assert corpus.counts.toarray().tolist() == COUNTS.tolist()
    assert (corpus.doc_ids, corpus.vocab, corpus.notes) == (CELLS, GENES, ())
    assert {name: marks_of(tags) for name, tags in corpus.metadata.items()} == {
        "batch": [["b1"], ["b2"], [], ["b1"]],
        "age": [["3"], ["4"], ["4"], ["5"]],
        "day": [["0.5"], [], ["2.0"], ["0.5"]],
        "donor": [["x"], ["y"], ["y"], ["x"]],
        "reads": [["1"], [], ["3"], ["4"]],
    }
    assert counts_in(Source(path)).metadata == {}
    shelf = convert(path, tmp_path / "a.shards").corpus
    assert isinstance(shelf, Shelf)
    assert shelf.fingerprint == corpus.fingerprint
    assert tuple(shelf.doc_ids or ()) == CELLS


def marks_of(tags: Any) -> list[list[str]]:
    return [[tags.names[column] for column in row.indices] for row in tags.members]


def test_the_layer_counts_comes_before_x_and_a_named_one_before_both(tmp_path: Path) -> None:
    path = written(tmp_path, COUNTS / 2.5, counts=COUNTS, other=2 * COUNTS)
    corpus = counts_in(Source(path))
    assert corpus.n_tokens == 12
    assert corpus.notes == ("counts are those of the layer 'counts' (data.layer takes another)",)
    other = counts_in(Source(path, layer="other"))
    assert (other.n_tokens, other.notes) == (24, ())
    with pytest.raises(DataError, match=r"a.h5ad: X holds 0.8 in the cell 'AAC', which is no cou"):
        read_corpus(Source(path, layer="X"))
    with pytest.raises(UsageError, match=r"no layer 'raw'; there are 'X', 'counts', 'other'"):
        read_corpus(Source(path, layer="raw"))


@pytest.mark.parametrize("value", [-1.0, 0.5, np.nan, np.inf, 2.0**31])
def test_what_is_no_count_is_told_with_its_cell(tmp_path: Path, value: float) -> None:
    matrix = COUNTS.astype(float)
    matrix[3, 0] = value
    path = written(tmp_path, sparse.csr_array(matrix))
    told = re.escape(f"X holds {value:g} in the cell 'AGT', which is no count")
    with pytest.raises(DataError, match=told):
        read_corpus(Source(path))


def test_a_vocabulary_renames_genes_and_must_be_as_long(tmp_path: Path) -> None:
    path, words = written(tmp_path, COUNTS), tmp_path / "words.txt"
    words.write_text("a\nb\nc\n")
    assert counts_in(Source(path, vocab=words)).vocab == ("a", "b", "c")
    words.write_text("a\nb\n")
    with pytest.raises(DataError, match=r"counts over 3 words, but .*words.txt holds 2"):
        read_corpus(Source(path, vocab=words))


def test_other_files_are_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.h5ad"
    path.write_bytes(b"\x1f\x8bpacked")
    with pytest.raises(DataError, match=r"not an .h5ad file \(HDF5\); unpack it if it is packed"):
        read_corpus(path)
    with h5py.File(path, "w") as file:
        file["obs"] = [1, 2]
    with pytest.raises(DataError, match="no AnnData since 0.7: obs is no table; there are 'obs'"):
        read_corpus(path)
    csv = tmp_path / "a.csv"
    csv.write_text("text\nthe cat\n")
    with pytest.raises(UsageError, match="layer is for h5ad files, but .* is read as csv"):
        read_corpus(Source(csv, layer="counts"))


def emptied(file: Any) -> None:
    del file["obs"]["_index"]


def shortened(file: Any) -> None:
    del file["X"]["indptr"]
    file["X"]["indptr"] = [0, 2, 3]


def shifted(file: Any) -> None:
    file["X"]["indices"][0] = 3


def doubled(file: Any) -> None:
    file["X"]["indices"][:2] = 1


def reshaped(file: Any) -> None:
    file["X"].attrs["shape"] = (4, 5)


def unknown(file: Any) -> None:
    file["X"].attrs["encoding-type"] = "awkward"


def uncategorised(file: Any) -> None:
    file["obs"]["batch"]["codes"][0] = 2


def endless(file: Any) -> None:
    file["X"].attrs["shape"] = (np.inf, 3)


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (emptied, "damaged, or no AnnData"),
        (shortened, "X is damaged: its parts do not fit together"),
        (shifted, "X is damaged: a place lies outside of the table"),
        (doubled, "X has a gene twice in a cell"),
        (reshaped, "X is 4 x 5, but there are 4 cells and 3 genes"),
        (unknown, "X is stored as awkward, not as a table of numbers"),
        (uncategorised, "obs/batch is damaged: a code is none of its 2 categories"),
        (endless, "damaged, or no AnnData"),
    ],
)
def test_a_harmed_file_is_told_in_one_line(tmp_path: Path, harm: Any, told: str) -> None:
    path = written(tmp_path, sparse.csr_array(COUNTS))
    with h5py.File(path, "r+") as file:
        harm(file)
    with pytest.raises(DataError, match=told) as caught:
        read_corpus(Source(path, metadata=True))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("part", ["X/indptr", "X/data", "obs/_index", "X"])
def test_what_announces_far_more_than_the_file_holds_is_not_read(tmp_path: Path, part: str) -> None:
    path = written(tmp_path, sparse.csr_array(COUNTS))
    with h5py.File(path, "r+") as file:
        kind = h5py.string_dtype() if part == "obs/_index" else np.int64
        del file[part]
        shape = (4, 10**10) if part == "X" else (10**10,)
        file.create_dataset(part, shape, kind, chunks=(1,) * len(shape))
    with pytest.raises(DataError, match=f"{part} announces about .* of memory, packed in"):
        read_corpus(path)


def test_a_file_that_was_cut_short(tmp_path: Path) -> None:
    path = written(tmp_path, sparse.csr_array(COUNTS))
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(DataError, match="damaged, or no AnnData"):
        read_corpus(path)


def test_h5py_is_asked_for_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, COUNTS)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(UsageError, match=r"h5ad needs h5py: pip install 'hiertopics\[anndata\]'"):
        read_corpus(path)
