"""Scores of runs whose theta is stored at each document's own nodes alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nhdp_cases import random_mixing
from scipy import sparse

from hiertopics.base.archives import read_npz
from hiertopics.base.room import Room
from hiertopics.corpus.data.tree import Tree
from hiertopics.families.nhdp import summary
from hiertopics.families.nhdp.completing import whole_theta
from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.summary import Pruning, weigh
from hiertopics.fitting import driver
from hiertopics.runs import trained
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.evaluation import evaluate
from hiertopics.scoring.scores import log_likelihoods, word_chances

PARENT = np.array([-1, 0, 0, 1, 1, 2, 3, 3, 5])


def mixing_of_three_levels(seed: int) -> Mixing:
    """Return drawn parameters of a tree of three levels below the root, one node an only child."""
    drawn = random_mixing(np.random.default_rng(seed), len(PARENT))
    shape = shape_of(PARENT)
    leaf = shape.n_children == 0
    share = np.array([1.0, 0.6, 0.4, 0.7, 0.3, 1.0, 0.5, 0.5, 1.0])
    rows = ((0.0, drawn.concentration + 0.1), (1.0, drawn.stop_a + 0.1), (0.0, drawn.stop_b + 0.1))
    return Mixing(shape, share, *(np.where(leaf, at_leaf, row) for at_leaf, row in rows))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("type_", "closeness"), [(np.float64, 1e-10), (np.float32, 1e-4)])
def test_theta_at_every_node_is_found_from_that_at_own_nodes(
    seed: int, type_: Any, closeness: float
) -> None:
    """Of whole and broken counts, of an empty document too."""
    rng, mixing = np.random.default_rng(seed), mixing_of_three_levels(seed)
    counts = rng.gamma(0.4, 4.0, (200, 9)) * (rng.random((200, 9)) < 0.3)
    counts[:50] = np.ceil(counts[:50])
    counts[0] = 0
    part = weigh([counts], Pruning(mixing, np.arange(9)), Room()).theta
    ends = np.concatenate([[0], np.cumsum(part.lengths)])
    stored = sparse.csr_array((part.values.astype(type_), part.columns, ends), shape=counts.shape)
    assert 0.2 < stored.nnz / counts.size < 0.8
    extra = {
        "share": mixing.share,
        "concentration": mixing.concentration,
        "stop": np.column_stack([mixing.stop_a, mixing.stop_b]),
    }
    some = np.ones((9, 2)) / 2
    tree = Tree(some, PARENT, np.zeros(9, np.int8), some[:, 0], PARENT, some[:, 0], extra)
    found = whole_theta(tree, stored.astype(np.float64), counts.sum(axis=1))
    assert found == pytest.approx(mixing.weights(counts), rel=closeness)


@pytest.fixture(scope="module")
def titles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of short documents, mostly about one of four things."""
    rng, path = np.random.default_rng(4), tmp_path_factory.mktemp("titles") / "titles.ldac"
    with path.open("w") as out:
        for doc in range(300):
            thing = np.where(rng.random(6) < 0.3, rng.integers(0, 4, 6), doc % 4)
            words = np.unique(rng.integers(0, 10, 6) + 10 * thing, return_counts=True)
            pairs = " ".join(f"{word}:{times}" for word, times in zip(*words, strict=True))
            out.write(f"{len(words[0])} {pairs}\n")
    return path


def fitted(corpus: Path, run: Path, *more: str) -> RunDir:
    how = [
        "model.truncation=12",
        "inference.start_iterations=10",
        "data.holdout=tokens:0.2@1",
        *more,
    ]
    return driver.fit(corpus, run=run, backend="nhdp-variational", iterations=8, overrides=how).run


def test_a_score_of_withheld_tokens_reads_every_entry_of_theta(
    titles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entire = fitted(titles, tmp_path / "entire")
    monkeypatch.setattr(summary, "MOST_ENTRIES", 0)
    monkeypatch.setattr(trained, "DOCS_AT_ONCE", 37)
    part = fitted(titles, tmp_path / "part")
    assert part.theta.nnz < 0.8 * entire.theta.nnz
    scores = [evaluate(run)["log_likelihood_per_word"] for run in (entire, part)]
    assert scores[1] == pytest.approx(scores[0], rel=1e-5)
    # What was stored alone predicts worse: the case tells the two apart.
    scored = part.split.scored
    stored = log_likelihoods(word_chances(part.theta, part.tree.phi, scored), scored)
    assert stored.sum() / scored.sum() < scores[0] - 0.02


def test_a_kept_score_has_the_chances_that_it_comes_from(
    titles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary, "MOST_ENTRIES", 0)
    part = fitted(titles, tmp_path / "part")
    record = evaluate(part)
    arrays = read_npz(part.path / "eval" / "tokens.npz")
    logs = arrays["scored_data"] @ np.log(arrays["chances"])
    assert np.exp(-logs / arrays["scored_data"].sum()) == pytest.approx(record["perplexity"])
    assert not [name for name in arrays if name.startswith("theta")]
