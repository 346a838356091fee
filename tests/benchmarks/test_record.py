"""The record: what is measured, what a stopped or failed one leaves, what its table says."""

from __future__ import annotations

import csv
import gzip
import re
import signal
import subprocess
import sys
import time
from html import unescape
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.cluster.hierarchy import fcluster, linkage

from benchmarks import (
    plain_words,
    process,
    record,
    record_page,
    record_pages,
    record_store,
    record_table,
    tree_makers,
)
from benchmarks.process import ROOT, CommandFailed, OutOfTime
from benchmarks.record import Task, agreed, cells, pending, places, stranger
from benchmarks.record_store import Shared, Store
from benchmarks.systems import (
    AVERAGED,
    BURSTS,
    MADE,
    OURS,
    PROGRAMS,
    STANDARD,
    Cell,
    Limits,
    Place,
    Programs,
    compile_kernels,
    reason,
    shape,
    written,
)
from hiertopics.contract import registry
from hiertopics.corpus.corpora.dataset import load_corpus
from hiertopics.settings.config import DataConfig

PLANTED = ROOT / "data-samples" / "planted.ldac"
NOW = Shared("abc", "def", "docs:0.1@0", 2)
LEVEL = {
    f"{name}{end}": value
    for name, value in (("triplets", 0.8), ("kin", 0.7), ("purity", 0.6))
    for end, value in (("", value), ("_error", 0.01), ("_chance", 0.5))
}
MACHINE = {"cpu": "cpu", "cores": 2, "memory_gib": 1.0, "versions": {"python": "3"}}
ROW: dict[str, Any] = {
    "corpus": "news",
    "system": "nhdp-variational",
    "seed": 0,
    **NOW._asdict(),
    "chosen_on": "yes",
    "cell_minutes": 30.0,
    "load": 1.0,
    "corpus_sha256": "123",
    "machine": MACHINE,
    "stopped_at": None,
    "failed": {},
    "labelled": True,
    "tree": True,
    "nodes": 521,
    "branches": 5,
    "largest_family": 12,
    "perplexity": 1799.4,
    "perplexity_with_cache": 1700.0,
    "perplexity_of_new_words": 3000.0,
    "one_scorer": {"perplexity": 1750.0, "cached_perplexity": None},
    "coherence_npmi": 0.1,
    "parent_child_npmi": 0.05,
    "split_hash": "s",
    "log_likelihood": [-6.0, -12.0],
    "one_scorer_log_likelihood": [-5.0, -11.0],
    "n_scored": [1, 2],
    "command_cpu_seconds": 40.2,
    "peak_bytes": 2**30,
    "same_bytes": True,
    "levels": [LEVEL, LEVEL],
    "support": {"covered_50": 1.0, "covered_70": 0.71, "bits": 4.1, "by_depth": [0.7, 0.6]},
}
MEASURED = ("nodes", "branches", "perplexity", "log_likelihood", "levels", "support", "tree")
SPREADS = {f"{column.name}_sd" for column in record_table.columns(1) if column.spread}
BARE = {key: value for key, value in ROW.items() if key not in MEASURED}


def text(cells: list[dict[str, Any]], system: str) -> dict[str, str]:
    (row,) = [row for row in record_table.rows(cells) if row["system"] == system]
    return row


def test_every_backend_and_every_kind_of_peer_is_in_the_record() -> None:
    assert set(registry.BACKENDS) == set(OURS)
    assert {*OURS, *MADE, *PROGRAMS} <= set(STANDARD)


def test_predictions_of_all_samplers_are_averaged() -> None:
    assert set(AVERAGED) == {name for name in OURS if registry.load(name).sampler}


def test_patterns_choose_corpora_and_systems() -> None:
    corpora, systems = ("kos", "ap"), ("nhdp-variational", "tfidf-ward", "tfidf-average", "hsbm")
    assert cells(["kos:tfidf-*", "ap:hsbm", "ap:nhdp-*"], corpora, systems, 2) == [
        ("ap", "nhdp-variational", 0),
        ("kos", "tfidf-ward", 0),
        ("kos", "tfidf-average", 0),
        ("ap", "hsbm", 0),
        ("kos", "tfidf-ward", 1),
        ("kos", "tfidf-average", 1),
        ("ap", "hsbm", 1),
    ]
    assert cells(["*:hsbm-null"], corpora, systems, 1) == [
        ("kos", "hsbm-null", 0),
        ("ap", "hsbm-null", 0),
    ]
    with pytest.raises(click.UsageError, match=r"kos:tree names no .*corpora are kos, .*hsbm"):
        cells(["kos:*", "kos:tree"], corpora, systems, 1)


