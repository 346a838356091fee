"""A run with groups through the commands: its files, its views, new documents, interruptions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chdp_cases import COOPERATIONS, simulated
from scipy import sparse

from hiertopics.base.errors import UsageError
from hiertopics.contract.model import Sizes
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.fitting.driver import fit
from hiertopics.fitting.loop import Event, Stop
from hiertopics.runs.rundir import RunDir

SETTINGS = ("model.truncation=8", "inference.hyper_start=2", "output.record_every=2")


@pytest.fixture(scope="module")
def corpus_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return 60 documents of four groups as authors.ldac, their groups beside it."""
    path = tmp_path_factory.mktemp("authors") / "authors.ldac"
    corpus, _ = simulated(Sizes(60, 30, 25), seed=2, truncation=6, gamma=4.0)
    write_corpus(corpus, path)
    return path


SCHEDULE = ("inference.keep_every=3", "inference.burn_in=2")


def run_fit(corpus: Path, run: Path, *settings: str, iterations: int = 9, **others: Any) -> RunDir:
    asked = {"backend": "chdp-gibbs", "iterations": iterations, "holdout": "docs:0.2@0", **others}
    if "inference.method=sticks" in settings:
        asked["backend"] = "chdp-variational"
    else:
        settings = (*SCHEDULE, *settings)
    fit(corpus, run=run, overrides=(*SETTINGS, *settings), **asked)
    return RunDir.open(run)


@pytest.fixture(scope="module")
def run(corpus_file: Path, tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    """Return a finished run; do not write to it but its scores."""
    return run_fit(corpus_file, tmp_path_factory.mktemp("run") / "run")


def artefacts(run: RunDir) -> dict[str, bytes]:
    names = ("model.npz", "theta.npz", "theta_groups.npz", "groups.txt", "tree.json", "topics.csv")
    return {name: (run.path / name).read_bytes() for name in names}


def test_weights_of_groups_stand_in_a_file_with_a_row_for_each_name(run: RunDir) -> None:
    theta = sparse.load_npz(run.path / "theta_groups.npz")
    names = (run.path / "groups.txt").read_text().splitlines()
    assert names == ["g0", "g1", "g2", "g3"]
    assert theta.shape == (4, run.tree.n_nodes)
    np.testing.assert_allclose(theta.sum(axis=1), 1, atol=1e-12)
    assert (theta.toarray() == run.tree.extra["group_theta"]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        ("inference.shards=3",),
        ("model.cooperation=maximization",),
        ("model.weights=learned",),
        ("inference.sampler=irp",),
        ("inference.method=sticks", "inference.shards=2"),
    ],
    ids=["shards", "maximization", "learned", "irp", "sticks"],
)
def test_workers_and_interruptions_change_no_byte(
    corpus_file: Path, settings: tuple[str, ...], tmp_path: Path
) -> None:
    def stop(event: Event) -> Stop | None:
        return Stop("the test wants it", False) if event.iteration in (1, 4) else None

    whole = run_fit(corpus_file, tmp_path / "whole", *settings, workers=2)
    for _ in range(2):
        run_fit(corpus_file, tmp_path / "parts", *settings, callbacks=[stop])
    parts = run_fit(corpus_file, tmp_path / "parts", *settings)
    assert parts.manifest["status"] == "done"
    assert artefacts(parts) == artefacts(whole)


def test_topics_by_group_lists_groups_largest_first(run: RunDir, call: Callable[..., Any]) -> None:
    rows = [
        json.loads(line)
        for line in call("topics", run.path, "--by", "group", "--similar", 2, "--format", "json")
        .out.splitlines()
    ]  # fmt: skip
    sizes = [row["n_docs"] for row in rows]
    assert sizes == sorted(sizes, reverse=True) and sum(sizes) > 48
    theta = dict(zip(run.tree.extra["group_names"], run.tree.extra["group_theta"], strict=True))
    for row in rows:
        own = theta[row["group"]]
        assert [topic["weight"] for topic in row["topics"]] == sorted(
            own[run.tree.shown], reverse=True
        )[:5]
        assert all(own[topic["id"]] == topic["weight"] for topic in row["topics"])
        assert [name for name, _ in row["similar"]] != [row["group"]] and len(row["similar"]) == 2
    text = call("topics", run.path, "--by", "group").out.splitlines()
    assert [line.split()[0] for line in text] == [row["group"] for row in rows]
    table = call("topics", run.path, "--by", "group", "--format", "csv").out.splitlines()
    assert table[0] == "group,n_docs,topic,weight,words" and len(table) == 1 + 5 * len(rows)


