"""Task hierarchy: planted trees are told, baselines, where paths come from, what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.data.tree import NODE, Tree
from hiertopics.fitting.driver import fit
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.comparison import compare_trees
from hiertopics.scoring.tasks import evaluate_task

Call = Callable[..., Any]
N_DOCS = 30
SAMPLES = Path(__file__).parents[2] / "data-samples"


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run on the planted corpus; its tree has the leaves of the label paths."""
    folder = tmp_path_factory.mktemp("planted")
    for path in SAMPLES.glob("planted.*"):
        shutil.copy(path, folder / path.name)
    run = folder / "run"
    fit(folder / "planted.ldac", run=run, backend="hlda-variational", iterations=20)
    return run


def with_the_true_tree(path: Path) -> RunDir:
    """Return a run whose tree and theta are those that its corpus was drawn from."""
    run = RunDir(path)
    truth = np.load(SAMPLES / "planted.truth.npz")
    docs = run.split.train_docs
    n_nodes = len(truth["parent"])
    theta = np.zeros((len(docs), n_nodes))
    np.put_along_axis(theta, truth["paths"][docs], truth["level_weights"][docs], axis=1)
    run.__dict__["tree"] = Tree(
        phi=truth["phi"],
        parent=truth["parent"].astype(np.int32),
        kind=np.full(n_nodes, NODE, np.int8),
        weight=theta.mean(axis=0),
        n_docs=(theta > 0).sum(axis=0),
        n_tokens=theta.sum(axis=0),
    )
    run.__dict__["theta"] = sparse.csr_array(theta)
    return run


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a file of label paths."""

    def write(*texts: str) -> Path:
        path = tmp_path / "given.paths"
        path.write_text("".join(f"{text}\n" for text in texts))
        return path

    return write


@pytest.mark.slow
def test_the_planted_tree_is_told_and_the_baselines_are_there(planted: Path) -> None:
    record = evaluate_task(with_the_true_tree(planted), "hierarchy")
    first, second = record["levels"]
    assert first["labels"] == 3 and second["labels"] == 9
    for name in ("triplets", "kin", "purity", "best_node_f1"):
        assert first[name] > 0.99 and second[name] > 0.9, name
    assert first["ami"] == pytest.approx(1)
    assert abs(first["triplets_chance"] - 0.5) < 0.05 and first["purity_chance"] < 0.6
    assert set(record["baselines"]) == {"theta_without_tree", "tfidf_ward", "tfidf_average"}
    for baseline in record["baselines"].values():
        assert len(baseline["levels"]) == 2
    flat = record["baselines"]["theta_without_tree"]["levels"][0]
    assert flat["kin"] < first["kin"]
    assert record["n_docs"] == len(RunDir(planted).split.train_docs)
    assert sum(one["n_docs"] for one in record["mixed"] if one["level"] == 1) == record["n_docs"]
    assert [one["branches"] for one in record["torn"]] == [1.0] * 12
    kept = json.loads((planted / "eval" / "hierarchy.json").read_text())
    assert kept["levels"][0]["kin"] == first["kin"]


@pytest.mark.slow
def test_heldout_documents_are_scored_where_they_are_asked_for(planted: Path) -> None:
    record = evaluate_task(planted, "hierarchy", heldout=True)
    assert record["n_docs"] == len(RunDir(planted).split.heldout_docs)
    assert record["levels"][1]["triplets"] > 0.9
    assert 0 < record["levels"][0]["triplets_error"] < 0.1


@pytest.mark.slow
def test_compare_puts_the_truer_tree_first(planted: Path, tmp_path: Path) -> None:
    truer = with_the_true_tree(planted)
    worse = tmp_path / "worse"
    corpus = planted.parent / "planted.ldac"
    fit(corpus, run=worse, backend="hdp-cvb0", iterations=2, overrides=["model.truncation=4"])
    rows = compare_trees([worse, truer])
    assert [Path(row["run"]).name for row in rows] == ["run", "worse"]
    assert rows[0]["behind"] is None
    lead = rows[0]["levels"][0]["triplets"] - rows[1]["levels"][0]["triplets"]
    assert rows[1]["behind"] == pytest.approx(lead)
    assert 0 < rows[1]["behind_error"] < 0.1


def two_labels() -> list[str]:
    return [("a/x", "a/y", "b/z")[doc % 3] for doc in range(N_DOCS)]


def test_empty_documents_are_left_out(copied: Callable[..., Path], lines: Call) -> None:
    run = copied("hlda-variational")
    record = evaluate_task(run, "hierarchy", paths=lines(*two_labels()))
    split = RunDir(run).split
    n_empty = int((split.train_lengths == 0).sum()) if split.train_lengths is not None else -1
    assert record["n_empty"] == n_empty
    assert record["n_docs"] + n_empty == len(split.train_docs)


REFUSED = {
    "too few lines": (["a", "b"], "2 lines, but", DataError),
    "a blank line": (["a", "", *["b"] * 28], ":2: no label path", DataError),
    "two paths": (["a", "b\tc", *["b"] * 28], ":2: 2 label paths", DataError),
    "an empty part": (["a", "b//c", *["b"] * 28], ":2: the path 'b//c' has an empty", DataError),
    "one label": (["a"] * N_DOCS, "nothing to tell apart", UsageError),
    "all labels different": (list(map(str, range(N_DOCS))), "nothing to tell apart", UsageError),
    "lines of dropped documents": (["a"] * 31, "none for documents that it dropped", DataError),
}


@pytest.mark.parametrize("what", REFUSED)
def test_wrong_paths_end_in_one_line(what: str, finished: Call, lines: Call, call: Call) -> None:
    texts, told, _ = REFUSED[what]
    done = call("eval", finished(), "--task", "hierarchy", "--paths", lines(*texts))
    assert done.code == 2 and done.out == ""
    assert told in done.err and len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"paths": "x", "path_field": "y"}, "exclude each other"),
        ({"path_from_folder": True}, "is no folder of texts"),
        ({"path_field": "section"}, "is no table with named columns"),
        ({"separator": ""}, "--separator is empty"),
        ({}, "has no label paths beside it"),
        ({"corpus": "x"}, "--corpus has no meaning for task hierarchy"),
    ],
)
def test_options_that_cannot_be_served(options: dict[str, Any], told: str, finished: Call) -> None:
    with pytest.raises(UsageError, match=told):
        evaluate_task(finished(), "hierarchy", **options)


def test_a_tree_of_one_node_is_refused(finished: Call, lines: Call) -> None:
    with pytest.raises(UsageError, match="a tree of one node"):
        evaluate_task(finished("multinomial"), "hierarchy", paths=lines(*two_labels()))


def test_more_branches_than_documents_are_refused(
    copied: Callable[..., Path], lines: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDir(copied("hlda-variational", "docs:0.2@0"))
    n_branches = int((run.tree.depth == 1).sum())
    few = run.split.train_docs[: n_branches - 1]
    short = run.theta[: len(few)]
    monkeypatch.setitem(run.__dict__, "theta", short)
    monkeypatch.setitem(run.__dict__, "split", _cut(run.split, few))
    if n_branches > 1:
        with pytest.raises(UsageError, match="more documents than branches"):
            evaluate_task(run, "hierarchy", paths=lines(*two_labels()))


def _cut(split: Any, few: Any) -> Any:
    from dataclasses import replace

    rest = np.setdiff1d(np.arange(N_DOCS), few)
    lengths = split.train_lengths[: len(few)]
    return replace(split, train_docs=few, heldout_docs=rest, train_lengths=lengths)


@pytest.mark.parametrize("heldout", [False, True])
def test_a_tree_of_rows_of_numbers_has_labels_too(heldout: bool, copied: Call, lines: Call) -> None:
    run = copied("hca-variational")
    record = evaluate_task(run, "hierarchy", paths=lines(*two_labels()), heldout=heldout)
    assert 0 <= record["levels"][0]["triplets"] <= 1
    assert set(record["baselines"]) == {"theta_without_tree"}


@pytest.mark.slow
def test_paths_of_a_table_and_of_folders(tmp_path: Path, call: Call) -> None:
    words = {"a/x": "bread butter", "a/y": "bread cheese", "b/z": "goal match"}
    rows = []
    for number in range(24):
        path = list(words)[number % 3]
        text = " ".join([words[path]] * 4)
        rows.append(json.dumps({"text": text, "where": path.replace("/", ">")}))
        file = tmp_path / "texts" / path / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    table = tmp_path / "t.jsonl"
    table.write_text("\n".join(rows) + "\n")
    small = ("-b", "hdp-cvb0", "-s", "model.truncation=3", "--iterations", "3", "-q")
    assert call("fit", table, "--text-field", "text", *small, "-o", "one").code == 0
    assert call("fit", tmp_path / "texts", *small, "-o", "two").code == 0
    field = ("--path-field", "where", "--separator", ">")
    one = call("eval", "one", "--task", "hierarchy", *field, "--json")
    two = call("eval", "two", "--task", "hierarchy", "--path-from-folder", "--json")
    for done in (one, two):
        assert done.code == 0, done.err
        assert [level["labels"] for level in json.loads(done.out)["levels"]] == [2, 3]
    alone = json.loads(two.out)
    (tmp_path / "texts" / "index.txt").write_text("bread goal")
    assert call("fit", tmp_path / "texts", *small, "-o", "three").code == 0
    three = call("eval", "three", "--task", "hierarchy", "--path-from-folder", "--json")
    assert three.code == 0
    told = f"note: 1 text in no folder of {tmp_path / 'texts'}, left out of the score: index\n"
    assert told in three.err and "note: 1 text" not in two.err
    rest = json.loads(three.out)
    assert rest["n_empty"] == alone["n_empty"] == 0 and rest["n_docs"] <= 24
    for file in (tmp_path / "texts").glob("?/*/*.txt"):
        file.unlink()
    (tmp_path / "texts" / "other.txt").write_text("bread goal")
    assert call("fit", tmp_path / "texts", *small, "-o", "four", "--holdout", "none").code == 0
    four = call("eval", "four", "--task", "hierarchy", "--path-from-folder")
    assert four.code == 2 and "no text lies in a folder below it" in four.err
    lost = call("eval", "one", "--task", "hierarchy", "--path-field", "nowhere")
    assert lost.code == 2 and "'nowhere'" in lost.err


@pytest.mark.slow
def test_what_people_see(planted: Path, call: Call) -> None:
    done = call("eval", planted, "--task", "hierarchy")
    assert done.code == 0
    assert "tfidf_average" in done.out and "labels torn over branches" in done.out
    table = call("eval", planted, "--task", "hierarchy", "--format", "csv")
    head, first, *_ = table.out.splitlines()
    assert head.startswith("method,level,") and "triplets_chance" in head
    assert first.split(",")[1] == "1"
    both = call("compare", planted, planted, "--task", "hierarchy")
    assert both.code == 0 and "kin" in both.out


def test_options_of_the_task_have_no_meaning_elsewhere(finished: Call, call: Call) -> None:
    done = call("eval", finished(), "--heldout", "--separator", ".")
    assert done.code == 2 and "has no meaning without --task hierarchy" in done.err
    done = call("compare", finished(), "--paths", "x")
    assert done.code == 2 and "has no meaning without --task" in done.err
