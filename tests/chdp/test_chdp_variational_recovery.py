"""Planted authors are found by the variational method too, by either cooperation (spec 8.9)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from chdp_cases import COOPERATIONS, simulated
from test_chdp_variational_steps import fit

from hiertopics.data.groups import groups_of
from hiertopics.families.chdp import variational
from hiertopics.model import Sizes

TOPICS = {"alpha_doc": 5.0, "alpha_group": 2.0, "gamma": 8.0, "eta": 0.05, "truncation": 12}


class Recovery(NamedTuple):
    """How near found weights of groups come to planted ones."""

    correlation: float
    total_variation: float


def recover(planted: str, fitted: str, **keys: Any) -> Recovery:
    """Plant 40 authors of 600 documents under one cooperation and fit the same or the other."""
    corpus, truth = simulated(Sizes(600, 500, 100), seed=3, cooperation=planted, **TOPICS)
    state, data, settings = fit(
        corpus, 70, np.float32, truncation=20, hyper_start=10, cooperation=fitted, **keys
    )
    tree = variational.summarise(state, data, settings).tree
    groups = groups_of(tree)
    assert groups is not None
    nearest = (np.sqrt(truth["phi"]) @ np.sqrt(tree.phi).T).argmax(axis=0)
    found = np.zeros_like(truth["pi"])
    np.add.at(found.T, nearest, groups.theta.T)
    correlation = np.corrcoef(found.ravel(), truth["pi"].ravel())[0, 1]
    distance = np.abs(found - truth["pi"]).sum(axis=1).mean() / 2
    return Recovery(float(correlation), float(distance))


@pytest.mark.parametrize("planted", COOPERATIONS)
def test_planted_authors_are_found_and_best_by_their_own_cooperation(planted: str) -> None:
    own, other = (
        recover(planted, fitted)
        for fitted in (planted, *(name for name in COOPERATIONS if name != planted))
    )
    assert own.correlation > 0.95 and own.total_variation < 0.12, own
    assert own.total_variation < other.total_variation + 0.02, (own, other)
