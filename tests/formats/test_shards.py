"""Folders of shards: the same corpus as the file they come from, sealed, written whole."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from nights import by_night

from hiertopics.base.errors import DataError, RunError, UsageError
from hiertopics.corpus.corpora.conversion import convert
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.pruning import Limits
from hiertopics.corpus.data.shelf import Shelf
from hiertopics.corpus.formats import shards
from hiertopics.corpus.formats.folders import new_folder
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from tests.formats.conftest import Put

LDAC = "2 0:1 2:3\n0\n3 3:1 1:2 0:400\n1 2:1\n"
RECORDS = (
    '{"id": "first", "text": "the cat sat on the mat", "by": ["eve", "bob"]}\n'
    '{"id": "", "text": "", "by": null}\n'
    '{"id": "third", "text": "a dog and a zebra saw the dog", "by": "bob"}\n'
)
FIELDS = {"id_field": "id", "group_field": "by"}


def shelf_of(path: Path, **data: str) -> Shelf:
    found = convert(path, path.with_name("big.shards"), data=data).corpus
    assert isinstance(found, Shelf)
    return found


def as_read(path: Path, **data: Any) -> Corpus:
    found = read_corpus(Source(path, **data))
    assert isinstance(found, Corpus)
    return found


@pytest.fixture
def corpus(put: Put) -> Path:
    put("a.vocab", "cat\ndog\nzebra\nmat\nunused\n")
    put("a.authors", "eve bob\n\nbob\neve\n")
    return put("a.ldac", LDAC)


@pytest.mark.parametrize(
    "name", ["a.ldac", "b.ldac.gz", "docword.b.txt", "b.mtx", "b.npz", "b.svmlight"]
)
def test_every_format_makes_the_shards_of_the_same_corpus(corpus: Path, name: str) -> None:
    path = corpus.with_name(name)
    if path != corpus:
        convert(corpus, path)
    whole, shelf = as_read(path), shelf_of(path)
    assert shelf.fingerprint == whole.fingerprint
    assert shelf.in_memory().fingerprint == whole.fingerprint
    assert (shelf.n_docs, shelf.n_pairs, shelf.n_tokens, shelf.n_empty) == (4, 6, 408, 1)
    for name in ("doc_lengths", "doc_pairs", "word_counts"):
        np.testing.assert_array_equal(getattr(shelf, name), getattr(whole, name))
    assert shelf.largest_count == whole.largest_count == 400


@pytest.mark.parametrize(
    "text", ["1,3 1:2 5:1\n\n2 2:1 5:3\n", "4:1\n1:1 3:2 # said\n", "7 0:2 4:1\n1 2:1\n"]
)
def test_svmlight_counts_ids_from_0_or_1_and_has_labels(put: Put, text: str) -> None:
    path, words = put("a.svmlight", text), put("five.txt", "a\nb\nc\nd\ne\n")
    for whole, told in ((as_read(path), {}), (as_read(path, vocab=words), {"vocab": str(words)})):
        shelf = shelf_of(path, **told)
        assert (shelf.fingerprint, shelf.vocab) == (whole.fingerprint, whole.vocab)
        assert convert(path, path.with_name("c.shards"), data=told).notes == whole.notes
    harmed = put("b.svmlight", "0:1 5:1\n5:2\n")
    with pytest.raises(DataError, match="b.svmlight:1: word id 5 is out of range: id 0 occurs"):
        shelf_of(harmed, vocab=str(words))


def test_texts_keep_words_names_and_groups(put: Put) -> None:
    path = put("a.jsonl", RECORDS)
    whole, shelf = as_read(path, **FIELDS), shelf_of(path, **FIELDS)
    assert shelf.fingerprint == whole.fingerprint
    assert shelf.vocab == whole.vocab
    assert tuple(shelf.doc_ids or ()) == whole.doc_ids == ("first", "", "third")


def test_a_given_vocabulary_leaves_other_words_of_texts_out(put: Put) -> None:
    path, words = put("a.jsonl", RECORDS), put("some.vocab", "zebra\ncat\nyak\n")
    whole = as_read(path, vocab=words, id_field="id")
    shelf = shelf_of(path, vocab=str(words), id_field="id")
    assert shelf.fingerprint == whole.fingerprint
    assert shelf.vocab == ("zebra", "cat", "yak")


def test_lines_in_any_order_are_put_in_order(put: Put) -> None:
    lines = ["4 1 2", "1 3 1", "2 2 7", "1 1 0", "4 4 1", "1 2 9"]
    head = "%%MatrixMarket matrix coordinate integer {}\n% said\n4 4 6\n"
    for kind in ("general", "symmetric"):
        path = put(f"{kind}.mtx", head.format(kind) + "\n".join(lines) + "\n")
        assert shelf_of(path).fingerprint == as_read(path).fingerprint


def test_a_pair_on_two_lines_is_told_with_both(put: Put) -> None:
    path = put("docword.a.txt", "2\n3\n4\n2 3 1\n1 1 1\n1 2 1\n2 3 5\n")
    with pytest.raises(DataError, match=r"a.txt:7: document 2 has word 3 already, on line 4"):
        shelf_of(path)
    assert not (path.parent / "big.shards").exists()


@pytest.mark.parametrize("limits", [["data.min_df=2"], ["data.max_df=0.4"]])
def test_rare_and_frequent_words_leave_as_they_do_elsewhere(
    corpus: Path, limits: list[str]
) -> None:
    target = corpus.parent / "out"
    target.mkdir()
    convert(corpus, target / "few.npz", overrides=limits)
    shelf = convert(corpus, target / "few.shards", overrides=limits).corpus
    assert shelf.fingerprint == as_read(target / "few.npz").fingerprint


def test_shards_tell_what_chose_their_words(corpus: Path) -> None:
    """One choice after the other; what keeps all words is none."""
    folder = corpus.parent / "out"
    folder.mkdir()
    assert shards.choices_in(convert(corpus, folder / "all.shards").path) == ()
    (folder / "stopped.txt").write_text("mat unused")
    first = [f"data.stop_words={folder / 'stopped.txt'}", "data.max_df=0.9"]
    convert(corpus, folder / "a.shards", overrides=first)
    before = Limits(1, 0.9, ["mat", "unused"])
    assert shards.choices_in(folder / "a.shards") == (before,)
    found = convert(folder / "a.shards", folder / "c.shards", overrides=["data.max_words=1"])
    assert shards.choices_in(found.path) == (before, Limits(1, 1.0, [], 1))
    assert isinstance(shards.choices_in(found.path)[0].min_df, int)
    manifest = found.path / "shards.json"
    manifest.write_text(manifest.read_text().replace('"max_words"', '"words"'))
    with pytest.raises(DataError, match="does not say how words were chosen"):
        shards.choices_in(found.path)


def test_documents_are_chosen_in_any_order(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "PART_PAIRS", 2)
    for module in ("corpus.data.shelf", "corpus.formats.drafts"):
        monkeypatch.setattr(f"hiertopics.{module}.BLOCK_PAIRS", 2)
    whole, shelf = as_read(corpus), shelf_of(corpus)
    assert len(shelf.stored.parts) > 1
    assert shelf.text_fingerprint == whole.text_fingerprint
    docs = np.array([3, 0, 2])
    few = shelf.select(docs)
    assert few.fingerprint == whole.select(docs).fingerprint
    assert (few.counts_of(np.array([1])) != whole.counts_of(np.array([0]))).nnz == 0
    assert few.select([2, 0]).fingerprint == whole.select([2, 3]).fingerprint


@pytest.mark.parametrize("name", ["00000.words.npy", "lengths.npy", "vocab.txt"])
@pytest.mark.parametrize("harm", ["cut", "gone", "foreign"])
def test_a_file_that_is_another_one_is_told_in_one_line(
    corpus: Path, put: Put, name: str, harm: str
) -> None:
    shelf_of(corpus)
    path = corpus.parent / "big.shards" / name
    if harm == "gone":
        path.unlink()
    elif harm == "cut":
        path.write_bytes(path.read_bytes()[:-3])
    else:
        other = bytearray(path.read_bytes())
        other[-1] ^= 1
        path.write_bytes(other)
    with pytest.raises(DataError, match="is damaged: .*; convert the corpus again") as caught:
        read_corpus(path.parent)
    assert "\n" not in str(caught.value)


def test_what_is_no_folder_of_shards_is_told(put: Put) -> None:
    path = put("a.shards/x.txt", "x")
    with pytest.raises(DataError, match=r"has no shards.json; make one with"):
        read_corpus(path.parent)
    with pytest.raises(UsageError, match="is no folder of shards; choose another place"):
        convert(put("a.ldac", LDAC), path.parent)
    assert path.exists()


def test_damaged_manifests_are_told(corpus: Path) -> None:
    shelf_of(corpus)
    path = corpus.parent / "big.shards" / "shards.json"
    sound = json.loads(path.read_text())
    wrong: list[object] = [[], {**sound, "schema": "x"}, {**sound, "files": 3}]
    wrong += [{**sound, "n_docs": 5}, {**sound, "first_doc": ["x"]}, {**sound, "files": {}}]
    docs: list[object] = [5, [0], [0, 10**30], [[0], [4]], [0, 3], [1, 4], [0, 5, 4], [-4, 4], []]
    wrong += [{**sound, "first_doc": first} for first in docs]
    names = ["a\0b", "\ud800", "../a.ldac", str(corpus), "", "."]
    wrong += [{**sound, "files": {**sound["files"], name: "1-0"}} for name in names]
    for manifest in wrong:
        path.write_text(json.dumps(manifest))
        with pytest.raises(DataError, match="is damaged"):
            read_corpus(path.parent)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("ends.npy", [0, 2, 2, 5, 9]),
        ("ends.npy", [1, 2, 2, 5, 6]),
        ("ends.npy", [0, 5, 2, 5, 6]),
        ("ends.npy", [0.0, 2, 2, 5, 6]),
        ("00000.words.npy", [0, 2, 0, 1, 3]),
        ("00000.counts.npy", [[1, 3, 2, 400, 1, 1]]),
    ],
)
def test_arrays_that_do_not_fit_together_are_told(
    corpus: Path, name: str, array: list[Any]
) -> None:
    """Sealed like sound ones: made by a program that is wrong."""
    shelf_of(corpus)
    folder = corpus.parent / "big.shards"
    np.save(folder / name, np.array(array))
    manifest = json.loads((folder / "shards.json").read_text())
    manifest["files"][name] = shards._seal(folder / name)
    (folder / "shards.json").write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="is damaged: it does not fit the files beside it"):
        shards.open_shelf(Source(folder))


def named(corpus: Path) -> Path:
    """Return the folder of shards of the corpus, its documents with names."""
    whole = as_read(corpus)
    bags = replace(whole, doc_ids=("a\u00e9", "b", "c", "d"))
    return shards.write_bags(bags, corpus.with_name("big.shards")).shelf.stored.folder


def resealed(folder: Path, name: str) -> None:
    manifest = json.loads((folder / "shards.json").read_text())
    manifest["files"][name] = shards._seal(folder / name)
    (folder / "shards.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "place", "value", "what"),
    [
        ("00000.counts.npy", 0, 2, "counts of document 1 add up to 5, but its length is 4"),
        ("00000.counts.npy", 0, 0, "counts has a value below 1"),
        ("00000.counts.npy", 3, -(2**31), "counts has a value below 1"),
        ("00000.words.npy", 4, 5, "words has the id 5, which is outside 0 .. 4"),
        ("00000.words.npy", 0, -5, "words has the id -5"),
        ("00000.words.npy", 0, 2**30, "words has the id 1073741824"),
        ("00000.words.npy", 1, 0, "the words of a document do not ascend"),
        ("00000.words.npy", 3, 4, "the words of a document do not ascend"),
        ("lengths.npy", 0, 3, "counts of document 1 add up to 4, but its length is 3"),
        ("lengths.npy", 3, 10**9, "other sizes|its length is 1000000000"),
        ("lengths.npy", 1, 7, "counts of document 2 add up to 0, but its length is 7"),
        ("name_ends.npy", 1, 7, "name_ends does not lead"),
        ("name_ends.npy", 0, 1, "name_ends does not lead"),
        ("name_ends.npy", 1, 2, "a name ends within a letter"),
        ("names.npy", 0, 0xFF, "can't decode byte 0xff"),
    ],
)
def test_values_are_looked_at_whatever_the_seals_say(
    corpus: Path, name: str, place: int, value: int, what: str
) -> None:
    """Each led out of an array, or into another corpus, where a seal was thought enough."""
    folder = named(corpus)
    array = np.load(folder / name)
    array[place] = value
    np.save(folder / name, array)
    resealed(folder, name)
    if name == "lengths.npy":  # as if all sums were right
        path = folder / "shards.json"
        manifest = json.loads(path.read_text()) | {"n_tokens": int(array.sum())}
        path.write_text(json.dumps(manifest))
    with pytest.raises(DataError, match=f"is damaged: .*({what})") as caught:
        shards.open_shelf(Source(folder))
    assert caught.value.exit_code == 1 and "\n" not in str(caught.value)


def test_two_wrong_lengths_do_not_make_up_for_each_other(corpus: Path) -> None:
    shelf_of(corpus)
    folder = corpus.parent / "big.shards"
    lengths = np.load(folder / "lengths.npy")
    lengths[[0, 2]] += np.array([-(10**6), 10**6])
    np.save(folder / "lengths.npy", lengths)
    resealed(folder, "lengths.npy")
    with pytest.raises(DataError, match="counts of document 1 add up to 4"):
        shards.open_shelf(Source(folder))


@pytest.mark.parametrize("change", ["header", "floats", "no axis", "pointers", "texts"])
def test_arrays_of_another_kind_are_damaged(corpus: Path, change: str) -> None:
    folder = named(corpus)
    name = "tags.npz" if change in ("pointers", "texts") else "name_ends.npy"
    path = folder / name
    if change == "header":
        path.write_bytes(path.read_bytes().replace(b"{'descr'", b"{'desc(("))
    elif change == "floats":
        np.save(path, np.load(path) * 1.0)
    elif change == "no axis":
        np.save(path, np.int64(4))
    else:
        tags = dict(np.load(path))
        if change == "pointers":
            tags["groups_indptr"][1:-1], tags["groups_indptr"][-1] = 2**30, 0
        else:
            tags["groups_names"] = np.arange(len(tags["groups_names"]))
        np.savez(path, **tags)
    resealed(folder, name)
    with pytest.raises(DataError, match="is damaged: ") as caught:
        shards.open_shelf(Source(folder))
    assert "\n" not in str(caught.value)


def test_pairs_of_many_blocks_are_looked_at(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hiertopics.corpus.data.stored.BLOCK_PAIRS", 2)
    assert shelf_of(corpus).n_tokens == 408
    folder = corpus.parent / "big.shards"
    counts = np.load(folder / "00000.counts.npy")
    counts[-1] += 1
    np.save(folder / "00000.counts.npy", counts)
    resealed(folder, "00000.counts.npy")
    with pytest.raises(DataError, match="counts of document 4 add up to 2, but its length is 1"):
        shards.open_shelf(Source(folder))


def test_older_shards_are_replaced_and_shards_are_read_by_convert(corpus: Path, put: Put) -> None:
    shelf_of(put("c.ldac", "1 0:1\n"))
    whole, shelf = as_read(corpus), shelf_of(corpus)
    back = corpus.parent / "back.npz"
    convert(corpus.parent / "big.shards", back)
    assert as_read(back).fingerprint == whole.fingerprint == shelf.fingerprint
    assert [p.name for p in corpus.parent.iterdir() if p.name.startswith(".")] == []
    with pytest.raises(UsageError, match="it cannot be replaced"):
        convert(corpus.parent / "big.shards", corpus.parent / "big.shards")
    with pytest.raises(UsageError, match="names its own words"):
        read_corpus(Source(corpus.parent / "big.shards", vocab=corpus.with_name("a.vocab")))


def test_a_full_disk_leaves_nothing(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf_of(corpus)
    before = {path: path.stat().st_mtime_ns for path in corpus.parent.rglob("*")}
    whole = shards._GrowingArray.close

    def refuse(self: shards._GrowingArray) -> None:
        whole(self)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shards._GrowingArray, "close", refuse)
    with pytest.raises(RunError, match=r"cannot write .*big.shards: No space left on device"):
        shelf_of(corpus)
    assert {path: path.stat().st_mtime_ns for path in corpus.parent.rglob("*")} == before


TEN = " ".join(f"{word}:1" for word in range(10))
FULL = """
    import resource, sys
    from hiertopics.cli import main
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
    main(["convert", *sys.argv[2:]])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no such limit here")
