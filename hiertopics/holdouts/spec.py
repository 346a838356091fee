"""The ``--holdout`` SPEC: what is to be put aside, as the user writes it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from hiertopics.errors import ConfigError

LARGEST = 2**63 - 1

_FORMS = (
    "docs:0.1@0, tokens:0.2@0, fold:2/5@0, train:1200@0, links:0.2@0[,drop] or none "
    "(the @seed may be left out)"
)
_PATTERN = re.compile(
    r"(?P<kind>docs|tokens|fold|train|links):(?P<value>[0-9.]+)(?:/(?P<n_folds>\d+))?"
    r"(?:@(?P<seed>\d+))?(?P<drop>,drop)?"
)


@dataclass(frozen=True)
class Holdout:
    """A parsed SPEC: kind docs, tokens, fold, train, links or none.

    drop_mirrors: for links, whether the mirror entries of withheld links leave training too.
    """

    kind: str
    value: float = 0.0
    n_folds: int = 0
    seed: int = 0
    drop_mirrors: bool = False


def parse_holdout(text: str) -> Holdout:
    """Parse a ``--holdout`` SPEC; raises ConfigError naming the forms that there are."""
    if text == "none":
        return Holdout("none")
    match = _PATTERN.fullmatch(text)
    if match is None:
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
    whole = value == int(value)
    fits = {
        "docs": 0 < value < 1 and not n_folds,
        "tokens": 0 < value < 1 and not n_folds,
        "links": 0 < value < 1 and not n_folds,
        "train": value >= 1 and whole and not n_folds,
        "fold": n_folds >= 2 and whole and 1 <= value <= n_folds,
    }
    if not fits[kind] or (drop and kind != "links"):
        raise ConfigError([f"data.holdout must be one of {_FORMS}; got {text!r}"])
    return Holdout(kind, value, n_folds, seed, drop)


def _bounded(digits: str | None) -> int:
    """Return a whole number as it is written, or one too many where it has too many digits."""
    text = (digits or "0").lstrip("0") or "0"
    return int(text) if len(text) <= len(str(LARGEST)) else LARGEST + 1
