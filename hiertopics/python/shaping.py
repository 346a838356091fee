"""``shape``: a fitted tree cut into other numbers of nodes by level, and the price of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hiertopics.corpus.formats.trust import trusts
from hiertopics.fitting.shaping import cut, require_cuttable
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.scoring.comparison import lost
from hiertopics.scoring.evaluation import held_out_arrays


class ShapeResult(NamedTuple):
    """A run that was made. nodes: how many there are at each depth below the root.

    inner: how many of them have nodes below them, at each depth that has such nodes. price: by how
    many nats per held-out word it is behind the run that it was made of, and the standard error of
    this difference over documents; None where nothing was held out.
    """

    run: RunDir
    nodes: list[int]
    inner: list[int]
    price: float | None
    price_error: float | None


@trusts
def shape(
    run: Path | str | RunDir,
    branches: Sequence[int],
    output: Path | str,
    *,
    refit: bool = False,
    workers: int = 1,
    argv: Sequence[str] = (),
    trust_tokenizer: bool = False,
) -> ShapeResult:
    """Write a run of a tree with given numbers of nodes by level between root and leaves.

    branches: coarse to fine, as ``model.branches``; a node that would have a single child is
    replaced by this child. The leaves keep their topics and what documents have of them; refit:
    topics are fitted anew to the same documents, the shape held. argv: for the manifest.

    Raises UsageError where the backend cannot do so, where the numbers do not rise or are not below
    that of the leaves, or where ``output`` is a run; DataError where the corpus is gone.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    parent = opened(run)
    require_cuttable(parent, branches, Path(output))
    has_price = len(parent.split.heldout_docs) > 0
    # Before anything is made: a run that cannot be scored has no price.
    before = held_out_arrays(parent, workers) if has_price else None
    made = cut(parent, branches, Path(output), refit=refit, workers=workers, argv=argv)
    tree = made.tree
    nodes = np.bincount(tree.depth[tree.shown])[1:].tolist()
    inner = np.bincount(tree.depth[np.intersect1d(tree.shown, tree.parent)])[1:].tolist()
    if before is None:
        return ShapeResult(made, nodes, inner, None, None)
    behind = lost(held_out_arrays(made, workers), before)
    return ShapeResult(made, nodes, inner, behind.log_likelihood_per_word, behind.standard_error)
