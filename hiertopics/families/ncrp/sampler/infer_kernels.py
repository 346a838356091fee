"""Sampling of a new document's path, levels and level weights while topics are held."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.families.ncrp.sampler.sweep_kernels import NEGLIGIBLE
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import log

FACTORS_PER_LOG = 16
"""Chances multiplied before a logarithm is taken: each is at least ``SMALLEST``."""

SMALLEST = 1e-18


class FittedTree(NamedTuple):
    """A fitted tree of n nodes, parents first; a slot is a node where paths end or leave it.

    phi: float64 [n_words, n]. parent: int32 [n]. depth: int32 [n]. log_mass: float64 [n], log
    prior probability of each slot. level_prior: float64 [L].
    """

    phi: F64
    parent: I32
    depth: I32
    log_mass: F64
    level_prior: F64


@kernel()
def sample_document(
    words: I32,
    counts: I32,
    tree: FittedTree,
    burn_in: int,
    n_samples: int,
    rng: np.random.Generator,
) -> F64:
    """Return the share of each slot and level [n, L], an average over the samples.

    It is the chance of the slot times the weight of the level there. Path given level weights,
    levels given both, weights given levels: the path is drawn with the levels summed out, so that
    it is not held by the words that sit on it. Levels below a slot have the flat topic 1 / V.
    """
    n_nodes, n_levels = len(tree.parent), len(tree.level_prior)
    shares = np.zeros((n_nodes, n_levels))
    weights = tree.level_prior / tree.level_prior.sum()
    for turn in range(burn_in + n_samples):
        probs = slot_chances(words, counts, weights, tree)
        if turn >= burn_in:
            for node in range(n_nodes):
                for level in range(n_levels):
                    shares[node, level] += probs[node] * weights[level]
        slot = draw(probs, rng)
        n_dl = draw_levels(words, counts, weights, slot, tree, rng)
        for level in range(n_levels):
            weights[level] = rng.standard_gamma(tree.level_prior[level] + n_dl[level])
        weights /= max(weights.sum(), 1e-300)
    return shares / shares.sum()


@kernel()
def slot_chances(words: I32, counts: I32, weights: F64, tree: FittedTree) -> F64:
    """Return P(slot | words, level weights), levels summed out, float64 [n]."""
    n_nodes, n_levels = len(tree.parent), len(weights)
    flat = 1.0 / tree.phi.shape[0]
    outside = np.zeros(n_levels)
    for level in range(n_levels - 2, -1, -1):
        outside[level] = outside[level + 1] + weights[level + 1] * flat
    # What depends on a node's level alone is laid out by node, for a loop without look-ups.
    weight, rest = weights[tree.depth], outside[tree.depth]
    score, product, inside = tree.log_mass[:n_nodes].copy(), np.ones(n_nodes), np.empty(n_nodes)
    factors = 0
    for pair in range(len(words)):
        row = tree.phi[words[pair]]
        inside[0] = weight[0] * row[0]
        for node in range(1, n_nodes):
            inside[node] = inside[tree.parent[node]] + weight[node] * row[node]
        for _ in range(counts[pair]):
            for node in range(n_nodes):
                product[node] *= max(inside[node] + rest[node], SMALLEST)
            factors += 1
            if factors == FACTORS_PER_LOG:
                for node in range(n_nodes):
                    score[node] += log(product[node])
                    product[node] = 1.0
                factors = 0
    largest = -np.inf
    for node in range(n_nodes):
        score[node] += log(product[node])
        largest = max(largest, score[node])
    for node in range(n_nodes):
        difference = score[node] - largest
        score[node] = math.exp(difference) if difference > NEGLIGIBLE else 0.0
    return score / score.sum()


@kernel()
def draw_levels(
    words: I32, counts: I32, weights: F64, slot: int, tree: FittedTree, rng: np.random.Generator
) -> I64:
    """Draw the level of each token given path and weights; return tokens by level, int64 [L]."""
    n_levels = len(weights)
    n_dl, path = np.zeros(n_levels, np.int64), np.empty(n_levels, np.int64)
    chances = np.empty(n_levels)
    node = slot
    for level in range(tree.depth[slot], -1, -1):
        path[level] = node
        node = tree.parent[node]
    for pair in range(len(words)):
        for level in range(n_levels):
            inside = level <= tree.depth[slot]
            chance = tree.phi[words[pair], path[level]] if inside else 1.0 / len(tree.phi)
            chances[level] = weights[level] * chance
        for _ in range(counts[pair]):
            n_dl[draw(chances, rng)] += 1
    return n_dl


@kernel()
def draw(weights: F64, rng: np.random.Generator) -> int:
    """Draw an index by unnormalised weights, float64 [n]."""
    target = rng.random() * weights.sum()
    chosen = 0
    for index in range(len(weights)):
        if weights[index] > 0.0 and target >= 0.0:
            chosen = index
            target -= weights[index]
    return chosen
