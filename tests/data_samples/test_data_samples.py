"""The sample corpora are consistent and their builders do what they say."""

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "data-samples"
MEMBERSHIPS = ["docstrings.authors", "docstrings.labels", "planted.labels"]


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


docstrings = load_script("build_docstrings")
planted = load_script("build_planted")


def read_lines(name: str) -> list[str]:
    return (FOLDER / name).read_text(encoding="ascii").splitlines()


def read_ids(name: str) -> list[list[int]]:
    return [[int(field) for field in line.split()] for line in read_lines(name)]


def read_ldac(name: str) -> list[list[tuple[int, int]]]:
    documents = []
    for line in read_lines(name):
        size, *fields = line.split()
        pairs = [(int(word), int(count)) for word, count in (f.split(":") for f in fields)]
        assert int(size) == len(pairs)
        documents.append(pairs)
    return documents


def document(name: str, words: str, groups: str = "m") -> Any:
    return docstrings.Document(name, frozenset(groups.split()), tuple(words.split()))


@pytest.mark.parametrize("name", ["docstrings", "planted"])
def test_corpus_is_valid(name: str) -> None:
    vocabulary = read_lines(f"{name}.vocab")
    seen: Counter[int] = Counter()
    for pairs in read_ldac(f"{name}.ldac"):
        ids = [word for word, _ in pairs]
        assert ids == sorted(set(ids))
        assert all(count > 0 for _, count in pairs)
        seen.update(ids)
    assert sorted(seen) == list(range(len(vocabulary)))
    assert len(set(vocabulary)) == len(vocabulary)
    assert all(word and word.split() == [word] for word in vocabulary)


@pytest.mark.parametrize("name", MEMBERSHIPS)
def test_memberships_are_valid(name: str) -> None:
    members = read_ids(name)
    key = read_lines(f"{name}.key")
    assert len(members) == len(read_lines(f"{name.split('.')[0]}.ldac"))
    assert all(found and found == sorted(set(found)) for found in members)
    assert {member for found in members for member in found} == set(range(len(key)))
    assert len(set(key)) == len(key)


def test_docstrings_are_many_and_long_enough() -> None:
    documents = read_ldac("docstrings.ldac")
    names = read_lines("docstrings.docs")
    assert len(documents) >= 1500
    assert len(names) == len(set(names)) == len(documents)
    tokens = [sum(count for _, count in pairs) for pairs in documents]
    assert min(tokens) >= docstrings.MIN_TOKENS
    assert len({tuple(pairs) for pairs in documents}) == len(documents)


def test_docstrings_vocabulary_keeps_its_bounds() -> None:
    documents = read_ldac("docstrings.ldac")
    vocabulary = read_lines("docstrings.vocab")
    frequency = Counter(word for pairs in documents for word, _ in pairs)
    assert min(frequency.values()) >= docstrings.MIN_DF
    assert max(frequency.values()) <= docstrings.MAX_DF * len(documents)
    assert all(word.isalpha() and word.islower() for word in vocabulary)
    assert not docstrings.STOP_WORDS & set(vocabulary)


def test_many_docstrings_have_several_groups() -> None:
    sizes = [len(groups) for groups in read_ids("docstrings.authors")]
    assert sum(size >= 2 for size in sizes) > 0.25 * len(sizes)


def test_docstrings_groups_of_a_known_document() -> None:
    key = read_lines("docstrings.authors.key")
    groups = read_ids("docstrings.authors")[read_lines("docstrings.docs").index("os.path")]
    assert [key[group] for group in groups] == ["os", "os.path", "posixpath"]


def test_sample_files_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.glob("docstrings.*")) < 2_000_000


def test_tokenise_keeps_words_of_letters() -> None:
    text = "The socket's 0x7f fd; don't bind_port UTF8\n    >>> Bind() in\n"
    assert docstrings.tokenise(text) == ["socket", "bind", "port", "bind"]


def test_fold_reads_short_docstrings_with_their_parent() -> None:
    words = "socket bind port host address " * 4
    long = docstrings.Piece("m.C.long", "m.C", frozenset("m"), words)
    short = docstrings.Piece("m.C.short", "m.C", frozenset("m"), "Timeout.")
    owner = docstrings.Piece("m.C", "m", frozenset("m"), "Listener.")
    module = docstrings.Piece("m", "", frozenset("m"), "Network.")
    found = docstrings.fold([[long, short], [owner], [module]])
    assert [(doc.name, doc.words) for doc in found] == [
        ("m", ("network", "listener", "timeout")),
        ("m.C.long", tuple(words.split())),
    ]


