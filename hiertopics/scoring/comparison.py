"""``compare`` and ``agree``: runs side by side, by their scores and by the nodes they share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hiertopics.base import archives
from hiertopics.base.errors import HiertopicsError, UsageError
from hiertopics.base.visible import steady
from hiertopics.corpus.data.matching import marks_of, supported_by
from hiertopics.corpus.data.naming import names_of
from hiertopics.corpus.data.tree import ROOT
from hiertopics.runs.artifacts import write_support
from hiertopics.runs.origin import refuse_unequal_splits, refuse_unlike
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.runs.scorefiles import read_arrays
from hiertopics.scoring.evaluation import evaluate
from hiertopics.scoring.protocols import PROTOCOLS
from hiertopics.scoring.protocols.caching import WITH_CACHE
from hiertopics.scoring.request import choose_options, not_default
from hiertopics.scoring.scores import Score, pool
from hiertopics.scoring.tasks import evaluate_task
from hiertopics.scoring.tasks.hierarchy import HierarchyOptions

Item = TypeVar("Item")
Result = TypeVar("Result")


def compare(
    runs: Sequence[Path | str | RunDir],
    *,
    protocol: str | None = None,
    average: bool = False,
    cache: bool = False,
    cache_from: str | None = None,
) -> list[dict[str, Any]]:
    """Return the scores of runs on their common split, best first.

    average: score the mean of p(w | d) over the kept draws of every run that has some. cache: score
    every run with a cache too; order and differences are then those of the scores with cache,
    behind_with_cache and behind_with_cache_error in place of behind and behind_error.
    cache_from: see ``evaluate``.

    Beside the fields of ``evaluate``: status, iterations, seconds and peak_memory_bytes of the
    fit; draws, how many were averaged (None: the summarised one was scored); behind, by how much
    the log likelihood per word is below that of the best run, and behind_error, the standard
    error of this difference over documents (both None for the best, and for vectors).

    A run that cannot be read or scored is left out and named on stderr, so that one failed fit
    does not hide the others; where that is so of all, the first error is raised. Raises UsageError
    where the splits differ, naming them.
    """
    if isinstance(runs, str | Path | RunDir):
        raise UsageError("compare takes a list of runs, such as compare([run, other])")
    options = {"cache": cache, "cache_from": cache_from}
    rows = _rows(runs, partial(_row, protocol=protocol, average=average, options=options))
    rows.sort(key=lambda row: -_log_likelihood(row, cache))
    return [row | _behind(row, rows[0], options) for row in rows]


def compare_trees(runs: Sequence[Path | str | RunDir], **options: Any) -> list[dict[str, Any]]:
    """Return the agreement of runs with label paths on their common split, best first.

    By triplets of the first level. options: those of task ``hierarchy``. Beside the fields of
    ``evaluate_task``: behind, by how much the triplets of the first level are below those of the
    best run, and behind_error, the standard error of this difference over documents (both None for
    the best). Runs are left out, and errors raised, as by ``compare``.
    """
    rows = _rows(runs, partial(evaluate_task, task="hierarchy", **options))
    rows.sort(key=lambda row: -row["levels"][0]["triplets"])
    return [row | _triplets_behind(row, rows[0], options) for row in rows]


def _triplets_behind(
    row: dict[str, Any], best: dict[str, Any], options: dict[str, Any]
) -> dict[str, float | None]:
    if row is best:
        return {"behind": None, "behind_error": None}
    given = not_default(choose_options(HierarchyOptions, options, {}, "task hierarchy"))
    mine, first = (read_arrays(RunDir(one["run"]), "hierarchy", given) for one in (row, best))
    lost = first["triplets_influence"][0] - mine["triplets_influence"][0]
    behind = best["levels"][0]["triplets"] - row["levels"][0]["triplets"]
    return {"behind": behind, "behind_error": float(np.sqrt((lost**2).sum()))}


def _rows(
    runs: Sequence[Path | str | RunDir], score: Callable[[RunDir], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the records of the runs on their common split that can be scored; name the others."""
    problems: list[HiertopicsError] = []
    targets = _each(_opened, runs, problems)
    refuse_unequal_splits(targets)
    rows = _each(score, targets, problems)
    if problems and not rows:
        raise problems[0]
    for problem in problems:
        print(f"warning: left out: {steady(str(problem))}", file=sys.stderr)
    return rows


