"""``judge --score``: the accuracy of people's answers in sheets about a tree's nodes.

An answer counts 1 where it is right and 0 where it is wrong. Of a document, grades above the middle
say that it belongs, grades below that it does not, and the middle counts one half. So whoever
guesses is right in one of six questions with an intruder, and in half of those with documents,
whatever grades are preferred.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import UsageError
from hiertopics.corpus.formats.judgements import (
    KINDS,
    N_CHOICES,
    N_GRADES,
    Kind,
    SheetAnswer,
    key_of,
    read_answers,
)

CHANCE: dict[Kind, float] = {"intruder": 1 / N_CHOICES, "fit": 0.5}
LEVEL = 0.95
"""Confidence of the intervals."""


class Accuracy(NamedTuple):
    """A share of right answers with its standard error and the bounds of its interval."""

    accuracy: float
    standard_error: float
    low: float
    high: float


def score_sheets(
    sheets: Path | str | Sequence[Path | str], *, key: Path | str | None = None
) -> dict[str, Any]:
    """Return the accuracy of the answers in sheets that ``judge`` wrote and people filled in.

    sheets: one, or copies of the same one by several people. key: None takes that beside the first.

    Keys: sheets (how many), total (a record for each kind of question), nodes (the same for each
    node and kind). Keys of a record: kind, node, name (of a node), nodes (of all), n (answers),
    accuracy, standard_error, low, high, chance, above (accuracy less chance), above_low,
    above_high. See ``accuracy_of``. Raises DataError, UsageError.
    """
    paths = [Path(sheets)] if isinstance(sheets, str | Path) else [Path(one) for one in sheets]
    if not paths:
        raise UsageError("name a sheet to score")
    place = key_of(paths[0]) if key is None else Path(key)
    answers = [answer for path in paths for answer in read_answers(path, place)]
    total, nodes = [], []
    for kind in KINDS:
        of_kind = [answer for answer in answers if answer.kind == kind]
        if not of_kind:
            continue
        by_node = _by_node(of_kind)
        found = accuracy_of(_right(of_kind), _groups(answer.node for answer in of_kind))
        counts = {"kind": kind, "nodes": len(by_node), "n": len(of_kind)}
        total.append(counts | _record(kind, found))
        for node, own in by_node.items():
            found = accuracy_of(_right(own), _groups(answer.question for answer in own))
            one = {"kind": kind, "node": node, "name": own[0].name, "n": len(own)}
            nodes.append(one | _record(kind, found))
    return {"sheets": len(paths), "total": total, "nodes": nodes}


def accuracy_of(right: F64, groups: I64) -> Accuracy:
    """Return the mean of answers from 0 to 1, with the interval of Wilson (1927) of 95%.

    right: [n]; groups: int64 [n], answers that are not independent of one another, by number from
    0: those to questions on one node, or those of several people to one question. The interval is
    that of as many independent answers as have the variance of the mean over groups, and never of
    more than there are; over few groups by the quantile of t. standard_error: what half of the
    interval would be for a quantile of 1; so it is not 0 where all answers are right, and for many
    answers it is that of a mean.
    """
    from scipy.stats import norm, t

    n, mean = len(right), float(right.mean())
    n_groups = int(groups.max()) + 1
    plain, effective = mean * (1 - mean) / n, float(n)
    quantile = float(norm.ppf((1 + LEVEL) / 2))
    if 1 < n_groups < n:
        excess = np.bincount(groups, right - mean)
        between = float((excess**2).sum()) * n_groups / (n_groups - 1) / n**2
        if between > plain > 0:
            effective = n * plain / between
            quantile = float(t.ppf((1 + LEVEL) / 2, n_groups - 1))
    middle, half = _wilson(mean, effective, quantile)
    error = _wilson(mean, effective, 1.0)[1]
    return Accuracy(mean, error, max(middle - half, 0.0), min(middle + half, 1.0))


def _wilson(mean: float, n: float, quantile: float) -> tuple[float, float]:
    """Return the middle and half the width of the interval of a share of ``n`` answers."""
    bend = quantile**2 / n
    half = quantile * np.sqrt(mean * (1 - mean) / n + bend / 4 / n) / (1 + bend)
    return (mean + bend / 2) / (1 + bend), float(half)


def _right(answers: Sequence[SheetAnswer]) -> F64:
    return np.array([_is_right(answer) for answer in answers])


def _is_right(answer: SheetAnswer) -> float:
    if answer.kind == "intruder":
        return float(answer.answer == answer.truth)
    belongs = (np.sign(2 * answer.answer - 1 - N_GRADES) + 1) / 2
    return float(belongs if answer.truth else 1 - belongs)


def _groups(names: Iterable[Any]) -> I64:
    known: dict[Any, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def _by_node(answers: Sequence[SheetAnswer]) -> dict[str, list[SheetAnswer]]:
    """Return the answers by node, in the order of their numbers."""
    found: dict[str, list[SheetAnswer]] = {}
    for answer in sorted(answers, key=lambda answer: (len(answer.node), answer.node)):
        found.setdefault(answer.node, []).append(answer)
    return found


def _record(kind: Kind, found: Accuracy) -> dict[str, Any]:
    chance = CHANCE[kind]
    return {
        **found._asdict(),
        "chance": chance,
        "above": found.accuracy - chance,
        "above_low": found.low - chance,
        "above_high": found.high - chance,
    }
