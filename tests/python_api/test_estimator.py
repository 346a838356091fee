"""``HierarchicalTopics``: scikit-learn's own checks, and the numbers of the runs behind it."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

import hiertopics as ht
from hiertopics import HierarchicalTopics
from hiertopics.base.errors import ConfigError, UsageError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.python.run import Run

SETTINGS = {"model.truncation": 5, "output.record_every": 2, "inference.hyper_start": 2}
TEXTS = ["bread and butter", "cheese with bread", "a goal in the match", "the team won"] * 5


def estimator(**others: Any) -> HierarchicalTopics:
    return HierarchicalTopics("hdp-pcvb0", **{"iterations": 8, "overrides": SETTINGS, **others})


def faulty_checks(_: Any) -> dict[str, str]:
    """Return the checks that fail by their own fault, and why; mended in scikit-learn 1.7.2."""
    if parse_version(sklearn.__version__) >= parse_version("1.7.2"):
        return {}
    return {"check_positive_only_tag_during_fit": "takes a mean from whole numbers in place"}


@pytest.mark.slow
@parametrize_with_checks([estimator(iterations=4)], expected_failed_checks=faulty_checks)
def test_scikit_learns_check(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def counts(tiny_corpus: Corpus) -> Any:
    return tiny_corpus.counts.toarray()


def test_a_fit_ends_in_the_numbers_of_the_function(
    counts: Any, fit_quick: Callable[..., Run]
) -> None:
    fitted = estimator(random_state=3).fit(counts)
    run = fit_quick(counts, holdout="none", seed=3)
    np.testing.assert_array_equal(fitted.components_, run.tree.phi)
    np.testing.assert_array_equal(fitted.theta_.toarray(), run.theta.toarray())
    assert (fitted.n_iter_, fitted.objective_) == (8, run.objective)
    np.testing.assert_array_equal(
        fitted.transform(counts[:4]), run.infer(counts[:4]).theta.toarray()
    )


def test_the_score_is_that_of_completion(counts: Any, fit_quick: Callable[..., Run]) -> None:
    fitted = estimator().fit(counts[:20])
    run = fit_quick(counts[:20], holdout="none")
    record = ht.evaluate(run, counts[20:])
    assert fitted.score(counts[20:]) == pytest.approx(record["log_likelihood_per_word"], rel=1e-12)
    assert fitted.perplexity(counts[20:]) == pytest.approx(record["perplexity"], rel=1e-12)
    assert np.isnan(fitted.score(np.zeros((2, 9))))


def test_it_holds_no_folder_and_is_pickled_with_its_answers(
    counts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    fitted = estimator().fit(counts)
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(counts), fitted.transform(counts))
    assert str(again.tree_) == str(fitted.tree_)


def test_it_stands_in_a_pipeline_after_the_vectorizer() -> None:
    pipeline = make_pipeline(CountVectorizer(), estimator())
    weights = pipeline.fit_transform(TEXTS)
    assert weights.shape == (20, pipeline[-1].tree_.n_nodes)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    tree = pipeline[-1].tree_.with_vocab(pipeline[0].get_feature_names_out())
    assert set(tree.words(0)) <= set(" ".join(TEXTS).split())
    names = pipeline.get_feature_names_out().tolist()
    shown = len(tree.shown)
    assert names == [f"node{n}" for n in range(shown)] + ["outside"] * (tree.n_nodes - shown)


def test_a_search_over_settings_takes_the_better_score(counts: Any) -> None:
    grid = {"overrides": [{"model.truncation": 1}, {"model.truncation": 5}], "iterations": [20]}
    search = GridSearchCV(estimator(), grid, cv=2).fit(counts)
    scores = search.cv_results_["mean_test_score"]
    assert scores[1] > scores[0] and search.best_params_["overrides"] == {"model.truncation": 5}


def test_a_clone_has_the_parameters_and_none_of_the_fit(counts: Any) -> None:
    fitted = estimator(random_state=2, workers=2).fit(counts)
    other = clone(fitted)
    assert other.get_params() == fitted.get_params() and not hasattr(other, "tree_")
    assert other.set_params(iterations=3).fit(counts).n_iter_ == 3


def test_random_state_is_a_seed_a_generator_or_chance(counts: Any) -> None:
    def fitted(state: Any) -> Any:
        return estimator(random_state=state, iterations=2).fit(counts).components_

    assert (fitted(1) == fitted(1)).all()
    states = (np.random.RandomState(5), np.random.RandomState(5))
    assert (fitted(states[0]) == fitted(states[1])).all()
    assert not (fitted(None) == fitted(None)).all()


@pytest.mark.parametrize("X", [[[0.5, 1]], [[-1, 1]], [["a", "b"]]])
def test_what_is_no_count_is_a_value_error(X: Any) -> None:
    with pytest.raises(ValueError):
        estimator().fit(X)


@pytest.mark.parametrize("texts", [["ink clay", "clay"], [["ink", "clay"], ["clay"]]])
def test_texts_in_place_of_counts_are_told_what_makes_counts(texts: Any) -> None:
    for X in (texts, np.array(texts, dtype=object) if isinstance(texts[0], str) else texts):
        with pytest.raises(ValueError, match=r"got texts: .*CountVectorizer\(\).*hiertopics.fit"):
            estimator().fit(X)


@pytest.mark.parametrize(
    "bags", [[[(0, 1), (2, 1)], [(1, 2)]], [[(0, 1)], [(1, 2)]], [[], [(1, 2)]]]
)
def test_lists_of_pairs_are_told_what_makes_a_table(bags: Any) -> None:
    with pytest.raises(ValueError, match="corpus2csc"):
        estimator().fit(bags)
    with pytest.raises(UsageError, match="list of pairs of word and count.*corpus2csc"):
        ht.fit(bags, backend="multinomial")


def test_parameters_that_cannot_be_are_told_by_fit(counts: Any) -> None:
    with pytest.raises(ConfigError, match="model.truncation must be >= 1"):
        estimator(overrides={"model.truncation": 0}).fit(counts)
    with pytest.raises(UsageError, match="unknown backend 'hpd'"):
        HierarchicalTopics("hpd").fit(counts)
    with pytest.raises(UsageError, match="observes rows of numbers"):
        HierarchicalTopics("hca-variational").fit(counts)
