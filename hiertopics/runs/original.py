"""The corpus that a run was fitted to, read again from its file."""

from __future__ import annotations

from typing import Any, NamedTuple

from hiertopics.base.errors import UsageError
from hiertopics.contract.observed import observed_by
from hiertopics.corpus.holdouts.spec import parse_holdout
from hiertopics.corpus.holdouts.split import GIVEN
from hiertopics.runs.rundir import RunDir


class OriginalCorpus(NamedTuple):
    """The corpus (or vectors) of a fit before its split, and the training part."""

    whole: Any
    train: Any


def read_original(run: RunDir) -> OriginalCorpus:
    """Read the corpus of a run again and split it as before.

    Raises DataError where its file is gone, UsageError where it has changed since the fit,
    RunError where the run keeps it behind a symbolic link.
    """
    run.require_own_corpus()
    experiment = run.experiment
    config, observed = experiment.data, observed_by(experiment)
    whole = observed.load(config).corpus
    if whole.fingerprint != run.manifest["corpus"]["fingerprint"]:
        raise UsageError(f"{config.corpus}: the corpus has changed since the fit")
    if run.split.kind == GIVEN:
        return OriginalCorpus(whole, whole.select(run.split.train_docs))
    train, _ = observed.split(whole, parse_holdout(config.holdout))
    return OriginalCorpus(whole, train)
