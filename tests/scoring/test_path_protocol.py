"""Protocols ``path`` and ``full`` of trees: by their definitions, and from the files they leave."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from hiertopics.base.errors import UsageError
from hiertopics.contract.model import PathMixture
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.runs.newdocs import infer_theta
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.evaluation import evaluate
from hiertopics.scoring.protocols.predicting import path_log_likelihoods
from hiertopics.scoring.scores import word_chances

Copied = Callable[..., Path]
TREES = ("hlda-variational", "hlda-gibbs")
RNG = np.random.default_rng(3)
PHI = RNG.dirichlet(np.full(4, 0.5), 5)
SCORED = sparse.csr_array(np.array([[2, 0, 1, 0], [0, 0, 0, 0], [0, 3, 0, 1]]))
MIXTURE = PathMixture(
    indptr=np.array([0, 3, 4, 6]),
    node=np.array(
        [[0, 1, 2], [0, 1, -1], [0, -1, -1], [0, 3, 4], [0, 3, 4], [0, 1, 2]], dtype=np.int32
    ),
    log_prob=np.log([0.5, 0.3, 0.2, 1.0, 0.9, 0.1]),
    level_weights=RNG.dirichlet(np.ones(3), 6),
)


def one_by_one(mixture: PathMixture, phi: NDArray[Any], scored: Any) -> list[float]:
    """Return each document's log likelihood: path by path, token by token."""
    found = []
    for doc, counts in enumerate(scored.toarray()):
        total = 0.0
        for entry in range(mixture.indptr[doc], mixture.indptr[doc + 1]):
            chance = math.exp(mixture.log_prob[entry])
            for word in np.repeat(np.arange(len(counts)), counts):
                levels = zip(mixture.level_weights[entry], mixture.node[entry], strict=True)
                chance *= sum(
                    w * (phi[node, word] if node >= 0 else 1 / len(counts)) for w, node in levels
                )
            total += chance
        found.append(math.log(total))
    return found


def test_a_document_sums_over_its_paths_the_chance_of_all_its_tokens() -> None:
    expected = one_by_one(MIXTURE, PHI, SCORED)
    assert path_log_likelihoods(MIXTURE, PHI, SCORED) == pytest.approx(
        expected, rel=1e-12, abs=1e-15
    )


def test_thousands_of_tokens_do_not_underflow() -> None:
    many = sparse.csr_array(SCORED * 5000)
    found = path_log_likelihoods(MIXTURE, PHI, many)
    assert np.isfinite(found).all() and found[0] < -10_000


def test_uniform_topics_give_one_in_v_whatever_the_paths() -> None:
    """T13: -log V per token, exactly."""
    found = path_log_likelihoods(MIXTURE, np.full((5, 4), 0.25), SCORED)
    assert found == pytest.approx(-math.log(4) * SCORED.sum(axis=1), rel=1e-14, abs=1e-15)


def test_with_one_path_it_is_the_score_token_by_token() -> None:
    alone = PathMixture(
        np.array([0, 1, 2, 3]), MIXTURE.node[[0, 1, 4]], np.zeros(3), MIXTURE.level_weights[:3]
    )
    columns, theta = np.where(alone.node < 0, 5, alone.node), np.zeros((3, 6))
    for doc in range(3):
        np.add.at(theta[doc], columns[doc], alone.level_weights[doc])
    wide = np.vstack([PHI, np.full(4, 0.25)])
    by_token = SCORED.data * np.log(word_chances(sparse.csr_array(theta), wide, SCORED))
    expected = np.bincount(np.repeat(np.arange(3), np.diff(SCORED.indptr)), by_token, 3)
    assert path_log_likelihoods(alone, PHI, SCORED) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_with_one_token_it_is_the_score_token_by_token_too() -> None:
    """A single word has the same chance whether its path is its own or not."""
    parts: Any = [part[:3] for part in MIXTURE[1:]]
    first = MIXTURE._replace(
        indptr=np.array([0, 3]),
        **dict(zip(MIXTURE._fields[1:], parts, strict=True)),
    )
    theta = np.zeros((1, 6))
    for entry in range(3):
        columns = np.where(first.node[entry] < 0, 5, first.node[entry])
        np.add.at(theta[0], columns, np.exp(first.log_prob[entry]) * first.level_weights[entry])
    wide = np.vstack([PHI, np.full(4, 0.25)])
    for word in range(4):
        token = sparse.csr_array(np.eye(4, dtype=int)[[word]])
        expected = np.log(word_chances(sparse.csr_array(theta), wide, token))
        assert path_log_likelihoods(first, PHI, token) == pytest.approx(expected, rel=1e-12)


@pytest.fixture(params=TREES)
def run(request: pytest.FixtureRequest, copied: Copied) -> RunDir:
    """Return a run of a tree that put documents aside."""
    return RunDir(copied(request.param))


def perplexity_by_hand(run: RunDir, observed: Any, scored: Any) -> float:
    placed = infer_theta(run, Corpus(observed, run.vocab))
    assert placed.mixture is not None
    return math.exp(-sum(one_by_one(placed.mixture, run.tree.phi, scored)) / scored.sum())


def test_path_sees_the_observed_part_and_scores_the_rest(run: RunDir) -> None:
    record = evaluate(run, protocol="path")
    expected = perplexity_by_hand(run, run.split.observed, run.split.scored)
    assert record["perplexity"] == pytest.approx(expected, rel=1e-9)
    assert record["protocol"] == "path" and record["split"] == run.split.hash
    assert record["n_tokens"] == run.split.scored.sum()


