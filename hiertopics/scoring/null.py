"""``eval --null``: how a tree of no structure looks, beside the run's own.

The training documents' words are shuffled over them, so that each keeps its length and each word
its count, and the same fit is made several times, each with a shuffle and a seed of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hiertopics.base import seeds
from hiertopics.base.errors import UsageError
from hiertopics.base.units import format_duration
from hiertopics.contract import Context, Settings, Summary, Workers
from hiertopics.contract.observed import refuse_other_kind
from hiertopics.corpus.data import ROOT, Corpus, Support, Tree, shuffle
from hiertopics.corpus.data.matching import marks_of, supported_by
from hiertopics.corpus.data.quality import hierarchy_quality, topic_quality
from hiertopics.corpus.formats.trust import trusts
from hiertopics.runs.inmemoryfits import fitted_in_memory
from hiertopics.runs.manifest import MADE_BY
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.runs.scorefiles import keep_score

LARGEST = 2**31


@trusts
def null_check(
    run: Path | str | RunDir,
    n_fits: int,
    *,
    workers: int = 1,
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr),
    trust_tokenizer: bool = False,
) -> dict[str, Any]:
    """Fit a run's corpus with shuffled words ``n_fits`` times; return the comparison.

    Each fit has its own shuffle and its own seed; both derive from the run's own. say: is told how
    long it will take. Kept in the run's folder ``eval``.

    Keys: run, backend, null (``n_fits``), iterations, own, fits: a record of each fit, and its
    seed. A record has depth (levels below the root), nodes, branches (nodes next to the root),
    coherence_npmi, parent_child_npmi and stability: the share of the tokens below the root at nodes
    that another of the fits found again, mean over the others; the run's own is what ``agree
    --write`` found. None stands for what does not exist, such as a flat model's stability. Raises
    UsageError, or DataError where the corpus is gone.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    target = opened(run)
    if n_fits < 1:
        raise UsageError(f"--null must be >= 1, got {n_fits}")
    experiment, manifest = target.experiment, target.manifest
    refuse_other_kind(experiment, ("counts",), "--null")
    if MADE_BY in manifest:
        raise UsageError(f"{target.path} was made of other runs; --null takes one that was fitted")
    tree, corpus = target.supported_tree, read_original(target).train
    own = _figures(tree, corpus, None if tree.support is None else _share(tree, tree.support))
    took = format_duration(n_fits * float(manifest["wall_seconds"]))
    say(f"about {took}: as long as the fit, {n_fits} times")
    shuffled = [
        shuffle(corpus, seeds.derive(experiment.seed, "null words", number))
        for number in range(n_fits)
    ]
    own_seeds = [
        int(seeds.derive(experiment.seed, "null", number).integers(LARGEST))
        for number in range(n_fits)
    ]
    iterations = int(manifest["iterations"])
    settings = Settings(experiment.model, experiment.inference)
    with Workers(workers) as pool:
        made = [
            fitted_in_memory(target.experiment, each, settings, Context(seed, 0, pool), iterations)
            for each, seed in zip(shuffled, own_seeds, strict=True)
        ]
    found = _stabilities(made)
    record = {
        "run": str(target.path),
        "backend": manifest["backend"],
        "null": n_fits,
        "iterations": manifest["iterations"],
        "own": own,
        "fits": [
            {"seed": seed, **_figures(summary.tree, each, stability)}
            for seed, each, summary, stability in zip(own_seeds, shuffled, made, found, strict=True)
        ],
    }
    keep_score(target, "null", {"n": n_fits}, record, {"seed": np.array(own_seeds)})
    return record


def _figures(tree: Tree, corpus: Corpus, stability: float | None) -> dict[str, Any]:
    quality, of_tree = topic_quality(tree, corpus), hierarchy_quality(tree, corpus)
    depth = tree.depth[tree.shown]
    return {
        "depth": int(depth.max(initial=0)),
        "nodes": len(tree.shown),
        "branches": int((depth == 1).sum()),
        "coherence_npmi": quality.coherence_npmi,
        "parent_child_npmi": of_tree.parent_child_npmi,
        "stability": stability,
    }


def _share(tree: Tree, support: Support) -> float | None:
    """Return the share of the tokens below the root at a node, times the others that found it."""
    lower = tree.parent != ROOT
    tokens = tree.n_tokens[lower]
    if not tokens.sum() > 0:
        return None
    return float(tokens @ support.found[lower] / (tokens.sum() * support.n_others))


def _stabilities(made: list[Summary]) -> list[float | None]:
    """Return the share of each fit that the others find again; None where there are no others."""
    if len(made) < 2:
        return [None] * len(made)
    marks = [marks_of(summary.tree, summary.theta.toarray()) for summary in made]
    return [
        _share(summary.tree, supported_by(marks[one], marks[:one] + marks[one + 1 :]))
        for one, summary in enumerate(made)
    ]
