"""Trees that say little are reported, whatever method they come from; others are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.contract.model import Paths, Summary
from hiertopics.corpus.data.tree import OUTSIDE, Tree
from hiertopics.runs import soundness

PARENT = (-1, 0, 0, 1, 1, 2, -1)
PHI = np.vstack([np.full((1, 8), 0.125), np.eye(8)[:5] * 0.9 + 0.0125, np.full((1, 8), 0.125)])


def summary(
    leaf_docs: tuple[int, int, int] = (7, 6, 7),
    parent: tuple[int, ...] = PARENT,
    phi: np.ndarray = PHI,
    paths: bool = True,
) -> Summary:
    """Return a root, its children 1 and 2, leaves 3 and 4 below 1, 5 below 2; 6 is outside."""
    one, two, three = leaf_docs
    n_docs = np.array([sum(leaf_docs), one + two, three, one, two, three, 0])
    kind = np.array([0] * 6 + [OUTSIDE], dtype=np.int8)
    tree = Tree(phi, np.array(parent, np.int32), kind, np.full(7, 1 / 7), n_docs, np.ones(7))
    rows = sum(leaf_docs)
    theta = sparse.csr_array(np.full((rows, 7), 1 / 7))
    best = Paths(np.zeros((rows, 3), np.int32), np.zeros(rows)) if paths else None
    return Summary(tree, theta, best)


def test_a_sound_tree_has_no_notes() -> None:
    assert soundness.notes(summary()) == ()


def test_one_path_with_nearly_every_document_is_reported() -> None:
    (note,) = soundness.notes(summary((19, 1, 0)))
    assert "one path holds nearly every document" in note
    assert soundness.notes(summary((18, 1, 1))) == ()


def test_siblings_with_the_same_words_are_reported_by_their_ids() -> None:
    phi = PHI.copy()
    phi[4] = phi[3]
    (note,) = soundness.notes(summary(phi=phi))
    assert note == "sibling nodes have nearly the same words: 3 and 4"


def test_siblings_next_to_empty_and_leaves_of_mixed_paths_are_not_reported() -> None:
    phi = PHI.copy()
    phi[4] = phi[3]
    alike = summary((19, 1, 0), phi=phi, paths=False)
    (note,) = soundness.notes(alike)
    assert "same words: 3 and 4" in note
    weight = np.array([1.0, 1, 1, 1, 1e-5, 1, 0])
    bare = replace(alike.tree, weight=weight / weight.sum())
    assert soundness.notes(replace(alike, tree=bare)) == ()


def test_cousins_and_parents_may_have_the_same_words() -> None:
    phi = PHI.copy()
    phi[5] = phi[3]
    phi[2] = phi[0]
    assert soundness.notes(summary(phi=phi)) == ()


def test_many_pairs_are_counted_not_listed() -> None:
    parent = (-1, 0, 0, 0, 0, 0, -1)
    phi = PHI.copy()
    phi[1:5] = phi[1]
    (note,) = soundness.notes(summary(parent=parent, phi=phi))
    assert note.endswith("1 and 2, 1 and 3, 1 and 4 and 3 more pairs")


def test_what_lies_outside_is_nobody_s_sibling() -> None:
    phi = PHI.copy()
    phi[6] = phi[1]
    assert soundness.notes(summary(phi=phi)) == ()


def test_siblings_of_vectors_are_the_same_in_either_direction() -> None:
    mean = np.vstack([PHI, np.zeros(8)])[:7] - 0.1
    mean[2] = -3.0 * mean[1]
    mean[3] = 0.0  # an empty node has no direction
    sound = summary(phi=np.zeros((7, 0)))
    tree = replace(sound.tree, extra={"mean": mean})
    (note,) = soundness.notes(replace(sound, tree=tree))
    assert note == "sibling nodes have nearly the same direction: 1 and 2"


def test_flat_topics_are_no_degenerate_tree() -> None:
    phi = PHI.copy()
    phi[1] = phi[2]
    assert soundness.notes(summary((20, 0, 0), (-1,) * 7, phi, paths=False)) == ()


def test_a_root_alone_is_one_path() -> None:
    (note,) = soundness.notes(summary((20, 0, 0), (-1,) * 7))
    assert "one path" in note


@pytest.mark.parametrize("backend", ["hlda-gibbs", "hlda-variational"])
def test_a_fit_reports_them(backend: str, fit_tiny: Callable[..., Any], tmp_path: Path) -> None:
    corpus = tmp_path / "same.ldac"
    corpus.write_text("2 0:3 1:2\n" * 12)
    fit_tiny(tmp_path / "run", backend, 8, ["model.gamma=1e-6"], corpus, holdout="none")
    assert "note: one path holds nearly every document" in (tmp_path / "run/log.txt").read_text()
