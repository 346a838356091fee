"""The kind of data that a backend observes: counts of words, vectors or bits."""

from __future__ import annotations

from typing import Any

from hiertopics.base.errors import UsageError
from hiertopics.contract import registry
from hiertopics.corpus.corpora.dataset import KINDS, DataKind
from hiertopics.settings.config import Experiment


def kind_of(backend: str, model: Any) -> str:
    """Return the key of KINDS of a backend under its model's settings.

    Raises UsageError for an unknown name.
    """
    return registry.load(backend, model=model).observes


def observed_by(experiment: Experiment) -> DataKind:
    """Return the kind of data that the backend of an experiment observes."""
    return KINDS[kind_of(experiment.backend, experiment.model)]


def refuse_other_kind(experiment: Experiment, wanted: tuple[str, ...], name: str) -> None:
    """Raise UsageError where the experiment observes none of the kinds ``wanted``.

    name: of the task or protocol that is for these, for messages.
    """
    if kind_of(experiment.backend, experiment.model) not in wanted:
        nouns = " or ".join(KINDS[kind].noun for kind in wanted)
        mine = observed_by(experiment).noun
        raise UsageError(f"{name} is for {nouns}, but {experiment.backend} observes {mine}")
