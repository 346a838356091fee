"""Support by resamples: what is written, gone on with, and joined by views."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from hiertopics.base import archives
from hiertopics.base.errors import UsageError
from hiertopics.fitting import support as module
from hiertopics.fitting.driver import fit
from hiertopics.fitting.resampling import resampled_rows
from hiertopics.fitting.support import against, support, write_resamples
from hiertopics.runs.rundir import RunDir
from hiertopics.views.showing import show_tree

Copied = Callable[..., Path]
Call = Callable[..., Any]


def quiet(line: str) -> None:
    """Say nothing."""


def test_resamples_are_nine_tenths_and_differ(finished: Copied) -> None:
    n_docs = len(RunDir(finished()).split.train_docs)
    first, second = (resampled_rows(0, n_docs, number) for number in (0, 1))
    assert len(first) == len(np.unique(first)) == round(0.9 * n_docs)
    assert first.max() < n_docs and first.tolist() != second.tolist()
    assert first.tolist() == resampled_rows(0, n_docs, 0).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hlda-variational", "hdp-pcvb0", "hca-variational"])
def test_support_is_written_beside_the_tree(backend: str, copied: Copied) -> None:
    path = copied(backend)
    before = {name: (path / name).read_bytes() for name in ("tree.json", "model.npz", "topics.csv")}
    record = support(path, 2, say=quiet)
    assert {name: (path / name).read_bytes() for name in before} == before
    run = RunDir(path)
    assert run.broken_seal() is None and "support.json" in run.manifest["files"]
    written = json.loads((path / "support.json").read_text())
    assert written["nodes"] == record["nodes"] and written["resamples"] == 2
    transfer = run.supported_tree.transfer
    assert transfer is not None and (transfer.words is None) == (backend == "hca-variational")
    known = transfer.value[~np.isnan(transfer.value)]
    assert len(known) and (known >= 0).all() and (known <= 1).all()
    assert run.supported_tree.support is None


@pytest.mark.slow
def test_it_goes_on_where_it_stopped(copied: Copied, monkeypatch: pytest.MonkeyPatch) -> None:
    path = copied("hlda-variational")
    said: list[str] = []
    whole = support(path, 3, say=said.append)
    assert said[:3] == [f"resample {number} of 3 done" for number in (1, 2, 3)]
    for kept in (path / "support").glob("0002-*.npz"):
        kept.unlink()
    made: list[int] = []
    resample = module._resample

    def counted(*args: Any) -> Any:
        made.append(args[4])
        return resample(*args)

    monkeypatch.setattr(module, "_resample", counted)
    assert support(path, 3, say=quiet) == whole
    assert made == [2]
    # Other settings are other fits.
    support(path, 2, iterations=2, say=quiet)
    assert made == [2, 0, 1]


SPOILED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "it has no docs_found": lambda a: a.pop("docs_found"),
    "docs_chance is of fewer nodes": lambda a: a.update(docs_chance=a["docs_chance"][1:]),
    "words_found is true or false": lambda a: a.update(words_found=a["words_found"] > 0),
    "docs_found is above 1": lambda a: a["docs_found"].__setitem__(0, 7.0),
}


@pytest.mark.slow
def test_a_kept_resample_that_was_altered_is_refused(copied: Copied, call: Call) -> None:
    """One line that names the file and says that it can be deleted."""
    path = copied("hlda-variational")
    support(path, 2, say=quiet)
    (kept,) = (path / "support").glob("0001-*.npz")
    sound = archives.read_npz(kept)
    for spoil in SPOILED.values():
        arrays = {name: array.copy() for name, array in sound.items()}
        spoil(arrays)
        archives.write_npz(kept, arrays)
        done = call("support", path, "--resamples", "2")
        assert done.code == 1 and done.err.count("\n") == 1
        assert f"{kept} is damaged: delete it: " in done.err


@pytest.mark.slow
def test_a_longer_fit_has_no_support_until_it_is_asked_for_again(
    tiny_file: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    again = {"run": run, "backend": "hdp-cvb0", "overrides": ["model.truncation=4"]}
    fit(tiny_file, iterations=3, **again)  # type: ignore[arg-type]
    support(run, 2, say=quiet)
    assert RunDir(run).supported_tree.transfer is not None
    fit(tiny_file, iterations=6, **again)  # type: ignore[arg-type]
    assert RunDir(run).broken_seal() is None
    assert RunDir(run).supported_tree.transfer is None


@pytest.mark.slow
def test_shuffled_words_are_covered_less(tmp_path: Path, planted_file: Path) -> None:
    run = tmp_path / "run"
    fit(planted_file, run=run, backend="hdp-cvb0", iterations=20, overrides=["model.truncation=9"])
    record = support(run, 2, null=True, say=quiet)
    assert record["covered_50"] > 0.5
    assert record["null"]["covered_50"] < 0.1
    assert record["note"].endswith("of the words of a shuffled corpus)")


@pytest.fixture
def planted_file() -> Path:
    """Return the planted sample."""
    return Path(__file__).parents[2] / "data-samples" / "planted.ldac"


@pytest.mark.slow
def test_views_show_it(copied: Copied, call: Call) -> None:
    path = copied("hlda-variational")
    done = call("support", path, "--resamples", "2", "--json")
    assert done.code == 0
    record = json.loads(done.out)
    shown = show_tree(path)
    assert shown.splitlines()[-1] == record["note"]
    branches = re.findall(r"^.─ \[\d+\] +([\d.]+)%.* support ([\d.]+)", shown, re.MULTILINE)
    back = [float(share) for share, value in branches if float(value) >= 0.5]
    said = re.search(
        r"Without a tenth .* (\d+) of (\d+) branches come back, with (\d+)% of all words", shown
    )
    assert said is not None and int(said[1]) == len(back) and int(said[2]) == len(branches)
    assert int(said[3]) == pytest.approx(sum(back), abs=1)
    below = [node for node in record["nodes"] if node["support"] is not None]
    for node in below:
        line = next(line for line in shown.splitlines() if f"[{node['id']}]" in line)
        assert f"support {node['support']:.2f}" in line
    nodes = json.loads(show_tree(path, format="json"))["nodes"]
    told = {node["id"]: node["transfer_support"] for node in nodes}
    assert told == {node["id"]: node["support"] for node in record["nodes"]}
    assert show_tree(path, format="newick").count("[&support=") == len(below)
    graph = ElementTree.fromstring(show_tree(path, format="graphml"))
    assert sum(data.get("key") == "support" for data in graph.iter() if data.get("key")) == len(
        below
    )
    weak = sum(node["support"] < 0.5 for node in below)
    assert show_tree(path, format="html").count('class="weak"') == weak
    kept = json.loads(show_tree(path, format="json", supported=0.5))["nodes"]
    assert {node["id"] for node in kept} == {
        node["id"] for node in record["nodes"] if node["support"] is None or node["support"] >= 0.5
    }
    assert call("topics", path, "--format", "csv").out.splitlines()[0].count("transfer_") == 3
    page = call("report", path, "-o", "page.html", "--json", "page.json")
    assert page.code == 0
    told = json.loads(Path("page.json").read_text())
    assert told["tree"]["come_back"] == record["note"] and len(told["nodes"]["back"]) == len(nodes)


def test_a_tree_whose_support_nobody_measured_names_the_command(
    finished: Copied, call: Call
) -> None:
    run = finished("hlda-variational")
    shown = call("show-tree", run)
    line = f"was not measured; hiertopics support {run} measures it"
    assert shown.err.count(line) == 1 and "measured" not in shown.out
    assert "measured" not in call("show-tree", run, "--json").err
    assert not call("show-tree", finished("hdp-pcvb0")).err, "flat topics: fit never measures it"


def test_without_support_there_is_nothing_to_collapse(finished: Copied, call: Call) -> None:
    done = call("show-tree", finished(), "--supported", "0.5")
    assert done.code == 2 and "has no support of its nodes" in done.err
    done = call("support", finished(), "--resample")
    assert done.code == 2 and "belong together" in done.err


@pytest.mark.slow
def test_runs_of_the_listed_documents_are_held_against_the_first(
    copied: Copied, tmp_path: Path
) -> None:
    path = copied("hlda-variational")
    (first, _) = write_resamples(path, tmp_path / "lists", 2)
    rows = [int(line) for line in first.read_text().split()]
    run = RunDir(path)
    assert rows == run.split.train_docs[resampled_rows(0, len(run.split.train_docs), 0)].tolist()
    record = against(path, [path, path])
    weights = run.tree.subtree_weight
    large = [node for node in record["nodes"] if node["depth"] and weights[node["id"]] > 0.1]
    assert large and all(node["support"] == pytest.approx(1) for node in large)
    with pytest.raises(UsageError, match="takes one run or more"):
        against(path, [])