@pytest.mark.parametrize("size", [200, 12_000])
def test_a_disk_that_takes_no_more_is_told_in_one_line(tmp_path: Path, size: int) -> None:
    """The system refuses the draft, then a column that is longer: words of four bytes each."""
    (tmp_path / "a.ldac").write_text("".join(f"10 {TEN}\n" for _ in range(300)))
    # -B: a limit would cut the bytecode of modules, which later processes could not read.
    argv = [sys.executable, "-B", "-c", dedent(FULL), str(size), "a.ldac", "big.shards"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert "File too large" in done.stderr and done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.ldac"]


@pytest.mark.parametrize("held", [(), ("ends.npy",), ("shards.json", "ends.npy")], ids=len)
def test_what_killed_writers_left_is_removed(corpus: Path, held: tuple[str, ...]) -> None:
    """Killed just begun, while it wrote, and with all written but the folder's name."""
    left = corpus.parent / ".big.shards.0123.partial"
    left.mkdir()
    for name in held:
        (left / name).write_bytes(b"x")
    shelf_of(corpus)
    assert not left.exists()


def test_what_a_living_writer_writes_stays(corpus: Path) -> None:
    target = corpus.with_name("big.shards")
    with new_folder(target) as own:
        (own / "ends.npy").write_bytes(b"x")
        shelf_of(corpus)
        assert (own / "ends.npy").exists()
    assert [path.name for path in target.iterdir()] == ["ends.npy"]
    assert not list(corpus.parent.glob(".big*"))


MIB = 1 << 20
CHILD = """
    import resource, sys
    from hiertopics.corpus.corpora.conversion import convert
    import sklearn.feature_extraction.text, scipy.sparse
    held = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
    limit = held + int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    convert(sys.argv[1], sys.argv[2])
"""


def converted_within(room: int, path: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """Convert in a process that may take so many bytes more than when it began."""
    argv = [sys.executable, "-c", dedent(CHILD), str(path), str(target), str(room)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(resource, "RLIMIT_DATA"), reason="no such limit here")
@pytest.mark.parametrize("name", ["a.ldac", *by_night("docword.a.txt", "a.csv")])
def test_the_size_of_a_text_does_not_show_in_memory(tmp_path: Path, name: str) -> None:
    """Some 50 MB of counts, 20 MB of text: what their arrays alone take would not fit."""
    path = tmp_path / name
    n_docs, n_pairs = (10_000, 200) if name == "a.csv" else (25_000, 160)
    with path.open("w") as file:
        if name.startswith("docword"):
            file.write(f"{n_docs}\n5000\n{n_docs * n_pairs}\n")
        if name.endswith("csv"):
            file.write("text\n")
        words = [(31 * place) % 5000 for place in range(n_pairs)]
        for doc in range(n_docs):
            if name.endswith("ldac"):
                file.write(f"{n_pairs} " + " ".join(f"{word}:2" for word in words) + "\n")
            elif name.endswith("csv"):
                file.write(" ".join(f"w{word} w{word}" for word in words) + "\n")
            else:
                file.write("".join(f"{doc + 1} {word + 1} 2\n" for word in words))
    room = 24 * MIB
    done = converted_within(room, path, tmp_path / "big.shards")
    assert done.returncode == 0, done.stderr
    shelf = shards.open_shelf(Source(tmp_path / "big.shards"))
    assert shelf.n_docs == n_docs
    assert name == "a.csv" or shelf.n_tokens == 2 * n_docs * n_pairs
