"""A stranger with numpy recomputes our scores from the files of a run, and finds one count."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny import counts_in

from hiertopics.contract import registry
from hiertopics.contract.observed import kind_of
from hiertopics.corpus.formats.source import Source
from hiertopics.scoring.evaluation import evaluate


def arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Read an npz file with numpy alone."""
    with np.load(path) as archive:
        return dict(archive)


@pytest.fixture
def of_words(backend: str) -> str:
    """Return each backend that observes counts in turn."""
    if kind_of(backend, registry.load(backend).Model()) != "counts":
        pytest.skip("vectors have no perplexity")
    return backend


@pytest.mark.slow
def test_perplexity_of_withheld_tokens(copied: Callable[..., Path], of_words: str) -> None:
    run = copied(of_words, "tokens:0.2@0")
    record = evaluate(run)
    # From here on nothing but numpy and three files.
    model, split, file = (arrays(run / f"{name}.npz") for name in ("model", "split", "theta"))
    theta = np.zeros(tuple(file["shape"]))
    for doc in range(len(theta)):
        cells = slice(*file["indptr"][doc : doc + 2])
        theta[doc, file["indices"][cells]] = file["data"][cells]
    docs = np.repeat(np.arange(len(theta)), np.diff(split["scored_indptr"]))
    chance = (theta @ model["phi"])[docs, split["scored_indices"]]
    log_likelihood = (split["scored_data"] * np.log(chance)).sum() / split["scored_data"].sum()
    assert np.exp(-log_likelihood) == pytest.approx(record["perplexity"], rel=1e-9)
    assert record["protocol"] == "tokens"
    assert record["n_tokens"] == split["scored_data"].sum()


def test_perplexity_of_held_out_documents(copied: Callable[..., Path], of_words: str) -> None:
    run = copied(of_words)
    record = evaluate(run)
    # From here on nothing but numpy and three files.
    names = ("model.npz", "split.npz", "eval/completion.npz")
    model, split, file = (arrays(run / name) for name in names)
    theta = np.zeros(tuple(file["theta_shape"]))
    for doc in range(len(theta)):
        cells = slice(*file["theta_indptr"][doc : doc + 2])
        theta[doc, file["theta_indices"][cells]] = file["theta_data"][cells]
    docs = np.repeat(np.arange(len(theta)), np.diff(file["scored_indptr"]))
    chance = (theta @ model["phi"])[docs, file["scored_indices"]]
    log_likelihood = (file["scored_data"] * np.log(chance)).sum() / file["scored_data"].sum()
    assert np.exp(-log_likelihood) == pytest.approx(record["perplexity"], rel=1e-9)
    for part in ("indptr", "indices", "data", "shape"):
        assert (file[f"scored_{part}"] == split[f"scored_{part}"]).all()


def test_the_score_is_kept_in_the_run_as_it_was_returned(copied: Callable[..., Path]) -> None:
    run = copied()
    record = evaluate(run)
    assert json.loads((run / "eval" / "completion.json").read_text()) == record


def test_one_count_from_the_file_to_the_tree(
    fit_tiny: Callable[..., object], call: Callable[..., Any], tmp_path: Path
) -> None:
    """``12:3`` on line 41 means that document 40 holds word 12 three times.

    No other document has the word, so all that the tree says of it comes from this count.
    """
    lines = ["2 0:4 1:2" if doc % 2 else "2 2:3 3:5" for doc in range(60)]
    lines[40] = "2 3:1 12:3"
    corpus = tmp_path / "corpus.ldac"
    corpus.write_text("\n".join(lines) + "\n")
    vocab = [f"word{number}" for number in range(13)]
    vocab[12] = "needle"
    (tmp_path / "corpus.vocab").write_text("\n".join(vocab) + "\n")

    counts = counts_in(Source(corpus)).counts
    assert counts[40, 12] == 3 and counts[:, [12]].sum() == 3

    run = tmp_path / "run"
    settings = ["inference.hyper_start=100", "model.eta=0.01"]
    fit_tiny(run, "hdp-gibbs", 20, settings, corpus, holdout="none")
    state = arrays(run / "checkpoints" / "00000020.npz")
    assert state["now.0.n_wk"][12].sum() == 3 and state["now.0.local.0.n_dk"][40].sum() == 4

    model = arrays(run / "model.npz")
    # Undo the smoothing: phi = (n_wk + eta) / (n_k + eta V) at every live node.
    nodes = np.flatnonzero(model["kind"] == 0)
    n_k = model["n_tokens"][nodes]
    n_wk = model["phi"][nodes, 12] * (n_k + 0.01 * 13) - 0.01
    assert n_wk.sum() == pytest.approx(3, abs=1e-6)
    assert sorted(n_wk.round(6)) == sorted(
        state["now.0.n_wk"][12][state["now.0.n_k"] >= 1].astype(float)
    )
    assert n_k.sum() == counts.sum()

    home = int(nodes[n_wk.argmax()])
    tree = json.loads((run / "tree.json").read_text())
    node = next(node for node in tree["nodes"] if node["id"] == home)
    assert dict(map(tuple, node["words"]))["needle"] == model["phi"][home, 12]

    shown = call("show-tree", run).out.splitlines()
    line = next(line for line in shown if line.startswith(f"[{home}]"))
    assert "needle" in line.split()
