"""Each move's chances are ratios of the log joint, for every path and every level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gibbs_cases import copy_of, hyper_of, levels_of, paths_of, random_chain, varied_corpus
from naive_gibbs import level_chances, path_chances
from scipy.special import gammaln
from stepping import docs_of, twins

from hiertopics.families.flat.token_layout import Data
from hiertopics.families.ncrp.sampler import sweep_kernels
from hiertopics.families.ncrp.sampler.chain_kernels import (
    Chain,
    ChainScratch,
    Hyperparameters,
    make_scratch,
)

CORPUS = varied_corpus()
GRID = 400


def lifted(data: Data, chain: Chain, prior: Hyperparameters, doc: int) -> ChainScratch:
    """Lift a document and score the nodes without it."""
    scratch = make_scratch(data.words, chain, prior, sweep_kernels.FACTORS)
    sweep_kernels.lift(doc, data.words, chain, prior, scratch)
    sweep_kernels.score_nodes(doc, data.words, chain, prior, scratch)
    return scratch


def chances_of_paths(
    data: Data, chain: Chain, prior: Hyperparameters, doc: int
) -> dict[Any, float]:
    """Return what the kernels say of every path, keyed as ``naive_gibbs.candidates`` does."""
    scratch = lifted(data, chain, prior, doc)
    sweep_kernels.weigh_paths(chain, prior, scratch)
    depth = chain.path.shape[1]
    chances = {}
    for level in range(depth):
        for column in range(chain.first[level], scratch.used[level]):
            if chain.visits[column] == 0 and level > 0:
                continue
            steps, node = [], column
            for _ in range(level):
                steps.append(int(node))
                node = chain.parent[node]
            new = tuple(-1 - below for below in range(level, depth - 1))
            chances[(*reversed(steps), *new)] = scratch.log_weight[column]
    largest = max(chances.values())
    weights = {path: np.exp(value - largest) for path, value in chances.items()}
    return {path: weight / sum(weights.values()) for path, weight in weights.items()}


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 3, 5])
@pytest.mark.parametrize("doc", [0, 2, 3, 5, 8])
def test_chances_of_paths_are_ratios_of_the_joint(depth: int, doc: int) -> None:
    """Every leaf and every new branch; document 2 is empty, 3 has forty tokens of one word."""
    data, chain, prior = random_chain(CORPUS, depth, seed=depth)
    expected = path_chances(
        docs_of(CORPUS),
        paths_of(chain.path),
        levels_of(CORPUS, chain.level),
        hyper_of(prior, data.n_words),
        doc,
    )
    found = chances_of_paths(data, chain, prior, doc)
    assert len(found) >= 3 and found.keys() == expected.keys()
    for path, chance in expected.items():
        assert found[path] == pytest.approx(chance, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("eta", [1e-6, 0.3, 50.0])
def test_scores_of_nodes_are_differences_of_log_gammas(eta: float) -> None:
    """F(i, l) of theory/ncrp 5, node by node, for a document with long products."""
    prior = Hyperparameters(np.ones(3), 2.5, eta)
    data, chain, _ = random_chain(CORPUS, seed=3)
    for doc in range(data.n_docs):
        moved = copy_of(chain)
        scratch = lifted(data, moved, prior, doc)
        tokens = levels_of(CORPUS, chain.level)[doc]
        for level in (1, 2):
            words = [w for w, at in zip(docs_of(CORPUS)[doc], tokens, strict=True) if at == level]
            x = np.bincount(words, minlength=data.n_words)
            for column in range(moved.first[level], scratch.used[level]):
                n = moved.n_wk[:, column]
                mass = n.sum() + data.n_words * eta
                expected = gammaln(mass) - gammaln(mass + x.sum())
                expected += (gammaln(n + x + eta) - gammaln(n + eta)).sum()
                assert scratch.score[column] == pytest.approx(expected, rel=1e-9, abs=1e-9)


class Dial:
    """Stands in for a generator: returns the numbers it was given, then stops the caller."""

    def __init__(self, numbers: list[float]) -> None:
        self.numbers = numbers

    def random(self) -> float:
        if not self.numbers:
            raise StopIteration
        return self.numbers.pop(0)


@pytest.mark.parametrize("token", [0, 1, 6, 11])
def test_chances_of_levels_are_ratios_of_the_joint(token: int) -> None:
    """A token goes to a level for a share of all uniform numbers that is the level's chance."""
    data, chain, prior = random_chain(CORPUS, seed=8)
    doc, shares = 7, np.zeros(3)
    for place in range(GRID):
        moved = copy_of(chain)
        dial: Any = Dial([0.35] * token + [(place + 0.5) / GRID])
        with pytest.raises(StopIteration):
            twins(sweep_kernels.draw_levels)[1](doc, data.words, moved, prior, dial)
        levels = levels_of(CORPUS, moved.level)
        shares[levels[doc][token]] += 1 / GRID
    paths, hyper = paths_of(chain.path), hyper_of(prior, data.n_words)
    expected = level_chances(docs_of(CORPUS), paths, levels, hyper, doc, token)
    assert min(expected) > 0.01
    np.testing.assert_allclose(shares, expected, atol=1.5 / GRID)


def test_a_first_level_is_drawn_given_the_tokens_before_it() -> None:
    """The sequential start: tokens that have no level yet count for nothing."""
    data, chain, prior = random_chain(CORPUS, seed=8)
    doc, shares = 7, np.zeros(3)
    begin = int(CORPUS.doc_lengths[:doc].sum())
    length = int(CORPUS.doc_lengths[doc])
    for place in range(GRID):
        moved = copy_of(chain)
        for token, word in enumerate(docs_of(CORPUS)[doc], start=begin):
            column = moved.path[doc, moved.level[token]]
            moved.n_wk[word, column] -= 1
            moved.n_k[column] -= 1
        moved.n_dl[doc] = 0
        moved.level[begin : begin + length] = -1
        dial: Any = Dial([0.35] * 4 + [(place + 0.5) / GRID])
        with pytest.raises(StopIteration):
            twins(sweep_kernels.draw_levels)[1](doc, data.words, moved, prior, dial)
        drawn = moved.level[begin : begin + 5]
        shares[drawn[-1]] += 1 / GRID
    assert length > 5
    words = docs_of(CORPUS)
    words[doc] = words[doc][:5]
    levels = levels_of(CORPUS, chain.level)
    levels[doc] = drawn.tolist()
    hyper = hyper_of(prior, data.n_words)
    expected = level_chances(words, paths_of(chain.path), levels, hyper, doc, 4)
    np.testing.assert_allclose(shares, expected, atol=1.5 / GRID)
