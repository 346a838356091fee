"""Which format a name means, and which files belong to a corpus by their names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spoilt import Put

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.formats.reading import resolve
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.table import FORMATS


def resolved(put: Put, corpus: str, *siblings: Any, **options: Any) -> Any:
    path = put(corpus, "")
    for sibling in siblings:
        put(sibling, "")
    return resolve(Source(path, **options))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.ldac", "ldac"),
        ("a.b.dat.gz", "ldac"),
        ("a.corpus.xz", "ldac"),
        ("docword.a.txt", "uci"),
        ("docword.a.txt.gz", "uci"),
        ("a.npz", "npz"),
        ("a.jsonl.gz", "jsonl"),
        ("a.CSV", "csv"),
        ("a.tsv.xz", "tsv"),
    ],
)
def test_formats_by_name(put: Put, name: str, expected: Any) -> None:
    assert resolved(put, name).format == expected


def test_a_folder_is_a_format(tmp_path: Path) -> None:
    assert resolve(Source(tmp_path)).format == "folder"


def test_a_named_format_overrides_the_suffix(put: Put) -> None:
    assert resolved(put, "a.csv", format="ldac").format == "ldac"


@pytest.mark.parametrize("name", ["a.tex", "a", "a.gz", "docword.txt"])
def test_a_name_that_tells_nothing(put: Put, name: str) -> None:
    with pytest.raises(UsageError, match="no format goes by that name"):
        resolved(put, name)


def test_an_unknown_format(put: Put) -> None:
    with pytest.raises(UsageError, match="unknown format 'arf'; there are ldac"):
        resolved(put, "a.ldac", format="arf")


def test_a_missing_corpus(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none.ldac: no such file"):
        resolve(Source(tmp_path / "none.ldac"))


@pytest.mark.parametrize(
    ("corpus", "siblings", "expected"),
    [
        ("a.ldac", ["a.vocab", "a.tokens", "vocab.txt"], "a.vocab"),
        ("a.ldac", ["a.tokens", "vocab.a.txt", "vocab.txt"], "a.tokens"),
        ("a.ldac", ["vocab.a.txt", "a.vocab.gz", "vocab.txt"], "vocab.a.txt"),
        ("a.ldac", ["a.vocab.gz", "vocab.txt"], "a.vocab.gz"),
        ("a.ldac", ["vocab.txt", "b.vocab"], "vocab.txt"),
        ("a.ldac", ["b.vocab", "a.vocab.xz"], None),
        ("a.dat.gz", ["a.vocab"], "a.vocab"),
        ("docword.a.txt.gz", ["vocab.a.txt"], "vocab.a.txt"),
        ("docword.a-b.txt", ["vocab.a.txt", "docword.vocab"], "vocab.a.txt"),
        ("a-train.ldac.gz", ["a.vocab.gz"], "a.vocab.gz"),
        ("a-train.ldac.gz", ["a.vocab", "a-train.tokens"], "a-train.tokens"),
        ("a-train.ldac.gz", ["a.vocab", "vocab.txt"], "a.vocab"),
        ("a.b-c.ldac", ["a.b.vocab", "a.vocab"], "a.b.vocab"),
        ("a-b.c.ldac", ["a-b.vocab", "a.vocab"], "a-b.vocab"),
        ("-a.ldac", [".vocab"], None),
        ("a.jsonl", ["a.vocab", "vocab.txt"], None),
    ],
)
def test_vocabularies_by_name(put: Put, corpus: str, siblings: Any, expected: Any) -> None:
    vocab = resolved(put, corpus, *siblings).vocab
    assert (vocab and vocab.name) == expected


def test_groups_and_labels_by_name(put: Put) -> None:
    source = resolved(put, "a-b.ldac", "a-b.authors", "a-b.labels.gz")
    assert (source.groups.name, source.labels.name) == ("a-b.authors", "a-b.labels.gz")
    assert resolved(put, "a-b.ldac", "a-b.labels").labels.name == "a-b.labels"
    assert resolved(put, "c-d.ldac", "c.authors", "c.labels").groups is None


def test_files_of_a_folder_lie_beside_it(put: Put, tmp_path: Path) -> None:
    put("texts.v2/one.txt", "word")
    put("texts.v2.labels", "x\n")
    labels = resolve(Source(tmp_path / "texts.v2")).labels
    assert labels is not None and labels.name == "texts.v2.labels"


def test_a_resolved_source_resolves_to_itself(put: Put) -> None:
    source = resolved(put, "a.csv", "a.authors", "a.labels", group_field="who")
    assert source.groups is None
    assert source.labels is not None
    assert resolve(source) == source


@pytest.mark.parametrize("field", ["text_field", "id_field", "group_field", "label_field"])
def test_fields_are_for_raw_text(put: Put, field: str) -> None:
    with pytest.raises(UsageError, match=f"{field} is for raw text, but .* is read as ldac"):
        resolved(put, "a.ldac", **{field: "x"})


def test_a_field_and_a_file_exclude_each_other(put: Put) -> None:
    side = put("side", "")
    with pytest.raises(UsageError, match="group_field, not from both"):
        resolved(put, "a.csv", group_field="x", groups=side)
    with pytest.raises(UsageError, match="label_field, not from both"):
        resolved(put, "a.csv", label_field="x", labels=side)


@pytest.mark.parametrize("form", FORMATS.values())
def test_every_format_can_do_what_its_line_says(form: Any) -> None:
    assert callable(form.reader)
    assert callable(form.writer) == (form.writes and not form.folder)


def test_readers_load_only_when_they_are_needed() -> None:
    loaded = "import sys, hiertopics.corpus.formats; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", loaded], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {
        "sklearn",
        "hiertopics.corpus.formats.ldac",
        "hiertopics.corpus.formats.text",
    } & set(modules)
