"""What a backend observes: counts of words or rows of numbers, and what differs between them.

A backend says so by ``observes``; everything that depends on it is in this one table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple, Protocol

from hiertopics import registry
from hiertopics.corpora import dataset
from hiertopics.corpora.dataset import Loaded
from hiertopics.data.discretise import Bins
from hiertopics.errors import UsageError
from hiertopics.formats.words import Pair
from hiertopics.holdouts.spec import Holdout
from hiertopics.holdouts.split import Split, make_split, split_rows
from hiertopics.settings.config import DataConfig, Experiment


class Load(Protocol):
    """Reads what a ``data`` section names; see ``dataset.load``."""

    def __call__(
        self,
        data: DataConfig,
        bins: Bins | None = None,
        phrases: Collection[Pair] | None = None,
    ) -> Loaded:
        """Return what a backend observes."""


class Observed(NamedTuple):
    """How data of a kind are read and split, and the protocol that they are scored by.

    noun: what the kind is called in messages. aside: what a split put aside, in words. protocol:
    the default, None where the split tells.
    """

    noun: str
    load: Load
    split: Callable[[Any, Holdout], tuple[Any, Split]]
    aside: Callable[[Split], str]
    protocol: str | None


def _counts_aside(split: Split) -> str:
    known = f"{len(split.heldout_docs)} documents with {int(split.heldout.data.sum())} tokens"
    return known + f" and {split.unknown_tokens} of unknown words" * bool(split.unknown_tokens)


def _rows_aside(split: Split) -> str:
    return f"{len(split.heldout_docs)} rows"


KINDS = {
    "counts": Observed("counts of words", dataset.load, make_split, _counts_aside, None),
    "vectors": Observed(
        "rows of numbers", dataset.load_vectors, split_rows, _rows_aside, "density"
    ),
    "bits": Observed("rows of 0 and 1", dataset.load_bits, split_rows, _rows_aside, "density"),
}


def kind_of(backend: str, model: Any) -> str:
    """Return the key of KINDS of a backend under its model's settings.

    Raises UsageError for an unknown name.
    """
    return registry.load(backend, model=model).observes


def observed_by(experiment: Experiment) -> Observed:
    """Return what the backend of an experiment observes."""
    return KINDS[kind_of(experiment.backend, experiment.model)]


def refuse_other_kind(experiment: Experiment, wanted: tuple[str, ...], name: str) -> None:
    """Raise UsageError where the experiment observes none of the kinds ``wanted``.

    name: of the task or protocol that is for these, for messages.
    """
    if kind_of(experiment.backend, experiment.model) not in wanted:
        nouns = " or ".join(KINDS[kind].noun for kind in wanted)
        mine = observed_by(experiment).noun
        raise UsageError(f"{name} is for {nouns}, but {experiment.backend} observes {mine}")