def test_a_stopped_cell_is_done_again_under_a_longer_limit_alone() -> None:
    wanted = [Task("news", "nhdp-variational", seed) for seed in (0, 1)]
    assert pending([ROW], wanted, 60.0) == wanted[1:]
    stopped = ROW | {"stopped_at": "support"}
    assert pending([stopped], wanted, 30.0) == wanted[1:]
    assert pending([stopped], wanted, 31.0) == wanted
    crashed, lacking = ({"failed": {"fit": why}} for why in ("exit code 3", "not installed: x"))
    assert pending([ROW | crashed], wanted, 30.0) == wanted[1:]
    assert pending([ROW | lacking], wanted, 30.0) == wanted


def test_cells_of_another_commit_are_refused_or_made_anew(tmp_path: Path) -> None:
    store, task = Store(tmp_path), Task("news", "nhdp-variational", 0)
    store.write(ROW)
    assert agreed(store, NOW, [task], anew=False) == [ROW]
    for field in ("commit", "measured_by", "split"):
        later = Shared(**{**NOW._asdict(), field: "new"})
        with pytest.raises(click.ClickException, match="1 cells of abc def.*give --anew$"):
            agreed(store, later, [task], anew=False)
        assert agreed(store, later, [task], anew=True) == []
        with pytest.raises(click.ClickException, match="they are outside --only"):
            agreed(store, later, [Task("kos", "hsbm", 0)], anew=True)


def test_what_measures_is_a_part_of_the_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "benchmarks" / "foreign").mkdir(parents=True)
    monkeypatch.setattr(record_store, "ROOT", tmp_path)
    found = []
    for name in ("foreign/one.py", "scorer.py", "page.py"):
        (tmp_path / "benchmarks" / name).write_text("x = 1\n")
        found.append(record_store.measured_by())
    assert found[0] != found[1] == found[2]


def test_a_name_that_cannot_be_a_system_is_refused() -> None:
    assert stranger("mine=python 'a b.py'") == ("mine", ["python", "a b.py"])
    for word in ("mine", "=x", "mine=", "a/b=x", "x-null=y", "hsbm=x"):
        with pytest.raises(click.UsageError):
            stranger(word)


