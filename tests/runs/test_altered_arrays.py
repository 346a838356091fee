"""Arrays that somebody altered and sealed again are refused by value: damaged, exit code 1."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_files import stop_at
from scipy import sparse

from hiertopics.base import archives
from hiertopics.base.errors import RunError
from hiertopics.runs.rundir import RunDir

Fit = Callable[..., Any]
Call = Callable[..., Any]
Arrays = dict[str, Any]


def resealed(run: Path, name: str, change: Callable[[Arrays], object]) -> None:
    """Change the arrays of a file of a run, and its seal."""
    path = run / name
    arrays = archives.read_npz(path)
    change(arrays)
    archives.write_npz(path, arrays)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["files"][name] = archives.seal(path)
    (run / "manifest.json").write_text(json.dumps(manifest))


def _pointers_that_end_in_0(arrays: Arrays) -> None:
    arrays["indptr"][1:-1] = 2**30
    arrays["indptr"][-1] = 0


def test_pointers_that_end_in_0_are_looked_at(copied: Callable[..., Path], call: Call) -> None:
    run = copied("hdp-gibbs")
    resealed(run, "theta.npz", _pointers_that_end_in_0)
    for words in (("show-tree", str(run), "--docs", "2"), ("docs", str(run), "0")):
        outcome = call(*words)
        assert outcome.code == 1 and "theta.npz is damaged: " in outcome.err


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        (([1.0], [0], [0, 2, 1]), "row by row"),
        (([1.0], [0], [1, 1, 1]), "row by row"),
        (([1.0], [0], [0, 2**30, 0]), "row by row"),
        (([1.0], [0], [0, 1]), "2 pointers|1 pointers|pointers for"),
        (([1.0], [3], [0, 1, 1]), "outside"),
        (([1.0], [-1], [0, 1, 1]), "outside"),
        (([1.0, 1.0], [0], [0, 1, 1]), "not as many"),
        (([np.nan], [0], [0, 1, 1]), "not finite"),
        (([1.0], [0.0], [0, 1, 1]), "whole numbers"),
        (([[1.0]], [0], [0, 1, 1]), "not as many|axes"),
    ],
)
def test_a_matrix_is_what_its_pointers_say(parts: tuple[Any, ...], what: str) -> None:
    names = ("a_data", "a_indices", "a_indptr")
    arrays = {name: np.array(part) for name, part in zip(names, parts, strict=True)}
    with pytest.raises(ValueError, match=what):
        archives.unpack_csr("a", arrays | {"a_shape": np.array([2, 3])})


@pytest.mark.parametrize("name", ["word_counts", "train_lengths", "scored_data"])
def test_truth_values_are_no_counts(name: str, copied: Callable[..., Path], call: Call) -> None:
    """numpy does not subtract them: the report of such a run ended in a traceback."""
    run = copied("hdp-gibbs")
    resealed(run, "split.npz", lambda arrays: arrays.update({name: arrays[name] > 0}))
    outcome = call("report", str(run), "-o", str(run / "page.html"))
    assert outcome.code == 1 and "split.npz is damaged: " in outcome.err
    assert "bool, no numbers" in outcome.err


def test_marks_of_documents_may_be_truth_values() -> None:
    marks = sparse.csr_array(np.array([[True, False], [False, True]]))
    arrays = archives.pack_csr("a", marks)
    assert archives.unpack_csr("a", arrays, marks=True).data.all()
    with pytest.raises(ValueError, match="no numbers"):
        archives.unpack_csr("a", arrays)


def test_a_sound_matrix_is_read() -> None:
    matrix = sparse.csr_array(np.array([[0, 1.5, 0], [2.0, 0, 0]]))
    assert (archives.unpack_csr("a", archives.pack_csr("a", matrix)) != matrix).nnz == 0


def _checkpoints(run: Path, change: Callable[[Arrays], object]) -> None:
    for path in (run / "checkpoints").iterdir():
        arrays = archives.read_npz(path)
        del arrays[archives.SEAL]
        change(arrays)
        archives.write_npz(path, arrays, sealed=path.name)


def _set(name: str, place: Any, value: Any) -> Callable[[Arrays], None]:
    def change(arrays: Arrays) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return change


def _moved(arrays: Arrays) -> None:
    """Move a count to another topic: sums stay."""
    row = arrays["now.0.local.0.n_dk"][0]
    full = int(row.argmax())
    row[full] -= 1
    row[(full + 1) % len(row)] += 1


STATES: dict[str, tuple[str, tuple[str, ...], Callable[[Arrays], object], str]] = {
    "a path beyond the tree": (
        "hlda-gibbs", (), _set("now.0.chain.path", (3, 1), 2**31 - 1), "another level",
    ),
    "a path to another branch": (
        "hlda-gibbs", (), _set("now.0.chain.visits", 0, 3), "visits does not follow",
    ),
    "a topic beyond the truncation": (
        "hdp-gibbs", (), _set("now.0.local.0.z", 5, 5), "z of a piece has the id 5",
    ),
    "a negative topic": ("hdp-gibbs", (), _set("now.0.local.0.z", 5, -1), "the id -1"),
    "a count elsewhere": ("hdp-gibbs", (), _moved, "n_dk does not count"),
    "a total too many": ("hdp-gibbs", (), _set("now.0.n_k", 0, 10**6), "n_wk and n_k"),
    "topics that are no numbers": (
        "hdp-cvb0", (), _set("n_wk", (0, 0), np.nan), "n_wk is not finite",
    ),
    "a node beyond the tree": (
        "nhdp-variational", (), _set("local.0.node", 0, 10**6), "node of a piece has the id",
    ),
    "pointers that go back": (
        "nhdp-variational", (), _set("local.0.first_resp", 2, 10**6), "first_resp does not lead",
    ),
    "a table of nobody": (
        "chdp-gibbs", ("inference.sampler=irp",), _set("now.0.seat", 0, 7), "table",
    ),
    "a parent behind its child": (
        "tssb-mcmc", (), _set("now.0.nodes.parent", 1, 5), "no node before it",
    ),
    "a process beyond its range": (
        "tssb-mcmc", (), _set("now.0.process.gamma", (), 1e300),
        "gamma is 1e+300, which is outside 1 .. 10",
    ),
    "a closeness below 0": (
        "tssb-mcmc", (), _set("now.0.law", 0, -1e6), "kappa is -1e+06, which is outside 0.1 ..",
    ),
    "a root without parameters": (
        "tssb-mcmc", (), _set("now.0.nodes.known", slice(None), False), "are not known",
    ),
    "a stick longer than one": (
        "tssb-mcmc", (), _set("now.0.nodes.log_nu", 0, 0.5), "log_nu has a value",
    ),
    "a share above one": (
        "tssb-mcmc", (), _set("now.0.nodes.value", (0, 0), 1e9), "do not sum to 1",
    ),
    "two precisions": (
        "hdp-pcvb0", (), lambda arrays: arrays.update(n_wk=arrays["n_wk"].astype(np.float64)),
        "float32",
    ),
    "two precisions of few entries": (
        "hdp-cvb0", ("inference.responsibilities=few",),
        lambda arrays: arrays.update(n_wk=arrays["n_wk"].astype(np.float64)), "float32",
    ),
    "half precision": (
        "hdp-pcvb0", (), lambda arrays: arrays.update(
            {name: array.astype(np.float16) for name, array in arrays.items()
             if array.dtype == np.float32}
        ), "float16",
    ),
    "a hyperparameter of 0 in single precision": (
        "lda-gibbs", (), lambda arrays: arrays.update({"now.0.eta": np.float32(0)}),
        "eta has a value below",
    ),
    "another type": (
        "lda-gibbs", (), lambda arrays: arrays.update({"now.0.z": arrays["now.0.z"] * 1.0}),
        "z holds float64, not int32",
    ),
    "a word less": (
        "lda-gibbs", (), lambda arrays: arrays.update({"now.0.n_wk": arrays["now.0.n_wk"][1:]}),
        "n_wk has 8 entries along n_words, not 9",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", STATES)
def test_a_state_is_held_against_its_fields_and_the_corpus(
    fit_tiny: Fit, tmp_path: Path, case: str
) -> None:
    backend, settings, change, what = STATES[case]
    run = tmp_path / "run"
    overrides = ["output.checkpoint_seconds=0", *settings]
    fit_tiny(run, backend=backend, overrides=overrides, callbacks=[stop_at(4)])
    _checkpoints(run, change)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.name != ".lock"
              and path.is_file()}  # fmt: skip
    with pytest.raises(RunError, match="is damaged: ") as refusal:
        fit_tiny(run, backend=backend, overrides=overrides, iterations=8)
    assert what in str(refusal.value) and "\n" not in str(refusal.value)
    assert all(path.read_bytes() == data for path, data in before.items())


def test_a_checkpoint_that_was_changed_has_a_broken_seal(fit_tiny: Fit, tmp_path: Path) -> None:
    run = tmp_path / "run"
    overrides = ["output.checkpoint_seconds=0"]
    fit_tiny(run, overrides=overrides, callbacks=[stop_at(4)])
    for path in (run / "checkpoints").iterdir():
        arrays = archives.read_npz(path)
        arrays["alpha"] = np.asarray(float(arrays["alpha"]) * 1.5)
        archives.write_npz(path, arrays)
    with pytest.raises(RunError, match="its seal is not that of its arrays"):
        fit_tiny(run, overrides=overrides, iterations=8)


def _unsealed_checkpoints(run: Path) -> None:
    for path in (run / "checkpoints").iterdir():
        arrays = archives.read_npz(path)
        del arrays[archives.SEAL]
        archives.write_npz(path, arrays)


def test_a_checkpoint_without_a_seal_is_one_of_an_older_program(
    fit_tiny: Fit, tmp_path: Path
) -> None:
    run, overrides = tmp_path / "run", ["output.checkpoint_seconds=0"]
    fit_tiny(run, overrides=overrides, callbacks=[stop_at(4)])
    _unsealed_checkpoints(run)
    with pytest.raises(RunError, match="is damaged: it has no seal"):
        fit_tiny(run, overrides=overrides, iterations=8)
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest.pop("sealed_from") == 0
    (run / "manifest.json").write_text(json.dumps(manifest))
    fit_tiny(run, overrides=overrides, iterations=8)
    assert json.loads((run / "manifest.json").read_text())["sealed_from"] == 5
    assert all(archives.SEAL in archives.read_npz(path) for path in (run / "checkpoints").iterdir())
    _unsealed_checkpoints(run)
    with pytest.raises(RunError, match="is damaged: it has no seal"):
        fit_tiny(run, overrides=overrides, iterations=9)


def test_a_flaw_of_the_newest_checkpoint_leads_to_the_one_before(
    fit_tiny: Fit, tmp_path: Path
) -> None:
    overrides = ["output.checkpoint_seconds=0"]
    asked: dict[str, Any] = {"backend": "hdp-gibbs", "overrides": overrides}
    whole, run = tmp_path / "whole", tmp_path / "run"
    fit_tiny(whole, iterations=8, **asked)
    fit_tiny(run, callbacks=[stop_at(4)], **asked)
    path = sorted((run / "checkpoints").iterdir())[-1]
    arrays = archives.read_npz(path)
    del arrays[archives.SEAL]
    _moved(arrays)
    archives.write_npz(path, arrays, sealed=path.name)
    fit_tiny(run, iterations=8, **asked)
    assert "continuing from iteration 3" in (run / "log.txt").read_text()
    assert (run / "model.npz").read_bytes() == (whole / "model.npz").read_bytes()


MODELS: dict[str, tuple[str, Callable[[Arrays], object], str]] = {
    "no log_mass": ("hlda-variational", lambda arrays: arrays.pop("log_mass"), "no log_mass"),
    "no concentration": ("nhdp-variational", lambda arrays: arrays.pop("concentration"),
                         "no concentration"),
    "stop of another shape": (
        "nhdp-variational", lambda arrays: arrays.update(stop=arrays["stop"][:, 0]),
        "stop has 1 axes",
    ),
    "chances as text": (
        "hdp-gibbs", lambda arrays: arrays.update(phi=arrays["phi"].astype("U3")),
        "phi holds <U3, not float64",
    ),
    "negative chances": ("hdp-gibbs", _set("phi", (0, 0), -1.0), "phi has a negative number"),
    "priors as text": (
        "hdp-gibbs", lambda arrays: arrays.update(doc_prior=arrays["doc_prior"].astype("U3")),
        "doc_prior holds <U3",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", MODELS)
def test_a_model_has_what_its_backend_needs(
    copied: Callable[..., Path], call: Call, tiny_file: Path, tmp_path: Path, case: str
) -> None:
    backend, change, what = MODELS[case]
    run = copied(backend)
    resealed(run, "model.npz", change)
    outcome = call("infer", str(run), str(tiny_file), "-o", str(tmp_path / "theta.npz"))
    assert outcome.code == 1 and outcome.err.count("\n") == 1, outcome
    assert "model.npz is damaged: " in outcome.err and what in outcome.err


TREES: dict[str, tuple[str, str, Callable[[Arrays], object], str]] = {
    "vectors in a row": (
        "hca-variational", "model.npz", lambda arrays: arrays.update(mean=arrays["mean"][:, 0]),
        "mean has 1 axes",
    ),
    "neither words nor vectors": (
        "hca-variational", "model.npz", lambda arrays: arrays.pop("mean"), "no array 'phi'",
    ),
    "shares of other nodes": (
        "tssb-mcmc", "model.npz", lambda arrays: arrays.update(shares=arrays["shares"].T),
        "shares has",
    ),
    "shares of another topic": (
        "tssb-mcmc", "model.npz", lambda arrays: arrays.update(topics=arrays["topics"][:-1]),
        "topics has",
    ),
    "groups without weights": (
        "chdp-gibbs", "model.npz",
        lambda arrays: arrays.update(group_docs=np.array([3])), "group_theta has not",
    ),
    "groups without means": (
        "chdp-gibbs", "model.npz",
        lambda arrays: arrays.update(
            group_docs=np.array([3]), group_theta=arrays["corpus_theta"][None]
        ),
        "group_mean has not",
    ),
    "a huge share": ("hdp-gibbs", "theta.npz", _set("data", 1, 1e300), "one is above 1"),
    "a negative share": ("hdp-gibbs", "theta.npz", _set("data", 1, -1e300), "below 0"),
    "shares that are yes or no": (
        "hlda-gibbs", "theta.npz", lambda arrays: arrays.update(data=arrays["data"] > 0), "bool",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", TREES)
def test_views_hold_a_tree_and_theta_against_what_they_read_there(
    copied: Callable[..., Path], call: Call, case: str
) -> None:
    backend, name, change, what = TREES[case]
    run = copied(backend)
    resealed(run, name, change)
    outcome = call("show-tree", run, "--docs", "2")
    assert outcome.code == 1 and outcome.err.count("\n") == 1, outcome
    assert f"{name} is damaged: " in outcome.err and what in outcome.err


@pytest.mark.slow
def test_words_without_counts_are_no_split(copied: Callable[..., Path], call: Call) -> None:
    run = copied()
    resealed(run, "split.npz", lambda arrays: arrays.update(word_counts=np.zeros(0, np.int64)))
    outcome = call("eval", run, "--heldout")
    assert outcome.code == 1 and "split.npz is damaged: word_counts is 0" in outcome.err


@pytest.mark.slow
def test_a_tree_without_its_last_row_places_nothing(
    copied: Callable[..., Path], call: Call, tiny_file: Path, tmp_path: Path
) -> None:
    """The last row of the nested CRP is what lies outside of the tree."""
    run = copied("hlda-variational")
    resealed(run, "model.npz", _set("kind", -1, 0))
    outcome = call("infer", run, tiny_file, "-o", tmp_path / "theta.npz")
    assert outcome.code == 1 and "model.npz is damaged: " in outcome.err


@pytest.mark.slow
def test_a_covariance_of_other_nodes_than_the_tree_has(
    copied: Callable[..., Path], call: Call, tmp_path: Path
) -> None:
    run = copied("hca-variational")
    resealed(run, "model.npz", _set("kind", -1, 0))
    np.save(tmp_path / "more.npy", np.ones((3, RunDir(run).tree.n_columns)))
    outcome = call("infer", run, tmp_path / "more.npy", "-o", tmp_path / "theta.npz")
    assert outcome.code == 1 and outcome.err.count("\n") == 1, outcome
    assert "model.npz is damaged: covariance has" in outcome.err


@pytest.mark.slow
def test_a_density_that_cannot_be_computed_is_said(copied: Callable[..., Path], call: Call) -> None:
    """Axes this long leave no digit for the noise: their covariance has no inverse."""
    run = copied("hca-variational")
    resealed(run, "model.npz", lambda arrays: arrays.update(mean=np.full_like(arrays["mean"], 1e9)))
    outcome = call("eval", run, "--heldout")
    assert outcome.code == 1 and outcome.err.count("\n") == 1, outcome
    assert "Singular matrix; " in outcome.err


@pytest.mark.slow
def test_rows_that_fit_nowhere_are_named(
    copied: Callable[..., Path], call: Call, tmp_path: Path
) -> None:
    run = copied("hca-variational")
    resealed(run, "model.npz", lambda arrays: arrays.update(mu=arrays["mu"] * 0 + 1e300))
    np.save(tmp_path / "more.npy", np.ones((3, RunDir(run).tree.n_columns)))
    outcome = call("infer", run, tmp_path / "more.npy", "-o", tmp_path / "theta.npz")
    assert outcome.code == 1 and "document 0 has a chance at no node" in outcome.err