def test_full_averages_paths_over_the_words_that_they_were_found_by(run: RunDir) -> None:
    record = evaluate(run, protocol="full")
    expected = perplexity_by_hand(run, run.split.heldout, run.split.heldout)
    assert record["perplexity"] == pytest.approx(expected, rel=1e-9)
    assert record["n_tokens"] == run.split.heldout.sum()


def test_a_file_is_scored_in_full_by_all_its_words(run: RunDir, tmp_path: Path) -> None:
    (tmp_path / "new.ldac").write_text("3 0:6 4:5 2:4\n2 5:9 7:2\n")
    (tmp_path / "new.vocab").write_text("\n".join(run.vocab) + "\n")
    counts = np.zeros((2, len(run.vocab)), dtype=int)
    counts[0, [0, 4, 2]], counts[1, [5, 7]] = (6, 5, 4), (9, 2)
    rows = sparse.csr_array(counts)
    record = evaluate(run, protocol="full", corpus=tmp_path / "new.ldac")
    assert record["perplexity"] == pytest.approx(perplexity_by_hand(run, rows, rows), rel=1e-9)
    assert (run.path / "eval" / "full-corpus=new.ldac.json").exists()


def test_path_before_a_word_is_seen_uses_the_prior(run: RunDir) -> None:
    nothing = sparse.csr_array(run.split.scored.shape, dtype=np.int32)
    expected = perplexity_by_hand(run, nothing, run.split.scored)
    assert evaluate(run, protocol="path", observed=0)["perplexity"] == pytest.approx(expected)
    assert (run.path / "eval" / "path-observed=0.json").exists()


@pytest.mark.parametrize("protocol", ["path", "full"])
def test_a_stranger_recomputes_it_from_two_files(run: RunDir, protocol: str) -> None:
    """``theta`` in the file is the mean of the paths' level weights, too."""
    record = evaluate(run, protocol=protocol)
    with (
        np.load(run.path / "eval" / f"{protocol}.npz") as file,
        np.load(run.path / "model.npz") as model,
    ):
        # From here on nothing but numpy and two files.
        n_words = model["phi"].shape[1]
        phi = np.vstack([model["phi"], np.full(n_words, 1 / n_words)])  # [-1]: outside the tree
        total, n_tokens = 0.0, file["scored_data"].sum()
        for doc in range(len(file["path_indptr"]) - 1):
            paths = slice(*file["path_indptr"][doc : doc + 2])
            cells = slice(*file["scored_indptr"][doc : doc + 2])
            words, counts = file["scored_indices"][cells], file["scored_data"][cells]
            levels = phi[file["path_node"][paths]][:, :, words]
            chance = (file["path_level_weights"][paths][:, :, None] * levels).sum(axis=1)
            logs = file["path_log_prob"][paths] + np.log(chance) @ counts
            total += np.log(np.exp(logs - logs.max()).sum()) + logs.max()
    assert np.exp(-total / n_tokens) == pytest.approx(record["perplexity"], rel=1e-9)


@pytest.mark.parametrize("protocol", ["path", "full"])
def test_average_is_the_mean_chance_of_a_document_over_draws(protocol: str, copied: Copied) -> None:
    run = RunDir(copied("hlda-gibbs"))
    seen, scored = run.split.observed, run.split.scored
    if protocol == "full":
        seen = scored = run.split.heldout
    logs = []
    for tree, _ in run.draws():
        placed = infer_theta(run, Corpus(seen, run.vocab), tree=tree)
        assert placed.mixture is not None
        logs.append(one_by_one(placed.mixture, tree.phi, scored))
    assert len(logs) == 3
    mean = logsumexp(logs, axis=0) - math.log(3)
    record = evaluate(run, protocol=protocol, average=True)
    assert record["log_likelihood_per_word"] == pytest.approx(mean.sum() / scored.sum())


def refusals() -> Sequence[tuple[str, str, dict[str, Any], str]]:
    return [
        ("hdp-pcvb0", "docs:0.2@0", {}, "documents take paths, not hdp-pcvb0"),
        ("hlda-gibbs", "tokens:0.2@0", {}, "does not fit a holdout of kind tokens"),
        ("hlda-gibbs", "none", {}, "put nothing aside"),
        ("hlda-gibbs", "docs:0.2@0", {"observed": 1.5}, "from 0 to below 1"),
        ("hlda-gibbs", "docs:0.2@0", {"k": 3}, "--k has no meaning for protocol path"),
        ("hlda-gibbs", "docs:0.2@0", {"seed": 3}, "--seed has no meaning without --corpus"),
    ]


@pytest.mark.parametrize(("backend", "holdout", "options", "words"), refusals())
def test_what_path_cannot_score_is_refused(
    copied: Copied, backend: str, holdout: str, options: dict[str, Any], words: str
) -> None:
    run = RunDir(copied(backend, holdout))
    with pytest.raises(UsageError, match=words):
        evaluate(run, protocol="path", **options)
    assert not (run.path / "eval").exists()


def test_a_share_has_no_meaning_where_everything_is_seen(copied: Copied) -> None:
    with pytest.raises(UsageError, match="--observed has no meaning for protocol full"):
        evaluate(copied("hlda-gibbs"), protocol="full", observed=0.5)