def test_a_folder_of_corpora_is_read(tmp_path: Path) -> None:
    for name in ("one.ldac", "two.ldac.gz", "three.txt"):
        (tmp_path / name).touch()
    assert places(None, tmp_path) == {
        "one": tmp_path / "one.ldac",
        "two": tmp_path / "two.ldac.gz",
    }
    assert not Place("two", tmp_path / "two.ldac.gz").labelled
    (tmp_path / "two.paths").touch()
    assert Place("two", tmp_path / "two.ldac.gz").labelled
    with pytest.raises(click.UsageError, match="no corpus"):
        places(None, None)
    for name in ("kos/docword.kos.txt.gz", "20newsgroups/20news-train.ldac.gz"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    kos = tmp_path / "kos" / "docword.kos.txt.gz"
    assert places(tmp_path, None) == {"news": None, "kos": kos, "rest": None}
    with pytest.raises(click.UsageError, match="kos is no new name"):
        (tmp_path / "kos.ldac").touch()
        places(tmp_path, tmp_path)


def test_the_table_has_a_row_for_every_cell_whatever_became_of_it() -> None:
    stopped = BARE | {"system": "hsbm", "stopped_at": "fit"}
    lacking = BARE | {"system": "gensim-hdp", "failed": {"fit": "not installed: gensim"}}
    late = {"system": "tfidf-ward", "stopped_at": "support", "tree": True, "nodes": 9}
    flat = ROW | {"system": "hdp-cvb0", "tree": False}
    table = [stopped, lacking, ROW | late, flat, ROW]
    whole = text(table, "nhdp-variational")
    assert (whole["triplets_1"], whole["triplets_1_error"]) == ("0.8000", "0.0100")
    assert (whole["purity_2"], whole["purity_2_chance"]) == ("0.6000", "0.5000")
    assert (whole["covered_50"], whole["covered_70"], whole["bits"]) == (
        "1.0000",
        "0.7100",
        "4.100",
    )
    assert (whole["perplexity"], whole["one_scorer_perplexity"]) == ("1799.4", "1750.0")
    assert (whole["peak_mib"], whole["same_bytes"], whole["commit"]) == ("1024", "yes", "abc")
    assert text(table, "hsbm")["perplexity"] == "stopped at 30 min"
    assert text(table, "hsbm")["seeds"] == "0"
    assert text(table, "hsbm")["processor_seconds"] == "stopped at 30 min"
    assert text(table, "gensim-hdp")["triplets_1"] == "not installed: gensim"
    assert text(table, "tfidf-ward")["nodes"] == "9"
    assert text(table, "tfidf-ward")["triplets_2"] == "0.8000"
    del flat["levels"], flat["support"]
    found = text([flat, ROW], "hdp-cvb0")
    names = ("triplets_1", "covered_50", "branches")
    assert [found[name] for name in names] == ["no tree"] * 3


def test_a_figure_of_0_is_a_figure() -> None:
    row = ROW | {"support": ROW["support"] | {"covered_70": 0.0}, "coherence_npmi": 0.0}
    found = text([row], "nhdp-variational")
    assert (found["covered_70"], found["coherence"]) == ("0.0000", "0.0000")


def test_support_that_was_stopped_says_so() -> None:
    row = {key: value for key, value in ROW.items() if key != "support"}
    row |= {"system": "tfidf-ward", "stopped_at": "support"}
    found = text([row, ROW], "tfidf-ward")
    assert (found["covered_50"], found["bits"]) == ("stopped at 30 min",) * 2
    assert found["note"] == "seed 0, support: stopped at 30 min"


def test_a_corpus_without_labels_has_no_truth() -> None:
    row = {key: value for key, value in ROW.items() if key != "levels"} | {"labelled": False}
    assert text([row], "nhdp-variational")["triplets_1"] == "no labels"


def test_a_null_row_has_no_cost_and_is_behind_nothing() -> None:
    found = text([ROW, ROW | {"system": "nhdp-variational-null"}], "nhdp-variational-null")
    assert found["processor_seconds"] == found["peak_mib"] == found["same_bytes"] == "no null"
    assert found["behind"] == "other words" and found["perplexity"] == "1799.4"


def test_seeds_are_averaged_and_paired_by_document() -> None:
    others = [
        ROW | {"system": "tfidf-ward", "seed": 0, "perplexity": 100.0, "log_likelihood": [-7, -14]},
        ROW | {"system": "tfidf-ward", "seed": 1, "perplexity": 110.0, "log_likelihood": [-8, -15]},
    ]
    found = text([ROW, *others], "tfidf-ward")
    assert (found["perplexity"], found["perplexity_sd"], found["seeds"]) == ("105.0", "7.1", "2")
    # Behind by 1.5 and 2.5 nats in documents of one and two words: 4 / 3 a word.
    assert found["behind"] == "1.3333"
    assert found["behind_error"] == f"{np.hypot(1.5 - 4 / 3, 2.5 - 8 / 3) / 3:.4f}"
    assert found["one_scorer_behind"] == "0.0000"
    alone = text(others, "tfidf-ward")
    assert alone["behind"] == "no row of the default"


def test_times_of_a_busy_machine_are_marked() -> None:
    assert text([ROW], ROW["system"])["machine"] == "cpu, 2 cores, 1.0 GiB, idle"
    assert text([ROW | {"load": 3.0}], ROW["system"])["machine"].endswith("busy")


def test_the_numbers_of_the_page_are_those_of_the_csv_file(tmp_path: Path) -> None:
    table = record_table.rows([ROW, BARE | {"system": "hsbm", "failed": {"fit": "a < b"}}])
    record_table.write_csv(table, tmp_path / "record.csv")
    record_page.write(table, tmp_path / "record.html")
    page = (tmp_path / "record.html").read_text(encoding="utf-8")
    heads = [head.replace("<wbr>", "") for head in re.findall(r"<button>(.*?)</button>", page)]
    shown = [re.findall(r"<td.*?>(.*?)</td>", line) for line in page.splitlines() if "<td" in line]
    with open(tmp_path / "record.csv", encoding="utf-8", newline="") as stream:
        first, *lines = csv.reader(stream)
    # The page leaves out what no row has: deviations of a single seed.
    filled = [place for place in range(len(first)) if any(line[place] for line in lines)]
    assert {first[n] for n in range(len(first)) if n not in filled} <= {"note", *SPREADS}
    assert heads == [first[place] for place in filled]
    told = [[line[place] for place in filled] for line in lines]
    assert [[unescape(cell) for cell in line] for line in shown] == told
    assert "<li>kos: nhdp-variational, " in page and "<li>news: tfidf-ward, " in page
    assert record_table.read_csv(tmp_path / "record.csv") == table


def test_the_page_of_a_folder_is_that_of_its_csv_file(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(ROW)
    store.write(BARE | {"system": "hsbm", "stopped_at": "fit"})
    for given in (tmp_path, tmp_path / "record.csv"):
        page = str(tmp_path / f"{given.stem}.page")
        done = CliRunner().invoke(record_pages.measure, [str(given), "-o", page])
        assert done.exit_code == 0, done.output
    pages = [path.read_text(encoding="utf-8") for path in tmp_path.glob("*.page")]
    assert len(pages) == 2 and pages[0] == pages[1] and "stopped at 30 min" in pages[0]


def cell(folder: Path, system: str, minutes: float = 30.0, **programs: Any) -> Cell:
    place, limits = Place("planted", PLANTED), Limits(minutes, 2)
    return Cell(place, "docs:0.1@0", system, 0, limits, Programs(**programs), folder)


def test_a_system_that_does_not_apply_runs_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[Any] = []
    monkeypatch.setattr(process, "run", lambda *words, **_: begun.append(words))
    compile_kernels("hca-variational", PLANTED, tmp_path)
    found = BARE | {"system": "hca-variational"} | cell(tmp_path, "hca-variational").measured()
    assert not begun
    said = "does not apply: it observes rows of numbers, not counts of words"
    assert text([found], "hca-variational")["triplets_1"] == said


@pytest.mark.parametrize("system", ["nhdp-variational-bursts", "hdp-gibbs-bursts"])
def test_a_bursty_system_is_a_backend_that_is_given_bursts(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[list[str]] = []

    def run(words: list[str], **_: Any) -> None:
        begun.append(words)
        raise CommandFailed("enough")

    monkeypatch.setattr(process, "run", run)
    cell(tmp_path, system).measured()
    (words,) = begun
    backend = system.removesuffix(BURSTS)
    assert backend in OURS and words[words.index("--backend") + 1] == f"{backend}:bursts"


def test_a_command_ends_at_its_limit_with_all_that_it_began(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    inner = f"sleep 600 & echo $! > {begun}; echo before; wait"
    with pytest.raises(OutOfTime) as caught:
        process.run(["sh", "-c", inner], limit=0.5)
    assert caught.value.finished.stdout == "before\n"
    assert gone(int(begun.read_text()))
    with pytest.raises(CommandFailed, match="exit code 3"):
        process.run([sys.executable, "-c", "raise SystemExit(3)"], limit=60)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
@pytest.mark.parametrize("limit", [None, 600], ids=["unlimited", "limited"])
def test_a_command_ends_with_the_process_that_waits_for_it(
    tmp_path: Path, number: signal.Signals, limit: float | None
) -> None:
    begun = tmp_path / "begun"
    inner = f"sleep 600 & echo $! $$ > {begun}.partial; mv {begun}.partial {begun}; wait"
    program = f"from benchmarks import process; process.run(['sh', '-c', {inner!r}], limit={limit})"
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    while not begun.exists():
        assert parent.poll() is None
        time.sleep(0.01)
    parent.send_signal(number)
    parent.wait()
    assert all(gone(int(pid)) for pid in begun.read_text().split()), "a process is left"


def test_a_cell_keeps_what_it_found_before_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late_cell = cell(tmp_path, "tfidf-ward", minutes=1e-4)
    found = late_cell.measured()
    assert found["stopped_at"] == "fit" and found["command_seconds"] > 0 and "nodes" not in found

    late = OutOfTime(process.Finished("", "", 1.0, 1.0, 1))
    monkeypatch.setattr(Cell, "_fitted", lambda cell: {"nodes": 3, "tree": True})
    monkeypatch.setattr(Cell, "_heldout", _raise(CommandFailed("exit code 2\nerror: no words")))
    monkeypatch.setattr(Cell, "_truth", _raise(late))
    found = late_cell.measured()
    assert found == {
        "stopped_at": "truth",
        "failed": {"perplexity": "error: no words"},
        "labelled": True,
        "nodes": 3,
        "tree": True,
    }


def _raise(error: Exception) -> Any:
    def stage(_: Cell) -> dict[str, Any]:
        raise error

    return stage


def test_shape_counts_branches_and_families() -> None:
    parent = [-1, 0, 0, 1, 1, 1, 2]
    depth = [0, 1, 1, 2, 2, 2, 2]
    nodes = [{"id": n, "parent": parent[n], "depth": depth[n]} for n in range(7)]
    assert shape(nodes) == {
        "tree": True,
        "nodes": 7,
        "branches": 2,
        "largest_family": 3,
    }
    flat = [{"id": n, "parent": -1, "depth": 0} for n in range(4)]
    assert shape(flat) == {
        "tree": False,
        "nodes": 4,
        "branches": 4,
        "largest_family": 0,
    }


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
    monkeypatch.setattr(plain_words, "LEAST_DOCS", 2)
    monkeypatch.setattr(plain_words, "MOST_DOCS", 0.9)
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


def test_why_a_command_failed_is_one_line() -> None:
    said = "Traceback\nModuleNotFoundError: No module named 'gensim'\n"
    assert reason(CommandFailed(said)) == "not installed: gensim"
    assert reason(CommandFailed("x\nhiertopics: error: no tree\n")) == "no tree"


def test_the_form_of_a_tree_is_told_by_its_files(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="wrote no file"):
        written(tmp_path)
    (tmp_path / "b.csv").touch()
    (tmp_path / "a.json").touch()
    assert written(tmp_path) == [tmp_path / "a.json", tmp_path / "b.csv"]
    for name, form in (
        ("document_info.csv", "bertopic"),
        ("linkage.npy", "linkage"),
        ("levels.txt", "levels"),
    ):
        (tmp_path / name).touch()
        assert written(tmp_path) == [tmp_path / name, "--form", form]


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    for system, told in (("hca", "--hca names"), ("bertopic-embedding", "planted.npy")):
        with pytest.raises(CommandFailed, match=f"not installed: .*{told}"):
            Programs().command(system, "planted")
    (tmp_path / "planted.npy").touch()
    words = Programs(embeddings=str(tmp_path)).command("bertopic-embedding", "planted")
    assert words[-2:] == ["--embedding", str(tmp_path / "planted.npy")]


def tiny(folder: Path, n_docs: int = 40) -> Path:
    """A folder with the first of the planted documents of each label as a corpus."""
    corpora = folder / "corpora"
    corpora.mkdir()
    whole = {end: PLANTED.with_suffix(end).read_text().splitlines() for end in (".ldac", ".paths")}
    step = len(whole[".ldac"]) // n_docs
    for end, lines in whole.items():
        (corpora / f"tiny{end}").write_text("\n".join(lines[::step]) + "\n")
    (corpora / "tiny.vocab").write_text(PLANTED.with_suffix(".vocab").read_text())
    return corpora


def run_record(folder: Path, *words: str) -> Result:
    told = ["--corpora", str(folder / "corpora"), "-o", str(folder / "record"), *words]
    return CliRunner().invoke(record.measure, told)


def script(folder: Path, name: str, body: str) -> str:
    """Write a system of a stranger; return its --system."""
    path = folder / f"{name}.py"
    path.write_text("import os, pathlib, sys, time\ncorpus, folder, seed = sys.argv[1:]\n" + body)
    return f"{name}={sys.executable} {path}"


@pytest.mark.slow
def test_systems_that_crash_or_are_not_there_stand_in_the_table(tmp_path: Path) -> None:
    tiny(tmp_path)
    systems = [
        script(tmp_path, "crash", "raise ValueError('too few words')\n"),
        script(tmp_path, "killed", "os.kill(os.getpid(), 9)\n"),
        script(tmp_path, "silent", ""),
        script(tmp_path, "wrong", "pathlib.Path(folder, 'tree.json').write_text('{}')\n"),
        script(tmp_path, "needy", "import no_such_package\n"),
        "absent=no-such-program",
    ]
    words = [word for system in systems for word in ("--system", system)]
    names = [system.partition("=")[0] for system in systems]
    chosen = [word for name in names for word in ("--only", f"*:{name}")]
    done = run_record(tmp_path, *words, *chosen)
    assert done.exit_code == 0, done.output
    rows = record_table.read_csv(tmp_path / "record" / "record.csv")
    said = {row["system"]: row["perplexity"] for row in rows}
    assert said["crash"] == "ValueError: too few words"
    assert said["killed"].startswith("exit code -9")
    assert said["silent"] == "the command wrote no file of a tree"
    assert said["wrong"].endswith("no parent: a tree has parents, and shares of documents")
    assert said["needy"] == "not installed: no_such_package"
    assert said["absent"].startswith("not installed: no-such-program")


@pytest.mark.slow
def test_a_cell_has_a_limit(tmp_path: Path) -> None:
    tiny(tmp_path)
    system = script(tmp_path, "slow", "time.sleep(600)\n")
    words = ("--system", system, "--only", "*:slow", "--cell-minutes", "0.1")
    began = time.monotonic()
    assert run_record(tmp_path, *words).exit_code == 0
    assert time.monotonic() - began < 60
    (row,) = record_table.read_csv(tmp_path / "record" / "record.csv")
    assert row["perplexity"] == row["nodes"] == "stopped at 0.1 min"


def test_a_record_that_was_killed_does_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny(tmp_path)
    measured: list[str] = []

    def found(cell: Cell) -> dict[str, Any]:
        measured.append(f"{cell.system}:{cell.seed}")
        if len(measured) == 2:
            raise KeyboardInterrupt
        return {"stopped_at": None, "failed": {}}

    monkeypatch.setattr(Cell, "measured", found)
    words = ("--only", "*:tfidf-ward", "--only", "*:hsbm", "--seeds", "2")
    assert run_record(tmp_path, *words).exit_code != 0
    done = run_record(tmp_path, *words)
    assert done.exit_code == 0 and "3 cells to measure" in done.output
    assert measured == ["tfidf-ward:0", "hsbm:0", "hsbm:0", "tfidf-ward:1", "hsbm:1"]
    assert "0 cells to measure" in run_record(tmp_path, *words).output
    assert sorted(path.name for path in (tmp_path / "record").iterdir()) == [
        "cells",
        "lock",
        "record.csv",
        "record.html",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_a_process_ended_amid_a_cell_leaves_no_cell(tmp_path: Path, number: signal.Signals) -> None:
    tiny(tmp_path)
    body = "open(sys.argv[0] + '.pid', 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    system = script(tmp_path, "mine", body)
    folder, begun = tmp_path / "record", tmp_path / "mine.py.pid"
    words = ["--corpora", str(tmp_path / "corpora"), "-o", str(folder), "--system", system]
    command = process.benchmarks("record", *words, "--only", "*:mine")
    child = subprocess.Popen(command, cwd=ROOT)
    while not (begun.exists() and begun.read_text()):
        assert child.poll() is None
        time.sleep(0.1)
    with pytest.raises(click.ClickException, match="written already"), Store(folder).locked():
        pass
    child.send_signal(number)
    child.wait()
    assert gone(int(begun.read_text())), "the system goes on without the record"
    assert not list(folder.glob("cells/*/*/*"))
    script(tmp_path, "mine", "raise ValueError('again')\n")
    done = run_record(tmp_path, "--system", system, "--only", "*:mine")
    assert "1 cells to measure" in done.output
    (cell,) = Store(folder).read()
    assert cell["failed"] == {"fit": "ValueError: again"}
    assert not (folder / "work").exists()


def gone(pid: int) -> bool:
    """Wait at most ten seconds for the end of a process."""
    until = time.monotonic() + 10
    while running(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not running(pid)


def running(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.slow
def test_the_example_of_a_stranger_is_scored_in_every_column(tmp_path: Path) -> None:
    tiny(tmp_path, 60)
    example = ROOT / "benchmarks" / "example_system.py"
    system = f"k-means={sys.executable} {example}"
    done = run_record(tmp_path, "--system", system, "--only", "*:k-means")
    assert done.exit_code == 0, done.output
    (row,) = record_table.read_csv(tmp_path / "record" / "record.csv")
    assert row["note"] == "" and row["same_bytes"] == "yes"
    for column in record_table.columns(1):
        assert np.isfinite(float(row[column.name])), column.name
    assert float(row["triplets_1"]) > 0.6
    assert row["behind"] == "no row of the default"


@pytest.mark.nightly
def test_a_linkage_of_the_planted_corpus_is_measured_in_every_column(tmp_path: Path) -> None:
    found = cell(tmp_path, "tfidf-ward").measured()
    assert found["failed"] == {} and found["stopped_at"] is None
    assert found["nodes"] == 2 * 270 - 1 and found["branches"] == 2
    assert found["levels"][0]["triplets"] > 0.95
    # Fewer documents than clusters: nothing was cut, and the program scores the same linkage.
    for cut, whole in zip(found["cut_levels"], found["levels"], strict=True):
        assert cut == pytest.approx(whole)
    assert found["support"]["resamples"] == 2 and 0 < found["support"]["covered_50"] <= 1
    assert found["perplexity"] > 1 and found["peak_bytes"] > 2**20
