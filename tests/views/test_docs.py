"""``docs``, and what a run keeps of its documents: names, marks and how their texts begin."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from unsealed import unsealed

import hiertopics
from hiertopics.base.errors import RunError
from hiertopics.corpus.data.membership import single_root
from hiertopics.corpus.data.tree import ROOT, Tree
from hiertopics.corpus.formats.text import snippet
from hiertopics.runs.rundir import RunDir
from hiertopics.views.documents import _of_node, top_documents

Call = Callable[..., Any]
TEXTS = (
    "bread  and\nbutter",
    "cheese with bread",
    "a goal in the \x1b[1mmatch",
    "</script> goal, team",
)


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Return a file of texts with names, labels and a year."""
    path = tmp_path / "raw.jsonl"
    rows = [
        {"text": TEXTS[doc % 4], "id": f"d{doc}", "kind": ["food", "sport"][doc % 4 // 2]}
        for doc in range(20)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def run(raw: Path, fit_tiny: Call, tmp_path: Path) -> Path:
    """Return a run of these texts, its corpus gone."""
    data = {"id_field": "id", "label_field": "kind"}
    fit_tiny(tmp_path / "run", corpus=raw, data=data, overrides=["data.snippets=12"])
    raw.unlink()
    return tmp_path / "run"


def test_a_run_keeps_names_marks_and_beginnings(run: Path) -> None:
    lines = (run / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    train = RunDir(run).split.train_docs
    assert [json.loads(line)["doc"] for line in lines] == [doc + 1 for doc in train]
    kept = RunDir(run).documents
    assert kept is not None and kept.names == tuple(f"d{doc}" for doc in train)
    assert kept.snippets is not None and kept.snippets[0] == snippet(TEXTS[train[0] % 4], 12)
    members, names = kept.tags["labels"].members.toarray(), kept.tags["labels"].names
    assert [names[row.argmax()] for row in members] == [
        ["food", "sport"][doc % 4 // 2] for doc in train
    ]


@pytest.mark.parametrize("mark", ["\x0b", "\x1c", "\x85", "\u2028", "\u2029"], ids=ascii)
def test_what_ends_a_line_for_some_ends_none_in_a_run(
    mark: str, fit_tiny: Call, tmp_path: Path
) -> None:
    """In names, in labels, and in the names of other fields."""
    odd = f"a{mark}b"
    rows = [{"text": TEXTS[doc % 4], "id": odd, "kind": [odd], odd: "x"} for doc in range(20)]
    path = tmp_path / "raw.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    fit_tiny(tmp_path / "run", corpus=path, data={"id_field": "id", "label_field": "kind"})
    kept = RunDir(tmp_path / "run").documents
    assert kept is not None and kept.names is not None and set(kept.names) == {odd}
    assert kept.tags["labels"].names == (odd,) and kept.tags[odd].names == ("x",)


@pytest.mark.parametrize(
    ("text", "n", "wanted"),
    [
        ("a  b\n c", 5, "a b c"),
        ("a b c d", 5, "a b …"),
        ("", 5, ""),
        ("\ud800 x", 9, "? x"),
        ("word", 1, "…"),
    ],
)
def test_a_snippet_is_one_line_of_so_many_letters(text: str, n: int, wanted: str) -> None:
    assert snippet(text, n) == wanted


def test_no_snippets_are_kept_where_none_are_wanted(
    raw: Path, fit_tiny: Call, tmp_path: Path
) -> None:
    nothing = ["data.snippets=0", "data.metadata=false"]
    fit_tiny(tmp_path / "run", corpus=raw, overrides=nothing)
    assert not (tmp_path / "run" / "documents.jsonl").exists()
    assert RunDir(tmp_path / "run").documents is None
    assert hiertopics.docs(tmp_path / "run")[0]["snippet"] is None


def test_snippets_make_no_other_fit(raw: Path, fit_tiny: Call, tmp_path: Path) -> None:
    fit_tiny(tmp_path / "run", corpus=raw)
    again = fit_tiny(tmp_path / "run", corpus=raw, overrides=["data.snippets=7"])
    assert again.status == "done"


def test_documents_of_a_node_are_the_first_ones_of_the_other_views(run: Path) -> None:
    opened = RunDir(run)
    kept = opened.documents
    assert kept is not None and kept.names is not None
    wanted = top_documents(opened.tree, opened.theta, kept.names, 50)
    for node in opened.tree.shown.tolist():
        found = [(record["name"], record["share"]) for record in hiertopics.docs(run, node)]
        assert [name for name, _ in found] == [name for name, _ in wanted[node]]
        assert np.allclose([s for _, s in found], [s for _, s in wanted[node]])


def test_documents_of_a_node_may_have_all_their_words_below_it() -> None:
    """0.005 is the least share that does not round to 0; all of a share counts for the order."""
    tree = Tree(
        phi=np.full((5, 2), 0.5),
        parent=np.array([ROOT, 0, 1, 1, 0], np.int32),
        kind=np.zeros(5, np.int8),
        weight=np.full(5, 0.2),
        n_docs=np.ones(5, np.int64),
        n_tokens=np.ones(5),
    )
    theta = sparse.csr_array(
        [
            [0.5, 0, 0.25, 0.125, 0.125],
            [0, 0, 1.0, 0, 0],
            [1.0, 0, 0, 0, 0],
            [0.994, 0, 0.003, 0.003, 0],
            [0.996, 0, 0.002, 0.002, 0],
            [0.75, 0.25, 0, 0, 0],
        ]
    )
    order, shares = _of_node(tree, theta, 1)
    assert order.tolist() == [1, 0, 5, 3]
    assert shares == pytest.approx([1.0, 0.375, 0.25, 0.006])


def test_paths_and_their_chances_are_told(finished: Callable[..., Path]) -> None:
    run = RunDir(finished("hlda-variational"))
    assert run.paths is not None
    lengths = run.split.train_lengths
    assert lengths is not None and (lengths == 0).any()
    for doc, record in enumerate(hiertopics.docs(run)):
        assert record["doc"] == run.split.train_docs[doc] + 1 and record["name"] is None
        if not lengths[doc]:
            assert (record["topic"], record["path"], record["probability"]) == (None, [], None)
            continue
        assert record["path"] == [node for node in run.paths.node[doc].tolist() if node >= 0]
        assert record["topic"] == record["path"][-1]
        assert record["probability"] == pytest.approx(np.exp(run.paths.log_prob[doc]))


def test_every_format_says_the_same(call: Call, run: Path) -> None:
    records = hiertopics.docs(run, 0)
    lines = call("docs", run, 0, "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == records
    assert json.loads(call("docs", run, 0, "--format", "json").out) == records
    rows = list(csv.DictReader(io.StringIO(call("docs", run, 0, "--format", "csv").out)))
    assert [row["name"] for row in rows] == [record["name"] for record in records]
    text, n_counted = call("docs", run, 0, "--top", 3), sum(row["counted"] for row in records)
    assert text.out.count("\n") == 6 and f"{n_counted - 3} more" in text.err
    assert "\x1b" not in call("docs", run).out


@pytest.mark.parametrize("backend", ["hdp-pcvb0", "nhdp-variational", "hlda-variational"])
def test_documents_that_fit_no_branch_are_listed(
    finished: Callable[..., Path], call: Call, backend: str
) -> None:
    path = finished(backend)
    run = RunDir(path)
    top = single_root(run.tree)
    branches = run.tree.children(top if top >= 0 else ROOT).tolist()
    shares = [run.theta @ run.tree.above[:, [one]].toarray().ravel() for one in branches]
    largest = np.max(shares, axis=0)
    lengths = run.split.train_lengths
    assert lengths is not None
    least = float(np.median(largest[lengths > 0]))
    wanted = np.flatnonzero((largest < least) & (lengths > 0))
    records = hiertopics.docs(path, below=least)
    assert 0 < len(records) < run.theta.shape[0]
    numbers = [record["doc"] - 1 for record in records]
    assert sorted(numbers) == run.split.train_docs[wanted].tolist()
    assert [record["share"] for record in records] == pytest.approx(sorted(largest[wanted]))
    assert "counted" not in records[0]
    lines = call("docs", path, "--below", least, "--json").out.splitlines()
    assert [json.loads(line) for line in lines] == records
    assert call("docs", path, "--below", least).out.startswith(f"{records[0]['share']:.2f}  ")


@pytest.mark.parametrize("backend", ["hdp-pcvb0", "nhdp-variational"])
def test_the_page_counts_the_documents_that_a_third_lists(
    finished: Callable[..., Path], call: Call, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    """The limit is that of the page, for any value of it."""
    run = RunDir(finished(backend))
    branches = run.tree.children(max(single_root(run.tree), ROOT)).tolist()
    shares = [run.theta @ run.tree.above[:, [one]].toarray().ravel() for one in branches]
    # Of tiny corpora every document fits a branch: a share between those there are is the limit.
    values = np.unique(np.max(shares, axis=0).round(6))
    limit = float(values[len(values) // 2])
    monkeypatch.setattr("hiertopics.views.report.lead.FITTING", limit)
    listed = call("docs", run.path, "--below", f"{limit * 3!r}/3", "--json").out.splitlines()
    assert call("report", run.path, "-o", "page.html", "--json", "page.json").code == 0
    assert listed and f"{len(listed)} document" in Path("page.json").read_text()


def test_a_share_that_is_none_is_refused(finished: Callable[..., Path], call: Call) -> None:
    run = finished("hlda-variational")
    for words, told in (
        ((run, "--below", 0), "--below must be above 0 and at most 1, got 0"),
        ((run, "--below", 33), "--below must be above 0 and at most 1, got 33"),
        ((run, "--below", "4/3"), "--below must be above 0 and at most 1, got 1.33333"),
        ((run, "--below", "1/0"), "'1/0' is no number and no fraction such as 1/3"),
        ((run, "--below", "a/3"), "'a/3' is no number and no fraction such as 1/3"),
        ((run, 0, "--below", 0.3), "--below has no meaning for one node"),
    ):
        outcome = call("docs", *words)
        assert outcome.code == 2 and told in outcome.err and outcome.out == ""


@pytest.mark.parametrize(
    ("words", "message"), [((999,), "has no node 999"), (("x",), "is called 'x'")]
)
def test_a_node_that_is_none_is_told(
    call: Call, run: Path, words: tuple[Any, ...], message: str
) -> None:
    outcome = call("docs", run, *words)
    assert (outcome.code, outcome.out) == (2, "") and message in outcome.err


@pytest.mark.parametrize("content", [b"", b"{}\n" * 16, b"\xff", b'{"name": 3}\n' * 16, b"["])
def test_a_damaged_file_is_told(run: Path, content: bytes) -> None:
    (unsealed(run) / "documents.jsonl").write_bytes(content)
    with pytest.raises(RunError, match="damaged"):
        _ = RunDir(run).documents


def test_the_page_shows_names_and_beginnings_though_the_corpus_is_gone(
    run: Path, tmp_path: Path
) -> None:
    hiertopics.report(run, output=tmp_path / "page.html", json=tmp_path / "page.json")
    data = json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))
    kept = RunDir(run).documents
    assert kept is not None
    assert data["documents"]["name"] == list(kept.names or ())
    assert data["texts"] == list(kept.snippets or ())
    assert [column["name"] for column in data["columns"]] == ["kind"], "as its field is"
    assert data["left_out"][0].startswith("words of documents are not known")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("</script>") == 2


def test_labels_of_a_field_are_asked_for_by_its_name(run: Path, call: Call) -> None:
    by_field, by_mark = (call("topics", run, "--by", name) for name in ("kind", "labels"))
    assert by_field.code == 0 and "food" in by_field.out and by_field.out == by_mark.out
    assert "it keeps kind" in call("topics", run, "--by", "year").err


def test_a_moved_run_still_names_its_documents(run: Path, tmp_path: Path, call: Call) -> None:
    moved = shutil.move(run, tmp_path / "given away")
    assert "d1" in call("show-tree", moved, "--docs", 2).out


@pytest.mark.parametrize("suffix", [".ldac", ".ldac.gz"])
def test_documents_of_counts_go_by_a_file_beside_them(
    fit_tiny: Callable[..., object],
    tiny_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    suffix: str,
) -> None:
    text = tiny_file.read_bytes()
    corpus = tmp_path / f"own{suffix}"
    corpus.write_bytes(gzip.compress(text) if suffix.endswith(".gz") else text)
    shutil.copy(tiny_file.with_suffix(".vocab"), tmp_path / "own.vocab")
    fit_tiny(tmp_path / "run", "hdp-pcvb0", corpus=corpus)
    run = RunDir(tmp_path / "run")
    n_docs = text.count(b"\n")
    assert [record["name"] for record in hiertopics.docs(run)] == [None] * run.theta.shape[0]
    (tmp_path / "own.docs").write_text("".join(f"doc {n}\n" for n in range(n_docs)))
    names = [record["name"] for record in hiertopics.docs(run)]
    assert names == [f"doc {doc}" for doc in run.split.train_docs.tolist()]
    (tmp_path / "own.docs").write_text("doc 0\n")
    assert hiertopics.docs(run)[0]["name"] is None
    told = f"own.docs has 1 line, but the corpus has {n_docs} documents"
    assert told in capsys.readouterr().err
