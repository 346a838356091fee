"""``eval --task`` as a user meets it: one table, one object, and options that fit the task."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from task_corpora import write_graph, write_labelled

import hiertopics
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.scoring.tasks import TASKS, evaluate_task

Call = Callable[..., Any]
Fit = Callable[..., Any]


@pytest.fixture
def labelled(fit_tiny: Fit, tiny_corpus: Corpus, tmp_path: Path) -> Path:
    """Return a run on documents with one label each."""
    corpus = write_labelled(tiny_corpus, tmp_path / "labelled.ldac")
    fit_tiny(tmp_path / "labelled", corpus=corpus)
    return tmp_path / "labelled"


@pytest.fixture
def linked(fit_tiny: Fit, tmp_path: Path) -> Path:
    """Return a run of a sampler that withheld links."""
    corpus = write_graph(tmp_path / "graph.npz")
    fit_tiny(tmp_path / "linked", "hdp-gibbs", corpus=corpus, holdout="links:0.2@0,drop")
    return tmp_path / "linked"


def test_a_task_as_json_is_one_object_equal_to_that_of_the_function(
    call: Call, labelled: Path, linked: Path
) -> None:
    for run, words, options in (
        (labelled, ("--task", "neighbours", "--k", 3), {"task": "neighbours", "k": 3}),
        (linked, ("--task", "links", "--average"), {"task": "links", "average": True}),
    ):
        outcome = call("eval", run, *words, "--json")
        assert (outcome.code, outcome.err, outcome.out.count("\n")) == (0, "", 1)
        record = json.loads(outcome.out)
        assert record == hiertopics.evaluate_task(run, **options)
        assert record["task"] == options["task"] and record["baselines"]


def test_the_table_has_a_row_for_the_run_and_one_for_each_baseline(
    call: Call, labelled: Path
) -> None:
    header, *lines = call("eval", labelled, "--task", "neighbours").out.splitlines()
    record = evaluate_task(labelled, "neighbours")
    assert header.split() == ["method", "accuracy", "accuracy_1", "n_docs", "n_empty", "split"]
    rows = [dict(zip(header.split(), line.split(), strict=True)) for line in lines]
    assert [row["method"] for row in rows] == [str(labelled), *record["baselines"]]
    assert rows[0]["accuracy"] == f"{record['accuracy']:.4f}" and rows[0]["n_docs"] == "6"
    for row, metrics in zip(rows[1:], record["baselines"].values(), strict=True):
        assert row["accuracy_1"] == f"{metrics['accuracy_1']:.4f}"
        assert (row["n_docs"], row["split"]) == ("-", record["split"])


def test_runs_on_one_split_share_the_lines_of_the_baselines(
    call: Call, fit_tiny: Fit, labelled: Path, tmp_path: Path
) -> None:
    fit_tiny(tmp_path / "second", corpus=tmp_path / "labelled.ldac", overrides=("seed=1",))
    fit_tiny(tmp_path / "third", corpus=tmp_path / "labelled.ldac", holdout="docs:0.2@1")
    two = call("eval", labelled, tmp_path / "second", "--task", "neighbours").out.splitlines()
    three = call("eval", labelled, tmp_path / "third", "--task", "neighbours").out.splitlines()
    methods = [line.split()[0] for line in two[1:]]
    assert methods[:2] == [str(labelled), str(tmp_path / "second")] and len(methods) == 2 + 3
    assert len(three) == 1 + 2 + 2 * 3


def test_the_table_of_links_says_how_many_queries(call: Call, linked: Path) -> None:
    header, first, *rest = call("eval", linked, "--task", "links").out.splitlines()
    assert header.split() == [
        "method", "mean_average_precision", "standard_error", "n_queries", "n_positives", "split",
    ]  # fmt: skip
    assert first.split()[0] == str(linked)
    names = [line.split()[0] for line in rest]
    assert names == list(evaluate_task(linked, "links")["baselines"])


def test_a_file_is_classified_with_labels_of_its_own(
    call: Call, labelled: Path, tmp_path: Path
) -> None:
    (tmp_path / "new.ldac").write_text("2 0:3 1:1\n1 5:4\n")
    (tmp_path / "marks").write_text("food\nsport\n")
    words = ("--task", "neighbours", "--corpus", "new.ldac", "--labels", "marks", "--json")
    outcome = call("eval", labelled, *words)
    assert (outcome.code, json.loads(outcome.out)["n_docs"]) == (0, 2)
    assert (labelled / "eval" / "neighbours-corpus=new.ldac.json").exists()


CASES: dict[str, tuple[tuple[object, ...], str]] = {
    "two things to score": (("--task", "links", "--heldout"), "exclude each other"),
    "an unknown task": (("--task", "linsk"), "unknown task 'linsk'; there are neighbours, links"),
    "a protocol of a task": (("--task", "links", "--protocol", "full"), "--protocol has no mean"),
    "a share of a task": (("--task", "neighbours", "--observed", 0), "--observed has no meaning"),
    "a seed of a task": (("--task", "links", "--seed", 0), "--seed has no meaning for task links"),
    "neighbours of links": (("--task", "links", "--k", 3), "--k has no meaning for task links"),
    "a file for links": (("--task", "links", "--corpus", "x"), "--corpus has no meaning"),
    "an average of neighbours": (("--task", "neighbours", "--average"), "--average has no mean"),
    "labels without a file": (("--task", "neighbours", "--labels", "x"), "name it with --corpus"),
    "a format without a file": (("--task", "neighbours", "--from", "x"), "--from describes a file"),
    "neighbours of held-out text": (("--heldout", "--k", 3), "--k has no meaning without --task"),
    "no neighbour": (("--task", "neighbours", "--k", 0), "--k must be from 1 to 24"),
    "neighbours in words": (("--task", "neighbours", "--k", "few"), "--k"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_has_no_meaning_is_refused_in_one_message(
    call: Call, labelled: Path, name: str
) -> None:
    words, message = CASES[name]
    outcome = call("eval", labelled, *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in " ".join(outcome.err.split()) and "Traceback" not in outcome.err
    assert not (labelled / "eval").exists()


def test_the_function_refuses_the_same_options_and_takes_defaults(labelled: Path) -> None:
    with pytest.raises(UsageError, match="--average has no meaning for task neighbours"):
        evaluate_task(labelled, "neighbours", average=True)
    with pytest.raises(UsageError, match="--kk has no meaning"):
        evaluate_task(labelled, "neighbours", kk=3)
    assert evaluate_task(labelled, "neighbours", k=None, average=False)["k"] == 7


def test_help_names_every_task(call: Call) -> None:
    text = " ".join(call("eval", "-h").out.split())
    assert [name for name in TASKS if name not in text] == []


def test_held_out_text_is_scored_as_before_with_defaults_given_or_not(
    call: Call, labelled: Path
) -> None:
    plain = call("eval", labelled, "--heldout", "--json").out
    given = call("eval", labelled, "--heldout", "--observed", 0.8, "--seed", 0, "--json").out
    assert plain == given
    before = call("eval", labelled, "--heldout", "--observed", 0, "--json").out
    assert json.loads(before)["perplexity"] != json.loads(plain)["perplexity"]