def _each(
    make: Callable[[Item], Result], items: Sequence[Item], problems: list[HiertopicsError]
) -> list[Result]:
    """Return the results of ``make`` for the items; add its errors to ``problems``."""
    made = []
    for item in items:
        try:
            made.append(make(item))
        except HiertopicsError as error:
            problems.append(error)
    return made


def _opened(run: Path | str | RunDir) -> RunDir:
    """Return a run whose manifest and split can be read."""
    target = opened(run)
    _ = target.manifest, target.split
    return target


def _row(
    run: RunDir, *, protocol: str | None, average: bool, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a run's scores and what its fit took."""
    draws = (run.n_draws or None) if average else None
    return evaluate(run, protocol=protocol, average=draws is not None, **options) | {
        "draws": draws,
        "status": run.manifest["status"],
        "iterations": run.manifest["iterations"],
        "seconds": run.manifest["wall_seconds"],
        "peak_memory_bytes": run.manifest["peak_memory_bytes"],
    }


def _behind(
    row: dict[str, Any], best: dict[str, Any], options: Mapping[str, Any]
) -> dict[str, float | None]:
    """Return by how much a run is behind the best one on the same documents."""
    suffix = WITH_CACHE if options["cache"] else ""
    names = (f"behind{suffix}", f"behind{suffix}_error")
    if row is best or "log_likelihood_per_word" not in row:
        return dict.fromkeys(names)
    mine, first = (_score_arrays(one, options) for one in (row, best))
    found = lost(mine, first, suffix)
    return dict(zip(names, (found.log_likelihood_per_word, found.standard_error), strict=True))


def lost(
    mine: Mapping[str, NDArray[Any]], other: Mapping[str, NDArray[Any]], suffix: str = ""
) -> Score:
    """Return the difference of a score to another one on the same documents, in nats.

    mine, other: arrays of two scores, by name; log_likelihood: float64 [n_docs]. suffix: that of
    the columns, ``WITH_CACHE`` for scores with a cache.
    """
    column = f"log_likelihood{suffix}"
    return pool(other[column] - mine[column], archives.unpack_csr("scored", mine))


def _score_arrays(row: dict[str, Any], options: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    given = {**options, "average": row["draws"] is not None}
    chosen = choose_options(PROTOCOLS[row["protocol"]].options, given, {}, row["protocol"])
    return read_arrays(RunDir(row["run"]), row["protocol"], not_default(chosen))


def _log_likelihood(row: dict[str, Any], cache: bool) -> float:
    if cache:
        return float(row[f"log_likelihood_per_word{WITH_CACHE}"])
    return float(row["log_likelihood_per_" + ("word" if row["perplexity"] else "row")])


MOST = 0.75
"""A node comes back where this share of the other runs supports it."""


def agree(
    runs: Sequence[Path | str | RunDir], *, write: bool = False, words_by: str | None = None
) -> dict[str, Any]:
    """Return how far the nodes of the first run's tree are found again by each of the others.

    Another run supports a node if its one-to-one partner at the same depth shares five of the ten
    words that say most of its branch, and their documents overlap by half (Jaccard): those that
    give the branch a tenth or have their best node in it; where neither node has any, the words
    decide. write: the first run's tree.json then says so of each node. words_by: the order of the
    words of auto_name, of ``naming.ORDERS``; None: ``name``.

    Keys: run, others; support, the share of the tokens below the root at nodes that three
    quarters of the others support; nodes, a record of each: id, depth, n_tokens (at and below it),
    support, the number of runs, auto_name. Raises UsageError where backends, corpora, splits or
    words differ, where a tree has a single level, or where there is nothing to compare with.
    """
    targets = [opened(run) for run in runs]
    refuse_unlike(targets, "agree")
    first, *others = targets
    tree = first.tree
    names = names_of(tree, first.vocab, words_by=words_by)
    own, *marks = (marks_of(run.tree, run.theta.toarray()) for run in targets)
    support = supported_by(own, marks)
    if write:
        write_support(first, support)
    below = tree.subtree_weight * tree.n_tokens.sum()
    back = (support.found >= MOST * len(others)) & (tree.parent != ROOT)
    lower = tree.n_tokens[tree.parent != ROOT].sum()
    return {
        "run": str(first.path),
        "others": [str(other.path) for other in others],
        "support": float(tree.n_tokens[back].sum() / lower) if lower > 0 else 0.0,
        "nodes": [
            {
                "id": tree.id_of(node),
                "depth": int(tree.depth[node]),
                "n_tokens": float(below[node]),
                "support": int(support.found[node]),
                "auto_name": names.texts[node],
            }
            for node in tree.shown.tolist()
        ],
    }
