"""The quick support of branches that a fit computes where it costs little."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from stepping import corpus_of, settings_of

from hiertopics.contract.model import Context, Settings, Summary
from hiertopics.corpus.data.tree import NODE, Tree
from hiertopics.families.nhdp import flat_starts, variational
from hiertopics.fitting import branches, driver
from hiertopics.fitting.branches import quick_support
from hiertopics.fitting.resampling import PART
from hiertopics.fitting.support import support
from hiertopics.runs.rundir import OUTLINES, RunDir
from hiertopics.views.showing import show_tree

Call = Callable[..., Any]
N_DOCS = 60
SETTINGS = settings_of(variational)


def tree_of(parent: list[int]) -> Tree:
    """Return a tree of three words."""
    n = len(parent)
    return Tree(
        phi=np.full((n, 3), 1 / 3),
        parent=np.array(parent, np.int32),
        kind=np.full(n, NODE, np.int8),
        weight=np.full(n, 1 / n),
        n_docs=np.ones(n, np.int64),
        n_tokens=np.ones(n),
    )


FITTED = tree_of([-1, 0, 0, 1, 2, 2])
LEAF = 3 + np.arange(N_DOCS) % 3
"""Where the documents are: a third below the first branch, the others below the second."""


def at(nodes: Any, n_nodes: int) -> sparse.csr_array:
    """Return theta of documents that are at one node each."""
    return sparse.csr_array(np.eye(n_nodes)[nodes])


def told(outlined: Callable[[int], Any], cost: float = 0.01) -> dict[str, Any] | None:
    """Return the quick support where the branches of resamples are these, by a document's words.

    outlined: from the tokens of a document, which name it, to its branch in an outline.
    """
    counts = np.zeros((N_DOCS, 3), int)
    counts[:, 0], counts[:, 1] = 10 + N_DOCS - np.arange(N_DOCS), np.arange(N_DOCS)
    corpus = corpus_of(counts)

    def outline(part: Any, settings: Settings, context: Context) -> Summary:
        docs = part.counts.toarray()[:, 1]
        return Summary(tree_of([-1, 0, 0]), at([outlined(int(doc)) for doc in docs], 3))

    backend = replace(variational.backend, outline=outline, outline_cost=lambda *_: cost)
    summary = Summary(FITTED, at(LEAF, 6))
    return quick_support(backend, SETTINGS, corpus, summary, 0, "seal")  # type: ignore[arg-type]


def test_branches_that_outlines_find_again_have_full_support() -> None:
    record = told(lambda doc: 2 if doc % 3 == 0 else 1)
    assert record is not None and record[OUTLINES] and record["model"] == "seal"
    assert [node["support"] for node in record["nodes"]] == [None, 1.0, 1.0, None, None, None]
    assert record["note"] == (
        "Without a tenth of the documents the 2 branches come back to 100% (quick estimate, "
        "usually 10 to 20 points too low)"
    )


def test_other_branches_have_none() -> None:
    record = told(lambda doc: 1 + doc % 2)
    assert record is not None
    assert max(node["support"] or 0 for node in record["nodes"]) < 0.2


def test_what_costs_more_than_a_tenth_of_the_fit_is_left_out() -> None:
    most = branches.MOST / branches.RESAMPLES / 0.9
    assert told(lambda doc: 1, cost=0.99 * most) is not None
    assert told(lambda doc: 1, cost=1.01 * most) is None


def test_the_cost_is_a_count_of_corpus_and_settings() -> None:
    """Twice as many iterations cost an outline half, and other starts have none."""
    corpus = corpus_of(np.ones((3, 4 * 500), int))
    keys = {"start_iterations": 100_000, "iterations": 1, "truncation": 500}
    one = variational.outline_cost(corpus, settings_of(variational, **keys))
    keys["start_iterations"] *= 2
    assert variational.outline_cost(corpus, settings_of(variational, **keys)) == pytest.approx(
        one / 2, rel=1e-2
    )
    assert variational.outline_cost(corpus, settings_of(variational, start="words")) == np.inf
    few_words = corpus_of(np.ones((3, 4 * flat_starts.FEWEST_TOPICS - 1), int))
    assert variational.outline_cost(few_words, settings_of(variational)) == np.inf


@pytest.mark.parametrize("n_docs", [100, 200, 1000])
def test_a_fit_by_default_can_afford_its_outlines(n_docs: int) -> None:
    corpus = corpus_of(np.ones((n_docs, 900), int))
    cost = variational.outline_cost(corpus, settings_of(variational))
    assert 0 < branches.RESAMPLES * PART * cost <= branches.MOST


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a run of the planted sample, whose start finds three branches first."""
    monkeypatch.setattr(flat_starts, "FEWEST_TOPICS", 9)
    monkeypatch.setattr(branches, "MOST", 10.0)
    planted = Path(__file__).parents[2] / "data-samples" / "planted.ldac"
    again = ["model.truncation=9", "inference.start_iterations=10", "inference.trials=0"]
    driver.fit(planted, run=tmp_path / "run", iterations=2, overrides=again)
    return tmp_path / "run"


def test_a_fit_says_it_and_so_do_the_views(run: Path, call: Call) -> None:
    written = json.loads((run / "support.json").read_text())
    found = RunDir(run)
    assert found.broken_seal() is None and "support.json" in found.manifest["files"]
    *nodes, told = show_tree(run).splitlines()
    assert told == written["note"]
    assert "support 0" not in "\n".join(nodes)
    assert "transfer_support" not in show_tree(run, format="json")
    refused = call("show-tree", run, "--supported", "0.5")
    assert refused.code == 2 and "has the support of its branches alone" in refused.err
    page = call("report", run, "-o", "page.html", "--json", "page.json")
    assert page.code == 0
    assert json.loads(Path("page.json").read_text())["tree"]["come_back"] == written["note"]


@pytest.mark.slow
def test_what_support_says_of_all_nodes_takes_its_place_and_stays(run: Path, call: Call) -> None:
    support(run, 3, say=lambda line: None)
    before = (run / "support.json").read_bytes()
    assert b"outlines" not in before
    (run / "topics.csv").write_text("damaged")
    planted = Path(__file__).parents[2] / "data-samples" / "planted.ldac"
    assert call("fit", planted, "-c", run / "config.yaml", "-o", run).code == 0
    assert (run / "support.json").read_bytes() == before
    assert RunDir(run).broken_seal() is None


def test_resamples_of_support_are_short_where_the_backend_says_so() -> None:
    short = variational.short(settings_of(variational)).inference
    assert (short.start_iterations, short.iterations) == (30, 5)
    assert short.start_words == 40
    told = {"start_iterations": 20, "iterations": 1, "start_words": 9}
    short = variational.short(settings_of(variational, **told)).inference
    assert (short.start_iterations, short.iterations) == (3, 1)
    assert short.start_words == 9
