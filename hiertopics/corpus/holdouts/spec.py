"""The ``--holdout`` SPEC: the user's description of the held-out part."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise

from hiertopics.base.errors import ConfigError

LARGEST = 2**63 - 1
WITHIN = ("tokens", "links")
"""Kinds that put a part of each document aside."""

_FORMS = (
    "docs:0.1@0, tokens:0.2@0, fold:2/5@0, train:1200@0, links:0.2@0[,drop] or none "
    "(the @seed may be left out; +1000 at the end: what follows the first 1000 documents is split "
    "by itself)"
)
_PATTERN = re.compile(
    r"(?P<kind>docs|tokens|fold|train|links):(?P<value>[0-9.]+)(?:/(?P<n_folds>\d+))?"
    r"(?:@(?P<seed>\d+))?(?P<drop>,drop)?(?P<ends>(?:\+\d+)*)"
)


@dataclass(frozen=True)
class Holdout:
    """A parsed SPEC: kind docs, tokens, fold, train, links or none.

    drop_mirrors: for links, whether the mirror entries of withheld links leave training too.
    ends: ascending; what follows so many documents came later and is split by itself, so that the
    documents before it stay where they are.
    """

    kind: str
    value: float = 0.0
    n_folds: int = 0
    seed: int = 0
    drop_mirrors: bool = False
    ends: tuple[int, ...] = ()


def parse_holdout(text: str) -> Holdout:
    """Parse a ``--holdout`` SPEC; raises ConfigError naming the forms that there are."""
    if text == "none":
        return Holdout("none")
    match = _PATTERN.fullmatch(text)
    if match is None:
        if meant := _meant(text):
            raise ConfigError([f"data.holdout: {meant} (got {text!r})"])
        raise ConfigError([f"data.holdout must be one of {_FORMS}; got {text!r}"])
    kind, seed = match["kind"], _bounded(match["seed"])
    try:
        value = float(match["value"])
    except ValueError:
        value = -1.0
    if not math.isfinite(value):
        value = -1.0
    n_folds, drop = _bounded(match["n_folds"]), match["drop"] is not None
    if max(seed, n_folds) > LARGEST:
        raise ConfigError([f"data.holdout must hold numbers up to {LARGEST}; got {text!r}"])
    ends = tuple(map(_bounded, match["ends"].split("+")[1:]))
    if max(ends, default=0) > LARGEST:
        raise ConfigError([f"data.holdout must hold numbers up to {LARGEST}; got {text!r}"])
    whole = value == int(value)
    fits = {
        "docs": 0 < value < 1 and not n_folds,
        "tokens": 0 < value < 1 and not n_folds,
        "links": 0 < value < 1 and not n_folds,
        "train": value >= 1 and whole and not n_folds,
        "fold": n_folds >= 2 and whole and 1 <= value <= n_folds,
    }
    ascend = all(0 < a < b for a, b in pairwise((*ends, LARGEST + 1)))
    if not fits[kind] or (drop and kind != "links") or not ascend or (ends and kind in WITHIN):
        raise ConfigError([f"data.holdout must be one of {_FORMS}; got {text!r}"])
    return Holdout(kind, value, n_folds, seed, drop, ends)


def _meant(text: str) -> str:
    """Return which SPEC a bare share or percentage stands for, as ``10%``; else nothing."""
    found = re.fullmatch(r"(0?\.\d+)|(\d{1,2}(?:\.\d+)?) ?%", text)
    if found is None:
        return ""
    share = float(found[1]) if found[1] else float(found[2]) / 100
    return f"{text} of the documents is docs:{share:g}"


def extended(text: str, n_docs: int) -> str:
    """Return the SPEC of a corpus of ``n_docs`` documents to which others are added.

    Those that are there stay where they are; the others are split by themselves.
    """
    return text if text == "none" else f"{text}+{n_docs}"


def _bounded(digits: str | None) -> int:
    """Return a whole number as it is written, or one too many where it has too many digits."""
    text = (digits or "0").lstrip("0") or "0"
    return int(text) if len(text) <= len(str(LARGEST)) else LARGEST + 1
