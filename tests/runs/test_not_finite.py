"""What is not finite, negative or sums to other than 1 is never written: one line says why."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from replacing import put_in_place
from scipy import sparse
from tiny import hand_made

from hiertopics.base.arrays import F64, I64
from hiertopics.base.axes import Axes
from hiertopics.base.errors import NumericalError, RunError
from hiertopics.contract import registry
from hiertopics.contract.model import Posterior, Summary
from hiertopics.corpus.data.tree import Tree
from hiertopics.runs.artifacts import write_summary
from hiertopics.runs.experiment import read_experiment
from hiertopics.runs.rundir import RunDir
from hiertopics.runs.soundness import blamed, check_posterior, check_scores, check_summary

Call = Callable[..., Any]

CORPUS = (
    "3 0:2 1:1 4:1\n2 1:3 2:1\n3 3:1 4:4 0:1\n2 2:2 0:1\n2 1:1 3:2\n3 0:1 2:1 4:2\n"
    "2 1:2 4:1\n2 3:3 0:1\n2 2:1 1:1\n2 0:2 3:1\n2 4:3 1:1\n2 2:4 3:1\n"
)
EXTREME = [
    ("hlda-variational", "model.eta=1e300", "model.eta=1e+300 (default 0.1)"),
    ("hlda-variational", "model.gamma=5e-324", "model.gamma=5e-324"),
    ("hlda-gibbs", "model.eta=1.7e308", "model.eta=1.7e+308"),
    ("hlda-gibbs", "model.gamma=5e-324", "model.gamma=5e-324"),
    ("hlda-gibbs", "model.gamma=1.7e308", "model.gamma=1.7e+308"),
    ("lda-gibbs", "model.eta=5e-324", "model.eta=5e-324"),
    ("hdp-gibbs", "model.eta=5e-324", "model.eta=5e-324"),
    ("chdp-variational", "model.eta=5e-324", "model.eta=5e-324"),
    ("tssb-mcmc", "model.eta=1.7e308", "model.eta=1.7e+308"),
    ("lda-gibbs", "model.alpha=1.7e308", "model.alpha=1.7e+308"),
    ("hdp-cvb0", "model.alpha=5e-324", "model.alpha=5e-324"),
]


def one_line(outcome: Any, *parts: str) -> None:
    """Assert that a command failed in one line that has these parts, and printed nothing."""
    assert (outcome.code, outcome.out) == (1, ""), outcome
    assert outcome.err.count("\n") == 1 and outcome.err.startswith("hiertopics: error: ")
    assert all(part in outcome.err for part in parts), outcome.err


def sound_or_failed(call: Call, run: Path, corpus: Path, fitted: Any, *parts: str) -> None:
    """Assert that a fit and what reads it either fail in a line or leave sound numbers."""
    if fitted.code:
        one_line(fitted, "iteration ", *parts)
        assert json.loads((run / "manifest.json").read_text())["status"] == "failed"
        assert "failed: iteration" in (run / "log.txt").read_text()
        assert not (run / "model.npz").exists()
        return
    with np.load(run / "model.npz") as model:
        for name in model.files:
            assert model[name].dtype.kind != "f" or np.isfinite(model[name]).all(), name
        assert model["phi"].min() >= 0 and model["phi"].sum(axis=1) == pytest.approx(1, abs=1e-6)
    theta = sparse.load_npz(run / "theta.npz")
    assert theta.data.min() >= 0 and theta.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert np.isfinite(json.loads((run / "manifest.json").read_text())["objective"])
    for words in (
        ("eval", run, "--corpus", corpus, "--json"),
        ("infer", run, corpus, "-o", "theta.npz"),
    ):
        outcome = call(*words)
        if outcome.code:
            one_line(outcome, *parts)
        elif words[0] == "eval":
            assert np.isfinite(json.loads(outcome.out)["perplexity"])
        else:
            assert np.isfinite(sparse.load_npz("theta.npz").data).all()


@pytest.mark.parametrize(("backend", "setting", "named"), EXTREME)
def test_an_extreme_setting(
    call: Call, tmp_path: Path, backend: str, setting: str, named: str
) -> None:
    corpus, other = tmp_path / "t.ldac", tmp_path / "o.ldac"
    corpus.write_text(CORPUS)
    other.write_text("2 0:3 1:2\n2 3:2 4:1\n")
    words = ("fit", corpus, "-q", "-b", backend, "-s", setting, "--iterations", 6, "-o", "run")
    sound_or_failed(call, tmp_path / "run", other, call(*words), named)


@pytest.mark.parametrize("backend", ["hdp-cvb0", "hdp-pcvb0", "hdp-cvb", "chdp-variational"])
def test_counts_as_large_as_they_may_be(call: Call, tmp_path: Path, backend: str) -> None:
    corpus = tmp_path / "h.ldac"
    corpus.write_text("2 0:2147483647 1:2147483647\n2 1:2147483647 2:5\n1 2:2147483647\n" * 2)
    settings = ("-s", "model.truncation=4", "--holdout", "none", "--iterations", 6)
    fitted = call("fit", corpus, "-q", "-b", backend, *settings, "-o", "run")
    other = tmp_path / "o.ldac"
    other.write_text("2 0:3 1:2\n1 2:1\n")
    sound_or_failed(call, tmp_path / "run", other, fitted, "a count of 2147483647")


@pytest.mark.parametrize(("backend", "eta"), [("hdp-cvb0", "1e-30"), ("hdp-cvb", "1e-12")])
def test_word_chances_are_not_negative_where_eta_is_small(
    call: Call, tmp_path: Path, backend: str, eta: str
) -> None:
    lines = Path(__file__).parents[2].joinpath("data-samples/docstrings.ldac").read_text()
    corpus = tmp_path / "small.ldac"
    corpus.write_text("\n".join(lines.splitlines()[:200]) + "\n")
    settings = ("-s", f"model.eta={eta}", "-s", "model.truncation=20", "--iterations", 12)
    fitted = call("fit", corpus, "-q", "-b", backend, *settings, "--holdout", "none", "-o", "run")
    assert fitted.code == 0
    with np.load(tmp_path / "run" / "model.npz") as model:
        assert model["phi"].min() >= 0


def test_an_objective_that_is_lost_between_two_recordings_ends_the_fit(
    fit_tiny: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_in_place(monkeypatch, "hdp-gibbs", objective=lambda *_: float("nan"))
    with pytest.raises(NumericalError, match=r"^iteration 2: the .* is nan; no setting is far"):
        fit_tiny(tmp_path / "run", "hdp-gibbs")
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
    with pytest.raises(NumericalError, match=r"^iteration 1: the .* is nan"):
        fit_tiny(tmp_path / "other", "hdp-gibbs", 1)


def test_a_failed_extension_leaves_the_model_of_before(
    fit_tiny: Callable[..., Any], call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    fit_tiny(run, "hdp-gibbs", 4)
    before = call("topics", run).out
    with monkeypatch.context() as patch:
        put_in_place(patch, "hdp-gibbs", objective=lambda *_: 1 / 0)
        with pytest.raises(NumericalError, match="iteration 6: division by zero"):
            fit_tiny(run, "hdp-gibbs", 8)
    assert json.loads((run / "manifest.json").read_text())["status"] == "failed"
    assert call("topics", run).out == before
    assert fit_tiny(run, "hdp-gibbs", 8).status == "done"


def test_a_run_that_does_not_go_on_keeps_its_seals(
    fit_tiny: Callable[..., Any], call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    fit_tiny(run, "hdp-gibbs", 4)
    sealed, before = RunDir(run).manifest["files"], call("topics", run).out
    with monkeypatch.context() as patch:
        put_in_place(patch, "hdp-gibbs", prepare=lambda *_: 1 / 0)
        with pytest.raises(NumericalError, match="iteration 0: division by zero"):
            fit_tiny(run, "hdp-gibbs", 8)
    assert RunDir(run).manifest["files"] == sealed and call("topics", run).out == before
    assert fit_tiny(run, "hdp-gibbs", 8).status == "done"


def test_a_failure_names_its_iteration_whatever_it_says(
    fit_tiny: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def prepare(*_: Any) -> None:
        raise FloatingPointError("iteration of the digamma function ends nowhere")

    put_in_place(monkeypatch, "hdp-gibbs", prepare=prepare)
    with pytest.raises(NumericalError, match="^iteration 0: iteration of the digamma function"):
        fit_tiny(tmp_path / "run", "hdp-gibbs", 4)


EXPERIMENT = read_experiment({"backend": "multinomial"}, None, ())


def summary(**changes: Any) -> Summary:
    """Return a sound summary of two nodes but for what is changed."""
    arrays: dict[str, Any] = {
        "phi": np.array([[0.5, 0.5], [0.25, 0.75]]),
        "parent": np.array([-1, 0]),
        "kind": np.zeros(2, dtype=np.int8),
        "weight": np.array([0.5, 0.5]),
        "n_docs": np.array([1, 1]),
        "n_tokens": np.array([2.0, 2.0]),
        "extra": {},
    }
    theta = changes.pop("theta", [[1.0, 0.0], [0.5, 0.5]])
    return Summary(Tree(**(arrays | changes)), sparse.csr_array(np.array(theta)))


IN_ORDER = summary(parent=np.array([-1, 0], dtype=np.int32))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"phi": np.array([[0.5, 0.5], [np.nan, 1.0]])}, "phi of node 1 is not finite"),
        ({"phi": np.array([[0.5, 0.5], [1.25, -0.25]])}, "phi of node 1 is negative"),
        ({"phi": np.array([[0.5, 0.4], [0.5, 0.5]])}, "phi of node 0 sums to 0.9, not to 1"),
        ({"weight": np.array([np.inf, 1])}, "weight is not finite"),
        ({"n_tokens": np.array([3.0, -1.0])}, "n_tokens of node 1 is negative"),
        ({"extra": {"log_mass": np.array([-np.inf, 0])}}, "log_mass is not finite"),
        ({"theta": [[1.0, 0.0], [np.nan, 1.0]]}, "theta of document 1 is not finite"),
        ({"theta": [[1.5, -0.5], [0.5, 0.5]]}, "theta of document 0 is negative"),
        ({"theta": [[1.0, 0.0], [0.0, 0.0]]}, "theta of document 1 sums to 0, not to 1"),
    ],
)
def test_a_summary_that_is_none(changes: dict[str, Any], what: str) -> None:
    check_summary(summary())
    with pytest.raises(NumericalError, match=f"^{what}$"):
        check_summary(summary(**changes))


def test_a_tree_that_is_none_is_not_written(tmp_path: Path) -> None:
    upside_down = np.array([1, -1], dtype=np.int32)
    with pytest.raises(
        RunError, match="^backend 'multinomial' returned .*: a node's parent is no node before it;"
    ):
        write_summary(RunDir(tmp_path), summary(parent=upside_down), ("a", "b"), EXPERIMENT)
    assert not [*tmp_path.iterdir()]
    assert "model.npz" in write_summary(RunDir(tmp_path), IN_ORDER, ("a", "b"), EXPERIMENT)


@pytest.mark.parametrize(
    ("hint", "what"),
    [
        (Annotated[F64, Axes("n_ndes")], "level has the axis n_ndes, which is none of .* n_nodes,"),
        (Annotated[F64, Axes("n_words+1")], "level has 2 entries along n_words[+]1, not 3"),
        (Annotated[I64, Axes("n_nodes")], "level holds float64, not int64"),
    ],
)
def test_arrays_that_the_backend_declares_otherwise_are_not_written(
    hint: Any, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has = replace(IN_ORDER, tree=replace(IN_ORDER.tree, extra={"level": np.zeros(2)}))
    backend = registry.load("multinomial")

    def write(extra: Mapping[str, Any]) -> object:
        declaring = replace(backend, extra=extra)
        monkeypatch.setattr(registry, "load_for", lambda experiment: declaring)
        return write_summary(RunDir(tmp_path), has, ("a", "b"), EXPERIMENT)

    with pytest.raises(RunError, match=f"^backend 'multinomial' returned .* declares: {what}"):
        write({"level": hint})
    with pytest.raises(RunError, match="declares: it has no mass;"):
        write({"mass": Annotated[F64, Axes("n_nodes")]})
    assert not [*tmp_path.iterdir()]
    assert write({"level": Annotated[F64, Axes("n_nodes")]})


def test_edges_of_bins_end_in_infinities() -> None:
    check_summary(summary(extra={"bin_edges": np.array([[0.5, np.inf]])}))


def test_theta_of_new_documents_and_scores() -> None:
    with pytest.raises(NumericalError, match="theta of document 0 is not finite"):
        check_posterior(Posterior(sparse.csr_array(np.array([[np.nan, 1.0]]))))
    check_scores({"perplexity": None, "log_likelihood_per_row": -3.0, "standard_error": 0.0})
    with pytest.raises(NumericalError, match="log_likelihood_per_word is -inf"):
        check_scores({"log_likelihood_per_word": -np.inf})


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ([], "no setting is far"),
        (["model.eta=0.3"], "no setting is far"),
        (["model.eta=1e-30"], "model.eta=1e-30 (default 0.1)"),
        (["model.eta=1e-30", "model.gamma=1e200"], "model.gamma=1e+200"),
    ],
)
def test_the_setting_farthest_from_its_default_is_named(settings: list[str], named: str) -> None:
    experiment = read_experiment({"backend": "hlda-gibbs"}, None, settings)
    assert named in blamed(experiment, hand_made())


def test_ranges_are_named_whole() -> None:
    experiment = read_experiment({"backend": "tssb-mcmc"}, None, ["model.alpha0=[1, 1e250]"])
    assert "model.alpha0=[1, 1e+250] (default [10, 50])" in blamed(experiment)


def test_the_largest_count_is_named() -> None:
    corpus = hand_made()
    large = corpus.with_counts(corpus.counts * 100_000_000)
    experiment = read_experiment({"backend": "hdp-cvb0"})
    assert blamed(experiment, large).startswith("; the likeliest cause is a count of ")
