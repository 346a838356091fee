"""Repeated and empty names in every reader: refused by name, or made unique and said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from spoilt import Put

import hiertopics
from hiertopics.base.errors import DataError, HiertopicsError
from hiertopics.corpus.corpora.checking import check
from hiertopics.corpus.corpora.conversion import convert
from hiertopics.corpus.corpora.inmemory import as_corpus
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.formats import shards
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.shards import open_shelf, write_bags
from hiertopics.corpus.formats.source import Source

COUNTS = np.array([[1, 0, 2, 0], [0, 3, 0, 4], [1, 1, 1, 1]])
LDAC = "2 0:1 2:2\n2 1:3 3:4\n4 0:1 1:1 2:1 3:1\n"
REPEATED, EMPTY, BROKEN = ("a", "b", "a", "c"), ("a", "", "b", "c"), ("a", "b\nb", "c", "d")
TOLD: dict[tuple[str, ...], str] = {
    REPEATED: "'a' stands there twice, as number 1 and 3",
    EMPTY: "2 is empty",
    BROKEN: "2 ('b\\nb') holds a line end",
}


def cells(path: Path, genes: tuple[str, ...]) -> Path:
    anndata, pandas = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    var = pandas.DataFrame(index=list(genes))
    with pytest.warns(UserWarning) if len(set(genes)) < len(genes) else _quiet():
        anndata.AnnData(COUNTS.astype(float), var=var).write_h5ad(path)
    return path


def _quiet() -> Any:
    import warnings

    return warnings.catch_warnings()


def test_equal_genes_are_told_apart_wherever_they_are_read(tmp_path: Path) -> None:
    path = cells(tmp_path / "a.h5ad", REPEATED)
    corpus, checked = read_corpus(path), check(path)
    assert isinstance(corpus, Corpus) and corpus.vocab == ("a", "b", "a-1", "c")
    assert corpus.counts.toarray().tolist() == COUNTS.tolist()
    told = "1 of 4 genes has the name of an earlier one and is told apart by a number: "
    assert corpus.notes == checked.notes == (f"{told}the second 'a' is called 'a-1'",)
    made = convert(path, tmp_path / "a.shards")
    assert made.notes == corpus.notes
    assert open_shelf(Source(made.path)).fingerprint == corpus.fingerprint


def test_equal_genes_of_an_object_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    anndata, pandas = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    with pytest.warns(UserWarning, match="unique"):
        data = anndata.AnnData(COUNTS.astype(float), var=pandas.DataFrame(index=list(REPEATED)))
    found = as_corpus(data)
    assert isinstance(found, Corpus) and found.vocab == ("a", "b", "a-1", "c")
    assert "warning: 1 of 4 genes has the name of an earlier one" in capsys.readouterr().err


def test_a_gene_without_name_is_refused(tmp_path: Path) -> None:
    path = cells(tmp_path / "a.h5ad", EMPTY)
    for use in (read_corpus, lambda at: convert(at, tmp_path / "a.shards")):
        with pytest.raises(DataError, match="a.h5ad: word 2 is empty"):
            use(path)
    assert [str(problem) for problem in check(path).problems] == [f"{path}: word 2 is empty"]
    assert [file.name for file in tmp_path.iterdir()] == ["a.h5ad"]


@pytest.mark.parametrize("names", TOLD, ids=["repeated", "empty", "broken"])
@pytest.mark.parametrize("kind", ["sparse", "array", "frame", "corpus", "words"])
def test_words_of_objects_are_refused_by_name(kind: str, names: tuple[str, ...]) -> None:
    pandas = pytest.importorskip("pandas")
    sparse_counts = sparse.csr_array(COUNTS)
    make: dict[str, Callable[[], Any]] = {
        "sparse": lambda: as_corpus(sparse_counts, vocab=names),
        "array": lambda: as_corpus(COUNTS, vocab=names),
        "frame": lambda: as_corpus(pandas.DataFrame(COUNTS, columns=list(names))),
        "corpus": lambda: as_corpus(Corpus(sparse_counts, names)),
        "words": lambda: as_corpus(["a b c", "b c"], vocab=names),
    }
    with pytest.raises(HiertopicsError) as caught:
        make[kind]()
    assert TOLD[names] in str(caught.value)


@pytest.mark.parametrize("names", TOLD, ids=["repeated", "empty", "broken"])
@pytest.mark.parametrize("side", ["groups", "labels"])
def test_marks_of_objects_are_refused_by_name(side: str, names: tuple[str, ...]) -> None:
    members = sparse.csr_array(np.ones((3, 4), dtype=bool))
    marks: dict[str, Any] = {side: Tags(members, names)}
    corpus = Corpus(sparse.csr_array(COUNTS), tuple("abcd"), **marks)
    for use in (as_corpus, lambda one: write_bags(one, Path("x.shards"))):
        with pytest.raises(HiertopicsError, match=side.removesuffix("s")) as caught:
            use(corpus)
        assert TOLD[names] in str(caught.value)


def test_an_estimator_refuses_equal_features() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(COUNTS, columns=list(REPEATED))
    with pytest.raises((HiertopicsError, ValueError)):
        hiertopics.HierarchicalTopics("lda-gibbs", iterations=1).fit(frame)


@pytest.mark.parametrize("side", ["authors", "labels"])
def test_ids_of_one_name_are_told_apart_in_every_command(
    put: Put, tmp_path: Path, side: str
) -> None:
    path = put("a.ldac", LDAC)
    put(f"a.{side}", "0\n1\n2 0\n")
    put(f"a.{side}.key", "same\nother\nsame\n")
    corpus, checked = read_corpus(path), check(path)
    tags = corpus.groups if side == "authors" else corpus.labels
    assert tags is not None and tags.names == ("same", "other", "same-1")
    assert sorted(tags.by_row[2]) == ["same", "same-1"]
    (note,) = corpus.notes
    assert checked.notes == (note,) and f"a.{side}.key: 1 of 3 names has" in note
    made = convert(path, tmp_path / "b.shards")
    assert made.notes == (note,)
    assert open_shelf(Source(made.path)).fingerprint == corpus.fingerprint


HEADERS = {
    "a.csv": "text,year,year\nthe tree,1,2\nthe leaf,1,2\n",
    "a.tsv": "year\ttext\tyear\n1\tthe tree\t2\n",
    "a.jsonl": '{"text": "the tree", "year": 1, "year": 2}\n',
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_column_that_stands_twice_is_refused_by_name(put: Put, name: str) -> None:
    path = put(name, HEADERS[name])
    with pytest.raises(DataError, match="'year'") as caught:
        read_corpus(Source(path, metadata=True))
    assert caught.value.line == 1
    if name != "a.jsonl":  # columns that nobody reads do no harm
        assert read_corpus(path).n_docs


def test_a_parquet_column_that_stands_twice_is_refused_by_name(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.Table.from_arrays([["the tree"], ["1"], ["2"]], names=["text", "year", "year"])
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match="several columns are called 'year'"):
        read_corpus(Source(tmp_path / "a.parquet", metadata=True))


def test_a_column_without_name_is_no_metadata(put: Put) -> None:
    """Such as the first one that pandas writes."""
    path = put("a.csv", ",text,year,\n0,the tree,1,x\n1,the leaf,2,y\n")
    corpus = read_corpus(Source(path, metadata=True))
    assert isinstance(corpus, Corpus) and list(corpus.metadata) == ["year"]


@pytest.mark.parametrize(
    ("pattern", "told"), [(r"\w*", "word 1 is empty"), (r"[^,]+", "holds a line end")]
)
@pytest.mark.parametrize("use", [read_corpus, lambda source: convert_texts(source)])
def test_words_of_a_pattern_that_are_no_words_are_refused(
    put: Put, pattern: str, told: str, use: Callable[[Source], Any]
) -> None:
    text = json.dumps({"text": "the tree,has\nleaves"})
    source = Source(put("a.jsonl", f"{text}\n"), token_pattern=pattern)
    with pytest.raises(DataError, match=f"a.jsonl: .*{told}"):
        use(source)


def convert_texts(source: Source) -> Any:
    overrides = {"data.token_pattern": source.token_pattern}
    return convert(source.path, source.path.with_name("a.shards"), overrides=overrides)


def test_shards_hold_every_word_that_is_read(tmp_path: Path) -> None:
    """Also those that no vocabulary file can hold."""
    words = ("\r", " a ", "x = y", "\ufeffb", "c\0", "d\u2028")
    corpus = Corpus(sparse.csr_array(np.eye(6, dtype=int)), words)
    shelf = write_bags(corpus, tmp_path / "a.shards").shelf
    assert shelf.vocab == words and shelf.fingerprint == corpus.fingerprint


def test_marks_that_end_in_nul_come_back_from_shards(tmp_path: Path) -> None:
    members = sparse.csr_array(np.ones((3, 2), dtype=bool))
    corpus = Corpus(sparse.csr_array(COUNTS), tuple("abcd"), labels=Tags(members, ("1", "1\0")))
    shelf = write_bags(corpus, tmp_path / "a.shards").shelf
    assert shelf.labels is not None and shelf.labels.names == ("1", "1\0")
    assert shelf.fingerprint == corpus.fingerprint


def test_shards_of_before_are_read(tmp_path: Path) -> None:
    """Their names of groups and labels are arrays of texts."""
    members = sparse.csr_array(np.ones((3, 2), dtype=bool))
    corpus = Corpus(sparse.csr_array(COUNTS), tuple("abcd"), groups=Tags(members, ("ann", "bo")))
    path = tmp_path / "a.shards"
    write_bags(corpus, path)
    with np.load(path / "tags.npz") as held:
        arrays = {name: held[name] for name in held.files if name != "groups_names_ends"}
    np.savez(path / "tags.npz", **{**arrays, "groups_names": np.array(["ann", "bo"])})
    resealed(path, "tags.npz")
    shelf = open_shelf(Source(path))
    assert shelf.groups is not None and shelf.groups.names == ("ann", "bo")
    assert shelf.fingerprint == corpus.fingerprint


def resealed(path: Path, name: str) -> None:
    manifest = json.loads((path / "shards.json").read_text())
    manifest["files"][name] = shards._seal(path / name)
    (path / "shards.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("text", ["a\nb\na\nc\n", "a\n\nb\nc\n"], ids=["repeated", "empty"])
def test_shards_whose_words_repeat_are_damaged(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.shards"
    write_bags(Corpus(sparse.csr_array(COUNTS), tuple("abcd")), path)
    (path / "vocab.txt").write_text(text)
    resealed(path, "vocab.txt")
    with pytest.raises(DataError, match="is damaged: .*word"):
        open_shelf(Source(path))
