"""Authors planted in a corpus, and how near a method comes to them (theory/chdp 8.9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from chdp_cases import simulated
from stepping import advance, at, begin, settings_of

from hiertopics.contract.model import Sizes
from hiertopics.corpus.data.groups import groups_of
from hiertopics.corpus.data.tree import Tree

TOPICS = {"alpha_doc": 5.0, "alpha_group": 2.0, "gamma": 8.0, "eta": 0.05, "truncation": 12}


class Recovery(NamedTuple):
    """How near found weights of groups come to planted ones."""

    correlation: float
    total_variation: float


def recover(backend: Any, planted: str, fitted: str, **keys: Any) -> Recovery:
    """Plant 40 authors of 600 documents under one cooperation and fit the other or the same."""
    corpus, truth = simulated(Sizes(600, 500, 100), seed=3, cooperation=planted, **TOPICS)
    keys = {"truncation": 20, "cooperation": fitted, "hyper_start": 10, **keys}
    settings = settings_of(backend, **keys)
    state, data = begin(backend, corpus, settings)
    state = advance(backend, state, data, settings, 70)
    return recovery_of(backend.summarise(state, data, settings, at(0)).tree, truth)


def recovery_of(tree: Tree, truth: Mapping[str, Any]) -> Recovery:
    """Compare weights of groups, each topic found mapped to the nearest planted one."""
    groups = groups_of(tree)
    assert groups is not None
    nearest = (np.sqrt(truth["phi"]) @ np.sqrt(tree.phi).T).argmax(axis=0)
    found = np.zeros_like(truth["pi"])
    np.add.at(found.T, nearest, groups.theta.T)
    correlation = np.corrcoef(found.ravel(), truth["pi"].ravel())[0, 1]
    distance = np.abs(found - truth["pi"]).sum(axis=1).mean() / 2
    return Recovery(float(correlation), float(distance))
