"""The generative story of the nested CRP, against what is known of it in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from gibbs_cases import settings_of
from naive_gibbs import Hyper, posterior, relabelled
from stepping import at

from hiertopics.contract.model import Sizes
from hiertopics.families.ncrp.sampler import backend as gibbs
from hiertopics.families.nested.simulate import draw_tree

GAMMA = 0.7
N_DRAWS = 12_000


@pytest.mark.slow
def test_trees_have_the_chances_of_the_nested_crp() -> None:
    """All trees of three documents on three levels: total variation below 0.02."""
    hyper = Hyper([1.0, 1.0, 1.0], GAMMA, 1.0, 2)
    chances = posterior([[], [], []], hyper).chances
    found = dict.fromkeys((paths for paths, _ in chances), 0)
    rng = np.random.default_rng(0)
    for _ in range(N_DRAWS):
        _, path = draw_tree(3, 3, GAMMA, rng)
        found[relabelled(path[:, 1:].tolist())] += 1
    gaps = [abs(found[paths] / N_DRAWS - chance) for (paths, _), chance in chances.items()]
    assert len(gaps) == 12 and sum(gaps) / 2 < 0.02


def test_a_chance_off_by_a_third_would_be_noticed() -> None:
    one, other = (
        posterior([[], [], []], Hyper([1.0, 1.0, 1.0], gamma, 1.0, 2)).chances
        for gamma in (GAMMA, 4 / 3 * GAMMA)
    )
    assert sum(abs(one[key] - other[key]) for key in one) / 2 > 0.04


def test_the_truth_fits_together() -> None:
    settings = settings_of(depth=4, gamma=3.0, level_prior=[4.0, 3.0, 2.0, 1.0])
    sizes = Sizes(n_docs=40, n_words=9, doc_length=30)
    corpus, truth = gibbs.simulate(settings, sizes, at(0))
    parent, depth, path = truth["parent"], truth["depth"], truth["path"]
    assert (depth[path] == np.arange(4)).all()
    assert (parent[path[:, 1:]] == path[:, :-1]).all()
    assert sorted(set(path.ravel().tolist())) == list(range(len(parent)))
    on_path = np.take_along_axis(truth["theta"], path, axis=1)
    np.testing.assert_array_equal(on_path, truth["level_weights"])
    assert truth["theta"].sum(axis=1) == pytest.approx(1)
    assert corpus.doc_lengths.tolist() == [30] * 40


def test_words_come_from_the_nodes_of_the_path() -> None:
    """Long documents have the word frequencies of theta @ phi, and level weights of the prior."""
    settings = settings_of(level_prior=[5.0, 2.0, 1.0], eta=0.5)
    sizes = Sizes(n_docs=60, n_words=6, doc_length=20_000)
    corpus, truth = gibbs.simulate(settings, sizes, at(0))
    share = corpus.counts.toarray() / 20_000
    np.testing.assert_allclose(share, truth["theta"] @ truth["phi"], atol=0.02)
    mean = truth["level_weights"].mean(axis=0)
    np.testing.assert_allclose(mean, np.array([5.0, 2.0, 1.0]) / 8, atol=0.06)