def test_show_tree_shows_topics_then_groups(run: RunDir, call: Callable[..., Any]) -> None:
    topics, _, groups = call("show-tree", run.path).out.partition("\n\n")
    assert len(topics.splitlines()) == len(run.tree.shown)
    lines = groups.splitlines()
    assert len(lines) == 4 and all(line.startswith("g") and " docs  [" in line for line in lines)
    assert json.loads(call("show-tree", run.path, "--format", "json").out)["nodes"]


def test_groups_are_asked_of_a_run_that_has_none(
    finished: Callable[..., Path], call: Callable[..., Any]
) -> None:
    done = call("topics", finished("hdp-gibbs"), "--by", "group")
    assert done.code == UsageError.exit_code and "has no weights of groups" in done.err


def test_held_out_documents_are_scored_with_their_groups_unless_these_are_hidden(
    run: RunDir, call: Callable[..., Any]
) -> None:
    scores = {}
    for flags in (("--observed", 0), ("--observed", 0, "--hide-groups"), ()):
        done = call("eval", run.path, "--heldout", "--json", *flags)
        scores[flags] = json.loads(done.out)["perplexity"]
    known, hidden, observed = scores.values()
    assert known < hidden and observed < known
    with np.load(run.path / "eval" / "completion-observed=0-hide_groups=True.npz") as kept:
        theta = kept["theta_data"].reshape(kept["theta_shape"])
    assert (theta == theta[0]).all()


def test_infer_uses_the_groups_of_new_documents(
    run: RunDir, call: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "new.ldac").write_text("1 0:2\n1 0:2\n1 0:2\n")
    for groups in ("g0\ng1\nstranger\n", "g1\ng0\n\n"):
        (tmp_path / "new.authors").write_text(groups)
        assert call("infer", run.path, "new.ldac", "-o", f"{len(groups)}.npz").code == 0
    one, other = (sparse.load_npz(tmp_path / f"{size}.npz").toarray() for size in (15, 7))
    assert (one[[1, 0, 2]] == other).all() and (one[0] != one[1]).any()


def test_the_average_over_draws_uses_each_draws_groups(
    run: RunDir, call: Callable[..., Any]
) -> None:
    done = call("eval", run.path, "--heldout", "--observed", 0, "--average", "--json")
    assert json.loads(done.out)["perplexity"] > 1
    thetas = [tree.extra["group_theta"].sum() for tree, _ in run.draws()]
    assert len(thetas) == 2 and np.allclose(thetas, 4)


@pytest.mark.parametrize("cooperation", COOPERATIONS)
def test_simulate_writes_the_groups_beside_the_corpus(
    cooperation: str, call: Callable[..., Any], tmp_path: Path
) -> None:
    words = ["simulate", "chdp-gibbs", "-o", "c.ldac", "-s", f"model.cooperation={cooperation}"]
    done = call(*words, "-s", "model.truncation=5", "--docs", 30, "--words", 20, "--length", 9)
    assert done.code == 0, done.err
    assert len((tmp_path / "c.authors").read_text().splitlines()) == 30
    assert np.load(tmp_path / "c.truth.npz")["pi"].shape == (2, 5)


def test_a_groups_file_of_the_wrong_length_is_refused(
    corpus_file: Path, call: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "short.authors").write_text("0\n1\n")
    done = call("fit", corpus_file, "-b", "chdp-gibbs", "--groups", "short.authors", "-o", "r")
    assert done.code == 2 and "short.authors" in done.err and "Traceback" not in done.err
