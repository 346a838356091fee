"""The run directory holds what docs/runs.md says, and its files agree with one another."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import sparse

from hiertopics.base.archives import read_npz, unpack_csr
from hiertopics.contract import registry
from hiertopics.contract.observed import kind_of
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.vectors import default_columns

MANIFEST = {
    "schema",
    "status",
    "argv",
    "seed",
    "versions",
    "corpus",
    "split",
    "iterations",
    "wall_seconds",
    "peak_memory_bytes",
}
NODE = {"id", "parent", "depth", "weight", "n_docs", "n_tokens", "words"}
Finished = Callable[..., Path]


@pytest.fixture
def run(finished: Finished, backend: str) -> Path:
    """Return a finished run of each backend in turn."""
    return finished(backend)


def test_all_files_are_there_and_no_others(run: Path, backend: str) -> None:
    names = {path.name for path in run.iterdir()}
    wanted = {
        "config.yaml",
        "manifest.json",
        "metrics.jsonl",
        "log.txt",
        "vocab.txt",
        "groups.txt",
        "checkpoints",
        "model.npz",
        "theta.npz",
        "tree.json",
        "topics.csv",
        "split.npz",
    }
    draws = {"draws"} if registry.load(backend).sampler else set()
    assert wanted | draws <= names
    assert names <= wanted | draws | {".lock", "paths.npz", "theta_groups.npz"}


def test_nothing_needs_pickle(run: Path) -> None:
    for path in run.rglob("*.npz"):
        with np.load(path, allow_pickle=False) as arrays:
            for name in arrays.files:
                assert arrays[name].dtype != object


def test_rows_of_all_files_are_the_same_nodes(run: Path, tiny_corpus: Corpus) -> None:
    model = read_npz(run / "model.npz")
    parent, kind, weight = (model[name] for name in ("parent", "kind", "weight"))
    theta = sparse.load_npz(run / "theta.npz")
    tree = json.loads((run / "tree.json").read_text())
    with open(run / "topics.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    words = (run / "vocab.txt").read_text().splitlines()

    of_words = "phi" in model
    own = model["phi" if of_words else "mean"]
    named = tiny_corpus.vocab if of_words else default_columns(tiny_corpus.n_words)
    assert own.shape == (len(parent), tiny_corpus.n_words) and words == list(named)
    assert theta.shape[1] == len(parent) == len(kind) == len(weight)
    shown = np.flatnonzero(kind == 0).tolist()
    assert [node["id"] for node in tree["nodes"]] == shown
    assert [int(row["id"]) for row in rows] == shown
    for node, row in zip(tree["nodes"], rows, strict=True):
        assert set(node) >= NODE
        assert int(row["parent"]) == node["parent"] == parent[node["id"]]
        assert float(row["weight"]) == node["weight"] == weight[node["id"]]
        assert row["words"].split() == [word for word, _ in node["words"]]
        if not of_words:
            assert node["words"] == []
            assert node["norm"] == pytest.approx(np.linalg.norm(own[node["id"]]), rel=1e-12)
            continue
        for word, chance in node["words"]:
            assert chance == own[node["id"], words.index(word)]
        chances = [chance for _, chance in node["words"]]
        assert chances == sorted(chances, reverse=True) and chances[0] == own[node["id"]].max()


def test_the_tree_file_names_schema_and_backend(run: Path, backend: str) -> None:
    tree = json.loads((run / "tree.json").read_text())
    assert (tree["schema"], tree["backend"]) == ("hiertopics.tree/1", backend)


def test_manifest_says_what_was_done(run: Path, backend: str) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    assert set(manifest) >= MANIFEST
    assert (manifest["status"], manifest["iterations"]) == ("done", 8)
    assert (manifest["seed"], manifest["backend"]) == (0, backend)
    assert {"python", "hiertopics", "numpy", "scipy", "numba"} <= set(manifest["versions"])
    assert manifest["peak_memory_bytes"] > 10_000_000 and manifest["wall_seconds"] > 0


def test_split_and_training_documents_are_the_whole_corpus(
    run: Path, backend: str, tiny_corpus: Corpus
) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    split = read_npz(run / "split.npz")
    parts = {name: unpack_csr(name, split) for name in ("heldout", "observed", "scored")}
    train, heldout = split["train_docs"], split["heldout_docs"]
    assert (str(split["kind"]), int(split["seed"])) == ("docs", 0)
    assert sorted([*train, *heldout]) == list(range(tiny_corpus.n_docs))
    assert len(heldout) == round(0.2 * tiny_corpus.n_docs)
    counts = tiny_corpus.counts
    assert (parts["heldout"] != counts[heldout]).nnz == 0
    assert (parts["observed"] + parts["scored"] != parts["heldout"]).nnz == 0
    corpus = manifest["corpus"]
    assert (corpus["n_docs"], corpus["n_words"]) == (len(train), tiny_corpus.n_words)
    if kind_of(backend, registry.load(backend).Model()) != "counts":  # a row is a token
        assert corpus["n_tokens"] == len(train)
    else:
        assert corpus["n_tokens"] == counts[train].sum()
        assert corpus["n_tokens"] + parts["heldout"].sum() == tiny_corpus.n_tokens
    assert sparse.load_npz(run / "theta.npz").shape[0] == len(train)


def test_metrics_have_a_line_per_recorded_iteration(run: Path, backend: str) -> None:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == [2, 4, 6, 8]
    info: Any = registry.load(backend).Info
    own = set(info._fields)
    assert all(set(row) == {"iteration", "seconds", "objective"} | own for row in rows)
    manifest = json.loads((run / "manifest.json").read_text())
    assert rows[-1]["objective"] == manifest["objective"]


def test_config_is_complete_and_plain_yaml(run: Path, backend: str) -> None:
    config = yaml.safe_load((run / "config.yaml").read_text())
    module = registry.load(backend)
    assert set(config) == {"backend", "seed", "data", "model", "inference", "output"}
    assert set(config["model"]) == set(module.Model.__struct_fields__)
    assert set(config["inference"]) == set(module.Inference.__struct_fields__)
    assert config["inference"]["iterations"] == 8 and config["data"]["holdout"] == "docs:0.2@0"


def test_only_the_last_two_checkpoints_stay(
    fit_tiny: Callable[..., object], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    fit_tiny(run, iterations=5, overrides=["output.checkpoint_seconds=0"])
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == [
        "00000004.npz",
        "00000005.npz",
    ]


def test_draws_are_kept_at_their_iterations(
    fit_tiny: Callable[..., object], backend: str, tmp_path: Path
) -> None:
    if not registry.load(backend).sampler:
        pytest.skip("keeps no draws")
    run, schedule = tmp_path / "run", ["inference.burn_in=3", "inference.keep_every=2"]
    if "summarise" in registry.load(backend).Inference.__struct_fields__:
        schedule.append("inference.summarise=last")
    fit_tiny(run, backend, iterations=9, overrides=schedule)
    draws = sorted(path.stem for path in (run / "draws").iterdir())
    assert draws == ["00000005", "00000007", "00000009"]
    model, first, last = (
        read_npz(run / name) for name in ("model.npz", "draws/00000005.npz", "draws/00000009.npz")
    )
    assert set(model) <= set(first) and first["phi"].tobytes() != last["phi"].tobytes()
    for name in model:  # the summarised draw is the last one, kept as well
        assert last[name].tobytes() == model[name].tobytes(), name
    assert last["theta_data"].tobytes() == read_npz(run / "theta.npz")["data"].tobytes()


def test_zero_iterations_give_a_run(fit_tiny: Callable[..., object], tmp_path: Path) -> None:
    run = tmp_path / "run"
    fit_tiny(run, iterations=0)
    manifest = json.loads((run / "manifest.json").read_text())
    assert (manifest["status"], manifest["iterations"]) == ("done", 0)
    assert (run / "tree.json").exists() and not (run / "metrics.jsonl").exists()


def test_groups_are_written_by_name(fit_tiny: Callable[..., object], tmp_path: Path) -> None:
    corpus = tmp_path / "named.ldac"
    corpus.write_text("2 0:3 1:1\n1 1:2\n2 0:1 2:4\n1 2:1\n0\n")
    (tmp_path / "named.authors").write_text("Ann\tBo Li\nBo Li\n\nAnn\n\n")
    fit_tiny(tmp_path / "run", corpus=corpus, iterations=1)
    assert (tmp_path / "run" / "groups.txt").read_text().splitlines() == ["Ann", "Bo Li"]
