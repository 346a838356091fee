"""The benchmark of trees: which cells are measured, what a stopped one leaves, what is printed."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.cluster.hierarchy import fcluster, linkage

from benchmarks import process, tree_makers, tree_quality
from benchmarks.process import CommandFailed, OutOfTime
from benchmarks.tree_quality import cells, pending, table
from benchmarks.tree_systems import Cell, Limits, compile_kernels, shape
from hiertopics.corpus.corpora.dataset import load_corpus
from hiertopics.settings.config import DataConfig

PLANTED = process.ROOT / "data-samples" / "planted.ldac"
LEVEL = {
    f"{name}{end}": value
    for name, value in (("triplets", 0.8), ("kin", 0.7), ("purity", 0.6))
    for end, value in (("", value), ("_error", 0.01), ("_chance", 0.5))
}
ROW: dict[str, Any] = {
    "corpus": "news",
    "system": "nhdp-variational",
    "seed": 0,
    "chosen_on": "yes",
    "cell_minutes": 30.0,
    "commit": "abc",
    "stopped_at": None,
    "failed": {},
    "nodes": 521,
    "branches": 5,
    "largest_family": 12,
    "perplexity": 1799.4,
    "command_cpu_seconds": 40.2,
    "peak_bytes": 2**30,
    "levels": [LEVEL, LEVEL],
    "support": {"covered_50": 1.0, "covered_70": 0.71, "bits": 4.1, "resamples": 2},
}


def test_patterns_choose_corpora_and_systems() -> None:
    assert cells(["kos:tfidf-*", "ap:hsbm"], [0, 1]) == [
        ("kos", "tfidf-ward", 0),
        ("kos", "tfidf-average", 0),
        ("ap", "hsbm", 0),
        ("kos", "tfidf-ward", 1),
        ("kos", "tfidf-average", 1),
        ("ap", "hsbm", 1),
    ]
    with pytest.raises(click.UsageError, match=r"kos:tree names no .*corpora are news, .*hsbm"):
        cells(["kos:*", "kos:tree"], [0])


def test_a_stopped_cell_is_done_again_under_a_longer_limit_alone() -> None:
    wanted = [("news", "nhdp-variational", 0), ("news", "nhdp-variational", 1)]
    assert pending([ROW], wanted, 60.0) == wanted[1:]
    stopped = ROW | {"stopped_at": "support"}
    assert pending([stopped], wanted, 30.0) == wanted[1:]
    assert pending([stopped], wanted, 31.0) == wanted
    assert pending([stopped, ROW | {"cell_minutes": 31.0}], wanted, 60.0) == wanted[1:]


def test_the_table_has_a_row_for_every_cell_whatever_became_of_it() -> None:
    stopped = {"system": "hsbm", "stopped_at": "fit", "chosen_on": ""}
    bare = {key: value for key, value in ROW.items() if key not in ("levels", "support", "nodes")}
    bare.pop("perplexity")
    refused = {"system": "hca-variational", "failed": {"fit": "holds counts | no rows"}}
    lines = table([bare | refused, bare | stopped, ROW]).splitlines()
    heads = [cell.strip() for cell in lines[0].split("|")[1:-1]]
    rows = [dict(zip(heads, map(str.strip, line.split("|")[1:-1]), strict=True)) for line in lines]
    assert [row["system"] for row in rows[2:]] == ["nhdp-variational", "hsbm", "hca-variational"]
    whole, stopped_row, refused_row = rows[2:]
    assert whole["triplets"] == "0.800 ± 0.010 / 0.800 ± 0.010"
    assert whole["purity (chance)"] == "0.600 (0.500) / 0.600 (0.500)"
    assert (whole["covered .5 / .7"], whole["bits"], whole["resamples"]) == (
        "100% / 71%",
        "4.10",
        "2",
    )
    assert (whole["perplexity"], whole["MiB"], whole["not reached"]) == ("1799", "1024", "")
    assert (stopped_row["not reached"], stopped_row["nodes"]) == ("stopped at fit (30 min)", "")
    assert refused_row["not reached"] == "fit: holds counts / no rows"


def test_a_system_that_does_not_apply_runs_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Any] = []
    monkeypatch.setattr(process, "run", lambda *words, **_: begun.append(words))
    limits = Limits(1.0, 2, None)
    compile_kernels("hca-variational", PLANTED, tmp_path)
    cell = Cell(PLANTED, "docs:0.1@0", "hca-variational", 0, limits, tmp_path)
    bare = {key: ROW[key] for key in ("corpus", "seed", "chosen_on", "cell_minutes", "commit")}
    row = table([bare | {"system": cell.system} | cell.measured(labelled=True)]).splitlines()[2]
    assert not begun
    said = "does not apply: it observes rows of numbers, not counts of words"
    assert row.split("|")[-2].strip() == said


def test_what_the_output_file_holds_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[tuple[str, bool]] = []

    def found(cell: Cell, *, labelled: bool) -> dict[str, Any]:
        measured.append((cell.path.name, labelled))
        return {"stopped_at": None, "failed": {}}

    monkeypatch.setattr(Cell, "measured", found)
    words = [str(tmp_path), "-o", str(tmp_path / "out.jsonl"), "--only"]
    for pattern in ("kos:tfidf-ward", "kos:tfidf-*", "debian:tfidf-ward"):
        done = CliRunner().invoke(tree_quality.measure, [*words, pattern])
        assert done.exit_code == 0, done.output
    names = ["docword.kos.txt.gz", "docword.kos.txt.gz", "deb.ldac.gz"]
    assert measured == list(zip(names, [False, False, True], strict=True))
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["system"] for row in rows] == ["tfidf-ward", "tfidf-average", "tfidf-ward"]


def test_a_command_ends_at_its_limit_with_all_that_it_began(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    inner = f"sleep 600 & echo $! > {begun}; echo before; wait"
    with pytest.raises(OutOfTime) as caught:
        process.run(["sh", "-c", inner], limit=0.5)
    assert caught.value.finished.stdout == "before\n"
    stat = Path(f"/proc/{begun.read_text().strip()}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"
    with pytest.raises(CommandFailed, match="exit code 3"):
        process.run([sys.executable, "-c", "raise SystemExit(3)"], limit=60)


def test_a_cell_keeps_what_it_found_before_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(1e-4, 2, None)
    cell = Cell(PLANTED, "docs:0.1@0", "tfidf-ward", 0, limits, tmp_path)
    found = cell.measured(labelled=True)
    assert found["stopped_at"] == "fit" and found["command_seconds"] > 0 and "nodes" not in found

    late = OutOfTime(process.Finished("", "", 1.0, 1.0, 1))
    monkeypatch.setattr(Cell, "_fitted", lambda cell: {"nodes": 3})
    monkeypatch.setattr(Cell, "_heldout", _raise(CommandFailed("exit code 2\nerror: no words")))
    monkeypatch.setattr(Cell, "_truth", _raise(late))
    found = cell.measured(labelled=True)
    assert found == {
        "stopped_at": "truth",
        "failed": {"perplexity": "error: no words"},
        "nodes": 3,
    }


def _raise(error: Exception) -> Any:
    def stage(_: Cell) -> dict[str, Any]:
        raise error

    return stage


def test_shape_counts_branches_and_families() -> None:
    parent = [-1, 0, 0, 1, 1, 1, 2]
    depth = [0, 1, 1, 2, 2, 2, 2]
    nodes = [{"id": n, "parent": parent[n], "depth": depth[n]} for n in range(7)]
    assert shape(nodes) == {"nodes": 7, "branches": 2, "largest_family": 3}
    flat = [{"id": n, "parent": -1, "depth": 0} for n in range(4)]
    assert shape(flat) == {"nodes": 4, "branches": 4, "largest_family": 0}


def test_a_cut_linkage_has_the_clusters_of_the_linkage() -> None:
    points = np.random.default_rng(0).normal(size=(40, 3))
    merges = linkage(points, "ward")
    parent, theta = tree_makers.cut(merges, 7)
    assert len(parent) == 13 and (parent[1:] >= 0).all()
    assert (parent[1:] < np.arange(1, 13)).all()
    at = theta.toarray().argmax(axis=1)
    assert set(at.tolist()) == set(range(13)) - set(parent[1:].tolist())
    expected = fcluster(merges, 7, "maxclust")
    together = at[:, None] == at[None, :]
    assert (together == (expected[:, None] == expected[None, :])).all()
    whole, _ = tree_makers.cut(merges, 100)
    assert len(whole) == 79


def test_halves_of_newsgroups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six documents: one has too few tokens; a stop word, a number, a rare and a common word go."""
    monkeypatch.setattr(tree_makers, "LEAST_DOCS", 2)
    monkeypatch.setattr(tree_makers, "MOST_DOCS", 0.9)
    folder = tmp_path / "20newsgroups"
    folder.mkdir()
    vocab = ["bread", "the", "ab1", "once", "goal", "all"]
    lines = ["2 0:9 4:1", "2 0:5 4:4", "3 0:11 3:1 1:9", "3 0:9 2:8 4:2", "2 4:30 1:9", "2 0:6 4:4"]
    lines = [f"{int(line[0]) + 1}{line[1:]} 5:50" for line in lines]
    groups = ["alt.atheism", "comp.graphics", "misc.forsale", "talk.politics.guns"]
    files = {
        "20news-train.ldac.gz": lines,
        "20news.vocab.gz": vocab,
        "20news-train.labels.gz": ["1", "2", "3", "4", "1", "2"],
    }
    for name, content in files.items():
        with gzip.open(folder / name, "wt") as file:
            file.write("\n".join(content) + "\n")
    named = "".join(f"{n}\t{group}\n" for n, group in enumerate(groups, 1))
    (folder / "20news.labelmap.tsv").write_text(named)
    found = {}
    for half in ("news", "rest"):
        tree_makers.write_half(tmp_path, half, tmp_path / f"{half}.ldac")
        corpus = load_corpus(DataConfig(corpus=str(tmp_path / f"{half}.ldac")))
        paths = (tmp_path / f"{half}.paths").read_text().splitlines()
        found[half] = (corpus.vocab, corpus.counts.toarray().tolist(), paths)
    assert found["news"] == (
        ("bread", "goal"),
        [[9, 1], [9, 2], [6, 4]],
        ["religion/alt.atheism", "politics/talk.politics.guns", "comp/comp.graphics"],
    )
    assert found["rest"][1:] == (
        [[11, 0], [0, 30]],
        ["forsale/misc.forsale", "religion/alt.atheism"],
    )


@pytest.mark.slow
def test_a_linkage_of_the_planted_corpus_is_measured_in_every_column(tmp_path: Path) -> None:
    cell = Cell(PLANTED, "docs:0.1@0", "tfidf-ward", 0, Limits(30, 2, None), tmp_path)
    found = cell.measured(labelled=True)
    assert found["failed"] == {} and found["stopped_at"] is None
    assert found["nodes"] == 2 * 270 - 1 and found["branches"] == 2
    assert found["levels"][0]["triplets"] > 0.95
    # Fewer documents than clusters: nothing was cut, and the program scores the same linkage.
    for cut, whole in zip(found["cut_levels"], found["levels"], strict=True):
        assert cut == pytest.approx(whole)
    assert found["support"]["resamples"] == 2 and 0 < found["support"]["covered_50"] <= 1
    assert found["perplexity"] > 1 and found["peak_bytes"] > 2**20
