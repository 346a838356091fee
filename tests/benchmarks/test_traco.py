"""TraCo in the record: its rules for a tree, and its command with stand-ins for its packages."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import hiertopics as ht
from benchmarks import process
from benchmarks.process import ROOT, CommandFailed
from benchmarks.systems import Programs, reason

PLANTED = ROOT / "data-samples" / "planted.ldac"
SCRIPT = ROOT / "benchmarks" / "foreign" / "traco.py"

TORCH = """
import numpy as np
from types import SimpleNamespace

manual_seed = np.random.seed
set_num_threads = use_deterministic_algorithms = from_numpy = lambda given: given
utils = SimpleNamespace(data=SimpleNamespace(DataLoader=lambda *data, **how: how))
"""
MODEL = """
class TraCo:
    def __init__(self, n_words):
        self.n_words = n_words
"""
TRAINER = """
import numpy as np

class HierarchicalTrainer:
    def __init__(self, model, dataset):
        assert dataset.train_dataloader == {"batch_size": 200, "shuffle": True}
        assert dataset.train_data.shape[1] == model.n_words == len(dataset.vocab)
        self.counts = dataset.train_data

    def train(self):
        # A topic of the last layer for each half of the words, and one that no document has.
        half = self.counts.shape[1] // 2
        first = self.counts[:, :half].sum(axis=1) > self.counts[:, half:].sum(axis=1)
        return [], [None, np.column_stack([first, ~first, 0 * first]) + 1e-3 * np.random.rand(3)]

    def get_phi(self):
        return [np.eye(2, 3)]

    def get_beta(self):
        half = np.arange(self.counts.shape[1]) < self.counts.shape[1] // 2
        return [np.array([half, ~half]), np.array([half, ~half, ~half]) / 2]
"""


@pytest.fixture(scope="module")
def traco() -> ModuleType:
    spec = spec_from_file_location("traco", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_topic_stands_below_that_of_the_largest_weight(traco: ModuleType) -> None:
    upper = np.array([[0.6, 0.1, 0.2, 0.5], [0.4, 0.9, 0.8, 0.5]])
    lower = np.array([[0.1, 0.2, 0.1], [0.7, 0.2, 0.1], [0.1, 0.1, 0.1], [0.1, 0.5, 0.7]])
    theta = np.array([[0.5, 0.5, 1.0], [0.2, 0.3, 0.5]])
    words = [np.full((n, 2), 1 / n) for n in (2, 4, 3)]
    words[2] = np.array([[1.0, 0.0], [0.0, 0.5], [0.0, 0.5]])
    found = traco.tree([upper, lower], theta, words, np.array([10.0, 30.0]))
    # Topics 0 and 2 of the second layer have nothing below them; of equal weights the first counts.
    assert found["parent"].tolist() == [-1, 0, 0, 2, 1, 3, 4, 4]
    assert found["theta"][:, :5].sum() == 0
    assert found["theta"][:, 5:] == pytest.approx(np.array([[0.25, 0.25, 0.5], [0.2, 0.3, 0.5]]))
    # A word's tokens are dealt out by its shares; the root has all of them.
    expected = [[10, 30], [5, 15], [5, 15], [2.5, 7.5], [2.5, 7.5], [10, 0], [0, 15], [0, 15]]
    assert found["phi"] == pytest.approx(np.array(expected))


def test_documents_are_read_as_counts(tmp_path: Path, traco: ModuleType) -> None:
    (tmp_path / "x.vocab").write_text("bread\ngoal\nteam\n")
    (tmp_path / "x.ldac").write_text("2 0:3 2:1\n0\n1 1:2\n")
    counts, vocab = traco.read(tmp_path / "x.ldac")
    assert counts.tolist() == [[3, 0, 1], [0, 0, 0], [0, 2, 0]] and vocab[1] == "goal"


def python_with(folder: Path, files: dict[str, str]) -> str:
    """Write modules and a program that is this python with them; return the program."""
    for name, text in files.items():
        path = folder / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    program = folder / "python"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={folder / "packages"}:$PYTHONPATH exec {sys.executable} "$@"\n'
    )
    program.chmod(0o755)
    return str(program)


def made(folder: Path, files: dict[str, str], result: Path) -> None:
    """Run the system's command by a python that has these modules."""
    result.mkdir()
    words = Programs(topmost=python_with(folder, files)).command("traco", "planted")
    process.run([*words, str(PLANTED), str(result), "3"])


@pytest.mark.slow
def test_a_python_without_topmost_is_not_installed(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed) as caught:
        made(tmp_path, {"torch.py": TORCH}, tmp_path / "result")
    assert reason(caught.value) == "not installed: topmost"


@pytest.mark.slow
def test_what_the_trained_model_tells_is_imported(tmp_path: Path) -> None:
    files = {
        "torch.py": TORCH,
        "topmost/models/hierarchical/TraCo/TraCo.py": MODEL,
        "topmost/trainers/hierarchical/hierarchical_trainer.py": TRAINER,
    }
    results = [tmp_path / name for name in ("one", "again")]
    for result in results:
        made(tmp_path, files, result)
    first, again = (dict(np.load(result / "tree.npz")) for result in results)
    assert all((first[name] == again[name]).all() for name in first)
    run = ht.import_tree(first, tmp_path / "run", PLANTED, holdout="none")
    assert run.tree.parent.tolist() == [-1, 0, 0, 1, 2, 1]
    assert run.theta.toarray()[:, :3].sum() == 0
    assert (run.theta.toarray()[:, 3:].max(axis=1) > 0.9).all()