def test_twins_become_one() -> None:
    public = docstrings.Piece("decimal.D.ln", "decimal.D", frozenset({"decimal"}), "Log.")
    twin = docstrings.Piece("_pydecimal.D.ln", "_pydecimal.D", frozenset({"_pydecimal"}), "Logs.")
    both = frozenset({"decimal", "_pydecimal"})
    assert docstrings.join_twins([public, twin]) == [
        docstrings.Piece("decimal.D.ln", "decimal.D", both, "Logs.")
    ]


def test_vocabulary_drops_rare_and_common_words() -> None:
    documents = [document(f"d{i}", f"everywhere only{i}") for i in range(20)]
    documents += [document(f"s{i}", "socket socket") for i in range(docstrings.MIN_DF)]
    assert docstrings.choose_vocabulary(documents) == ["socket"]


def test_keep_words_drops_short_documents() -> None:
    long = document("long", "socket " * docstrings.MIN_TOKENS + "rare")
    short = document("short", "socket " * (docstrings.MIN_TOKENS - 1) + "rare")
    assert docstrings.keep_words([long, short], ["socket"]) == [
        document("long", "socket " * docstrings.MIN_TOKENS)
    ]


def test_copies_become_one_with_the_groups_of_both() -> None:
    first = document("first", "a a a b b b", "one")
    copy = document("copy", "b b b a a a a", "two")
    other = document("other", "a c c c", "two")
    assert docstrings.merge_copies([first, copy, other], ["a", "b", "c"]) == [
        document("first", "a a a b b b", "one two"),
        other,
    ]


def test_chapter_of_the_nearest_parent() -> None:
    table = {"os": "system", "os.path": "files", "json": "data"}
    assert docstrings.chapter_of("os.path", table) == "files"
    assert docstrings.chapter_of("os.other", table) == "system"
    assert docstrings.chapter_of("_json", table) == "data"
    assert docstrings.chapter_of("idlelib", table) is None


def test_collect_is_deterministic_and_finds_re_exports() -> None:
    names = ["asyncio", "asyncio.tasks"]
    levels = docstrings.collect(names)
    assert levels == docstrings.collect(reversed(names))
    groups = {piece.name: piece.groups for piece in levels[1]}
    assert groups["asyncio.gather"] == set(names)


def test_planted_is_rebuilt_the_same(tmp_path: Path) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
        planted.build(folder)
    for path in folders[0].iterdir():
        assert path.read_bytes() == (folders[1] / path.name).read_bytes()
        # The container of an npz may differ between versions: its arrays are compared below.
        if path.suffix != ".npz":
            assert path.read_bytes() == (FOLDER / path.name).read_bytes()


def test_planted_arrays_are_rebuilt_the_same(tmp_path: Path) -> None:
    planted.build(tmp_path)
    with (
        np.load(tmp_path / "planted.truth.npz") as new,
        np.load(FOLDER / "planted.truth.npz") as old,
    ):
        assert set(new) == set(old) == {"phi", "parent", "paths", "level_weights"}
        for key in new:
            np.testing.assert_allclose(new[key], old[key], rtol=1e-12)


def test_planted_truth_agrees_with_the_corpus() -> None:
    truth = json.loads((FOLDER / "planted.truth.json").read_text(encoding="ascii"))
    with np.load(FOLDER / "planted.truth.npz") as arrays:
        phi, parent, paths = arrays["phi"], arrays["parent"], arrays["paths"]
        level_weights = arrays["level_weights"]
    nodes = truth["nodes"]
    key = read_lines("planted.labels.key")
    leaves = [key[found[0]] for found in read_ids("planted.labels")]
    assert phi.shape == (len(nodes), len(read_lines("planted.vocab")))
    np.testing.assert_allclose(phi.sum(axis=1), 1)
    np.testing.assert_allclose(level_weights.sum(axis=1), 1)
    assert [node["parent"] for node in nodes] == parent.tolist()
    assert truth["paths"] == paths.tolist()
    assert [nodes[path[-1]]["name"] for path in paths] == leaves
    assert (parent[paths[:, 1:]] == paths[:, :-1]).all()
    assert sum(node["weight"] for node in nodes) == pytest.approx(1, abs=1e-4)
