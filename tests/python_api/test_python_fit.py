"""``ht.fit`` and ``Run``: where runs lie, how they go on, what they say of documents."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hiertopics as ht
from hiertopics.base.errors import ConfigError, DataError, RunError, UsageError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.fitting.loop import Event, Stop
from hiertopics.python.run import Run

Fit = Callable[..., Run]
Call = Callable[..., Any]


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def same(one: Run, other: Run) -> bool:
    names = ("model.npz", "theta.npz", "tree.json")
    return all((one.path / n).read_bytes() == (other.path / n).read_bytes() for n in names)


def test_a_fit_in_python_is_the_fit_of_the_shell(
    fit_quick: Fit, call: Call, tiny_file: Path
) -> None:
    settings = ("model.truncation=5", "output.record_every=2", "inference.hyper_start=2")
    options = [word for setting in settings for word in ("-s", setting)]
    more = ("--iterations", 8, "--holdout", "docs:0.2@0", "-o", "shell")
    assert call("fit", tiny_file, "-b", "hdp-pcvb0", *options, *more).code == 0
    assert same(fit_quick(), Run("shell"))


@pytest.mark.slow
def test_without_a_name_a_run_lasts_as_long_as_its_object(fit_quick: Fit) -> None:
    """Also after it has gone on, or was given to ``fit`` once more."""
    run = fit_quick()
    folder, same_run = run.path, fit_quick(run=run.resume(9), iterations=10)
    assert same_run is run and run.iterations == 10
    del run
    gc.collect()
    assert same_run.theta.shape[0] == 24 and folder.exists()
    del same_run
    gc.collect()
    assert not folder.exists()


def test_a_failed_fit_without_a_name_leaves_no_folder(
    fit_quick: Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(ConfigError):
        fit_quick(overrides={"model.truncation": 0})
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_overrides_are_a_mapping_or_strings_or_nested(fit_quick: Fit) -> None:
    strings = ["model.truncation=5", "output.record_every=2", "inference.hyper_start=2"]
    nested = {
        "model": {"truncation": 5},
        "output": {"record_every": 2},
        "inference.hyper_start": 2,
    }
    assert same(fit_quick(overrides=strings), fit_quick(overrides=nested))


def test_names_win_over_overrides_which_win_over_the_file(fit_quick: Fit, tmp_path: Path) -> None:
    config = tmp_path / "my.yaml"
    config.write_text("seed: 5\nmodel:\n  truncation: 7\n  eta: 0.5\n", encoding="utf-8")
    overrides = {"seed": 4, "model.truncation": 3}
    run = fit_quick(config=config, overrides=overrides, seed=3)
    text = (run.path / "config.yaml").read_text(encoding="utf-8")
    assert "seed: 3\n" in text and "truncation: 3\n" in text and "eta: 0.5\n" in text


def test_all_wrong_settings_are_told_at_once(fit_quick: Fit) -> None:
    with pytest.raises(ConfigError) as caught:
        fit_quick(overrides={"model.eta": 0, "model.truncatoin": 3})
    assert [problem.split(" ")[0] for problem in caught.value.problems] == ["unknown", "model.eta"]
    assert all(problem.endswith(" (overrides)") for problem in caught.value.problems)


def test_more_iterations_end_where_one_long_fit_does(fit_quick: Fit) -> None:
    run = fit_quick(iterations=4)
    before, objective = run.tree.phi, run.objective
    assert run.resume(8) is run and (run.iterations, run.status) == (8, "done")
    assert run.objective != objective and not (run.tree.phi == before).all()
    assert same(run, fit_quick())


def test_a_stopped_fit_has_a_tree_and_goes_on_to_the_same_end(fit_quick: Fit) -> None:
    stopped = fit_quick(callbacks=[lambda event: Stop("enough", False)])
    assert (stopped.status, stopped.iterations) == ("stopped", 1)
    assert len(stopped.tree.words(0, 3)) == 3
    resumed = stopped.resume()
    assert (resumed.status, resumed.iterations) == ("done", 8) and same(resumed, fit_quick())


@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1"])
def test_a_signal_ends_one_fit_of_a_loop_and_the_status_tells(fit_quick: Fit, name: str) -> None:
    def told(event: Event) -> None:
        if event.iteration == 3:
            signal.raise_signal(getattr(signal, name))

    before = signal.getsignal(getattr(signal, name))
    run = fit_quick(callbacks=[told])
    assert (run.status, run.iterations) == ("stopped", 3)
    assert signal.getsignal(getattr(signal, name)) is before
    assert fit_quick().status == "done"


@pytest.mark.parametrize("limit", [1e-9, "0s"])
def test_a_time_limit_is_seconds_or_a_text(fit_quick: Fit, limit: float | str) -> None:
    assert fit_quick(time_limit=limit).status == "stopped"


def test_a_named_run_stays_and_the_same_call_continues_it(fit_quick: Fit, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "mine"
    fit_quick(run=folder, iterations=4)
    again = fit_quick(run=Run(folder), iterations=8)
    assert again.path == folder and again.iterations == 8
    with pytest.raises(ConfigError, match="seed: 0 in the run, 1 now"):
        fit_quick(run=folder, seed=1)


def test_an_object_is_kept_with_its_run_which_can_go_on_and_be_scored(
    fit_quick: Fit, tiny_corpus: Corpus, tmp_path: Path
) -> None:
    run = fit_quick(tiny_corpus, run=tmp_path / "run", iterations=4)
    assert same(run.resume(8), fit_quick())
    assert ht.evaluate(Run(run.path))["coherence_npmi"] is not None


def test_a_refused_object_leaves_a_run_as_it_was(
    fit_quick: Fit, tiny_corpus: Corpus, tmp_path: Path
) -> None:
    run = fit_quick(tiny_corpus, run=tmp_path / "run")
    before = files_of(run.path)
    with pytest.raises(ConfigError, match="other contents"):
        fit_quick(tiny_corpus.select(range(20)), run=run.path)
    assert files_of(run.path) == before
    with pytest.raises(ConfigError):
        fit_quick(tiny_corpus, run=tmp_path / "new", overrides={"model.eta": -1})
    assert not (tmp_path / "new").exists()


def test_an_object_with_groups_whose_fit_failed_can_go_on(
    fit_quick: Fit, tiny_corpus: Corpus, tmp_path: Path
) -> None:
    """The names of groups lie in a file that the config does not name."""

    def fail(event: Event) -> Stop | None:
        if event.iteration == 3:
            raise RunError("the disk is full")
        return None

    asked: dict[str, Any] = {"groups": [["ann"], ["bo", "cy"]] * 15}
    with pytest.raises(RunError, match="disk is full"):
        fit_quick(tiny_corpus, run=tmp_path / "run", callbacks=[fail], **asked)
    again = fit_quick(tiny_corpus, run=tmp_path / "run", **asked)
    assert same(again, fit_quick(tiny_corpus, run=tmp_path / "whole", **asked))


@pytest.mark.slow
def test_a_saved_run_stands_without_the_first_one(
    fit_quick: Fit, tiny_corpus: Corpus, tmp_path: Path
) -> None:
    run = fit_quick(tiny_corpus, iterations=4)
    score = run.evaluate()["perplexity"]
    kept = run.save(tmp_path / "kept")
    with pytest.raises(RunError, match="there already"):
        run.save(tmp_path / "kept")
    del run
    gc.collect()
    assert kept.evaluate()["perplexity"] == score
    assert kept.evaluate()["coherence_npmi"] is not None
    assert same(kept.resume(8), fit_quick())


def test_sides_of_a_file_are_files(fit_quick: Fit, tiny_file: Path) -> None:
    with pytest.raises(UsageError, match="groups of a corpus in a file"):
        fit_quick(tiny_file, groups=[["ann"]] * 30)
    with pytest.raises(DataError, match="gone.vocab"):
        fit_quick(tiny_file, vocab="gone.vocab")


def test_rows_of_theta_are_the_training_documents(quick: Run, tiny_corpus: Corpus) -> None:
    assert sorted([*quick.train_docs, *quick.heldout_docs]) == list(range(30))
    placed = quick.infer(tiny_corpus).theta.toarray()[quick.train_docs]
    theta = quick.theta.toarray()
    apart = [np.abs(theta - np.roll(placed, shift, axis=0)).mean() for shift in range(len(theta))]
    assert apart[0] < 0.5 * min(apart[1:])


def test_top_documents_are_rows_of_the_corpus_by_their_share(quick: Run) -> None:
    theta = quick.theta.toarray()
    for node, top in quick.top_documents(3).items():
        rows = [list(quick.train_docs).index(doc) for doc, _ in top]
        assert [share for _, share in top] == pytest.approx(sorted(theta[:, node])[::-1][:3])
        assert theta[rows, node] == pytest.approx([share for _, share in top])


def test_a_run_tells_what_it_is_and_where(quick: Run, tmp_path: Path) -> None:
    assert repr(quick).startswith(f"Run({str(quick.path)!r}): hdp-pcvb0, done at iteration 8")
    assert repr(Run(tmp_path)).endswith("not fitted") and Run(tmp_path)._repr_html_() is None
    with pytest.raises(RunError, match="is not a run"):
        Run.open(tmp_path)
    assert isinstance(Run.open(quick.path), Run) and quick.objective == quick.manifest["objective"]
